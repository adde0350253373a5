//! What fails and is mended by the next run, what a program ignores, and states of other versions of a provider.

use crate::harness::{Project, Provider};

fn record(properties: &str, options: &str) -> String {
    format!(
        "resources:\n  thing:\n    type: conformance:Record\n    properties: {properties}\n    options: {options}\n\
         outputs:\n  etag: ${{thing.etag}}\n"
    )
}

#[test]
fn a_program_that_asks_for_it_replaces_instead_of_updating() {
    let project = Project::new("replaceOnChanges", &[Provider::Conformance]);
    let options = "{replaceOnChanges: ['settings.mode']}";
    project.program(&record("{name: one, settings: {mode: slow, verbose: false}}", options));
    project.up();
    project.program(&record("{name: one, settings: {mode: slow, verbose: true}}", options));
    let updated = project.up();
    assert_eq!(updated.steps("thing"), ["update"], "{updated}");
    project.program(&record("{name: one, settings: {mode: fast, verbose: true}}", options));
    let replaced = project.up();
    assert!(replaced.steps("thing").contains(&"replace"), "{replaced}");
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn two_providers_of_a_program_keep_their_nested_secrets_apart_and_to_themselves() {
    let project = Project::new("two explicit providers", &[Provider::Tls]);
    let provider = |name: &str| {
        format!(
            "  {name}:\n    type: pulumi:providers:tls\n    properties:\n      proxies:\n        \
             - url: http://{name}.example\n          username: {name}\n          \
             password: {{'fn::secret': hush-{name}}}\n  {name}Key:\n    type: tls:PrivateKey\n    \
             properties: {{algorithm: ED25519}}\n    options: {{provider: '${{{name}}}'}}\n"
        )
    };
    project.program(&format!("resources:\n{}{}", provider("east"), provider("west")));
    let up = project.up();
    let configured: Vec<String> =
        up.calls("Configure").iter().map(|call| call.request["args"].to_string()).collect();
    for (name, other) in [("east", "west"), ("west", "east")] {
        let own = configured.iter().filter(|arguments| arguments.contains(&format!("hush-{name}")));
        let own: Vec<_> = own.collect();
        assert!(
            !own.is_empty() && own.iter().all(|arguments| !arguments.contains(&format!("hush-{other}"))),
            "{up}"
        );
    }
    let exported = project.export().to_string();
    assert!(!exported.contains("hush-"), "a secret is in the clear: {exported}");
    assert!(!format!("{}{}", up.stdout, up.stderr).contains("hush-"), "{up}");
    project.expect_no_changes();
    project.destroy();
}
