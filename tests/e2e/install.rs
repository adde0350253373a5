//! The way that the manual describes, step by step.

use crate::harness::project::{PACKAGE_VERSION, PLUGIN, PLUGIN_VERSION};
use crate::harness::{Bridge, Project, Provider};

#[test]
fn a_provider_is_added_by_the_documented_commands() {
    let project = Project::bare("the documented way", &[Provider::Random]);
    project.program("resources:\n  pet:\n    type: random:Pet\n");
    let executable = Bridge::usual().executable();
    let executable = executable.to_str().expect("Cargo's folders have plain names");
    let provider = project.provider(Provider::Random);
    let provider = provider.to_str().expect("test folders have plain names");

    project.run(&["plugin", "install", "resource", PLUGIN, PLUGIN_VERSION, "-f", executable]).succeeded();
    let listed = project.run(&["plugin", "ls", "--json"]).succeeded();
    assert!(listed.stdout.contains(PLUGIN) && listed.stdout.contains(PLUGIN_VERSION), "{listed}");

    let added = project.run(&["package", "add", &format!("{PLUGIN}@{PLUGIN_VERSION}"), provider]).succeeded();
    let lock = project.read(&format!("sdks/random/random-{PACKAGE_VERSION}.yaml"));
    assert!(lock.contains(&project.parameter(Provider::Random)), "{lock}\n{added}");

    project.create_stack();
    assert_eq!(project.up().steps("pet"), ["create"]);
    project.expect_no_changes();
    project.destroy();
}
