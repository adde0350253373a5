//! `customTimeouts`, as a user writes them in a program.

use serde_json::json;

use crate::harness::{Project, Provider};

/// A record whose creation never ends by itself if it is called `slow-…`.
fn record(name: &str, title: &str, timeouts: &str) -> String {
    format!(
        "resources:\n  it:\n    type: conformance:Record\n    properties:\n      name: {name}\n      title: {title}\n    \
         options:\n      customTimeouts: {timeouts}\n"
    )
}

#[test]
fn they_reach_the_provider_and_are_no_difference_afterwards() {
    let project = Project::new("custom timeouts", &[Provider::Conformance]);
    project.program(&record("slow-one", "first", "{create: 1s}"));
    let failed = project.run(&["up", "--yes"]).failed();
    let text = "the wait ended: context deadline exceeded";
    assert!(failed.stdout.contains(text) || failed.stderr.contains(text), "{failed}");

    project.program(&record("one", "first", "{create: 1h30m, update: 90s, delete: 2m}"));
    project.preview();
    project.up();
    assert_eq!(project.resource("it")["outputs"]["timeouts"], json!({"create": "1h30m0s"}));
    assert_eq!(project.resource("it")["inputs"].get("timeouts"), None);
    project.expect_no_changes();
    project.refresh().changed_nothing();
    project.expect_no_changes();

    project.program(&record("one", "second", "{create: 1h30m, update: 90s, delete: 2m}"));
    let updated = project.up();
    assert_eq!(updated.steps("it"), ["update"], "{updated}");
    let timeouts = json!({"create": "1h30m0s", "update": "1m30s"});
    assert_eq!(project.resource("it")["outputs"]["timeouts"], timeouts);
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn they_can_be_taken_out_of_a_program_without_a_difference() {
    let project = Project::new("removed custom timeouts", &[Provider::Conformance]);
    // A block or an attribute of the framework, and the older SDK's, which are in private data.
    let kinds = [
        ("record", "Record", "title"),
        ("attribute", "TimedAttribute", "value"),
        ("old", "LegacyTimed", "value"),
    ];
    let program = |value: &str, options: &str| {
        let resource = |(name, resource_type, property): (&str, &str, &str)| {
            format!(
                "  {name}:\n    type: conformance:{resource_type}\n    \
                 properties: {{name: {name}, {property}: {value}}}\n    options: {options}\n"
            )
        };
        format!("resources:\n{}", kinds.map(resource).concat())
    };
    let timeouts = "{customTimeouts: {create: 1h30m, update: 90s, delete: 2m}}";
    project.program(&program("first", timeouts));
    project.up_at_once();
    project.program(&program("first", timeouts));
    project.expect_no_changes();

    project.program(&program("first", "{}"));
    project.expect_no_changes();
    project.up().changed_nothing();
    project.refresh().changed_nothing();
    project.expect_no_changes();
    project.program(&program("second", "{}"));
    let updated = project.up();
    for (name, ..) in kinds {
        assert_eq!(updated.steps(name), ["update"], "{updated}");
        assert_eq!(project.resource(name)["inputs"].get("timeouts"), None);
    }
    project.expect_no_changes();
    project.refresh().changed_nothing();
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn they_bound_a_resource_that_has_no_timeouts() {
    let project = Project::new("bounded by custom timeouts", &[Provider::Time]);
    project.program(
        "resources:\n  nap:\n    type: time:Sleep\n    properties:\n      createDuration: 1h\n    options:\n      \
         customTimeouts: {create: 1s}\n",
    );
    let failed = project.run(&["up", "--yes", "--skip-preview"]).failed();
    let text = "creating this resource took longer than the 1s that `customTimeouts.create` allows";
    assert!(failed.stdout.contains(text) || failed.stderr.contains(text), "{failed}");
    project.expect_no_process();

    // The stack can be worked with.
    project.program("");
    project.destroy();
}
