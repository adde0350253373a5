//! A package: one provider under one name, with lookup by token.
//!
//! All names of a package are computed together, because they depend on each other; a resource's
//! shape is compiled on first use, because a large provider has thousands.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use isthmus_install::{DEFAULT_HOST, DEFAULT_NAMESPACE};
use isthmus_provider::schema::{Catalogue, CatalogueError, Schema};

use super::function::{FunctionFault, FunctionShape};
use super::names::MemberKind;
use super::parameters::{LOCAL_VERSION, NotAProviderPath, Parameter, ParameterSource, local_provider_type};
use super::shape::{
    PackageNaming, ResourceShape, compile_config, compile_data_source, compile_list, compile_resource,
};
use crate::names::casing::lower_first;
use crate::names::choices::NameChoices;
use crate::names::tokens::{
    Tokens, action_tokens, choose_names, data_source_tokens, ephemeral_resource_tokens, function_tokens,
    member_token, resource_prefix, resource_tokens,
};

/// A package's name, version and parameter.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The package's name: the provider's type unless the user set another.
    pub name: String,
    /// The provider's type, such as `random`.
    pub provider_type: String,
    /// The provider's version; [`LOCAL_VERSION`] if it has none.
    pub version: semver::Version,
    /// The parameter value for SDKs.
    pub parameter: Parameter,
}

/// The provider cannot be a package.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The provider has no type.
    #[error(transparent)]
    Path(#[from] NotAProviderPath),
    /// The name is no valid package name.
    #[error(
        "invalid Pulumi package name {name:?}: {rule}\nhelp: choose another name with `--provider-name NAME` behind the provider"
    )]
    Name {
        /// The provider's type, or the user's name.
        name: String,
        /// The rule that it violates.
        rule: &'static str,
    },
    #[error("the provider's version {version:?} is not a semantic version, which a Pulumi package must have")]
    Version {
        version: String,
        #[source]
        source: semver::Error,
    },
}

/// A token cannot be resolved.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TokenError {
    /// The package has no such member: the program or the package's version is wrong.
    #[error("the package {package} has no {kind} {token:?}{}", meant(.nearest.as_deref()))]
    Unknown {
        package: String,
        /// "resource", "data source", "function", ….
        kind: &'static str,
        token: String,
        /// The most similar token.
        nearest: Option<String>,
    },
    /// The member's schema is invalid, which is a bug in the provider.
    #[error(transparent)]
    Schema(#[from] CatalogueError),
    /// The function's signature is invalid, which is a bug in the provider.
    #[error(transparent)]
    Function(#[from] FunctionFault),
}

#[derive(Debug)]
pub struct Package {
    identity: Identity,
    catalogue: Arc<Catalogue>,
    prefix: String,
    resources: Members<ResourceShape>,
    data_sources: Members<ResourceShape>,
    functions: Members<FunctionShape>,
    ephemeral_resources: Members<ResourceShape>,
    actions: Members<ResourceShape>,
    config: OnceLock<Result<Arc<ResourceShape>, CatalogueError>>,
}

impl Identity {
    /// The identity of the package that `parameter` describes.
    pub fn new(parameter: Parameter) -> Result<Self, IdentityError> {
        let (provider_type, version) = match &parameter.source {
            ParameterSource::Remote { url, version } => {
                (url.rsplit('/').next().unwrap_or(url), version.as_str())
            }
            // The user's name is the type if the file name has none.
            ParameterSource::Local { path } => match (local_provider_type(path), &parameter.provider_name) {
                (Ok(provider_type), _) => (provider_type, LOCAL_VERSION),
                (Err(_), Some(name)) => (name.as_str(), LOCAL_VERSION),
                (Err(error), None) => return Err(error.into()),
            },
        };
        let parsed = semver::Version::parse(version)
            .map_err(|source| IdentityError::Version { version: version.to_owned(), source })?;
        let name = parameter.provider_name.as_deref().unwrap_or(provider_type);
        if let Some(rule) = broken_rule_of_names(name) {
            return Err(IdentityError::Name { name: name.to_owned(), rule });
        }
        Ok(Self {
            name: name.to_owned(),
            provider_type: provider_type.to_owned(),
            version: parsed,
            parameter,
        })
    }

    /// The provider's full address. A local provider gets that of HashiCorp's provider of its type,
    /// as Terraform reads a bare type.
    pub fn provider_address(&self) -> String {
        match &self.parameter.source {
            ParameterSource::Remote { url, .. } => url.clone(),
            ParameterSource::Local { .. } => {
                format!("{DEFAULT_HOST}/{DEFAULT_NAMESPACE}/{}", self.provider_type)
            }
        }
    }

    /// The same address in states. One of the default registry has Terraform's form, which Terraform
    /// and OpenTofu both read as their own.
    pub fn address_in_states(&self) -> String {
        let address = self.provider_address();
        match address.strip_prefix(DEFAULT_HOST) {
            Some(rest) if rest.starts_with('/') => format!("{TERRAFORM_HOST}{rest}"),
            Some(_) | None => address,
        }
    }

    /// The provider's version, if it has one.
    pub fn provider_version(&self) -> Option<&str> {
        match &self.parameter.source {
            // The version of a reattached provider is unknown.
            ParameterSource::Remote { version, .. } => {
                Some(version.as_str()).filter(|text| *text != LOCAL_VERSION)
            }
            ParameterSource::Local { .. } => None,
        }
    }
}

/// Terraform's registry, which OpenTofu reads in states as its own.
pub const TERRAFORM_HOST: &str = "registry.terraform.io";

/// The engine's rule that `name` violates.
fn broken_rule_of_names(name: &str) -> Option<&'static str> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        Some("it must start with a letter from A to Z")
    } else if !name.chars().all(is_part) {
        Some("it may hold letters from A to Z, digits, hyphens and underscores only")
    } else if matches!(name, "pulumi" | "input") {
        Some("Pulumi reserves it")
    } else {
        None
    }
}

impl Package {
    /// Names everything in `catalogue` that the parameter does not exclude.
    pub fn new(identity: Identity, catalogue: Arc<Catalogue>) -> Self {
        let kept = |name: &&str| !identity.parameter.ignores(name);
        let package = &identity.name;
        let all: Vec<&str> = catalogue.resource_names().map(AsRef::as_ref).collect();
        let prefix = resource_prefix(&all, package);
        let mapped: Vec<&str> = all.iter().copied().filter(kept).collect();
        let resources = resource_tokens(package, &prefix, &mapped, &all);
        let mapped: Vec<&str> = catalogue.data_source_names().map(AsRef::as_ref).filter(kept).collect();
        let data_sources = data_source_tokens(package, &prefix, &mapped, &resources);
        let mapped: Vec<&str> = catalogue.functions().keys().map(AsRef::as_ref).filter(kept).collect();
        let functions = function_tokens(package, &mapped, &[&resources, &data_sources]);
        let mapped: Vec<&str> =
            catalogue.ephemeral_resource_names().map(AsRef::as_ref).filter(kept).collect();
        let others = [&resources, &data_sources, &functions];
        let ephemeral_resources = ephemeral_resource_tokens(package, &prefix, &mapped, &others);
        let mapped: Vec<&str> = catalogue.action_names().map(AsRef::as_ref).filter(kept).collect();
        let others = [&resources, &data_sources, &functions, &ephemeral_resources];
        let actions = action_tokens(package, &prefix, &mapped, &others);
        let mut kinds = [
            (MemberKind::Resource, resources),
            (MemberKind::DataSource, data_sources),
            (MemberKind::Function, functions),
            (MemberKind::EphemeralResource, ephemeral_resources),
            (MemberKind::Action, actions),
        ];
        choose_names(package, &identity.parameter.names, &mut kinds);
        let [resources, data_sources, functions, ephemeral_resources, actions] =
            kinds.map(|(_, tokens)| tokens);
        Self {
            prefix,
            resources: Members::new("resource", resources),
            data_sources: Members::new("data source", data_sources),
            functions: Members::new("function", functions),
            ephemeral_resources: Members::new("ephemeral resource", ephemeral_resources),
            actions: Members::new("action", actions),
            config: OnceLock::new(),
            identity,
            catalogue,
        }
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The names that the user has chosen.
    pub fn choices(&self) -> &NameChoices {
        &self.identity.parameter.names
    }

    /// The provider's schemas.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// The prefix of Terraform's resource types, without an underscore, which identifies mappings.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub fn resources(&self) -> &Tokens {
        &self.resources.tokens
    }

    pub fn data_sources(&self) -> &Tokens {
        &self.data_sources.tokens
    }

    pub fn functions(&self) -> &Tokens {
        &self.functions.tokens
    }

    pub fn ephemeral_resources(&self) -> &Tokens {
        &self.ephemeral_resources.tokens
    }

    pub fn actions(&self) -> &Tokens {
        &self.actions.tokens
    }

    /// The tokens of all members, by kind.
    pub fn tokens(&self) -> [(MemberKind, &Tokens); 5] {
        [
            (MemberKind::Resource, &self.resources.tokens),
            (MemberKind::DataSource, &self.data_sources.tokens),
            (MemberKind::Function, &self.functions.tokens),
            (MemberKind::EphemeralResource, &self.ephemeral_resources.tokens),
            (MemberKind::Action, &self.actions.tokens),
        ]
    }

    /// The resource with this token.
    pub fn resource_by_token(&self, token: &str) -> Result<Arc<ResourceShape>, TokenError> {
        let terraform = self.known("resource", &self.resources.tokens, token)?;
        self.resource(terraform)
    }

    /// The resource with a token as in legacy programs: the full form, `random:Pet`,
    /// `random:index:Pet` or `random:pet:Pet`.
    pub fn resource_by_short_token(&self, token: &str) -> Result<Arc<ResourceShape>, TokenError> {
        let full = self.full_token(token).unwrap_or_else(|| token.to_owned());
        let terraform = self
            .resources
            .tokens
            .terraform(&full)
            .ok_or_else(|| self.unknown("resource", &self.resources.tokens, token))?;
        self.resource(terraform)
    }

    /// The data source with this token.
    pub fn data_source_by_token(&self, token: &str) -> Result<Arc<ResourceShape>, TokenError> {
        let terraform = self.known("data source", &self.data_sources.tokens, token)?;
        self.data_source(terraform)
    }

    /// The function with this token.
    pub fn function_by_token(&self, token: &str) -> Result<Arc<FunctionShape>, TokenError> {
        let terraform = self.known("function", &self.functions.tokens, token)?;
        self.function(terraform)
    }

    /// The shape of a resource of the package, by Terraform name.
    pub fn resource(&self, terraform: &str) -> Result<Arc<ResourceShape>, TokenError> {
        self.resources.shape(terraform, |token| {
            Ok(self.compile_resource(terraform, token, self.catalogue.resource(terraform)?))
        })
    }

    /// The shape of a resource for a single use. It is not cached, so that iterating over a large
    /// package does not fill memory.
    pub fn passing_resource(&self, terraform: &str) -> Result<Arc<ResourceShape>, TokenError> {
        self.resources.passing_shape(terraform, |token| {
            Ok(self.compile_resource(terraform, token, self.catalogue.passing_resource(terraform)?))
        })
    }

    fn compile_resource(&self, terraform: &str, token: &str, schema: Arc<Schema>) -> ResourceShape {
        let naming =
            PackageNaming { package: &self.identity.name, prefix: &self.prefix, choices: self.choices() };
        compile_resource(terraform, token, schema, naming)
    }

    /// Compiles a member without a Pulumi id.
    fn compile(&self, kind: MemberKind, terraform: &str, token: &str, schema: Arc<Schema>) -> ResourceShape {
        compile_data_source(kind, terraform, token, schema, self.choices())
    }

    /// The list configuration of a resource type, by Terraform name; `None` if it cannot be listed.
    /// It is not cached: a list takes longer than compiling.
    pub fn list(&self, terraform: &str) -> Option<Result<ResourceShape, TokenError>> {
        let token = self.resources.tokens.token(terraform)?;
        match self.catalogue.passing_list_resource(terraform) {
            Err(CatalogueError::Unknown { .. }) => None,
            found => Some(
                found
                    .map(|schema| compile_list(terraform, token, schema, self.choices()))
                    .map_err(TokenError::from),
            ),
        }
    }

    /// The shape of a data source of the package, by Terraform name.
    pub fn data_source(&self, terraform: &str) -> Result<Arc<ResourceShape>, TokenError> {
        self.data_sources.shape(terraform, |token| {
            Ok(self.compile(MemberKind::DataSource, terraform, token, self.catalogue.data_source(terraform)?))
        })
    }

    /// The shape of a data source for a single use.
    pub fn passing_data_source(&self, terraform: &str) -> Result<Arc<ResourceShape>, TokenError> {
        self.data_sources.passing_shape(terraform, |token| {
            Ok(self.compile(
                MemberKind::DataSource,
                terraform,
                token,
                self.catalogue.passing_data_source(terraform)?,
            ))
        })
    }

    /// The shape of a function of the package, by Terraform name.
    pub fn function(&self, terraform: &str) -> Result<Arc<FunctionShape>, TokenError> {
        self.functions.shape(terraform, |token| {
            let function = self
                .catalogue
                .functions()
                .get(terraform)
                .ok_or_else(|| CatalogueError::Unknown { kind: "function", name: terraform.to_owned() })?;
            Ok(FunctionShape::compile(terraform, token, function, self.choices())?)
        })
    }

    /// The shape of an ephemeral resource of the package, by Terraform name.
    pub fn ephemeral_resource(&self, terraform: &str) -> Result<Arc<ResourceShape>, TokenError> {
        self.ephemeral_resources.shape(terraform, |token| {
            let schema = self.catalogue.ephemeral_resource(terraform)?;
            Ok(self.compile(MemberKind::EphemeralResource, terraform, token, schema))
        })
    }

    /// The shape of an action of the package, by Terraform name.
    pub fn action(&self, terraform: &str) -> Result<Arc<ResourceShape>, TokenError> {
        self.actions.shape(terraform, |token| {
            Ok(self.compile(MemberKind::Action, terraform, token, self.catalogue.action(terraform)?))
        })
    }

    /// The shape of the provider's configuration.
    pub fn config_shape(&self) -> Result<Arc<ResourceShape>, TokenError> {
        let compiled = self
            .config
            .get_or_init(|| Ok(Arc::new(compile_config(self.catalogue.provider()?, self.choices()))));
        Ok(compiled.clone()?)
    }

    fn known<'a>(
        &self,
        kind: &'static str,
        tokens: &'a Tokens,
        token: &str,
    ) -> Result<&'a Arc<str>, TokenError> {
        tokens.terraform(token).ok_or_else(|| self.unknown(kind, tokens, token))
    }

    fn unknown(&self, kind: &'static str, tokens: &Tokens, token: &str) -> TokenError {
        TokenError::Unknown {
            package: self.identity.name.clone(),
            kind,
            token: token.to_owned(),
            nearest: tokens.nearest(token).map(str::to_owned),
        }
    }

    fn full_token(&self, token: &str) -> Option<String> {
        let (package, rest) = token.split_once(':')?;
        let (module, name) = rest.split_once(':').map_or((None, rest), |(module, name)| (Some(module), name));
        let file = lower_first(name);
        let usual = module.is_none_or(|module| {
            module == "index"
                || module == file
                || module.strip_prefix("index/").is_some_and(|rest| rest == file)
        });
        (package == self.identity.name && usual).then(|| member_token(package, name))
    }
}

/// The members of one kind, compiled on demand.
#[derive(Debug)]
struct Members<Shape> {
    kind: &'static str,
    tokens: Tokens,
    shapes: HashMap<Arc<str>, OnceLock<Result<Arc<Shape>, TokenError>>>,
}

impl<Shape> Members<Shape> {
    fn new(kind: &'static str, tokens: Tokens) -> Self {
        let shapes = tokens.iter().map(|(terraform, _)| (Arc::clone(terraform), OnceLock::new())).collect();
        Self { kind, tokens, shapes }
    }

    fn shape(
        &self,
        terraform: &str,
        compile: impl FnOnce(&str) -> Result<Shape, TokenError>,
    ) -> Result<Arc<Shape>, TokenError> {
        match (self.tokens.token(terraform), self.shapes.get(terraform)) {
            (Some(token), Some(slot)) => slot.get_or_init(|| compile(token).map(Arc::new)).clone(),
            // Excluded from the package, or nonexistent.
            _ => Err(CatalogueError::Unknown { kind: self.kind, name: terraform.to_owned() }.into()),
        }
    }

    /// The cached shape, or one compiled for a single use.
    fn passing_shape(
        &self,
        terraform: &str,
        compile: impl FnOnce(&str) -> Result<Shape, TokenError>,
    ) -> Result<Arc<Shape>, TokenError> {
        let kept = self.shapes.get(terraform).and_then(OnceLock::get);
        match (kept, self.tokens.token(terraform)) {
            (Some(kept), _) => kept.clone(),
            (None, Some(token)) => compile(token).map(Arc::new),
            (None, None) => {
                Err(CatalogueError::Unknown { kind: self.kind, name: terraform.to_owned() }.into())
            }
        }
    }
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean {nearest:?}?"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{local, package, package_of};
    use super::*;

    #[test]
    fn a_package_is_called_like_its_provider_unless_told_otherwise() {
        let identity = |parameter| Identity::new(parameter).unwrap();
        let named = identity(local("./terraform-provider-random"));
        assert_eq!((named.name.as_str(), named.version.to_string().as_str()), ("random", "0.0.0"));
        let renamed = identity(Parameter {
            provider_name: Some("dice".to_owned()),
            ..local("./terraform-provider-random")
        });
        assert_eq!((renamed.name.as_str(), renamed.provider_type.as_str()), ("dice", "random"));
        let source = ParameterSource::Remote {
            url: "registry.opentofu.org/bunnyway/bunnynet".to_owned(),
            version: "0.5.1".to_owned(),
        };
        let remote = identity(Parameter { source, ..local("") });
        assert_eq!((remote.name.as_str(), remote.version.to_string().as_str()), ("bunnynet", "0.5.1"));
    }

    #[test]
    fn a_package_has_a_name_that_the_engine_takes() {
        let name_of = |path: &str, provider_name: Option<&str>| {
            let provider_name = provider_name.map(str::to_owned);
            Identity::new(Parameter { provider_name, ..local(path) }).map(|identity| identity.name)
        };
        for (path, name, rule) in [
            ("./terraform-provider-1password", None, "start with a letter"),
            ("./terraform-provider-ok", Some("-x"), "start with a letter"),
            ("./terraform-provider-ok", Some("a b"), "digits, hyphens and underscores only"),
            ("./terraform-provider-ok", Some("émile"), "start with a letter"),
            ("./terraform-provider-ok", Some("p:q"), "digits, hyphens and underscores only"),
            ("./terraform-provider-pulumi", None, "Pulumi reserves it"),
            ("./terraform-provider-input", None, "Pulumi reserves it"),
        ] {
            let error = name_of(path, name).unwrap_err().to_string();
            assert!(error.contains(rule) && error.contains("--provider-name"), "{path} {name:?}: {error}");
        }
        assert_eq!(name_of("./terraform-provider-1password", Some("onepassword")).unwrap(), "onepassword");
        assert_eq!(name_of("./terraform-provider-My_own-1", None).unwrap(), "My_own-1");
        assert_eq!(name_of("./built/provider", Some("own")).unwrap(), "own");
        let nameless = name_of("./built/provider", None).unwrap_err().to_string();
        assert!(
            nameless.contains("\"./built/provider\"") && nameless.contains("--provider-name"),
            "{nameless}"
        );
    }

    #[test]
    fn a_version_must_be_semantic() {
        let source = ParameterSource::Remote { url: "h/n/t".to_owned(), version: "v1".to_owned() };
        let error = Identity::new(Parameter { source, ..local("") }).unwrap_err();
        assert!(error.to_string().contains("\"v1\""), "{error}");
    }

    #[test]
    fn resources_are_found_by_token_and_compiled_once() {
        let package = package();
        let pet = package.resource_by_token("test:index/pet:Pet").unwrap();
        assert_eq!(pet.terraform_type.as_ref(), "test_pet");
        assert!(Arc::ptr_eq(&pet, &package.resource("test_pet").unwrap()));
    }

    #[test]
    fn short_tokens_are_known_where_they_are_allowed() {
        let package = package();
        for token in ["test:Pet", "test:index:Pet", "test:pet:Pet", "test:index/pet:Pet"] {
            assert_eq!(
                package.resource_by_short_token(token).unwrap().token,
                "test:index/pet:Pet",
                "{token}"
            );
        }
        for token in ["Pet", "", "test:other:Pet", "random:Pet", "test:index/cat:Pet", "test:pet:Cat:Pet"] {
            assert!(package.resource_by_short_token(token).is_err(), "{token}");
        }
        assert!(package.resource_by_token("test:Pet").is_err());
    }

    #[test]
    fn an_unknown_token_is_answered_with_the_nearest() {
        let error = package().resource_by_token("test:index/pets:Pets").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the package test has no resource \"test:index/pets:Pets\"; did you mean \"test:index/pet:Pet\"?"
        );
    }

    #[test]
    fn data_sources_functions_and_the_configuration_are_found() {
        let package = package();
        assert_eq!(
            package.data_source_by_token("test:index/getPet:getPet").unwrap().terraform_type.as_ref(),
            "test_pet"
        );
        assert_eq!(
            package.function_by_token("test:index/parseName:parseName").unwrap().terraform_name,
            "parse_name"
        );
        assert!(package.config_shape().unwrap().object.terraform("proxy").is_some());
    }

    #[test]
    fn what_is_excluded_is_not_in_the_package() {
        let package =
            package_of(Parameter { excludes: vec!["test_pet".into()], ..local("./terraform-provider-test") });
        assert!(package.resource_by_token("test:index/pet:Pet").is_err());
        assert!(package.data_source_by_token("test:index/getPet:getPet").is_err());
        assert!(package.resource("test_pet").is_err());
        assert!(package.function_by_token("test:index/parseName:parseName").is_ok());
    }

    #[test]
    fn one_resource_with_a_faulty_schema_spoils_nothing_else() {
        let package = package();
        let error = package.resource_by_token("test:index/broken:Broken").unwrap_err();
        assert!(matches!(error, TokenError::Schema(_)), "{error}");
        assert!(package.resource_by_token("test:index/pet:Pet").is_ok());
    }
}
