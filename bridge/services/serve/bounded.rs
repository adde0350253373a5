//! Bounds of statuses: what a provider says may be of any length, and a status travels in headers.
//!
//! Clients limit the headers of a response, each counted as its name, its value and 32 bytes. Above
//! that, a caller sees an error of the transport in place of the provider's.
//!
//! - grpc-core (Python, Ruby, C++) refuses some responses at random from 8 KiB on, and all from 16 KiB
//!   on: `grpc.max_metadata_size` and `grpc.absolute_max_metadata_size`, since grpc/grpc#32600. Of a
//!   message alone, grpc/grpc#37852 has "received metadata size exceeds hard limit (18013 vs. 16384)".
//! - grpc-go (the engine) takes 16 MiB (`defaultClientMaxHeaderListSize`), and is on the way to 8 KiB
//!   (grpc/grpc-go#2308). hyper takes 16 KiB.
//!
//! The engine passes messages on to programs in those languages, with text of its own before them. So
//! a status takes less than 8 KiB, in the encoding on the wire, where a space or a letter beyond ASCII
//! takes three bytes for each of its own; and the message that stands in it leaves a quarter of that to
//! others. Longer ones are cut, and the engine gets the whole text as a log line before the answer.
//!
//! Only the properties of an object that was created or changed in part are never cut, whatever
//! becomes of the bounds: the engine stores them. It gets them with the status, and is the only one
//! that reads them. Of an object too large for that, the user is told what to do.

use isthmus_proto::{pulumirpc, rpc};
use prost::Message as _;
use tonic::Status;

use crate::status::with_texts;
use isthmus_session::daemon::Session;
use isthmus_session::engine::Severity;

/// The detail with the reasons by which an engine keeps a partially created resource.
pub(super) const INIT_FAILED: &str = "type.googleapis.com/pulumirpc.ErrorResourceInitFailed";

/// The detail with the keys that a configuration lacks.
const MISSING_KEYS: &str = "type.googleapis.com/pulumirpc.ConfigureErrorMissingKeys";

/// Bytes of a message as it is encoded on the wire.
const LONGEST_MESSAGE: usize = 6 << 10;
/// The same of a message with details, which repeat it. The engine shows the reasons that are in them.
const LONGEST_BESIDE_DETAILS: usize = 1 << 10;
/// Bytes of all reasons or descriptions within details. Base64 makes a third more of them.
const LONGEST_REASONS: usize = 3 << 10;
/// Minimum bytes of each, however many there are.
const SHORTEST_REASON: usize = 512;
/// Bytes of the sentence about what is left out, encoded.
const SENTENCE: usize = 256;
/// Bytes of a text that is logged because it does not fit into a status.
const LONGEST_LOGGED: usize = 256 << 10;
/// Bytes of details that the engine receives in base64, in headers of 16 MiB; the rest is for others.
const LARGEST_DETAILS: usize = (16 << 20) / 4 * 3 - (64 << 10);

/// The status within bounds. What is left out is logged before it is returned.
pub(super) async fn bounded(status: Status, session: &Session) -> Status {
    if status.details().len() > LARGEST_DETAILS {
        session.send_log(Severity::Error, of_lost_details(status.details().len()), "");
        session.flush_logs(true).await;
    }
    if shortened(&status, "").is_none() {
        return status;
    }
    session.send_log(Severity::Info, logged(status.message()), "");
    let is_logged = session.flush_logs(true).await;
    let rest = if is_logged { "; the whole text is in the log before this error" } else { "" };
    shortened(&status, rest).unwrap_or(status)
}

/// The status with shorter texts. `None` if it is short enough.
fn shortened(status: &Status, rest: &str) -> Option<Status> {
    let has_details = !status.details().is_empty();
    let most = if has_details { LONGEST_BESIDE_DETAILS } else { LONGEST_MESSAGE };
    let message = cut(status.message(), most, encoded_width, rest);
    let details = has_details.then(|| shorter_details(status.details(), rest)).flatten();
    if message.is_none() && details.is_none() {
        return None;
    }
    let message = message.unwrap_or_else(|| status.message().to_owned());
    let details = details.unwrap_or_else(|| status.details().to_vec());
    Some(with_texts(status, message, details.into()))
}

/// The details (`status.rs`) with shorter texts.
fn shorter_details(details: &[u8], rest: &str) -> Option<Vec<u8>> {
    let mut inner = rpc::Status::decode(details).ok()?;
    let mut is_cut = cut_in_place(&mut inner.message, LONGEST_BESIDE_DETAILS, encoded_width, rest);
    for detail in &mut inner.details {
        if detail.type_url == INIT_FAILED {
            let mut failed = pulumirpc::ErrorResourceInitFailed::decode(&*detail.value).ok()?;
            if cut_all(failed.reasons.iter_mut().collect(), rest) {
                detail.value = failed.encode_to_vec();
                is_cut = true;
            }
        } else if detail.type_url == MISSING_KEYS {
            let mut missing = pulumirpc::ConfigureErrorMissingKeys::decode(&*detail.value).ok()?;
            let descriptions = missing.missing_keys.iter_mut().map(|key| &mut key.description);
            if cut_all(descriptions.collect(), rest) {
                detail.value = missing.encode_to_vec();
                is_cut = true;
            }
        }
    }
    is_cut.then(|| inner.encode_to_vec())
}

/// Returns whether any was cut.
fn cut_all(texts: Vec<&mut String>, rest: &str) -> bool {
    let most = LONGEST_REASONS.checked_div(texts.len()).unwrap_or_default().max(SHORTEST_REASON);
    let mut is_cut = false;
    for text in texts {
        is_cut |= cut_in_place(text, most, char::len_utf8, rest);
    }
    is_cut
}

fn cut_in_place(text: &mut String, most: usize, width: fn(char) -> usize, rest: &str) -> bool {
    let cut = cut(text, most, width, rest);
    let is_cut = cut.is_some();
    if let Some(cut) = cut {
        *text = cut;
    }
    is_cut
}

/// The beginning of a text that is wider than `most`, with a sentence about the rest.
fn cut(text: &str, most: usize, width: fn(char) -> usize, rest: &str) -> Option<String> {
    let mut end = None;
    let mut taken = 0;
    for (at, character) in text.char_indices() {
        taken += width(character);
        if end.is_none() && taken + SENTENCE > most {
            end = Some(at);
        }
        if taken > most {
            break;
        }
    }
    let end = end.filter(|_| taken > most)?;
    let (all, left_out) = (text.len(), text.len() - end);
    Some(format!("{}…\n[{left_out} of {all} bytes are left out{rest}]", &text[..end]))
}

/// The bytes that tonic makes of a character of a message, by percent-encoding.
fn encoded_width(character: char) -> usize {
    let is_plain = character.is_ascii_graphic() && !"\"#%<>`?{}".contains(character);
    if is_plain { 1 } else { 3 * character.len_utf8() }
}

fn logged(message: &str) -> String {
    let text = cut(message, LONGEST_LOGGED, char::len_utf8, "");
    format!(
        "the error that follows is too long to be returned as a whole:\n{}",
        text.as_deref().unwrap_or(message)
    )
}

fn of_lost_details(size: usize) -> String {
    format!(
        "the properties of an object that was created or changed in part take {} MiB, and engines receive 16 MiB with an \
         error at most, encoded, so the stack may not have them: `isthmus recover` lists the object if it was created; \
         otherwise run `pulumi refresh`",
        size >> 20
    )
}

#[cfg(test)]
mod tests {
    use isthmus_proto::property::{Struct, Value};
    use tonic::Code;
    use tonic::codegen::http::HeaderMap;

    use super::*;

    /// The size of a status as clients count it.
    fn size(status: &Status) -> usize {
        let mut headers = HeaderMap::new();
        status.add_header(&mut headers).expect("headers");
        headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum()
    }

    fn partial(reasons: Vec<String>, properties: Struct) -> Status {
        let message = reasons.join("\n");
        let failed = pulumirpc::ErrorResourceInitFailed {
            id: "id-1".into(),
            properties: Some(properties),
            reasons,
            ..Default::default()
        };
        let detail = prost_types::Any { type_url: INIT_FAILED.into(), value: failed.encode_to_vec() };
        let inner = rpc::Status { code: 2, message: message.clone(), details: vec![detail] };
        Status::with_details(Code::Unknown, message, inner.encode_to_vec().into())
    }

    fn failed(status: &Status) -> pulumirpc::ErrorResourceInitFailed {
        let inner = rpc::Status::decode(status.details()).expect("details");
        pulumirpc::ErrorResourceInitFailed::decode(&*inner.details[0].value).expect("a detail")
    }

    #[test]
    fn a_message_takes_less_than_eight_kilobytes_however_it_is_encoded() {
        for text in ["x", "two words ", "é", "\u{1f512}", "%", "\n", "a \u{1f512}{}\"\t"] {
            for length in [10, 2_000, 6_000, 20_000, 1_000_000] {
                let message: String = text.chars().cycle().take(length).collect();
                let status = Status::aborted(message.clone());
                let Some(short) = shortened(&status, "; the whole text is in the log before this error")
                else {
                    assert!(size(&status) < 8 << 10, "{text:?} {length}: {}", size(&status));
                    continue;
                };
                assert!(
                    size(&short) < 8 << 10 && size(&status) > LONGEST_MESSAGE,
                    "{text:?}: {}",
                    size(&short)
                );
                assert_eq!(short.code(), Code::Aborted);
                let (beginning, sentence) = short.message().split_once("…\n[").expect("a sentence");
                assert!(message.starts_with(beginning) && beginning.len() > 1_500, "{}", beginning.len());
                let left_out = message.len() - beginning.len();
                let expected = format!(
                    "{left_out} of {} bytes are left out; the whole text is in the log before this error]",
                    message.len()
                );
                assert_eq!(sentence, expected);
            }
        }
    }

    #[test]
    fn a_message_that_fits_stays_as_it_is() {
        for message in ["", "cannot create", &"x".repeat(LONGEST_MESSAGE), &" ".repeat(LONGEST_MESSAGE / 3)] {
            assert!(shortened(&Status::unknown(message), "").is_none(), "{}", message.len());
        }
        assert!(shortened(&Status::unknown("x".repeat(LONGEST_MESSAGE + 1)), "").is_some());
    }

    #[test]
    fn a_status_with_details_takes_less_than_eight_kilobytes_besides_the_properties() {
        let properties: Struct = [("body", Value::from("y".repeat(100_000)))].into();
        let long = |count: usize| vec!["a reason é ".repeat(20_000); count];
        for reasons in [long(1), long(2), long(3), vec!["short".to_owned(), "long ".repeat(10_000)]] {
            let empty = shortened(&partial(reasons.clone(), Struct::default()), "").expect("it is long");
            assert!(size(&empty) < 8 << 10, "{}", size(&empty));
            let status = shortened(&partial(reasons.clone(), properties.clone()), "").expect("it is long");
            let failed = failed(&status);
            assert_eq!((failed.id.as_str(), failed.properties.as_ref()), ("id-1", Some(&properties)));
            assert_eq!(failed.reasons.len(), reasons.len());
            for (cut, reason) in failed.reasons.iter().zip(&reasons) {
                let beginning = cut.split('…').next().unwrap_or_default();
                assert!(reason.starts_with(beginning) && beginning.len() >= 5, "{cut}");
            }
        }
    }

    #[test]
    fn large_properties_alone_change_nothing() {
        let properties: Struct = [("body", Value::from("y".repeat(20 << 20)))].into();
        assert!(shortened(&partial(vec!["short".to_owned()], properties), "").is_none());
    }

    #[test]
    fn descriptions_of_missing_keys_are_bounded_and_their_names_are_not() {
        use pulumirpc::configure_error_missing_keys::MissingKey;
        let key = |name: &str| MissingKey { name: name.to_owned(), description: "what it is ".repeat(1_000) };
        let missing = pulumirpc::ConfigureErrorMissingKeys { missing_keys: vec![key("a:one"), key("a:two")] };
        let detail = prost_types::Any { type_url: MISSING_KEYS.into(), value: missing.encode_to_vec() };
        let inner = rpc::Status { code: 3, message: "lacks".into(), details: vec![detail] };
        let status = Status::with_details(Code::InvalidArgument, "lacks", inner.encode_to_vec().into());
        let status = shortened(&status, "").expect("it is long");
        assert!(size(&status) < 8 << 10, "{}", size(&status));
        let inner = rpc::Status::decode(status.details()).expect("details");
        let missing =
            pulumirpc::ConfigureErrorMissingKeys::decode(&*inner.details[0].value).expect("a detail");
        let names: Vec<&str> = missing.missing_keys.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names, ["a:one", "a:two"]);
        assert!(missing.missing_keys.iter().all(|key| key.description.ends_with("bytes are left out]")));
    }

    #[test]
    fn what_is_logged_is_bounded() {
        let text = logged(&"x".repeat(1 << 20));
        assert!(text.len() < LONGEST_LOGGED + 200 && text.contains("bytes are left out]"), "{}", text.len());
        assert!(logged("short").ends_with(":\nshort"));
    }
}
