//! Properties that a program sets and should not: deprecated and read-only ones.

use isthmus_cty::{AttributePath, PathStep};
use isthmus_proto::property::{Struct, Value};

use crate::property::{self, PropertyView};
use crate::property_path::{PropertyPath, PropertyStep};
use isthmus_package::shape::{Field, ObjectShape, Shape};

/// Limit of the result, as lists may be long.
const MAXIMUM: usize = 100;

/// A property that is set.
#[derive(Clone, Debug)]
pub struct SetProperty<'a> {
    /// Its attribute path. An element of a set is named by its index in the program's list.
    pub attribute: AttributePath,
    /// Its property path.
    pub property: PropertyPath,
    pub field: &'a Field,
}

/// The deprecated properties that are set (null is not), at every level except within one another;
/// the first hundred.
pub fn deprecated<'a>(inputs: &Struct, shape: &'a ObjectShape) -> Vec<SetProperty<'a>> {
    find(inputs, shape, |field| field.deprecated.is_some())
}

/// The read-only properties that are set (null is not), at every level except within one another;
/// the first hundred.
pub fn read_only<'a>(inputs: &Struct, shape: &'a ObjectShape) -> Vec<SetProperty<'a>> {
    find(inputs, shape, |field| field.computed && !field.optional && !field.required && !field.is_block)
}

fn find<'a>(
    inputs: &Struct,
    shape: &'a ObjectShape,
    is_wanted: impl Fn(&Field) -> bool,
) -> Vec<SetProperty<'a>> {
    let mut walk = Walk { is_wanted, attribute: Vec::new(), property: Vec::new(), found: Vec::new() };
    walk.object(inputs, shape);
    walk.found
}

struct Walk<'a, Wanted> {
    is_wanted: Wanted,
    /// The current position, on both sides.
    attribute: Vec<PathStep>,
    property: Vec<PropertyStep>,
    found: Vec<SetProperty<'a>>,
}

impl<'a, Wanted: Fn(&Field) -> bool> Walk<'a, Wanted> {
    fn object(&mut self, bag: &Struct, shape: &'a ObjectShape) {
        for (name, value) in bag.iter() {
            let Some(field) = shape.pulumi(name) else { continue };
            let Ok((view, _)) = property::unwrap(value) else { continue };
            if matches!(view, PropertyView::Null) || self.found.len() >= MAXIMUM {
                continue;
            }
            self.attribute.push(PathStep::Attribute(field.terraform.clone()));
            self.property.push(PropertyStep::Name(name.to_owned()));
            if (self.is_wanted)(field) {
                self.found.push(SetProperty {
                    attribute: AttributePath(self.attribute.clone()),
                    property: PropertyPath(self.property.clone()),
                    field,
                });
            } else {
                self.value(&view, &field.shape);
            }
            self.property.pop();
            self.attribute.pop();
        }
    }

    fn value(&mut self, view: &PropertyView<'_>, shape: &'a Shape) {
        match (shape, view) {
            (Shape::Object(object), PropertyView::Object(bag)) => self.object(bag, object),
            (Shape::Map(element), PropertyView::Object(bag)) if element.has_objects() => {
                for (key, value) in bag.iter() {
                    self.element(
                        PathStep::Key(key.into()),
                        PropertyStep::Name(key.to_owned()),
                        value,
                        element,
                    );
                }
            }
            (Shape::List(element) | Shape::Set(element), PropertyView::List(values))
                if element.has_objects() =>
            {
                for (index, value) in values.iter().enumerate() {
                    self.element(PathStep::Index(index), PropertyStep::Index(index), value, element);
                }
            }
            (Shape::FlattenedList(element) | Shape::FlattenedSet(element), view) => {
                self.attribute.push(PathStep::Index(0));
                self.value(view, element);
                self.attribute.pop();
            }
            _ => {}
        }
    }

    fn element(&mut self, attribute: PathStep, property: PropertyStep, value: &Value, shape: &'a Shape) {
        if let Ok((view, _)) = property::unwrap(value) {
            self.attribute.push(attribute);
            self.property.push(property);
            self.value(&view, shape);
            self.property.pop();
            self.attribute.pop();
        }
    }
}
