//! Resources to count with: schemas, values and property bags, the same on every machine.
//!
//! Values are derived from the schema, so that a sample is as large as its schema says.

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::{Type, Value};
use isthmus_package::shape::{PackageNaming, ResourceShape, compile_resource};
use isthmus_proto::property::Struct;
use isthmus_proto::tfplugin6;
use isthmus_proto::tfplugin6::schema::nested_block::NestingMode;
use isthmus_provider::schema::{self, Block, NestedBlock};
use isthmus_translate::meta::{Meta, Source};

/// The package of all samples.
pub(crate) const PACKAGE: &str = "cloud";
/// The prefix of their resource types.
pub(crate) const NAMING: PackageNaming<'_> = PackageNaming::new(PACKAGE, PACKAGE);

/// A resource with a state, and what belongs to it.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) shape: Arc<ResourceShape>,
    /// The object that the provider has returned.
    pub(crate) state: Value,
    /// The same object with other values of a few attributes.
    pub(crate) changed: Value,
    /// The program's inputs for the state.
    pub(crate) inputs: Struct,
    /// The properties that the engine stores of the state.
    pub(crate) stored: Struct,
}

impl Sample {
    /// A resource like `random_pet`.
    pub(crate) fn small() -> Self {
        Self::of("cloud_pet", &small_schema())
    }

    /// A resource with 200 attributes, 140 of which are in nested blocks.
    pub(crate) fn large() -> Self {
        Self::of("cloud_service_instance", &large_schema())
    }

    /// A resource with a list of a hundred blocks. In the changed one, the first is missing and there is
    /// another one at the end.
    pub(crate) fn list_of_blocks() -> Self {
        Self::of_blocks(NestingMode::List)
    }

    /// The same with a set.
    pub(crate) fn set_of_blocks() -> Self {
        Self::of_blocks(NestingMode::Set)
    }

    fn of_blocks(nesting: NestingMode) -> Self {
        let shape = shape("cloud_firewall", &schema_of_blocks(nesting));
        let block = &shape.schema.block;
        let more = Values { made: 0, several: 101 }.object(block);
        let part = |range: std::ops::Range<usize>| {
            let blocks = more.attribute("rule").and_then(Value::elements).expect("there are blocks");
            let rules = collection(&block.blocks[0], blocks[range].to_vec());
            Value::object([("id", "an id".into()), ("rule", rules)])
        };
        Self::with(Arc::clone(&shape), part(0..100), part(1..101))
    }

    fn of(type_name: &str, message: &tfplugin6::Schema) -> Self {
        let shape = shape(type_name, message);
        let state = Values { made: 0, several: 3 }.object(&shape.schema.block);
        let changed = with_changes(&shape.schema.block, &state);
        Self::with(shape, state, changed)
    }

    fn with(shape: Arc<ResourceShape>, state: Value, changed: Value) -> Self {
        let block = &shape.schema.block;
        let inputs = isthmus_translate::counting::outputs(&config(block, &state), &shape);
        let stored = isthmus_translate::counting::properties_to_store(&state, &shape, &inputs, &meta());
        Self { state, changed, inputs, stored, shape }
    }

    pub(crate) fn block(&self) -> &Block {
        &self.shape.schema.block
    }

    pub(crate) fn own_type(&self) -> &Type {
        &self.block().implied_type
    }

    /// The configuration for the state.
    pub(crate) fn config(&self) -> Value {
        config(self.block(), &self.state)
    }
}

fn shape(type_name: &str, message: &tfplugin6::Schema) -> Arc<ResourceShape> {
    let schema = Arc::new(schema::compile(message).expect("the samples are correct"));
    Arc::new(compile_resource(type_name, &format!("{PACKAGE}:index/sample:Sample"), schema, NAMING))
}

/// What is stored with a state.
pub(crate) fn meta() -> Meta {
    Meta {
        private: br#"{"e2bfb730-ecaa-11e6-8f88-34363bc7c4c0":{"create":600000000000}}"#.to_vec().into(),
        schema_version: 1,
        source: Some(Source {
            resource_type: "cloud_service_instance".to_owned(),
            provider: "registry.terraform.io/example/cloud".to_owned(),
            provider_version: Some("3.8.1".to_owned()),
        }),
        ..Meta::default()
    }
}

/// The configuration that leads to a state: without what only the provider sets, and without half of
/// what it may set.
pub(crate) fn config(block: &Block, state: &Value) -> Value {
    let mut count = 0;
    each_attribute(block, state, &mut |attribute, value| {
        count += usize::from(attribute.computed);
        let is_the_providers = attribute.computed && (!attribute.optional || count % 2 == 0);
        if is_the_providers { Value::Null } else { value.clone() }
    })
}

/// A plan of a creation: what the configuration leaves to the provider is unknown.
pub(crate) fn planned(block: &Block, config: &Value) -> Value {
    each_attribute(block, config, &mut |attribute, value| {
        if attribute.computed && value.is_null() { Value::unknown() } else { value.clone() }
    })
}

/// Another text for one in ten.
fn with_changes(block: &Block, state: &Value) -> Value {
    let mut count = 0;
    each_attribute(block, state, &mut |_, value| match value {
        Value::String(text) => {
            count += 1;
            if count % 10 == 1 { Value::string(format!("{text}, changed")) } else { value.clone() }
        }
        other => other.clone(),
    })
}

/// An object with other values of its attributes, also in nested blocks.
fn each_attribute(
    block: &Block,
    object: &Value,
    change: &mut impl FnMut(&schema::Attribute, &Value) -> Value,
) -> Value {
    let value = |name: &str| object.attribute(name).expect("it has all attributes");
    let mut changed = BTreeMap::new();
    for attribute in &block.attributes {
        changed.insert(Arc::clone(&attribute.name), change(attribute, value(&attribute.name)));
    }
    for nested in &block.blocks {
        let elements = value(&nested.name).elements().expect("blocks are lists or sets").iter();
        let elements = elements.map(|element| each_attribute(&nested.block, element, change)).collect();
        changed.insert(Arc::clone(&nested.name), collection(nested, elements));
    }
    Value::Object(changed)
}

fn collection(nested: &NestedBlock, elements: Vec<Value>) -> Value {
    match nested.nesting {
        schema::BlockNesting::Set => Value::set(elements),
        _ => Value::List(elements),
    }
}

/// Makes values, no two of which are the same.
struct Values {
    made: usize,
    /// How many blocks there are where there may be several.
    several: usize,
}

impl Values {
    fn object(&mut self, block: &Block) -> Value {
        let mut object = BTreeMap::new();
        for attribute in &block.attributes {
            self.made += 1;
            // Of what can be left out, programs leave out much.
            let is_left_out = attribute.optional && !attribute.computed && self.made.is_multiple_of(3);
            let own = attribute.attribute_type.implied_type();
            let value = if is_left_out { Value::Null } else { self.value(own, &attribute.name) };
            object.insert(Arc::clone(&attribute.name), value);
        }
        for nested in &block.blocks {
            let count = if nested.max_items == 1 { 1 } else { self.several };
            let elements = (0..count).map(|_| self.object(&nested.block)).collect();
            object.insert(Arc::clone(&nested.name), collection(nested, elements));
        }
        Value::Object(object)
    }

    fn value(&mut self, own: &Type, name: &str) -> Value {
        self.made += 1;
        match own {
            Type::Bool => Value::Bool(self.made.is_multiple_of(2)),
            Type::Number => Value::Number(i64::try_from(self.made).expect("there are not that many").into()),
            Type::List(element) => Value::list([self.value(element, name), self.value(element, name)]),
            Type::Set(element) => Value::set([self.value(element, name), self.value(element, name)]),
            Type::Map(element) => {
                Value::map([("Environment", self.value(element, name)), ("Owner", self.value(element, name))])
            }
            _ => Value::string(format!("{name}-{}-example", self.made)),
        }
    }
}

/// The schema of a resource like `random_pet`.
pub(crate) fn small_schema() -> tfplugin6::Schema {
    let attributes = vec![
        Attribute::new("id", "\"string\"").computed(),
        Attribute::new("keepers", "[\"map\",\"string\"]"),
        Attribute::new("length", "\"number\""),
        Attribute::new("prefix", "\"string\"").required(),
        Attribute::new("separator", "\"string\""),
    ];
    schema_of(block_of("Generates a name that is unique within the stack.", attributes, Vec::new()))
}

/// A schema of 200 attributes: 60 at the top, and seven blocks of 14 with a block of 6 in each.
pub(crate) fn large_schema() -> tfplugin6::Schema {
    let blocks = (0..7).map(|number| {
        let inner = block_of("Settings that apply to one of them.", attributes(number + 40, 6), Vec::new());
        let inner = nested(format!("{}_settings", FIRST[number]), NestingMode::List, 1, inner);
        let (nesting, most) = match number % 3 {
            0 => (NestingMode::List, 1),
            1 => (NestingMode::List, 0),
            _ => (NestingMode::Set, 0),
        };
        let body = block_of("One of the parts.", attributes(number * 11, 14), vec![inner]);
        nested(format!("{}_configuration", FIRST[number]), nesting, most, body)
    });
    let blocks = blocks.collect();
    let mut top =
        vec![Attribute::new("id", "\"string\"").computed(), Attribute::new("name", "\"string\"").required()];
    top.extend(attributes(100, 58));
    schema_of(block_of("Manages an instance of the service. See `cloud_pet`.", top, blocks))
}

/// The schema of a resource with blocks of four attributes.
fn schema_of_blocks(nesting: NestingMode) -> tfplugin6::Schema {
    let attributes = vec![
        Attribute::new("description", "\"string\""),
        Attribute::new("port", "\"number\"").required(),
        Attribute::new("protocol", "\"string\"").required(),
        Attribute::new("rule_id", "\"string\"").computed(),
    ];
    let rule = nested("rule".to_owned(), nesting, 0, block_of("A rule.", attributes, Vec::new()));
    let id = Attribute::new("id", "\"string\"").computed();
    schema_of(block_of("Manages rules.", vec![id], vec![rule]))
}

/// The schema of one of many resources: ten attributes and a block of three.
pub(crate) fn usual_schema(number: usize) -> tfplugin6::Schema {
    let body = block_of("One of the parts.", attributes(number, 3), Vec::new());
    let part = nested("part".to_owned(), NestingMode::List, 0, body);
    let mut top = vec![Attribute::new("id", "\"string\"").computed()];
    top.extend(attributes(number, 9));
    schema_of(block_of("Manages a resource.", top, vec![part]))
}

/// The type name of one of many resources.
pub(crate) fn type_name(number: usize) -> String {
    let (first, second) = (FIRST[number % FIRST.len()], SECOND[number / FIRST.len() % SECOND.len()]);
    format!("{PACKAGE}_{first}_{second}_{}", number / FIRST.len() / SECOND.len() + 1)
}

const FIRST: [&str; 12] = [
    "access", "backup", "cluster", "delivery", "endpoint", "firewall", "gateway", "health", "image", "job",
    "key", "log",
];
const SECOND: [&str; 11] = [
    "address",
    "class",
    "group",
    "identifier",
    "interval",
    "location",
    "policy",
    "protocol",
    "status",
    "type",
    "zone",
];

fn attributes(from: usize, count: usize) -> Vec<Attribute> {
    let one = |number: usize| {
        let kind = match number % 12 {
            3 => "\"bool\"",
            5 | 9 => "\"number\"",
            7 => "[\"list\",\"string\"]",
            8 => "[\"set\",\"string\"]",
            11 => "[\"map\",\"string\"]",
            _ => "\"string\"",
        };
        let name = format!("{}_{}", FIRST[number % FIRST.len()], SECOND[number % SECOND.len()]);
        let attribute = Attribute::new(&name, kind);
        match number % 10 {
            1 => attribute.required(),
            4 => attribute.computed(),
            6 => attribute.sensitive(),
            8 => attribute.optional_and_computed(),
            _ => attribute,
        }
    };
    // The two counts have no common factor, so that the names differ.
    assert!(count <= FIRST.len() * SECOND.len(), "no two have one name");
    (from..from + count).map(one).collect()
}

/// An optional attribute, until it is something else.
type Attribute = tfplugin6::schema::Attribute;

/// What an attribute is.
trait Described: Sized {
    fn new(name: &str, kind: &str) -> Self;
    fn required(self) -> Self;
    fn computed(self) -> Self;
    fn optional_and_computed(self) -> Self;
    fn sensitive(self) -> Self;
}

impl Described for Attribute {
    fn new(name: &str, kind: &str) -> Self {
        Self {
            name: name.to_owned(),
            r#type: kind.to_owned().into(),
            description: format!("The {} to use. Conflicts with `{name}_list`.", name.replace('_', " ")),
            description_kind: tfplugin6::StringKind::Markdown.into(),
            optional: true,
            ..Self::default()
        }
    }

    fn required(self) -> Self {
        Self { required: true, optional: false, ..self }
    }

    fn computed(self) -> Self {
        Self { computed: true, optional: false, ..self }
    }

    fn optional_and_computed(self) -> Self {
        Self { computed: true, ..self }
    }

    fn sensitive(self) -> Self {
        Self { sensitive: true, ..self }
    }
}

fn block_of(
    description: &str,
    attributes: Vec<Attribute>,
    blocks: Vec<tfplugin6::schema::NestedBlock>,
) -> tfplugin6::schema::Block {
    tfplugin6::schema::Block {
        attributes,
        block_types: blocks,
        description: description.to_owned(),
        description_kind: tfplugin6::StringKind::Markdown.into(),
        ..Default::default()
    }
}

fn nested(
    name: String,
    nesting: NestingMode,
    most: i64,
    body: tfplugin6::schema::Block,
) -> tfplugin6::schema::NestedBlock {
    tfplugin6::schema::NestedBlock {
        type_name: name,
        block: Some(body),
        nesting: nesting.into(),
        min_items: 0,
        max_items: most,
    }
}

fn schema_of(block: tfplugin6::schema::Block) -> tfplugin6::Schema {
    tfplugin6::Schema { version: 1, block: Some(block) }
}
