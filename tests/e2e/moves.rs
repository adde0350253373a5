//! A resource whose type changes, with an alias that says what it was: the object stays, and the provider takes it over.

use serde_json::json;

use crate::harness::{Project, Provider};

/// What was of three types becomes one of `conformance_movable`.
const KINDS: [(&str, &str); 3] = [("record", "Record"), ("legacy", "Legacy"), ("versioned", "Versioned")];

/// A program of the three, each with these properties.
fn program(of: &dyn Fn(&str, &str) -> String) -> String {
    let resources = KINDS.map(|(kind, resource_type)| of(kind, resource_type));
    format!("resources:\n{}", resources.concat())
}

fn as_they_were(kind: &str, resource_type: &str) -> String {
    format!(
        "  {kind}:\n    type: conformance:{resource_type}\n    properties: {{name: {kind}, title: One}}\n"
    )
}

fn moved(title: &'static str) -> impl Fn(&str, &str) -> String {
    move |kind, resource_type| {
        format!(
            "  {kind}:\n    type: conformance:Movable\n    properties: {{name: {kind}, title: {title}}}\n    \
             options: {{aliases: [{{type: 'conformance:index/{kind}:{resource_type}'}}]}}\n"
        )
    }
}

#[test]
fn what_has_another_type_now_is_taken_over_and_not_replaced() {
    let project = Project::new("changed types", &[Provider::Conformance]);
    project.program(&program(&as_they_were));
    project.up_at_once();
    project.program(&program(&moved("One")));
    project.expect_no_changes();
    // Nothing changes, so the engine goes on with the state of the former type; it is taken over in each call.
    project.up().changed_nothing();
    project.expect_no_changes();

    project.program(&program(&moved("Two")));
    let changed = project.up();
    for (kind, _) in KINDS {
        assert_eq!(changed.steps(kind), ["update"], "{changed}");
        let resource = project.resource(kind);
        assert_eq!(resource["id"], format!("{kind}-1"));
        let outputs = &resource["outputs"];
        assert_eq!((&outputs["title"], &outputs["keptIn"]), (&json!("Two"), &json!(kind)));
        let came_from = outputs["cameFrom"].as_str().expect("a text");
        assert!(came_from.starts_with(&format!("conformance_{kind} of ")), "{came_from}");
        // It is the same object, where it always was.
        assert_eq!((project.objects(kind), project.objects("movable")), (vec![format!("{kind}-1")], vec![]));
        assert_eq!(project.object(&format!("{kind}/{kind}-1.json"))["title"], "Two");
    }
    project.refresh().changed_nothing();

    // From here on the state is the new type's, and no alias is needed.
    let without_alias = |kind: &str, _: &str| {
        format!("  {kind}:\n    type: conformance:Movable\n    properties: {{name: {kind}, title: Two}}\n")
    };
    project.program(&program(&without_alias));
    project.expect_no_changes();
    project.destroy();
    assert_eq!(KINDS.map(|(kind, _)| project.objects(kind)).concat(), Vec::<String>::new());
}
