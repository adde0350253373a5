//! A stack that goes on with another version of a provider, whose schemas or identities have changed.
//!
//! One binary plays all versions: its environment says how old its schemas are.

use serde_json::{Value, json};

use crate::harness::{Project, Provider};

/// How old the schemas are, and how a program of the time says the same.
const SCHEMAS: &str = "CONFORMANCE_SCHEMA_VERSION";

const BOTH: [(&str, &str); 2] = [("new", "Versioned"), ("old", "LegacyVersioned")];

fn program(version: u32, title: &str, resources: &[(&str, &str)]) -> String {
    let name_of_title = if version == 0 { "oldTitle" } else { "title" };
    let labels = if version < 3 { "'a,b'" } else { "[a, b]" };
    let properties = format!("{name_of_title}: {title}, size: 5, labels: {labels}");
    let resource = |(name, resource_type): &(&str, &str)| {
        format!(
            "  {name}:\n    type: conformance:{resource_type}\n    properties: {{name: {name}, {properties}}}\n"
        )
    };
    format!("resources:\n{}", resources.iter().map(resource).collect::<String>())
}

/// The version of its schema that a resource was stored with.
fn stored_version(resource: &Value) -> Value {
    meta(resource)["schema_version"].clone()
}

fn meta(resource: &Value) -> Value {
    let meta = resource["outputs"]["__meta"].as_str().expect("a text");
    serde_json::from_str(meta).expect("JSON")
}

/// Puts version `version`.0.0 of the provider to use, whose schemas have that version.
fn go_to(project: &Project, version: u32) {
    project.set(SCHEMAS, &version.to_string());
    project.use_cached(Provider::Conformance, &format!("{version}.0.0"));
}

#[test]
fn a_newer_provider_finds_nothing_changed_and_an_older_one_is_refused() {
    let project = Project::bare("schemas of several ages", &[]);
    project.switch_to(crate::harness::Bridge::usual());
    for version in 0..=4 {
        project.place_in_cache(Provider::Conformance, &format!("{version}.0.0"));
    }
    go_to(&project, 0);
    project.program(&program(0, "One", &BOTH));
    project.create_stack();
    project.up_at_once();
    let both = || project.resources_in_the_clear(["new", "old"]);
    let first = both();
    assert_eq!(first[0]["outputs"]["oldTitle"], "One");

    for version in 1..=3 {
        go_to(&project, version);
        project.program(&program(version, "One", &BOTH));
        let unchanged = project.expect_no_changes();
        assert_eq!((unchanged.steps("new"), unchanged.steps("old")), (vec!["same"], vec!["same"]));
    }
    // Nothing that was only looked at is stored otherwise.
    assert_eq!(both(), first);

    project.program(&program(3, "Two", &BOTH));
    let changed = project.up_at_once();
    assert_eq!((changed.steps("new"), changed.steps("old")), (vec!["update"], vec!["update"]), "{changed}");
    let upgraded = both();
    for (resource, origin) in upgraded.iter().zip(["upgraded from version 0", "0 1 2 3"]) {
        let outputs = &resource["outputs"];
        assert_eq!((&outputs["title"], &outputs["size"]), (&json!("Two"), &json!(5)));
        assert_eq!((&outputs["labels"], &outputs["origin"]), (&json!(["a", "b"]), &json!(origin)));
        assert_eq!(stored_version(resource), "3");
    }
    project.expect_no_changes();

    // Version 4 has forgotten how to read what older ones have stored, and version 2 never knew.
    go_to(&project, 4);
    project.run(&["preview"]).failed().says("expecting an implementation for version 3 upgrade");
    go_to(&project, 2);
    for (resource, terraform_type) in
        BOTH.iter().zip(["conformance_versioned", "conformance_legacy_versioned"])
    {
        // The engine ends with the first error, so each is asked about alone.
        project.program(&program(2, "Two", &[*resource]));
        for command in [&["preview"][..], &["up", "--yes", "--skip-preview"]] {
            project.run(command).failed().says(&format!(
                "the stored state of this {terraform_type} has schema version 3 (version 3.0.0 of the provider wrote \
                 it), but the provider conformance knows versions up to 2; use the version of the provider that wrote it, \
                 or a newer one. Nothing was changed"
            ));
        }
    }
    assert_eq!(both(), upgraded);

    go_to(&project, 3);
    project.program(&program(3, "Two", &BOTH));
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn a_provider_that_is_replaced_in_its_place_upgrades_what_it_reads_and_what_it_deletes() {
    let project = Project::new("a provider replaced in its place", &[Provider::Conformance]);
    project.set(SCHEMAS, "0");
    project.program(&program(0, "One", &BOTH));
    project.up_at_once();
    project.set(SCHEMAS, "2");
    project.run(&["refresh", "--yes", "--skip-preview"]).succeeded();
    for resource in project.resources_in_the_clear(["new", "old"]) {
        let outputs = &resource["outputs"];
        assert_eq!((&outputs["title"], outputs.get("oldTitle")), (&json!("One"), None));
        assert_eq!((&outputs["size"], stored_version(&resource)), (&json!(5), json!("2")));
    }
    project.set(SCHEMAS, "3");
    project.destroy();
    assert_eq!((project.objects("versioned"), project.objects("legacy_versioned")), (vec![], vec![]));
}

#[test]
fn a_newer_provider_upgrades_identities_and_an_older_one_is_refused() {
    let project = Project::new("identities of several ages", &[Provider::Conformance]);
    let identities = |version: u32| project.set("CONFORMANCE_IDENTITY_VERSION", &version.to_string());
    let program = |note: &str| {
        format!(
            "resources:\n  thing:\n    type: conformance:Passport\n    properties: {{name: one, note: {note}}}\n"
        )
    };
    identities(0);
    project.program(&program("first"));
    project.up_at_once();
    let [first] = project.resources_in_the_clear(["thing"]);
    assert!(meta(&first).to_string().contains(r#"\"code\":\"one-1\""#), "{first}");

    for version in 1..=3 {
        identities(version);
        project.expect_no_changes();
    }
    assert_eq!(project.resources_in_the_clear(["thing"])[0], first);
    project.program(&program("second"));
    project.up_at_once();
    let [upgraded] = project.resources_in_the_clear(["thing"]);
    assert!(meta(&upgraded).to_string().contains("serial"), "{upgraded}");

    identities(1);
    for command in [&["preview"][..], &["refresh", "--yes"]] {
        project
            .run(command)
            .failed()
            .says("knows versions up to 1; use the version of the provider that wrote it");
    }
    assert_eq!(project.resources_in_the_clear(["thing"])[0], upgraded);
    identities(3);
    project.expect_no_changes();
    project.destroy();
}
