//! Masks of secrets: by the marks of a walk, and by the known secrets of the session, wherever a text has them.

use isthmus_common::counted;
use isthmus_cty::{AttributePath, PathStep, Refinements};
use isthmus_known_secrets::KnownSecrets;

use super::Shown;
use crate::walk::{SecretPaths, Traced};

/// Decides what of a value is not shown.
#[derive(Clone, Debug)]
pub struct Masks {
    pub(super) paths: SecretPaths,
    known: KnownSecrets,
}

impl Masks {
    pub fn new(known: KnownSecrets) -> Self {
        Self { paths: SecretPaths::none(), known }
    }

    /// Also masks what these paths lead to.
    pub fn add_paths(&mut self, paths: &[AttributePath]) {
        self.paths.add(paths);
    }

    /// A text, without known secrets.
    pub fn text(&self, text: &str) -> Shown {
        let redacted = self.known.redact(text);
        if redacted == "[secret]" && text != "[secret]" {
            Shown::Secret
        } else {
            Shown::Text(redacted.into_owned())
        }
    }

    /// A number by its decimal text, unless it is a known secret.
    pub(super) fn number(&self, decimal: &str) -> Shown {
        if self.known.redact(decimal) == decimal { Shown::Number(decimal.to_owned()) } else { Shown::Secret }
    }

    /// A text of a failure, without known secrets.
    pub fn redacted(&self, text: &str) -> String {
        self.known.redact(text).into_owned()
    }

    /// A message, without its secrets.
    pub(super) fn traced(&self, traced: &Traced) -> Shown {
        match traced {
            Traced::Null => Shown::Null,
            Traced::Secret(inner) if is_null(inner) => Shown::Null,
            Traced::Secret(_) | Traced::MixedSet(_) => Shown::Secret,
            Traced::Bool(value) => Shown::Bool(*value),
            Traced::Number(text) => self.number(text),
            Traced::Text(text) => self.text(text),
            Traced::Enum(Some(name), _) => Shown::text(name.to_lowercase()),
            Traced::Enum(None, number) => Shown::Number(number.to_string()),
            Traced::Unknown(refinements, _) => {
                Shown::Unknown(refinements.as_deref().map(words).unwrap_or_default())
            }
            Traced::List(elements) | Traced::Set(elements) => {
                Shown::List(elements.iter().map(|element| self.traced(element)).collect())
            }
            // Its keys are secrets as well.
            Traced::Map(members)
                if !members.is_empty() && members.iter().all(|(_, value)| is_secret(value)) =>
            {
                Shown::Secret
            }
            Traced::Object(members)
            | Traced::Map(members)
            | Traced::Entries(members)
            | Traced::StoredDynamic(_, members) => {
                let members = members.iter().map(|(name, value)| (self.redacted(name), self.traced(value)));
                Shown::Object(members.collect())
            }
            Traced::Dynamic(_, inner)
            | Traced::Value(inner)
            | Traced::State(inner)
            | Traced::Identity(inner, _) => self.traced(inner),
            Traced::Path(path) => Shown::Text(self.redacted(&path_text(path))),
            Traced::Private(bytes) | Traced::Open(bytes) => Shown::Withheld(bytes.len()),
            Traced::Withheld(length) => Shown::Withheld(*length),
            // A provider has none.
            Traced::Bag(_) => Shown::Secret,
        }
    }
}

/// Whether it is null, also as a secret.
fn is_null(traced: &Traced) -> bool {
    match traced {
        Traced::Null => true,
        Traced::Secret(inner) | Traced::Dynamic(_, inner) => is_null(inner),
        _ => false,
    }
}

fn is_secret(traced: &Traced) -> bool {
    matches!(traced, Traced::Secret(_))
}

/// What is known of an unknown value.
fn words(refinements: &Refinements) -> String {
    let mut words = Vec::new();
    if refinements.null == Some(false) {
        words.push("not null".to_owned());
    }
    // A prefix may be that of a secret, which is not found by half of it.
    if refinements.string_prefix.is_some() {
        words.push("of a known prefix".to_owned());
    }
    let bounds = [("at least", &refinements.number_minimum), ("at most", &refinements.number_maximum)];
    for (word, bound) in bounds {
        if let Some((number, _)) = bound {
            words.push(format!("{word} {}", number.to_decimal_text()));
        }
    }
    let lengths = [("at least", refinements.length_minimum), ("at most", refinements.length_maximum)];
    for (word, length) in lengths {
        if let Some(length) = length {
            words.push(format!("{word} {}", counted(length, "element")));
        }
    }
    words.join(", ")
}

/// A path in Terraform's form.
fn path_text(path: &Traced) -> String {
    let Traced::Object(fields) = path else { return String::new() };
    let steps = fields.iter().find_map(|(name, steps)| match steps {
        Traced::List(steps) if name == "steps" => Some(steps.as_slice()),
        _ => None,
    });
    let steps = steps.unwrap_or_default().iter().filter_map(|step| match step {
        // Of the selectors, one is set.
        Traced::Object(selectors) => match selectors.first()? {
            (name, Traced::Text(text)) if name == "attribute_name" => {
                Some(PathStep::attribute(text.as_str()))
            }
            (_, Traced::Text(key)) => Some(PathStep::key(key.as_str())),
            (_, Traced::Number(index)) => index.parse().ok().map(PathStep::Index),
            _ => None,
        },
        _ => None,
    });
    AttributePath(steps.collect()).to_string()
}

#[cfg(test)]
mod tests {
    use isthmus_cty::json::Json;
    use isthmus_cty::{Type, Value};
    use isthmus_known_secrets::Retention;
    use isthmus_provider::schema::{Attribute, Block, BlockNesting, ObjectNesting};

    use super::*;
    use crate::transcript::Side;
    use crate::walk::ValueWalk;
    use isthmus_translate::testing::{attribute, block, nested, nested_attribute, sensitive};

    fn with_secret() -> Vec<Attribute> {
        vec![attribute("open", Type::String), sensitive(attribute("token", Type::String))]
    }

    fn schema() -> Block {
        let mut attributes = with_secret();
        attributes.push(nested_attribute("by_key", ObjectNesting::Map, with_secret()));
        attributes.push(nested_attribute("many", ObjectNesting::List, with_secret()));
        block(attributes, vec![nested("rule", BlockNesting::Map, 0, block(with_secret(), vec![]))])
    }

    /// Without known secrets.
    fn shown(walk: impl FnOnce(ValueWalk<'_>) -> Traced) -> String {
        let masks = Masks::new(KnownSecrets::default());
        let mut lines = Vec::new();
        masks.traced(&walk(ValueWalk::new(&masks.paths))).add_lines(Side::Terraform, 0, &mut lines);
        lines.join("\n")
    }

    const MASKED: &str = "by_key:
  token:
    open: \"o\"
    token: (sensitive value)
many:
  - open: \"o\"
    token: (sensitive value)
open: \"o\"
rule:
  k:
    open: \"o\"
    token: (sensitive value)
token: (sensitive value)";

    #[test]
    fn what_the_schema_calls_sensitive_is_masked_at_every_depth() {
        let object = || Value::object([("open", Value::string("o")), ("token", Value::string("hunter2"))]);
        let value = Value::object([
            ("open", Value::string("o")),
            ("token", Value::string("hunter2")),
            // A key that is called as an attribute.
            ("by_key", Value::map([("token", object())])),
            ("many", Value::list([object()])),
            ("rule", Value::object([("k", object())])),
        ]);
        assert_eq!(shown(|walk| walk.value(&value, &schema())), MASKED);
    }

    #[test]
    fn a_stored_state_is_masked_as_a_value_and_where_it_is_older_too() {
        let object = r#"{"open":"o","token":"hunter2"}"#;
        let stored = |own: &str| {
            let text = format!(
                r#"{{"by_key":{{"token":{object}}},"many":[{object}],"open":"o","rule":{{"k":{object}}},{own}}}"#
            );
            let json = Json::parse(text.as_bytes()).expect("JSON");
            shown(|walk| walk.state(&json, &schema(), true))
        };
        assert_eq!(stored(r#""token":"hunter2""#), MASKED);
        let older = MASKED.strip_suffix("token: (sensitive value)").expect("it ends with it");
        assert_eq!(stored(r#""password":"hunter2""#), format!("{older}password: (sensitive value)"));
    }

    #[test]
    fn what_is_known_of_an_unknown_value_is_shown() {
        let refinements = Refinements {
            null: Some(false),
            string_prefix: Some("hunter".into()),
            length_minimum: Some(1),
            ..Refinements::default()
        };
        let value = Value::object([("open", Value::Unknown(Some(Box::new(refinements))))]);
        assert_eq!(
            shown(|walk| walk.value(&value, &schema())),
            "open: (known after apply: not null, of a known prefix, at least 1 element)"
        );
    }

    #[test]
    fn known_secrets_are_masked_wherever_they_are() {
        let known = KnownSecrets::default();
        known.learn("open-sesame", Retention::Usual);
        known.learn_number("31337", Retention::Usual);
        let masks = Masks::new(known);
        assert_eq!(masks.text("open-sesame"), Shown::Secret);
        assert_eq!(masks.text("say open-sesame"), Shown::text("say [secret]"));
        assert_eq!(masks.number("31337"), Shown::Secret);
        assert_eq!(masks.number("31338"), Shown::Number("31338".to_owned()));
    }
}
