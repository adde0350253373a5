//! The schema of a resource on both sides: a row for each attribute or block, with its property.

use isthmus_cty::json::Json;

use isthmus_package::shape::{Field, IdRule, ResourceShape};
use isthmus_reference::type_text;

/// Rows at most. Some resources nest so deeply that they have hundreds of thousands of attributes.
const MOST: usize = 1000;

/// An attribute or block, and its property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SchemaRow {
    /// How many objects it is within.
    pub(super) depth: usize,
    pub(super) attribute: String,
    pub(super) attribute_type: String,
    /// `None`: it is the id, which is no property of its own.
    pub(super) property: Option<String>,
    pub(super) property_type: String,
    pub(super) required: bool,
    pub(super) optional: bool,
    pub(super) computed: bool,
    pub(super) sensitive: bool,
    pub(super) write_only: bool,
    pub(super) deprecated: bool,
}

/// The rows of a resource, and whether some are left out.
pub(super) fn schema_rows(shape: &ResourceShape) -> (Vec<SchemaRow>, bool) {
    let mut rows = Vec::new();
    let is_id = |field: &Field| shape.id == IdRule::Computed && *field.terraform == *"id";
    for field in &shape.object.fields {
        add(field, 0, is_id(field), &mut rows);
    }
    let is_cut = rows.len() > MOST;
    rows.truncate(MOST);
    (rows, is_cut)
}

fn add(field: &Field, depth: usize, is_id: bool, rows: &mut Vec<SchemaRow>) {
    if rows.len() > MOST {
        return;
    }
    let attribute_type = if field.is_block {
        format!("block: {}", field.implied_type)
    } else {
        field.implied_type.to_string()
    };
    rows.push(SchemaRow {
        depth,
        attribute: field.terraform.to_string(),
        attribute_type,
        property: (!is_id).then(|| field.pulumi.clone()),
        property_type: type_text(&field.shape),
        required: field.required,
        optional: field.optional,
        computed: field.computed,
        sensitive: field.sensitive,
        write_only: field.write_only,
        deprecated: field.deprecated.is_some(),
    });
    for nested in field.shape.object().into_iter().flat_map(|object| &object.fields) {
        add(nested, depth + 1, false, rows);
    }
}

impl SchemaRow {
    /// The cells of Terraform's side.
    pub(super) fn terraform(&self) -> [String; 3] {
        let flags = [
            (self.required, "required"),
            (self.optional, "optional"),
            (self.computed, "computed"),
            (self.sensitive, "sensitive"),
            (self.write_only, "write-only"),
            (self.deprecated, "deprecated"),
        ];
        [self.indented(&self.attribute), self.attribute_type.clone(), joined(flags)]
    }

    /// The cells of Pulumi's side.
    pub(super) fn pulumi(&self) -> [String; 3] {
        let Some(property) = &self.property else {
            return [self.indented("(the id)"), "string".to_owned(), "output".to_owned()];
        };
        let is_input = self.required || self.optional;
        let flags = [
            (self.required, "required"),
            (is_input, "input"),
            (!self.write_only, "output"),
            (self.sensitive || self.write_only, "secret"),
            (self.deprecated, "deprecated"),
        ];
        [self.indented(property), self.property_type.clone(), joined(flags)]
    }

    pub(super) fn to_json(&self) -> Json {
        let flag = |name: &str, holds: bool| (name.to_owned(), Json::Bool(holds));
        let text = |name: &str, text: &str| (name.to_owned(), Json::String(text.to_owned()));
        let property = self.property.clone().map_or(Json::Null, Json::String);
        Json::Object(vec![
            ("depth".to_owned(), Json::Number(self.depth.to_string())),
            text("attribute", &self.attribute),
            text("attribute_type", &self.attribute_type),
            ("property".to_owned(), property),
            text("property_type", &self.property_type),
            flag("required", self.required),
            flag("optional", self.optional),
            flag("computed", self.computed),
            flag("sensitive", self.sensitive),
            flag("write_only", self.write_only),
            flag("deprecated", self.deprecated),
        ])
    }

    fn indented(&self, name: &str) -> String {
        let indent = 2 * self.depth;
        format!("{:indent$}{name}", "")
    }
}

fn joined<const N: usize>(flags: [(bool, &str); N]) -> String {
    let names: Vec<&str> = flags.into_iter().filter(|(holds, _)| *holds).map(|(_, name)| name).collect();
    names.join(", ")
}
