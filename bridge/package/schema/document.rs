//! The package schema document, serialized as JSON.
//!
//! Keys have a fixed order and maps are sorted, so that the same provider yields the same bytes.
//! Empty members are left out, as by every other writer of package schemas.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    pub(super) name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) display_name: &'static str,
    pub(super) version: String,
    pub(super) description: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) keywords: &'static [&'static str],
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) license: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) attribution: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) repository: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) logo_url: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) publisher: String,
    pub(super) meta: Meta,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) language: BTreeMap<&'static str, Value>,
    pub(super) config: Config,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) types: Fragments,
    pub(super) provider: Resource,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) resources: Fragments,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) functions: Fragments,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parameterization: Option<Parameterization>,
}

/// Finished parts by token: types, resources, functions. A large package has hundreds of megabytes
/// of them as values, and a tenth of that as text.
pub(super) type Fragments = BTreeMap<String, Box<RawValue>>;

/// The pattern of modules in tokens: `index/pet` is in module `index`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta {
    module_format: &'static str,
}

impl Default for Meta {
    fn default() -> Self {
        Self { module_format: "(.*)(?:/[^/]*)" }
    }
}

/// The variables of `pulumi config`.
#[derive(Debug, Default, Serialize)]
pub(super) struct Config {
    #[serde(skip_serializing_if = "Properties::is_empty")]
    pub(super) variables: Properties,
    /// The required ones; the key is a historic misnomer.
    #[serde(rename = "defaults", skip_serializing_if = "Vec::is_empty")]
    pub(super) required: Vec<String>,
}

/// Properties by Pulumi name.
pub(super) type Properties = BTreeMap<String, Property>;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) description: String,
    #[serde(skip_serializing_if = "Properties::is_empty")]
    pub(super) properties: Properties,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) required: Vec<String>,
    #[serde(skip_serializing_if = "Properties::is_empty")]
    pub(super) input_properties: Properties,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) required_inputs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state_inputs: Option<ObjectType>,
    /// Absent unless resources of this type can be listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) list_inputs: Option<ObjectType>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) methods: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) aliases: Vec<Alias>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) deprecation_message: String,
}

/// Another type of a resource, by which stacks may have it.
#[derive(Debug, Serialize)]
pub(super) struct Alias {
    #[serde(rename = "type")]
    pub(super) token: String,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct ObjectType {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) description: String,
    #[serde(skip_serializing_if = "Properties::is_empty")]
    pub(super) properties: Properties,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) required: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) language: BTreeMap<&'static str, Value>,
}

#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Property {
    #[serde(flatten)]
    pub(super) of: Type,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) description: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) deprecation_message: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) secret: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) language: BTreeMap<&'static str, Value>,
}

/// The type of a property, an element or a result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Type {
    #[serde(rename = "type", skip_serializing_if = "str::is_empty")]
    pub(super) kind: &'static str,
    #[serde(rename = "$ref", skip_serializing_if = "String::is_empty")]
    pub(super) reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) additional_properties: Option<Box<Self>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) items: Option<Box<Self>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) one_of: Vec<Self>,
}

/// A data source, a function, or a method of the provider.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Function {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) inputs: Option<ObjectType>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) multi_argument_inputs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outputs: Option<Outputs>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) deprecation_message: String,
    /// Whether generators pass over it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_overlay: bool,
}

/// The result of a function.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Outputs {
    Object(ObjectType),
    Single(Type),
}

/// The plugin of the package, and its parameter.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Parameterization {
    pub(super) base_provider: BaseProvider,
    /// The parameter value, in base64.
    pub(super) parameter: String,
}

#[derive(Debug, Serialize)]
pub(super) struct BaseProvider {
    pub(super) name: &'static str,
    /// Without a `v`.
    pub(super) version: String,
}

impl Type {
    pub(super) fn any() -> Self {
        Self { reference: "pulumi.json#/Any".to_owned(), ..Self::default() }
    }

    pub(super) fn simple(kind: &'static str) -> Self {
        Self { kind, ..Self::default() }
    }

    pub(super) fn array(items: Self) -> Self {
        Self { kind: "array", items: Some(Box::new(items)), ..Self::default() }
    }

    pub(super) fn map(values: Self) -> Self {
        Self { kind: "object", additional_properties: Some(Box::new(values)), ..Self::default() }
    }

    /// A reference to a named type.
    pub(super) fn named(token: &str) -> Self {
        Self { reference: format!("#/types/{token}"), ..Self::default() }
    }

    /// The same type, which is `any` in Go.
    ///
    /// A union of a type with itself is that type in every language but Go, which has no unions. The
    /// kind is the type of results in Python and TypeScript, which have `any` for unions of collections.
    pub(super) fn any_in_go(self) -> Self {
        let kind = if self.is_simple() { self.kind } else { "" };
        Self { kind, one_of: vec![self.clone(), self], ..Self::default() }
    }

    /// The same type, with inner collections as `any` in Go if Pulumi's Go library lacks the type
    /// that the generator names.
    ///
    /// The library has types for up to three levels of collections of simple values or of any value,
    /// but not for lists of lists of maps. Of named types the generator makes them itself.
    pub(super) fn known_in_go(self) -> Self {
        let levels = self.levels();
        let known = match levels.as_slice() {
            [Level::List, Level::List, Level::Map] => false,
            levels => levels.len() <= 3,
        };
        if known { self } else { self.any_in_go_below(2) }
    }

    /// The type of a function's result: Go's generator fails with `nil` whatever the type, and
    /// takes the result from a map, which is one level more.
    pub(super) fn result_known_in_go(self) -> Self {
        if self.is_simple() {
            return self.any_in_go();
        }
        if self.levels().len() <= 2 { self } else { self.any_in_go_below(2) }
    }

    fn any_in_go_below(mut self, levels: usize) -> Self {
        if levels == 0 {
            return self.any_in_go();
        }
        for inner in [&mut self.items, &mut self.additional_properties].into_iter().flatten() {
            **inner = std::mem::take(&mut **inner).any_in_go_below(levels - 1);
        }
        self
    }

    fn is_simple(&self) -> bool {
        matches!(self.kind, "boolean" | "number" | "string")
    }

    /// The nested collections, from the outermost; none around named types.
    fn levels(&self) -> Vec<Level> {
        let mut levels = Vec::new();
        let mut of = self;
        loop {
            of = match (&of.items, &of.additional_properties) {
                (Some(items), _) => {
                    levels.push(Level::List);
                    items
                }
                (None, Some(values)) => {
                    levels.push(Level::Map);
                    values
                }
                (None, None) if of.reference.starts_with("#/types/") => return Vec::new(),
                (None, None) => return levels,
            };
        }
    }
}

/// A level of nested collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    List,
    Map,
}

impl ObjectType {
    pub(super) fn new(properties: Properties, required: Vec<String>) -> Self {
        Self { kind: "object".to_owned(), properties, required, ..Self::default() }
    }
}

/// A part of a document as text.
pub(crate) fn raw(part: &impl Serialize) -> Box<RawValue> {
    to_raw_value(part).expect("a part of a document has only text for keys and holds nothing that can fail")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(of: Type) -> Type {
        Type::array(of)
    }

    fn map(of: Type) -> Type {
        Type::map(of)
    }

    fn text() -> Type {
        Type::simple("string")
    }

    fn json(of: &Type) -> String {
        serde_json::to_string(of).expect("a type has only text for keys")
    }

    #[test]
    fn collections_that_go_has_types_for_are_as_they_are() {
        for known in [
            text(),
            list(text()),
            map(list(Type::any())),
            list(list(list(text()))),
            map(map(map(text()))),
            list(map(list(text()))),
            map(list(map(text()))),
        ] {
            assert_eq!(known.clone().known_in_go(), known);
        }
        let named = list(list(map(map(Type::named("p:index/T:T")))));
        assert_eq!(named.clone().known_in_go(), named);
    }

    #[test]
    fn collections_that_go_has_no_types_for_are_any_to_go_alone() {
        let inner = map(Type::simple("boolean"));
        let deep = list(list(inner.clone())).known_in_go();
        assert_eq!(deep, list(list(inner.any_in_go())));
        let four = map(map(list(list(text())))).known_in_go();
        assert_eq!(four, map(map(list(list(text())).any_in_go())));
    }

    #[test]
    fn a_result_is_one_that_go_can_fail_without() {
        assert_eq!(
            json(&Type::simple("boolean").result_known_in_go()),
            r#"{"type":"boolean","oneOf":[{"type":"boolean"},{"type":"boolean"}]}"#
        );
        for known in [Type::any(), list(text()), map(list(text())), Type::named("p:index/T:T")] {
            assert_eq!(known.clone().result_known_in_go(), known);
        }
        let deep = list(list(list(text())));
        assert_eq!(deep.result_known_in_go(), list(list(list(text()).any_in_go())));
    }
}
