//! Names that are made up where a program gives none, as the engine sees to it: what it sends with Check, what it keeps, and
//! what the user sets with `pulumi:autonaming`.

use crate::harness::{Project, Provider};

/// A record, whose only required property is its name, and a second one of the old SDK that is replaced when its network's
/// address changes.
fn program(title: &str, address: &str) -> String {
    format!(
        r"
resources:
  record:
    type: conformance:Record
    properties:
      title: {title}
  legacy:
    type: conformance:Legacy
    properties:
      network: {{cidr: {address}}}
outputs:
  record: ${{record.name}}
  legacy: ${{legacy.name}}
"
    )
}

fn project(name: &'static str) -> Project {
    let project = Project::new(name, &[Provider::Conformance]);
    project.program(&program("first", "10.0.0.0/8"));
    project
}

fn output(project: &Project, name: &str) -> String {
    let outputs = project.outputs();
    outputs[name].as_str().unwrap_or_else(|| panic!("no text '{name}': {outputs}")).to_owned()
}

/// A resource's name and so many digits.
#[track_caller]
fn assert_made_from(name: &str, resource: &str) {
    let digits = name.strip_prefix(resource).and_then(|rest| rest.strip_prefix('-'));
    let good = digits
        .is_some_and(|digits| digits.len() == 7 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    assert!(good, "'{name}' is not made from '{resource}'");
}

fn set(project: &Project, key: &str, value: &str) {
    project.run(&["config", "set", "--path", &format!("pulumi:autonaming.{key}"), value]).succeeded();
}

#[test]
fn a_name_is_made_once_stays_through_updates_and_is_made_anew_by_a_replacement() {
    let project = project("made-up names");
    project.preview();
    project.up();
    let (record, legacy) = (output(&project, "record"), output(&project, "legacy"));
    assert_made_from(&record, "record");
    assert_made_from(&legacy, "legacy");
    assert_eq!(project.resource("record")["inputs"]["name"], record.as_str());
    project.expect_no_changes();

    project.program(&program("second", "10.0.0.0/8"));
    let updated = project.up();
    assert_eq!(
        (updated.steps("record"), updated.steps("legacy")),
        (vec!["update"], vec!["same"]),
        "{updated}"
    );
    assert_eq!(output(&project, "record"), record);

    project.program(&program("second", "192.168.0.0/16"));
    let replaced = project.up();
    // The new one has another name, so it can be there before the old one goes.
    let steps = ["create-replacement", "replace", "delete-replaced"];
    assert_eq!(
        (replaced.steps("record"), replaced.steps("legacy")),
        (vec!["same"], steps.to_vec()),
        "{replaced}"
    );
    let second = output(&project, "legacy");
    assert_made_from(&second, "legacy");
    assert_ne!(second, legacy);
    project.expect_no_changes();
    project.refresh().changed_nothing();
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn the_user_decides_how_names_are_made() {
    let project = project("configured names");
    set(&project, "mode", "default");
    project.up();
    let record = output(&project, "record");
    assert_made_from(&record, "record");

    set(&project, "mode", "verbatim");
    project.expect_no_changes();
    project.destroy();
    project.up();
    assert_eq!(
        (output(&project, "record"), output(&project, "legacy")),
        ("record".to_owned(), "legacy".to_owned())
    );
    project.expect_no_changes();

    project.program(&program("first", "192.168.0.0/16"));
    let replaced = project.up();
    // The name stays what it is, so the old one has to go first.
    assert_eq!(replaced.steps("legacy"), ["delete-replaced", "replace", "create-replacement"], "{replaced}");
    assert_eq!(output(&project, "legacy"), "legacy");
    project.destroy();

    project.run(&["config", "rm", "--path", "pulumi:autonaming.mode"]).succeeded();
    set(&project, "pattern", "${project}_${name}_${alphanum(4)}");
    project.up();
    let record = output(&project, "record");
    let characters = record.strip_prefix("e2e_record_");
    assert!(characters.is_some_and(|characters| characters.len() == 4), "{record}");
    project.expect_no_changes();
    project.destroy();
}
