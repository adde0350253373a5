//! Updates in place, and a resource that ends by the clock.

use serde_json::json;

use crate::harness::{Project, Provider};

fn offset_by(days: u32) -> String {
    format!(
        "resources:\n  deadline:\n    type: time:Offset\n    properties:\n      \
         baseRfc3339: '2026-01-30T00:00:00Z'\n      offsetDays: {days}\n      triggers: {{release: '1'}}\n\
         outputs:\n  deadline: ${{deadline.rfc3339}}\n"
    )
}

#[test]
fn an_offset_is_updated_in_place() {
    let project = Project::new("an update in place", &[Provider::Time]);
    project.program(&offset_by(7));
    project.up();
    assert_eq!(project.outputs(), json!({ "deadline": "2026-02-06T00:00:00Z" }));
    let before = project.resource("deadline");
    project.expect_no_changes();

    project.program(&offset_by(14));
    let preview = project.preview();
    assert_eq!(preview.steps("deadline"), ["update"], "{preview}");
    let updated = project.up();
    assert_eq!(updated.steps("deadline"), ["update"], "{updated}");
    assert_eq!(project.outputs(), json!({ "deadline": "2026-02-13T00:00:00Z" }));
    assert_eq!(project.resource("deadline")["id"], before["id"]);
    project.expect_no_changes();
    project.destroy();
}

fn rotating_since(begin: &str, days: u32) -> String {
    format!(
        "resources:\n  rotation:\n    type: time:Rotating\n    properties:\n      \
         rfc3339: '{begin}'\n      rotationDays: {days}\n"
    )
}

#[test]
fn a_rotation_stays_until_its_time_has_come() {
    let project = Project::new("a rotation", &[Provider::Time]);
    // 36,500 days from then is a century from now, more or less.
    project.program(&rotating_since("2026-01-01T00:00:00Z", 36_500));
    assert_eq!(project.up().steps("rotation"), ["create"]);
    project.expect_no_changes();
    project.refresh().changed_nothing();

    project.program(&rotating_since("2026-01-01T00:00:00Z", 36_501));
    let updated = project.up();
    assert_eq!(updated.steps("rotation"), ["update"], "{updated}");
    project.expect_no_changes();

    // One whose time came long ago: the provider makes it, and says at the next look that it is gone.
    project.program(&rotating_since("2020-01-01T00:00:00Z", 1));
    project.up();
    let refreshed = project.refresh();
    assert_eq!(refreshed.changes().get("delete"), Some(&1), "{refreshed}");
    assert_eq!(project.up().steps("rotation"), ["create"]);
    project.destroy();
}
