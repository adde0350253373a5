//! Timeouts in the private data of HashiCorp's SDK (version 2).
//!
//! It reads the block `timeouts` when it plans, adds its defaults, and writes all of them, in
//! nanoseconds, to the private data under its own key. Create and update use the planned private
//! data; delete and read, for which it plans nothing, the stored one. So it ignores the block in
//! the state.

use std::time::Duration;

use bytes::Bytes;
use isthmus_cty::json::Json;

const KEY: &str = "e2bfb730-ecaa-11e6-8f88-34363bc7c4c0";

/// Other keys that only the SDK writes.
const MARKS: [&str; 2] = ["schema_version", "_new_extra_shim"];

/// The private data with a timeout of that operation; `None` if the SDK has not written it. The
/// framework, whose private data is a JSON object too, fails to read it with the SDK's key. Only
/// the SDK writes `null`.
pub(super) fn with_timeout(private: &Bytes, operation: &str, time: Duration) -> Option<Bytes> {
    let mut members = match Json::parse(private).ok()? {
        Json::Null => Vec::new(),
        Json::Object(members) if members.iter().any(|(name, _)| is_sdks(name)) => members,
        _ => return None,
    };
    let nanoseconds = Json::Number(time.as_nanos().min(i64::MAX.unsigned_abs().into()).to_string());
    let kept = members.iter().position(|(name, _)| name == KEY).map(|index| members.remove(index).1);
    let mut timeouts = match kept {
        Some(Json::Object(timeouts)) => timeouts,
        _ => Vec::new(),
    };
    timeouts.retain(|(name, _)| name != operation);
    timeouts.push((operation.to_owned(), nanoseconds));
    members.push((KEY.to_owned(), Json::Object(timeouts)));
    Some(Bytes::from(Json::Object(members).to_string()))
}

fn is_sdks(name: &str) -> bool {
    name == KEY || MARKS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(private: &'static str) -> Option<String> {
        let private = with_timeout(&Bytes::from(private), "delete", Duration::from_secs(90))?;
        Some(String::from_utf8(private.to_vec()).expect("JSON is text"))
    }

    #[test]
    fn one_timeout_changes_and_everything_else_stays() {
        let private = r#"{"e2bfb730-ecaa-11e6-8f88-34363bc7c4c0":{"create":60,"delete":1200},"n":1.0,"schema_version":"1"}"#;
        let expected = r#"{"n":1.0,"schema_version":"1","e2bfb730-ecaa-11e6-8f88-34363bc7c4c0":{"create":60,"delete":90000000000}}"#;
        assert_eq!(changed(private).as_deref(), Some(expected));
    }

    #[test]
    fn the_sdk_gets_its_key_where_it_has_kept_none() {
        let only = r#"{"e2bfb730-ecaa-11e6-8f88-34363bc7c4c0":{"delete":90000000000}}"#;
        assert_eq!(changed("null").as_deref(), Some(only));
        assert!(changed(r#"{"_new_extra_shim":{}}"#).is_some_and(|text| text.contains("90000000000")));
    }

    #[test]
    fn bytes_that_are_not_the_sdks_stay_as_they_are() {
        for private in ["", "{}", r#"{"key":"InZhbHVlIg=="}"#, "[]", "\u{1}", r#""text""#] {
            assert_eq!(changed(private), None, "{private}");
        }
    }
}
