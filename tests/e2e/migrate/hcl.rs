//! A configuration that stays the program, by Pulumi's HCL host.
//!
//! The host cannot be installed without the network. What it registers for a configuration is known: a program of the
//! Automation API registers the same.

use std::path::Path;

use serde_json::{Value, json};

use super::terraform::Migration;
use crate::harness::tools;

/// Migrates into the directory of the configuration.
fn migrate(migration: &Migration) -> String {
    migration.tofu(&["apply", "-auto-approve"]).well();
    let [state, directory] = [migration.path("terraform.tfstate"), migration.path("")]
        .map(|path| path.to_str().expect("a plain path").to_owned());
    let arguments = [
        &*state,
        "--output",
        &directory,
        "--from-config",
        &directory,
        "--runtime",
        "hcl",
        "--project",
        "team",
    ];
    let said = migration.migrate_with(&[("PULUMI_CONFIG_PASSPHRASE", "e2e")], &arguments).well();
    for step in
        ["pulumi install\n", "pulumi stack select --create dev\n", "pulumi stack import --file stack.json\n"]
    {
        assert!(said.stdout.contains(step), "{said:?}");
    }
    std::fs::read_to_string(migration.path("stack.json")).expect("a stack export")
}

/// What the host registers for the configuration of this test.
fn registered(export: &Value, state: &Value) -> Value {
    let resources = export["deployment"]["resources"].as_array().expect("resources");
    let provider =
        resources.iter().find(|resource| resource["type"] == "pulumi:providers:random").expect("a provider");
    let plugin = &provider["inputs"]["__internal"];
    let pet = |name: &str, parent: &str, properties: Value| json!({"Type": "random:index/pet:Pet", "Name": name, "Parent": parent, "Package": "random", "Properties": properties});
    let mut all = vec![
        json!({"Type": "pulumi:providers:random", "Name": "other", "Package": "random"}),
        json!({"Type": "random:index/password:Password", "Name": "key", "Package": "random", "Properties": {"length": 12}}),
        pet("counted[0]", "", json!({"length": 2})),
        pet("counted[1]", "", json!({"length": 2})),
    ];
    let mut elsewhere = pet("elsewhere", "", json!({"keepers": {"word": "hunter2"}}));
    elsewhere["Provider"] = json!("other");
    elsewhere["Secret"] = json!(["keepers"]);
    all.push(elsewhere);
    for team in ["a", "b"] {
        let name = format!("team[{team:?}]");
        let inner = format!("{name}.inner");
        let address = format!("module.team[{team:?}]");
        let own = state["resources"].as_array().expect("resources").iter();
        let own = own.filter(|resource| resource["module"] == *address);
        let id = own.map(|resource| &resource["instances"][0]["attributes"]["id"]).next().expect("a pet");
        all.extend([
            json!({"Type": "components:index:MyTeam", "Name": name, "IsComponent": true}),
            pet(&format!("{name}.name"), &name, json!({"length": 3})),
            json!({"Type": "components:index:Inner", "Name": inner, "Parent": name, "IsComponent": true}),
            json!({
                "Type": "random:index/string:String", "Name": format!("{inner}.text"), "Parent": inner, "Package": "random",
                "Properties": {"length": 5, "keepers": {"prefix": id}},
            }),
        ]);
    }
    json!({
        "Project": "team",
        "Packages": {"random": {
            "Plugin": plugin["name"], "PluginVersion": plugin["version"], "Version": "0.0.0",
            "Value": plugin["parameterization"],
        }},
        "Resources": all,
    })
}

#[test]
fn a_configuration_stays_the_program_and_its_first_preview_has_no_change() {
    let migration = Migration::new("a configuration as the program", "hcl");
    let export = migrate(&migration);
    assert!(!export.contains("hunter2"), "it is encrypted");
    let project = std::fs::read_to_string(migration.path("Pulumi.yaml")).expect("a project");
    assert_eq!(project, "name: team\nruntime: hcl\n");
    assert!(!migration.path("sdks").exists() && Path::new(&migration.path("main.tf")).exists());

    let export: Value = serde_json::from_str(&export).expect("JSON");
    let state = std::fs::read_to_string(migration.path("terraform.tfstate")).expect("a state");
    let program = registered(&export, &serde_json::from_str(&state).expect("JSON"));
    std::fs::write(migration.path("program.json"), program.to_string()).expect("a file");

    let run = |program: &str, arguments: &[&str]| {
        let mut command = migration.project.at_home(tools::directory().join(program));
        let path = migration.project.variable("PATH").unwrap_or_else(|| "/usr/bin:/bin".to_owned());
        command.env("PATH", format!("{path}:{}", tools::directory().display()));
        command.env("PULUMI_CONFIG_PASSPHRASE", "e2e").current_dir(migration.path(""));
        let output = command.args(arguments).output().expect("it starts");
        assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned())
    };
    run("pulumi", &["stack", "init", "dev"]);
    run("pulumi", &["stack", "import", "--file", "stack.json"]);
    // The stack, the provider with an alias, four components, and eight resources.
    let resources = json!({"same": 14});
    for more in [&[][..], &["up"]] {
        let [steps, shown] = run("automation", &[&["play", ".", "dev", "program.json"], more].concat());
        assert_eq!(serde_json::from_str::<Value>(&steps).expect("JSON"), resources, "{shown}");
    }
    run("pulumi", &["destroy", "--yes", "--non-interactive"]);
}
