//! A provider's configuration: from the stack, and from a program.

use crate::harness::{Project, Provider};

const DEFAULT: &str = "
resources:
  key:
    type: tls:PrivateKey
    properties:
      algorithm: ED25519
";

#[test]
fn the_configuration_of_a_stack_reaches_the_provider() {
    let project = Project::new("a stack's configuration", &[Provider::Tls]);
    project.program(DEFAULT);
    let proxies = r#"[{"url":"http://proxy.example","username":"u","password":"hush & hush"}]"#;
    project.run(&["config", "set", "--secret", "tls:proxies", proxies]).succeeded();
    let up = project.up();
    let checked = &up.calls("CheckConfig")[0];
    let sent = &checked.request["news"]["proxies"];
    assert_eq!(sent, proxies, "the engine passes text");
    let stored = checked.response.as_ref().expect("an answer")["inputs"]["proxies"]["value"].clone();
    assert_eq!(
        stored, r#"[{"password":"hush \u0026 hush","url":"http://proxy.example","username":"u"}]"#,
        "sensitive, so secret"
    );
    // Nothing has changed, however it is written.
    let blanks = r#"[ {"username": "u", "password": "hush & hush", "url": "http://proxy.example"} ]"#;
    project.run(&["config", "set", "--secret", "tls:proxies", blanks]).succeeded();
    project.expect_no_changes();
    let exported = project.export().to_string();
    assert!(!exported.contains("hush"), "a secret is in the clear: {exported}");
    project.destroy();
}

#[test]
fn a_wrong_configuration_is_told_with_the_command_to_look_at_it() {
    let project = Project::new("a wrong configuration", &[Provider::Tls]);
    for (key, value, wanted) in [
        (
            "tls:proxxies",
            "[]",
            "`tls:proxxies` is not a valid configuration key for the tls provider. Did you mean `tls:proxies`?",
        ),
        ("tls:proxies", "nonsense", "Check `pulumi config get tls:proxies`."),
        (
            "tls:proxies",
            r#"[{"url":"http://a","fromEnv":true}]"#,
            "Check `pulumi config get --path tls:proxies[0].url`.",
        ),
    ] {
        project.program(DEFAULT);
        project.run(&["config", "set", key, value]).succeeded();
        let failed = project.run(&["preview"]).failed();
        let said = format!("{}{}", failed.stdout, failed.stderr);
        assert!(said.contains(wanted), "{wanted:?} is missing\n{failed}");
        project.run(&["config", "rm", key]).succeeded();
    }
    project.expect_no_process();
}
