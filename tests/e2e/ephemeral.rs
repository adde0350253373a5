//! Ephemeral resources and actions, which programs call as functions: nothing of them is stored.

use serde_json::json;

use crate::harness::{Project, Provider};

#[test]
fn an_ephemeral_resource_is_open_for_as_long_as_the_run_and_secret_in_its_outputs() {
    let project = Project::new("an ephemeral resource", &[Provider::Conformance]);
    project.program(
        "variables:\n  session:\n    fn::invoke:\n      function: conformance:ephemeralSession\n      \
         arguments: {user: ann, renewEvery: 50}\n\
         resources:\n  thing:\n    type: conformance:Record\n    properties: {name: one, secret: '${session.token}'}\n\
         outputs:\n  token: ${session.token}\n",
    );
    project.up_at_once();
    // The value belongs to the session that was opened last.
    assert_eq!(project.outputs()["token"], "token of ann-1");
    assert!(!project.export().to_string().contains("token of ann"), "it is stored in the clear");
    project.preview();
    let sessions = project.objects("session");
    assert_eq!(sessions, ["ann-1", "ann-2"], "one a run");
    for session in sessions {
        let session = project.object(&format!("session/{session}.json"));
        let events: Vec<_> = session["events"].as_array().expect("a list").iter().collect();
        assert_eq!(
            (events.first(), events.last()),
            (Some(&&json!("open")), Some(&&json!("close"))),
            "{session}"
        );
        assert_eq!(session["open"], false);
    }
    project.destroy();
}

#[test]
fn an_action_is_carried_out_once_in_an_update_and_planned_in_a_preview() {
    let project = Project::new("an action of a program", &[Provider::Conformance]);
    project.program(
        "resources:\n  thing:\n    type: conformance:Record\n    properties: {name: one}\n\
         variables:\n  announced:\n    fn::invoke:\n      function: conformance:actionAnnounce\n      \
         arguments: {message: 'There is ${thing.id}', steps: 2, audiences: [{name: ann}]}\n\
         outputs:\n  announced: ${announced}\n",
    );
    let up = project.up();
    let up = up.says("Step 1 of 2.").says("Step 2 of 2.");
    assert_eq!(project.objects("announcement"), ["announcement-1"], "{up}");
    let announced = project.object("announcement/announcement-1.json");
    assert_eq!((&announced["message"], &announced["audience"]), (&json!("There is one-1"), &json!(["ann"])));

    project.run(&["preview"]).succeeded();
    assert_eq!(project.objects("announcement"), ["announcement-1"]);
    project.up();
    assert_eq!(project.objects("announcement"), ["announcement-1", "announcement-2"]);
    project.destroy();
}
