//! Properties of a page: a field of a shape, with what a reader wants to know of it.

use std::sync::LazyLock;

use isthmus_provider::schema::TextKind;
use regex::Regex;

use isthmus_package::catalogue::Package;
use isthmus_package::function::FunctionParameter;
use isthmus_package::schema::{Names, documentation};
use isthmus_package::shape::{Field, Shape};

/// Properties of one page, nested ones included. Some resources nest so deeply that they have hundreds of thousands, which no
/// browser shows in a page.
const MOST: usize = 4000;

/// A property, an argument or a value of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Pulumi's name.
    pub name: String,
    /// Terraform's name.
    pub terraform: String,
    /// In words: `list of string`.
    pub type_text: String,
    pub is_block: bool,
    /// A program must set it.
    pub required: bool,
    /// A program can set it.
    pub is_input: bool,
    /// The provider can set it.
    pub computed: bool,
    /// Its value is encrypted in the state.
    pub secret: bool,
    /// It is sent to the provider, and never read back.
    pub write_only: bool,
    /// A change replaces the resource, as the description says. Schemas do not: only a plan of the provider does.
    pub replaces: bool,
    /// Named after the resource if it is not set.
    pub autonamed: bool,
    /// The provider's message, which may be empty.
    pub deprecated: Option<String>,
    /// Markdown in Pulumi's names, not sanitised.
    pub description: String,
    pub nested: Vec<Self>,
    /// Nested properties that are left out, because the page has too many.
    pub left_out: usize,
}

impl Property {
    /// What is to be said of it, in words.
    pub(super) fn flags(&self) -> Vec<&'static str> {
        let flags = [
            (self.required, "required"),
            (self.is_input && !self.required && !self.autonamed, "optional"),
            (self.autonamed, "autonamed"),
            (self.computed, "computed"),
            (self.secret, "secret"),
            (self.write_only, "write-only"),
            (self.replaces, "replaces"),
            (self.deprecated.is_some(), "deprecated"),
        ];
        flags.into_iter().filter(|(holds, _)| *holds).map(|(_, name)| name).collect()
    }
}

/// Makes the properties of a page.
#[derive(Debug)]
pub(super) struct Properties<'a, 'n> {
    package: &'a Package,
    names: &'a Names<'n>,
    room: usize,
}

impl<'a, 'n> Properties<'a, 'n> {
    pub(super) fn new(package: &'a Package, names: &'a Names<'n>) -> Self {
        Self { package, names, room: MOST }
    }

    /// The properties of `fields`, required ones first, then by name.
    pub(super) fn of<'f>(&mut self, fields: impl IntoIterator<Item = &'f Field>) -> Vec<Property> {
        let mut properties: Vec<Property> = fields.into_iter().map(|field| self.property(field)).collect();
        properties.sort_by(|one, other| (!one.required, &one.name).cmp(&(!other.required, &other.name)));
        properties
    }

    /// A function's parameter; `takes_rest` is a variadic one, which is a list.
    pub(super) fn parameter(&mut self, parameter: &FunctionParameter, takes_rest: bool) -> Property {
        let one = type_text(&parameter.shape);
        let (nested, left_out) = self.nested(&parameter.shape);
        Property {
            name: parameter.sdk_name.clone(),
            terraform: parameter.terraform.clone(),
            type_text: if takes_rest { format!("list of {one}") } else { one },
            required: parameter.required,
            is_input: true,
            nested,
            left_out,
            ..self.plain(&parameter.description, parameter.description_kind)
        }
    }

    /// A result that is no object.
    pub(super) fn result(&mut self, shape: &Shape) -> Property {
        let (nested, left_out) = self.nested(shape);
        Property {
            name: "result".to_owned(),
            type_text: type_text(shape),
            nested,
            left_out,
            ..self.plain("", TextKind::Plain)
        }
    }

    fn plain(&self, description: &str, kind: TextKind) -> Property {
        Property {
            name: String::new(),
            terraform: String::new(),
            type_text: String::new(),
            is_block: false,
            required: false,
            is_input: false,
            computed: false,
            secret: false,
            write_only: false,
            replaces: false,
            autonamed: false,
            deprecated: None,
            description: documentation(self.package, self.names, description, kind),
            nested: Vec::new(),
            left_out: 0,
        }
    }

    fn property(&mut self, field: &Field) -> Property {
        self.room = self.room.saturating_sub(1);
        let (nested, left_out) = self.nested(&field.shape);
        Property {
            name: field.pulumi.clone(),
            terraform: field.terraform.to_string(),
            type_text: type_text(&field.shape),
            is_block: field.is_block,
            required: field.required && !field.computed,
            is_input: field.required || field.optional,
            computed: field.computed,
            secret: field.sensitive || field.write_only,
            write_only: field.write_only,
            replaces: says_replaced(&field.description),
            deprecated: field.deprecated.clone(),
            nested,
            left_out,
            ..self.plain(&field.description, field.description_kind)
        }
    }

    fn nested(&mut self, shape: &Shape) -> (Vec<Property>, usize) {
        match shape.object() {
            None => (Vec::new(), 0),
            Some(object) if object.fields.len() > self.room => (Vec::new(), object.fields.len()),
            Some(object) => (self.of(object.named()), 0),
        }
    }
}

/// A type in words.
pub fn type_text(shape: &Shape) -> String {
    match shape {
        Shape::Bool => "boolean".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::String => "string".to_owned(),
        Shape::Dynamic => "any".to_owned(),
        Shape::Object(_) => "object".to_owned(),
        Shape::List(element) => format!("list of {}", type_text(element)),
        Shape::Set(element) => format!("set of {}", type_text(element)),
        Shape::Map(element) => format!("map of {}", type_text(element)),
        Shape::FlattenedList(element) | Shape::FlattenedSet(element) => type_text(element),
        Shape::Tuple(elements) => {
            let elements: Vec<String> = elements.iter().map(type_text).collect();
            format!("list of [{}]", elements.join(", "))
        }
    }
}

/// Whether a description says that a change replaces the resource, in one of the forms that providers have for it.
fn says_replaced(description: &str) -> bool {
    static FORMS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i-u)forces? (?:a )?(?:new|replacement|re-?creation)|changing this (?:value |field |attribute )?(?:will )?(?:(?:force|trigger|cause)s?|re-?creates?|replaces?)|(?:require|trigger|cause)s? (?:a )?(?:replacement|re-?creation)|requires? replac",
        )
        .expect("the pattern of this file is valid")
    });
    FORMS.is_match(description)
}

#[cfg(test)]
mod tests {
    use isthmus_proto::tfplugin6::schema::nested_block::NestingMode;

    use super::*;
    use isthmus_package::testing::{attribute, block, body, package_with, required, schema};

    #[test]
    fn what_the_description_says_of_replacement_is_read() {
        for text in [
            "The name. Changing this forces a new resource to be created.",
            "The length (forces replacement).",
            "Changing this value will recreate the secret",
            "Updating it triggers a replacement.",
            "Forces new resource",
        ] {
            assert!(says_replaced(text), "{text}");
        }
        for text in ["Force deletes the new one", "A new resource", "The replacement text", ""] {
            assert!(!says_replaced(text), "{text}");
        }
    }

    #[test]
    fn types_are_in_words_and_objects_have_their_properties() {
        let rule =
            body(vec![attribute("ports", "[\"set\",\"number\"]"), required("to", "\"string\"")], vec![]);
        let thing = schema(
            vec![attribute("tags", "[\"map\",[\"list\",\"bool\"]]"), attribute("any", "\"dynamic\"")],
            vec![block("rule", NestingMode::List, (1, 0), rule)],
        );
        let package = package_with(schema(vec![], vec![]), vec![("test_thing", thing)], vec![], vec![]);
        let shape = package.resource("test_thing").expect("a resource");
        let properties = Properties::new(&package, &Names::default()).of(&shape.object.fields);
        let shown: Vec<_> = properties
            .iter()
            .map(|property| (property.name.as_str(), property.type_text.as_str(), property.required))
            .collect();
        assert_eq!(
            shown,
            [
                ("rules", "list of object", true),
                ("any", "any", false),
                ("tags", "map of list of boolean", false)
            ]
        );
        let nested: Vec<_> = properties[0]
            .nested
            .iter()
            .map(|property| (property.terraform.as_str(), property.type_text.as_str()))
            .collect();
        assert_eq!(nested, [("to", "string"), ("ports", "set of number")]);
    }
}
