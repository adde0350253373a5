//! A resource with an effect outside the provider: a file.

use std::os::unix::fs::PermissionsExt as _;

use crate::harness::{Project, Provider};

fn greeting(filename: &str, content: &str) -> String {
    format!(
        "resources:\n  greeting:\n    type: local:File\n    properties:\n      \
         filename: '@directory@{filename}'\n      content: '{content}'\n      filePermission: '0640'\n"
    )
}

#[test]
fn a_file_is_replaced_when_its_content_changes() {
    let project = Project::new("a file's content", &[Provider::Local]);
    project.program(&greeting("greeting.txt", "Hello, world"));
    assert_eq!(project.up().steps("greeting"), ["create"]);
    assert_eq!(project.read("greeting.txt"), "Hello, world");

    // Created first, the new file would be deleted with the old one: they have the same name.
    project.program(&greeting("greeting.txt", "Grüße, 世界"));
    let replaced = project.up();
    assert_eq!(
        replaced.steps("greeting"),
        ["delete-replaced", "replace", "create-replacement"],
        "{replaced}"
    );
    assert_eq!(project.read("greeting.txt"), "Grüße, 世界");
    let mode =
        std::fs::metadata(project.path("greeting.txt")).expect("the file is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    project.expect_no_changes();
    project.refresh().changed_nothing();
    project.destroy();
    assert!(!project.path("greeting.txt").exists(), "destroy left the file");
}

#[test]
fn a_file_deleted_by_hand_is_missed_by_refresh_and_made_again_by_up() {
    let project = Project::new("a file deleted by hand", &[Provider::Local]);
    project.program(&greeting("greeting.txt", "Hello, world"));
    project.up();
    std::fs::remove_file(project.path("greeting.txt")).expect("the file is there");

    let refreshed = project.refresh();
    assert_eq!(refreshed.changes().get("delete"), Some(&1), "{refreshed}");
    let mended = project.up();
    assert_eq!(mended.steps("greeting"), ["create"], "{mended}");
    assert_eq!(project.read("greeting.txt"), "Hello, world");
    project.expect_no_changes();
    project.destroy();
}
