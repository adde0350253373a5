//! Which packages SDKs are generated of.

use std::path::{Path, PathBuf};

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
        Self { name, source: Source::Local(executable), arguments: Vec::new(), variables: Vec::new() }
    }

    /// Without resources, data sources and functions of these Terraform names, separated by commas.
    fn without(mut self, names: &'static str) -> Self {
        self.arguments.extend(["--exclude", names]);
        self
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
    let conformance = Package::local("conformance", "terraform-provider-conformance");
    let conformance5 = Package {
        name: "conformance5",
        arguments: vec!["--provider-name", "conformance5"],
        variables: vec![("CONFORMANCE_PROTOCOL", "5")],
        ..conformance.clone()
    };
    vec![
        Package::local("random", "terraform-provider-random"),
        Package::local("tls", "terraform-provider-tls"),
        Package::local("time", "terraform-provider-time"),
        Package::local("local", "terraform-provider-local"),
        conformance,
        conformance5,
    ]
}

/// [`all`], without what a generator cannot do.
///
/// Each of these breaks a whole SDK, with the Go bridge's schemas as with these, which are the same. Nothing that a schema could
/// say otherwise would help, unless names changed on which programs in other languages rely. A program that wants the rest of such a
/// package excludes them, as this does.
pub(crate) fn all_but(not_generated: &[(&str, &'static str)]) -> Vec<Package> {
    let without = |package: Package| {
        let names = not_generated.iter().find(|(name, _)| package.name.starts_with(name));
        match names {
            Some((_, names)) => package.without(names),
            None => package,
        }
    };
    all().into_iter().map(without).collect()
}

/// By pulumi-language-nodejs (3.259.0): functions called by a keyword or with parameters called so, and functions that take
/// or answer objects, of which it leaves the types out.
pub(crate) const NOT_IN_TYPESCRIPT: [(&str, &str); 1] = [(
    "conformance",
    "import,take_keywords,take_kinds,take_objects,take_many_objects,give_object,give_objects,give_person",
)];

/// By pulumi-language-java (1.34.0): the same functions, of which it stops for the types, and attributes called `yield`.
pub(crate) const NOT_IN_JAVA: [(&str, &str); 1] = [(
    "conformance",
    "conformance_keywords,\
     import,take_keywords,take_kinds,take_objects,take_many_objects,give_object,give_objects,give_person",
)];

/// By pulumi-language-go (3.259.0): functions that answer a text, a number or a truth value, which `return nil` when they fail;
/// data sources without outputs, which do so as well; lists of lists of maps of truth values, which the library has no type for.
pub(crate) const NOT_IN_GO: [(&str, &str); 2] = [
    ("local", "direxists"),
    (
        "conformance",
        "conformance_deep,conformance_empty,\
         described,double__2x,give_null,give_number,give_text,give_truth,import,join_words,outdated,shout,summarised,\
         take_keywords,take_kinds,take_many,take_many_any,take_many_numbers,take_many_objects,take_many_optional,\
         take_nameless,take_nothing,take_objects,take_optional,take_optional_all,take_optional_middle,take_same,\
         take_unknown",
    ),
];

/// The file names of all executables of the packages.
pub(crate) fn executables() -> impl Iterator<Item = PathBuf> {
    ["random", "tls", "time", "local", "conformance"]
        .into_iter()
        .map(|name| PathBuf::from(format!("terraform-provider-{name}")))
}
