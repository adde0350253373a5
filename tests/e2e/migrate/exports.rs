//! What is in a stack export besides the objects of this plugin's resources.

use serde_json::{Value, json};

use super::terraform::{Migration, Said};
use crate::harness::Provider;

/// The export of a stack with one pet, edited.
fn export(migration: &Migration, edit: impl FnOnce(&mut Value)) -> String {
    let project = &migration.project;
    project.run(&["stack", "export", "--show-secrets", "--file", "export.json"]).succeeded();
    let mut export: Value = serde_json::from_str(&project.read("export.json")).expect("JSON");
    edit(&mut export);
    project.write("edited.json", &export.to_string());
    project.path("edited.json").to_str().expect("a plain path").to_owned()
}

fn back(migration: &Migration, export: &str, options: &[&str]) -> (Said, Value, String) {
    let output = migration.path("back");
    let words = ["--to", "terraform", export, "--force", "--output", output.to_str().expect("a plain path")];
    let said = migration.migrate(&[&words[..], options].concat());
    let read = |file: &str| std::fs::read_to_string(output.join(file)).unwrap_or_default();
    let state = serde_json::from_str(&read("terraform.tfstate")).unwrap_or_default();
    (said, state, read("imports.tf"))
}

#[test]
fn what_a_state_cannot_have_of_a_stack_is_listed() {
    let migration = Migration::new("an export of a stack", "references");
    let project = &migration.project;
    project.create_stack();
    project.add_package(Provider::Random);
    project.program(
        "resources:\n  pet: { type: 'random:Pet', properties: { length: 2 } }\n\
         outputs:\n  name: ${pet.id}\n  list: [1, 'a', true]\n  key: { fn::secret: { a: b } }\n  'no name': x\n",
    );
    project.up();
    let file = export(&migration, |_| ());
    let (said, state, imports) = back(&migration, &file, &["--provider-address", "nope=hashicorp/nope"]);
    let said = said.with_code(3);
    assert!(
        said.stderr
            .contains("not migrated: output \"no name\": it is not a valid name of an output in Terraform"),
        "{said:?}"
    );
    assert!(said.stderr.contains("--provider-address nope: no resource"), "{said:?}");
    let name = &project.outputs()["name"];
    assert_eq!(state["outputs"]["name"], json!({ "value": name, "type": "string" }));
    assert_eq!(
        state["outputs"]["list"],
        json!({ "value": [1, "a", true], "type": ["tuple", ["number", "string", "bool"]] })
    );
    assert_eq!(
        state["outputs"]["key"],
        json!({ "value": { "a": "b" }, "type": ["object", { "a": "string" }], "sensitive": true })
    );
    assert!(imports.starts_with("# Blocks that import the objects into an empty state"), "{imports}");

    // Objects that are not managed, and operations that were interrupted.
    let file = export(&migration, |export| {
        let resources = export["deployment"]["resources"].as_array_mut().expect("resources");
        let pet =
            resources.iter_mut().find(|resource| resource["type"] == "random:index/pet:Pet").expect("a pet");
        let mut read = pet.clone();
        read["urn"] = json!("urn:pulumi:dev::e2e::random:index/pet:Pet::read");
        read["external"] = json!(true);
        let mut nameless = pet.clone();
        nameless["urn"] = json!("urn:pulumi:dev::e2e::random:index/pet:Pet::nameless");
        nameless["id"] = json!("");
        let pending = json!({ "resource": pet.clone(), "type": "updating" });
        resources.extend([read, nameless]);
        export["deployment"]["pending_operations"] = json!([pending]);
    });
    let (said, state, imports) = back(&migration, &file, &[]);
    let said = said.with_code(3);
    assert!(said.stderr.contains("Pet::read: it is only read, and not managed"), "{said:?}");
    assert!(said.stderr.contains("Pet::pet: updating was interrupted"), "{said:?}");
    assert_eq!(state["resources"].as_array().map(Vec::len), Some(2), "{state:#}");
    assert!(imports.contains("# random_pet.nameless has no id.\n"), "{imports}");

    // An export in the place of a state.
    let output = migration.path("forth");
    let words = [&file, "--output", output.to_str().expect("a plain path")];
    let said = migration.migrate(&words).with_code(1);
    assert!(
        said.stderr.contains("is a stack export of Pulumi, not a state\nhelp: `--to terraform`"),
        "{said:?}"
    );
    assert!(!output.exists());
    project.destroy();
}

#[test]
fn an_empty_passphrase_is_one() {
    let migration = Migration::new("an empty passphrase", "sensitive");
    migration.tofu(&["apply", "-auto-approve"]).well();
    let [file, output] = [migration.path("terraform.tfstate"), migration.path("out")]
        .map(|path| path.to_str().expect("a plain path").to_owned());
    let said = migration.migrate_with(&[("PULUMI_CONFIG_PASSPHRASE", "")], &[&file, "--output", &output]);
    assert!(!said.stdout.contains("in the clear"), "{said:?}");
    let stack = std::fs::read_to_string(migration.path("out/stack.json")).expect("a stack");
    assert!(stack.contains("\"passphrase\"") && !stack.contains("hunter2"), "{stack}");
    assert!(!migration.path("out/secrets").exists());
}
