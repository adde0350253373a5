//! The address of a provider's configuration, by which a state says whose objects it holds.

use std::fmt;
use std::str::FromStr;

use super::scanner::{AddressSyntaxError, Fault, InstanceKey, ModuleStep, Scanner};

/// `provider["registry.terraform.io/hashicorp/random"]`, which may stand in a module and have an alias, and for OpenTofu a
/// key beside the alias. Before Terraform 0.13 it was written `provider.random`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderConfigAddress {
    /// The way to its module; empty for the root module.
    pub module: Vec<ModuleStep>,
    /// The provider's address as it is written, such as `registry.terraform.io/hashicorp/random`; of the old form only the
    /// type.
    pub provider: String,
    /// Which of several configurations.
    pub alias: Option<String>,
    /// Which instance of it.
    pub key: Option<InstanceKey>,
}

impl ProviderConfigAddress {
    /// The only configuration of a provider.
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
