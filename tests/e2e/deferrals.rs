//! What a provider puts off because something is not known yet, or not there.

use serde_json::json;

use crate::harness::{Project, Provider};

#[test]
fn a_resource_that_has_to_wait_is_previewed_with_a_warning_and_fails_until_it_can_be() {
    let project = Project::new("a resource that has to wait", &[Provider::Conformance]);
    project.program(
        "resources:\n  first:\n    type: conformance:Record\n    properties: {name: first}\n  \
         thing:\n    type: conformance:Deferred\n    properties: {name: thing, waitFor: 'after-${first.etag}'}\n\
         outputs:\n  fresh: ${thing.fresh}\n",
    );
    let previewed = project.preview();
    previewed
        .says("deferred this conformance_deferred: Before it can go on, all of its inputs must be known")
        .says("fresh: [unknown]");
    project
        .up_fails()
        .says("this conformance_deferred cannot be created yet, and nothing was changed")
        .says("something that it depends on must exist");
    assert_eq!(project.objects("deferred"), Vec::<String>::new());

    project.write_object("prerequisite/after-v1.json", &json!({}));
    assert_eq!(project.up().steps("thing"), ["create"]);
    let [made] = project.resources_in_the_clear(["thing"]);
    // What cannot be read for the time being stays as it was.
    std::fs::remove_file(project.object_path("prerequisite/after-v1.json")).expect("it is there");
    project.refresh().says("deferred reading this conformance_deferred").changed_nothing();
    assert_eq!(project.resources_in_the_clear(["thing"])[0]["outputs"], made["outputs"]);
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn an_update_goes_on_beside_a_resource_that_has_to_wait() {
    let project = Project::new("an update beside what has to wait", &[Provider::Conformance]);
    let record = |name: &str, title: &str, after: &str| {
        format!(
            "  {name}:\n    type: conformance:Record\n    properties: {{name: {name}, title: '{title}'}}\n    \
             options: {{dependsOn: [{after}]}}\n"
        )
    };
    // Those of the chain begin one after the other, most of them when the deferral is known.
    project.program(&format!(
        "resources:\n  thing:\n    type: conformance:Deferred\n    properties: {{name: thing, waitFor: later}}\n{}{}{}{}",
        record("first", "a", ""),
        record("second", "b", "'${first}'"),
        record("third", "c", "'${second}'"),
        record("waits", "${thing.fresh}", ""),
    ));
    let failed = project.up_fails();
    let failed = failed.says("this conformance_deferred cannot be created yet, and nothing was changed");
    assert_eq!(project.objects("record"), ["first-1", "second-1", "third-1"], "{failed}");
    assert_eq!(project.objects("deferred"), Vec::<String>::new(), "{failed}");

    project.write_object("prerequisite/later.json", &json!({}));
    let done = project.up();
    assert_eq!((done.steps("thing"), done.steps("waits")), (vec!["create"], vec!["create"]), "{done}");
    project.expect_no_changes();
    project.destroy();
}
