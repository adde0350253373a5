//! The address of a provider configuration in a state.

use std::fmt;
use std::str::FromStr;

use super::scanner::{AddressSyntaxError, Fault, InstanceKey, ModuleStep, Scanner};

/// `provider["registry.terraform.io/hashicorp/random"]`, in a module if any, with an alias if any,
/// and in OpenTofu with a key after the alias. Before Terraform 0.13 it was `provider.random`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderConfigAddress {
    /// Path of its module; empty for the root module.
    pub module: Vec<ModuleStep>,
    /// The provider's address, such as `registry.terraform.io/hashicorp/random`; in the old form
    /// only the type.
    pub provider: String,
    /// Its alias, if any.
    pub alias: Option<String>,
    /// Instance key.
    pub key: Option<InstanceKey>,
}

impl ProviderConfigAddress {
    /// A provider's default configuration.
    pub fn new(provider: impl Into<String>) -> Self {
        Self { module: Vec::new(), provider: provider.into(), alias: None, key: None }
    }

    /// The provider's type: the last part of its address.
    pub fn provider_type(&self) -> &str {
        self.provider.rsplit('/').next().unwrap_or(&self.provider)
    }
}

impl FromStr for ProviderConfigAddress {
    type Err = AddressSyntaxError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Scanner::read_all(text, "a provider's configuration", Scanner::provider_config)
    }
}

impl Scanner<'_> {
    fn provider_config(&mut self) -> Result<ProviderConfigAddress, Fault> {
        let module = self.modules()?;
        if self.take_word("provider.") {
            let provider = self.identifier()?;
            let alias = if self.take('.') { Some(self.identifier()?) } else { None };
            return Ok(ProviderConfigAddress { module, provider, alias, key: None });
        }
        if !self.take_word("provider[") {
            return Err(self.fault("`provider[` is expected"));
        }
        let provider = self.quoted_text()?;
        self.expect(']')?;
        let alias = if self.take('.') { Some(self.identifier()?) } else { None };
        let key = if alias.is_some() { self.key()? } else { None };
        Ok(ProviderConfigAddress { module, provider, alias, key })
    }
}

impl fmt::Display for ProviderConfigAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.module {
            write!(formatter, "module.{step}.")?;
        }
        write!(formatter, "provider[{}]", super::scanner::quoted(&self.provider))?;
        if let Some(alias) = &self.alias {
            write!(formatter, ".{alias}")?;
        }
        self.key.as_ref().map_or(Ok(()), |key| key.fmt(formatter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        for text in [
            r#"provider["registry.terraform.io/hashicorp/random"]"#,
            r#"provider["registry.terraform.io/hashicorp/random"].second"#,
            r#"module.a.provider["example.com/x/y"].second["eu"]"#,
        ] {
            let address: ProviderConfigAddress = text.parse().expect("an address");
            assert_eq!(address.to_string(), text);
        }
        let old: ProviderConfigAddress = "module.a.provider.aws.second".parse().expect("an address");
        assert_eq!((old.provider_type(), old.alias.as_deref()), ("aws", Some("second")));
        let new: ProviderConfigAddress = r#"provider["a/b/c"]"#.parse().expect("an address");
        assert_eq!(new.provider_type(), "c");
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        for text in ["", "random", "provider[random]", r#"provider["a""#, r#"provider["a"].x.y"#] {
            text.parse::<ProviderConfigAddress>().expect_err(text);
        }
    }
}
