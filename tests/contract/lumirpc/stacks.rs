//! States and plans of stacks, as `isthmus state inspect` shows them.

mod exchange;

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use isthmus_proto::tfplan::{
    self, Action, CheckResults, DeferredReason, FunctionCallHash, Mode, ResourceInstanceActionReason,
    check_results::{ObjectKind, ObjectResult, Status as CheckStatus},
    path::{Step, step::Selector},
};
use isthmus_proto::tfstackdata1::{
    DeletedComponent, DeletedRootInputVariable, DeletedRootOutputValue, DynamicValue, FunctionResults,
    PlanApplyable, PlanComponentInstance, PlanDeferredResourceInstanceChange, PlanDiscardStateMapKeys,
    PlanHeader, PlanPriorStateElem, PlanResourceInstanceChangePlanned, PlanRootInputValue, PlanTimestamp,
    StateComponentInstanceV1, StateResourceInstanceObjectV1,
};
use isthmus_state::stacks::{SequenceFile, StateRecord};
use prost_types::Any;

use super::tofu::{Said, isthmus};
use crate::harness::{Json, json};

const PROVIDER: &str = r#"provider["registry.terraform.io/hashicorp/random"]"#;
const TIME: &str = "2026-11-22T00:00:00Z";

fn record(name: &str, message: &impl prost::Message) -> Any {
    Any { type_url: format!("type.googleapis.com/tfstackdata1.{name}"), value: message.encode_to_vec() }
}

fn attribute(name: &str) -> tfplan::Path {
    tfplan::Path { steps: vec![Step { selector: Some(Selector::AttributeName(name.to_owned())) }] }
}

/// A string of a stack.
fn dynamic(text: &str) -> DynamicValue {
    let length = u8::try_from(text.len()).expect("a short text");
    let msgpack = [b"\x92\xc4\x08\"string\"\xd9", &[length][..], text.as_bytes()].concat();
    DynamicValue {
        value: Some(tfplan::DynamicValue { msgpack: msgpack.into() }),
        sensitive_paths: Vec::new(),
    }
}

fn secret(text: &str) -> DynamicValue {
    DynamicValue { sensitive_paths: vec![tfplan::Path::default()], ..dynamic(text) }
}

fn unknown() -> DynamicValue {
    let msgpack = Bytes::from_static(b"\x92\xc4\x08\"string\"\xd4\0\0");
    DynamicValue { value: Some(tfplan::DynamicValue { msgpack }), sensitive_paths: Vec::new() }
}

fn map(name: &str, value: DynamicValue) -> HashMap<String, DynamicValue> {
    [(name.to_owned(), value)].into()
}

fn object() -> StateResourceInstanceObjectV1 {
    StateResourceInstanceObjectV1 {
        value_json: br#"{"length":12,"result":"hunter2"}"#.to_vec().into(),
        sensitive_paths: vec![attribute("result")],
        schema_version: 3,
        status: 2,
        dependencies: vec!["random_pet.dog".to_owned()],
        create_before_destroy: true,
        provider_config_addr: PROVIDER.to_owned(),
        provider_specific_data: "hunter3".into(),
    }
}

fn state() -> Vec<StateRecord> {
    let component = StateComponentInstanceV1 {
        output_values: map("password", secret("hunter2")),
        input_variables: map("region", dynamic("eu\u{1b}[31m")),
        dependency_addrs: vec!["component.network".to_owned()],
        dependent_addrs: vec!["component.web".to_owned()],
    };
    let strange =
        || Any { type_url: "type.googleapis.com/tfstackdata1.Newer".to_owned(), value: vec![1, 2, 3] };
    let entry = |key: &str, content| StateRecord { key: key.to_owned(), content: Some(content) };
    vec![
        entry(r#"CMPTcomponent.main["eu"]"#, record("StateComponentInstanceV1", &component)),
        entry(
            r#"RSRCcomponent.main["eu"],random_password.one[0],cur"#,
            record("StateResourceInstanceObjectV1", &object()),
        ),
        entry(
            r#"RSRCcomponent.main["eu"],random_password.one[0],0123cafe"#,
            record("StateResourceInstanceObjectV1", &StateResourceInstanceObjectV1 { status: 1, ..object() }),
        ),
        entry("OTPToutput.address", record("DynamicValue", &dynamic("10.0.0.1"))),
        entry("VRBLvar.token", record("DynamicValue", &secret("hunter4"))),
        entry("keeP\u{7}", strange()),
        entry("dropped", strange()),
    ]
}

fn change(action: Action, values: &[&'static [u8]]) -> PlanResourceInstanceChangePlanned {
    let value = |msgpack: &&'static [u8]| tfplan::DynamicValue { msgpack: Bytes::from_static(msgpack) };
    PlanResourceInstanceChangePlanned {
        component_instance_addr: "component.main".to_owned(),
        resource_instance_addr: "random_password.one".to_owned(),
        provider_config_addr: PROVIDER.to_owned(),
        change: Some(tfplan::ResourceInstanceChange {
            addr: "random_password.one".to_owned(),
            provider: PROVIDER.to_owned(),
            change: Some(tfplan::Change {
                action: action.into(),
                values: values.iter().map(value).collect(),
                before_sensitive_paths: vec![attribute("result")],
                ..tfplan::Change::default()
            }),
            ..tfplan::ResourceInstanceChange::default()
        }),
        ..PlanResourceInstanceChangePlanned::default()
    }
}

fn replacement() -> PlanResourceInstanceChangePlanned {
    let mut planned = change(
        Action::CreateThenDelete,
        &[b"\x82\xa6length\x0c\xa6result\xa7hunter2", b"\x82\xa6length\x10\xa6result\xd4\0\0"],
    );
    let inner = planned.change.as_mut().expect("a change");
    inner.prev_run_addr = "random_password.old".to_owned();
    inner.action_reason = ResourceInstanceActionReason::ReplaceBecauseCannotUpdate.into();
    inner.required_replace = vec![attribute("length")];
    inner.private = "hunter3".into();
    planned.prior_state = Some(object());
    planned
}

fn plan() -> Vec<Any> {
    let hash = || FunctionCallHash { key: "key".into(), result: "result".into() };
    let checks = CheckResults {
        kind: ObjectKind::Check.into(),
        config_addr: "check.health".to_owned(),
        status: CheckStatus::Fail.into(),
        objects: vec![ObjectResult {
            object_addr: "check.health".to_owned(),
            status: CheckStatus::Fail.into(),
            failure_messages: vec!["not\nhealthy".to_owned()],
        }],
    };
    let component = PlanComponentInstance {
        component_instance_addr: "component.main".to_owned(),
        plan_timestamp: TIME.to_owned(),
        planned_input_values: map("token", secret("hunter4")),
        planned_action: Action::Update.into(),
        depends_on_component_addrs: vec!["component.network".to_owned()],
        planned_output_values: map("address", unknown()),
        plan_applyable: true,
        plan_complete: false,
        planned_check_results: vec![checks],
        mode: Mode::RefreshOnly.into(),
        function_results: vec![hash()],
    };
    let text = |text: &str| text.to_owned();
    let prior = state().into_iter().take(1).map(|StateRecord { key, content }| {
        record("PlanPriorStateElem", &PlanPriorStateElem { key, raw: content })
    });
    let mut records = vec![record("PlanHeader", &PlanHeader { terraform_version: text("1.16.2") })];
    records.extend(prior);
    records.extend([
        record("PlanTimestamp", &PlanTimestamp { plan_timestamp: text(TIME) }),
        record("PlanApplyable", &PlanApplyable { applyable: true }),
        record(
            "PlanRootInputValue",
            &PlanRootInputValue {
                name: text("size"),
                value: Some(dynamic("large")),
                required_on_apply: false,
            },
        ),
        record(
            "PlanRootInputValue",
            &PlanRootInputValue { name: text("token"), value: None, required_on_apply: true },
        ),
        record("DeletedRootInputVariable", &DeletedRootInputVariable { name: text("old_input") }),
        record("DeletedRootOutputValue", &DeletedRootOutputValue { name: text("old_output") }),
        record("DeletedComponent", &DeletedComponent { component_instance_addr: text("component.old") }),
        record("FunctionResults", &FunctionResults { function_results: vec![hash()] }),
        record("PlanComponentInstance", &component),
        record("PlanResourceInstanceChangePlanned", &replacement()),
        record(
            "PlanResourceInstanceChangePlanned",
            &PlanResourceInstanceChangePlanned {
                change: None,
                deposed_key: text("0123cafe"),
                prior_state: Some(object()),
                ..change(Action::Noop, &[])
            },
        ),
        record(
            "PlanDeferredResourceInstanceChange",
            &PlanDeferredResourceInstanceChange {
                deferred: Some(tfplan::Deferred { reason: DeferredReason::ProviderConfigUnknown.into() }),
                change: Some(change(Action::Create, &[b"\x81\xa6length\xd4\0\0"])),
            },
        ),
        record(
            "PlanDiscardStateMapKeys",
            &PlanDiscardStateMapKeys {
                raw_state_keys: vec![text("dropped")],
                description_keys: vec![text("described")],
            },
        ),
    ]);
    records
}

/// Inspects a file with a home directory in which there is nothing.
fn inspect(sequence: &SequenceFile, more: &[&str]) -> Said {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("stack");
    std::fs::write(&file, sequence.write()).expect("a file");
    let said = inspect_file(directory.path(), &file, more);
    assert!(!directory.path().join("home").exists(), "it needs no store");
    said
}

fn inspect_file(directory: &Path, file: &Path, more: &[&str]) -> Said {
    let mut words = vec!["state", "inspect", file.to_str().expect("a path in UTF-8")];
    words.extend(more);
    isthmus(&directory.join("home"), &words)
}

#[track_caller]
fn assert_shows(sequence: &SequenceFile, text: &str, json: &str) {
    let shown = inspect(sequence, &[]).succeeded();
    assert!(shown.stderr.contains("private") && shown.stderr.contains("may change"), "{shown:?}");
    assert_eq!(shown.stdout, text);
    let shown = inspect(sequence, &["--json"]).well();
    assert_eq!(shown.lines().count(), 1, "{shown}");
    let mut shown: Json = serde_json::from_str(&shown).expect("JSON");
    let root = shown.as_object_mut().expect("an object");
    assert_eq!(root.remove("command"), Some("state inspect".into()));
    assert_eq!(root.remove("format_version"), Some("1.0".into()));
    let expected: Json = serde_json::from_str(json).expect("JSON");
    assert_eq!(shown, expected, "{shown:#}");
    let hidden = inspect(sequence, &["--json"]).stdout + &inspect(sequence, &[]).stdout;
    assert!(!hidden.contains("hunter") && !hidden.contains("aHVudGVy"), "{hidden}");
}

#[test]
fn a_state_is_shown_whole_as_text_and_as_json() {
    assert_shows(
        &SequenceFile::State(state()),
        include_str!("stacks/state.txt"),
        include_str!("stacks/state.json"),
    );
}

#[test]
fn a_plan_of_any_release_is_shown_whole_as_text_and_as_json() {
    assert_shows(
        &SequenceFile::Plan(plan()),
        include_str!("stacks/plan.txt"),
        include_str!("stacks/plan.json"),
    );
}

#[test]
fn secrets_of_a_stack_are_shown_only_when_they_are_asked_for() {
    for sequence in [SequenceFile::State(state()), SequenceFile::Plan(plan())] {
        let shown = inspect(&sequence, &["--secrets"]).well();
        // The value, the private data, and an input.
        for secret in ["hunter2", "aHVudGVyMw==", "hunter4"] {
            assert!(shown.contains(secret), "{secret}: {shown}");
        }
        assert!(!shown.contains("(secret)") && !shown.contains("hidden"), "{shown}");
    }
}

#[test]
fn standard_input_is_inspected_like_a_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("stack");
    std::fs::write(&file, SequenceFile::State(state()).write()).expect("a file");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_isthmus"));
    command.args(["state", "inspect", "-"]).env_clear().env("ISTHMUS_HOME", directory.path());
    let output = command.stdin(std::fs::File::open(&file).expect("a file")).output().expect("isthmus starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), include_str!("stacks/state.txt"));
}

#[test]
fn what_is_no_sequence_or_a_damaged_one_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("stack");
    let whole = SequenceFile::State(state()).write();
    for (bytes, part) in [
        (b"{\"version\":4}".to_vec(), "help: `isthmus state import` reads a terraform.tfstate"),
        (Vec::new(), "is not a state or a plan of a stack"),
        (whole[..whole.len() - 1].to_vec(), "cut short"),
    ] {
        std::fs::write(&file, bytes).expect("a file");
        let said = inspect_file(directory.path(), &file, &[]);
        assert!(said.code == 1 && said.stdout.is_empty() && said.stderr.contains(part), "{part}: {said:?}");
    }
    let said = inspect_file(directory.path(), &directory.path().join("none"), &[]);
    assert!(said.code == 1 && said.stderr.contains("cannot be read"), "{said:?}");
}

/// A record that only a newer release knows.
fn newer() -> Any {
    Any { type_url: "type.googleapis.com/tfstackdata1.Newest".to_owned(), value: b"hunter5".to_vec() }
}

#[test]
fn records_that_only_a_newer_release_knows_are_shown_by_key_or_type() {
    let entry = |key: &str| StateRecord { key: key.to_owned(), content: Some(newer()) };
    let unknown = [entry("NEWKof\u{7} something"), entry("OTPToutput.newer")];
    let mut plan = plan();
    plan.push(newer());
    let StateRecord { key, content: raw } = unknown[0].clone();
    plan.push(record("PlanPriorStateElem", &PlanPriorStateElem { key, raw }));

    let state = SequenceFile::State([state(), unknown.to_vec()].concat());
    let shown = inspect(&state, &[]).well();
    let in_state = r#"unknown_records:
  - key: "NEWKof\u{7} something"
    type: type.googleapis.com/tfstackdata1.Newest
    content: "(secret)"
  - key: OTPToutput.newer
    type: type.googleapis.com/tfstackdata1.Newest
    content: "(secret)"
"#;
    assert_eq!(shown, include_str!("stacks/state.txt").to_owned() + in_state);
    let shown: Json = serde_json::from_str(&inspect(&state, &["--json"]).well()).expect("JSON");
    let newest = json!({ "type": newer().type_url, "content": "(secret)" });
    let of_key = |key: &str| json!({ "key": key, "type": newer().type_url, "content": "(secret)" });
    assert_eq!(
        shown["unknown_records"],
        json!([of_key("NEWKof\u{7} something"), of_key("OTPToutput.newer")])
    );
    let shown = inspect(&state, &["--json", "--secrets"]).well();
    assert!(shown.contains("aHVudGVyNQ=="), "{shown}");

    let shown = inspect(&SequenceFile::Plan(plan.clone()), &[]).well();
    let in_plan =
        "unknown_records:\n  - type: type.googleapis.com/tfstackdata1.Newest\n    content: \"(secret)\"\n";
    assert!(shown.contains(in_plan) && shown.contains("  - key: \"NEWKof\\u{7} something\"\n"), "{shown}");
    let shown = inspect(&SequenceFile::Plan(plan), &["--json"]).well();
    let shown: Json = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["unknown_records"], json!([newest]));
    assert_eq!(shown["prior_state"]["unknown_records"], json!([of_key("NEWKof\u{7} something")]));
}

#[test]
fn a_file_that_is_too_large_is_refused_by_every_command_with_what_to_do() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("large");
    std::fs::File::create(&file).and_then(|file| file.set_len((128 << 20) + 1)).expect("a file");
    let home = directory.path().join("home");
    for command in ["import", "inspect"] {
        let said = isthmus(&home, &["state", command, file.to_str().expect("a path in UTF-8")]);
        assert!(said.code == 1 && said.stderr.contains("larger than 128 MiB\nhelp: divide"), "{said:?}");
    }
    assert!(!home.exists(), "nothing is imported");
}
