//! Which variables of a run's environment its providers get.
//!
//! A provider is a program of others. It inherits the environment, because its credentials and its proxies are in it; but
//! not what the environment has for Pulumi itself, for the backend of a Terraform configuration, and for registries: none of
//! it is a provider's business, and with some of it, every secret of a stack can be read.

use std::ffi::OsStr;
use std::sync::LazyLock;

use isthmus_common::{Environment, OWN_VARIABLES, variable_names};

use super::values;

/// What providers do not get, by name or, with `*`, by prefix. What is isthmus' own is withheld besides.
///
/// `PULUMI_CONFIG` is the configuration of the stack: engines set it for plugins, secrets in the clear. `TF_HTTP_…` has the
/// password of a backend and the key of its certificate, `ARM_ACCESS_KEY` and `PG_CONN_STR` are for backends alone, and
/// `TF_CLI_ARGS…` may set any of a backend's settings.
static WITHHELD: LazyLock<VariableNames> = LazyLock::new(|| {
    VariableNames::of(
        "ARM_ACCESS_KEY,PG_CONN_STR,PULUMI_ACCESS_TOKEN,PULUMI_BACKEND_URL,PULUMI_CONFIG,PULUMI_CONFIG_PASSPHRASE,\
         PULUMI_CONFIG_PASSPHRASE_FILE,PULUMI_CONFIG_SECRET_KEYS,PULUMI_GITSSH_PASSPHRASE,TF_CLI_ARGS*,TF_ENCRYPTION,TF_HTTP_*,\
         TF_TOKEN_*",
    )
});

/// Providers that use such variables themselves, by their types, and the variable of their own that takes precedence.
const USERS: [(&str, &str, &str); 2] =
    [("pulumiservice", "", "PULUMI_ACCESS_TOKEN,PULUMI_BACKEND_URL"), ("tfe", "TFE_TOKEN", "TF_TOKEN_*")];

/// Variables that providers get all the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderEnvironment(VariableNames);

impl ProviderEnvironment {
    pub(super) fn parse(value: &OsStr) -> Result<Self, String> {
        let names = VariableNames::parse(value)?;
        if let Some(own) = names.iter().find(|name| name.starts_with(OWN_VARIABLES)) {
            return Err(format!("providers never get {own}"));
        }
        Ok(Self(names))
    }

    /// Whether the setting names a variable.
    pub fn names(&self, name: &OsStr) -> bool {
        self.0.contain(name)
    }

    /// What providers get of an environment.
    pub fn of(&self, environment: &Environment) -> Environment {
        environment.iter().filter(|(name, _)| !self.withholds(name)).collect()
    }

    /// The warning for a provider of this type that uses what is withheld from it.
    pub fn warning(&self, environment: &Environment, provider_type: &str) -> Option<String> {
        let (_, own, used) = USERS.iter().find(|(user, ..)| *user == provider_type)?;
        if environment.value(own).is_some() {
            return None;
        }
        let used = VariableNames::of(used);
        let is_missed = |name: &OsStr| used.contain(name) && self.withholds(name);
        let missed = environment.iter().filter(|(name, value)| !value.is_empty() && is_missed(name));
        let missed: Vec<_> = missed.map(|(name, _)| name.to_string_lossy()).collect();
        if missed.is_empty() {
            return None;
        }
        let (listed, setting) = (missed.join(", "), super::PROVIDER_ENVIRONMENT.name);
        let named = self.0.iter().chain(missed.iter().map(|name| &**name));
        let line = named.collect::<Vec<_>>().join(",");
        Some(format!(
            "the provider {provider_type} does not get {listed}: providers get no credentials of Pulumi, backends and \
             registries\nhelp: if it needs them, set {setting}={line}"
        ))
    }

    fn withholds(&self, name: &OsStr) -> bool {
        WITHHELD.contain(name) && !self.names(name)
    }
}

/// Names of variables. A `*` at the end of one stands for the rest of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableNames(Vec<String>);

impl VariableNames {
    pub(super) fn parse(value: &OsStr) -> Result<Self, String> {
        let names = values::list(value)?;
        for name in &names {
            let literal = name.strip_suffix('*').unwrap_or(name);
            if literal.contains(['*', '=']) || literal.contains(char::is_whitespace) {
                return Err(format!("{name:?} is not the name of a variable"));
            }
        }
        Ok(Self(names.iter().map(|name| variable_names(name)).collect()))
    }

    /// The names in a list that is correct.
    pub fn of(list: &str) -> Self {
        Self(list.split(',').map(|name| variable_names(name.trim())).collect())
    }

    pub fn contain(&self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        self.0.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning.as_bytes()),
            None => name == pattern.as_bytes(),
        })
    }

    /// The names, as in the list.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(value: &str) -> ProviderEnvironment {
        ProviderEnvironment::parse(OsStr::new(value)).expect("it is valid")
    }

    fn run() -> Environment {
        let secret = [
            "ARM_ACCESS_KEY",
            "PG_CONN_STR",
            "PULUMI_ACCESS_TOKEN",
            "PULUMI_BACKEND_URL",
            "PULUMI_CONFIG",
            "PULUMI_CONFIG_PASSPHRASE",
            "PULUMI_CONFIG_PASSPHRASE_FILE",
            "PULUMI_CONFIG_SECRET_KEYS",
            "PULUMI_GITSSH_PASSPHRASE",
            "TF_CLI_ARGS",
            "TF_CLI_ARGS_init",
            "TF_ENCRYPTION",
            "TF_HTTP_CLIENT_PRIVATE_KEY_PEM",
            "TF_HTTP_PASSWORD",
            "TF_HTTP_USERNAME",
            "TF_TOKEN_app_terraform_io",
            "TF_TOKEN_registry_example_com",
        ];
        let public =
            ["AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY", "PULUMI_HOME", "PULUMI_PROJECT", "TFE_TOKEN", "TF_LOG"];
        secret.into_iter().chain(public).map(|name| (name, "s3cret")).collect()
    }

    fn names(environment: &Environment) -> Vec<&str> {
        environment.iter().filter_map(|(name, _)| name.to_str()).collect()
    }

    #[test]
    fn a_provider_gets_no_secrets_of_pulumi_and_of_backends() {
        let given = setting("X").of(&run());
        let expected =
            ["AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY", "PULUMI_HOME", "PULUMI_PROJECT", "TFE_TOKEN", "TF_LOG"];
        assert_eq!(names(&given), expected);
    }

    #[test]
    fn what_the_setting_names_is_given() {
        let given = setting("PULUMI_ACCESS_TOKEN, TF_TOKEN_app_*").of(&run());
        assert!(names(&given).contains(&"PULUMI_ACCESS_TOKEN"));
        assert!(names(&given).contains(&"TF_TOKEN_app_terraform_io"));
        assert!(!names(&given).contains(&"PULUMI_CONFIG_PASSPHRASE"));
        assert!(!names(&given).contains(&"TF_TOKEN_registry_example_com"));
        assert_eq!(setting("*").of(&run()), run());
    }

    #[test]
    fn what_is_isthmus_own_is_refused() {
        for value in ["ISTHMUS_KEY", "ISTHMUS_*"] {
            ProviderEnvironment::parse(OsStr::new(value)).expect_err(value);
        }
    }

    #[test]
    fn a_provider_that_uses_what_is_withheld_has_a_warning_with_the_way_out() {
        let warning = setting("X").warning(&run(), "pulumiservice").expect("a warning");
        assert!(
            warning.ends_with("set ISTHMUS_PROVIDER_ENVIRONMENT=X,PULUMI_ACCESS_TOKEN,PULUMI_BACKEND_URL"),
            "{warning}"
        );
        assert!(!warning.contains("s3cret"), "{warning}");
        let tokens =
            Environment::from_iter([("TF_TOKEN_a", "s3cret"), ("TF_TOKEN_b", "s3cret"), ("TF_TOKEN_c", "")]);
        let warning = ProviderEnvironment::default().warning(&tokens, "tfe").expect("a warning");
        assert!(warning.contains("does not get TF_TOKEN_a, TF_TOKEN_b:"), "{warning}");
        assert_eq!(setting("TF_TOKEN_*").warning(&tokens, "tfe"), None);
        assert_eq!(setting("X").warning(&tokens.with("TFE_TOKEN", "its own"), "tfe"), None);
        assert_eq!(setting("X").warning(&run(), "random"), None);
    }

    #[test]
    fn a_star_at_the_end_stands_for_the_rest_of_a_name() {
        let names = VariableNames::parse(OsStr::new(" CLOUD_*, REGION")).expect("names");
        let contained = |name: &str| names.contain(OsStr::new(name));
        assert!(contained("CLOUD_SECRET") && contained("CLOUD_") && contained("REGION"));
        assert!(!contained("CLOUD") && !contained("REGIONS") && !contained(""));
        for wrong in ["A,,B", "A,", "A B", "*_SECRET", "A*B", "A=b", "A**"] {
            VariableNames::parse(OsStr::new(wrong)).expect_err(wrong);
        }
    }
}
