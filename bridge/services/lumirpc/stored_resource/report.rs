//! Outputs for the legacy engine, within what it can store and receive.
//!
//! It has no secrets and stores everything in the clear, so that sensitive outputs are withheld or
//! reported in a warning. Its gRPC library receives at most 4 MiB, and without the response it
//! would forget an existing resource; so outputs that do not fit are left out. The state store has
//! them.

use isthmus_proto::property::{Struct, Value};
use isthmus_provider::Diagnostic;
use prost::Message as _;

use isthmus_context::settings::SENSITIVE_OUTPUTS;
use isthmus_translate::property::{PropertyView, classify};

/// The largest message that the engine receives, in bytes: the default of grpc-go.
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;

/// Size of a response besides properties and id: keys and lengths of two fields, at most ten bytes
/// each.
const AROUND: usize = 64;

/// Returns the outputs to report, and warnings for the user. In `outputs`, sensitive values are
/// marked as secret.
pub(super) fn tell(
    outputs: Struct,
    terraform_type: &str,
    id: &str,
    withhold: bool,
) -> (Struct, Vec<Diagnostic>) {
    let mut warnings = Vec::new();
    let (plain, sensitive) = without_marks(outputs, withhold);
    if !withhold && !sensitive.is_empty() {
        let detail = format!(
            "{} of {terraform_type}; this engine knows no secrets and stores outputs as they are. Set {}=withhold to keep \
             sensitive outputs from it",
            quoted(&sensitive),
            SENSITIVE_OUTPUTS.name
        );
        warnings.push(Diagnostic::warning("Sensitive outputs are stored in the clear", detail));
    }
    let (reported, left_out) = fitting(plain, LARGEST_ANSWER.saturating_sub(AROUND + id.len()));
    if !left_out.is_empty() {
        let detail = format!(
            "{} of {terraform_type} {id:?}; with them the answer would be larger than the {} MiB that this engine receives. \
             The store of objects has them",
            quoted(&left_out),
            LARGEST_ANSWER / (1024 * 1024)
        );
        warnings.push(Diagnostic::warning("Outputs are left out", detail));
    }
    (reported, warnings)
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Removes secret marks, and returns the names of the outputs that had any; with `withhold` also
/// removes the values.
fn without_marks(outputs: Struct, withhold: bool) -> (Struct, Vec<String>) {
    let mut sensitive = Vec::new();
    let mut plain = Struct::new();
    for (name, mut value) in outputs {
        let is_sensitive = unmark(&mut value, withhold);
        if !(is_sensitive && value.is_null()) {
            plain.insert(name.clone(), value);
        }
        if is_sensitive {
            sensitive.push(name);
        }
    }
    (plain, sensitive)
}

/// Removes secret marks at every depth and returns whether there were any. A withheld value becomes
/// null; a withheld member is removed from its object.
fn unmark(value: &mut Value, withhold: bool) -> bool {
    let hidden = match classify(value) {
        Ok(PropertyView::Secret(hidden)) => Some(hidden.clone()),
        _ => None,
    };
    if let Some(mut hidden) = hidden {
        unmark(&mut hidden, withhold);
        *value = if withhold { Value::Null } else { hidden };
        return true;
    }
    match value {
        Value::List(elements) => {
            // No short circuit: every element is unmarked.
            elements.iter_mut().fold(false, |found, element| unmark(element, withhold) | found)
        }
        Value::Struct(members) => {
            let mut emptied = Vec::new();
            let mut found = false;
            for (name, member) in members.iter_mut() {
                if unmark(member, withhold) {
                    found = true;
                    if member.is_null() {
                        emptied.push(name.to_owned());
                    }
                }
            }
            for name in emptied {
                members.remove(&name);
            }
            found
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Drops outputs, the largest first so that the fewest go, until the rest fits in `room` bytes;
/// also returns their names.
fn fitting(mut outputs: Struct, room: usize) -> (Struct, Vec<String>) {
    let mut size = outputs.encoded_len();
    let mut left_out = Vec::new();
    if size <= room {
        return (outputs, left_out);
    }
    // Bags are encoded property by property, so that each one's size can be subtracted.
    let mut sizes: Vec<(usize, String)> = outputs
        .iter()
        .map(|(name, value)| (Struct::from([(name, value.clone())]).encoded_len(), name.to_owned()))
        .collect();
    sizes.sort();
    while size > room
        && let Some((largest, name)) = sizes.pop()
    {
        outputs.remove(&name);
        size -= largest;
        left_out.push(name);
    }
    (outputs, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_translate::property::secret;

    fn bag<const COUNT: usize>(properties: [(&str, Value); COUNT]) -> Struct {
        properties.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
    }

    fn login() -> Struct {
        let user = bag([("name", "me".into()), ("password", secret("hunter2".into()))]);
        bag([
            ("result", secret("s3cret".into())),
            ("users", Value::List(vec![Value::Struct(user)])),
            ("keys", Value::List(vec![secret("a".into()), "b".into()])),
            ("length", 7.0.into()),
        ])
    }

    #[test]
    fn sensitive_outputs_are_told_as_they_are_with_one_warning_that_names_them() {
        let (reported, warnings) = tell(login(), "x_login", "1", false);
        let user = bag([("name", "me".into()), ("password", "hunter2".into())]);
        let plain = bag([
            ("result", "s3cret".into()),
            ("users", Value::List(vec![Value::Struct(user)])),
            ("keys", Value::List(vec!["a".into(), "b".into()])),
            ("length", 7.0.into()),
        ]);
        assert_eq!(reported, plain);
        let [warning] = &warnings[..] else { panic!("one warning, not {warnings:?}") };
        for part in ["`result`, `users`, `keys` of x_login", "ISTHMUS_SENSITIVE_OUTPUTS=withhold"] {
            assert!(warning.detail.contains(part), "{part} is not in {warning:?}");
        }
        assert!(!format!("{warning:?}").contains("hunter2"));
    }

    #[test]
    fn sensitive_outputs_are_withheld_at_every_depth() {
        let (reported, warnings) = tell(login(), "x_login", "1", true);
        let user = bag([("name", "me".into())]);
        let rest = bag([
            ("users", Value::List(vec![Value::Struct(user)])),
            ("keys", Value::List(vec![Value::Null, "b".into()])),
            ("length", 7.0.into()),
        ]);
        assert_eq!((reported, warnings), (rest, Vec::new()));
    }

    #[test]
    fn outputs_without_secrets_are_told_without_a_word() {
        let outputs = bag([("length", 7.0.into()), ("none", Value::Null)]);
        for withhold in [false, true] {
            assert_eq!(tell(outputs.clone(), "x_pet", "1", withhold), (outputs.clone(), Vec::new()));
        }
    }

    #[test]
    fn an_answer_of_just_the_largest_size_is_whole_and_a_larger_one_goes_without_its_largest_outputs() {
        let text = |length: usize| Value::from("x".repeat(length));
        let outputs = bag([("big", text(700)), ("small", text(10)), ("bigger", text(900))]);
        let whole = outputs.encoded_len();
        assert_eq!(fitting(outputs.clone(), whole), (outputs.clone(), Vec::new()));
        let (reported, left_out) = fitting(outputs.clone(), whole - 1);
        assert_eq!(left_out, ["bigger"]);
        assert_eq!(reported, bag([("big", text(700)), ("small", text(10))]));
        assert_eq!(
            fitting(outputs.clone(), 30),
            (bag([("small", text(10))]), vec!["bigger".to_owned(), "big".to_owned()])
        );
        assert_eq!(fitting(outputs, 0).0, Struct::new());
    }
}
