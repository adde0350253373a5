//! Broken set-ups of Pulumi: its CLI, the plugin, the project.

use base64::Engine as _;
use std::path::MAIN_SEPARATOR;

use super::super::{HASHICORP, Said};
use super::patient::Patient;
use crate::harness::host::named;
use crate::harness::native;

#[test]
fn a_machine_without_a_fault_has_none() {
    let patient = Patient::new();
    let said = patient.doctor(&[]);
    assert_eq!(said.code, 0, "{said:?}");
    let statuses: Vec<&str> = said.stdout.lines().map_while(|line| line.split_whitespace().next()).collect();
    assert_eq!(statuses, ["ok"; 16], "{}", said.stdout);
    assert!(said.stdout.ends_with("\nno faults, no warnings\n"), "{}", said.stdout);
    assert!(said.stdout.contains("hashicorp/random 3.9.0 starts"), "{}", said.stdout);
    assert!(
        said.stdout.contains(&format!("resource-terraform-provider-v1.4.0{MAIN_SEPARATOR}")),
        "{}",
        said.stdout
    );
    assert!(patient.faults(&[]).is_empty());
    assert!(!patient.home().exists(), "nothing is created");
}

#[test]
fn a_dry_clean_up_says_which_project_needs_a_version_and_that_it_knows_of_no_other() {
    let patient = Patient::new();
    let words = ["providers", "prune", "--dry-run", "hashicorp/random@3.9.0"];
    let said = Said::of(patient.command(env!("CARGO_BIN_EXE_isthmus")).args(words));
    let file = patient.machine.path("project/Pulumi.yaml");
    assert!(said.stdout.contains(&format!("; {} needs it\n", file.display())), "{said:?}");
    assert!(said.stderr.contains(&format!("of all projects, only {} was read", file.display())), "{said:?}");
    let said = patient.machine.isthmus(&words);
    assert!(
        said.stdout.starts_with("would remove hashicorp/random 3.9.0 ") && !said.stdout.contains("needs it"),
        "{said:?}"
    );
    assert!(
        said.stderr.contains("no project was read") && said.stderr.contains("others may need a version"),
        "{said:?}"
    );
}

#[test]
fn a_missing_pulumi_cli_is_named() {
    let patient = Patient::new();
    patient.takes_away(patient.machine.path("bin"));
    patient.has("pulumi", 1101, &["`pulumi` is not on PATH"], "https://www.pulumi.com/docs/install/");
}

#[test]
fn an_old_pulumi_cli_is_named_with_the_version_that_is_needed() {
    let patient = Patient::new();
    patient.script("bin/pulumi", "echo v3.100.0");
    patient.has("pulumi", 1102, &["version 3.100.0", "3.147.0"], "Install a newer CLI");
}

#[test]
fn a_pulumi_cli_that_does_not_work_is_named() {
    let patient = Patient::new();
    patient.script("bin/pulumi", "exit 127");
    patient.has("pulumi", 1103, &["bin/pulumi does not work"], "pulumi version");
}

#[test]
fn a_pulumi_cli_that_fails_is_named_with_what_it_says() {
    let patient = Patient::new();
    patient.script("bin/pulumi", "echo; echo 'no room left' >&2; exit 3");
    patient.has(
        "pulumi",
        1103,
        &["bin/pulumi version` fails with exit ", ": 3: no room left"],
        "pulumi version",
    );
}

#[test]
fn a_pulumi_cli_that_prints_without_end_is_named_with_the_beginning() {
    let patient = Patient::new();
    patient.script("bin/pulumi", "yes abcdefghij");
    let long =
        "abcdefghij\\nabcdefghij\\nabcdefghij\\nabcdefghij\\nabcdefghij\\nabcde\", which is not a version";
    patient.has("pulumi", 1103, &[&long.replace("\\\\", "\\")], "pulumi version");
}

#[test]
fn a_plugin_of_another_version_than_the_sdk_names_is_told() {
    let patient = Patient::new();
    std::fs::rename(patient.plugin_directory("1.4.0"), patient.plugin_directory("1.0.0"))
        .expect("a directory");
    let message = ["in version 1.4.0", "Pulumi.yaml", "other versions of it: 1.0.0"];
    patient.has("plugin", 1106, &message, "`isthmus install --plugin` in the project's directory");
}

#[test]
fn an_interrupted_installation_of_the_plugin_is_told() {
    let patient = Patient::new();
    let partial = patient.plugin_directory("1.4.0").with_extension("0.partial");
    std::fs::write(partial, "").expect("a file");
    patient.has("plugin", 1106, &["installation of it was interrupted"], "isthmus install --plugin");
}

#[test]
fn another_plugin_on_path_is_named_that_shadows_the_installed_one() {
    let patient = Patient::new();
    patient.script("bin/pulumi-resource-terraform-provider", "echo v9.9.9");
    let message = ["bin/pulumi-resource-terraform-provider", "not isthmus", "instead of version 1.4.0"];
    patient.has("plugin", 1107, &message, "PULUMI_IGNORE_AMBIENT_PLUGINS=true");
    let mut ignoring = patient;
    ignoring.set("PULUMI_IGNORE_AMBIENT_PLUGINS", "true");
    assert!(ignoring.faults(&[]).is_empty(), "as the remedy says");
}

#[test]
fn isthmus_on_path_serves_every_version() {
    let patient = Patient::new();
    let on_path = patient.machine.path("bin/pulumi-resource-terraform-provider");
    let on_path = named(env!("CARGO_BIN_EXE_isthmus"), on_path);
    patient.takes_away(patient.plugin_directory("1.4.0"));
    let said = patient.doctor(&["--only", "plugin"]);
    assert_eq!(said.code, 0, "{said:?}");
    let shown = format!("1.4.0: {} (on PATH)", on_path.display());
    assert!(said.stdout.contains(&shown), "{said:?}");
}

#[test]
fn a_program_in_hcl_is_a_project_with_packages() {
    let patient = Patient::new();
    std::fs::remove_dir_all(patient.machine.path("project/sdks/random")).expect("it is there");
    patient.machine.write("project/Pulumi.yaml", b"name: x\nruntime: hcl\n");
    let requires = |version: &str| {
        let provider = format!("source = \"hashicorp/random\"\n version = \"{version}\"\n");
        let text = format!("terraform {{\n required_providers {{\n random = {{\n {provider} }}\n }}\n}}\n");
        patient.machine.write("project/main.tf", text.as_bytes());
    };
    requires("3.9.0");
    // The host names a release by itself, which may be any of them.
    patient.plugin("1.2.0", &fixtures::tools::tool("go-bridge"));
    patient.has("plugin", 1108, &["v1.2.0/pulumi-resource-terraform-provider is not isthmus"], "--force");
    let value = format!("{{\"remote\":{{\"url\":\"{HASHICORP}/random\",\"version\":\"3.9.0\"}}}}");
    let value = base64::engine::general_purpose::STANDARD.encode(value);
    let sdk = format!(
        "{{\"Name\": \"terraform-provider\", \"Kind\": \"resource\", \"Version\": \"1.4.0\", \"Parameterization\": {{\"Name\": \
         \"random\", \"Version\": \"3.9.0\", \"Value\": \"{value}\"}}}}"
    );
    patient.machine.write("project/sdks/random/hcl.sdk.json", sdk.as_bytes());
    assert!(patient.faults(&[]).is_empty(), "its SDK names 1.4.0");
    let said = patient.doctor(&[]);
    assert!(said.stdout.contains("hashicorp/random 3.9.0 starts"), "{said:?}");
    requires("~> 3.10");
    let message = [
        &format!("{} overrides package \"random\" of main.tf", native("sdks/random/hcl.sdk.json").display()),
        "3.9.0",
        "hashicorp/random ~> 3.10",
    ];
    patient.has(
        "project",
        1105,
        &message,
        &format!("remove {}, and run `pulumi install`", native("sdks/random").display()),
    );
}

#[test]
fn the_go_bridge_in_the_place_of_isthmus_is_named() {
    let patient = Patient::new();
    patient.takes_away(patient.plugin_directory("1.4.0"));
    patient.plugin("1.4.0", &fixtures::tools::tool("go-bridge"));
    let message = ["v1.4.0/pulumi-resource-terraform-provider is not isthmus", "for version 1.4.0"];
    patient.has("plugin", 1108, &message, "`isthmus install --plugin --force`");
}

#[test]
fn a_project_that_names_another_plugin_is_told() {
    let patient = Patient::new();
    patient.script("other/pulumi-resource-terraform-provider", "echo v9.9.9");
    let project = patient.machine.path("project/Pulumi.yaml");
    let text = std::fs::read_to_string(&project).expect("a file");
    let plugins = "plugins:\n  providers:\n    - name: terraform-provider\n      path: ../other\n";
    std::fs::write(project, text + plugins).expect("a file");
    patient.has("plugin", 1108, &["`plugins` in the project file"], "change or remove the entry");
}

#[test]
fn a_project_file_with_a_syntax_error_is_named_with_the_line() {
    let patient = Patient::new();
    patient.machine.write("project/Pulumi.yaml", b"name: x\npackages: [\n");
    patient.has("project", 1104, &["Pulumi.yaml", "line"], "Correct the file: the message has the fault");
}

#[test]
fn a_project_file_without_what_the_cli_needs_is_named() {
    let patient = Patient::new();
    patient.machine.write("project/Pulumi.yaml", b"");
    patient.has("project", 1104, &["Pulumi.yaml has no name"], "Correct the file: the message has the fault");
    patient.machine.write("project/Pulumi.yaml", b"name: x\n");
    patient.has(
        "project",
        1104,
        &["Pulumi.yaml has no runtime"],
        "Correct the file: the message has the fault",
    );
    patient.machine.write("project/Pulumi.yaml", b"name: x\nruntime: yaml\npackages: [a, b]\n");
    let message = ["Pulumi.yaml: `packages` is not a mapping of names to packages"];
    patient.has("project", 1104, &message, "Correct the file: the message has the fault");
}

#[test]
fn a_project_whose_packages_have_no_sdk_names_no_provider_yet() {
    let patient = Patient::new();
    std::fs::remove_dir_all(patient.machine.path("project/sdks")).expect("it is there");
    let said = patient.doctor(&["--only", "providers"]);
    let line = "the packages of the project have no SDKs, which `pulumi install` generates; isthmus doctor PROVIDER names a provider";
    assert!(said.code == 0 && said.stdout.contains(line), "{said:?}");
}

#[test]
fn an_sdk_of_a_program_in_hcl_that_cannot_be_read_is_a_warning() {
    let patient = Patient::new();
    patient.machine.write("project/sdks/tls/hcl.sdk.json", b"{\"name\":");
    let said = patient.doctor(&["--only", "project"]);
    for part in [
        "warning  project",
        "ISTHMUS-1104",
        &format!("{}: not a JSON document", native("sdks/tls/hcl.sdk.json").display()),
    ] {
        assert!(said.code == 0 && said.stdout.contains(part), "{part:?}: {said:?}");
    }
}

#[test]
fn a_file_of_chosen_names_that_cannot_be_read_is_named() {
    let patient = Patient::new();
    patient.machine.write("project/isthmus.toml", b"[packages.random\n");
    patient.has(
        "project",
        1104,
        &["isthmus.toml", "line 1, column 17: unclosed table"],
        "isthmus explain names",
    );
    std::fs::remove_file(patient.machine.path("project/isthmus.toml")).expect("it is there");
    std::fs::create_dir(patient.machine.path("project/isthmus.toml")).expect("a directory");
    patient.has(
        "project",
        1104,
        &["isthmus.toml", "it is not a regular file"],
        "Correct the file: the message has the fault",
    );
}

#[test]
fn an_sdk_of_another_version_than_the_project_asks_for_is_named() {
    let patient = Patient::new();
    patient.project("3.8.0", "3.9.0");
    let manifest = native("sdks/random/random.yaml");
    let message = [manifest.to_str().expect("text"), "generated for hashicorp/random 3.9.0", "3.8.0"];
    patient.has("project", 1105, &message, "run `pulumi install`");
}
