//! The policy of a shared daemon: which identity may use which provider, in which version and configuration, for what.
//!
//! `ISTHMUS_POLICY` names a file of TOML, whose rules permit; what none of them permits is refused. A session has the rules that
//! are about its identity, and they become fewer: by the provider that it chooses, and by the configuration of the provider. So
//! one rule has to permit everything about a call.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_common::permissions::{PermissionsError, require_trusted_file};
use isthmus_common::{Links, read_regular};
use isthmus_install::{ConstraintError, DEFAULT_HOST, ProviderAddress, VersionConstraint};
use serde::Deserialize;

use super::environment::EnvironmentRule;
use super::identity::Identity;
use super::pattern::Pattern;
use super::reread::{Reread, Unreadable};
use crate::settings;

/// Before the path of a provider's executable.
const FILE: &str = "file:";

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PolicyError {
    #[error("failed to read the policy {path}, which {setting} names", path = path.display(), setting = settings::POLICY.name)]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the policy that {setting} names is refused", setting = settings::POLICY.name)]
    Permissions(#[from] PermissionsError),
    #[error("the policy {path} is invalid: {reason}\nhelp: its tables are `[[allow]]` and `[[environment]]`", path = path.display())]
    Invalid { path: PathBuf, reason: String },
    #[error("the versions {text:?} in the policy {path} are invalid", path = path.display())]
    Versions {
        path: PathBuf,
        text: String,
        #[source]
        source: ConstraintError,
    },
}

/// What the policy does not permit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub(crate) struct PolicyDenied(Box<Denial>);

impl From<Denial> for PolicyDenied {
    fn from(denial: Denial) -> Self {
        Self(Box::new(denial))
    }
}

/// That there are no permissions.
#[derive(Debug)]
pub(crate) struct NoPermissions {
    pub(crate) denied: PolicyDenied,
    /// Why the file cannot be read, if that is new.
    pub(crate) fault: Option<Box<PolicyError>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Denial {
    #[error("the policy of this daemon permits nothing to {0}")]
    Identity(Identity),
    #[error("the policy of this daemon does not permit {identity} to use {}", shown(.identity, .provider))]
    Provider { identity: Identity, provider: ProviderName },
    #[error("the policy of this daemon does not permit {identity} to use version {version} of {}", shown(.identity, .provider))]
    Version { identity: Identity, provider: ProviderName, version: semver::Version },
    #[error(
        "the policy of this daemon does not permit {identity} to configure the provider like this; a rule asks for other values of: {attributes}"
    )]
    Configuration { identity: Identity, attributes: String },
    #[error(
        "the policy of this daemon does not permit {identity} to {operation} with this provider and its configuration"
    )]
    Operation { identity: Identity, operation: Operation },
    /// Its calls say too little.
    #[error("this daemon has a policy for {0}, which cannot judge calls of lumirpc.ResourceProvider")]
    Legacy(Identity),
    #[error("the daemon cannot read its policy, so it permits nothing; its log says why")]
    Unreadable,
}

/// A provider as its user may know it. Where a path leads to is not for other machines to know.
fn shown(identity: &Identity, provider: &ProviderName) -> String {
    match provider {
        ProviderName::File(_) if identity.is_remote() => "an executable of the daemon's machine".to_owned(),
        ProviderName::File(_) | ProviderName::Registry(_) => provider.to_string(),
    }
}

/// What a call does with real resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    /// Plan a change.
    Preview,
    /// Read resources and data sources, import, and call functions.
    Read,
    Create,
    Update,
    Delete,
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Preview => "preview changes",
            Self::Read => "read",
            Self::Create => "create resources",
            Self::Update => "update resources",
            Self::Delete => "delete resources",
        })
    }
}

/// A provider as a policy names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProviderName {
    /// Of a registry or a mirror.
    Registry(ProviderAddress),
    /// An executable, or the process of one that runs already.
    File(PathBuf),
}

impl ProviderName {
    /// The executable at a path, in the directory that it is really in: no `..` and no link leads out of a directory that a
    /// policy permits. Without such a directory there is nothing to start, and no path. Blocks on the file system.
    pub(crate) fn of_file(path: &Path) -> Self {
        let directory = path.parent().and_then(|directory| directory.canonicalize().ok());
        let file = directory.zip(path.file_name()).map(|(directory, name)| directory.join(name));
        Self::File(file.unwrap_or_default())
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(address) => write!(formatter, "{address}"),
            Self::File(path) => write!(formatter, "{FILE}{}", path.display()),
        }
    }
}

/// Which providers. `*` is every one of a registry; executables of this machine are named by `file:` and their paths.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ProviderPattern {
    Registry(Pattern),
    File(Pattern),
}

impl ProviderPattern {
    fn parse(text: &str) -> Self {
        if let Some(path) = text.strip_prefix(FILE) {
            return Self::File(Pattern::new(path));
        }
        // Without a host it is of the default registry, as everywhere.
        if let Ok(address) = ProviderAddress::parse(text) {
            return Self::Registry(Pattern::new(address.to_string()));
        }
        let has_host = text.matches('/').count() != 1;
        Self::Registry(Pattern::new(if has_host {
            text.to_owned()
        } else {
            format!("{DEFAULT_HOST}/{text}")
        }))
    }

    fn matches(&self, name: &ProviderName) -> bool {
        match (self, name) {
            (Self::Registry(pattern), ProviderName::Registry(address)) => {
                pattern.matches(&address.to_string())
            }
            (Self::File(pattern), ProviderName::File(path)) => {
                path.to_str().is_some_and(|path| pattern.matches(path))
            }
            (Self::Registry(_), ProviderName::File(_)) | (Self::File(_), ProviderName::Registry(_)) => false,
        }
    }
}

/// A permission.
#[derive(Clone, Debug)]
struct Rule {
    identities: Vec<Pattern>,
    providers: Vec<ProviderPattern>,
    versions: Option<VersionConstraint>,
    /// `None`: all.
    operations: Option<Vec<Operation>>,
    /// The values that attributes of the provider's configuration must have.
    configuration: BTreeMap<String, Vec<Pattern>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    allow: Vec<AllowTable>,
    #[serde(default)]
    environment: Vec<EnvironmentRule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowTable {
    identities: Vec<Pattern>,
    providers: Vec<String>,
    versions: Option<String>,
    operations: Option<Vec<Operation>>,
    #[serde(default)]
    configuration: BTreeMap<String, Vec<Pattern>>,
}

#[derive(Debug)]
struct Rules {
    allow: Vec<Arc<Rule>>,
    environment: Vec<EnvironmentRule>,
}

/// The rules of a daemon, which are read again when their file changes. Open sessions have those that they began with.
#[derive(Debug)]
pub(crate) struct Policy(Option<Reread<PathBuf, Rules, PolicyError>>);

impl Policy {
    /// The rules in a file. Without one, users of this machine may do everything, and others may use every provider of a
    /// registry. Blocks on the file system.
    pub(crate) fn read(path: Option<PathBuf>) -> Result<Self, PolicyError> {
        let reread = |path: PathBuf| Reread::read(vec![path.clone()], path, |path| read(path));
        Ok(Self(path.map(reread).transpose()?))
    }

    /// What an identity may do, and which environment its providers get. Blocks on the file system.
    pub(crate) fn permissions(
        &self,
        identity: &Identity,
    ) -> Result<(Permissions, Option<EnvironmentRule>), NoPermissions> {
        let Some(rules) = &self.0 else {
            return Ok((Permissions::by_default(identity), None));
        };
        let rules = rules.current().map_err(|Unreadable { error }| NoPermissions {
            denied: Denial::Unreadable.into(),
            fault: error.map(Box::new),
        })?;
        let text = identity.to_string();
        let is_meant = |identities: &[Pattern]| identities.iter().any(|pattern| pattern.matches(&text));
        let allow: Vec<_> = rules.allow.iter().filter(|rule| is_meant(&rule.identities)).cloned().collect();
        if allow.is_empty() {
            let denied = Denial::Identity(identity.clone()).into();
            return Err(NoPermissions { denied, fault: None });
        }
        let environment = rules.environment.iter().find(|rule| is_meant(&rule.identities)).cloned();
        Ok((Permissions::of(identity, allow), environment))
    }
}

/// What a session may do.
#[derive(Debug)]
pub(crate) struct Permissions(Option<Restricted>);

#[derive(Debug)]
struct Restricted {
    identity: Identity,
    /// The rules that permit everything about the session so far.
    rules: Mutex<Vec<Arc<Rule>>>,
}

impl Permissions {
    /// Everything.
    pub(crate) fn everything() -> Self {
        Self(None)
    }

    fn by_default(identity: &Identity) -> Self {
        if !identity.is_remote() {
            return Self::everything();
        }
        Self::of(
            identity,
            vec![Arc::new(Rule {
                identities: Vec::new(),
                providers: vec![ProviderPattern::Registry(Pattern::new("*"))],
                versions: None,
                operations: None,
                configuration: BTreeMap::new(),
            })],
        )
    }

    fn of(identity: &Identity, rules: Vec<Arc<Rule>>) -> Self {
        Self(Some(Restricted { identity: identity.clone(), rules: Mutex::new(rules) }))
    }

    /// Whether there is anything that the session may not do.
    pub(crate) fn are_restricted(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the session may choose this provider in some version.
    pub(crate) fn may_use(&self, provider: &ProviderName) -> Result<(), PolicyDenied> {
        let Some(restricted) = &self.0 else { return Ok(()) };
        if restricted.any(|rule| rule.is_about(provider)) {
            return Ok(());
        }
        let (identity, provider) = (restricted.identity.clone(), provider.clone());
        Err(Denial::Provider { identity, provider }.into())
    }

    /// The session chooses this provider in this version.
    pub(crate) fn chosen(
        &self,
        provider: &ProviderName,
        version: &semver::Version,
    ) -> Result<(), PolicyDenied> {
        self.may_use(provider)?;
        let Some(restricted) = &self.0 else { return Ok(()) };
        let permits = |rule: &Rule| {
            rule.is_about(provider) && rule.versions.as_ref().is_none_or(|versions| versions.allows(version))
        };
        if restricted.narrow(permits) {
            return Ok(());
        }
        let (identity, provider, version) = (restricted.identity.clone(), provider.clone(), version.clone());
        Err(Denial::Version { identity, provider, version }.into())
    }

    /// The session's provider is to be configured: `value` tells the text of an attribute; `None` if it has none that is known.
    pub(crate) fn configured(&self, value: impl Fn(&str) -> Option<String>) -> Result<(), PolicyDenied> {
        let Some(restricted) = &self.0 else { return Ok(()) };
        let permits = |rule: &Rule| {
            let mut attributes = rule.configuration.iter();
            attributes.all(|(name, patterns)| {
                value(name).is_some_and(|value| patterns.iter().any(|pattern| pattern.matches(&value)))
            })
        };
        let mut attributes: Vec<String> = restricted.names();
        if restricted.narrow(permits) {
            return Ok(());
        }
        attributes.sort_unstable();
        attributes.dedup();
        let attributes = attributes.join(", ");
        Err(Denial::Configuration { identity: restricted.identity.clone(), attributes }.into())
    }

    /// The session makes a call.
    pub(crate) fn may(&self, operation: Operation) -> Result<(), PolicyDenied> {
        let Some(restricted) = &self.0 else { return Ok(()) };
        let permits =
            |rule: &Rule| rule.operations.as_ref().is_none_or(|operations| operations.contains(&operation));
        if restricted.any(permits) {
            return Ok(());
        }
        Err(Denial::Operation { identity: restricted.identity.clone(), operation }.into())
    }

    /// The session makes a call of the legacy service, whose provider and configuration no rule judges.
    pub(crate) fn may_use_legacy_service(&self) -> Result<(), PolicyDenied> {
        match &self.0 {
            None => Ok(()),
            Some(restricted) => Err(Denial::Legacy(restricted.identity.clone()).into()),
        }
    }
}

impl Restricted {
    fn any(&self, permits: impl Fn(&Rule) -> bool) -> bool {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.iter().any(|rule| permits(rule))
    }

    /// Leaves the rules that permit something, unless there is none.
    fn narrow(&self, permits: impl Fn(&Rule) -> bool) -> bool {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let remaining: Vec<_> = rules.iter().filter(|rule| permits(rule)).cloned().collect();
        let is_permitted = !remaining.is_empty();
        if is_permitted {
            *rules = remaining;
        }
        is_permitted
    }

    /// The attributes that rules are about.
    fn names(&self) -> Vec<String> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.iter().flat_map(|rule| rule.configuration.keys().cloned()).collect()
    }
}

impl Rule {
    fn is_about(&self, provider: &ProviderName) -> bool {
        self.providers.iter().any(|pattern| pattern.matches(provider))
    }
}

fn read(path: &Path) -> Result<Rules, PolicyError> {
    require_trusted_file(path)?;
    let content = read_regular(path, Links::Follow);
    let content = content.and_then(|content| String::from_utf8(content).map_err(io::Error::other));
    parse(path, &content.map_err(|source| PolicyError::Read { path: path.to_owned(), source })?)
}

fn parse(path: &Path, content: &str) -> Result<Rules, PolicyError> {
    let invalid = |reason: String| PolicyError::Invalid { path: path.to_owned(), reason };
    let file: File =
        toml::from_str(content).map_err(|error| invalid(error.to_string().trim_end().to_owned()))?;
    let mut allow = Vec::new();
    for table in file.allow {
        let AllowTable { identities, providers, versions, operations, configuration } = table;
        if identities.is_empty() || providers.is_empty() {
            return Err(invalid("a table [[allow]] has no identities or no providers".to_owned()));
        }
        let versions = versions.map(|text| {
            VersionConstraint::parse(&text).map_err(|source| PolicyError::Versions {
                path: path.to_owned(),
                text,
                source,
            })
        });
        let providers = providers.iter().map(|text| ProviderPattern::parse(text)).collect();
        allow.push(Arc::new(Rule {
            identities,
            providers,
            versions: versions.transpose()?,
            operations,
            configuration,
        }));
    }
    Ok(Rules { allow, environment: file.environment })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = r#"
        [[allow]]
        identities = ["token:reviews"]
        providers = ["hashicorp/*", "registry.opentofu.org/hashicorp/random"]
        operations = ["preview", "read"]

        [[allow]]
        identities = ["token:reviews", "certificate:*.example.org"]
        providers = ["hashicorp/aws"]
        versions = ">= 5.0, < 6.0"
        configuration = { region = ["eu-*"] }

        [[allow]]
        identities = ["user:*"]
        providers = ["*", "file:/opt/providers/*"]
    "#;

    fn permissions(identity: &Identity) -> Result<Permissions, PolicyDenied> {
        let rules = parse(Path::new("policy.toml"), POLICY).expect("a policy");
        let text = identity.to_string();
        let is_meant = |rule: &&Arc<Rule>| rule.identities.iter().any(|pattern| pattern.matches(&text));
        let rules: Vec<_> = rules.allow.iter().filter(is_meant).cloned().collect();
        if rules.is_empty() {
            return Err(Denial::Identity(identity.clone()).into());
        }
        Ok(Permissions::of(identity, rules))
    }

    fn registry(name: &str) -> ProviderName {
        ProviderName::Registry(ProviderAddress::parse(name).expect("an address"))
    }

    fn version(text: &str) -> semver::Version {
        text.parse().expect("a version")
    }

    #[test]
    fn one_rule_has_to_permit_everything_about_a_call() {
        let reviews = Identity::Token("reviews".into());
        let aws = registry("hashicorp/aws");
        let permitted = permissions(&reviews).expect("permissions");
        permitted.chosen(&aws, &version("5.2.0")).expect("a permitted version");
        permitted.configured(|_| Some("eu-west-1".to_owned())).expect("a permitted configuration");
        permitted.may(Operation::Create).expect("the second rule permits it");

        let other_region = permissions(&reviews).expect("permissions");
        other_region.chosen(&aws, &version("5.2.0")).expect("a permitted version");
        other_region.configured(|_| Some("us-east-1".to_owned())).expect("the first rule permits it");
        other_region.may(Operation::Preview).expect("the first rule permits it");
        let denied = other_region.may(Operation::Create).expect_err("only the second rule permits it");
        assert_eq!(
            denied.to_string(),
            "the policy of this daemon does not permit token:reviews to create resources with this provider and its configuration"
        );

        let other_version = permissions(&Identity::Certificate("a.example.org".into())).expect("permissions");
        let denied = other_version.chosen(&aws, &version("6.0.0")).expect_err("no rule permits it");
        assert!(matches!(*denied.0, Denial::Version { .. }), "{denied}");
        other_version.chosen(&aws, &version("5.0.0")).expect("a permitted version");
        let denied = other_version.configured(|_| None).expect_err("it has no region");
        assert!(denied.to_string().ends_with("asks for other values of: region"), "{denied}");
    }

    #[test]
    fn what_no_rule_permits_is_refused() {
        let unknown = Identity::Token("unknown".into());
        assert_eq!(permissions(&unknown).expect_err("no rule"), Denial::Identity(unknown).into());
        let own = permissions(&Identity::User(1000)).expect("permissions");
        own.may_use(&registry("example.com/a/b")).expect("every provider of a registry");
        own.may_use(&ProviderName::File("/opt/providers/a".into())).expect("a permitted directory");
        own.may_use(&ProviderName::File("/tmp/a".into())).expect_err("another directory");
        own.may_use_legacy_service().expect_err("no rule judges it");
    }

    #[test]
    fn a_path_does_not_lead_out_of_a_directory_that_is_permitted() {
        let directory = tempfile::tempdir().expect("a directory");
        let (permitted, other) = (directory.path().join("permitted"), directory.path().join("other"));
        std::fs::create_dir(&permitted).expect("a new directory");
        std::fs::create_dir(&other).expect("a new directory");
        std::os::unix::fs::symlink(&other, permitted.join("link")).expect("a new link");
        let pattern = ProviderPattern::parse(&format!("file:{}/*", permitted.display()));
        let matches = |path: PathBuf| pattern.matches(&ProviderName::of_file(&path));
        assert!(matches(permitted.join("a")));
        assert!(matches(other.join("../permitted/a")));
        for path in ["../other/a", "link/a", "..", "nowhere/a"] {
            assert!(!matches(permitted.join(path)), "{path}");
        }
    }

    #[test]
    fn without_a_policy_others_than_users_of_this_machine_may_not_name_its_executables() {
        let policy = Policy::read(None).expect("no policy");
        let of = |identity: &Identity| policy.permissions(identity).expect("permissions").0;
        let file = ProviderName::File("/opt/a".into());
        of(&Identity::User(1000)).may_use(&file).expect("a user of this machine");
        of(&Identity::Token("a".into())).may_use(&file).expect_err("an executable");
        of(&Identity::Token("a".into())).may_use(&registry("a/b")).expect("a provider of a registry");
    }

    #[test]
    fn a_policy_with_a_misspelt_word_is_invalid() {
        for text in [
            "[[alow]]\nidentities = [\"*\"]\nproviders = [\"*\"]",
            "[[allow]]\nidentities = [\"*\"]\nprovider = [\"*\"]",
            "[[allow]]\nidentities = []\nproviders = [\"*\"]",
            "[[allow]]\nidentities = [\"*\"]\nproviders = [\"*\"]\noperations = [\"destroy\"]",
            "[[allow]]\nidentities = [\"*\"]\nproviders = [\"*\"]\nversions = \"latest\"",
        ] {
            parse(Path::new("policy.toml"), text).expect_err(text);
        }
    }
}
