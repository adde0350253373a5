//! The life of a resource that has nothing but a state: created, found unchanged, replaced, gone.

use crate::harness::{Project, Provider};

fn pet_of_length(length: u32) -> String {
    format!(
        "resources:\n  pet:\n    type: random:Pet\n    properties:\n      length: {length}\noutputs:\n  name: ${{pet.id}}\n"
    )
}

#[test]
fn a_pet_is_created_stays_is_replaced_and_leaves_nothing() {
    let project = Project::new("a pet", &[Provider::Random]);
    project.program(&pet_of_length(2));

    let created = project.up();
    assert_eq!(created.steps("pet"), ["create"], "{created}");
    let first = project.outputs()["name"].clone();
    let words = |name: &serde_json::Value| name.as_str().map(|name| name.split('-').count());
    assert_eq!(words(&first), Some(2), "{first}");

    let unchanged = project.expect_no_changes();
    assert_eq!(unchanged.steps("pet"), ["same"], "{unchanged}");

    project.program(&pet_of_length(4));
    let replaced = project.up();
    assert_eq!(replaced.steps("pet"), ["create-replacement", "replace", "delete-replaced"], "{replaced}");
    let second = project.outputs()["name"].clone();
    assert_eq!(words(&second), Some(4), "{second}");
    project.expect_no_changes();

    let refreshed = project.refresh().changed_nothing();
    assert!(!refreshed.calls("Read").is_empty(), "{refreshed}");

    let destroyed = project.destroy();
    assert_eq!(destroyed.steps("pet"), ["delete"], "{destroyed}");
    assert!(project.temporary_files().is_empty(), "files are left: {:?}", project.temporary_files());
}

#[test]
fn what_one_resource_yields_is_known_to_the_next_only_after_it_was_made() {
    let project = Project::new("dependent resources", &[Provider::Random]);
    project.program(
        r"
resources:
  pet:
    type: random:Pet
  bytes:
    type: random:Bytes
    properties:
      length: 8
  id:
    type: random:Id
    properties:
      byteLength: 4
      prefix: ${pet.id}-
      keepers: {bytes: '${bytes.hex}'}
outputs:
  pet: ${pet.id}
  id: ${id.hex}
",
    );

    let preview = project.preview();
    assert_eq!(preview.steps("id"), ["create"], "{preview}");
    // In the preview the pet has no name yet, and nothing may be made up for what depends on it.
    let created = project.up();
    assert_eq!(created.steps("id"), ["create"], "{created}");
    let outputs = project.outputs();
    let (pet, id) = (outputs["pet"].as_str().expect("a name"), outputs["id"].as_str().expect("an id"));
    assert!(id.starts_with(&format!("{pet}-")), "{outputs}");
    project.expect_no_changes();
    project.destroy();
}
