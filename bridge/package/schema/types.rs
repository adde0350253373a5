//! Named types: every object below a property becomes a type of the package.
//!
//! A type's name is its path: the resource's name and then, for each level, the property's in title
//! case, in the singular for a list. The same object is used as input and as output with different
//! required properties; a type has only one list of these, so the other one goes into a hint for
//! the generator of Node.js SDKs, as generators expect it.
//!
//! If several different objects have the same name, the last one has it, and the others get numbers:
//! the Go bridge silently keeps the last one alone. Last is by the names of the members, and within a
//! member an object comes before the objects in it, and these by their Terraform names. So names
//! are claimed backwards.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::catalogue::Package;
use super::super::shape::{Field, ObjectShape, ResourceShape, Shape};
use super::docs::{Names, clean, comment, deprecation};
use super::document::{Fragments, ObjectType, Properties, Property, Type, raw};
use super::language::Classes;
use crate::names::casing::title;
use crate::names::inflector::singularize;
use crate::names::tokens::member_name;

/// The owner of a type, which determines its module and its main side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A resource: inputs are the main side.
    Resource,
    /// The provider as a resource: there are inputs only.
    Provider,
    /// A data source: outputs are the main side.
    DataSource,
    /// A configuration variable: there are outputs only.
    Config,
}

/// The named types of a package, as they are found.
#[derive(Debug)]
pub(super) struct Types<'a> {
    package: &'a Package,
    /// Names of the types of objects in the arguments of functions, with these types.
    pub(super) in_arguments: Properties,
    /// By token.
    types: Fragments,
    /// The token of each object, by address.
    tokens: HashMap<Place, String>,
    /// The objects by token in lower case: tokens must differ in more than case.
    claims: HashMap<String, Option<Claim>>,
}

/// The names of the types of one member's objects, as SDKs have them. Where members of a package would have types of the
/// same name, one of these is numbered in an SDK, which is only known from the whole package.
#[derive(Debug)]
pub struct TypeNames<'a>(Types<'a>);

impl<'a> TypeNames<'a> {
    /// Of a resource.
    pub fn of_resource(package: &'a Package, shape: &ResourceShape) -> Self {
        Self::new(package, Owner::Resource, member_name(&shape.token), shape)
    }

    /// Of a data source, an ephemeral resource or an action.
    pub fn of_data_source(package: &'a Package, shape: &ResourceShape) -> Self {
        Self::new(package, Owner::DataSource, member_name(&shape.token), shape)
    }

    /// Of an explicit provider's inputs.
    pub fn of_provider(package: &'a Package, shape: &ResourceShape) -> Self {
        Self::new(package, Owner::Provider, "Provider", shape)
    }

    fn new(package: &'a Package, owner: Owner, name: &str, shape: &ResourceShape) -> Self {
        let mut types = Types::new(package);
        types.declare(owner, name, &shape.object.fields);
        Self(types)
    }

    /// The name of an object's type, which the member has.
    pub fn name(&self, object: &Arc<ObjectShape>) -> Option<&str> {
        self.0.tokens.get(&Place::of(object)).map(|token| member_name(token))
    }
}

/// An object's address as a number, which identifies it: each position in a schema has its own
/// object. It is only compared, and only while the object exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place(usize);

impl Place {
    fn of(object: &Arc<ObjectShape>) -> Self {
        Self(Arc::as_ptr(object).addr())
    }
}

#[derive(Debug)]
struct Claim {
    owner: Owner,
    /// The object's structure without its texts. The object itself is not retained: there are
    /// hundreds of thousands.
    likeness: Box<str>,
    token: String,
}

/// Objects that were just named.
#[derive(Debug)]
pub(super) struct Declared(Vec<Found>);

#[derive(Debug)]
struct Found {
    token: String,
    object: Arc<ObjectShape>,
    owner: Owner,
    in_inputs: bool,
}

/// The side on which a property is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Set by a program.
    Input,
    /// Set by the provider.
    Output,
}

impl Declared {
    pub(super) fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }
}

impl<'a> Types<'a> {
    pub(super) fn new(package: &'a Package) -> Self {
        Self {
            package,
            in_arguments: Properties::new(),
            types: BTreeMap::new(),
            tokens: HashMap::new(),
            claims: HashMap::new(),
        }
    }

    /// Names every object at and below `fields`, the properties of `name`. Returns those that are
    /// not described yet.
    pub(super) fn declare<'f>(
        &mut self,
        owner: Owner,
        name: &str,
        fields: impl IntoIterator<Item = &'f Field, IntoIter: DoubleEndedIterator>,
    ) -> Declared {
        let mut found = Vec::new();
        let fields = fields.into_iter().filter(|field| field.has_name() && field.shape.has_objects());
        for field in fields.rev() {
            let in_inputs = field.optional || field.required;
            // A configuration variable's type is named after the variable.
            let name = match owner {
                Owner::Config => field.pulumi.clone(),
                Owner::Resource | Owner::Provider | Owner::DataSource => below(name, field),
            };
            self.find(owner, &name, &field.shape, in_inputs, &mut found);
        }
        Declared(found)
    }

    /// Describes declared objects.
    pub(super) fn describe(&self, declared: &Declared, names: &Names<'_>) -> Vec<(String, Box<RawValue>)> {
        let describe = |found: &Found| (found.token.clone(), raw(&self.object(found, names)));
        declared.0.iter().map(describe).collect()
    }

    /// Adds the descriptions.
    pub(super) fn add(&mut self, described: Vec<(String, Box<RawValue>)>) {
        self.types.extend(described);
    }

    /// Declares, describes and adds a few objects.
    pub(super) fn declare_and_describe<'f>(
        &mut self,
        owner: Owner,
        name: &str,
        fields: impl IntoIterator<Item = &'f Field, IntoIter: DoubleEndedIterator>,
        names: &Names<'_>,
    ) {
        let declared = self.declare(owner, name, fields);
        self.add(self.describe(&declared, names));
    }

    /// Forgets the addresses of objects that are about to be freed, since others may reuse them.
    pub(super) fn forget_places(&mut self) {
        self.tokens.clear();
    }

    /// Claims `name` in the package's main module for a described type, and returns its token.
    pub(super) fn insert(&mut self, name: &str, described: ObjectType) -> String {
        let token = self.free_token("index", name);
        self.claims.insert(token.to_lowercase(), None);
        self.types.insert(token.clone(), raw(&described));
        token
    }

    /// The type of a property with this shape, whose objects are declared.
    pub(super) fn type_of(&self, shape: &Shape) -> Type {
        match shape {
            Shape::Bool => Type::simple("boolean"),
            Shape::Number => Type::simple("number"),
            Shape::String => Type::simple("string"),
            Shape::Dynamic => Type::any(),
            Shape::List(element) | Shape::Set(element) => Type::array(self.type_of(element)),
            // Dynamic values in maps have always been described as strings, and SDKs rely on it.
            Shape::Map(element) if matches!(**element, Shape::Dynamic) => Type::map(Type::simple("string")),
            Shape::Map(element) => Type::map(self.type_of(element)),
            Shape::FlattenedList(element) | Shape::FlattenedSet(element) => self.type_of(element),
            Shape::Object(object) => {
                self.tokens.get(&Place::of(object)).map_or_else(Type::any, |token| Type::named(token))
            }
            Shape::Tuple(_) => Type::array(Type::any()),
        }
    }

    /// A top-level property of a resource, a data source, the provider, or the configuration.
    pub(super) fn top_property(&self, field: &Field, classes: Classes<'_>, names: &Names<'_>) -> Property {
        let (text, kind) = names.property(&field.terraform, &field.description, field.description_kind);
        let text = clean(self.package, names, text, kind);
        let description = match (field.write_only, text.is_empty()) {
            (false, _) => text,
            (true, false) => format!("{WRITE_ONLY}{text}"),
            (true, true) => WRITE_ONLY.to_owned(),
        };
        self.property(field, description, classes)
    }

    /// The description of a resource, a data source or the provider's configuration.
    pub(super) fn documentation(&self, shape: &ResourceShape, names: &Names<'_>) -> String {
        let block = &shape.schema.block;
        let (text, kind) = names.description(&block.description, block.description_kind);
        comment(&clean(self.package, names, text, kind))
    }

    pub(super) fn finish(self) -> Fragments {
        self.types
    }

    fn find(&mut self, owner: Owner, name: &str, shape: &Shape, in_inputs: bool, found: &mut Vec<Found>) {
        match shape {
            Shape::Bool | Shape::Number | Shape::String | Shape::Dynamic | Shape::Tuple(_) => {}
            Shape::List(element)
            | Shape::Set(element)
            | Shape::Map(element)
            | Shape::FlattenedList(element)
            | Shape::FlattenedSet(element) => self.find(owner, name, element, in_inputs, found),
            Shape::Object(object) => {
                let name = self.claim(owner, name, object, in_inputs, found);
                for field in object.named().filter(|field| field.shape.has_objects()).rev() {
                    self.find(owner, &below(&name, field), &field.shape, in_inputs, found);
                }
            }
        }
    }

    /// Claims the token of `name` for `object`, numbered if a different object has it, and returns
    /// the name.
    fn claim(
        &mut self,
        owner: Owner,
        name: &str,
        object: &Arc<ObjectShape>,
        in_inputs: bool,
        found: &mut Vec<Found>,
    ) -> String {
        let module = if owner == Owner::Config { "config" } else { "index" };
        let wanted = self.token(module, name).to_lowercase();
        let likeness = likeness(object);
        let (token, new) = match self.claims.get(&wanted) {
            Some(Some(claim)) if claim.owner == owner && *claim.likeness == *likeness => {
                (claim.token.clone(), false)
            }
            _ => (self.free_token(module, name), true),
        };
        self.tokens.insert(Place::of(object), token.clone());
        let name = token.rsplit(':').next().unwrap_or_default().to_owned();
        if new {
            let claim = Claim { owner, likeness: likeness.into(), token: token.clone() };
            self.claims.insert(token.to_lowercase(), Some(claim));
            found.push(Found { token, object: Arc::clone(object), owner, in_inputs });
        }
        name
    }

    fn free_token(&self, module: &str, name: &str) -> String {
        let numbered = (2_u64..).map(|number| format!("{name}{number}"));
        std::iter::once(name.to_owned())
            .chain(numbered)
            .map(|name| self.token(module, &name))
            .find(|token| !self.claims.contains_key(&token.to_lowercase()))
            .unwrap_or_else(|| self.token(module, name))
    }

    fn token(&self, module: &str, name: &str) -> String {
        format!("{}:{module}/{name}:{name}", self.package.identity().name)
    }

    fn object(&self, found: &Found, names: &Names<'_>) -> ObjectType {
        let Found { token, object, owner, in_inputs } = found;
        let (owner, in_inputs) = (*owner, *in_inputs);
        // A resource's outputs are inputs too: of its state.
        let is_input = match owner {
            Owner::Resource | Owner::Provider => true,
            Owner::DataSource | Owner::Config => in_inputs,
        };
        let inputs = object.named().filter(|_| is_input);
        let classes = Classes::of_type(member_name(token), is_input).with_inputs(inputs);
        let required = |side| required(object.named(), side);
        let (inputs, outputs) = (required(Side::Input), required(Side::Output));
        let as_set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        let (required, hint, other) = match owner {
            Owner::Resource => (inputs, "requiredOutputs", as_set(&outputs)),
            Owner::Provider => (inputs, "requiredOutputs", BTreeSet::new()),
            Owner::DataSource if in_inputs => (outputs, "requiredInputs", as_set(&inputs)),
            Owner::DataSource | Owner::Config => (outputs, "requiredInputs", BTreeSet::new()),
        };
        let property = |field: &Field| self.nested_property(field, classes, names);
        let properties = object.named().map(|field| (field.pulumi.clone(), property(field)));
        let mut described = ObjectType::new(properties.collect::<Properties>(), required);
        if as_set(&described.required) != other {
            described.language.insert("nodejs", nodejs_hint(hint, other));
        }
        described
    }

    fn nested_property(&self, field: &Field, classes: Classes<'_>, names: &Names<'_>) -> Property {
        let text = clean(self.package, names, &field.description, field.description_kind);
        let note = if field.write_only { WRITE_ONLY } else { "" };
        self.property(field, comment(&format!("{note}{text}")), classes)
    }

    fn property(&self, field: &Field, description: String, classes: Classes<'_>) -> Property {
        Property {
            of: self.type_of(&field.shape).known_in_go(),
            description,
            deprecation_message: field.deprecated.as_deref().map_or_else(String::new, deprecation),
            secret: field.is_secret(),
            language: classes.language(field),
        }
    }
}

/// The Pulumi names of required fields, ordered by Terraform name.
pub(super) fn required<'f>(fields: impl Iterator<Item = &'f Field>, side: Side) -> Vec<String> {
    fields.filter(|field| !is_optional(field, side)).map(|field| field.pulumi.clone()).collect()
}

/// Whether the field is optional on this side.
pub(super) fn is_optional(field: &Field, side: Side) -> bool {
    match side {
        Side::Input => field.optional || field.computed,
        Side::Output => field.optional && !field.computed,
    }
}

/// The name of the type of property `field` of `name`.
fn below(name: &str, field: &Field) -> String {
    let several = matches!(field.shape, Shape::List(_) | Shape::Set(_));
    let singular = if several { singularize(&field.pulumi) } else { field.pulumi.clone() };
    format!("{name}{}", title(&singular))
}

fn nodejs_hint(key: &str, names: BTreeSet<String>) -> Value {
    json!({ key: names })
}

/// A text that is equal for two objects exactly if their descriptions are equal but for texts.
fn likeness(object: &ObjectShape) -> String {
    let mut text = String::new();
    write_object(&mut text, object);
    text
}

fn write_object(text: &mut String, object: &ObjectShape) {
    text.push('{');
    for field in &object.fields {
        // Quotation marks delimit names unambiguously.
        let _ = write!(text, "{:?}", field.pulumi);
        let flags = [
            (field.required, 'r'),
            (field.optional, 'o'),
            (field.computed, 'c'),
            (field.sensitive, 's'),
            (field.write_only, 'w'),
        ];
        text.extend(flags.into_iter().filter_map(|(set, letter)| set.then_some(letter)));
        text.push(':');
        write_shape(text, &field.shape);
    }
    text.push('}');
}

fn write_shape(text: &mut String, shape: &Shape) {
    let (letter, element) = match shape {
        Shape::Bool => ('b', None),
        Shape::Number => ('n', None),
        Shape::String => ('t', None),
        Shape::Dynamic => ('d', None),
        Shape::Tuple(_) => ('u', None),
        Shape::List(element) | Shape::Set(element) => ('l', Some(element)),
        Shape::Map(element) => ('m', Some(element)),
        Shape::FlattenedList(element) | Shape::FlattenedSet(element) => ('f', Some(element)),
        Shape::Object(object) => return write_object(text, object),
    };
    text.push(letter);
    if let Some(element) = element {
        write_shape(text, element);
    }
}

/// Prefix of the description of a property that is never read back.
const WRITE_ONLY: &str = "**NOTE:** This field is write-only and its value will not be updated in state as part of read operations.\n";
