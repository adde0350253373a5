//! Masking of secrets in a value.
//!
//! The record contains the paths of secrets. One that does not match the value masks the part that
//! it matches: rather too much than too little.

use base64::Engine as _;
use isthmus_cty::json::Json;
use isthmus_cty::{AttributePath, PathStep};

pub(super) const HIDDEN: &str = "(secret)";

/// More paths than these mask the whole value: each is looked up on its own, and a file may have millions.
const MOST_PATHS: usize = 4096;

/// Masks every secret, and returns the paths of those that exist.
pub(super) fn hide(value: &mut Json, secrets: &[AttributePath]) -> Vec<String> {
    let whole = [AttributePath::root()];
    let secrets = if secrets.len() > MOST_PATHS { &whole } else { secrets };
    let hidden = secrets.iter().filter(|path| hide_one(value, &path.0));
    hidden.map(ToString::to_string).collect()
}

/// A provider's private data as base64, masked unless secrets are shown.
pub(super) fn private_data(bytes: &[u8], with_secrets: bool) -> Json {
    match bytes.len() {
        0 => Json::Null,
        _ if with_secrets => Json::String(base64::engine::general_purpose::STANDARD.encode(bytes)),
        _ => Json::String(HIDDEN.to_owned()),
    }
}

/// Returns `false` if there is nothing to mask.
fn hide_one(value: &mut Json, path: &[PathStep]) -> bool {
    if *value == Json::Null {
        return false;
    }
    let part = path.split_first().and_then(|(step, rest)| Some((part(value, step)?, rest)));
    if let Some((part, rest)) = part {
        return hide_one(part, rest);
    }
    // The end of the path, or a mismatch.
    *value = Json::String(HIDDEN.to_owned());
    true
}

fn part<'a>(value: &'a mut Json, step: &PathStep) -> Option<&'a mut Json> {
    // A dynamic value is stored beside its type; paths have no step for that.
    let is_typed = value.member("type").is_some() && value.member("value").is_some();
    match (value, step) {
        (Json::Object(members), PathStep::Attribute(name) | PathStep::Key(name)) => {
            if let Some(at) = members.iter().rposition(|(member, _)| **member == **name) {
                return Some(&mut members[at].1);
            }
            if !is_typed || members.len() != 2 {
                return None;
            }
            let inner = members.iter_mut().find(|(member, _)| member == "value")?;
            part(&mut inner.1, step)
        }
        (Json::Object(members), PathStep::Index(_)) if is_typed && members.len() == 2 => {
            let inner = members.iter_mut().find(|(member, _)| member == "value")?;
            part(&mut inner.1, step)
        }
        (Json::Array(elements), PathStep::Index(index)) => elements.get_mut(*index),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(value: &str, path: &[PathStep]) -> (String, Vec<String>) {
        let mut value = Json::parse(value.as_bytes()).expect("JSON");
        let hidden = hide(&mut value, &[AttributePath(path.to_vec())]);
        (value.to_string(), hidden)
    }

    #[test]
    fn what_a_path_leads_to_is_hidden() {
        let tag = [PathStep::attribute("tags"), PathStep::key("k")];
        assert_eq!(
            hidden(r#"{"tags":{"k":"hunter2","l":1}}"#, &tag),
            (r#"{"tags":{"k":"(secret)","l":1}}"#.to_owned(), vec![r#"tags["k"]"#.to_owned()])
        );
        let element = [PathStep::attribute("list"), PathStep::Index(1), PathStep::attribute("a")];
        assert_eq!(hidden(r#"{"list":[1,{"a":2}]}"#, &element).0, r#"{"list":[1,{"a":"(secret)"}]}"#);
        let typed = r#"{"any":{"value":{"list":["hunter2"]},"type":["object",{"list":["list","string"]}]}}"#;
        let inside = [PathStep::attribute("any"), PathStep::attribute("list"), PathStep::Index(0)];
        assert!(!hidden(typed, &inside).0.contains("hunter2"));
    }

    #[test]
    fn a_path_that_does_not_fit_hides_too_much() {
        let far = [PathStep::attribute("set"), PathStep::Index(3), PathStep::attribute("a")];
        assert_eq!(hidden(r#"{"set":["hunter2"],"b":1}"#, &far).0, r#"{"set":"(secret)","b":1}"#);
        assert_eq!(hidden(r#"{"b":1}"#, &far).0, r#""(secret)""#);
        assert_eq!(hidden(r#"{"b":1}"#, &[]).0, r#""(secret)""#);
        let mut value = Json::parse(br#"{"b":1}"#).expect("JSON");
        let path = AttributePath(vec![PathStep::attribute("a"), PathStep::attribute("a")]);
        hide(&mut value, &vec![path; MOST_PATHS + 1]);
        assert_eq!(value.to_string(), r#""(secret)""#);
    }

    #[test]
    fn what_has_no_value_is_no_secret() {
        let far = [PathStep::attribute("a"), PathStep::attribute("b")];
        assert_eq!(hidden(r#"{"a":null}"#, &far), (r#"{"a":null}"#.to_owned(), Vec::new()));
    }
}
