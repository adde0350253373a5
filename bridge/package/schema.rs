//! The package schema, for Pulumi's SDK generators, editors and language hosts.
//!
//! It is identical to the Go bridge's wherever a generator could tell the difference, because SDKs
//! that were generated with it must not change when generated again. Deliberate differences concern
//! providers that the Go bridge rejects or misrepresents: colliding names are numbered, tuples are
//! lists of any type, and a resource with an invalid schema is left out instead of spoiling the
//! package. Documentation that the Go bridge leaves out is included: it affects comments only.

mod csharp;
mod docs;
mod document;
mod functions;
mod generators;
mod language;
mod members;
mod parallel;
mod types;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use super::catalogue::{Package, TokenError};
use super::parameters::ParameterSource;
use super::shape::ResourceShape;
use crate::names::tokens::member_name;
pub(super) use document::raw;
use document::{
    BaseProvider, Document, Fragments, Function, ObjectType, Outputs, Parameterization, Property, Type,
};
pub(crate) use generators::SdkLanguage;
use generators::Unwritable;
use language::Facts;
use members::{Managed, is_input};
pub(super) use parallel::in_parallel;
use types::{Declared, Owner, Types};

/// The plugin's own package name.
pub(crate) const BASE_NAME: &str = "terraform-provider";

/// A package's schema, and the members that are left out.
#[derive(Debug)]
pub(crate) struct PackageSchema {
    pub json: String,
    pub left_out: Vec<LeftOut>,
}

/// Why a member is not in a package's schema.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeftOut {
    #[error(transparent)]
    Invalid(#[from] TokenError),
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
}

/// The schema of the plugin before Parameterize. `plugin_version` is without a `v`.
pub(crate) fn base_schema(plugin_version: &str) -> String {
    let document = Document {
        name: BASE_NAME.to_owned(),
        display_name: "Any Terraform Provider",
        version: format!("v{plugin_version}"),
        description: "Use any Terraform provider with Pulumi".to_owned(),
        keywords: &["category/utility"],
        license: "Apache-2.0",
        repository: "https://github.com/pulumi/pulumi-terraform-provider".to_owned(),
        logo_url: "https://raw.githubusercontent.com/pulumi/pulumi-terraform-provider/main/assets/logo.png",
        functions: std::iter::once(terraform_config(BASE_NAME))
            .map(|(token, method)| (token, raw(&method)))
            .collect(),
        ..Document::default()
    };
    written(&document)
}

/// The schema of a package. `language` is that of the SDK, if it is known: what its generator
/// cannot write is left out.
pub(crate) fn package_schema(
    package: &Package,
    plugin_version: &str,
    language: Option<SdkLanguage>,
) -> PackageSchema {
    let identity = package.identity();
    let mut left_out = Vec::new();
    let mut types = Types::new(package, language == Some(SdkLanguage::Go));
    let mut document = header(package, plugin_version);

    let config = usable(package.config_shape(), &mut left_out);
    if let Some(config) = &config {
        document.config = members::config_variables(&mut types, config);
    }
    let members: Vec<_> = package.resources().iter().collect();
    let shape = |terraform: &str| {
        let shape = package.passing_resource(terraform)?;
        written_unless(language.and_then(|language| language.refuses_resource(&shape)))?;
        Ok(Managed { shape, list: package.list(terraform) })
    };
    let mut unlisted = Vec::new();
    let declare = |types: &mut Types<'_>, managed: &Managed| {
        let Managed { shape, list } = managed;
        let name = member_name(&shape.token);
        let own = types.declare(Owner::Resource, name, &shape.object.fields);
        match list {
            None => own,
            Some(Ok(list)) => {
                let inputs = list.object.fields.iter().filter(is_input);
                own.and(types.declare(Owner::Resource, &format!("{name}List"), inputs))
            }
            Some(Err(fault)) => {
                unlisted.push(fault.clone());
                own
            }
        }
    };
    let described = |types: &Types<'_>, managed: &Managed| raw(&members::resource(types, managed));
    describe_members(&mut types, &members, shape, declare, described, &mut document.resources, &mut left_out);
    left_out.extend(unlisted.into_iter().map(LeftOut::from));

    let members: Vec<_> = package.data_sources().iter().collect();
    let writable = |kind: &str, shape: Result<Arc<ResourceShape>, TokenError>| {
        let shape = shape?;
        written_unless(language.and_then(|language| language.refuses_data_source(kind, &shape)))?;
        Ok::<_, LeftOut>(shape)
    };
    let shape = |terraform: &str| writable("data source", package.passing_data_source(terraform));
    let declare = |types: &mut Types<'_>, shape: &Arc<ResourceShape>| {
        types.declare(Owner::DataSource, member_name(&shape.token), &shape.object.fields)
    };
    let described = |types: &Types<'_>, shape: &Arc<ResourceShape>| raw(&members::data_source(types, shape));
    describe_members(&mut types, &members, shape, declare, described, &mut document.functions, &mut left_out);

    for (terraform, token) in package.functions().iter() {
        let writable = package.function(terraform).map_err(LeftOut::from).and_then(|shape| {
            written_unless(language.and_then(|language| language.refuses_function(&shape)))?;
            Ok(shape)
        });
        if let Some(shape) = usable(writable, &mut left_out) {
            document.functions.insert(token.to_owned(), raw(&functions::function(&mut types, &shape)));
        }
    }
    document.provider = members::provider(&mut types, &identity.name, config.as_deref());
    // Last, so that these change no other name.
    for (terraform, token) in package.ephemeral_resources().iter() {
        if let Some(shape) =
            usable(writable("ephemeral resource", package.ephemeral_resource(terraform)), &mut left_out)
        {
            types.declare_and_describe(Owner::DataSource, member_name(&shape.token), &shape.object.fields);
            document.functions.insert(token.to_owned(), raw(&members::ephemeral_resource(&types, &shape)));
        }
    }
    for (terraform, token) in package.actions().iter() {
        if let Some(shape) = usable(writable("action", package.action(terraform)), &mut left_out) {
            types.declare_and_describe(Owner::DataSource, member_name(&shape.token), &shape.object.fields);
            document.functions.insert(token.to_owned(), raw(&members::action(&types, &shape)));
        }
    }
    let (token, method) = terraform_config(&identity.name);
    document.provider.methods.insert(TERRAFORM_CONFIG, token.clone());
    document.functions.insert(token, raw(&method));
    document.types = types.finish();
    PackageSchema { json: written(&document), left_out }
}

/// Size of a batch of members. A shape takes far more memory than its text, so few exist at a time.
const TOGETHER: usize = 64;

/// Describes all members of a kind. Names are assigned in order, because each depends on earlier
/// ones; the rest is done in parallel, and only the text is retained.
fn describe_members<Shape: Send + Sync>(
    types: &mut Types<'_>,
    members: &[(&Arc<str>, &str)],
    shape: impl Fn(&str) -> Result<Shape, LeftOut> + Sync,
    mut declare: impl FnMut(&mut Types<'_>, &Shape) -> Declared,
    described: impl Fn(&Types<'_>, &Shape) -> Box<RawValue> + Sync,
    into: &mut Fragments,
    left_out: &mut Vec<LeftOut>,
) {
    for members in members.chunks(TOGETHER) {
        let shapes = in_parallel(members, |(terraform, _)| shape(terraform));
        let mut declared = Vec::with_capacity(members.len());
        for ((_, token), shape) in members.iter().zip(shapes) {
            if let Some(shape) = usable(shape, left_out) {
                let found = declare(types, &shape);
                declared.push((*token, shape, found));
            }
        }
        let texts =
            in_parallel(&declared, |(_, shape, found)| (types.describe(found), described(types, shape)));
        for ((token, ..), (named, text)) in declared.iter().zip(texts) {
            types.add(named);
            into.insert((*token).to_owned(), text);
        }
        types.forget_places();
    }
}

/// The token of the provider's method that returns its configuration.
pub(crate) fn terraform_config_token(package: &str) -> String {
    format!("pulumi:providers:{package}/{TERRAFORM_CONFIG}")
}

/// The method's name.
pub(crate) const TERRAFORM_CONFIG: &str = "terraformConfig";

fn written(document: &Document) -> String {
    serde_json::to_string(document)
        .expect("a document has only text for keys and holds nothing that can fail")
}

fn usable<Shape, Fault: Into<LeftOut>>(
    shape: Result<Shape, Fault>,
    left_out: &mut Vec<LeftOut>,
) -> Option<Shape> {
    shape.map_err(|error| left_out.push(error.into())).ok()
}

fn written_unless(refused: Option<Unwritable>) -> Result<(), LeftOut> {
    refused.map_or(Ok(()), |unwritable| Err(unwritable.into()))
}

/// The parts that do not depend on the provider's schema. The owner of the provider's repository is
/// not recorded anywhere and assumed to be the registry's namespace.
fn header(package: &Package, plugin_version: &str) -> Document {
    let identity = package.identity();
    let owner = match &identity.parameter.source {
        ParameterSource::Remote { url, .. } => url.rsplit('/').nth(1),
        ParameterSource::Local { .. } => None,
    };
    let description = format!("A Pulumi provider dynamically bridged from {}.", identity.provider_type);
    let repository = owner.map_or_else(String::new, |owner| {
        format!("https://github.com/{owner}/terraform-provider-{}", identity.provider_type)
    });
    let organisation = owner.unwrap_or("terraform-providers");
    Document {
        name: identity.name.clone(),
        version: identity.version.to_string(),
        attribution: language::attribution(&identity.name, organisation),
        publisher: owner.unwrap_or_default().to_owned(),
        language: language::blocks(Facts {
            package: &identity.name,
            major: identity.version.major,
            description: &description,
            organisation,
            repository: &repository,
        }),
        description,
        repository,
        parameterization: Some(Parameterization {
            base_provider: BaseProvider { name: BASE_NAME, version: plugin_version.to_owned() },
            parameter: STANDARD.encode(identity.parameter.encode()),
        }),
        ..Document::default()
    }
}

/// The method that returns the provider's configuration for Terraform modules.
fn terraform_config(package: &str) -> (String, Function) {
    let token = terraform_config_token(package);
    let own = Type { kind: "ref", reference: "#/provider".to_owned(), ..Type::default() };
    let object = |name: &str, of: Type| {
        let property = Property { of, ..Property::default() };
        ObjectType::new([(name.to_owned(), property)].into(), vec![name.to_owned()])
    };
    let method = Function {
        description: "This function returns a Terraform config object with terraform-namecased keys,to be used with the \
                      Terraform Module Provider."
            .to_owned(),
        inputs: Some(ObjectType { kind: token.clone(), ..object("__self__", own) }),
        outputs: Some(Outputs::Object(object("result", Type::map(Type::any())))),
        ..Function::default()
    };
    (token, method)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use isthmus_proto::tfplugin6;
    use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Blocks;
    use isthmus_proto::tfplugin6::schema::object::NestingMode as Objects;
    use isthmus_proto::tfplugin6::schema::{Attribute, NestedBlock};
    use serde_json::{Value, json};

    use super::super::parameters::Parameter;
    use super::super::testing::{
        attribute, block, body, computed, function, listable, local, nested_attribute, package, package_of,
        package_with, parameter, required, schema,
    };
    use super::*;

    fn pretty(json: &str) -> String {
        serde_json::to_string_pretty(&serde_json::from_str::<Value>(json).unwrap()).unwrap()
    }

    fn described(text: &str, attribute: Attribute) -> Attribute {
        Attribute { description: text.to_owned(), ..attribute }
    }

    fn parsed(package: &Package) -> Value {
        serde_json::from_str(&package_schema(package, "1.1.3", None).json).unwrap()
    }

    /// A resource with every schema feature.
    fn everything() -> tfplugin6::Schema {
        let rule = body(
            vec![
                required("to_port", "\"number\""),
                Attribute { computed: true, ..attribute("cidr", "\"string\"") },
            ],
            vec![],
        );
        schema(
            vec![
                Attribute { computed: true, ..attribute("id", "\"string\"") },
                required("name", "\"string\""),
                attribute("pulumi", "\"bool\""),
                described("Text with `snake_case`.", attribute("urn", "\"string\"")),
                attribute("tag", "[\"map\",\"string\"]"),
                attribute("any_thing", "\"dynamic\""),
                attribute("dns_name", "[\"set\",\"string\"]"),
                computed("outcome", "[\"object\",{\"status\":[\"list\",\"string\"]}]"),
                Attribute { sensitive: true, ..attribute("password", "\"string\"") },
                Attribute { write_only: true, ..described("Once.", attribute("password_wo", "\"string\"")) },
                nested_attribute(
                    "host",
                    Objects::Map,
                    vec![described("Where.", required("ip", "\"string\""))],
                ),
                nested_attribute("pair", Objects::List, vec![attribute("left", "[\"tuple\",[\"string\"]]")]),
            ],
            vec![
                block("rule", Blocks::Set, (1, 0), rule),
                block("policy", Blocks::List, (0, 1), body(vec![attribute("kind_", "\"string\"")], vec![])),
                block(
                    "timeouts",
                    Blocks::Single,
                    (0, 1),
                    body(vec![attribute("create", "\"string\"")], vec![]),
                ),
            ],
        )
    }

    #[test]
    fn a_package_holds_all_that_the_provider_offers() {
        let proxy = body(
            vec![
                required("url", "\"string\""),
                Attribute { sensitive: true, ..attribute("password", "\"string\"") },
            ],
            vec![],
        );
        let config = schema(
            vec![required("endpoint", "\"string\"")],
            vec![block("proxy", Blocks::List, (0, 0), proxy)],
        );
        let object = "[\"object\",{\"first_part\":\"string\",\"rest\":[\"list\",[\"object\",{\"x\":\"number\"}]]},[\"rest\"]]";
        let mut parse = function(vec![parameter("full_name", "\"string\"")], object);
        parse.summary = "Splits a name.".to_owned();
        parse.description = "It has parts.".to_owned();
        let mut join = function(vec![parameter("separator", "\"string\"")], "\"string\"");
        join.variadic_parameter = Some(parameter("part", "\"string\""));
        let package = package_with(
            config,
            vec![("test_everything", everything())],
            vec![("test_everything", everything())],
            vec![("parse_name", parse), ("join", join)],
        );
        let schema = package_schema(&package, "1.1.3", None);
        assert!(schema.left_out.is_empty(), "{:?}", schema.left_out);
        insta::assert_snapshot!(pretty(&schema.json));
    }

    #[test]
    fn what_can_be_listed_says_by_what() {
        let filter =
            body(vec![required("name", "\"string\""), attribute("values", "[\"list\",\"string\"]")], vec![]);
        let own = body(vec![attribute("to", "\"string\"")], vec![]);
        let resource =
            schema(vec![computed("id", "\"string\"")], vec![block("filter", Blocks::List, (0, 0), own)]);
        let list = schema(
            vec![
                required("parent_id", "\"string\""),
                attribute("id", "\"string\""),
                computed("found", "\"number\""),
            ],
            vec![block("filter", Blocks::List, (0, 0), filter)],
        );
        let schema = parsed(&listable(&resource, &list));
        let thing = &schema["resources"]["test:index/thing:Thing"];
        let expected = json!({
            "type": "object",
            "properties": {
                "filters": {"type": "array", "items": {"$ref": "#/types/test:index/ThingListFilter:ThingListFilter"}},
                "id": {"type": "string"},
                "parentId": {"type": "string"},
            },
            "required": ["parentId"],
        });
        assert_eq!(thing["listInputs"], expected);
        let own = &thing["properties"]["filters"]["items"]["$ref"];
        assert_eq!(
            own, "#/types/test:index/ThingFilter:ThingFilter",
            "a resource's own types keep their names"
        );
        let filter = &schema["types"]["test:index/ThingListFilter:ThingListFilter"];
        assert_eq!(filter["required"], json!(["name"]));
    }

    #[test]
    fn a_faulty_list_costs_the_resource_its_list_and_nothing_else() {
        let resource = schema(vec![computed("id", "\"string\"")], vec![]);
        let package = listable(&resource, &schema(vec![attribute("x", "\"nonsense\"")], vec![]));
        let described = package_schema(&package, "1.1.3", None);
        let [fault] = &*described.left_out else { panic!("{:?}", described.left_out) };
        assert!(fault.to_string().contains("schema of list resource test_thing cannot be used"), "{fault}");
        let schema: Value = serde_json::from_str(&described.json).unwrap();
        let thing = &schema["resources"]["test:index/thing:Thing"];
        assert!(thing.is_object() && thing.get("listInputs").is_none(), "{thing}");
    }

    #[test]
    fn a_plugin_without_a_provider_describes_itself() {
        insta::assert_snapshot!(pretty(&base_schema("1.1.3")));
    }

    #[test]
    fn a_provider_of_a_registry_is_attributed_to_its_namespace() {
        let source = ParameterSource::Remote {
            url: "registry.opentofu.org/hashicorp/random".to_owned(),
            version: "3.3.0".to_owned(),
        };
        let schema = parsed(&package_of(Parameter { source, ..local("") }));
        assert_eq!(schema["version"], "3.3.0");
        assert_eq!(schema["publisher"], "hashicorp");
        assert_eq!(schema["repository"], "https://github.com/hashicorp/terraform-provider-random");
        assert_eq!(
            schema["language"]["go"]["importBasePath"],
            "github.com/pulumi/pulumi-terraform-provider/sdks/go/random/v3/random"
        );
        assert_eq!(schema["parameterization"]["baseProvider"]["version"], "1.1.3");
    }

    #[test]
    fn a_faulty_resource_is_left_out_and_told() {
        let schema = package_schema(&package(), "1.1.3", None);
        assert_eq!(schema.left_out.len(), 1);
        assert!(schema.left_out[0].to_string().contains("test_broken"), "{}", schema.left_out[0]);
        assert!(schema.json.contains("test:index/pet:Pet") && !schema.json.contains("Broken"));
    }

    #[test]
    fn objects_that_come_to_one_name_are_told_apart() {
        let items = |name: &str, inner: &str, most| -> NestedBlock {
            block(name, Blocks::List, (0, most), body(vec![attribute(inner, "\"string\"")], vec![]))
        };
        let one = schema(vec![], vec![items("rule", "a", 1), items("rules", "b", 0)]);
        let schema = parsed(&package_with(
            schema(vec![], vec![]),
            vec![("test_x", one), ("test_y", everything())],
            vec![],
            vec![],
        ));
        let properties = &schema["resources"]["test:index/x:X"]["properties"];
        assert_eq!(properties["rule"]["$ref"], "#/types/test:index/XRule:XRule");
        assert_eq!(properties["rules"]["items"]["$ref"], "#/types/test:index/XRule2:XRule2");
        assert!(schema["types"]["test:index/XRule:XRule"]["properties"]["a"].is_object());
        assert!(schema["types"]["test:index/XRule2:XRule2"]["properties"]["b"].is_object());
    }

    #[test]
    fn the_same_object_at_two_places_of_one_name_is_one_type() {
        let inner = || body(vec![attribute("a", "\"string\"")], vec![]);
        let blocks =
            vec![block("rule", Blocks::List, (0, 1), inner()), block("rules", Blocks::List, (0, 0), inner())];
        let one = schema(vec![], blocks);
        let schema = parsed(&package_with(schema(vec![], vec![]), vec![("test_x", one)], vec![], vec![]));
        assert_eq!(schema["types"].as_object().unwrap().len(), 1);
    }

    #[test]
    fn every_reference_leads_to_a_type() {
        let package = package_with(
            everything(),
            vec![("test_x", everything())],
            vec![("test_x", everything())],
            vec![],
        );
        let schema = parsed(&package);
        let mut references = BTreeSet::new();
        collect_references(&schema, &mut references);
        assert!(references.len() > 10, "{references:?}");
        for reference in references {
            let token = reference.strip_prefix("#/types/").unwrap();
            assert!(schema["types"][token].is_object(), "{reference} leads nowhere");
        }
    }

    fn collect_references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    match value.as_str() {
                        Some(reference) if key == "$ref" && reference.starts_with("#/types/") => {
                            found.insert(reference.to_owned());
                        }
                        _ => collect_references(value, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The rules are those of the engine's own binder: `pulumi schema check` accepts this package.
    #[test]
    fn what_a_generator_cannot_write_is_left_out_for_its_language_alone() {
        let yielding = schema(vec![attribute("yield", "\"string\"")], vec![]);
        let package = package_with(
            schema(vec![], vec![]),
            vec![("test_bond", yielding)],
            vec![],
            vec![("import", function(vec![parameter("value", "\"string\"")], "\"string\""))],
        );
        let left_out = |language| {
            let schema = package_schema(&package, "1.1.3", language);
            let document: Value = serde_json::from_str(&schema.json).unwrap();
            let has = |kind: &str, token: &str| !document[kind][token].is_null();
            let warnings: Vec<_> = schema.left_out.iter().map(ToString::to_string).collect();
            (
                has("resources", "test:index/bond:Bond"),
                has("functions", "test:index/import:import"),
                warnings.len(),
            )
        };
        assert_eq!(left_out(None), (true, true, 0));
        assert_eq!(left_out(Some(SdkLanguage::Python)), (true, true, 0));
        assert_eq!(left_out(Some(SdkLanguage::NodeJs)), (true, false, 1));
        assert_eq!(left_out(Some(SdkLanguage::Java)), (false, false, 2));
    }

    #[test]
    fn properties_that_csharp_cannot_call_so_have_other_names_there() {
        let text = |name| attribute(name, "\"string\"");
        let inner = || nested_attribute("own", Objects::Single, vec![text("policy_own"), text("empty")]);
        let schema = parsed(&package_with(
            schema(vec![], vec![]),
            vec![(
                "test_policy",
                schema(vec![text("policy"), text("policy_state"), text("name"), inner()], vec![]),
            )],
            vec![("test_policy", schema(vec![computed("empty", "\"string\""), text("policy")], vec![]))],
            vec![],
        ));
        let resource = &schema["resources"]["test:index/policy:Policy"];
        for kind in ["properties", "inputProperties"] {
            assert_eq!(resource[kind]["policy"]["language"], json!({ "csharp": { "name": "PolicyValue" } }));
            assert_eq!(resource[kind]["policyState"]["language"]["csharp"]["name"], "PolicyStateValue");
            assert!(resource[kind]["name"]["language"].is_null());
        }
        let own = &schema["types"]["test:index/PolicyOwn:PolicyOwn"]["properties"];
        assert_eq!(own["policyOwn"]["language"]["csharp"]["name"], "PolicyOwnValue");
        assert_eq!(own["empty"]["language"]["csharp"]["name"], "EmptyValue");
        let result = &schema["functions"]["test:index/getPolicy:getPolicy"]["outputs"]["properties"];
        assert!(
            result["empty"]["language"].is_null() && result["policy"]["language"].is_null(),
            "{result:#}"
        );
    }

    #[test]
    fn no_package_has_names_that_the_engine_refuses() {
        let names = [
            "a_b",
            "a__b",
            "aB",
            "a b",
            "pulumi",
            "pulumi_info",
            "urn",
            "version",
            "provider",
            "x-y",
            "__meta",
        ];
        let text = |name: &&str| attribute(name, "\"string\"");
        let rule = || body(names.iter().map(text).collect(), vec![]);
        let all =
            || schema(names.iter().map(text).collect(), vec![block("rule", Blocks::List, (0, 1), rule())]);
        let object = r#"["object",{"pulumi":"string","a_b":"string","aB":["object",{"pulumi":"string"}]}]"#;
        let functions = ["get_thing", "pulumi", "provider", "a:b"].map(|name| {
            let parameters = vec![parameter("pulumi", "\"string\""), parameter("pulumi_info", object)];
            (name, function(parameters, object))
        });
        let resources = ["test_get_thing", "test_provider", "other_x", "test_ab", "test_a_b", "we:i/r d"];
        let package = package_with(
            all(),
            resources.map(|name| (name, all())).into(),
            vec![("test_thing", all()), ("other_x", all()), ("test_Thing", all())],
            functions.into(),
        );
        let schema = parsed(&package);
        let keys = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let tokens = [keys(&schema["resources"]), keys(&schema["functions"])].concat();
        assert_eq!(tokens.len(), 14, "everything is there, and the provider's own method: {tokens:?}");
        let folded: BTreeSet<_> = tokens.iter().map(|token| token.to_lowercase()).collect();
        assert_eq!(folded.len(), tokens.len(), "they differ in more than case: {tokens:?}");
        for token in tokens.iter().filter(|token| !token.starts_with("pulumi:")) {
            let member = token.strip_prefix("test:index/").and_then(|token| token.split_once(':'));
            let (_, member) = member.unwrap_or_else(|| panic!("{token} has not three parts"));
            assert!(member.chars().all(char::is_alphanumeric), "{token}");
            assert!(!["pulumi", "provider", "Provider"].contains(&member), "{token}");
        }
        assert!(!keys(&schema["provider"]["inputProperties"]).contains(&"version".to_owned()));
        assert!(!keys(&schema["config"]["variables"]).contains(&"version".to_owned()));
        no_property_is_refused(&schema, "");
    }

    fn no_property_is_refused(value: &Value, place: &str) {
        const OBJECTS: [&str; 4] = ["properties", "inputProperties", "variables", "stateInputs"];
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    if OBJECTS.contains(&place) {
                        assert!(name != "pulumi" && !name.contains(char::is_whitespace), "{place}: {name:?}");
                    }
                    no_property_is_refused(member, name);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| no_property_is_refused(item, "")),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
