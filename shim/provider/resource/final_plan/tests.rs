//! Second plans of replacements, and plans that must be consistent with earlier ones.

use std::collections::HashMap;

use prost::Message as _;

use isthmus_cty::Value;
use isthmus_proto::tfplugin6;

use super::*;
use crate::rules::testing::object;
use crate::schema::Block;
use crate::schema::testing::{attribute, block, compiled, schema};
use crate::testing::{Stage, answer_identity_schema, identity, unwired, wire};
use crate::{Object, ReplacementData};

type Answer = tfplugin6::plan_resource_change::Response;
type Request = tfplugin6::plan_resource_change::Request;

const THING: &str = "x_thing";

fn message() -> tfplugin6::Schema {
    let text = |name: &str, flags: &str| attribute(name, "\"string\"", flags);
    schema(block(vec![text("id", "c"), text("name", "o"), text("pin", "os"), text("zone", "o")], vec![]))
}

fn thing() -> Block {
    compiled(message().block.expect("there is one"))
}

fn value(text: &str) -> Value {
    object(&thing(), text)
}

fn existing(text: &str) -> Object {
    Object { value: value(text), private: Bytes::from_static(b"stored"), identity: identity("stored") }
}

async fn stage() -> Stage {
    let stage = Stage::of(tfplugin6::get_provider_schema::Response {
        provider: Some(schema(block(vec![], vec![]))),
        resource_schemas: HashMap::from([(THING.to_owned(), message().encode_to_vec().into())]),
        ..Default::default()
    })
    .await;
    answer_identity_schema(&stage.script, THING);
    stage
}

fn planned(text: &str, replacing: bool) -> Answer {
    let name = tfplugin6::attribute_path::step::Selector::AttributeName("name".to_owned());
    let steps = vec![tfplugin6::attribute_path::Step { selector: Some(name) }];
    Answer {
        planned_state: wire(&value(text), &thing().implied_type),
        requires_replace: if replacing { vec![tfplugin6::AttributePath { steps }] } else { vec![] },
        planned_private: Bytes::from_static(b"planned"),
        planned_identity: identity("planned"),
        ..Answer::default()
    }
}

/// Plans a change with this response.
async fn plan(stage: &Stage, prior: Option<&str>, config: &str, answer: Answer) -> Plan {
    stage.script.answer("PlanResourceChange", answer);
    let resource = stage.provider.resource(THING).expect("there is one");
    let prior = prior.map(existing);
    resource.plan(prior.as_ref(), &value(config), &mut Vec::new()).await.expect("the plan is valid")
}

/// The error when `then` was planned first, and `now` in the end, if any.
async fn judged(prior: Option<&str>, then: (&str, Answer), now: (&str, Answer)) -> Option<String> {
    let stage = stage().await;
    let resource = stage.provider.resource(THING).expect("there is one");
    let earlier = plan(&stage, prior, then.0, then.1).await;
    let earlier = resource.keep(&earlier).expect("it was sent");
    let last = plan(&stage, prior, now.0, now.1).await;
    resource.check_final(&earlier, &last).err().map(|error| error.to_string())
}

fn fault(path_and_reason: &str) -> Option<String> {
    Some(format!(
        "the provider scripted produced an inconsistent final plan for {THING}; this is a fault of the provider:\n  - \
         {path_and_reason}"
    ))
}

#[tokio::test]
async fn the_plan_of_the_new_object_follows_on_the_one_that_asks_for_it() {
    let stage = stage().await;
    let resource = stage.provider.resource(THING).expect("there is one");
    let first = planned(r#"{"id": "1", "name": "b"}"#, true);
    stage.script.answer("PlanResourceChange", first);
    let prior = existing(r#"{"id": "1", "name": "a"}"#);
    let config = value(r#"{"name": "b"}"#);
    let asking = resource.plan(Some(&prior), &config, &mut Vec::new()).await.expect("it is valid");
    let handover = asking.handover().expect("it is a replacement");

    let again = self::stage().await;
    let resource = again.provider.resource(THING).expect("there is one");
    again.script.answer("PlanResourceChange", planned(r#"{"id": "?", "name": "b"}"#, true));
    let second = resource.plan_replacement(&handover, &config, &mut Vec::new()).await.expect("it is valid");
    assert_eq!(second.action, Action::Create, "what replaces is the first plan's business");
    assert!(second.handover().is_none());
    let request: Request = again.script.request("PlanResourceChange");
    let null = |message| unwired(message, &thing().implied_type).is_null();
    assert!(null(request.prior_state.as_ref()));
    let proposed = unwired(request.proposed_new_state.as_ref(), &thing().implied_type);
    assert_eq!(proposed, config, "nothing is carried over from the object that goes");
    assert_eq!(request.prior_private, "planned");
    assert_eq!(request.prior_identity, identity("planned"));
}

#[tokio::test]
async fn the_plan_of_the_new_object_is_not_judged_by_the_configuration_again() {
    let handover = ReplacementData { private: Bytes::new(), identity: None };
    let config = value(r#"{"name": "b"}"#);
    let otherwise = || planned(r#"{"id": "?", "name": "c"}"#, false);
    let stage = stage().await;
    let resource = stage.provider.resource(THING).expect("there is one");
    stage.script.answer("PlanResourceChange", otherwise());
    resource.plan_replacement(&handover, &config, &mut Vec::new()).await.expect("as in core");
    stage.script.answer("PlanResourceChange", otherwise());
    let error = resource.plan(None, &config, &mut Vec::new()).await.expect_err("it is another name");
    assert!(error.to_string().contains("produced an invalid plan"), "{error}");
}

#[tokio::test]
async fn a_last_plan_may_fill_in_what_was_open_and_change_nothing() {
    let open = || (r#"{"name": "?"}"#, planned(r#"{"id": "?", "name": "?"}"#, false));
    let whole = |planned_now| (r#"{"name": "a"}"#, planned(planned_now, false));
    for (then, now, expected) in [
        (open(), whole(r#"{"id": "?", "name": "a"}"#), None),
        (open(), whole(r#"{"id": "a", "name": "a"}"#), None),
        (whole(r#"{"id": "?", "name": "a"}"#), whole(r#"{"id": "?", "name": "a"}"#), None),
        (
            whole(r#"{"id": "a", "name": "a"}"#),
            whole(r#"{"id": "b", "name": "a"}"#),
            fault("id: the value is not the planned one"),
        ),
        (
            whole(r#"{"id": "a", "name": "a"}"#),
            whole(r#"{"id": "?", "name": "a"}"#),
            fault("id: the value is not the planned one"),
        ),
    ] {
        assert_eq!(judged(None, then, now).await, expected);
    }
}

#[tokio::test]
async fn plans_for_other_inputs_are_not_compared() {
    let then = (r#"{"name": "?", "zone": "x"}"#, planned(r#"{"id": "1", "name": "?", "zone": "x"}"#, false));
    let now = (r#"{"name": "a", "zone": "y"}"#, planned(r#"{"id": "2", "name": "a", "zone": "y"}"#, false));
    assert_eq!(judged(None, then, now).await, None);
}

#[tokio::test]
async fn plans_for_other_objects_are_not_compared() {
    let stage = stage().await;
    let resource = stage.provider.resource(THING).expect("there is one");
    let answer = |id: &str| planned(&format!(r#"{{"id": "{id}", "name": "b"}}"#), false);
    let earlier = plan(&stage, Some(r#"{"id": "1", "name": "a"}"#), r#"{"name": "b"}"#, answer("1")).await;
    let earlier = resource.keep(&earlier).expect("it was sent");
    let last = plan(&stage, Some(r#"{"id": "2", "name": "a"}"#), r#"{"name": "b"}"#, answer("2")).await;
    assert!(resource.check_final(&earlier, &last).is_ok());
}

#[tokio::test]
async fn a_last_plan_must_come_to_the_same_action_or_to_none() {
    let prior = Some(r#"{"id": "1", "name": "a", "zone": "x"}"#);
    let config = r#"{"name": "b", "zone": "x"}"#;
    let same = || (config, planned(r#"{"id": "1", "name": "a", "zone": "x"}"#, false));
    let update = || (config, planned(r#"{"id": "1", "name": "b", "zone": "x"}"#, false));
    let replace = || (config, planned(r#"{"id": "1", "name": "b", "zone": "x"}"#, true));
    let changed = |then, now| fault(&format!("the object was to be {then}, and is now to be {now}"));
    for (then, now, expected) in [
        (update(), update(), None),
        (replace(), replace(), None),
        (same(), update(), changed("left as it is", "updated")),
        (update(), replace(), changed("updated", "replaced")),
        (replace(), update(), changed("replaced", "updated")),
        // The action is allowed; but the name differs.
        (update(), same(), fault("name: the value is not the planned one")),
    ] {
        assert_eq!(judged(prior, then, now).await, expected);
    }
}

#[tokio::test]
async fn secret_values_are_in_no_text() {
    let with = |pin: &str| planned(&format!(r#"{{"id": "?", "pin": "{pin}"}}"#), false);
    let legacy = |pin| Answer { legacy_type_system: true, ..with(pin) };
    let config = r#"{"pin": "hunter1"}"#;
    let said = judged(None, (config, with("hunter1")), (config, legacy("hunter2"))).await;
    assert_eq!(said, fault("pin: a sensitive value is not the planned one"));
}
