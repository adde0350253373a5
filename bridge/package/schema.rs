//! The package schema, for Pulumi's SDK generators, editors and language hosts.
//!
//! It is identical to the Go bridge's wherever a generator could tell the difference, because SDKs
//! that were generated with it must not change when generated again. Deliberate differences concern
//! providers that the Go bridge rejects or misrepresents: colliding names are numbered, tuples are
//! lists of any type, and a resource with an invalid schema is left out instead of spoiling the
//! package. Documentation that the Go bridge leaves out is included: it affects comments only.

mod docs;
mod document;
mod functions;
mod generators;
mod language;
mod members;
mod nameless;
mod parallel;
mod types;

use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use isthmus_provider::schema::CatalogueError;
use serde::Serialize;
use serde_json::value::RawValue;

use super::catalogue::{Package, TokenError};
use super::described::Described;
use super::names::MemberKind;
use super::parameters::ParameterSource;
use super::shape::ResourceShape;
use crate::names::tokens::{Tokens, member_name, member_token};
pub use docs::{Names, clean as documentation, python_name};
pub(super) use document::raw;
use document::{
    BaseProvider, Document, Fragments, Function, ObjectType, Outputs, Parameterization, Property, Type,
};
pub use generators::is_of_another_language;
use generators::{Unwritable, UnwritableProperty};
use language::PackageFacts;
pub use language::go_import_path;
use members::{Managed, is_input};
use nameless::Nameless;
pub use parallel::in_parallel;
pub use types::TypeNames;
use types::{Declared, Owner, Types};

/// The plugin's own package name.
pub const BASE_NAME: &str = "terraform-provider";

/// A document about a package, and the members that are left out of it.
#[derive(Debug)]
pub struct Rendering<Content> {
    pub(super) content: Content,
    pub left_out: Vec<LeftOut>,
}

impl<Content: Serialize> Rendering<Content> {
    /// Writes the document as JSON.
    ///
    /// # Errors
    /// When writing fails.
    pub fn write(&self, to: impl io::Write) -> io::Result<()> {
        Ok(serde_json::to_writer(to, &self.content)?)
    }

    /// The document as JSON.
    pub fn to_json(&self) -> String {
        written(&self.content)
    }
}

impl<Content> Rendering<Content> {
    /// The failure to read a member's schema, which is no reason to leave it out.
    pub fn unreadable(&self) -> Option<&TokenError> {
        self.left_out.iter().find_map(|left_out| match left_out {
            LeftOut::Invalid(error @ TokenError::Schema(CatalogueError::Unreadable { .. })) => Some(error),
            LeftOut::Invalid(_)
            | LeftOut::Unwritable(_)
            | LeftOut::UnwritableProperty(_)
            | LeftOut::Nameless(_) => None,
        })
    }
}

/// Why a member is not in a document about a package, or of which SDKs it breaks.
#[derive(Debug, thiserror::Error)]
pub enum LeftOut {
    #[error(transparent)]
    Invalid(#[from] TokenError),
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
    #[error(transparent)]
    UnwritableProperty(#[from] UnwritableProperty),
    #[error(transparent)]
    Nameless(#[from] Nameless),
}

/// The schema of the plugin before Parameterize. `plugin_version` is without a `v`.
pub fn base_schema(plugin_version: &str) -> String {
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

/// The schema of a package, which is the same for all languages.
pub fn package_schema(package: &Package, plugin_version: &str) -> Rendering<impl Serialize + use<>> {
    described_schema(package, plugin_version, &Described::default())
}

/// The same with what the provider's own documentation says.
pub fn described_schema(
    package: &Package,
    plugin_version: &str,
    own: &Described,
) -> Rendering<impl Serialize + use<>> {
    let identity = package.identity();
    let mut left_out = Vec::new();
    let mut types = Types::new(package);
    let mut document = header(package, plugin_version);

    let config = usable(package.config_shape(), &mut left_out);
    if let Some(config) = &config {
        left_out.extend(nameless::within("the provider's configuration", &config.object).map(LeftOut::from));
        left_out.extend(generators::configuration(config).map(LeftOut::from));
        document.config = members::config_variables(&mut types, config);
    }
    document.provider = members::provider(&mut types, &identity.name, config.as_deref());
    let members = backwards(package.resources());
    let shape = |terraform: &str| {
        written_unless(nameless::member("resource", terraform))?;
        let shape = package.passing_resource(terraform)?;
        let former = package.resources().former(terraform).map(str::to_owned);
        Ok(Managed { shape, list: package.list(terraform), former })
    };
    let mut partly = Vec::new();
    let declare = |types: &mut Types<'_>, managed: &Managed| {
        let Managed { shape, list, .. } = managed;
        let name = member_name(&shape.token);
        partly.extend(nameless_properties("resource", shape));
        partly.extend(generators::resource(shape).map(LeftOut::from));
        partly.extend(generators::yielding("resource", shape).map(LeftOut::from));
        let own = types.declare(Owner::Resource, name, &shape.object.fields);
        match list {
            None => own,
            Some(Ok(list)) => {
                partly.extend(nameless_properties("list resource", list));
                let inputs = list.object.named().filter(is_input);
                own.and(types.declare(Owner::Resource, &format!("{name}List"), inputs))
            }
            Some(Err(fault)) => {
                partly.push(fault.clone().into());
                own
            }
        }
    };
    let described = |types: &Types<'_>, managed: &Managed, found: &Declared| {
        let own = own.of(MemberKind::Resource, &managed.shape.terraform_type);
        let names = &Names::of(&managed.shape.object).with(own);
        (types.describe(found, names), raw(&members::resource(types, managed, names)))
    };
    describe_members(&mut types, &members, shape, declare, described, &mut document.resources, &mut left_out);
    left_out.extend(partly);

    let members = backwards(package.data_sources());
    let shape = |terraform: &str| {
        written_unless(nameless::member("data source", terraform))?;
        Ok(package.passing_data_source(terraform)?)
    };
    let mut partly = Vec::new();
    let declare = |types: &mut Types<'_>, shape: &Arc<ResourceShape>| {
        partly.extend(faults("data source", shape));
        types.declare(Owner::DataSource, member_name(&shape.token), &shape.object.fields)
    };
    let described = |types: &Types<'_>, shape: &Arc<ResourceShape>, found: &Declared| {
        let names = &Names::of(&shape.object).with(own.of(MemberKind::DataSource, &shape.terraform_type));
        (types.describe(found, names), raw(&members::data_source(types, shape, names)))
    };
    describe_members(&mut types, &members, shape, declare, described, &mut document.functions, &mut left_out);
    left_out.extend(partly);

    for (terraform, token) in package.functions().iter() {
        let writable = package.function(terraform).map_err(LeftOut::from).and_then(|shape| {
            written_unless(nameless::member("function", terraform))?;
            written_unless(nameless::function(&shape))?;
            Ok(shape)
        });
        if let Some(shape) = usable(writable, &mut left_out) {
            left_out.extend(generators::function(&shape).map(LeftOut::from));
            document.functions.insert(
                token.to_owned(),
                raw(&functions::function(&mut types, &shape, own.of(MemberKind::Function, terraform))),
            );
        }
    }
    if let Some(function) = functions::objects_in_arguments(&types) {
        let token = member_token(&identity.name, "objectsInArguments");
        document.functions.entry(token).or_insert_with(|| raw(&function));
    }
    // Last, so that these change no other name.
    for (terraform, token) in package.ephemeral_resources().iter() {
        let shape = written_unless(nameless::member("ephemeral resource", terraform))
            .and_then(|()| Ok(package.ephemeral_resource(terraform)?));
        if let Some(shape) = usable(shape, &mut left_out) {
            left_out.extend(faults("ephemeral resource", &shape));
            let (fields, names) = (
                &shape.object.fields,
                &Names::of(&shape.object).with(own.of(MemberKind::EphemeralResource, terraform)),
            );
            types.declare_and_describe(Owner::DataSource, member_name(&shape.token), fields, names);
            document
                .functions
                .insert(token.to_owned(), raw(&members::ephemeral_resource(&types, &shape, names)));
        }
    }
    for (terraform, token) in package.actions().iter() {
        let shape = written_unless(nameless::member("action", terraform))
            .and_then(|()| Ok(package.action(terraform)?));
        if let Some(shape) = usable(shape, &mut left_out) {
            left_out.extend(faults("action", &shape));
            let (fields, names) =
                (&shape.object.fields, &Names::of(&shape.object).with(own.of(MemberKind::Action, terraform)));
            types.declare_and_describe(Owner::DataSource, member_name(&shape.token), fields, names);
            document.functions.insert(token.to_owned(), raw(&members::action(&types, &shape, names)));
        }
    }
    left_out.extend(generators::named(package).into_iter().map(LeftOut::from));
    let (token, method) = terraform_config(&identity.name);
    document.provider.methods.insert(TERRAFORM_CONFIG, token.clone());
    document.functions.insert(token, raw(&method));
    keep_former(package.resources(), &mut document.resources);
    keep_former(package.functions(), &mut document.functions);
    document.types = types.finish();
    Rendering { content: document, left_out }
}

/// Keeps members that have other names in SDKs by their own: programs without SDKs know them by these. Generators pass over
/// overlays.
fn keep_former(tokens: &Tokens, described: &mut Fragments) {
    for (token, former) in tokens.instead_of_impossible() {
        if let Some(text) = described.get(token) {
            // Stacks go from one to the other in both directions.
            let alias = |token| format!("\"aliases\":[{{\"type\":\"{token}\"}}]");
            let text = text.get()[1..].replace(&alias(former), &alias(token));
            let overlay = format!("{{\"isOverlay\":true,{text}");
            let overlay = RawValue::from_string(overlay).expect("no description of a member is empty");
            described.insert(former.to_owned(), overlay);
        }
    }
}

/// Members by their module in tokens, the last one first, which is the order in which names of types are claimed.
fn backwards(tokens: &Tokens) -> Vec<(&Arc<str>, &str)> {
    let mut members: Vec<_> = tokens.iter().collect();
    members.sort_by(|(_, one), (_, other)| other.rsplit(':').nth(1).cmp(&one.rsplit(':').nth(1)));
    members
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
    described: impl Fn(&Types<'_>, &Shape, &Declared) -> (Vec<(String, Box<RawValue>)>, Box<RawValue>) + Sync,
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
        let texts = in_parallel(&declared, |(_, shape, found)| described(types, shape, found));
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
pub const TERRAFORM_CONFIG: &str = "terraformConfig";

fn written(document: &impl Serialize) -> String {
    serde_json::to_string(document)
        .expect("a document has only text for keys and holds nothing that can fail")
}

fn usable<Shape, Fault: Into<LeftOut>>(
    shape: Result<Shape, Fault>,
    left_out: &mut Vec<LeftOut>,
) -> Option<Shape> {
    shape.map_err(|error| left_out.push(error.into())).ok()
}

fn written_unless(refused: Option<impl Into<LeftOut>>) -> Result<(), LeftOut> {
    refused.map_or(Ok(()), |reason| Err(reason.into()))
}

/// What is to be said of a data source, an ephemeral resource or an action.
fn faults(kind: &'static str, shape: &ResourceShape) -> impl Iterator<Item = LeftOut> {
    let unwritable =
        generators::data_source(kind, shape).into_iter().chain(generators::yielding(kind, shape));
    nameless_properties(kind, shape).into_iter().chain(unwritable.map(LeftOut::from))
}

fn nameless_properties(kind: &str, shape: &ResourceShape) -> Option<LeftOut> {
    nameless::within(&format!("{kind} {}", shape.terraform_type), &shape.object).map(LeftOut::from)
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
        language: language::blocks(PackageFacts {
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
mod tests;
