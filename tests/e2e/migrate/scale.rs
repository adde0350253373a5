//! States of many resources.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::terraform::Migration;

/// As many resources as large projects have.
const MANY: usize = 10_000;

/// How long a migration of them may take. Without optimisation, on a machine that builds and tests other things at the time,
/// only the order is tested.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 30 } else { 10 });

fn state() -> Value {
    let instances: Vec<Value> = (0..MANY)
        .map(|number| {
            json!({
                "index_key": number,
                "schema_version": 0,
                "attributes": {
                    "id": format!("pet{number}-able-dog"), "keepers": { "number": number.to_string() },
                    "length": 2, "prefix": format!("pet{number}"), "separator": "-",
                },
                "sensitive_attributes": [],
            })
        })
        .collect();
    json!({
        "version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "outputs": {},
        "resources": [{
            "mode": "managed", "type": "random_pet", "name": "a",
            "provider": r#"provider["registry.opentofu.org/hashicorp/random"]"#, "instances": instances,
        }],
    })
}

#[test]
fn ten_thousand_resources_are_migrated_in_seconds() {
    let migration = Migration::new("migration of many", "configuration");
    let file = migration.path("many.tfstate");
    std::fs::write(&file, state().to_string()).expect("a file");
    let output = migration.path("many");
    let begin = Instant::now();
    let said = migration
        .migrate(&[file.to_str().expect("a path"), "--output", output.to_str().expect("a path")])
        .well();
    let took = begin.elapsed();
    assert!(said.stdout.starts_with(&format!("wrote {MANY} resources")), "{}", said.stdout);
    eprintln!("e2e: {MANY} resources were migrated in {:.1} s", took.as_secs_f64());
    assert!(took < LIMIT, "it took {took:?}");
    let text = std::fs::read_to_string(output.join("stack.json")).expect("a stack export");
    let export: Value = serde_json::from_str(&text).expect("JSON");
    let resources = export["deployment"]["resources"].as_array().expect("resources");
    assert_eq!(resources.len(), MANY + 2, "the stack and the provider besides");
    assert_eq!(resources[2]["inputs"]["prefix"], "pet0");
}
