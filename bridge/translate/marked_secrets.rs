//! Collection of an engine's secrets in property bags, for redaction.

use isthmus_cty::Number;
use isthmus_known_secrets::{KnownSecrets, Retention};
use isthmus_proto::property::{Struct, Value};

use super::property::{self, AssetSource, PropertyView, SIGNATURE_KEY};
use super::raw_state::DELTA_KEY;

/// Collects all values that are marked as secret, at any depth.
///
/// The delta of stored state is left out: whatever holds values is marked there, also names of
/// types and elements of plain sets, and what is secret in it is marked in the outputs.
pub fn note_secrets(bag: &Struct, secrets: &KnownSecrets, retention: Retention) {
    let collector = SecretCollector { secrets, retention };
    for (_, value) in bag.iter().filter(|(name, _)| *name != DELTA_KEY) {
        collector.value(value, false);
    }
}

/// Marks texts that repeat a secret of the provider's configuration, at any depth.
pub fn mark_configured_secrets(bag: &mut Struct, secrets: &KnownSecrets) {
    if secrets.has_configured() {
        mark_in_bag(bag, secrets);
    }
}

fn mark_in_bag(bag: &mut Struct, secrets: &KnownSecrets) {
    for (_, value) in bag.iter_mut() {
        mark(value, secrets);
    }
}

fn mark(value: &mut Value, secrets: &KnownSecrets) {
    match value {
        Value::String(text) if secrets.is_configured(text) => {
            *value = property::secret(std::mem::take(value))
        }
        Value::List(elements) => elements.iter_mut().for_each(|element| mark(element, secrets)),
        // Special values are marked already, or hold no text of the provider.
        Value::Struct(bag) if !bag.contains_key(SIGNATURE_KEY) => mark_in_bag(bag, secrets),
        _ => {}
    }
}

/// Marks in `inputs` what is secret in `properties` of the same object.
///
/// Where elements of a list cannot be told apart, as those of a set, all of it is marked.
pub fn mark_like(inputs: &mut Struct, properties: &Struct) {
    for (name, input) in inputs.iter_mut() {
        if let Some(property) = properties.get(name) {
            mark_value_like(input, property);
        }
    }
}

fn mark_value_like(input: &mut Value, property: &Value) {
    if input.is_null() || matches!(property::classify(input), Ok(PropertyView::Secret(_))) {
        return;
    }
    match (property::classify(property), &mut *input) {
        (Ok(PropertyView::Secret(_)), _) => *input = property::secret(std::mem::take(input)),
        (Ok(PropertyView::Object(properties)), Value::Struct(inputs))
            if !inputs.contains_key(SIGNATURE_KEY) =>
        {
            mark_like(inputs, properties);
        }
        (Ok(PropertyView::List(properties)), _) if properties.iter().any(has_secret) => match input {
            Value::List(inputs) if are_same_elements(inputs, properties) => {
                inputs.clone_from_slice(properties);
            }
            input => *input = property::secret(std::mem::take(input)),
        },
        _ => {}
    }
}

/// Whether the elements are equal but for marks of secrets.
fn are_same_elements(inputs: &[Value], properties: &[Value]) -> bool {
    inputs.len() == properties.len()
        && inputs
            .iter()
            .zip(properties)
            .all(|(input, property)| property::without_secrets(property).is_ok_and(|plain| plain == *input))
}

fn has_secret(value: &Value) -> bool {
    match property::classify(value) {
        Ok(PropertyView::Secret(_)) => true,
        Ok(PropertyView::List(elements)) => elements.iter().any(has_secret),
        Ok(PropertyView::Object(bag)) => bag.values().any(has_secret),
        _ => false,
    }
}

struct SecretCollector<'a> {
    secrets: &'a KnownSecrets,
    retention: Retention,
}

impl SecretCollector<'_> {
    fn bag(&self, bag: &Struct, is_secret: bool) {
        for value in bag.values() {
            self.value(value, is_secret);
        }
    }

    fn value(&self, value: &Value, is_secret: bool) {
        // A malformed value is rejected where it is read, without printing it.
        let Ok(view) = property::classify(value) else { return };
        match view {
            PropertyView::Secret(inner) => self.value(inner, true),
            PropertyView::Output { value: Some(inner), secret, .. } => self.value(inner, is_secret || secret),
            PropertyView::List(elements) => {
                for element in elements {
                    self.value(element, is_secret);
                }
            }
            PropertyView::Object(bag) => self.bag(bag, is_secret),
            PropertyView::String(text)
            | PropertyView::ByteString(text)
            | PropertyView::Asset { source: AssetSource::Text(text), .. }
                if is_secret =>
            {
                self.secrets.learn(text, self.retention);
            }
            PropertyView::Number(number) if is_secret => {
                if let Some(number) = Number::from_f64_shortest(number) {
                    self.secrets.learn_number(&number.to_decimal_text(), self.retention);
                }
            }
            PropertyView::Null
            | PropertyView::Bool(_)
            | PropertyView::Number(_)
            | PropertyView::String(_)
            | PropertyView::Unknown
            | PropertyView::Asset { .. }
            | PropertyView::Archive { .. }
            | PropertyView::ResourceReference { .. }
            | PropertyView::Output { value: None, .. }
            | PropertyView::ByteString(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::{output, secret};
    use crate::testing::{bag, list, object};

    #[test]
    fn everything_within_a_mark_is_secret_and_nothing_else() {
        let text = |text: &str| Value::from(text);
        let inputs = bag(&[
            ("open", text("openly-known")),
            ("secret", secret(text("sesame-one"))),
            ("nested", list(&[object(&[("a", secret(object(&[("b", list(&[text("sesame-two")]))])))])])),
            ("output", output(Some(text("sesame-three")), true, vec![])),
            ("within", output(Some(secret(text("sesame-four"))), false, vec![])),
            ("number", secret(Value::from(31337.0))),
            ("truth", secret(Value::Bool(true))),
        ]);
        let secrets = KnownSecrets::default();
        note_secrets(&inputs, &secrets, Retention::Usual);
        assert_eq!(
            secrets.redact("openly-known sesame-one sesame-two sesame-three sesame-four 31337 true b"),
            "openly-known [secret] [secret] [secret] [secret] [secret] true b"
        );
    }
    #[test]
    fn words_of_the_delta_are_no_secrets() {
        let delta = object(&[("raw", secret(object(&[("type", Value::from("object"))])))]);
        let stored = bag(&[("extra", secret(Value::from("sesame-one"))), (DELTA_KEY, delta)]);
        let secrets = KnownSecrets::default();
        note_secrets(&stored, &secrets, Retention::Usual);
        assert_eq!(secrets.redact("the imported object is sesame-one"), "the imported object is [secret]");
    }
}
