//! What is in a state between two operations: tainted and deposed objects, objects of older schemas.

use serde_json::{Value, json};

use super::terraform::Migration;

/// The instances of a resource in a state.
fn instances<'a>(state: &'a Value, name: &str) -> Vec<&'a Value> {
    let resources = state["resources"].as_array().expect("resources");
    let named = resources.iter().filter(|resource| resource["name"] == name);
    named.flat_map(|resource| resource["instances"].as_array().expect("instances")).collect()
}

#[test]
fn tainted_deposed_and_old_objects_go_over_and_what_cannot_is_listed() {
    let migration = Migration::new("an unfinished state", "unfinished");
    let project = &migration.project;
    let old = [("CONFORMANCE_SCHEMA_VERSION", "1")];
    migration.tofu_with(&old, &["apply", "-auto-approve"]).well();
    // The old object cannot be deleted after its replacement was created.
    project.write_object("trouble/first.json", &json!({ "delete": "error" }));
    migration.tofu_with(&old, &["apply", "-auto-approve", "-var", "name=second"]).with_code(1);
    migration.tofu_with(&old, &["taint", "conformance_record.tainted"]).well();
    std::fs::remove_file(project.object_path("trouble/first.json")).expect("a trouble");
    let state = migration.state();
    assert_eq!(instances(&state, "replaced").len(), 2, "{state:#}");
    assert_eq!(instances(&state, "old")[0]["schema_version"], 1);

    // Without a passphrase, the CLI encrypts what is in the clear.
    project.create_stack();
    let file = migration.path("terraform.tfstate");
    let [file, output] = [file, project.path("")].map(|path| path.to_str().expect("a path").to_owned());
    let said = migration.migrate(&[&file, "--output", &output, "--project", "e2e", "--force"]).with_code(3);
    assert!(said.stdout.starts_with("wrote 5 resources of 2 providers"), "{}", said.stdout);
    assert!(said.stdout.contains("left out, because only read: 1 data source\n"), "{}", said.stdout);
    let lost: Vec<&str> = said.stderr.lines().filter(|line| line.contains("not migrated")).collect();
    for (place, reason) in [
        ("output.id", "an output is an expression"),
        ("conformance_vault.door", "the value of `secretWo` is write-only"),
        (
            r#"provider["registry.opentofu.org/isthmus/conformance"].second"#,
            "set the properties of the provider `second`",
        ),
    ] {
        assert!(lost.iter().any(|line| line.contains(place) && line.contains(reason)), "{place}: {lost:#?}");
    }
    assert_eq!(lost.len(), 3, "{lost:#?}");
    let secrets = migration.secrets();
    assert_eq!(secrets.len(), 1, "{secrets:?}");
    assert_eq!(std::fs::read_to_string(&secrets[0].1).expect("a secret"), "hush");
    migration.set_secrets();
    project.run(&["stack", "import", "--file", "stack.json"]).succeeded();

    // Back at once: the objects are what they were.
    project.run(&["stack", "export", "--show-secrets", "--file", "export.json"]).succeeded();
    let [export, addresses, back] =
        [project.path("export.json"), project.path("addresses.json"), migration.path("back")]
            .map(|path| path.to_str().expect("a path").to_owned());
    migration.migrate(&["--to", "terraform", &export, "--output", &back, "--addresses", &addresses]).well();
    let text = std::fs::read_to_string(migration.path("back/terraform.tfstate")).expect("a state");
    let returned: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(instances(&returned, "tainted")[0]["status"], "tainted");
    let deposed = instances(&returned, "replaced");
    assert!(deposed.iter().any(|instance| instance["deposed"].is_string()), "{deposed:#?}");
    let imports = std::fs::read_to_string(migration.path("back/imports.tf")).expect("import blocks");
    assert!(
        imports.contains("import {\n  to = conformance_record.tainted\n  id = \"tainted-1\"\n}\n"),
        "{imports}"
    );

    // The next update replaces what is tainted and deletes what is deposed, as OpenTofu would.
    let updated = project.up();
    assert!(updated.steps("tainted").contains(&"replace"), "{updated}");
    assert!(updated.steps("replaced").contains(&"delete-replaced"), "{updated}");
    assert_eq!(project.objects("flaky"), ["second-1"]);
    project.expect_no_changes();
    project.destroy();
}
