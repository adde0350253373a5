//! Whether two plans of one change have the same inputs.
//!
//! Core plans a change twice: while some inputs are unknown, and again when all are known, right
//! before it is applied. The provider may then only set values that were unknown. This requires the
//! same known inputs in both plans, which core guarantees, but an engine does not.

use isthmus_cty::Value;

/// Whether every known input of `then` is the same in `now`. Unknown inputs may have become
/// anything.
pub(crate) fn inputs_hold(then: &Value, now: &Value) -> bool {
    match (then, now) {
        (Value::Unknown(_), _) => true,
        _ if then.is_wholly_known() => then == now,
        (Value::Dynamic(then), Value::Dynamic(now)) => inputs_hold(&then.1, &now.1),
        (Value::List(then), Value::List(now)) | (Value::Tuple(then), Value::Tuple(now)) => {
            then.len() == now.len() && then.iter().zip(now).all(|(then, now)| inputs_hold(then, now))
        }
        (Value::Map(then), Value::Map(now)) | (Value::Object(then), Value::Object(now)) => {
            then.len() == now.len()
                && then.iter().all(|(key, then)| now.get(key).is_some_and(|now| inputs_hold(then, now)))
        }
        (Value::Set(then), Value::Set(now)) => elements_hold(then, now),
        _ => false,
    }
}

/// Known elements of a set must be present again; those with unknown parts may have become any
/// similar ones, or equal to others, so that there may be fewer now, but never more.
fn elements_hold(then: &[Value], now: &[Value]) -> bool {
    let (known, open): (Vec<&Value>, Vec<&Value>) =
        then.iter().partition(|element| element.is_wholly_known());
    now.len() <= then.len()
        && known.iter().all(|element| now.contains(element))
        && now
            .iter()
            .all(|element| known.contains(&element) || open.iter().any(|open| inputs_hold(open, element)))
}

#[cfg(test)]
mod tests {
    use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Mode;

    use super::super::testing::object;
    use super::*;
    use crate::schema::testing::{attribute, block, compiled, nested_block};

    #[test]
    fn what_was_known_must_be_the_same_and_the_rest_may_be_anything() {
        let text = |name: &str| attribute(name, "\"string\"", "o");
        let schema = compiled(block(
            vec![
                text("a"),
                attribute("any", "\"dynamic\"", "o"),
                attribute("list", r#"["list","string"]"#, "o"),
                attribute("map", r#"["map","string"]"#, "o"),
                attribute("set", r#"["set","string"]"#, "o"),
            ],
            vec![nested_block("rule", Mode::Set, block(vec![text("port"), text("to")], vec![]))],
        ));
        for (then, now, holds) in [
            (r#"{"a": "x"}"#, r#"{"a": "x"}"#, true),
            (r#"{"a": "x"}"#, r#"{"a": "y"}"#, false),
            (r#"{"a": "x"}"#, "{}", false),
            ("{}", r#"{"a": "x"}"#, false),
            (r#"{"a": "?"}"#, r#"{"a": "x"}"#, true),
            (r#"{"a": "?"}"#, "{}", true),
            (r#"{"a": "?", "list": ["x"]}"#, r#"{"a": "y", "list": ["z"]}"#, false),
            (r#"{"a": "x"}"#, r#"{"a": "?"}"#, false),
            (r#"{"any": "?"}"#, r#"{"any": [1]}"#, true),
            (r#"{"any": ["?", 1]}"#, r#"{"any": ["x", 1]}"#, true),
            (r#"{"any": ["?", 1]}"#, r#"{"any": ["x", 2]}"#, false),
            (r#"{"list": ["x", "?"]}"#, r#"{"list": ["x", "y"]}"#, true),
            (r#"{"list": ["x", "?"]}"#, r#"{"list": ["z", "y"]}"#, false),
            (r#"{"list": ["x", "?"]}"#, r#"{"list": ["x"]}"#, false),
            (r#"{"list": "?"}"#, r#"{"list": ["x"]}"#, true),
            (r#"{"map": {"k": "?"}}"#, r#"{"map": {"k": "x"}}"#, true),
            (r#"{"map": {"k": "?"}}"#, r#"{"map": {"l": "x"}}"#, false),
            (r#"{"map": {"k": "?"}}"#, r#"{"map": {"k": "x", "l": "y"}}"#, false),
            (r#"{"set": ["x", "?"]}"#, r#"{"set": ["x", "y"]}"#, true),
            (r#"{"set": ["x", "?"]}"#, r#"{"set": ["x"]}"#, true),
            (r#"{"set": ["x", "?"]}"#, r#"{"set": ["y"]}"#, false),
            (r#"{"set": ["x", "?"]}"#, r#"{"set": ["x", "y", "z"]}"#, false),
            (r#"{"rule": [{"port": "1", "to": "?"}]}"#, r#"{"rule": [{"port": "1", "to": "a"}]}"#, true),
            (r#"{"rule": [{"port": "1", "to": "?"}]}"#, r#"{"rule": [{"port": "2", "to": "a"}]}"#, false),
        ] {
            assert_eq!(
                inputs_hold(&object(&schema, then), &object(&schema, now)),
                holds,
                "{then}, and now {now}"
            );
        }
    }
}
