//! The providers: where they are, and what their schemas say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fixtures::tools::{built, tool};
use isthmus_cty::Type;
use isthmus_package::catalogue::{Identity, Package};
use isthmus_package::parameters::{Parameter, ParameterSource};
use isthmus_package::shape::ResourceShape;
use isthmus_provider::plugin::{LaunchSpec, LogSink, Plugin};
use isthmus_provider::{CallObserver, KnownSchema, Provider as RunningProvider};
use isthmus_sandbox::Protocol;

use crate::kinds::Provider;

/// The service of isthmus that a world is driven through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Of today's engine.
    Pulumirpc,
    /// Of the legacy engine.
    Lumirpc,
}

/// How a world is driven, and how its providers are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) service: Service,
    pub(crate) protocol: Protocol,
    /// Whether the sandbox answers as the older SDK does.
    pub(crate) legacy: bool,
}

impl Setting {
    /// Protocol 6, and nothing special.
    pub(crate) const PLAIN: Self =
        Self { service: Service::Pulumirpc, protocol: Protocol::V6, legacy: false };

    /// Twelve seeds in a row bring all there are. The older SDK is on protocol 5: on 6, the sandbox has what that cannot have.
    pub(crate) const fn of(seed: u64) -> Self {
        Self {
            service: if seed.is_multiple_of(3) { Service::Lumirpc } else { Service::Pulumirpc },
            protocol: if seed % 2 == 1 { Protocol::V6 } else { Protocol::V5 },
            legacy: seed % 4 == 2,
        }
    }
}

/// Builds what is missing of OpenTofu, the Go bridge and the provider, which from nothing takes minutes.
pub(crate) fn build() {
    built(&["tofu", "conformance", "go-bridge"]);
}

/// The file of a provider.
fn program(provider: Provider) -> PathBuf {
    match provider {
        // It is the sandbox under that name.
        Provider::Sandbox => PathBuf::from(env!("CARGO_BIN_EXE_isthmus")),
        Provider::Conformance => tool("terraform-provider-conformance"),
    }
}

/// Makes a directory in which each provider has the name that it is found by.
pub(crate) fn link_providers(directory: &Path) {
    std::fs::create_dir_all(directory).expect("a directory in a directory of ours");
    for provider in Provider::ALL {
        let link = directory.join(format!("terraform-provider-{}", provider.name()));
        std::os::unix::fs::symlink(program(provider), link).expect("a link in a new directory");
    }
}

/// The variables by which both providers behave the same whoever starts them. Besides, Go collects garbage less often: half of a
/// run's time is in short-lived processes in Go, which exit with most of it.
pub(crate) fn variables(setting: Setting, directory: &Path) -> [(&'static str, String); 9] {
    let inside = |name: &str| directory.join(name).to_str().expect("a path in UTF-8").to_owned();
    [
        ("SANDBOX_PROTOCOL", setting.protocol.to_string()),
        ("SANDBOX_LEGACY", setting.legacy.to_string()),
        ("SANDBOX_IDS", "derived".to_owned()),
        ("GOGC", "800".to_owned()),
        ("SANDBOX_DIR", inside("objects")),
        ("SANDBOX_REQUESTS", inside("requests-sandbox")),
        ("CONFORMANCE_PROTOCOL", setting.protocol.to_string()),
        ("CONFORMANCE_DIR", inside("objects")),
        ("CONFORMANCE_REQUESTS", inside("requests-conformance")),
    ]
}

/// What one provider offers, with the names that Pulumi has for it.
#[derive(Debug)]
pub(crate) struct Schemas {
    package: Package,
}

impl Schemas {
    /// Asks each provider, which more is told by its environment.
    pub(crate) async fn of_all(
        setting: Setting,
        more: &[(&'static str, &str)],
    ) -> BTreeMap<Provider, Arc<Self>> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let programs = directory.path().join("providers");
        link_providers(&programs);
        let mut all = BTreeMap::new();
        for provider in Provider::ALL {
            let program = programs.join(format!("terraform-provider-{}", provider.name()));
            let mut spec = LaunchSpec::new(provider.name(), &program);
            let variables = variables(setting, directory.path()).into_iter();
            let more = more.iter().map(|(name, value)| (*name, (*value).to_owned()));
            spec.environment = variables
                .chain(more)
                .fold(spec.environment, |environment, (name, value)| environment.with(name, value));
            let plugin = Plugin::launch(spec, LogSink::discard()).await.expect("the provider starts");
            let mut warnings = Vec::new();
            let (running, _) = RunningProvider::start(
                provider.name(),
                plugin,
                CallObserver::default(),
                KnownSchema::Nothing,
                &mut warnings,
            )
            .await
            .expect("the provider tells its schema");
            let source = ParameterSource::Local { path: program.to_string_lossy().into_owned() };
            let parameter = Parameter::new(source);
            let identity = Identity::new(parameter).expect("the provider has a good name");
            let package = Package::new(identity, Arc::clone(running.catalogue()));
            running.shutdown().await;
            all.insert(provider, Arc::new(Self { package }));
        }
        all
    }

    /// A resource, as both sides see it.
    pub(crate) fn shape(&self, type_name: &str) -> Arc<ResourceShape> {
        self.package.resource(type_name).unwrap_or_else(|error| panic!("{type_name}: {error}"))
    }

    /// The type of a resource's values.
    pub(crate) fn resource(&self, type_name: &str) -> Type {
        self.shape(type_name).schema.block.implied_type.clone()
    }

    /// The provider's configuration, as both sides see it.
    pub(crate) fn configuration(&self) -> Arc<ResourceShape> {
        self.package.config_shape().expect("the provider's configuration has a schema")
    }

    /// The type of the provider's configuration.
    pub(crate) fn provider(&self) -> Type {
        self.configuration().schema.block.implied_type.clone()
    }
}
