//! The oldest command line that is supported, on which a slice of what users do runs. All other tests run on the newest.

use std::fs;

use serde_json::json;

use crate::harness::{Project, Provider};

/// What `doctor` asks for at least.
const OLDEST: &str = "3.147.0";

#[test]
fn the_oldest_command_line_creates_changes_refreshes_and_destroys() {
    let project = Project::new("the oldest command line", &[Provider::Random, Provider::Conformance]);
    project.use_oldest();
    let version = project.run(&["version"]).succeeded();
    assert_eq!(version.stdout.trim(), format!("v{OLDEST}"), "{version}");
    project.run(&["stack", "select", "dev"]).succeeded();
    let program = |title: &str| {
        format!(
            "resources:\n  pet:\n    type: random:Pet\n  \
             record:\n    type: conformance:Record\n    properties: {{name: one, title: '{title} ${{pet.id}}'}}\n\
             outputs:\n  title: ${{record.title}}\n"
        )
    };
    project.program(&program("first"));
    project.preview().says("title: output<string>");
    let created = project.up();
    assert_eq!(created.steps("record"), ["create"], "{created}");
    project.expect_no_changes();

    project.program(&program("second"));
    assert_eq!(project.up().steps("record"), ["update"]);
    let title = project.outputs()["title"].as_str().expect("a title").to_owned();
    assert!(title.starts_with("second "), "{title}");

    let mut object = project.object("record/one-1.json");
    object["title"] = json!("drifted");
    project.write_object("record/one-1.json", &object);
    project.refresh();
    assert_eq!(project.resource("record")["outputs"]["title"], "drifted");
    assert_eq!(project.up().steps("record"), ["update"]);
    assert_eq!(project.object("record/one-1.json")["title"], title);

    project.destroy();
    assert!(fs::read_dir(project.object_path("record")).is_ok_and(|mut left| left.next().is_none()));
}
