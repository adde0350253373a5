//! The table of checks, by the names that users choose them by.

macro_rules! checks {
    ($($check:ident $name:literal: $description:literal,)*) => {
        /// A check.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Check {
            $($check,)*
        }

        impl Check {
            /// All checks, in the order in which they are made: what others depend on comes first.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$check),*];

            /// Its name, in output and options.
            pub fn name(self) -> &'static str {
                match self { $(Self::$check => $name,)* }
            }

            /// What it examines, for its help.
            pub fn description(self) -> &'static str {
                match self { $(Self::$check => $description,)* }
            }
        }
    };
}

checks! {
    Settings "settings": "environment variables of isthmus and Terraform",
    Home "home": "home directory of isthmus: place, owner, permissions",
    Space "space": "space and mount options of the file systems",
    Pulumi "pulumi": "Pulumi CLI on PATH and its version",
    Project "project": "project file, and SDKs that contradict it",
    Plugin "plugin": "plugin that the Pulumi CLI would load, and why",
    Configuration "configuration": "CLI configuration of Terraform or OpenTofu",
    Certificates "certificates": "certificate authorities of the environment",
    Proxy "proxy": "proxy variables",
    Registry "registry": "access to the registries and mirrors of the providers",
    Clock "clock": "clock of this machine against a registry's",
    Cache "cache": "installed providers: checksums, platforms, permissions",
    Providers "providers": "start of the project's providers",
    Store "store": "state store and its key",
    Operations "operations": "interrupted operations in the journal",
    Daemon "daemon": "socket of a shared daemon",
}

impl Check {
    /// The check of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.name() == name)
    }
}
