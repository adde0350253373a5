//! Mappings: the provider's names and flags for converters of Terraform programs.
//!
//! `pulumi convert` and `pulumi import` request the mapping of Terraform's names to Pulumi's. It
//! describes both sides in the Go bridge's own format, including its odd keys (`typeomitempty`,
//! `tok`).

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::{ObjectType, Type};
use isthmus_provider::schema::{
    self, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting,
};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::catalogue::{Package, TokenError};
use super::function::{FunctionParameter, FunctionShape};
use super::schema::{BASE_NAME, LeftOut, Rendering, in_parallel, raw};
use super::shape::{Field, ObjectShape, ResourceShape, Shape};
use crate::names::choices::{NO_CHOICES, PropertyNames};
use crate::names::properties::natural_names;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unknown provider {0:?}")]
pub struct UnknownProvider(pub String);

/// The names of the Terraform provider that have a mapping for `key`: the prefix of its types, the
/// last part of its address, and the package's name. A converter knows one of them: `google-beta`
/// has the types of `google`, and a program or a project may name either differently.
pub fn mappings<'a>(package: &'a Package, key: &str) -> Vec<&'a str> {
    if !is_terraform(key) {
        return Vec::new();
    }
    let identity = package.identity();
    let mut names = vec![package.prefix()];
    for name in [&*identity.provider_type, &*identity.name] {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The name by which an engine gets the mapping for `key`, if there is one, for one of the provider's
/// names. Older engines leave `provider` empty.
pub fn mapped<'a>(
    package: &'a Package,
    key: &str,
    provider: &str,
) -> Result<Option<&'a str>, UnknownProvider> {
    let names = mappings(package, key);
    // An engine takes a mapping only for the name that it has asked for.
    match names.iter().find(|name| provider.is_empty() || **name == provider) {
        None if is_terraform(key) => Err(UnknownProvider(provider.to_owned())),
        found => Ok(found.copied()),
    }
}

/// The mapping.
pub fn rendering(package: &Package) -> Rendering<impl Serialize + use<>> {
    let mut left_out = Vec::new();
    let content = document(package, &mut left_out);
    Rendering { content, left_out }
}

/// The provider of the plugin's own mapping, before Parameterize: itself.
pub fn base_mappings(key: &str) -> Option<&'static str> {
    is_terraform(key).then_some(BASE_NAME)
}

/// The name by which an engine gets the plugin's own mapping, for matching `key` and `provider`.
pub fn base_mapped(key: &str, provider: &str) -> Result<Option<&'static str>, UnknownProvider> {
    if is_terraform(key) && !provider.is_empty() && provider != BASE_NAME {
        return Err(UnknownProvider(provider.to_owned()));
    }
    Ok(base_mappings(key))
}

/// The plugin's own mapping, which is empty. `plugin_version` is without a `v`.
pub fn base_document(plugin_version: &str) -> String {
    let document = Document {
        provider: Provider::default(),
        name: BASE_NAME.to_owned(),
        version: format!("v{plugin_version}"),
        config: BTreeMap::new(),
        resources: BTreeMap::new(),
        data_sources: BTreeMap::new(),
        functions: BTreeMap::new(),
    };
    serde_json::to_string(&document).expect("the keys are text and nothing in a mapping can fail")
}

/// Today's converters send `terraform`, older ones `tf`.
fn is_terraform(key: &str) -> bool {
    matches!(key, "tf" | "terraform")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    provider: Provider,
    name: String,
    version: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    config: BTreeMap<String, FieldNames>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    resources: BTreeMap<String, ResourceNames>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    data_sources: BTreeMap<String, DataSourceNames>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    functions: BTreeMap<String, FunctionName>,
}

/// Terraform's side.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Provider {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    schema: Object,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    resources: BTreeMap<String, Box<RawValue>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    data_sources: BTreeMap<String, Box<RawValue>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    functions: BTreeMap<String, Signature>,
}

type Object = BTreeMap<String, Attribute>;

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Attribute {
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    optional: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    required: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    computed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    element: Option<Box<Element>>,
    #[serde(skip_serializing_if = "is_zero")]
    max_items: u64,
    #[serde(skip_serializing_if = "is_zero")]
    min_items: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    deprecated: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sensitive: bool,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Element {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Attribute>,
    #[serde(skip_serializing_if = "Object::is_empty")]
    resource: Object,
}

/// The numbers are those of the Go bridge's types. It says of sets that they are lists, by which hosts of HCL lose that an order
/// means nothing and that elements are distinct.
#[derive(Clone, Copy, Default)]
enum Kind {
    #[default]
    Invalid = 0,
    Bool = 1,
    Number = 3,
    String = 4,
    List = 5,
    Map = 6,
    Set = 7,
    Dynamic = 8,
}

/// Pulumi's side.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceNames {
    tok: String,
    fields: BTreeMap<String, FieldNames>,
    id_fields: Option<Vec<String>>,
}

#[derive(Serialize)]
struct DataSourceNames {
    tok: String,
    fields: BTreeMap<String, FieldNames>,
}

#[derive(Serialize)]
struct FunctionName {
    tok: String,
}

/// A field whose name does not follow from its schema alone, or that contains one.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct FieldNames {
    /// Empty if it follows from the schema.
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(rename = "typeomitempty")]
    kind: &'static str,
    /// Whether a block of at most one item is that item, if not as the schema implies.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_items_one: Option<bool>,
    /// The elements of a collection.
    #[serde(skip_serializing_if = "Option::is_none")]
    element: Option<Box<Self>>,
    /// The fields of an object.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fields: BTreeMap<String, Self>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<Autonaming>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Autonaming {
    autonamed: bool,
    is_func: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Signature {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<Parameter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variadic_parameter: Option<Parameter>,
    r#return: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    summary: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    deprecation_message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Parameter {
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(rename = "type")]
    kind: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    allow_null_value: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
}

fn document(package: &Package, left_out: &mut Vec<LeftOut>) -> Document {
    let catalogue = package.catalogue();
    // Terraform's side is complete, including what the package excludes.
    let mut provider = Provider::default();
    match catalogue.provider() {
        Ok(schema) => provider.schema = block(&schema.block),
        Err(error) => left_out.push(TokenError::from(error).into()),
    }
    let (mut resources, mut data_sources) = (BTreeMap::new(), BTreeMap::new());
    let names: Vec<_> = catalogue.resource_names().collect();
    let both_sides = |name: &&Arc<str>| match package.passing_resource(name) {
        Ok(shape) => Ok((raw(&block(&shape.schema.block)), Some(special_names(&shape)))),
        Err(_) => catalogue.passing_resource(name).map(|schema| (raw(&block(&schema.block)), None)),
    };
    for (name, described) in names.iter().zip(in_parallel(&names, both_sides)) {
        match described {
            Ok((schema, fields)) => {
                provider.resources.insert(name.to_string(), schema);
                if let (Some(fields), Some(tok)) = (fields, package.resources().token(name)) {
                    let names = ResourceNames { tok: tok.to_owned(), fields, id_fields: None };
                    resources.insert(name.to_string(), names);
                }
            }
            Err(error) => left_out.push(TokenError::from(error).into()),
        }
    }
    let names: Vec<_> = catalogue.data_source_names().collect();
    let both_sides = |name: &&Arc<str>| match package.passing_data_source(name) {
        Ok(shape) => Ok((raw(&block(&shape.schema.block)), Some(unruly_names(&shape.object)))),
        Err(_) => catalogue.passing_data_source(name).map(|schema| (raw(&block(&schema.block)), None)),
    };
    for (name, described) in names.iter().zip(in_parallel(&names, both_sides)) {
        match described {
            Ok((schema, fields)) => {
                provider.data_sources.insert(name.to_string(), schema);
                if let (Some(fields), Some(tok)) = (fields, package.data_sources().token(name)) {
                    data_sources.insert(name.to_string(), DataSourceNames { tok: tok.to_owned(), fields });
                }
            }
            Err(error) => left_out.push(TokenError::from(error).into()),
        }
    }
    for (name, message) in catalogue.functions() {
        match FunctionShape::compile(name, "", message, &NO_CHOICES) {
            Ok(shape) => {
                let texts = (message.summary.clone(), message.description.clone());
                provider.functions.insert(name.to_string(), signature(&shape, texts));
            }
            Err(error) => left_out.push(TokenError::from(error).into()),
        }
    }
    let mut document = Document {
        provider,
        name: package.identity().name.clone(),
        version: package.identity().version.to_string(),
        config: package.config_shape().map(|shape| unruly_names(&shape.object)).unwrap_or_default(),
        resources,
        data_sources,
        functions: BTreeMap::new(),
    };
    for (terraform, tok) in package.functions().iter() {
        if package.function(terraform).is_ok() {
            document.functions.insert(terraform.to_string(), FunctionName { tok: tok.to_owned() });
        }
    }
    document
}

/// Top-level fields of a resource with irregular names, and the one with autonaming.
fn special_names(shape: &ResourceShape) -> BTreeMap<String, FieldNames> {
    let autonamed = shape.autonamed().map(|field| {
        let default = Some(Autonaming { autonamed: true, is_func: true });
        let names = FieldNames { name: field.pulumi.clone(), default, ..FieldNames::default() };
        (field.terraform.to_string(), names)
    });
    unruly_names(&shape.object).into_iter().chain(autonamed).collect()
}

/// Fields with irregular names, and those that contain some.
fn unruly_names(object: &ObjectShape) -> BTreeMap<String, FieldNames> {
    // The converter knows the Go bridge's rule.
    let fields: Vec<_> = object.fields.iter().map(Field::nameable).collect();
    let natural = natural_names(&fields, PropertyNames::Pulumi);
    let mut found = BTreeMap::new();
    for (field, natural) in object.fields.iter().zip(natural) {
        let inside = names_inside(&field.shape);
        let name = if field.pulumi == natural { String::new() } else { field.pulumi.clone() };
        let max_items_one = field.is_unflattened.then_some(false);
        if inside.is_some() || max_items_one.is_some() || !name.is_empty() {
            let names = FieldNames { name, max_items_one, ..inside.unwrap_or_default() };
            found.insert(field.terraform.to_string(), names);
        }
    }
    found
}

fn names_inside(shape: &Shape) -> Option<FieldNames> {
    match shape {
        Shape::Object(object) => {
            let fields = unruly_names(object);
            (!fields.is_empty()).then(|| FieldNames { fields, ..FieldNames::default() })
        }
        Shape::List(element)
        | Shape::Set(element)
        | Shape::Map(element)
        | Shape::FlattenedList(element)
        | Shape::FlattenedSet(element) => names_inside(element)
            .map(|inside| FieldNames { element: Some(Box::new(inside)), ..FieldNames::default() }),
        Shape::Bool | Shape::Number | Shape::String | Shape::Dynamic | Shape::Tuple(_) => None,
    }
}

fn block(block: &Block) -> Object {
    let attributes = block.attributes.iter().map(|one| (one.name.to_string(), attribute(one)));
    attributes.chain(block.blocks.iter().map(|one| (one.name.to_string(), nested_block(one)))).collect()
}

fn attribute(of: &schema::Attribute) -> Attribute {
    let flagged = |kind, element| Attribute {
        kind,
        optional: of.optional,
        required: of.required,
        computed: of.computed,
        element,
        deprecated: deprecated(of.deprecated),
        sensitive: of.sensitive,
        ..Attribute::default()
    };
    match &of.attribute_type {
        AttributeType::Plain(plain) => {
            let Attribute { kind, element, .. } = plain_type(plain, false);
            flagged(kind, element)
        }
        AttributeType::Nested(NestedObject { attributes, nesting, .. }) => {
            let object = attributes.iter().map(|one| (one.name.to_string(), attribute(one))).collect();
            match nesting {
                ObjectNesting::Single => flagged(Kind::Map, resource(object)),
                ObjectNesting::List => flagged(Kind::List, resource(object)),
                ObjectNesting::Set => flagged(Kind::Set, resource(object)),
                // The element is the attribute as if it held one object.
                ObjectNesting::Map => flagged(Kind::Map, element(flagged(Kind::Map, resource(object)))),
            }
        }
    }
}

fn nested_block(of: &NestedBlock) -> Attribute {
    let flagged = |kind, element| Attribute {
        kind,
        optional: of.min_items == 0 && !of.block.computed,
        required: of.min_items > 0,
        computed: of.block.computed,
        element,
        max_items: of.max_items,
        min_items: of.min_items,
        deprecated: deprecated(of.block.deprecated),
        sensitive: false,
    };
    let object = block(&of.block);
    match of.nesting {
        BlockNesting::Single | BlockNesting::Group => flagged(Kind::Map, resource(object)),
        BlockNesting::List => flagged(Kind::List, resource(object)),
        BlockNesting::Set => flagged(Kind::Set, resource(object)),
        BlockNesting::Map => flagged(Kind::Map, element(flagged(Kind::Map, resource(object)))),
    }
}

fn plain_type(of: &Type, optional: bool) -> Attribute {
    let flagged = |kind, element| Attribute { kind, optional, element, ..Attribute::default() };
    match of {
        Type::Bool => flagged(Kind::Bool, None),
        Type::Number => flagged(Kind::Number, None),
        Type::String => flagged(Kind::String, None),
        Type::Dynamic => flagged(Kind::Dynamic, None),
        Type::List(of) => flagged(Kind::List, element(plain_type(of, false))),
        Type::Set(of) => flagged(Kind::Set, element(plain_type(of, false))),
        Type::Map(of) => flagged(Kind::Map, element(plain_type(of, false))),
        Type::Object(object) => flagged(Kind::Map, resource(object_type(object))),
        Type::Tuple(_) => flagged(Kind::Invalid, None),
    }
}

fn object_type(of: &ObjectType) -> Object {
    let optional = |name| of.optional.is_empty() || of.optional.contains(name);
    of.attributes.iter().map(|(name, of)| (name.to_string(), plain_type(of, optional(name)))).collect()
}

fn element(schema: Attribute) -> Option<Box<Element>> {
    Some(Box::new(Element { schema: Some(schema), ..Element::default() }))
}

fn resource(resource: Object) -> Option<Box<Element>> {
    Some(Box::new(Element { resource, ..Element::default() }))
}

fn signature(shape: &FunctionShape, (summary, description): (String, String)) -> Signature {
    let mut parameters: Vec<_> = shape.parameters.iter().map(parameter).collect();
    let variadic_parameter = if shape.variadic { parameters.pop() } else { None };
    Signature {
        parameters,
        variadic_parameter,
        r#return: type_json(&shape.returns),
        summary,
        description,
        deprecation_message: shape.deprecation_message.clone(),
    }
}

fn parameter(of: &FunctionParameter) -> Parameter {
    Parameter {
        name: of.terraform.clone(),
        kind: type_json(&of.parameter_type),
        allow_null_value: of.allow_null,
        description: of.description.clone(),
    }
}

fn type_json(of: &Type) -> Option<Box<RawValue>> {
    RawValue::from_string(of.to_json()).ok()
}

fn deprecated(flag: bool) -> &'static str {
    if flag { "Deprecated" } else { "" }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it may skip by reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

#[cfg(test)]
mod tests {
    use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Blocks;

    use super::super::parameters::Parameter;
    use super::super::testing::{attribute, block, body, local, package, package_of, package_with, schema};
    use super::*;

    #[test]
    fn converters_are_told_both_sides() {
        let package = package();
        assert_eq!(mapped(&package, "terraform", "test").unwrap(), Some("test"));
        let mapping = rendering(&package);
        assert_eq!(mapping.left_out.len(), 1, "{:?}", mapping.left_out);
        insta::assert_snapshot!(mapping.to_json());
    }

    #[test]
    fn names_that_follow_no_rule_are_told_at_every_level() {
        let inner = || body(vec![attribute("a_b", "\"string\""), attribute("aB", "\"string\"")], vec![]);
        let thing = || {
            schema(
                vec![attribute("tree", r#"["map",["object",{"pulumi":"string","x":"string"}]]"#)],
                vec![
                    block("one", Blocks::Single, (0, 1), inner()),
                    block("rule", Blocks::Set, (0, 0), inner()),
                    block("plain", Blocks::List, (0, 0), body(vec![attribute("x", "\"string\"")], vec![])),
                ],
            )
        };
        let config = schema(vec![attribute("version", "\"string\"")], vec![]);
        let package = package_with(config, vec![("test_x", thing())], vec![("test_x", thing())], vec![]);
        let mapping: serde_json::Value = serde_json::from_str(&rendering(&package).to_json()).unwrap();
        let numbered = serde_json::json!({"a_b": {"name": "aB2", "typeomitempty": ""}});
        let expected = serde_json::json!({
            "one": {"typeomitempty": "", "fields": numbered},
            "rule": {"typeomitempty": "", "element": {"typeomitempty": "", "fields": numbered}},
            "tree": {"typeomitempty": "", "element": {"typeomitempty": "", "fields": {
                "pulumi": {"name": "pulumiInfo", "typeomitempty": ""},
            }}},
        });
        assert_eq!(mapping["resources"]["test_x"]["fields"], expected);
        assert_eq!(mapping["dataSources"]["test_x"]["fields"], expected);
        assert_eq!(
            mapping["config"],
            serde_json::json!({"version": {"name": "versionInfo", "typeomitempty": ""}})
        );
    }

    #[test]
    fn only_terraforms_converters_are_answered_and_only_about_this_provider() {
        let package = package();
        assert!(mapped(&package, "other", "").unwrap().is_none());
        assert_eq!(mapped(&package, "tf", "").unwrap(), Some("test"));
        assert_eq!(mapped(&package, "tf", "aws").unwrap_err().to_string(), "unknown provider \"aws\"");
        assert_eq!(mappings(&package, "terraform"), ["test"]);
        assert_eq!(mappings(&package, "other"), [""; 0]);
    }

    #[test]
    fn a_plugin_without_a_provider_maps_nothing() {
        assert_eq!(base_mappings("tf"), Some("terraform-provider"));
        assert_eq!(base_mappings("other"), None);
        assert_eq!(base_mapped("terraform", "").unwrap(), Some("terraform-provider"));
        let mapping = base_document("1.4.0");
        assert_eq!(mapping, r#"{"provider":{},"name":"terraform-provider","version":"v1.4.0"}"#);
        assert!(base_mapped("other", "").unwrap().is_none());
        assert!(base_mapped("tf", "aws").is_err());
    }

    #[test]
    fn the_mapping_of_a_renamed_package_is_found_by_either_name() {
        let renamed = package_of(Parameter {
            provider_name: Some("dice".into()),
            ..local("./terraform-provider-test")
        });
        assert_eq!(mappings(&renamed, "tf"), ["test", "dice"]);
        for name in ["test", "dice"] {
            assert_eq!(mapped(&renamed, "tf", name).unwrap(), Some(name));
        }
        let mapping = rendering(&renamed).to_json();
        assert!(mapping.contains("\"tok\":\"dice:index/pet:Pet\""), "{mapping}");
    }

    #[test]
    fn the_mapping_has_the_names_that_a_project_chooses() {
        let json = r#"{"singleItems":"lists","types":{"test_pet":"Animal"},"properties":{"test_pet":{"length":"size"}}}"#;
        let names = serde_json::from_str(json).unwrap();
        let chosen = package_of(Parameter { names, ..local("./terraform-provider-test") });
        let mapping: serde_json::Value = serde_json::from_str(&rendering(&chosen).to_json()).unwrap();
        assert_eq!(mapping["config"]["proxy"]["maxItemsOne"], false, "{mapping}");
        assert_eq!(mapping["resources"]["test_pet"]["tok"], "test:index/animal:Animal", "{mapping}");
        assert_eq!(mapping["resources"]["test_pet"]["fields"]["length"]["name"], "size", "{mapping}");
    }
}
