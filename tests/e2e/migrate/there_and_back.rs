//! Sixty resources of five providers go over to Pulumi, live there, and come back.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use super::terraform::Migration;

fn is_private(path: &Path) -> bool {
    let mode = std::fs::metadata(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .permissions()
        .mode();
    mode & 0o077 == 0
}

/// The objects of a state by address and deposed key, without what an export cannot hold.
fn objects(state: &Value) -> BTreeMap<String, Value> {
    let mut objects = BTreeMap::new();
    for resource in state["resources"].as_array().expect("resources") {
        for instance in resource["instances"].as_array().expect("instances") {
            let address = format!(
                "{}.{}.{}[{}]{}",
                resource["module"].as_str().unwrap_or_default(),
                resource["type"].as_str().expect("a type"),
                resource["name"].as_str().expect("a name"),
                instance["index_key"],
                instance["deposed"].as_str().unwrap_or_default(),
            );
            let object = json!({
                "attributes": without_nulls(&instance["attributes"]),
                "dependencies": instance["dependencies"],
                "identity": instance["identity"],
                "private": instance["private"],
                "provider": resource["provider"],
                "schema_version": instance["schema_version"],
                "sensitive_attributes": sorted(&instance["sensitive_attributes"]),
                "status": instance["status"],
            });
            objects.insert(address, object);
        }
    }
    objects
}

/// The attributes that are not null: a state may lack one that is, such as `timeouts`.
fn without_nulls(attributes: &Value) -> Value {
    let attributes = attributes.as_object().expect("attributes");
    let set = attributes.iter().filter(|(_, value)| !value.is_null());
    set.map(|(name, value)| (name.clone(), value.clone())).collect::<serde_json::Map<_, _>>().into()
}

fn sorted(paths: &Value) -> Vec<String> {
    let mut paths: Vec<String> = paths.as_array().into_iter().flatten().map(Value::to_string).collect();
    paths.sort_unstable();
    paths
}

#[test]
fn a_state_of_sixty_resources_goes_to_pulumi_and_back_without_a_change() {
    let migration = Migration::new("migration", "configuration");
    migration.tofu(&["apply", "-auto-approve"]).well();
    migration.tofu_plans_nothing();
    let before = migration.state();
    assert_eq!(objects(&before).len(), 60);

    let project = &migration.project;
    let output = project.path("");
    let output = output.to_str().expect("test directories have plain names");
    let state = migration.path("terraform.tfstate");
    let state = state.to_str().expect("test directories have plain names");
    let said = migration.migrate(&[state, "--output", output, "--project", "e2e"]).with_code(3);
    let lost: Vec<&str> = said.stderr.lines().filter(|line| line.contains("not migrated")).collect();
    assert!(
        matches!(lost.as_slice(), [line] if line.contains("conformance_passport.one: YAML cannot express the number `weight`")),
        "{lost:?}"
    );
    assert!(said.stdout.starts_with("wrote 60 resources of 6 providers"), "{}", said.stdout);

    // With a passphrase, secrets are encrypted, and the others are not in the program.
    assert!(is_private(&project.path("stack.json")));
    assert_eq!(migration.secrets(), []);
    let program = project.read("Pulumi.yaml");
    for file in ["Pulumi.yaml", "Pulumi.dev.yaml", "stack.json"] {
        let text = project.read(file);
        assert!(!text.contains("hush") && !text.contains("PRIVATE KEY"), "{file} contains a secret");
    }

    migration.import_stack();
    project.expect_no_changes();
    project.up().changed_nothing();
    project.expect_no_changes();

    // And back.
    let export = project.run(&["stack", "export", "--show-secrets", "--file", "export.json"]);
    export.succeeded();
    let back = migration.path("back");
    let back = back.to_str().expect("test directories have plain names");
    let export = project.path("export.json");
    let export = export.to_str().expect("test directories have plain names");
    let addresses = project.path("addresses.json");
    let addresses = addresses.to_str().expect("test directories have plain names");
    let said = migration.migrate(&[
        "--to",
        "terraform",
        export,
        "--output",
        back,
        "--addresses",
        addresses,
        "--provider-address",
        "conformance=isthmus/conformance",
    ]);
    said.well();
    assert!(is_private(&migration.path("back/terraform.tfstate")));
    std::fs::rename(migration.path("back/terraform.tfstate"), state).expect("a state");
    let (before, after) = (objects(&before), objects(&migration.state()));
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (address, mut object) in before {
        // Both programs read this address as that of their own registry.
        let provider = object["provider"].as_str().expect("a provider");
        let provider = provider.replace("registry.opentofu.org/hashicorp", "registry.terraform.io/hashicorp");
        object["provider"] = provider.into();
        assert_eq!(after[&address], object, "{address}");
    }
    migration.tofu_plans_nothing();
    assert!(migration.tofu(&["validate"]).code == Some(0));

    // An update and a destruction work.
    let changed = program.replace("value: \"private\"", "value: \"changed\"");
    assert_ne!(changed, program);
    project.write("Pulumi.yaml", &changed);
    let updated = project.up();
    assert_eq!(updated.changes(), BTreeMap::from([("update", 1)]), "{updated}");
    project.expect_no_changes();
    project.destroy();
    assert_eq!(project.objects("record"), Vec::<String>::new());
    let files = std::fs::read_dir(migration.path("files")).expect("a directory").count();
    assert_eq!(files, 0);
}
