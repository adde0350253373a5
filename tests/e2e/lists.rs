//! What there is of a resource type, by `pulumi do TYPE list`, and what else that command does with a resource.
//!
//! Nothing else of today's command line lists. What is asked for can be said by flags as far as it is texts, numbers and truth
//! values; all else (the blocks `filter` of the passports' list) takes a file, and a plugin that converts it, which is not
//! there without a network. `tests/contract/invokes/lists.rs` has those. Nor does the command show why a function refuses its arguments:
//! it does not look at the failures in an answer, and misses the result.

use serde_json::{Value, json};

use crate::harness::outcome::Outcome;
use crate::harness::project::{PLUGIN, PLUGIN_VERSION};
use crate::harness::{Project, Provider};

const PASSPORT: &str = "conformance:index/passport:Passport";

/// `pulumi do` with a member of the provider's package.
fn direct(project: &Project, member: &str, arguments: &[&str]) -> Outcome {
    let provider = project.provider(Provider::Conformance);
    let package = format!("{PLUGIN}@{PLUGIN_VERSION} {}", provider.display());
    project.run(&[&["do", "--stateless", "--package", &package, member][..], arguments].concat())
}

fn listed(project: &Project, arguments: &[&str]) -> Vec<Value> {
    let outcome = direct(project, PASSPORT, &[&["list"][..], arguments].concat()).succeeded();
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}\n{outcome}"))
}

#[test]
fn what_the_provider_has_is_listed_read_changed_and_deleted_by_its_identity() {
    let project = Project::new("a list", &[Provider::Conformance]);
    project.program(
        "resources:\n  ann:\n    type: conformance:Passport\n    properties: {name: ann}\n  \
         bob:\n    type: conformance:Passport\n    properties: {name: bob, weight: 4.5}\n  \
         cy:\n    type: conformance:Passport\n    properties: {name: cy}\n",
    );
    project.up_at_once();

    let names = |listed: &[Value]| -> Vec<String> {
        listed.iter().map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
    };
    let all = listed(&project, &["--all"]);
    assert_eq!(names(&all), ["Passport of ann", "Passport of bob", "Passport of cy"]);
    assert_eq!(names(&listed(&project, &["--count", "2"])), ["Passport of ann", "Passport of bob"]);
    assert_eq!(names(&listed(&project, &["--prefix", "b"])), ["Passport of bob"]);
    direct(&project, PASSPORT, &["list", "--prefix", "invalid"])
        .failed()
        .says("No passport's name begins with this. (at property `prefix`)");
    direct(&project, PASSPORT, &["list", "--all", "--trouble", "error-later"])
        .failed()
        .says("Listing broken off");

    // What is listed is what the other commands take.
    let bob = all[1]["id"].as_str().expect("an id");
    let identity: Value = serde_json::from_str(bob).expect("an identity");
    assert_eq!(
        (&identity["id"], &identity["serial"], &identity["weight"]),
        (&json!("bob-1"), &json!(1), &json!(4.5))
    );
    direct(&project, PASSPORT, &["read", bob]).succeeded().says("\"bob-1\"").says("4.5");
    direct(&project, PASSPORT, &["patch", "--yes", bob, "--note", "hello"]).succeeded();
    assert_eq!(project.object("passport/bob-1.json")["state"]["note"], "hello");
    direct(&project, PASSPORT, &["delete", "--yes", bob]).succeeded();
    assert_eq!(project.objects("passport"), ["ann-1", "cy-1"]);
    direct(&project, PASSPORT, &["create", "--yes", "--name", "dora"]).succeeded().says("\"dora-1\"");
    assert_eq!(project.objects("passport"), ["ann-1", "cy-1", "dora-1"]);
    project.expect_no_process();
}
