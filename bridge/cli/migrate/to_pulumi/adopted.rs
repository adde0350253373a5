//! The objects of a state, as a stack has them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isthmus_common::listed;
use isthmus_cty::json::Json;
use isthmus_proto::property::Struct;
use isthmus_state::tfstate::Instance as StateInstance;
use isthmus_state::{ObjectAddress, ProviderConfigAddress, SavedObject};

use super::Naming;
use super::provider_configurations::{Configurations, StackProviders};
use crate::cli::migrate::Runtime;
use crate::cli::migrate::error::MigrateError;
use crate::cli::migrate::losses::Losses;
use crate::cli::migrate::providers::{Providers, target};
use crate::cli::output::warn;
use isthmus_migrate::hcl_names::Component;
use isthmus_migrate::names::Name;
use isthmus_migrate::numbers::{expressible, ignorable};
use isthmus_migrate::reserved::{refuse_reserved, refuse_reserved_in_state};
use isthmus_migrate::shown::with_types;
use isthmus_operations::resource::{Adoption, Found, InputForms, adopt, describe};
use isthmus_package::shape::{ObjectShape, ResourceShape};
use isthmus_session::daemon::Instance;

/// A resource that an engine can store.
pub(super) struct Adopted {
    pub(super) address: ObjectAddress,
    /// The components that it is in, the outermost first.
    pub(super) parents: Vec<Component>,
    pub(super) name: Name,
    pub(super) token: String,
    pub(super) shape: Arc<ResourceShape>,
    pub(super) found: Found,
    /// The inputs as the program has them.
    pub(super) inputs: Struct,
    pub(super) ignore_changes: Vec<String>,
    /// Position of its provider.
    pub(super) provider: usize,
    pub(super) dependencies: Vec<String>,
    pub(super) retain_on_delete: bool,
}

/// Has all objects upgraded and translated. What fails is a loss. `is_shown`: they are from the output of `tofu show -json`.
pub(super) async fn adopt_all(
    instances: Vec<StateInstance>,
    is_shown: bool,
    naming: Naming<'_>,
    providers: &mut Providers<'_>,
    losses: &mut Losses,
) -> Result<(Vec<Adopted>, StackProviders), MigrateError> {
    let named = naming.names(instances.iter().map(|instance| &instance.address));
    let mut configurations = Configurations::new(named.values().map(|name| name.key.clone()).collect());
    let mut of_all = OfAll { forms: InputForms::default(), is_shown, naming, warnings: BTreeMap::new() };
    let mut resources = Vec::with_capacity(instances.len());
    for instance in instances {
        let place = place(&instance.address);
        let config: ProviderConfigAddress = instance
            .provider
            .parse()
            .map_err(|error| MigrateError::ProviderConfig { address: place.clone(), error })?;
        let (Some(parents), Some(_)) =
            (naming.parents(&instance.address.resource.module), naming.parents(&config.module))
        else {
            losses.add(
                place,
                "its component gets its name from a path in the configuration, and the source of its module is not one",
            );
            continue;
        };
        let provider = match providers.of_address(&config.provider).await {
            Ok(provider) => provider,
            Err(error) => {
                losses.add(
                    place,
                    format!("its provider cannot be used: {}", isthmus_common::error_chain(&*error)),
                );
                continue;
            }
        };
        let position = configurations.position(config, &provider, naming, losses);
        let name = named[&ObjectAddress { deposed: None, ..instance.address.clone() }].clone();
        let own = Own { name, parents, provider: position };
        match adopt_one(instance, own, &provider, &mut of_all, providers, losses).await {
            Ok(adopted) => resources.push(adopted),
            Err(reason) => losses.add(place, providers.redact(&reason)),
        }
    }
    for (text, places) in of_all.warnings {
        warn(&format!("{}: {text}", listed(places)));
    }
    Ok((resources, configurations.providers))
}

/// What concerns all objects.
struct OfAll<'a> {
    forms: InputForms,
    naming: Naming<'a>,
    /// They are from the output of `tofu show -json`.
    is_shown: bool,
    /// The providers' warnings, and which objects they are about: many have the same.
    warnings: BTreeMap<String, Vec<String>>,
}

/// What an object has in the stack.
struct Own {
    name: Name,
    parents: Vec<Component>,
    /// Position of its provider.
    provider: usize,
}

async fn adopt_one(
    instance: StateInstance,
    own: Own,
    package: &Instance,
    of_all: &mut OfAll<'_>,
    providers: &Providers<'_>,
    losses: &mut Losses,
) -> Result<Adopted, String> {
    let retain_on_delete = instance.skip_destroy;
    let (mut saved, flat) = instance.into_saved();
    // Every object of a state has an address.
    let Some(address) = saved.address.clone() else { return Err("it has no address".to_owned()) };
    refuse_reserved_in_state(&saved.value).map_err(|reserved| reserved.to_string())?;
    let type_name = &address.resource.type_name;
    let shape = package.package.resource(type_name).map_err(|error| isthmus_common::error_chain(&error))?;
    if of_all.is_shown {
        saved.value = with_types(&saved.value, &shape.schema.block.implied_type);
    }
    let handle = package.provider();
    let target = target(&handle, package, Arc::clone(&shape));
    let configured = of_all.naming.configuration.of_resource(&address.resource);
    let found = adopt(&target, &saved, flat.as_ref(), &configured, &mut of_all.forms).await;
    for warning in &target.warnings.take().diagnostics {
        let text = providers.redact(&describe(warning, &shape.object));
        of_all.warnings.entry(text).or_default().push(place(&address));
    }
    let Adoption { found, inexact, fault } = found.map_err(|error| error.to_string())?;
    refuse_reserved(&found.properties).map_err(|reserved| reserved.to_string())?;
    refuse_reserved(&found.inputs).map_err(|reserved| reserved.to_string())?;
    let Own { name, parents, provider } = own;
    let mut inputs = found.inputs.clone();
    let mut ignore_changes = BTreeSet::new();
    // An HCL configuration sets what a program in another language would lack.
    if of_all.naming.runtime != Runtime::Hcl {
        let inexpressible;
        (inputs, inexpressible) = expressible(&inputs, &shape.object);
        for path in &inexpressible {
            let reason = format!(
                "YAML cannot express the number `{path}`: the stack has it, and the program ignores its changes; in another \
                 language give it as a string"
            );
            losses.add(place(&address), reason);
        }
        for path in &inexact {
            let reason = format!(
                "no program can express the number `{path}`: the stack has it, and the program ignores its changes"
            );
            losses.add(place(&address), reason);
        }
        ignore_changes.extend(inexpressible.iter().chain(&inexact).map(|path| ignorable(path).to_string()));
        let lost: Vec<&str> = lost_write_only(&saved, &shape.object).collect();
        if let Some(fault) = fault
            && lost.is_empty()
            && ignore_changes.is_empty()
        {
            losses.add(place(&address), providers.redact(&fault));
        }
        for property in lost {
            let reason =
                format!("the value of `{property}` is write-only and in no state: set it in the program");
            losses.add(place(&address), reason);
        }
    }
    Ok(Adopted {
        inputs,
        ignore_changes: ignore_changes.into_iter().collect(),
        parents,
        name,
        token: shape.token.clone(),
        shape,
        found,
        provider,
        dependencies: saved.dependencies,
        retain_on_delete,
        address,
    })
}

/// The write-only properties that were set, as far as a state shows it: required ones, and those
/// beside which a version is set, by the providers' convention.
fn lost_write_only<'a>(saved: &'a SavedObject, shape: &'a ObjectShape) -> impl Iterator<Item = &'a str> {
    shape.fields.iter().filter(|field| field.write_only).filter_map(|field| {
        let version = saved.value.member(&format!("{}_version", field.terraform));
        let is_set = field.required || version.is_some_and(|version| *version != Json::Null);
        is_set.then_some(field.pulumi.as_str())
    })
}

pub(super) fn place(address: &ObjectAddress) -> String {
    match &address.deposed {
        None => address.to_string(),
        Some(key) => format!("{address} (deposed {})", key.as_str()),
    }
}
