//! What a provider computes is no input of the program.

use serde_json::json;

use super::terraform::Migration;

/// Makes the rotation of a state one whose time came years ago.
fn age(migration: &Migration) {
    let mut state = migration.state();
    let resources = state["resources"].as_array_mut().expect("resources");
    let rotation = resources.iter_mut().find(|resource| resource["type"] == "time_rotating");
    let attributes = &mut rotation.expect("a rotation")["instances"][0]["attributes"];
    let then = json!({
        "id": "2020-01-01T00:00:00Z", "rfc3339": "2020-01-01T00:00:00Z", "rotation_rfc3339": "2020-01-31T00:00:00Z",
        "unix": 1_580_428_800, "year": 2020, "month": 1, "day": 31, "hour": 0, "minute": 0, "second": 0,
    });
    for (name, value) in then.as_object().expect("attributes") {
        assert!(!attributes[name].is_null(), "{name}: {attributes}");
        attributes[name] = value.clone();
    }
    std::fs::write(migration.path("terraform.tfstate"), state.to_string()).expect("a state of ours");
}

/// The lines of a resource in a program.
fn lines_of<'program>(program: &'program str, key: &str) -> Vec<&'program str> {
    let (_, resource) = program.split_once(&format!("\n  {key}:\n")).unwrap_or_else(|| panic!("{program}"));
    resource.lines().take_while(|line| line.starts_with("    ")).map(str::trim).collect()
}

/// Migrates into the directory of the project; returns the program.
fn migrate(migration: &Migration, options: &[&str], code: i32) -> String {
    let [state, output] = [migration.path("terraform.tfstate"), migration.project.path("")]
        .map(|path| path.to_str().expect("a plain path").to_owned());
    let arguments = [&[&state, "--output", &output, "--project", "e2e"], options].concat();
    migration.migrate(&arguments).with_code(code);
    migration.project.read("Pulumi.yaml")
}

#[track_caller]
fn rotates_once(migration: &Migration, options: &[&str]) {
    migration.tofu(&["apply", "-auto-approve"]).well();
    age(migration);
    let program = migrate(migration, options, 0);
    assert!(program.contains("rotationDays: 30") && program.contains("offsetDays: 7"), "{program}");
    assert!(!program.contains("fc3339"), "{program}");

    let project = &migration.project;
    migration.import_stack();
    project.expect_no_changes();
    let gone = project.refresh();
    assert_eq!(gone.changes().get("delete"), Some(&1), "{gone}");
    let rotated = project.up();
    assert_eq!((rotated.steps("key"), rotated.changes().len()), (vec!["create"], 1), "{rotated}");
    project.refresh().changed_nothing();
    project.up().changed_nothing();
    project.destroy();
}

#[test]
fn a_rotation_whose_time_has_come_happens_once() {
    rotates_once(&Migration::new("a rotation without its configuration", "rotations"), &[]);
}

#[test]
fn a_rotation_of_a_configuration_happens_once() {
    let migration = Migration::new("a rotation with its configuration", "rotations");
    let directory = migration.path("").to_str().expect("a plain path").to_owned();
    rotates_once(&migration, &["--from-config", &directory]);
}

#[test]
fn a_program_of_sixty_resources_has_what_the_configuration_sets() {
    let migration = Migration::new("sixty resources with their configuration", "configuration");
    migration.tofu(&["apply", "-auto-approve"]).well();
    let directory = migration.path("").to_str().expect("a plain path").to_owned();
    let program = migrate(&migration, &["--from-config", &directory], 3);
    for (key, expected) in [
        ("note-0", &["filename", "content"][..]),
        ("aliased-0", &["length", "special"]),
        ("later", &["baseRfc3339", "offsetDays", "offsetHours"]),
        ("bare", &["name"]),
        ("site-eu-counted-0", &["separator"]),
    ] {
        let lines = lines_of(&program, key);
        let set = lines.iter().skip_while(|line| **line != "properties:").skip(1);
        let set = set.take_while(|line| **line != "options:").filter_map(|line| line.split(':').next());
        let (mut set, mut expected) = (set.collect::<Vec<_>>(), expected.to_vec());
        set.sort_unstable();
        expected.sort_unstable();
        assert_eq!(set, expected, "{key}: {lines:#?}");
    }
    // It had 663 with defaults and what providers compute.
    let lines = program.lines().count();
    assert!(lines < 610, "the program has {lines} lines");
    migration.import_stack();
    migration.project.expect_no_changes();
    migration.project.up().changed_nothing();
}
