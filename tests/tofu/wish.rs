//! What a resource should be: made up from its schema, changed step by step, and written in the words of both sides.
//!
//! A wish is a configuration without a language. What it does not mention is not written, in neither language. Values in it
//! may be outputs of another resource ([`Wishes::veil`]): a preview does not know them when that resource changes too.

use std::collections::BTreeMap;

use isthmus_package::shape::{Field, ObjectShape, ResourceShape, Shape};
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_translate::property::unknown;
use serde_json::{Map, Value as Json, json};

use crate::kinds::{Kind, Marker, Timeouts, Values};
use crate::lottery::Lottery;

/// A value that is written into a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wish {
    Bool(bool),
    /// In decimal.
    Number(String),
    Text(String),
    /// Of a list, a set or a tuple.
    List(Vec<Self>),
    /// Of an object (by Terraform's names) or a map.
    Members(Members),
    /// An output of another resource.
    Output {
        /// OpenTofu's expression for it.
        reference: String,
        /// The known value. Nothing: the output is null, and a Pulumi program then has no such property.
        value: Option<Box<Self>>,
    },
}

/// Values by name.
pub(crate) type Members = BTreeMap<String, Wish>;

/// Makes up what resources should be.
#[derive(Debug)]
pub(crate) struct Wishes<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) shape: &'a ResourceShape,
    /// What tells this resource from others.
    pub(crate) marker: &'a str,
}

const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "two words",
    "ünï",
    "e\u{301}",
    "日本",
    "${x}",
    "%{if y}",
    "$${z}",
    "line\nbreak",
    "1",
    "true",
    "null",
    "\"quoted\"",
    "back\\slash",
    "<&>",
    " blank ",
    "0.10",
];

impl Wishes<'_> {
    /// A new configuration.
    pub(crate) fn new_wish(&self, lottery: &mut Lottery) -> Members {
        let mut wish = self.object(&self.shape.object, lottery, 45, false);
        self.mark(&mut wish, lottery, true);
        wish
    }

    /// A new configuration of something that is not there yet, and which may fail to come into being.
    pub(crate) fn first_wish(&self, lottery: &mut Lottery) -> Members {
        let mut wish = self.new_wish(lottery);
        if let Marker::Name(name) = self.kind.marker
            && !self.kind.failing.is_empty()
            && lottery.percent(15)
            && let Some(Wish::Text(text)) = wish.get_mut(name)
        {
            text.insert_str(0, lottery.pick::<&str>(self.kind.failing));
        }
        wish
    }

    /// Another configuration, which differs in one or a few places.
    pub(crate) fn change(&self, wish: &Members, lottery: &mut Lottery) -> Members {
        let mut changed = wish.clone();
        for _ in 0..=lottery.below(3) {
            self.change_object(&self.shape.object, &mut changed, lottery, false);
        }
        let renames = lottery.percent(12);
        self.mark(&mut changed, lottery, renames);
        changed
    }

    /// The same configuration, with some of its values chosen by an output of another resource: by `choice`, an expression of
    /// OpenTofu's that is the number 0. What is chosen by a number that is unknown is unknown in type as well, as to Pulumi.
    pub(crate) fn veil(&self, wish: &Members, choice: &str, lottery: &mut Lottery) -> Members {
        Veil { wishes: self, choice, lottery }.members(wish, &self.shape.object, self.kind.complete)
    }

    fn mark(&self, wish: &mut Members, lottery: &mut Lottery, anew: bool) {
        let marker = self.marker;
        match self.kind.marker {
            Marker::Text(name) => {
                let is_marked = matches!(wish.get(name), Some(Wish::Text(text)) if text.starts_with(marker));
                if anew || !is_marked {
                    let text = format!("{marker} {}", lottery.pick(TEXTS));
                    wish.insert(name.to_owned(), Wish::Text(text));
                }
            }
            Marker::Name(name) => {
                let is_marked = matches!(wish.get(name), Some(Wish::Text(text)) if text.contains(marker));
                if anew || !is_marked {
                    let letter = lottery.pick(&["a", "b", "c"]);
                    wish.insert(name.to_owned(), Wish::Text(format!("{marker}{letter}")));
                }
            }
            Marker::None => {}
            Marker::Key(name) => {
                let map = wish.entry(name.to_owned()).or_insert_with(|| Wish::Members(Members::new()));
                if let Wish::Members(map) = map {
                    map.insert("marker".to_owned(), Wish::Text(marker.to_owned()));
                }
            }
        }
    }

    fn object(&self, shape: &ObjectShape, lottery: &mut Lottery, chance: usize, complete: bool) -> Members {
        let mut members = Members::new();
        for field in shape.fields.iter().filter(|field| self.can_be_set(field)) {
            if field.required || complete || lottery.percent(chance) {
                members.insert(field.terraform.to_string(), self.field(field, lottery));
            }
        }
        members
    }

    fn can_be_set(&self, field: &Field) -> bool {
        // An id that can be set is one of the older SDK, which says so of all ids and refuses all.
        let may_be = field.required || (field.optional && &*field.terraform != "id");
        may_be
            && (self.kind.timeouts != Timeouts::Unset || &*field.terraform != "timeouts")
            && !matches!(self.values_of(&field.terraform), Some(Values::Never))
    }

    fn values_of(&self, name: &str) -> Option<Values> {
        self.kind.values.iter().find(|(known, _)| *known == name).map(|(_, values)| *values)
    }

    fn field(&self, field: &Field, lottery: &mut Lottery) -> Wish {
        match &field.shape {
            Shape::Object(object) if &*field.terraform == "timeouts" => {
                Wish::Members(timeouts(object, self.kind.complete, lottery))
            }
            shape => {
                let wish = self.value(shape, &field.terraform, is_some(field), lottery);
                // Isthmus takes a text for secret that the provider's configuration has beside a secret.
                if self.kind.type_name.is_empty() { wish.only_here() } else { wish }
            }
        }
    }

    fn value(&self, shape: &Shape, name: &str, some: bool, lottery: &mut Lottery) -> Wish {
        match shape {
            Shape::Bool => Wish::Bool(lottery.percent(50)),
            Shape::Number => {
                let numbers = match self.values_of(name) {
                    Some(Values::Numbers(numbers)) => numbers,
                    _ => self.kind.numbers,
                };
                Wish::Number((*lottery.pick(numbers)).to_owned())
            }
            Shape::String => {
                let texts = match self.values_of(name) {
                    Some(Values::Texts(texts)) => texts,
                    _ => TEXTS,
                };
                Wish::Text((*lottery.pick(texts)).to_owned())
            }
            Shape::Dynamic => any_value(lottery, 2),
            Shape::List(element) | Shape::Set(element) => {
                let count = if some { 1 + lottery.below(2) } else { lottery.below(4) };
                Wish::List((0..count).map(|_| self.value(element, name, false, lottery)).collect())
            }
            Shape::FlattenedList(element) | Shape::FlattenedSet(element) => {
                Wish::List(vec![self.value(element, name, false, lottery)])
            }
            Shape::Map(element) => {
                let count = if some { 1 + lottery.below(2) } else { lottery.below(3) };
                let keys = ["a", "key two", "ünï", "${k}", "camelCase", "snake_case"];
                let entries = (0..count)
                    .map(|_| ((*lottery.pick(&keys)).to_owned(), self.value(element, name, false, lottery)));
                Wish::Members(entries.collect())
            }
            Shape::Object(object) => Wish::Members(self.object(object, lottery, 50, self.kind.complete)),
            Shape::Tuple(elements) => {
                Wish::List(elements.iter().map(|element| self.value(element, name, true, lottery)).collect())
            }
        }
    }

    fn change_object(
        &self,
        shape: &ObjectShape,
        members: &mut Members,
        lottery: &mut Lottery,
        complete: bool,
    ) {
        let fields: Vec<&Field> = shape.fields.iter().filter(|field| self.can_be_set(field)).collect();
        if fields.is_empty() {
            return;
        }
        let field = *lottery.pick(&fields);
        let name = field.terraform.as_ref();
        let removable = !field.required && !complete;
        match members.get_mut(name) {
            Some(_) if name == "timeouts" && self.kind.timeouts == Timeouts::Once => {}
            Some(_) if removable && lottery.percent(30) => drop(members.remove(name)),
            Some(value) if name == "timeouts" => *value = self.field(field, lottery),
            Some(value) if lottery.percent(70) => {
                self.change_value(&field.shape, name, is_some(field), value, lottery);
            }
            _ => drop(members.insert(name.to_owned(), self.field(field, lottery))),
        }
    }

    fn change_value(&self, shape: &Shape, name: &str, some: bool, value: &mut Wish, lottery: &mut Lottery) {
        match (shape, &mut *value) {
            (Shape::List(element) | Shape::Set(element), Wish::List(items)) => match lottery.below(5) {
                0 if items.len() < 3 => {
                    let at = lottery.below(items.len() + 1);
                    items.insert(at, self.value(element, name, false, lottery));
                }
                1 if items.len() > 1 || (!some && !items.is_empty()) => {
                    items.remove(lottery.below(items.len()));
                }
                // Only the order: of a set it is none.
                2 if items.len() > 1 => items.rotate_left(1),
                _ if !items.is_empty() => {
                    let at = lottery.below(items.len());
                    self.change_value(element, name, false, &mut items[at], lottery);
                }
                _ => *value = self.value(shape, name, some, lottery),
            },
            (Shape::FlattenedList(element) | Shape::FlattenedSet(element), Wish::List(items)) => {
                if let Some(item) = items.first_mut() {
                    self.change_value(element, name, false, item, lottery);
                }
            }
            (Shape::Map(element), Wish::Members(entries)) if !entries.is_empty() && lottery.percent(60) => {
                let keys: Vec<String> = entries.keys().cloned().collect();
                let key = lottery.pick(&keys).clone();
                let is_last = some && entries.len() == 1;
                match entries.get_mut(&key) {
                    Some(entry) if lottery.percent(60) => {
                        self.change_value(element, name, false, entry, lottery);
                    }
                    _ if is_last => {}
                    _ => drop(entries.remove(&key)),
                }
            }
            (Shape::Object(object), Wish::Members(members)) => {
                self.change_object(object, members, lottery, self.kind.complete);
            }
            _ => *value = self.value(shape, name, some, lottery),
        }
    }
}

/// Puts outputs in the places of values.
struct Veil<'a> {
    wishes: &'a Wishes<'a>,
    choice: &'a str,
    lottery: &'a mut Lottery,
}

impl Veil<'_> {
    /// How many of a hundred values are outputs.
    const CHANCE: usize = 12;

    fn members(&mut self, members: &Members, shape: &ObjectShape, complete: bool) -> Members {
        let mut veiled = Members::new();
        for field in shape.fields.iter().filter(|field| self.wishes.can_be_set(field)) {
            let name = &*field.terraform;
            let known = members.get(name);
            let value = match known {
                // Which resource a request is about is told by these; an engine has timeouts of its own.
                Some(known) if self.is_plain(name) => known.clone(),
                None if self.is_plain(name) => continue,
                Some(known)
                    if field.is_block && !has_labels(&field.shape) && self.lottery.percent(Self::CHANCE) =>
                {
                    self.blocks(known, &field.shape)
                }
                Some(known) if field.is_block => self.inside(known, &field.shape, true),
                Some(known) => self.value(known, &field.shape),
                None if complete || field.is_block || !self.lottery.percent(3) => continue,
                None => self.output(None, "null"),
            };
            veiled.insert(name.to_owned(), value);
        }
        veiled
    }

    fn is_plain(&self, name: &str) -> bool {
        match self.wishes.kind.marker {
            Marker::Text(marker) | Marker::Name(marker) | Marker::Key(marker) if marker == name => true,
            _ => name == "timeouts",
        }
    }

    fn output(&self, value: Option<&Wish>, expression: &str) -> Wish {
        let reference = format!("[{expression}][{}]", self.choice);
        Wish::Output { reference, value: value.cloned().map(Box::new) }
    }

    /// Blocks, of which a preview does not know how many there are.
    fn blocks(&self, known: &Wish, shape: &Shape) -> Wish {
        let expression = expression(known, shape);
        // OpenTofu repeats a block for each element.
        let is_single = matches!(shape, Shape::Object(_));
        self.output(Some(known), &if is_single { format!("[{expression}]") } else { expression })
    }

    fn value(&mut self, known: &Wish, shape: &Shape) -> Wish {
        if self.lottery.percent(Self::CHANCE) {
            return self.output(Some(known), &expression(known, shape));
        }
        self.inside(known, shape, false)
    }

    fn inside(&mut self, known: &Wish, shape: &Shape, is_block: bool) -> Wish {
        match (known, shape) {
            (
                Wish::List(items),
                Shape::List(element)
                | Shape::Set(element)
                | Shape::FlattenedList(element)
                | Shape::FlattenedSet(element),
            ) => Wish::List(items.iter().map(|item| self.element(item, element, is_block)).collect()),
            (Wish::List(items), Shape::Tuple(elements)) => {
                Wish::List(items.iter().zip(elements).map(|(item, shape)| self.value(item, shape)).collect())
            }
            (Wish::Members(entries), Shape::Map(element)) => {
                let entries =
                    entries.iter().map(|(key, entry)| (key.clone(), self.element(entry, element, is_block)));
                Wish::Members(entries.collect())
            }
            (Wish::Members(members), Shape::Object(object)) => {
                Wish::Members(self.members(members, object, self.wishes.kind.complete))
            }
            // The type of a list of which elements are unknown is unknown to OpenTofu's functions.
            (Wish::Members(members), Shape::Dynamic) => {
                let members =
                    members.iter().map(|(name, member)| (name.clone(), self.value(member, &Shape::Dynamic)));
                Wish::Members(members.collect())
            }
            (known, _) => known.clone(),
        }
    }

    /// An element of a collection. OpenTofu has no expression for a whole block. In an unknown object of nested attributes, the
    /// plugin framework misses what it requires and plans defaults, which core refuses; and OpenTofu takes a write-only
    /// attribute of it, which is as unknown, for one that the provider has returned.
    fn element(&mut self, known: &Wish, shape: &Shape, is_block: bool) -> Wish {
        let is_nested = matches!(shape, Shape::Object(object)
            if !self.wishes.kind.complete || object.fields.iter().any(|field| field.write_only));
        if is_block || is_nested { self.inside(known, shape, is_block) } else { self.value(known, shape) }
    }
}

/// Some timeouts, all of which are longer than anything takes; at least one: isthmus keeps a block with nothing in it that a
/// program has no more, which OpenTofu updates.
fn timeouts(shape: &ObjectShape, complete: bool, lottery: &mut Lottery) -> Members {
    let mut members = Members::new();
    let first = lottery.below(shape.fields.len());
    for (number, field) in shape.fields.iter().enumerate() {
        if complete || number == first || lottery.percent(50) {
            let text = lottery.pick(&["90s", "10m", "1h", "1h30m"]);
            members.insert(field.terraform.to_string(), Wish::Text((*text).to_owned()));
        }
    }
    members
}

/// Whether a field's collection cannot be empty. That of blocks with labels cannot be written with none.
fn is_some(field: &Field) -> bool {
    field.required || (field.is_block && matches!(field.shape, Shape::Map(_)))
}

/// Something for an attribute that takes anything.
fn any_value(lottery: &mut Lottery, depth: usize) -> Wish {
    match lottery.below(if depth == 0 { 3 } else { 5 }) {
        0 => Wish::Text((*lottery.pick(TEXTS)).to_owned()),
        1 => Wish::Number((*lottery.pick(&["0", "1", "-2.5", "0.1", "9007199254740991"])).to_owned()),
        2 => Wish::Bool(lottery.percent(50)),
        3 => Wish::List((0..lottery.below(3)).map(|_| any_value(lottery, depth - 1)).collect()),
        _ => {
            let keys = ["a", "b_c", "dE"];
            let count = lottery.below(3);
            Wish::Members((0..count).map(|at| (keys[at].to_owned(), any_value(lottery, depth - 1))).collect())
        }
    }
}

/// As OpenTofu's JSON has it, in which texts and keys are templates, but for the labels of blocks.
pub(crate) fn tofu_json(members: &Members, shape: &ObjectShape) -> Map<String, Json> {
    let mut arguments = Map::new();
    let mut repeated = Map::new();
    for (name, wish) in members {
        let field = shape.terraform(name).expect("a wish is made from the shape");
        match wish {
            Wish::Output { reference, .. } if field.is_block => {
                repeated.insert(name.clone(), repeated_block(reference, &field.shape, 0));
            }
            wish if field.is_block => {
                arguments.insert(name.clone(), tofu_blocks(wish, &field.shape));
            }
            wish => {
                arguments.insert(name.clone(), tofu_value(wish, &field.shape));
            }
        }
    }
    if !repeated.is_empty() {
        arguments.insert("dynamic".to_owned(), Json::Object(repeated));
    }
    arguments
}

/// A block for each element of a collection, as OpenTofu's language has it.
fn repeated_block(elements: &str, shape: &Shape, depth: usize) -> Json {
    let iterator = format!("block{depth}");
    let object = shape.object().expect("a block is an object");
    let mut content = Map::new();
    let mut nested = Map::new();
    for field in object.fields.iter().filter(|field| field.required || field.optional) {
        let name = &*field.terraform;
        let member = format!("{iterator}.value[{name:?}]");
        if !field.is_block {
            content.insert(name.to_owned(), json!(format!("${{try({member}, null)}}")));
            continue;
        }
        let elements = match &field.shape {
            Shape::Object(_) => format!("try([{member}], [])"),
            _ => format!("try({member}, [])"),
        };
        nested.insert(name.to_owned(), repeated_block(&elements, &field.shape, depth + 1));
    }
    if !nested.is_empty() {
        content.insert("dynamic".to_owned(), Json::Object(nested));
    }
    json!({"for_each": format!("${{{elements}}}"), "iterator": iterator, "content": content})
}

/// Whether there are labels on blocks, or on those in them. OpenTofu refuses unknown ones.
fn has_labels(shape: &Shape) -> bool {
    let inside = shape.object().into_iter().flat_map(|object| &object.fields);
    matches!(shape, Shape::Map(_))
        || inside.filter(|field| field.is_block).any(|field| has_labels(&field.shape))
}

fn tofu_blocks(wish: &Wish, shape: &Shape) -> Json {
    match (wish, shape) {
        (
            Wish::List(items),
            Shape::List(element)
            | Shape::Set(element)
            | Shape::FlattenedList(element)
            | Shape::FlattenedSet(element),
        ) => items.iter().map(|item| tofu_blocks(item, element)).collect(),
        (Wish::Members(blocks), Shape::Map(element)) => {
            let labelled = blocks.iter().map(|(label, block)| (label.clone(), tofu_blocks(block, element)));
            Json::Object(labelled.collect())
        }
        (Wish::Members(members), Shape::Object(object)) => Json::Object(tofu_json(members, object)),
        (wish, _) => panic!("no block is {wish:?}"),
    }
}

fn tofu_value(wish: &Wish, shape: &Shape) -> Json {
    match (wish, shape) {
        (wish, Shape::Dynamic) if wish.has_list() => {
            Json::String(format!("${{{}}}", expression(wish, &Shape::Dynamic)))
        }
        (Wish::Output { reference, .. }, _) => Json::String(format!("${{{reference}}}")),
        (Wish::Bool(truth), _) => Json::Bool(*truth),
        (Wish::Number(number), _) => serde_json::from_str(number).expect("a number is JSON"),
        (Wish::Text(text), _) => Json::String(template(text)),
        (Wish::List(items), Shape::List(element) | Shape::Set(element)) => {
            items.iter().map(|item| tofu_value(item, element)).collect()
        }
        (Wish::List(items), _) => items.iter().map(|item| tofu_value(item, &Shape::Dynamic)).collect(),
        (Wish::Members(members), shape) => {
            let members = members.iter().map(|(name, wish)| {
                let shape = match shape {
                    Shape::Object(object) => {
                        &object.terraform(name).expect("a wish is made from the shape").shape
                    }
                    Shape::Map(element) => element,
                    _ => &Shape::Dynamic,
                };
                (template(name), tofu_value(wish, shape))
            });
            Json::Object(members.collect())
        }
    }
}

/// As an expression of OpenTofu's language. Where nobody declares a type, what is written as a list is a tuple there; elements
/// of one type are a list to Pulumi's programs, for which an author in this language writes `tolist`.
fn expression(wish: &Wish, shape: &Shape) -> String {
    let text = |text: &str| serde_json::to_string(&template(text)).expect("a text is JSON");
    match wish {
        Wish::Bool(truth) => truth.to_string(),
        Wish::Number(number) => number.clone(),
        Wish::Text(content) => text(content),
        Wish::Output { reference, .. } => reference.clone(),
        Wish::List(items) => {
            let items = items.iter().enumerate().map(|(index, item)| {
                let shape = match shape {
                    Shape::Tuple(elements) => &elements[index],
                    _ => element_of(shape),
                };
                expression(item, shape)
            });
            let tuple = format!("[{}]", items.collect::<Vec<_>>().join(", "));
            let is_dynamic = matches!(shape, Shape::Dynamic);
            if is_dynamic && wish.is_of_one_type() { format!("tolist({tuple})") } else { tuple }
        }
        Wish::Members(members) => {
            let members = members.iter().map(|(name, wish)| {
                let shape = match shape {
                    Shape::Object(object) => &object.terraform(name).expect("a member of the schema").shape,
                    _ => element_of(shape),
                };
                format!("{} = {}", text(name), expression(wish, shape))
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The shape of what is in a collection, or in a block that is one of its kind.
fn element_of(shape: &Shape) -> &Shape {
    match shape {
        Shape::List(element)
        | Shape::Set(element)
        | Shape::Map(element)
        | Shape::FlattenedList(element)
        | Shape::FlattenedSet(element) => element,
        plain => plain,
    }
}

/// The configuration once all outputs are known.
pub(crate) fn known(members: &Members) -> Members {
    let known = members.iter().filter_map(|(name, wish)| Some((name.clone(), wish.known()?)));
    known.collect()
}

impl Wish {
    fn known(&self) -> Option<Self> {
        Some(match self {
            Self::Output { value, .. } => return value.as_deref().cloned(),
            Self::List(items) => Self::List(items.iter().filter_map(Self::known).collect()),
            Self::Members(members) => Self::Members(known(members)),
            plain => plain.clone(),
        })
    }

    /// The same with texts that are nowhere else.
    fn only_here(self) -> Self {
        match self {
            Self::Text(text) => Self::Text(format!("only here: {text}")),
            Self::List(items) => Self::List(items.into_iter().map(Self::only_here).collect()),
            Self::Members(members) => {
                let members = members.into_iter().map(|(name, member)| (name, member.only_here()));
                Self::Members(members.collect())
            }
            plain => plain,
        }
    }

    /// Whether there is a list in it, or it is one.
    pub(crate) fn has_list(&self) -> bool {
        match self {
            Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Output { .. } => false,
            Self::List(_) => true,
            Self::Members(members) => members.values().any(Self::has_list),
        }
    }

    /// Whether it is a list with elements, all of one type.
    fn is_of_one_type(&self) -> bool {
        match self {
            Self::List(items) => {
                let mut types = items.iter().map(Self::type_of);
                types.next().is_some_and(|first| types.all(|other| other == first))
            }
            Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Members(_) | Self::Output { .. } => false,
        }
    }

    /// The type that it has where nobody declares one, in words.
    fn type_of(&self) -> String {
        match self {
            Self::Bool(_) => "bool".to_owned(),
            Self::Number(_) => "number".to_owned(),
            Self::Text(_) => "text".to_owned(),
            Self::Output { reference, .. } => reference.clone(),
            Self::List(items) if self.is_of_one_type() => format!("list of {}", items[0].type_of()),
            Self::List(items) => format!("{:?}", items.iter().map(Self::type_of).collect::<Vec<_>>()),
            Self::Members(members) => {
                let types = members.iter().map(|(name, wish)| (name, wish.type_of()));
                format!("{:?}", types.collect::<BTreeMap<_, _>>())
            }
        }
    }
}

fn template(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}

/// As a Pulumi program has it in a preview that knows no output.
pub(crate) fn pulumi_inputs(members: &Members, shape: &ObjectShape) -> Struct {
    let inputs = members.iter().map(|(name, wish)| {
        let field = shape.terraform(name).expect("a wish is made from the shape");
        (field.pulumi.clone(), pulumi_value(wish, &field.shape))
    });
    inputs.collect()
}

fn pulumi_value(wish: &Wish, shape: &Shape) -> Property {
    match (wish, shape) {
        (Wish::Output { .. }, _) => unknown(),
        (Wish::Bool(truth), _) => Property::Bool(*truth),
        (Wish::Number(number), _) => Property::Number(number.parse().expect("a number")),
        (Wish::Text(text), _) => Property::String(text.clone()),
        (Wish::List(items), Shape::FlattenedList(element) | Shape::FlattenedSet(element)) => {
            items.first().map_or(Property::Null, |item| pulumi_value(item, element))
        }
        (Wish::List(items), Shape::List(element) | Shape::Set(element)) => {
            Property::List(items.iter().map(|item| pulumi_value(item, element)).collect())
        }
        (Wish::List(items), Shape::Tuple(elements)) => Property::List(
            items.iter().zip(elements).map(|(item, element)| pulumi_value(item, element)).collect(),
        ),
        (Wish::List(items), _) => {
            Property::List(items.iter().map(|item| pulumi_value(item, &Shape::Dynamic)).collect())
        }
        (Wish::Members(members), Shape::Object(object)) => Property::Struct(pulumi_inputs(members, object)),
        (Wish::Members(members), Shape::Map(element)) => Property::Struct(
            members.iter().map(|(key, wish)| (key.clone(), pulumi_value(wish, element))).collect(),
        ),
        (Wish::Members(members), _) => Property::Struct(
            members.iter().map(|(key, wish)| (key.clone(), pulumi_value(wish, &Shape::Dynamic))).collect(),
        ),
    }
}
