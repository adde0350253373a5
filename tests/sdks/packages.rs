//! Which packages SDKs are generated of.

use std::path::Path;

/// The version of the plugin's packages, as SDKs name it.
pub(crate) use crate::harness::project::{PLUGIN, PLUGIN_VERSION};

/// A package, as `pulumi package add` is told of it.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its provider's executable, or where that is to be had from.
    pub(crate) source: Source,
    /// What is said after the source.
    pub(crate) arguments: Vec<&'static str>,
    /// The provider's version, for reading only.
    #[allow(dead_code, reason = "only the table of `matrix.rs` has it")]
    pub(crate) version: &'static str,
    /// What the provider is told by its environment.
    pub(crate) variables: Vec<(&'static str, &'static str)>,
}

/// Where a package's provider comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The executable of this name, in the project's directory.
    Local(&'static str),
    /// This address, from which it was fetched already.
    Remote(&'static str),
}

impl Package {
    /// A package of a local provider, called like it.
    pub(crate) fn local(name: &'static str, executable: &'static str) -> Self {
        Self {
            name,
            source: Source::Local(executable),
            arguments: Vec::new(),
            version: "",
            variables: Vec::new(),
        }
    }

    /// The path and the version of the module of its Go SDK: from the second major version on, the path names it.
    pub(crate) fn go_module(&self) -> (String, String) {
        let major: u32 = self.version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
        let major = if matches!(self.source, Source::Remote(_)) { major } else { 0 };
        let suffix = if major > 1 { format!("/v{major}") } else { String::new() };
        (format!("{}/{}{suffix}", crate::go::MODULES, self.name), format!("v{major}.0.0"))
    }

    /// What `pulumi package …` is given for this package's provider.
    pub(crate) fn parameters(&self, providers: &Path) -> Vec<String> {
        let source = match self.source {
            Source::Local(name) => {
                providers.join(name).to_str().expect("test directories have plain names").to_owned()
            }
            Source::Remote(address) => address.to_owned(),
        };
        std::iter::once(source).chain(self.arguments.iter().map(|argument| (*argument).to_owned())).collect()
    }
}

/// Every package of the tests: four real providers, and all shapes that the official libraries can send, in both protocols.
pub(crate) fn all() -> Vec<Package> {
    let conformance =
        Package { version: "protocol 6", ..Package::local("conformance", "terraform-provider-conformance") };
    let conformance5 = Package {
        name: "conformance5",
        version: "protocol 5",
        arguments: vec!["--provider-name", "conformance5"],
        variables: vec![("CONFORMANCE_PROTOCOL", "5")],
        ..conformance.clone()
    };
    vec![
        Package {
            version: "f8d869dc98d9 (2026-05-13)",
            ..Package::local("random", "terraform-provider-random")
        },
        Package { version: "afdd54107aba (2023-01-17)", ..Package::local("tls", "terraform-provider-tls") },
        Package { version: "0.14.2", ..Package::local("time", "terraform-provider-time") },
        Package {
            version: "3561e410f9fe (2026-05-13)",
            ..Package::local("local", "terraform-provider-local")
        },
        conformance,
        conformance5,
    ]
}

/// A package with every name that a language or a generated SDK has itself.
pub(crate) fn of_words() -> Package {
    made("words", "terraform-provider-words", crate::names::every_name())
}

/// A package whose names and texts are code.
pub(crate) fn of_code() -> Package {
    made("code", "terraform-provider-code", crate::names::code())
}

/// A package of a schema that these tests make.
fn made(name: &'static str, executable: &'static str, schema: &'static str) -> Package {
    Package {
        version: "made up",
        variables: vec![("RECORDED_SCHEMA", schema)],
        ..Package::local(name, executable)
    }
}

/// Packages of large providers, whose schemas were recorded by `tests/sdks/record`.
pub(crate) fn large() -> Vec<Package> {
    let recorded = |name, executable, version, schema| Package {
        version,
        variables: vec![("RECORDED_SCHEMA", schema)],
        ..Package::local(name, executable)
    };
    macro_rules! schema {
        ($name:literal) => {
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdks/schemas/", $name, ".gz")
        };
    }
    vec![
        recorded("vault", "terraform-provider-vault", "1.9.0", schema!("vault")),
        recorded("aws", "terraform-provider-aws", "1.60.0", schema!("aws")),
        recorded("azurerm", "terraform-provider-azurerm", "fae580791926 (2026-08-24)", schema!("azurerm")),
    ]
}

/// What has to be left out of a package for an SDK in a language, as the plugin warns, because no generator can write it.
pub(crate) fn left_out(language: &str, package: &str) -> &'static [&'static str] {
    match (language, package) {
        ("dotnet", "conformance" | "conformance5") => &[
            "function give_object",
            "function give_objects",
            "function give_person",
            "function take_kinds",
            "function take_many_objects",
            "function take_objects",
        ],
        ("java", "conformance" | "conformance5") => &[
            "function give_object",
            "function give_objects",
            "function give_person",
            "function take_kinds",
            "function take_many_objects",
            "function take_objects",
            "resource conformance_keywords",
        ],
        ("nodejs", "words") => &[
            "resource words_of_class_constructor",
            "resource words_of_class_get_provider",
            "words_of_class_has_own_property",
            "words_of_class_is_prototype_of",
            "words_of_class_property_is_enumerable",
            "words_of_class_to_locale_string",
            "words_of_class_to_string",
            "words_of_class_value_of",
            "words_pair_args",
            "data source words_pair_output",
            "words_pair_state",
            "words_resource_args",
            "words_resource_state",
        ],
        ("python", "words") => &["data source words_of_class_opts", "data source words_of_sdk_opts"],
        ("go", "words") => &[
            "resource words_of_class_pulumi_resource_type",
            "resource words_pulumi_types",
            "resource words_get_hash_code",
            "resource words_get_resource_name",
            "resource words_get_resource_type",
            "resource words_get_type",
            "data source words_pair_args",
            "data source words_pair_output",
            "data source words_pair_result",
            "data source words_resource_args",
        ],
        ("java", "words") => &[
            "words_of_class_yield",
            "words_of_sdk_yield",
            "resource words_config",
            "words_pair_args",
            "words_resource_args",
        ],
        ("dotnet", "words") => &[
            "resource words_config",
            "data source words_args",
            "data source words_of_class_empty",
            "data source words_of_sdk_empty",
            "data source words_state",
            "words_pair_args",
            "data source words_pair_result",
            "words_pair_state",
            "words_resource_args",
            "words_resource_state",
        ],
        _ => &[],
    }
}

/// The file names of all executables of the packages, each with the tool that it is.
pub(crate) fn executables() -> impl Iterator<Item = (String, String)> {
    let own = ["random", "tls", "time", "local", "conformance"].into_iter().map(|name| {
        let executable = format!("terraform-provider-{name}");
        (executable.clone(), executable)
    });
    let recorded = large().into_iter().map(|package| package.name).chain(["words", "code"]);
    own.chain(recorded.map(|name| (format!("terraform-provider-{name}"), "recorded".to_owned())))
}
