//! States and plans, read and written.

use std::collections::BTreeMap;

use bytes::Bytes;
use isthmus_cty::{Type, Value};
use isthmus_proto::tfplan::{self, Action, Mode};
use isthmus_proto::tfstackdata1::{
    DeletedComponent, DeletedRootInputVariable, DeletedRootOutputValue, DynamicValue, FunctionResults,
    PlanApplyable, PlanComponentInstance, PlanDeferredResourceInstanceChange, PlanDiscardStateMapKeys,
    PlanHeader, PlanPriorStateElem, PlanResourceInstanceChangePlanned, PlanRootInputValue, PlanTimestamp,
    StateComponentInstanceV1, StateResourceInstanceObjectV1,
};
use prost::Message as _;
use prost_types::Any;

use super::sequence::record;
use super::*;
use crate::addresses::ComponentAddress;
use crate::saved::Status;

/// An object as Terraform itself writes it.
const OBJECT: &str = "0a177b226964223a2261222c2274616773223a5b2278225d7d120f0a060a04746167730a0512030a010018012001\
    2a0f6e756c6c5f7265736f757263652e623a3070726f76696465725b2272656769737472792e7465727261666f726d2e696f2f68617368\
    69636f72702f6e756c6c225d42097b226b223a2276227d";

const PROVIDER: &str = r#"provider["registry.terraform.io/hashicorp/null"]"#;
const VERSION: &str = "1.15.0";
const TIME: &str = "2017-07-31T00:00:00Z";

pub(super) fn object() -> StateResourceInstanceObjectV1 {
    StateResourceInstanceObjectV1::decode(&hex::decode(OBJECT).expect("hexadecimal")[..]).expect("a message")
}

fn dynamic(msgpack: &'static [u8]) -> DynamicValue {
    DynamicValue {
        value: Some(tfplan::DynamicValue { msgpack: Bytes::from_static(msgpack) }),
        sensitive_paths: Vec::new(),
    }
}

/// `"x"` of type string, as a dynamic value.
fn text() -> DynamicValue {
    dynamic(b"\x92\xc4\x08\"string\"\xa1x")
}

fn entry(key: &str, content: Any) -> StateRecord {
    StateRecord { key: key.to_owned(), content: Some(content) }
}

/// A state with one of everything.
pub(super) fn state_records() -> Vec<StateRecord> {
    let component = StateComponentInstanceV1 {
        output_values: [("out".to_owned(), text())].into(),
        input_variables: [("in".to_owned(), text())].into(),
        dependency_addrs: vec!["component.b".to_owned()],
        dependent_addrs: vec![r#"stack.s["k"].component.c"#.to_owned()],
    };
    let strange = Any { type_url: "anything at all".to_owned(), value: vec![0xff, 0, 1] };
    vec![
        entry("CMPTcomponent.a", record("StateComponentInstanceV1", &component)),
        entry("RSRCcomponent.a,null_resource.x[0],cur", record("StateResourceInstanceObjectV1", &object())),
        entry(
            "RSRCcomponent.a,null_resource.x[0],0123cafe",
            record("StateResourceInstanceObjectV1", &object()),
        ),
        entry("OTPToutput.o", record("DynamicValue", &text())),
        entry("VRBLvar.v", record("DynamicValue", &text())),
        entry("keePx", strange.clone()),
        entry("dropx", strange),
    ]
}

/// A plan with one of everything.
pub(super) fn plan_records() -> Vec<Any> {
    let prior = state_records().into_iter().map(|StateRecord { key, content }| {
        record("PlanPriorStateElem", &PlanPriorStateElem { key, raw: content })
    });
    let mut records = vec![header(VERSION)];
    records.extend(prior);
    let path = tfplan::Path {
        steps: vec![tfplan::path::Step {
            selector: Some(tfplan::path::step::Selector::AttributeName("id".to_owned())),
        }],
    };
    let hash = tfplan::FunctionCallHash { key: "k".into(), result: "r".into() };
    let update = change("component.a", Action::Update, 2);
    let update = PlanResourceInstanceChangePlanned {
        change: update
            .change
            .map(|change| tfplan::ResourceInstanceChange { required_replace: vec![path], ..change }),
        ..update
    };
    records.extend([
        record("PlanTimestamp", &PlanTimestamp { plan_timestamp: TIME.to_owned() }),
        record("PlanApplyable", &PlanApplyable { applyable: false }),
        record(
            "PlanRootInputValue",
            &PlanRootInputValue { name: "v".to_owned(), value: Some(text()), required_on_apply: false },
        ),
        record(
            "PlanRootInputValue",
            &PlanRootInputValue { name: "w".to_owned(), value: None, required_on_apply: true },
        ),
        record("DeletedRootInputVariable", &DeletedRootInputVariable { name: "old".to_owned() }),
        record("DeletedRootOutputValue", &DeletedRootOutputValue { name: "old".to_owned() }),
        record("FunctionResults", &FunctionResults { function_results: vec![hash] }),
        component("component.a", Action::Update, &["component.b"]),
        component("component.b", Action::Create, &[]),
        component("component.gone", Action::Delete, &["component.a"]),
        record(
            "DeletedComponent",
            &DeletedComponent { component_instance_addr: "component.older".to_owned() },
        ),
        record("PlanResourceInstanceChangePlanned", &update),
        record(
            "PlanResourceInstanceChangePlanned",
            &PlanResourceInstanceChangePlanned {
                change: None,
                deposed_key: "0123cafe".to_owned(),
                prior_state: Some(object()),
                ..change("component.a", Action::Noop, 1)
            },
        ),
        record(
            "PlanDeferredResourceInstanceChange",
            &PlanDeferredResourceInstanceChange {
                deferred: Some(tfplan::Deferred { reason: tfplan::DeferredReason::AbsentPrereq.into() }),
                change: Some(change("component.b", Action::Create, 1)),
            },
        ),
        record(
            "PlanDiscardStateMapKeys",
            &PlanDiscardStateMapKeys {
                raw_state_keys: vec!["dropx".to_owned()],
                description_keys: vec!["d".to_owned()],
            },
        ),
        record("PlanApplyable", &PlanApplyable { applyable: true }),
    ]);
    records
}

fn header(version: &str) -> Any {
    record("PlanHeader", &PlanHeader { terraform_version: version.to_owned() })
}

fn component(address: &str, action: Action, depends_on: &[&str]) -> Any {
    let message = PlanComponentInstance {
        component_instance_addr: address.to_owned(),
        plan_timestamp: TIME.to_owned(),
        planned_action: action.into(),
        depends_on_component_addrs: depends_on.iter().map(|address| (*address).to_owned()).collect(),
        planned_input_values: [("in".to_owned(), text())].into(),
        // Not known yet.
        planned_output_values: [("out".to_owned(), dynamic(b"\x92\xc4\x08\"string\"\xd4\0\0"))].into(),
        plan_applyable: true,
        ..PlanComponentInstance::default()
    };
    record("PlanComponentInstance", &message)
}

fn change(component: &str, action: Action, values: usize) -> PlanResourceInstanceChangePlanned {
    let value = tfplan::DynamicValue { msgpack: Bytes::from_static(b"\x81\xa2id\xa1a") };
    PlanResourceInstanceChangePlanned {
        component_instance_addr: component.to_owned(),
        resource_instance_addr: "null_resource.x[0]".to_owned(),
        provider_config_addr: PROVIDER.to_owned(),
        change: Some(tfplan::ResourceInstanceChange {
            addr: "null_resource.x[0]".to_owned(),
            provider: PROVIDER.to_owned(),
            change: Some(tfplan::Change {
                action: action.into(),
                values: vec![value; values],
                ..tfplan::Change::default()
            }),
            private: "private".into(),
            ..tfplan::ResourceInstanceChange::default()
        }),
        ..PlanResourceInstanceChangePlanned::default()
    }
}

fn planned(change: &PlanResourceInstanceChangePlanned) -> Any {
    record("PlanResourceInstanceChangePlanned", change)
}

/// What is said of a plan that cannot be used.
fn refused(records: Vec<Any>) -> String {
    isthmus_common::error_chain(
        &StacksPlan::read(records, Some(VERSION)).expect_err("a plan that cannot be used"),
    )
}

#[test]
fn a_state_is_read_whole_and_written_back() {
    let records = state_records();
    let state = StacksState::read(records.clone()).expect("a state");
    let [deposed, current] = {
        let mut objects = state.objects.clone();
        objects.reverse();
        <[ComponentObject; 2]>::try_from(objects).expect("two objects")
    };
    assert_eq!(current.component, ComponentAddress::new("a"));
    assert_eq!(
        current.object.address.as_ref().map(ToString::to_string).as_deref(),
        Some("null_resource.x[0]")
    );
    assert_eq!(current.object.status, Status::Ready);
    let key = deposed.object.address.and_then(|address| address.deposed);
    assert_eq!(key.as_ref().map(|key| key.as_str()), Some("0123cafe"));
    let component = &state.components[&ComponentAddress::new("a")];
    assert_eq!(component.outputs["out"].value, Value::dynamic(Type::String, "x".into()));
    assert_eq!(component.dependencies, [ComponentAddress::new("b")]);
    assert_eq!(component.dependents[0].to_string(), r#"stack.s["k"].component.c"#);
    assert_eq!(state.inputs["v"].value, Value::dynamic(Type::String, "x".into()));
    assert_eq!(state.discarded, ["dropx"]);

    // Each record as it came, to the byte; what is to be dropped is dropped.
    let written = state.clone().write();
    for record in &records {
        let is_there = written.contains(record);
        assert_eq!(is_there, record.key != "dropx", "{record:?}\n{written:?}");
    }
    assert_eq!(written.len(), records.len() - 1);
    assert_eq!(StacksState::read(written).expect("a state"), StacksState { discarded: Vec::new(), ..state });
}

#[test]
fn what_a_newer_release_adds_to_a_record_is_kept() {
    let mut records = state_records();
    let component = records[0].content.as_mut().expect("a component");
    component.value.extend(b"\x7a\x03new");
    let written = StacksState::read(records.clone()).expect("a state").write();
    assert!(written.contains(&records[0]), "{written:?}");
}

#[test]
fn records_differ_by_what_they_mean() {
    let state = StacksState::read(state_records()).expect("a state").records;
    let component = |dependents: &[&str], more: &[u8]| {
        let message = StateComponentInstanceV1 {
            output_values: [("a".to_owned(), text()), ("b".to_owned(), text())].into(),
            dependent_addrs: dependents.iter().map(|address| (*address).to_owned()).collect(),
            ..StateComponentInstanceV1::default()
        };
        let mut entry = record("StateComponentInstanceV1", &message);
        entry.value.extend(more);
        [("CMPTcomponent.a".to_owned(), entry)].into()
    };
    let one = component(&["component.b", "component.c"], b"");
    // Maps and sets have no order.
    assert!(differences(&one, &component(&["component.c", "component.b"], b"")).is_empty());
    for other in [
        component(&["component.b"], b""),
        component(&["component.b", "component.c"], b"\x7a\x03new"),
        BTreeMap::new(),
    ] {
        assert_eq!(Vec::from_iter(differences(&one, &other)), ["CMPTcomponent.a"]);
        assert_eq!(Vec::from_iter(differences(&other, &one)), ["CMPTcomponent.a"]);
    }

    let mut other = state.clone();
    assert!(differences(&state, &other).is_empty());
    other.get_mut("keePx").expect("a record").value.push(0);
    other.remove("VRBLvar.v");
    assert_eq!(Vec::from_iter(differences(&state, &other)), ["VRBLvar.v", "keePx"]);
}

#[test]
fn what_only_a_newer_release_knows_is_set_apart_to_be_shown() {
    let newer = || Any { type_url: record("Newer", &text()).type_url, value: b"new".to_vec() };
    let mut records = state_records();
    let known = StacksState::read(records.clone()).expect("a state");
    let unknown = ["NEWKx", "CMPTcomponent.new"].map(|key| (key.to_owned(), newer()));
    records.extend(unknown.iter().map(|(key, content)| entry(key, content.clone())));
    StacksState::read(records.clone()).expect_err("it means something else without them");
    let shown = StacksState::read_to_show(records.clone()).expect("a state");
    assert_eq!(shown, StacksState { unknown: unknown.to_vec(), ..known.clone() });

    let mut plan = plan_records();
    plan.push(newer());
    let (key, raw) = unknown[0].clone();
    plan.push(record("PlanPriorStateElem", &PlanPriorStateElem { key, raw: Some(raw) }));
    let error = refused(plan.clone());
    assert!(error.contains("type Newer has no place here"), "{error}");
    let plan = StacksPlan::read(plan, None).expect("a plan");
    assert_eq!(plan.unknown, [newer()]);
    assert_eq!(plan.prior_state, StacksState { unknown: unknown[..1].to_vec(), ..known });
}

#[test]
fn a_key_that_is_written_in_two_ways_is_one() {
    let component =
        |key| entry(key, record("StateComponentInstanceV1", &StateComponentInstanceV1::default()));
    let records = vec![component(r#"CMPTcomponent.a["\u0061"]"#), component(r#"CMPTcomponent.a["a"]"#)];
    let state = StacksState::read(records).expect("a state");
    assert_eq!(state.records.keys().collect::<Vec<_>>(), [r#"CMPTcomponent.a["a"]"#]);
}

#[test]
fn of_a_key_the_last_record_counts_and_one_without_content_removes_it() {
    let mut records = state_records();
    records.push(StateRecord { key: "RSRCcomponent.a,null_resource.x[0],cur".to_owned(), content: None });
    records.push(entry("OTPToutput.o", record("DynamicValue", &dynamic(b"\x92\xc4\x06\"bool\"\xc3"))));
    records.push(StateRecord { key: "never seen".to_owned(), content: None });
    let state = StacksState::read(records).expect("a state");
    assert_eq!(state.objects.len(), 1);
    assert_eq!(state.outputs["o"].value, Value::dynamic(Type::Bool, true.into()));
}

#[test]
fn an_object_brings_its_component_with_it() {
    let records = vec![entry(
        r#"RSRCstack.s.component.a["k"],null_resource.x,cur"#,
        record("StateResourceInstanceObjectV1", &object()),
    )];
    let state = StacksState::read(records).expect("a state");
    let component = state.components.first_key_value().expect("a component");
    assert_eq!(
        (component.0.to_string().as_str(), component.1),
        (r#"stack.s.component.a["k"]"#, &Component::default())
    );
}

#[test]
fn a_state_that_must_not_be_passed_over_is_refused_with_the_record_and_the_reason() {
    let damaged = Any { type_url: record("DynamicValue", &text()).type_url, value: vec![0xff] };
    let unknown = StateResourceInstanceObjectV1 { status: 0, ..object() };
    let nobody = StateResourceInstanceObjectV1 { provider_config_addr: "null".to_owned(), ..object() };
    let dependent = StateComponentInstanceV1 {
        dependency_addrs: vec!["component.a[0]".to_owned()],
        ..StateComponentInstanceV1::default()
    };
    let key = "RSRCcomponent.a,null_resource.x,cur";
    for (record, parts) in [
        (entry("NEWKx", damaged.clone()), ["record 8 (NEWKx)", "NEWK are not known"]),
        (entry("???", damaged.clone()), ["record 8 (???)", "four letters"]),
        (entry("CMPTa", damaged.clone()), ["record 8 (CMPTa)", "`component.` is expected"]),
        (entry("OTPToutput.p", damaged), ["record 8 (OTPToutput.p)", "damaged"]),
        (entry("OTPToutput.p", record("DynamicValue", &dynamic(b""))), ["OTPToutput.p", "has no value"]),
        (
            entry("OTPToutput.p", record("DynamicValue", &dynamic(b"\x92\xc4"))),
            ["OTPToutput.p", "cannot be read"],
        ),
        (
            entry(key, record("StateResourceInstanceObjectV2", &object())),
            [key, "StateResourceInstanceObjectV2"],
        ),
        (entry(key, Any::default()), [key, "nothing of its type"]),
        (entry(key, record("StateResourceInstanceObjectV1", &unknown)), [key, "status is 0"]),
        (entry(key, record("StateResourceInstanceObjectV1", &nobody)), [key, "provider's configuration"]),
        (
            entry("CMPTcomponent.x", record("StateComponentInstanceV1", &dependent)),
            ["CMPTcomponent.x", "component.a[0] is an instance"],
        ),
    ] {
        let mut records = state_records();
        records.push(record);
        let error = isthmus_common::error_chain(
            &StacksState::read(records).expect_err("a state that cannot be used"),
        );
        assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
    }
}

#[test]
fn a_plan_is_read_whole() {
    let plan = StacksPlan::read(plan_records(), Some(VERSION)).expect("a plan");
    assert_eq!(plan.prior_state, StacksState::read(state_records()).expect("a state"));
    assert_eq!((plan.terraform_version.as_str(), plan.timestamp.as_deref()), (VERSION, Some(TIME)));
    // The last record about it counts.
    assert!(plan.is_applyable);
    let value = Value::dynamic(Type::String, "x".into());
    assert_eq!(plan.inputs["v"].value.as_ref().map(|input| &input.value), Some(&value));
    assert_eq!(plan.inputs["w"], PlannedInput { value: None, is_required_on_apply: true });
    assert_eq!(Vec::from_iter(&plan.deleted_inputs), ["old"]);
    assert_eq!(Vec::from_iter(&plan.deleted_outputs), ["old"]);
    assert_eq!(Vec::from_iter(&plan.deleted_components), [&ComponentAddress::new("older")]);
    assert_eq!(
        (&plan.function_results[0].key[..], &plan.function_results[0].result[..]),
        (&b"k"[..], &b"r"[..])
    );
    assert_eq!(plan.discarded_state_keys, ["dropx"]);
    assert_eq!(plan.discarded_description_keys, ["d"]);
    assert_eq!(plan.components.len(), 3);

    let component = &plan.components[&ComponentAddress::new("a")];
    assert_eq!((component.action, component.mode), (Action::Update, Mode::Normal));
    assert!(component.is_applyable && !component.is_complete);
    assert_eq!(component.dependencies, [ComponentAddress::new("b")]);
    assert_eq!(component.inputs["in"].value, value);
    assert_eq!(component.outputs["out"].value, Value::dynamic(Type::String, Value::unknown()));
    let [updated, refreshed] = &component.objects[..] else { panic!("{component:?}") };
    let change = updated.change.as_ref().expect("a change");
    let object = Value::object([("id", "a".into())]);
    assert_eq!((&change.before, &change.after), (&Some(object.clone()), &Some(object)));
    assert_eq!(change.replace_paths[0].to_string(), "id");
    assert_eq!(change.private, "private");
    assert_eq!((&refreshed.change, &refreshed.deferred), (&None, &None));
    let key = refreshed.address.deposed.as_ref().map(|key| key.as_str());
    assert_eq!(key, Some("0123cafe"));
    assert_eq!(refreshed.prior.as_ref().map(|prior| prior.status), Some(Status::Ready));

    let [deferred] = &plan.components[&ComponentAddress::new("b")].objects[..] else { panic!("{plan:?}") };
    assert_eq!(deferred.deferred, Some(tfplan::DeferredReason::AbsentPrereq));
    let change = deferred.change.as_ref().expect("a change");
    assert!(change.action == Action::Create && change.before.is_none() && change.after.is_some());
}

#[test]
fn a_plan_of_another_release_is_refused() {
    let error = refused(vec![header("1.14.0")]);
    for part in ["record 1 (PlanHeader)", "1.14.0", VERSION] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(StacksPlan::read(vec![header("1.14.0")], None).expect("a plan").terraform_version, "1.14.0");
    let error = refused(plan_records().split_off(1));
    assert!(error.contains("at the end") && error.contains("no header"), "{error}");
}

#[test]
fn a_change_without_its_component_is_refused() {
    let error = refused(vec![header(VERSION), planned(&change("component.a", Action::Update, 2))]);
    for part in ["record 2 (PlanResourceInstanceChangePlanned)", "component.a", "no earlier record announces"]
    {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn what_stays_cannot_depend_on_what_goes() {
    let goes = component("component.b", Action::Delete, &[]);
    let error = refused(vec![
        header(VERSION),
        component("component.a", Action::Update, &["component.b"]),
        goes.clone(),
    ]);
    for part in ["record 2 (PlanComponentInstance)", "component.a stays", "component.b, which is deleted"] {
        assert!(error.contains(part), "{error}");
    }
    let deleted = DeletedComponent { component_instance_addr: "component.b".to_owned() };
    let error = refused(vec![
        header(VERSION),
        component("component.a", Action::Create, &["component.b"]),
        record("DeletedComponent", &deleted),
    ]);
    assert!(error.contains("component.a stays"), "{error}");
    // What goes too may depend on it; and of a component that loses an instance there is something left.
    let both = vec![header(VERSION), component("component.a", Action::Delete, &["component.b"]), goes];
    StacksPlan::read(both, None).expect("a plan");
    let some = vec![
        header(VERSION),
        component("component.a", Action::Update, &["component.b"]),
        component("component.b[0]", Action::Update, &[]),
        component("component.b[1]", Action::Delete, &[]),
    ];
    StacksPlan::read(some, None).expect("a plan");
}

#[test]
fn a_plan_that_contradicts_itself_is_refused_with_the_reason() {
    let ok = || change("component.a", Action::Update, 2);
    let inner = |edit: fn(&mut tfplan::ResourceInstanceChange)| {
        let mut changed = ok();
        edit(changed.change.as_mut().expect("a change"));
        planned(&changed)
    };
    let prior = || {
        let raw = Some(record("StateComponentInstanceV1", &StateComponentInstanceV1::default()));
        record("PlanPriorStateElem", &PlanPriorStateElem { key: "CMPTcomponent.z".to_owned(), raw })
    };
    for (records, part) in [
        (vec![inner(|change| change.addr = "null_resource.y".to_owned())], "two objects"),
        (vec![inner(|change| change.provider = r#"provider["x"]"#.to_owned())], "two providers"),
        (vec![inner(|change| change.change = None)], "no change"),
        (vec![inner(|change| change.action_reason = 99)], "99 stands for no reason"),
        (vec![inner(|change| change.change.as_mut().expect("one").action = 4)], "4 stands for no action"),
        (vec![planned(&change("component.a", Action::Update, 1))], "has 1 values, but must have 2"),
        (vec![planned(&change("component.a", Action::Delete, 2))], "has 2 values, but must have 1"),
        (
            vec![inner(|change| {
                change.change.as_mut().expect("one").values[1].msgpack = Bytes::from_static(b"\xc1");
            })],
            "the value of the object cannot be read",
        ),
        (vec![component("component.a", Action::Create, &[])], "a second time"),
        (vec![component("component.x", Action::Create, &["component.y[0]"])], "is an instance"),
        (vec![prior(), prior()], "twice"),
        (vec![record("PlanTimestamp", &PlanTimestamp { plan_timestamp: "now".to_owned() })], "RFC 3339"),
        (vec![record("PlanActionInvocationPlanned", &PlanApplyable::default())], "no place here"),
        (
            vec![record(
                "PlanDeferredResourceInstanceChange",
                &PlanDeferredResourceInstanceChange::default(),
            )],
            "no reason",
        ),
        (
            vec![Any { type_url: "type.googleapis.com/other.Message".to_owned(), value: Vec::new() }],
            "other.Message",
        ),
    ] {
        let mut all = vec![header(VERSION), component("component.a", Action::Update, &[])];
        all.extend(records);
        let last = all.len();
        let error = refused(all);
        assert!(error.contains(part) && error.starts_with(&format!("record {last} ")), "{part}: {error}");
    }
}

#[test]
fn sequences_go_to_files_and_back() {
    for file in [SequenceFile::State(state_records()), SequenceFile::Plan(plan_records())] {
        let kind = if matches!(file, SequenceFile::State(_)) { Kind::State } else { Kind::Plan };
        let bytes = Bytes::from(file.write());
        assert_eq!(SequenceFile::kind_of(&bytes), Some(kind));
        assert_eq!(SequenceFile::read(&bytes, kind).expect("a sequence"), file);
        let error = SequenceFile::read(&bytes.slice(..bytes.len() - 1), kind).expect_err("cut short");
        assert!(error.to_string().starts_with("byte "), "{error}");
    }
    for other in
        [&b""[..], b"{\n  \"version\": 4\n}", b"\x00", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"]
    {
        assert_eq!(SequenceFile::kind_of(other), None, "{other:?}");
    }
}
