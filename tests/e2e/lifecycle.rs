//! What fails and is mended by the next run, what a program ignores, and states of other versions of a provider.

use serde_json::{Value, json};

use crate::harness::{Project, Provider};

fn record(properties: &str, options: &str) -> String {
    format!(
        "resources:\n  thing:\n    type: conformance:Record\n    properties: {properties}\n    options: {options}\n\
         outputs:\n  etag: ${{thing.etag}}\n"
    )
}

#[test]
fn a_failed_update_keeps_what_there_is_and_is_mended_by_the_next_run() {
    let project = Project::new("a failed update", &[Provider::Conformance]);
    project.program(&record("{name: one, title: One}", "{}"));
    project.up();
    project.program(&record("{name: one, title: fail-update}", "{}"));
    let failed = project.run(&["up", "--yes"]).failed();
    let said = format!("{}{}", failed.stdout, failed.stderr);
    assert!(said.contains("No record is ever updated to this title."), "{failed}");
    assert_eq!(project.resource("thing")["outputs"]["title"], "One");

    project.program(&record("{name: one, title: Two}", "{}"));
    let mended = project.up();
    assert_eq!(mended.steps("thing"), ["update"], "{mended}");
    let whole = project.resource("thing");
    assert_eq!((&whole["outputs"]["title"], &whole["initErrors"]), (&json!("Two"), &Value::Null));
    assert_eq!(project.outputs()["etag"], "v2");
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn what_a_program_ignores_stays_and_the_rest_changes() {
    let project = Project::new("ignored changes", &[Provider::Conformance]);
    let properties = |title: &str, tags: &str, size: u32| {
        format!(
            "{{name: one, title: {title}, size: {size}, tags: {tags}, rules: [{{port: 80}}, {{port: {size}}}]}}"
        )
    };
    project.program(&record(&properties("One", "{a: '1', b: '2'}", 1), "{}"));
    project.up();
    let ignoring = "{ignoreChanges: [title, 'tags[\"a\"]', 'rules[*].port']}";
    project.program(&record(&properties("Two", "{a: '3', b: '2'}", 1), ignoring));
    project.expect_no_changes();
    project.program(&record(&properties("Two", "{a: '3', b: '4'}", 2), ignoring));
    let changed = project.up();
    assert_eq!(changed.steps("thing"), ["update"], "{changed}");
    let outputs = project.resource("thing")["outputs"].take();
    assert_eq!((&outputs["title"], &outputs["size"]), (&json!("One"), &json!(2)));
    assert_eq!(outputs["tags"], json!({"a": "1", "b": "4"}));
    assert_eq!((&outputs["rules"][0]["port"], &outputs["rules"][1]["port"]), (&json!(80), &json!(1)));
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn a_program_that_asks_for_it_replaces_instead_of_updating() {
    let project = Project::new("replaceOnChanges", &[Provider::Conformance]);
    let options = "{replaceOnChanges: ['settings.mode']}";
    project.program(&record("{name: one, settings: {mode: slow, verbose: false}}", options));
    project.up();
    project.program(&record("{name: one, settings: {mode: slow, verbose: true}}", options));
    let updated = project.up();
    assert_eq!(updated.steps("thing"), ["update"], "{updated}");
    project.program(&record("{name: one, settings: {mode: fast, verbose: true}}", options));
    let replaced = project.up();
    assert!(replaced.steps("thing").contains(&"replace"), "{replaced}");
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn two_providers_of_a_program_keep_their_nested_secrets_apart_and_to_themselves() {
    let project = Project::new("two explicit providers", &[Provider::Tls]);
    let provider = |name: &str| {
        format!(
            "  {name}:\n    type: pulumi:providers:tls\n    properties:\n      proxies:\n        \
             - url: http://{name}.example\n          username: {name}\n          \
             password: {{'fn::secret': hush-{name}}}\n  {name}Key:\n    type: tls:PrivateKey\n    \
             properties: {{algorithm: ED25519}}\n    options: {{provider: '${{{name}}}'}}\n"
        )
    };
    project.program(&format!("resources:\n{}{}", provider("east"), provider("west")));
    let up = project.up();
    let configured: Vec<String> =
        up.calls("Configure").iter().map(|call| call.request["args"].to_string()).collect();
    for (name, other) in [("east", "west"), ("west", "east")] {
        let own = configured.iter().filter(|arguments| arguments.contains(&format!("hush-{name}")));
        let own: Vec<_> = own.collect();
        assert!(
            !own.is_empty() && own.iter().all(|arguments| !arguments.contains(&format!("hush-{other}"))),
            "{up}"
        );
    }
    let exported = project.export().to_string();
    assert!(!exported.contains("hush-"), "a secret is in the clear: {exported}");
    assert!(!format!("{}{}", up.stdout, up.stderr).contains("hush-"), "{up}");
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn a_state_of_an_older_schema_shows_no_change_and_one_of_a_newer_schema_is_refused() {
    let project = Project::new("schema versions", &[Provider::Conformance]);
    project.program(
        "resources:\n  thing:\n    type: conformance:Legacy\n    properties: {name: one, title: One}\n",
    );
    project.up();
    let written = project.export();
    let restore = |change: &dyn Fn(&mut Value)| {
        let mut state = written.clone();
        let resources = state["deployment"]["resources"].as_array_mut().expect("a stack with resources");
        let thing =
            resources.iter_mut().find(|resource| resource["type"] == "conformance:index/legacy:Legacy");
        change(&mut thing.expect("the resource")["outputs"]);
        project.write("state.json", &state.to_string());
        project.run(&["stack", "import", "--file", "state.json"]).succeeded();
    };
    let with_version = |outputs: &mut Value, version: Option<&str>| {
        let meta = outputs["__meta"].as_str().expect("a text").to_owned();
        let mut meta: Value = serde_json::from_str(&meta).expect("JSON");
        meta.as_object_mut().expect("an object").remove("schema_version");
        if let Some(version) = version {
            meta["schema_version"] = json!(version);
        }
        outputs["__meta"] = json!(meta.to_string());
    };

    // In version 0 the title had another name.
    restore(&|outputs| {
        let properties = outputs.as_object_mut().expect("a bag");
        let title = properties.remove("title").expect("a title");
        properties.insert("oldTitle".to_owned(), title);
        with_version(outputs, None);
    });
    project.expect_no_changes();
    project.refresh();
    let upgraded = project.resource("thing")["outputs"].take();
    assert_eq!((&upgraded["title"], &upgraded["oldTitle"]), (&json!("One"), &Value::Null));

    restore(&|outputs| with_version(outputs, Some("2")));
    let refused = project.run(&["preview"]).failed();
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(said.contains("has schema version 2") && said.contains("knows versions up to 1"), "{refused}");
    restore(&|_| {});
    project.destroy();
}
