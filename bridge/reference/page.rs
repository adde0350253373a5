//! The model of a page about one member, which HTML and text are made of.

use std::sync::Arc;

use isthmus_provider::schema::CatalogueError;

use super::example::{self, Example};
use super::member::{Member, PageKind};
use super::property::{Properties, Property};
use super::prose::summary;
use isthmus_package::catalogue::{Package, TokenError};
use isthmus_package::function::FunctionShape;
use isthmus_package::schema::{Names, documentation};
use isthmus_package::shape::{Field, IdRule, ResourceShape, Shape};

/// A page.
#[derive(Debug)]
pub struct Page {
    pub kind: PageKind,
    /// Pulumi's name, such as `random.Pet`.
    pub title: String,
    pub token: String,
    pub terraform: String,
    /// Markdown in Pulumi's names, not sanitised.
    pub description: String,
    /// The provider's message, which may be empty.
    pub deprecated: Option<String>,
    /// In each language.
    pub examples: Vec<Example>,
    /// What a program sets.
    pub inputs: Vec<Property>,
    /// What only the provider sets.
    pub outputs: Vec<Property>,
    /// Of a resource.
    pub import: Option<Import>,
    /// Whether the engine can list resources of the type.
    pub(crate) can_be_listed: bool,
}

/// How an existing object becomes a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The command, in which `ID` is to be replaced.
    pub command: String,
    /// What is known of the id.
    pub id: String,
}

impl Page {
    /// The page of a member.
    ///
    /// # Errors
    /// When its schema is invalid, which is a bug in the provider.
    pub fn of(package: &Package, member: &Member) -> Result<Self, TokenError> {
        let terraform = &member.terraform;
        match member.kind {
            PageKind::Configuration => match package.config_shape() {
                Ok(shape) => Ok(Self::shaped(package, member, &shape)),
                Err(TokenError::Schema(CatalogueError::Unknown { .. })) => Ok(Self::empty(package, member)),
                Err(error) => Err(error),
            },
            PageKind::Resource => Ok(Self::shaped(package, member, &*package.passing_resource(terraform)?)),
            PageKind::DataSource => {
                Ok(Self::shaped(package, member, &*package.passing_data_source(terraform)?))
            }
            PageKind::Function => Ok(Self::function(package, member, &*package.function(terraform)?)),
            PageKind::EphemeralResource => {
                let mut page = Self::shaped(package, member, &*package.ephemeral_resource(terraform)?);
                // Nothing of it may be stored in the clear.
                page.outputs.iter_mut().for_each(|output| output.secret = true);
                Ok(page)
            }
            PageKind::Action => Ok(Self::shaped(package, member, &*package.action(terraform)?)),
        }
    }

    fn empty(package: &Package, member: &Member) -> Self {
        let identity = package.identity();
        let title = match member.kind {
            PageKind::Configuration => format!("{} configuration", identity.name),
            _ => format!("{}.{}", identity.name, member.name()),
        };
        Self {
            kind: member.kind,
            title,
            token: member.token.clone(),
            terraform: member.terraform.clone(),
            description: String::new(),
            deprecated: None,
            examples: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            import: None,
            can_be_listed: false,
        }
    }

    fn shaped(package: &Package, member: &Member, shape: &ResourceShape) -> Self {
        let block = &shape.schema.block;
        let names = &Names::of(&shape.object);
        let mut properties = Properties::new(package, names);
        // A resource's Pulumi id is no property; it is described beside its import.
        let is_shown = |field: &&Field| member.kind != PageKind::Resource || field.pulumi != "id";
        let fields = || shape.object.named().filter(is_shown);
        let mut inputs = properties.of(fields().filter(|field| field.required || field.optional));
        let outputs = properties.of(fields().filter(|field| !(field.required || field.optional)));
        if member.kind == PageKind::Resource
            && let Some(autonamed) = shape.autonamed()
        {
            for input in inputs.iter_mut().filter(|input| input.name == autonamed.pulumi) {
                (input.autonamed, input.required) = (true, false);
            }
        }
        Self {
            description: documentation(package, names, &block.description, block.description_kind),
            deprecated: block.deprecated.then(|| block.deprecation_message.clone()),
            examples: example::of_shape(package, member, shape),
            inputs,
            outputs,
            import: (member.kind == PageKind::Resource).then(|| import(member, shape)),
            can_be_listed: member.kind == PageKind::Resource
                && package.list(&member.terraform).is_some_and(|list| list.is_ok()),
            ..Self::empty(package, member)
        }
    }

    fn function(package: &Package, member: &Member, shape: &FunctionShape) -> Self {
        let names = &Names::of_function(shape);
        let mut properties = Properties::new(package, names);
        let last = shape.parameters.len();
        let inputs = shape.parameters.iter().enumerate();
        let inputs = inputs
            .map(|(index, parameter)| properties.parameter(parameter, shape.variadic && index + 1 == last))
            .collect();
        let outputs = match &shape.return_shape {
            Shape::Object(object) => properties.of(object.named()),
            other => vec![properties.result(other)],
        };
        let message = &shape.deprecation_message;
        Self {
            description: documentation(package, names, &shape.description, shape.description_kind),
            deprecated: (!message.is_empty()).then(|| message.clone()),
            examples: example::of_function(package, shape),
            inputs,
            outputs,
            ..Self::empty(package, member)
        }
    }

    /// The title of the section of what a program sets.
    pub(crate) fn inputs_title(&self) -> &'static str {
        match self.kind {
            PageKind::Configuration | PageKind::Resource => "Inputs",
            PageKind::DataSource | PageKind::Function | PageKind::EphemeralResource | PageKind::Action => {
                "Arguments"
            }
        }
    }

    /// The title of the section of what the provider sets.
    pub(crate) fn outputs_title(&self) -> &'static str {
        match self.kind {
            PageKind::Function => "Result",
            _ => "Outputs",
        }
    }

    /// A sentence about what a result holds besides.
    pub(crate) fn note_on_outputs(&self) -> Option<&'static str> {
        match self.kind {
            PageKind::Resource => Some("All inputs are outputs too, besides those that are write-only."),
            PageKind::DataSource | PageKind::EphemeralResource => Some("All arguments are outputs too."),
            PageKind::Configuration | PageKind::Function | PageKind::Action => None,
        }
    }
}

fn import(member: &Member, shape: &ResourceShape) -> Import {
    let id = match &shape.id {
        IdRule::Computed => "The id is Terraform's attribute id, which the provider sets. The import id may have another form: \
                             see the provider's documentation."
            .to_owned(),
        IdRule::Property(name) | IdRule::Perhaps(name) => format!(
            "The id is the property {name} (Terraform's attribute id). The import id may have another form: see the provider's \
             documentation."
        ),
        IdRule::Missing => "The resource type has no attribute id. The import id is what the provider's documentation says for \
                            `terraform import`."
            .to_owned(),
    };
    Import { command: format!("pulumi import {} example ID", member.token), id }
}

/// What lists of members have of each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Digest {
    /// The names of its own properties, for the search.
    pub(super) properties: Vec<String>,
    /// The first sentence of its description.
    pub(super) summary: String,
}

/// What lists have of a member; nothing if its schema is invalid.
pub(super) fn digest(package: &Package, member: &Member) -> Digest {
    let terraform = &member.terraform;
    let shape = match member.kind {
        PageKind::Configuration => package.config_shape(),
        PageKind::Resource => package.passing_resource(terraform),
        PageKind::DataSource => package.passing_data_source(terraform),
        PageKind::EphemeralResource => package.ephemeral_resource(terraform),
        PageKind::Action => package.action(terraform),
        PageKind::Function => {
            let Ok(function) = package.function(terraform) else { return Digest::default() };
            let names = &Names::of_function(&function);
            let description = documentation(package, names, &function.description, function.description_kind);
            let parameters = function.parameters.iter();
            return Digest {
                properties: parameters.map(|parameter| parameter.sdk_name.clone()).collect(),
                summary: summary(&description),
            };
        }
    };
    let Ok(shape): Result<Arc<ResourceShape>, _> = shape else { return Digest::default() };
    let mut properties = Vec::new();
    for field in shape.object.named() {
        properties.push(field.pulumi.clone());
        let nested = field.shape.object().into_iter().flat_map(|object| object.named());
        properties.extend(nested.map(|field| field.pulumi.clone()));
    }
    properties.sort();
    properties.dedup();
    let block = &shape.schema.block;
    let names = &Names::of(&shape.object);
    let description = documentation(package, names, &block.description, block.description_kind);
    Digest { properties, summary: summary(&description) }
}
