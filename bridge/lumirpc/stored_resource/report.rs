//! What the legacy engine is told of an object: outputs that it can keep, in an answer that it can receive.
//!
//! It knows no secrets and stores everything in the clear, so whoever runs it is warned of what is sensitive, or has it
//! withheld. And its gRPC library takes messages of at most 4 MiB. An answer that it cannot receive would make it forget a
//! resource that exists, so outputs are left out of one that is larger; the store has them.

use isthmus_proto::property::{Struct, Value};
use isthmus_provider::Diagnostic;
use prost::Message as _;

use crate::settings::SENSITIVE_OUTPUTS;
use crate::translate::property::{PropertyView, classify};

/// The largest message that the engine receives, in bytes: the default of grpc-go.
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;

/// What an answer has besides its properties and its id: keys and lengths of two fields, at most ten bytes each.
const AROUND: usize = 64;

/// Outputs as the engine may have them, and what the user has to know of it. In `outputs`, what is sensitive is marked as
/// secret. `terraform_type` and `id` are the resource's.
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
    let (told, left_out) = fitting(plain, LARGEST_ANSWER.saturating_sub(AROUND + id.len()));
    if !left_out.is_empty() {
        let detail = format!(
            "{} of {terraform_type} {id:?}; with them the answer would be larger than the {} MiB that this engine receives. \
             The store of objects has them",
            quoted(&left_out),
            LARGEST_ANSWER / (1024 * 1024)
        );
        warnings.push(Diagnostic::warning("Outputs are left out", detail));
    }
    (told, warnings)
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The outputs without the marks of secrets, and the names of those that have any; with `withhold` also without what was
/// marked.
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

/// Takes marks of secrets off a value, at every depth: whether there were any. What is withheld becomes null; where it is a
/// member of an object, the member goes.
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
            // Each of them, not only until one is found.
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

/// As many of the outputs as there is room for, in bytes, and the names of the others. The largest go first, so that as few
/// go as possible.
fn fitting(mut outputs: Struct, room: usize) -> (Struct, Vec<String>) {
    let mut size = outputs.encoded_len();
    let mut left_out = Vec::new();
    if size <= room {
        return (outputs, left_out);
    }
    // Bags are encoded property by property, so what each takes can be subtracted.
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
    use crate::translate::property::secret;

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
        let (told, warnings) = tell(login(), "x_login", "1", false);
        let user = bag([("name", "me".into()), ("password", "hunter2".into())]);
        let plain = bag([
            ("result", "s3cret".into()),
            ("users", Value::List(vec![Value::Struct(user)])),
            ("keys", Value::List(vec!["a".into(), "b".into()])),
            ("length", 7.0.into()),
        ]);
        assert_eq!(told, plain);
        let [warning] = &warnings[..] else { panic!("one warning, not {warnings:?}") };
        for part in ["`result`, `users`, `keys` of x_login", "ISTHMUS_SENSITIVE_OUTPUTS=withhold"] {
            assert!(warning.detail.contains(part), "{part} is not in {warning:?}");
        }
        assert!(!format!("{warning:?}").contains("hunter2"));
    }

    #[test]
    fn sensitive_outputs_are_withheld_at_every_depth() {
        let (told, warnings) = tell(login(), "x_login", "1", true);
        let user = bag([("name", "me".into())]);
        let rest = bag([
            ("users", Value::List(vec![Value::Struct(user)])),
            ("keys", Value::List(vec![Value::Null, "b".into()])),
            ("length", 7.0.into()),
        ]);
        assert_eq!((told, warnings), (rest, Vec::new()));
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
        let (told, left_out) = fitting(outputs.clone(), whole - 1);
        assert_eq!(left_out, ["bigger"]);
        assert_eq!(told, bag([("big", text(700)), ("small", text(10))]));
        assert_eq!(
            fitting(outputs.clone(), 30),
            (bag([("small", text(10))]), vec!["bigger".to_owned(), "big".to_owned()])
        );
        assert_eq!(fitting(outputs, 0).0, Struct::new());
    }
}
