//! Invalid identities in responses.

use std::sync::Arc;

use isthmus_cty::{ObjectType, Type, Value};

/// `SANDBOX_IDENTITY=ReadResource:unknown`: the method whose identities are invalid, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidIdentity {
    method: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Every attribute is unknown.
    Unknown,
    /// A text in place of an object.
    Strange,
    /// An object whose type has no identity has one.
    Undeclared,
}

const KINDS: [(&str, Kind); 3] =
    [("unknown", Kind::Unknown), ("strange", Kind::Strange), ("undeclared", Kind::Undeclared)];

impl InvalidIdentity {
    /// The values that [`Self::parse`] accepts.
    pub(super) const EXPECTED: &'static str = "a method, a colon, and unknown, strange or undeclared";

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (method, kind) = text.split_once(':')?;
        let kind = KINDS.iter().find(|(known, _)| *known == kind)?.1;
        Some(Self { method: method.to_owned(), kind })
    }

    /// The identity, and its type, that the method returns instead of `right`, the one of an object
    /// that exists.
    pub(crate) fn instead(&self, method: &str, right: Option<&Value>) -> Option<(Value, Type)> {
        match (self.kind, right) {
            _ if self.method != method => None,
            (Kind::Strange, Some(_)) => Some((Value::from("strange"), Type::String)),
            (Kind::Unknown, Some(Value::Object(attributes))) => {
                let unknown = attributes.keys().map(|name| (Arc::clone(name), Value::unknown()));
                let types = attributes.keys().map(|name| (Arc::clone(name), Type::String));
                Some((Value::Object(unknown.collect()), object_type(types)))
            }
            (Kind::Undeclared, None) => {
                let one = || std::iter::once(Arc::from("id"));
                let value = Value::Object(one().map(|name| (name, Value::from("1"))).collect());
                Some((value, object_type(one().map(|name| (name, Type::String)))))
            }
            (Kind::Strange | Kind::Unknown | Kind::Undeclared, _) => None,
        }
    }
}

fn object_type(attributes: impl Iterator<Item = (Arc<str>, Type)>) -> Type {
    Type::Object(Arc::new(ObjectType { attributes: attributes.collect(), ..ObjectType::default() }))
}
