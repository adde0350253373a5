//! Creations, updates and deletions that fail half-way, each mended by the next run of the same program.
//!
//! `conformance_flaky` fails where a file asks it to, once: no program has to change for it. Half of its parts are there then,
//! its private data tells of the attempt, and any later call but a deletion fails if it comes without that.

use serde_json::{Value, json};

use crate::harness::{Project, Provider};

const PROGRAM: &str =
    "resources:\n  thing:\n    type: conformance:Flaky\n    properties: {name: one, parts: [a, b, c, d]}\n";

fn project(name: &'static str) -> Project {
    let project = Project::new(name, &[Provider::Conformance]);
    project.program(PROGRAM);
    project
}

/// The next `operation` goes wrong.
fn upset(project: &Project, operation: &str, trouble: &str) {
    project.write_object("trouble/one.json", &json!({operation: trouble, "once": true}));
}

/// What the provider was given with the deletion that has succeeded: its private data, and its parts.
fn deleted(project: &Project) -> (Value, Value) {
    let mut noted = project.object("flaky_deleted/one-1.json");
    (noted["private"].take(), noted["parts"].take())
}

#[test]
fn what_was_half_created_is_kept_with_the_reasons_and_replaced_by_the_same_program() {
    let project = project("half created");
    upset(&project, "create", "half");
    project.up_fails().says("Creation incomplete").says("half of it was done");
    let kept = project.resource("thing");
    assert_eq!((&kept["id"], &kept["outputs"]["parts"]), (&json!("one-1"), &json!(["a", "b"])));
    assert_eq!(kept["inputs"]["parts"], json!(["a", "b", "c", "d"]));
    let reasons = kept["initErrors"].to_string();
    assert!(reasons.contains("Creation incomplete") && reasons.contains("half of it was done"), "{reasons}");

    // A refresh makes the engine forget the reasons, and does not make it whole.
    project.run(&["refresh", "--yes", "--skip-preview"]).succeeded();
    assert_eq!(project.resource("thing")["initErrors"], Value::Null);
    // It goes first: the new one has its name.
    let mended = project.up();
    assert_eq!(mended.steps("thing"), ["delete-replaced", "replace", "create-replacement"], "{mended}");
    let whole = project.resource("thing");
    assert_eq!((&whole["initErrors"], &whole["outputs"]["written"]), (&Value::Null, &json!(4)));
    assert_eq!(project.objects("flaky"), ["one-1"]);
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn what_was_half_updated_is_kept_with_the_reasons_and_finished_by_the_same_program() {
    let project = project("half updated");
    project.up_at_once();
    project.program(&PROGRAM.replace("[a, b, c, d]", "[a, b, c, d, e, f]"));
    upset(&project, "update", "half");
    project.up_fails().says("Update incomplete").says("half of it was done");
    let kept = project.resource("thing");
    assert_eq!((&kept["id"], &kept["outputs"]["parts"]), (&json!("one-1"), &json!(["a", "b", "c"])));
    assert!(kept["initErrors"].to_string().contains("Update incomplete"), "{kept}");

    let mended = project.up_at_once();
    assert_eq!(mended.steps("thing"), ["update"], "{mended}");
    let whole = project.resource("thing");
    assert_eq!((&whole["initErrors"], &whole["outputs"]["written"]), (&Value::Null, &json!(6)));
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn an_update_that_failed_when_all_was_done_is_finished_without_a_change() {
    let project = project("an update that failed in the end");
    project.up_at_once();
    project.program(&PROGRAM.replace("[a, b, c, d]", "[e]"));
    upset(&project, "update", "whole");
    project.up_fails().says("Update incomplete").says("all of it was done");
    let kept = project.resource("thing");
    assert_eq!(kept["outputs"]["parts"], json!(["e"]));
    assert!(kept["initErrors"].to_string().contains("all of it was done"), "{kept}");
    let before = project.object("flaky/one-1.json");

    // There is no difference; the engine sends an update to hear that all is well, and the provider has nothing to do.
    let mended = project.up_at_once();
    let compared = mended.calls("Diff");
    let answered: Vec<_> = compared.iter().filter_map(|call| call.response.as_ref()).collect();
    assert!(
        !answered.is_empty() && answered.iter().all(|answer| answer["changes"] == "DIFF_NONE"),
        "{mended}"
    );
    assert_eq!(mended.steps("thing"), ["update"], "{mended}");
    assert_eq!(project.resource("thing")["initErrors"], Value::Null);
    assert_eq!(project.object("flaky/one-1.json"), before);
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn a_deletion_that_failed_goes_on_with_what_it_has_left() {
    let project = project("half deleted");
    project.up_at_once();
    let before = project.resources_in_the_clear(["thing"]);
    upset(&project, "delete", "half");
    project.run(&["destroy", "--yes", "--skip-preview"]).failed().says("Deletion incomplete");
    assert_eq!(project.resources_in_the_clear(["thing"]), before, "an engine has no place for what is left");

    // A refresh that is only previewed is the same call, and must not cost anything.
    let without_yes = [("PULUMI_SKIP_CONFIRMATIONS", "false")];
    let previewed = project.start_with(&without_yes, &["refresh", "--preview-only"]).finish().succeeded();
    assert_eq!(previewed.steps("thing"), ["refresh"], "{previewed}");
    assert_eq!(project.resources_in_the_clear(["thing"]), before);
    project.destroy();
    assert_eq!(deleted(&project), (json!({"attempts": 2, "last": "delete half"}), json!(["a", "b"])));
}

#[test]
fn what_a_replacement_could_not_delete_is_deleted_by_the_next_run_with_what_is_left() {
    let project = project("half deleted, and replaced");
    project.up_at_once();
    upset(&project, "delete", "half");
    project.program(&PROGRAM.replace("name: one", "name: two"));
    let failed = project.up_fails().says("Deletion incomplete");
    assert_eq!(failed.steps("thing"), ["create-replacement", "replace", "delete-replaced"], "{failed}");
    assert_eq!(project.objects("flaky"), ["one-1", "two-1"]);

    let mended = project.up_at_once();
    assert_eq!(mended.steps("thing"), ["same", "delete-replaced"], "{mended}");
    assert_eq!(deleted(&project), (json!({"attempts": 2, "last": "delete half"}), json!(["a", "b"])));
    assert_eq!(project.objects("flaky"), ["two-1"]);
    project.destroy();
}
