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
