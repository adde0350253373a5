//! The changed property paths of a resource.
//!
//! Compares the prior object with the planned one. Engines show the old value from the stored
//! outputs and the new one from the program's inputs, both at the same path. So an index is that of
//! the program's list for additions and updates, and that of the stored list for deletions: for a
//! set, a user sees no other order.

use std::collections::BTreeMap;

use isthmus_cty::Value;
use isthmus_proto::property::{Struct, Value as Property};

use super::ChangeKind;
use super::elements::{self, ElementChange};
use isthmus_package::shape::{ObjectShape, Shape};
use isthmus_translate::property::{PropertyView, unwrap};
use isthmus_translate::property_path::{PropertyPath, PropertyStep};
use isthmus_translate::set_matching::match_elements;

/// The changes from `prior` to `planned`, which must be objects of the shape: each path once, and
/// none within another. Sets are compared without order.
///
/// `olds` are the stored outputs, `news` the program's inputs, which determine the indices of
/// elements.
pub(in crate::resource) fn changes(
    shape: &ObjectShape,
    prior: &Value,
    planned: &Value,
    olds: &Struct,
    news: &Struct,
) -> BTreeMap<PropertyPath, ChangeKind> {
    let mut walk = Walk { path: Vec::new(), changes: BTreeMap::new() };
    walk.object(shape, [prior, planned], [Some(olds), Some(news)]);
    walk.changes
}

/// The old one and the new one.
type Both<T> = [T; 2];

struct Walk {
    path: Vec<PropertyStep>,
    changes: BTreeMap<PropertyPath, ChangeKind>,
}

impl Walk {
    fn object(&mut self, shape: &ObjectShape, values: Both<&Value>, bags: Both<Option<&Struct>>) {
        for field in &shape.fields {
            let values = values.map(|value| value.attribute(&field.terraform).unwrap_or(&Value::Null));
            let properties = bags.map(|bag| bag?.get(&field.pulumi));
            let step = PropertyStep::Name(field.pulumi.clone());
            self.step(step, &field.shape, values, properties, field.is_block);
        }
    }

    fn step(
        &mut self,
        step: PropertyStep,
        shape: &Shape,
        values: Both<&Value>,
        properties: Both<Option<&Property>>,
        is_block: bool,
    ) {
        self.path.push(step);
        self.value(shape, values, properties, is_block);
        self.path.pop();
    }

    fn value(
        &mut self,
        shape: &Shape,
        values: Both<&Value>,
        properties: Both<Option<&Property>>,
        is_block: bool,
    ) {
        let [prior, planned] = values;
        if prior == planned && planned.is_wholly_known() {
            return;
        }
        // An absent block is an empty list for Terraform, and no property for a program.
        let [was_absent, will_be_absent] = values.map(|value| is_absent(value, is_block));
        match (was_absent, will_be_absent) {
            (true, true) => return,
            (true, false) => return self.note(ChangeKind::Add),
            (false, true) => return self.note(ChangeKind::Delete),
            (false, false) => {}
        }
        if !prior.is_known() || !planned.is_known() {
            return self.note(ChangeKind::Update);
        }
        match shape {
            Shape::Object(object) => self.object(object, values, properties.map(bag_of)),
            Shape::Map(element) => self.entries(values, properties, |_| element),
            Shape::Dynamic => self.dynamic(values, properties),
            Shape::List(element) => self.list(element, values, properties),
            Shape::Set(element) => self.set(element, values, properties),
            Shape::FlattenedList(element) | Shape::FlattenedSet(element) => {
                match values.map(|value| value.elements().and_then(<[Value]>::first)) {
                    [Some(prior), Some(planned)] => self.value(element, [prior, planned], properties, false),
                    _ => self.note(ChangeKind::Update),
                }
            }
            Shape::Tuple(_) | Shape::Bool | Shape::Number | Shape::String => self.note(ChangeKind::Update),
        }
    }

    /// Maps, and objects without a shape: by key.
    fn entries<'a>(
        &mut self,
        values: Both<&Value>,
        properties: Both<Option<&Property>>,
        element: impl Fn(&str) -> &'a Shape,
    ) {
        let [Some(prior), Some(planned)] = values.map(Value::entries) else {
            return self.note(ChangeKind::Update);
        };
        let bags = properties.map(bag_of);
        let gone = prior.keys().filter(|key| !planned.contains_key(*key));
        for key in planned.keys().chain(gone) {
            let step = PropertyStep::Name(str::to_owned(key));
            let properties = bags.map(|bag| bag?.get(key));
            match [prior.get(key), planned.get(key)] {
                [Some(was), Some(will_be)] => {
                    self.step(step, element(key), [was, will_be], properties, false)
                }
                [was, _] => {
                    self.note_at(step, if was.is_some() { ChangeKind::Delete } else { ChangeKind::Add })
                }
            }
        }
    }

    /// Dynamic values are compared in detail if both sides are of the same kind.
    fn dynamic(&mut self, values: Both<&Value>, properties: Both<Option<&Property>>) {
        match values.map(Value::inner) {
            [Value::Map(_) | Value::Object(_), Value::Map(_) | Value::Object(_)] => {
                self.entries(values, properties, |_| &Shape::Dynamic);
            }
            [Value::List(_) | Value::Tuple(_), Value::List(_) | Value::Tuple(_)] => {
                self.list(&Shape::Dynamic, values, properties);
            }
            _ => self.note(ChangeKind::Update),
        }
    }

    fn list(&mut self, shape: &Shape, values: Both<&Value>, properties: Both<Option<&Property>>) {
        let [Some(prior), Some(planned)] = values.map(Value::elements) else {
            return self.note(ChangeKind::Update);
        };
        let changes = elements::in_a_list(prior, planned);
        self.elements(shape, [prior, planned], properties.map(list_of), changes);
    }

    fn set(&mut self, shape: &Shape, values: Both<&Value>, properties: Both<Option<&Property>>) {
        let [Some(prior), Some(planned)] = values.map(Value::elements) else {
            return self.note(ChangeKind::Update);
        };
        let lists = properties.map(list_of);
        let places = [match_elements(lists[0], prior, shape), match_elements(lists[1], planned, shape)];
        let changes = elements::in_a_set([prior, planned], &places);
        self.elements(shape, [prior, planned], lists, changes);
    }

    fn elements(
        &mut self,
        shape: &Shape,
        values: Both<&[Value]>,
        lists: Both<&[Property]>,
        changes: BTreeMap<usize, ElementChange>,
    ) {
        for (index, fate) in changes {
            let step = PropertyStep::Index(index);
            match fate {
                ElementChange::Added => self.note_at(step, ChangeKind::Add),
                ElementChange::Removed => self.note_at(step, ChangeKind::Delete),
                ElementChange::Changed { prior, planned } => {
                    let values = [&values[0][prior], &values[1][planned]];
                    let properties = lists.map(|list| list.get(index));
                    self.step(step, shape, values, properties, false);
                }
            }
        }
    }

    fn note(&mut self, kind: ChangeKind) {
        self.changes.insert(PropertyPath(self.path.clone()), kind);
    }

    fn note_at(&mut self, step: PropertyStep, kind: ChangeKind) {
        self.path.push(step);
        self.note(kind);
        self.path.pop();
    }
}

/// Whether Pulumi shows no property for the value.
fn is_absent(value: &Value, is_block: bool) -> bool {
    value.is_null() || (is_block && value.elements().is_some_and(<[Value]>::is_empty))
}

fn bag_of(property: Option<&Property>) -> Option<&Struct> {
    match unwrap(property?) {
        Ok((PropertyView::Object(bag), _)) => Some(bag),
        _ => None,
    }
}

fn list_of(property: Option<&Property>) -> &[Property] {
    match property.map(unwrap) {
        Some(Ok((PropertyView::List(elements), _))) => elements,
        _ => &[],
    }
}

#[cfg(test)]
mod tests;
