//! Compilation of schemas into shapes: names from the rules and from the user's choices, at every level.
//!
//! Each name depends on its siblings, so an object is named as a whole once its fields are known.

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::{ObjectType, Type};
use isthmus_provider::schema::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting, Schema, TextKind,
};

use super::{Field, IdRule, ObjectShape, ResourceShape, Shape};
use crate::names::MemberKind;
use crate::names::choices::{ChosenName, NO_CHOICES, NameChoices, PROVIDER, PropertyNames, SingleItems};
use crate::names::properties::{Nameable, ResourceNaming, config_names, object_names, resource_names};

/// Parameters for the names of a package's resources.
#[derive(Clone, Copy, Debug)]
pub struct PackageNaming<'a> {
    /// The Pulumi package.
    pub package: &'a str,
    /// Common prefix of resource types, without a trailing underscore.
    pub prefix: &'a str,
    pub choices: &'a NameChoices,
}

impl<'a> PackageNaming<'a> {
    /// The Go bridge's names.
    pub const fn new(package: &'a str, prefix: &'a str) -> Self {
        Self { package, prefix, choices: &NO_CHOICES }
    }
}

/// Compiles a managed resource. At the top level, `id`, `urn` and `pulumi` are reserved.
pub fn compile_resource(
    terraform_type: &str,
    token: &str,
    schema: Arc<Schema>,
    naming: PackageNaming<'_>,
) -> ResourceShape {
    let id = schema.block.attributes.iter().find(|attribute| attribute.name.as_ref() == "id");
    let id_stays = id.is_some_and(is_pulumis_id);
    let PackageNaming { package, prefix, choices } = naming;
    let rule = choices.property_names;
    let compiler = Compiler::new(choices, terraform_type);
    let object = compiler.block(&schema.block, "", |fields| {
        // The Pulumi id is no property that could have another name.
        if id_stays {
            fields.iter_mut().filter(|field| field.terraform == "id").for_each(|id| id.chosen = None);
        }
        resource_names(fields, &ResourceNaming { package, prefix, terraform_type, id_stays, rule })
    });
    let id = match id {
        Some(_) if id_stays => IdRule::Computed,
        Some(id) => object.terraform("id").map_or(IdRule::Missing, |field| {
            let name = field.pulumi.clone();
            if id.required || (id.optional && id.computed) {
                IdRule::Property(name)
            } else {
                IdRule::Perhaps(name)
            }
        }),
        None => IdRule::Missing,
    };
    ResourceShape {
        token: token.to_owned(),
        terraform_type: Arc::from(terraform_type),
        schema,
        object: Arc::new(object),
        id,
    }
}

/// Compiles a data source, an ephemeral resource or an action. It has no Pulumi id; an attribute
/// `id` is an ordinary property.
pub fn compile_data_source(
    kind: MemberKind,
    terraform_type: &str,
    token: &str,
    schema: Arc<Schema>,
    choices: &NameChoices,
) -> ResourceShape {
    let compiler = Compiler::new(choices, &kind.reference(terraform_type));
    unidentified(terraform_type, token, schema, &compiler, object_names)
}

/// Compiles the list configuration of a resource type. `token` is that of the resource.
pub fn compile_list(
    terraform_type: &str,
    token: &str,
    schema: Arc<Schema>,
    choices: &NameChoices,
) -> ResourceShape {
    // Names of single properties are chosen for the resource, whose properties are others.
    let compiler = Compiler { choices, chosen: None };
    unidentified(terraform_type, token, schema, &compiler, object_names)
}

/// Compiles the provider's configuration.
pub fn compile_config(schema: Arc<Schema>, choices: &NameChoices) -> ResourceShape {
    unidentified("", "", schema, &Compiler::new(choices, PROVIDER), config_names)
}

fn unidentified(
    terraform_type: &str,
    token: &str,
    schema: Arc<Schema>,
    compiler: &Compiler<'_>,
    names: fn(&[Nameable<'_>], PropertyNames) -> Vec<String>,
) -> ResourceShape {
    let rule = compiler.choices.property_names;
    let object = Arc::new(compiler.block(&schema.block, "", |fields| names(fields, rule)));
    ResourceShape {
        token: token.to_owned(),
        terraform_type: Arc::from(terraform_type),
        schema,
        object,
        id: IdRule::Missing,
    }
}

/// Compiles a type without a schema, such as that of a function's parameter.
pub fn compile_type(plain: &Type) -> Shape {
    compile_chosen_type(plain, &NO_CHOICES)
}

/// The same by a package's rule for names.
pub(crate) fn compile_chosen_type(plain: &Type, choices: &NameChoices) -> Shape {
    Compiler { choices, chosen: None }.plain_type(plain, "")
}

/// Whether `id` is a computed-only string, like a Pulumi id.
fn is_pulumis_id(id: &Attribute) -> bool {
    id.computed
        && !id.optional
        && !id.required
        && matches!(id.attribute_type, AttributeType::Plain(Type::String))
}

/// Compiles one member, by the names that are chosen for it.
#[derive(Clone, Copy)]
struct Compiler<'a> {
    choices: &'a NameChoices,
    /// Names by path.
    chosen: Option<&'a BTreeMap<String, ChosenName>>,
}

impl<'a> Compiler<'a> {
    fn new(choices: &'a NameChoices, reference: &str) -> Self {
        Self { choices, chosen: choices.properties_of(reference) }
    }

    /// The path of a field in the object at `parent`; empty where nothing is chosen by path.
    fn path(&self, parent: &str, field: &str) -> String {
        match self.chosen {
            None => String::new(),
            Some(_) if parent.is_empty() => field.to_owned(),
            Some(_) => format!("{parent}.{field}"),
        }
    }

    fn block(
        &self,
        block: &Block,
        path: &str,
        names: impl Fn(&mut [Nameable<'_>]) -> Vec<String>,
    ) -> ObjectShape {
        let attributes = block.attributes.iter().map(|attribute| self.attribute(attribute, path));
        let blocks = block.blocks.iter().map(|nested| self.nested_block(nested, path));
        self.object(attributes.chain(blocks).collect(), path, names)
    }

    fn attribute(&self, attribute: &Attribute, parent: &str) -> Field {
        let path = self.path(parent, &attribute.name);
        Field {
            terraform: Arc::clone(&attribute.name),
            pulumi: String::new(),
            shape: match &attribute.attribute_type {
                AttributeType::Plain(plain) => self.plain_type(plain, &path),
                AttributeType::Nested(nested) => self.nested_attribute(nested, &path),
            },
            implied_type: attribute.attribute_type.implied_type().clone(),
            is_block: false,
            is_unflattened: false,
            required: attribute.required,
            optional: attribute.optional,
            computed: attribute.computed,
            sensitive: attribute.sensitive,
            write_only: attribute.write_only,
            deprecated: attribute.deprecated.then(|| attribute.deprecation_message.clone()),
            description: attribute.description.clone(),
            description_kind: attribute.description_kind,
        }
    }

    fn nested_attribute(&self, nested: &NestedObject, path: &str) -> Shape {
        let fields = nested.attributes.iter().map(|attribute| self.attribute(attribute, path)).collect();
        let object = Shape::Object(Arc::new(self.inner_object(fields, path)));
        match nested.nesting {
            ObjectNesting::Single => object,
            ObjectNesting::List => Shape::List(Arc::new(object)),
            ObjectNesting::Set => Shape::Set(Arc::new(object)),
            ObjectNesting::Map => Shape::Map(Arc::new(object)),
        }
    }

    fn nested_block(&self, nested: &NestedBlock, parent: &str) -> Field {
        let NestedBlock { name, block, nesting, min_items, max_items, implied_type } = nested;
        let path = self.path(parent, name);
        let rule = self.choices.property_names;
        let object = self.block(block, &path, |fields| object_names(fields, rule));
        let object = Arc::new(Shape::Object(Arc::new(object)));
        let is_single = *max_items == 1 && matches!(nesting, BlockNesting::List | BlockNesting::Set);
        let is_flattened = is_single && self.choices.single_items == SingleItems::Values;
        let shape = match nesting {
            BlockNesting::Single | BlockNesting::Group => (*object).clone(),
            BlockNesting::List if is_flattened => Shape::FlattenedList(object),
            BlockNesting::List => Shape::List(object),
            BlockNesting::Set if is_flattened => Shape::FlattenedSet(object),
            BlockNesting::Set => Shape::Set(object),
            BlockNesting::Map => Shape::Map(object),
        };
        let required = *min_items > 0;
        Field {
            terraform: Arc::clone(name),
            pulumi: String::new(),
            shape,
            implied_type: implied_type.clone(),
            is_block: true,
            is_unflattened: is_single && !is_flattened,
            required,
            optional: !required && !block.computed,
            computed: block.computed,
            sensitive: false,
            write_only: false,
            deprecated: block.deprecated.then(|| block.deprecation_message.clone()),
            description: block.description.clone(),
            description_kind: block.description_kind,
        }
    }

    fn plain_type(&self, plain: &Type, path: &str) -> Shape {
        let element = |element: &Type| Arc::new(self.plain_type(element, path));
        match plain {
            Type::Bool => Shape::Bool,
            Type::Number => Shape::Number,
            Type::String => Shape::String,
            Type::Dynamic => Shape::Dynamic,
            Type::List(of) => Shape::List(element(of)),
            Type::Set(of) => Shape::Set(element(of)),
            Type::Map(of) => Shape::Map(element(of)),
            Type::Object(object) => Shape::Object(Arc::new(self.object_type(object, path))),
            Type::Tuple(elements) => {
                Shape::Tuple(elements.iter().map(|element| self.plain_type(element, path)).collect())
            }
        }
    }

    /// The fields of an object type. On the wire, a type without optional attributes does not show
    /// which are required: attributes that are blocks in the provider's schema have such types too.
    fn object_type(&self, object_type: &ObjectType, path: &str) -> ObjectShape {
        let fields = object_type.attributes.iter().map(|(name, attribute_type)| {
            let optional = object_type.optional.is_empty() || object_type.optional.contains(name);
            Field {
                terraform: Arc::clone(name),
                pulumi: String::new(),
                shape: self.plain_type(attribute_type, &self.path(path, name)),
                implied_type: attribute_type.clone(),
                is_block: false,
                is_unflattened: false,
                required: !optional,
                optional,
                computed: false,
                sensitive: false,
                write_only: false,
                deprecated: None,
                description: String::new(),
                description_kind: TextKind::Plain,
            }
        });
        self.inner_object(fields.collect(), path)
    }

    fn inner_object(&self, fields: Vec<Field>, path: &str) -> ObjectShape {
        let rule = self.choices.property_names;
        self.object(fields, path, |fields| object_names(fields, rule))
    }

    /// Sorts, names and indexes the fields of the object at `path`.
    fn object(
        &self,
        mut fields: Vec<Field>,
        path: &str,
        names: impl Fn(&mut [Nameable<'_>]) -> Vec<String>,
    ) -> ObjectShape {
        fields.sort_by(|one, other| one.terraform.cmp(&other.terraform));
        let chosen =
            |field: &Field| self.chosen?.get(&self.path(path, &field.terraform)).map(ChosenName::as_str);
        let mut nameable: Vec<_> =
            fields.iter().map(|field| Nameable { chosen: chosen(field), ..field.nameable() }).collect();
        let names = names(&mut nameable);
        for (field, name) in fields.iter_mut().zip(names) {
            field.pulumi = name;
        }
        let indexed = || fields.iter().enumerate();
        let by_pulumi = indexed().map(|(index, field)| (field.pulumi.clone(), index)).collect();
        let by_terraform = indexed().map(|(index, field)| (Arc::clone(&field.terraform), index)).collect();
        ObjectShape { fields, by_pulumi, by_terraform }
    }
}

#[cfg(test)]
mod tests {
    use isthmus_proto::tfplugin6;
    use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Blocks;
    use isthmus_proto::tfplugin6::schema::object::NestingMode as Objects;

    use super::super::super::testing::{
        attribute, block, body, compiled, computed, nested_attribute, required, schema,
    };
    use super::*;

    fn resource(message: &tfplugin6::Schema) -> ResourceShape {
        chosen(message, &NO_CHOICES)
    }

    fn chosen(message: &tfplugin6::Schema, choices: &NameChoices) -> ResourceShape {
        let naming = PackageNaming { package: "test", prefix: "test", choices };
        compile_resource("test_res", "test:index/res:Res", compiled(message), naming)
    }

    fn names(object: &ObjectShape) -> Vec<(&str, &str)> {
        object.fields.iter().map(|field| (field.terraform.as_ref(), field.pulumi.as_str())).collect()
    }

    #[test]
    fn attributes_and_blocks_are_found_by_either_name() {
        let rule = body(vec![attribute("to_port", "\"number\"")], vec![]);
        let shape = resource(&schema(
            vec![attribute("dns_name", "[\"list\",\"string\"]"), attribute("zone", "\"string\"")],
            vec![block("rule", Blocks::Set, (0, 0), rule)],
        ));
        assert_eq!(names(&shape.object), [("dns_name", "dnsNames"), ("rule", "rules"), ("zone", "zone")]);
        for field in &shape.object.fields {
            assert_eq!(shape.object.pulumi(&field.pulumi).unwrap().terraform, field.terraform);
            assert_eq!(shape.object.terraform(&field.terraform).unwrap().pulumi, field.pulumi);
        }
        assert!(shape.object.pulumi("dns_name").is_none());
    }

    #[test]
    fn a_block_of_at_most_one_item_is_that_item_and_no_plural() {
        for (nesting, least) in [(Blocks::List, 0), (Blocks::Set, 1)] {
            let proxy = body(vec![attribute("url", "\"string\"")], vec![]);
            let shape = resource(&schema(vec![], vec![block("proxy", nesting, (least, 1), proxy)]));
            let field = shape.object.terraform("proxy").unwrap();
            assert_eq!(field.pulumi, "proxy");
            let (Shape::FlattenedList(item) | Shape::FlattenedSet(item)) = &field.shape else {
                panic!("{:?} is not flattened", field.shape);
            };
            assert!(matches!(**item, Shape::Object(_)));
            assert_eq!((field.required, field.optional, field.is_block), (least == 1, least == 0, true));
        }
    }

    #[test]
    fn blocks_of_one_item_stay_lists_and_names_are_others_at_every_level_by_choice() {
        let rule = body(vec![attribute("to_port", "\"number\"")], vec![]);
        let message = schema(
            vec![
                attribute("dns_name", "[\"list\",\"string\"]"),
                attribute("plan", "[\"object\",{\"sub_net\":[\"list\",\"number\"]}]"),
                computed("id", "\"string\""),
            ],
            vec![block("proxy", Blocks::List, (0, 1), rule)],
        );
        let choices = |json: &str| serde_json::from_str::<NameChoices>(json).unwrap();
        let shape = chosen(&message, &choices("{\"singleItems\":\"lists\"}"));
        let proxy = shape.object.pulumi("proxies").expect("a plural, as other lists have");
        assert!(matches!(proxy.shape, Shape::List(_)) && proxy.is_unflattened);
        let shape = chosen(&message, &choices("{\"propertyNames\":\"terraform\"}"));
        let all = [("dns_name", "dns_name"), ("id", "id"), ("plan", "plan"), ("proxy", "proxy")];
        assert_eq!(names(&shape.object), all);
        let shape = chosen(
            &message,
            &choices(
                "{\"properties\":{\"test_res\":{\"proxy.to_port\":\"upTo\",\"plan.sub_net\":\"nets\",\"id\":\"own\"},\
                 \"data.test_res\":{\"plan\":\"other\"}}}",
            ),
        );
        let all = [("dns_name", "dnsNames"), ("id", "id"), ("plan", "plan"), ("proxy", "proxy")];
        assert_eq!(names(&shape.object), all);
        let Shape::FlattenedList(item) = &shape.object.pulumi("proxy").unwrap().shape else {
            panic!("it is flattened")
        };
        let Shape::Object(proxy) = &**item else { panic!("its item is an object") };
        assert_eq!(names(proxy), [("to_port", "upTo")]);
        let Shape::Object(plan) = &shape.object.pulumi("plan").unwrap().shape else {
            panic!("it is an object")
        };
        assert_eq!(names(plan), [("sub_net", "nets")]);
    }

    #[test]
    fn nested_attributes_and_object_types_are_named_at_every_level() {
        let shape = resource(&schema(
            vec![
                nested_attribute("host", Objects::Map, vec![attribute("ip_address", "[\"set\",\"string\"]")]),
                attribute("plan_", "[\"object\",{\"sub_net\":[\"list\",\"number\"]}]"),
            ],
            vec![],
        ));
        let Shape::Map(element) = &shape.object.terraform("host").unwrap().shape else {
            panic!("a map stays a map")
        };
        let Shape::Object(host) = &**element else { panic!("its element is an object") };
        assert_eq!(names(host), [("ip_address", "ipAddresses")]);
        let plan = shape.object.pulumi("plan_").unwrap();
        let Shape::Object(plan) = &plan.shape else { panic!("an object stays an object") };
        assert_eq!(names(plan), [("sub_net", "subNets")]);
        assert!(plan.fields[0].optional, "a type in which nothing is optional says nothing");
    }

    #[test]
    fn an_object_type_that_names_optional_attributes_requires_the_others() {
        let json = "[\"object\",{\"a\":\"string\",\"b\":\"string\"},[\"a\"]]";
        let shape = resource(&schema(vec![attribute("top", json)], vec![]));
        let Shape::Object(top) = &shape.object.pulumi("top").unwrap().shape else {
            panic!("it is an object")
        };
        let flags: Vec<_> = top.fields.iter().map(|field| (field.optional, field.required)).collect();
        assert_eq!(flags, [(true, false), (false, true)]);
    }

    #[test]
    fn the_id_rule_follows_who_sets_the_id() {
        let rule = |id: tfplugin6::schema::Attribute| {
            let shape = resource(&schema(vec![id], vec![]));
            (shape.id.clone(), shape.object.terraform("id").unwrap().pulumi.clone())
        };
        let both = tfplugin6::schema::Attribute { computed: true, ..attribute("id", "\"string\"") };
        let property = (IdRule::Property("resId".to_owned()), "resId".to_owned());
        let perhaps = (IdRule::Perhaps("resId".to_owned()), "resId".to_owned());
        assert_eq!(rule(computed("id", "\"string\"")), (IdRule::Computed, "id".to_owned()));
        assert_eq!(rule(required("id", "\"string\"")), property);
        assert_eq!(rule(both), property);
        assert_eq!(rule(required("id", "\"number\"")), property);
        assert_eq!(rule(required("id", "[\"map\",\"string\"]")), property);
        assert_eq!(rule(attribute("id", "\"string\"")), perhaps);
        assert_eq!(rule(computed("id", "\"number\"")), perhaps);
        assert_eq!(rule(computed("id", "[\"object\",{\"a\":\"string\"}]")), perhaps);
        assert_eq!(resource(&schema(vec![attribute("x", "\"string\"")], vec![])).id, IdRule::Missing);
    }

    #[test]
    fn data_sources_and_configurations_keep_the_names_that_resources_may_not_have() {
        let message = schema(vec![attribute("id", "\"string\""), attribute("urn", "\"string\"")], vec![]);
        let choices = &NO_CHOICES;
        let kind = MemberKind::DataSource;
        let data_source =
            compile_data_source(kind, "test_x", "test:index/getX:getX", compiled(&message), choices);
        for shape in [data_source, compile_config(compiled(&message), choices)] {
            assert_eq!(names(&shape.object), [("id", "id"), ("urn", "urn")]);
            assert_eq!(shape.id, IdRule::Missing);
        }
    }

    #[test]
    fn only_a_configurable_text_called_name_is_autonamed() {
        let autonamed = |name| resource(&schema(vec![name], vec![])).autonamed().is_some();
        assert!(autonamed(attribute("name", "\"string\"")));
        assert!(autonamed(required("name", "\"string\"")));
        assert!(!autonamed(attribute("name", "\"number\"")));
        assert!(!autonamed(computed("name", "\"string\"")));
        let nested =
            block("top", Blocks::Single, (0, 1), body(vec![attribute("name", "\"string\"")], vec![]));
        assert!(resource(&schema(vec![], vec![nested])).autonamed().is_none());
    }
}
