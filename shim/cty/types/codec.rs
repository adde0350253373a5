//! The JSON that types are written in: in schemas, and beside every dynamic value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{ObjectType, Type};
use crate::MAXIMUM_DEPTH;
use crate::json::{Json, JsonSyntaxError, write_string};
use crate::value::normalize;

/// Why JSON does not describe a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// It is not JSON at all.
    #[error("a type description cannot be read")]
    Json(#[from] JsonSyntaxError),
    /// A word that names no primitive type.
    #[error("{0:?} is not the name of a primitive type")]
    UnknownPrimitive(String),
    /// A word that names no kind of type.
    #[error("{0:?} is not a kind of type")]
    UnknownKind(String),
    /// Capsule types exist only inside one process.
    #[error("a capsule type cannot be sent between processes")]
    Capsule,
    /// Something else than the description of this kind needs.
    #[error("a type description is malformed: {0}")]
    Malformed(&'static str),
    /// An attribute is called optional that the type does not have.
    #[error("optional attribute {0:?} is not an attribute of the type")]
    UnknownOptional(String),
    /// Deeper than any value could be.
    #[error("a type is nested deeper than {MAXIMUM_DEPTH} levels")]
    TooDeep,
}

impl Type {
    /// Reads a type from its JSON.
    ///
    /// # Errors
    /// [`TypeError`], for anything but a type that can be sent.
    pub fn from_json(bytes: &[u8]) -> Result<Self, TypeError> {
        // Nearly all types of a schema are these, as Go writes them.
        match bytes {
            b"\"string\"" => Ok(Self::String),
            b"\"bool\"" => Ok(Self::Bool),
            b"\"number\"" => Ok(Self::Number),
            b"\"dynamic\"" => Ok(Self::Dynamic),
            _ => Self::from_json_tree(&Json::parse(bytes)?),
        }
    }

    /// Reads a type from JSON that is parsed already.
    ///
    /// # Errors
    /// As [`Type::from_json`].
    pub(crate) fn from_json_tree(tree: &Json) -> Result<Self, TypeError> {
        read(tree, 0)
    }

    /// Writes the type as go-cty does: no blanks, names sorted.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        write(self, &mut out);
        out
    }
}

fn read(tree: &Json, depth: usize) -> Result<Type, TypeError> {
    if depth > MAXIMUM_DEPTH {
        return Err(TypeError::TooDeep);
    }
    let parts = match tree {
        Json::String(name) => {
            return match name.as_str() {
                "bool" => Ok(Type::Bool),
                "number" => Ok(Type::Number),
                "string" => Ok(Type::String),
                "dynamic" => Ok(Type::Dynamic),
                _ => Err(TypeError::UnknownPrimitive(name.clone())),
            };
        }
        Json::Array(parts) => parts.as_slice(),
        _ => return Err(TypeError::Malformed("a string or an array is required")),
    };
    let Some((Json::String(kind), arguments)) = parts.split_first() else {
        return Err(TypeError::Malformed("an array must start with the kind of type"));
    };
    let element = || match arguments {
        [element] => read(element, depth + 1).map(Arc::new),
        _ => Err(TypeError::Malformed("a collection type has one element type")),
    };
    match kind.as_str() {
        "list" => Ok(Type::List(element()?)),
        "set" => Ok(Type::Set(element()?)),
        "map" => Ok(Type::Map(element()?)),
        "object" => match arguments {
            [attributes] => read_object(attributes, None, depth),
            [attributes, optional] => read_object(attributes, Some(optional), depth),
            _ => {
                Err(TypeError::Malformed("an object type has attributes and perhaps names of optional ones"))
            }
        },
        "tuple" => match arguments {
            [Json::Array(elements)] => elements
                .iter()
                .map(|element| read(element, depth + 1))
                .collect::<Result<_, _>>()
                .map(Type::Tuple),
            _ => Err(TypeError::Malformed("a tuple type has an array of element types")),
        },
        "capsule" => Err(TypeError::Capsule),
        _ => Err(TypeError::UnknownKind(kind.clone())),
    }
}

fn read_object(attributes: &Json, optional: Option<&Json>, depth: usize) -> Result<Type, TypeError> {
    let Json::Object(members) = attributes else {
        return Err(TypeError::Malformed("an object type's attributes are a JSON object"));
    };
    let mut attributes = BTreeMap::new();
    for (name, attribute) in members {
        attributes.insert(normalize(name), read(attribute, depth + 1)?);
    }
    let mut names = BTreeSet::new();
    match optional {
        None => {}
        Some(Json::Array(listed)) => {
            for name in listed {
                let Json::String(name) = name else {
                    return Err(TypeError::Malformed("names of optional attributes are strings"));
                };
                let Some((known, _)) = attributes.get_key_value(&*normalize(name)) else {
                    return Err(TypeError::UnknownOptional(name.clone()));
                };
                names.insert(known.clone());
            }
        }
        Some(_) => return Err(TypeError::Malformed("names of optional attributes are an array")),
    }
    Ok(Type::Object(Arc::new(ObjectType { attributes, optional: names })))
}

fn write(written: &Type, out: &mut String) {
    match written {
        Type::Bool => out.push_str("\"bool\""),
        Type::Number => out.push_str("\"number\""),
        Type::String => out.push_str("\"string\""),
        Type::Dynamic => out.push_str("\"dynamic\""),
        Type::List(element) => write_collection("[\"list\",", element, out),
        Type::Set(element) => write_collection("[\"set\",", element, out),
        Type::Map(element) => write_collection("[\"map\",", element, out),
        Type::Object(object) => {
            out.push_str("[\"object\",{");
            for (index, (name, attribute)) in object.attributes.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(name, out);
                out.push(':');
                write(attribute, out);
            }
            out.push('}');
            if !object.optional.is_empty() {
                out.push_str(",[");
                for (index, name) in object.optional.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(name, out);
                }
                out.push(']');
            }
            out.push(']');
        }
        Type::Tuple(elements) => {
            out.push_str("[\"tuple\",[");
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(element, out);
            }
            out.push_str("]]");
        }
    }
}

fn write_collection(start: &str, element: &Type, out: &mut String) {
    out.push_str(start);
    write(element, out);
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_written_as_go_writes_them() {
        for text in [
            r#""dynamic""#,
            r#"["list",["set",["map","bool"]]]"#,
            r#"["object",{}]"#,
            r#"["tuple",[]]"#,
            r#"["object",{"a":["tuple",["bool","number"]],"b":"string"},["b"]]"#,
            r#"["object",{"\u003cname\u003e\u0026\u2028":"string"}]"#,
        ] {
            assert_eq!(Type::from_json(text.as_bytes()).unwrap().to_json(), text);
        }
    }

    #[test]
    fn blanks_and_order_do_not_matter() {
        let spread = b" [ \"object\" , { \"b\" : \"bool\", \"a\" : \"string\" } ] ";
        assert_eq!(Type::from_json(spread).unwrap().to_json(), r#"["object",{"a":"string","b":"bool"}]"#);
    }

    #[test]
    fn names_are_normalized() {
        let decomposed =
            Type::from_json("[\"object\",{\"e\u{301}\":\"string\"},[\"e\u{301}\"]]".as_bytes()).unwrap();
        assert_eq!(decomposed.to_json(), "[\"object\",{\"é\":\"string\"},[\"é\"]]");
    }

    #[test]
    fn optional_marks_are_stripped_at_every_depth() {
        let constraint = br#"["list",["object",{"a":["object",{"b":"bool"},["b"]]},["a"]]]"#;
        let stripped = Type::from_json(constraint).unwrap().without_optional();
        assert_eq!(stripped.to_json(), r#"["list",["object",{"a":["object",{"b":"bool"}]}]]"#);
    }

    #[test]
    fn invalid_types_are_refused() {
        for (text, message) in [
            (r#""text""#, "\"text\" is not the name of a primitive type"),
            (r#"["capsule","x"]"#, "a capsule type cannot be sent between processes"),
            (r#"["heap","bool"]"#, "\"heap\" is not a kind of type"),
            (r#"["list"]"#, "a type description is malformed: a collection type has one element type"),
            (
                r#"["list","bool","bool"]"#,
                "a type description is malformed: a collection type has one element type",
            ),
            (r#"["object",{},["x"]]"#, "optional attribute \"x\" is not an attribute of the type"),
            ("7", "a type description is malformed: a string or an array is required"),
            ("[", "a type description cannot be read"),
        ] {
            assert_eq!(Type::from_json(text.as_bytes()).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}\"bool\"{}", "[\"list\",".repeat(depth), "]".repeat(depth));
        assert!(Type::from_json(nested(MAXIMUM_DEPTH).as_bytes()).is_ok());
        assert_eq!(Type::from_json(nested(MAXIMUM_DEPTH + 1).as_bytes()), Err(TypeError::TooDeep));
        assert!(matches!(Type::from_json(nested(100_000).as_bytes()), Err(TypeError::Json(_))));
    }
}
