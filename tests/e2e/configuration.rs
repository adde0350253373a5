//! A provider's configuration: from the stack, and from a program.

use crate::harness::{Project, Provider};

const DEFAULT: &str = "
resources:
  key:
    type: tls:PrivateKey
    properties:
      algorithm: ED25519
";

fn explicit(proxies: &str) -> String {
    format!(
        "
resources:
  provider:
    type: pulumi:providers:tls
    properties:
      proxies: {proxies}
  key:
    type: tls:PrivateKey
    properties:
      algorithm: ED25519
    options:
      provider: ${{provider}}
"
    )
}

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
fn a_changed_provider_of_the_program_replaces_nothing() {
    let project = Project::new("a provider of the program", &[Provider::Tls]);
    project.program(&explicit("[{url: 'http://proxy.example', username: u}]"));
    project.up();
    project.program(&explicit("[{username: u, url: 'http://proxy.example'}]"));
    project.expect_no_changes();
    project.program(&explicit("[{url: 'http://other.example'}]"));
    let up = project.up();
    assert_eq!(up.steps("provider"), ["update"]);
    assert_eq!(up.steps("key"), ["same"], "no resource is replaced for it");
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
