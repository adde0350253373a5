//! A value as it is shown: of either side, with stand-ins for secrets and for what is not known yet.

use isthmus_common::counted;
use isthmus_cty::json::Json;

/// What a secret is in JSON, as in `isthmus state show --json`.
const SECRET: &str = "(secret)";

/// What an unknown value is in JSON.
const UNKNOWN: &str = "(known after apply)";

/// Whose stand-ins a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Terraform,
    Pulumi,
}

impl Side {
    /// The title of a column.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Terraform => "TERRAFORM",
            Self::Pulumi => "PULUMI",
        }
    }

    fn secret(self) -> &'static str {
        match self {
            Self::Terraform => "(sensitive value)",
            Self::Pulumi => "[secret]",
        }
    }

    fn unknown(self, refinements: &str) -> String {
        match (self, refinements) {
            (Self::Terraform, "") => UNKNOWN.to_owned(),
            (Self::Terraform, refinements) => format!("(known after apply: {refinements})"),
            (Self::Pulumi, _) => "[unknown]".to_owned(),
        }
    }
}

/// A value to be shown. It holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    Null,
    Bool(bool),
    /// A number's text.
    Number(String),
    Text(String),
    List(Vec<Self>),
    /// Members in their order.
    Object(Vec<(String, Self)>),
    Secret,
    /// Not known yet, with what is known of it in words, which may be empty.
    Unknown(String),
    /// Bytes that only their owner understands, by their number.
    Withheld(usize),
}

impl Shown {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// An object of these members.
    pub fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(members.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// As JSON, complete.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Number(text) => Json::Number(text.clone()),
            Self::Text(text) => Json::String(text.clone()),
            Self::List(elements) => Json::Array(elements.iter().map(Self::to_json).collect()),
            Self::Object(members) => {
                Json::Object(members.iter().map(|(name, value)| (name.clone(), value.to_json())).collect())
            }
            Self::Secret => Json::String(SECRET.to_owned()),
            Self::Unknown(_) => Json::String(UNKNOWN.to_owned()),
            Self::Withheld(length) => Json::String(withheld(*length)),
        }
    }

    /// Appends lines of an indented text. Attributes that are null are left out of objects, except of the outermost one.
    pub fn add_lines(&self, side: Side, indent: usize, lines: &mut Vec<String>) {
        self.add_within(side, indent, true, lines);
    }

    fn add_within(&self, side: Side, indent: usize, with_null: bool, lines: &mut Vec<String>) {
        match self {
            Self::Object(members) => {
                for (name, value) in members.iter().filter(|(_, value)| with_null || *value != Self::Null) {
                    value.add_named(&key(name), side, indent, lines);
                }
            }
            Self::List(elements) => {
                for element in elements {
                    element.add_element(side, indent, lines);
                }
            }
            scalar => lines.push(format!("{:indent$}{}", "", scalar.scalar(side))),
        }
    }

    fn add_named(&self, name: &str, side: Side, indent: usize, lines: &mut Vec<String>) {
        if self.is_nested() {
            lines.push(format!("{:indent$}{name}:", ""));
            self.add_within(side, indent + 2, false, lines);
        } else {
            lines.push(format!("{:indent$}{name}: {}", "", self.scalar(side)));
        }
    }

    fn add_element(&self, side: Side, indent: usize, lines: &mut Vec<String>) {
        if !self.is_nested() {
            return lines.push(format!("{:indent$}- {}", "", self.scalar(side)));
        }
        let mut inner = Vec::new();
        self.add_within(side, 0, false, &mut inner);
        for (number, line) in inner.iter().enumerate() {
            let mark = if number == 0 { "- " } else { "  " };
            lines.push(format!("{:indent$}{mark}{line}", ""));
        }
    }

    /// Whether it takes lines of its own.
    fn is_nested(&self) -> bool {
        match self {
            Self::Object(members) => members.iter().any(|(_, value)| *value != Self::Null),
            Self::List(elements) => !elements.is_empty(),
            _ => false,
        }
    }

    fn scalar(&self, side: Side) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(text) => text.clone(),
            Self::Text(text) => quoted(text),
            Self::List(_) => "[]".to_owned(),
            Self::Object(_) => "{}".to_owned(),
            Self::Secret => side.secret().to_owned(),
            Self::Unknown(refinements) => side.unknown(refinements),
            Self::Withheld(length) => withheld(*length),
        }
    }
}

fn withheld(length: usize) -> String {
    format!("({})", counted(length, "byte"))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A name, quoted where it could be read as something else.
fn key(name: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(shown: &Shown, side: Side) -> String {
        let mut lines = Vec::new();
        shown.add_lines(side, 2, &mut lines);
        lines.join("\n")
    }

    fn example() -> Shown {
        Shown::object([
            ("prior", Shown::Null),
            (
                "config",
                Shown::object([
                    ("title", Shown::text("a\nb")),
                    ("body", Shown::Null),
                    ("hint", Shown::Secret),
                    ("id", Shown::Unknown("not null".to_owned())),
                    ("a b", Shown::List(vec![Shown::Number("1".to_owned()), Shown::Null])),
                    (
                        "rules",
                        Shown::List(vec![Shown::object([
                            ("from", Shown::Bool(true)),
                            ("to", Shown::List(Vec::new())),
                        ])]),
                    ),
                ]),
            ),
            ("private", Shown::Withheld(7)),
        ])
    }

    #[test]
    fn each_side_has_its_own_stand_ins() {
        let terraform = "  prior: null
  config:
    title: \"a\\nb\"
    hint: (sensitive value)
    id: (known after apply: not null)
    \"a b\":
      - 1
      - null
    rules:
      - from: true
        to: []
  private: (7 bytes)";
        assert_eq!(lines(&example(), Side::Terraform), terraform);
        let pulumi = terraform
            .replace("(sensitive value)", "[secret]")
            .replace("(known after apply: not null)", "[unknown]");
        assert_eq!(lines(&example(), Side::Pulumi), pulumi);
    }

    #[test]
    fn json_is_complete() {
        let shown = example().to_json().to_string();
        let expected = concat!(
            r#"{"prior":null,"config":{"title":"a\nb","body":null,"hint":"(secret)","id":"(known after apply)","#,
            r#""a b":[1,null],"rules":[{"from":true,"to":[]}]},"private":"(7 bytes)"}"#
        );
        assert_eq!(shown, expected);
    }
}
