//! The way that the manual describes, step by step.

use std::path::PathBuf;

use crate::harness::project::{
    GO_BRIDGE_VERSION, PACKAGE_VERSION, PLUGIN, PLUGIN_VERSION, create_directory, link,
};
use crate::harness::tools;
use crate::harness::{Bridge, Project, Provider};

#[test]
fn a_provider_is_added_by_the_documented_commands() {
    let project = Project::bare("the documented way", &[Provider::Random]);
    project.program("resources:\n  pet:\n    type: random:Pet\n");
    let executable = Bridge::usual().executable();
    let executable = executable.to_str().expect("Cargo's directories have plain names");
    let provider = project.provider(Provider::Random);
    let provider = provider.to_str().expect("test directories have plain names");

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
    for wanted in ["hashicorp/random that satisfies \"~> 4.0\"", "only 3.9.0, 3.8.0", "pulumi package add"] {
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
    let plugin = format!("{PLUGIN}@{GO_BRIDGE_VERSION}");
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

/// Runs `isthmus install --plugin` where a user would: what it prints, and whether it succeeds.
fn install_plugin(project: &Project, more: &[&str]) -> (bool, String) {
    let mut command = project.at_home(env!("CARGO_BIN_EXE_isthmus"));
    command.env("PATH", format!("{}:/usr/bin:/bin", tools::directory().display()));
    let output = command.args(["install", "--plugin"]).args(more).output().expect("it starts");
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    (output.status.success(), said.concat())
}

/// Where the Pulumi command line looks for a version of the plugin.
pub(crate) fn plugin(project: &Project, version: &str) -> PathBuf {
    let home = project.path("../home/plugins");
    home.join(format!("resource-{PLUGIN}-v{version}/pulumi-resource-{PLUGIN}"))
}

#[test]
fn a_higher_plugin_of_others_is_told_until_ours_is_in_its_place() {
    let project = Project::bare("a higher plugin of others", &[Provider::Random]);
    project.program("resources:\n  pet:\n    type: random:Pet\n");
    for version in ["1.1.3", "1.3.0", "1.5.0"] {
        let file = plugin(&project, version);
        create_directory(file.parent().expect("it has a directory"));
        link(&Bridge::Go.executable(), &file);
    }
    let provider = project.provider(Provider::Random);
    let provider = provider.to_str().expect("test directories have plain names");
    let add = |plugin: &str| project.run(&["package", "add", plugin, provider]).succeeded();
    let version_in_sdk = || {
        let lock = project.read(&format!("sdks/random/random-{PACKAGE_VERSION}.yaml"));
        let version = lock.lines().find_map(|line| line.strip_prefix("version: ")).map(str::to_owned);
        version.unwrap_or_else(|| panic!("{lock}"))
    };
    let told = "v1.5.0/pulumi-resource-terraform-provider was not installed by isthmus, and has the highest version, which the Pulumi \
                CLI takes where none is named";

    let (succeeded, said) = install_plugin(&project, &[]);
    assert!(succeeded && said.contains(told), "{said}");
    assert!(said.contains(&format!("installing the default version {PLUGIN_VERSION}")), "{said}");
    let added = add(&format!("{PLUGIN}@{PLUGIN_VERSION}"));
    assert!(added.stderr.contains(told), "{added}");
    assert_eq!(version_in_sdk(), PLUGIN_VERSION);
    add(PLUGIN);
    assert_eq!(version_in_sdk(), GO_BRIDGE_VERSION, "the command line has taken the other one");

    let (succeeded, said) = install_plugin(&project, &["--everywhere"]);
    assert!(succeeded && !said.contains(told) && said.contains("v1.1.3/pulumi-resource"), "{said}");
    let added = add(PLUGIN);
    assert!(!added.stderr.contains("highest version"), "{added}");
    assert_eq!(version_in_sdk(), "1.5.0", "ours says the version that it is installed under");
    project.create_stack();
    assert_eq!(project.up().steps("pet"), ["create"]);
    project.destroy();
}

/// Has the project's SDK name this version of the plugin.
pub(crate) fn name_in_sdk(project: &Project, version: &str) {
    create_directory(&project.path("sdks/random"));
    let lock = format!(
        "packageDeclarationVersion: 1\nname: {PLUGIN}\nversion: {version}\nparameterization:\n  name: random\n  version: \
         {PACKAGE_VERSION}\n  value: {}\n",
        project.parameter(Provider::Random)
    );
    project.write(&format!("sdks/random/random-{PACKAGE_VERSION}.yaml"), &lock);
}

#[test]
fn a_stack_that_was_made_with_the_go_bridge_finds_this_program_in_its_place() {
    const MADE_WITH: &str = "1.0.7";
    let project = Project::bare("the plugin by the version of a stack", &[Provider::Random]);
    project.program(PETS);
    let bridge = plugin(&project, MADE_WITH);
    create_directory(bridge.parent().expect("it has a directory"));
    link(&Bridge::Go.executable(), &bridge);
    name_in_sdk(&project, MADE_WITH);
    project.create_stack();
    project.up();
    let outputs = project.outputs();

    // The SDK is made anew for a newer plugin; the stack still names the one that it was made with.
    name_in_sdk(&project, "1.2.0-rc1");
    let (succeeded, said) = install_plugin(&project, &[]);
    assert!(!succeeded && said.contains(MADE_WITH) && said.contains("replace it with --force"), "{said}");
    assert!(!plugin(&project, "1.2.0-rc1").exists(), "{said}");
    let (succeeded, said) = install_plugin(&project, &["--force"]);
    assert!(succeeded, "{said}");
    let ours = std::fs::read(env!("CARGO_BIN_EXE_isthmus")).expect("it is built");
    for version in [MADE_WITH, "1.2.0-rc1"] {
        assert!(
            said.contains(&format!(
                "installed {}",
                plugin(&project, version).canonicalize().expect("it is there").display()
            )),
            "{said}"
        );
        assert!(
            std::fs::read(plugin(&project, version)).is_ok_and(|bytes| bytes == ours),
            "{version}\n{said}"
        );
    }
    let listed = project.run(&["plugin", "ls", "--json"]).succeeded();
    assert!(listed.stdout.contains(MADE_WITH) && listed.stdout.contains("1.2.0-rc1"), "{listed}");
    let kept = bridge.with_extension("replaced");
    assert_eq!(
        std::fs::metadata(&kept).expect("it is kept").len(),
        std::fs::metadata(Bridge::Go.executable()).expect("it is built").len()
    );

    // Refreshing and destroying run the plugin that the stack names, without the program and its SDK.
    project.refresh().changed_nothing();
    name_in_sdk(&project, MADE_WITH);
    project.expect_no_changes();
    assert_eq!(project.outputs(), outputs);
    name_in_sdk(&project, "1.2.0-rc1");
    project.up();
    project.destroy();
}

#[test]
fn stacks_can_be_given_to_the_installation_where_the_command_line_cannot_be_asked() {
    let project = Project::bare("the plugin by an export", &[Provider::Random]);
    project.program("resources:\n  pet:\n    type: random:Pet\n");
    project.switch_to(Bridge::Ours);
    name_in_sdk(&project, PLUGIN_VERSION);
    project.create_stack();
    project.up();
    let exported = project.run(&["stack", "export"]).succeeded().stdout;
    project.write(
        "stack.json",
        &exported.replace(&format!("\"version\": \"{PLUGIN_VERSION}\""), "\"version\": \"0.9.0\""),
    );
    let (succeeded, said) = install_plugin(&project, &["--stack", "stack.json"]);
    assert!(succeeded && !said.contains("warning"), "{said}");
    assert!(plugin(&project, "0.9.0").exists(), "{said}");
    assert!(said.contains(&format!("v{PLUGIN_VERSION}/pulumi-resource-{PLUGIN} is there already")), "{said}");

    // Without the command line, what the SDK names is known at least.
    let mut alone = project.at_home(env!("CARGO_BIN_EXE_isthmus"));
    let output = alone.args(["install", "--plugin"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("warning: failed to list the stacks"), "{said}");
    assert!(said.contains("`pulumi` is not on PATH"), "{said}");
    project.destroy();
}
