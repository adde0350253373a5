//! The checks, by the names that users choose them by.

/// A check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    Settings,
    Home,
    Space,
    Pulumi,
    Project,
    Plugin,
    Configuration,
    Certificates,
    Proxy,
    Registry,
    Clock,
    Cache,
    Providers,
    Store,
    Operations,
    Daemon,
}

impl Check {
    /// All checks, in the order in which they are made: what others depend on comes first.
    pub(crate) const ALL: [Self; 16] = [
        Self::Settings,
        Self::Home,
        Self::Space,
        Self::Pulumi,
        Self::Project,
        Self::Plugin,
        Self::Configuration,
        Self::Certificates,
        Self::Proxy,
        Self::Registry,
        Self::Clock,
        Self::Cache,
        Self::Providers,
        Self::Store,
        Self::Operations,
        Self::Daemon,
    ];

    /// Its name, in output and options.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Home => "home",
            Self::Space => "space",
            Self::Pulumi => "pulumi",
            Self::Project => "project",
            Self::Plugin => "plugin",
            Self::Configuration => "configuration",
            Self::Certificates => "certificates",
            Self::Proxy => "proxy",
            Self::Registry => "registry",
            Self::Clock => "clock",
            Self::Cache => "cache",
            Self::Providers => "providers",
            Self::Store => "store",
            Self::Operations => "operations",
            Self::Daemon => "daemon",
        }
    }

    /// What it examines, for its help.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Settings => "environment variables of isthmus and Terraform",
            Self::Home => "home directory of isthmus: place, owner, permissions",
            Self::Space => "space and mount options of the file systems",
            Self::Pulumi => "Pulumi CLI on PATH and its version",
            Self::Project => "project file, and SDKs that contradict it",
            Self::Plugin => "plugin that the Pulumi CLI would load, and why",
            Self::Configuration => "CLI configuration of Terraform or OpenTofu",
            Self::Certificates => "certificate authorities of the environment",
            Self::Proxy => "proxy variables",
            Self::Registry => "access to the registries and mirrors of the providers",
            Self::Clock => "clock of this machine against a registry's",
            Self::Cache => "installed providers: checksums, platforms, permissions",
            Self::Providers => "start of the project's providers",
            Self::Store => "state store and its key",
            Self::Operations => "interrupted operations in the journal",
            Self::Daemon => "socket of a shared daemon",
        }
    }

    /// The check of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.name() == name)
    }
}
