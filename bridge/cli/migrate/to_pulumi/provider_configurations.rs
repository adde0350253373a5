//! The provider configurations of a state, as providers of the stack.

use std::collections::{BTreeMap, HashMap, HashSet};

use hcl_edit::expr::Expression;
use isthmus_state::{InstanceKey, ProviderConfigAddress};

use super::Naming;
use crate::cli::migrate::Runtime;
use crate::cli::migrate::losses::Losses;
use crate::cli::output::inform;
use isthmus_context::project::PLUGIN;
use isthmus_context::random_uuid::random_uuid;
use isthmus_migrate::configuration::Configuration;
use isthmus_migrate::deployment::StackProvider;
use isthmus_migrate::hcl_names::{instance, within};
use isthmus_migrate::names::{RESERVED_KEYS, sanitized, unique};
use isthmus_migrate::program::PackageReference;
use isthmus_package::catalogue::Identity;
use isthmus_package::parameters::ParameterSource;
use isthmus_package::shape::Shape;
use isthmus_session::daemon::Instance;
use isthmus_session::process_context::own_plugin_version;

/// Providers of a stack, each with the package of a program.
pub(super) type StackProviders = Vec<(StackProvider, PackageReference)>;

/// The provider configurations of a state, as providers of the stack.
#[derive(Default)]
pub(super) struct Configurations {
    pub(super) providers: StackProviders,
    known: HashMap<String, usize>,
    /// Keys of the program that are in use.
    keys: HashSet<String>,
}

impl Configurations {
    /// `keys` are in use in the program.
    pub(super) fn new(mut keys: HashSet<String>) -> Self {
        keys.extend(RESERVED_KEYS.map(str::to_owned));
        Self { keys, ..Self::default() }
    }

    /// The position of a configuration's provider. A root module's configuration without alias is
    /// the package's default provider; any other is an explicit one.
    pub(super) fn position(
        &mut self,
        config: ProviderConfigAddress,
        package: &Instance,
        naming: Naming<'_>,
        losses: &mut Losses,
    ) -> usize {
        let key = config.to_string();
        if let Some(position) = self.known.get(&key) {
            return *position;
        }
        let explicit = match naming.runtime {
            Runtime::Yaml => {
                explicit_name(&config).map(|name| unique(&name, |name| self.keys.insert(name.to_owned())))
            }
            Runtime::Hcl => name_in_hcl(&config, naming.configuration),
        };
        let identity = package.package.identity();
        let has_settings = package.package.config_shape().is_ok_and(|shape| !shape.object.fields.is_empty());
        let properties = provider_properties(&config, package, naming.configuration);
        match &explicit {
            Some(_) if properties.is_some() || naming.runtime == Runtime::Hcl => {}
            Some(name) if has_settings => losses.add(
                key.clone(),
                format!("a state has no configurations of providers: set the properties of the provider `{name}` in the program"),
            ),
            None if has_settings => inform(&format!(
                "a state has no configurations of providers: if {key} has one, set it with `pulumi config set {}:KEY VALUE`",
                identity.name
            )),
            _ => {}
        }
        let provider = StackProvider {
            package: identity.name.clone(),
            package_version: identity.version.clone(),
            plugin: PLUGIN,
            plugin_version: own_plugin_version(),
            parameter: identity.parameter.encode(),
            explicit,
            parents: naming.parents(&config.module).unwrap_or_default(),
            id: random_uuid(),
            properties: properties.unwrap_or_default(),
        };
        let reference = reference(identity, &provider);
        self.providers.push((provider, reference));
        self.known.insert(key, self.providers.len() - 1);
        self.providers.len() - 1
    }
}

/// The properties of a provider with an alias in the root module, if all of its configuration are
/// plain texts that are not sensitive.
fn provider_properties(
    config: &ProviderConfigAddress,
    package: &Instance,
    configuration: &Configuration,
) -> Option<BTreeMap<String, String>> {
    if !config.module.is_empty() || config.key.is_some() {
        return None;
    }
    let mut blocks = configuration.module(&[])?.providers.iter();
    let block = blocks.find(|block| block.name == config.provider_type() && block.alias == config.alias)?;
    if block.has_blocks {
        return None;
    }
    let shape = package.package.config_shape().ok()?;
    let properties = block.attributes.iter().map(|(name, value)| {
        let field = shape.object.terraform(name).filter(|field| !field.sensitive)?;
        match (value, &field.shape) {
            (Expression::String(text), Shape::String) => Some((field.pulumi.clone(), text.value().clone())),
            _ => None,
        }
    });
    properties.collect()
}

/// The name that the HCL host gives the provider of a configuration; `None`: the default one, which no block configures.
fn name_in_hcl(config: &ProviderConfigAddress, configuration: &Configuration) -> Option<String> {
    let callers: Vec<String> = config.module.iter().map(|step| step.name.clone()).collect();
    let is_configured = config.alias.is_some()
        || configuration.module(&callers).is_some_and(|module| module.configures(config.provider_type()));
    let name = config.alias.as_deref().unwrap_or(config.provider_type());
    is_configured.then(|| within(&config.module, &instance(name, config.key.as_ref())))
}

fn explicit_name(config: &ProviderConfigAddress) -> Option<String> {
    if config.module.is_empty() && config.alias.is_none() {
        return None;
    }
    let part = |key: &InstanceKey| match key {
        InstanceKey::Number(number) => number.to_string(),
        InstanceKey::Text(text) => sanitized(text),
    };
    let mut parts = Vec::new();
    for step in &config.module {
        parts.push(sanitized(&step.name));
        parts.extend(step.key.as_ref().map(part));
    }
    parts.push(sanitized(config.alias.as_deref().unwrap_or(config.provider_type())));
    parts.extend(config.key.as_ref().map(part));
    Some(parts.join("-"))
}

fn reference(identity: &Identity, provider: &StackProvider) -> PackageReference {
    let parameters = match &identity.parameter.source {
        ParameterSource::Remote { url, version } => vec![url.clone(), version.clone()],
        ParameterSource::Local { path } => vec![path.clone()],
    };
    let name = identity.parameter.provider_name.iter();
    let name = name.flat_map(|name| ["--provider-name".to_owned(), name.clone()]);
    PackageReference {
        name: identity.name.clone(),
        plugin: provider.plugin,
        plugin_version: provider.plugin_version.to_string(),
        parameters: parameters.into_iter().chain(name).collect(),
    }
}
