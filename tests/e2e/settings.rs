//! Settings that are not understood, as the user of the command line sees them.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use crate::harness::{Project, Provider};

const PROGRAM: &str = "resources:\n  pet:\n    type: random:Pet\n";

#[test]
fn a_setting_that_is_not_understood_is_shown_in_the_terminal() {
    let project = Project::new("a wrong setting", &[Provider::Random]);
    project.program(PROGRAM);
    project.set("ISTHMUS_SENSITIVE_OUTPUTS", "withheld");
    project.set("ISTHMUS_KEY", "sesame");
    let shown = project
        .up_fails()
        .says("invalid settings in the environment:")
        .says("ISTHMUS_SENSITIVE_OUTPUTS=\"withheld\": unknown value; expected `withhold` or `show`")
        .says("ISTHMUS_KEY: 6 characters instead of 64; expected 64 hexadecimal digits")
        .says("help: correct or unset these variables");
    for text in ["sesame", "prematurely", "always a bug"] {
        let is_shown = shown.stdout.contains(text) || shown.stderr.contains(text);
        assert!(!is_shown, "it says {text:?}\n{shown}");
    }
    project.set("ISTHMUS_SENSITIVE_OUTPUTS", "WITHHOLD");
    project.set("ISTHMUS_KEY", &"0123456789abcdef".repeat(4));
    project.up();
    project.destroy();
}

/// What engines and their users set for Pulumi itself, some of it by the test and the rest by the command line.
const CREDENTIALS: [&str; 4] =
    ["PULUMI_ACCESS_TOKEN", "PULUMI_BACKEND_URL", "PULUMI_CONFIG", "PULUMI_CONFIG_PASSPHRASE"];

#[test]
fn a_provider_gets_no_credentials_of_pulumi_unless_a_setting_names_them() {
    let project = Project::new("what a provider inherits", &[Provider::Random]);
    let provider = project.provider(Provider::Random);
    std::fs::create_dir(project.path("real")).expect("a directory");
    let real = project.path("real/terraform-provider-random");
    std::fs::rename(&provider, &real).expect("it is the project's own");
    let script =
        format!("#!/bin/sh\nenv > '{}'\nexec '{}'\n", project.path("inherited").display(), real.display());
    std::fs::write(&provider, script).expect("it is the project's own");
    std::fs::set_permissions(&provider, Permissions::from_mode(0o755)).expect("it is the project's own");
    project.program(PROGRAM);
    project.set("PULUMI_ACCESS_TOKEN", "pul-0123456789");
    project.set("OF_A_PROVIDER", "x");
    project.up();
    let inherited = project.read("inherited");
    assert!(inherited.contains("OF_A_PROVIDER=x\n"), "{inherited}");
    let reached = CREDENTIALS.into_iter().filter(|name| inherited.contains(&format!("{name}=")));
    assert_eq!(reached.collect::<Vec<_>>(), [""; 0]);

    project.set("ISTHMUS_PROVIDER_ENVIRONMENT", "PULUMI_CONFIG*");
    project.refresh();
    let inherited = project.read("inherited");
    assert!(inherited.contains("PULUMI_CONFIG_PASSPHRASE=correct horse\n"), "{inherited}");
    assert!(inherited.contains("PULUMI_CONFIG={"), "the engine sets it: {inherited}");
    assert!(!inherited.contains("PULUMI_ACCESS_TOKEN="), "{inherited}");
}
