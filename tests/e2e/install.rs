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

const PETS: &str = "
resources:
  pet:
    type: random:Pet
    properties: {length: 3}
  password:
    type: random:Password
    properties: {length: 24}
outputs:
  pet: ${pet.id}
  password: ${password.result}
";

/// A project with this bridge and two versions of the random provider in the cache, none of them in use yet.
fn with_cached_random(bridge: Bridge, name: &'static str) -> Project {
    let project = Project::bare(name, &[]);
    project.switch_to(bridge);
    for version in ["3.8.0", "3.9.0"] {
        project.place_in_cache(Provider::Random, version);
    }
    project.program(PETS);
    project.create_stack();
    project
}

#[test]
fn a_provider_is_added_by_its_name_and_version_from_the_cache() {
    let project = with_cached_random(Bridge::usual(), "a provider by its name");
    let missing = project.run(&["package", "add", PLUGIN, "hashicorp/random", "~> 4.0"]).failed();
    for wanted in ["hashicorp/random that satisfies \"~> 4.0\"", "holds 3.9.0, 3.8.0", "pulumi package add"] {
        assert!(missing.stderr.contains(wanted), "{wanted:?} is missing\n{missing}");
    }

    project.run(&["package", "add", PLUGIN, "hashicorp/random", "3.9.0"]).succeeded();
    let lock = project.read("sdks/random/random-3.9.0.yaml");
    assert!(lock.contains("version: 3.9.0"), "{lock}");
    assert_eq!(project.up().steps("pet"), ["create"]);
    project.expect_no_changes();
    project.refresh().changed_nothing();
    project.destroy();
}

#[test]
fn a_project_with_a_cached_provider_goes_from_bridge_to_bridge() {
    let project = with_cached_random(Bridge::Go, "a cached provider, from bridge to bridge");
    let plugin = format!("{PLUGIN}@{PLUGIN_VERSION}");
    let words = ["package", "add", &plugin, "hashicorp/random", "~> 3.8"];
    project.run(&words).succeeded();
    let lock = project.read("sdks/random/random-3.9.0.yaml");
    project.up();
    let outputs = project.outputs();

    project.switch_to(Bridge::Ours);
    project.run(&words).succeeded();
    assert_eq!(project.read("sdks/random/random-3.9.0.yaml"), lock, "both bridges write the same package");
    for bridge in [Bridge::Ours, Bridge::Go, Bridge::Ours] {
        project.switch_to(bridge);
        project.expect_no_changes();
        project.up().changed_nothing();
        project.refresh().changed_nothing();
        assert_eq!(project.outputs(), outputs, "{bridge:?}");
    }
    project.destroy();
}
