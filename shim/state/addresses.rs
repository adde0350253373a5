//! Addresses of objects in states and stacks.
//!
//! `module.net["eu"].aws_subnet.a[0]` is a resource instance in a module instance. Keys may contain
//! commas, quotes and brackets, so addresses are parsed by their grammar. Formatting a parsed
//! address yields the same text.

mod component;
mod provider_config;
mod scanner;

use std::fmt;
use std::str::FromStr;

pub use component::ComponentAddress;
pub use provider_config::ProviderConfigAddress;
pub use scanner::{AddressSyntaxError, InstanceKey, ModuleStep};
pub(super) use scanner::{Fault, Scanner};

/// Mode of a resource in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceMode {
    /// A managed resource.
    Managed,
    /// A data source.
    Data,
}

/// The address of a resource, without instance key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceAddress {
    /// Path of its module; empty for the root module.
    pub module: Vec<ModuleStep>,
    /// Managed resource or data source.
    pub mode: ResourceMode,
    /// Terraform's type.
    pub type_name: String,
    /// Its name in the configuration.
    pub name: String,
}

/// The address of a resource instance object: the current or a deposed one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectAddress {
    /// The resource.
    pub resource: ResourceAddress,
    /// Instance key.
    pub key: Option<InstanceKey>,
    /// `None`: the current object. Otherwise a deposed one.
    pub deposed: Option<DeposedKey>,
}

/// The key of a deposed object: eight lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeposedKey(String);

impl DeposedKey {
    /// `None` if it is no such key.
    pub fn parse(text: &str) -> Option<Self> {
        let is_key = text.len() == 8 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_key.then(|| Self(text.to_owned()))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ResourceAddress {
    /// A managed resource in the root module.
    pub fn managed(type_name: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            module: Vec::new(),
            mode: ResourceMode::Managed,
            type_name: type_name.into(),
            name: name.into(),
        }
    }

    /// Whether a text is a valid identifier: a letter or an underscore, then letters, digits,
    /// underscores and hyphens.
    pub fn is_name(text: &str) -> bool {
        let mut scanner = Scanner::new(text);
        scanner.identifier().is_ok() && scanner.is_at_end()
    }
}

impl ObjectAddress {
    /// The current object of a resource with a single instance.
    pub fn current(resource: ResourceAddress) -> Self {
        Self { resource, key: None, deposed: None }
    }
}

impl FromStr for ObjectAddress {
    type Err = AddressSyntaxError;

    /// Parses the address of a resource instance, as that of its current object.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Scanner::read_all(text, "an instance of a resource", Scanner::object)
    }
}

impl Scanner<'_> {
    /// `[module.NAME[KEY].]…[data.]TYPE.NAME[KEY]`
    pub(super) fn object(&mut self) -> Result<ObjectAddress, Fault> {
        let module = self.modules()?;
        let mut type_name = self.identifier()?;
        let mode = if type_name == "data" {
            self.expect('.')?;
            type_name = self.identifier()?;
            ResourceMode::Data
        } else {
            ResourceMode::Managed
        };
        self.expect('.')?;
        let name = self.identifier()?;
        let key = self.key()?;
        Ok(ObjectAddress { resource: ResourceAddress { module, mode, type_name, name }, key, deposed: None })
    }
}

/// Parses a module path: `module.a.module.b["k"]`.
///
/// # Errors
/// When the text is none.
pub(super) fn parse_modules(text: &str) -> Result<Vec<ModuleStep>, AddressSyntaxError> {
    Scanner::read_all(text, "a module", |scanner| {
        let mut steps = Vec::new();
        loop {
            if !scanner.take_word("module.") {
                return Err(scanner.fault("`module.` is expected"));
            }
            steps.push(ModuleStep { name: scanner.identifier()?, key: scanner.key()? });
            if !scanner.take('.') {
                return Ok(steps);
            }
        }
    })
}

/// The text of a module path; empty for the root module.
pub(super) fn modules_text(steps: &[ModuleStep]) -> String {
    steps.iter().map(|step| format!("module.{step}")).collect::<Vec<_>>().join(".")
}

impl fmt::Display for ResourceAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.module {
            write!(formatter, "module.{step}.")?;
        }
        let data = if self.mode == ResourceMode::Data { "data." } else { "" };
        write!(formatter, "{data}{}.{}", self.type_name, self.name)
    }
}

/// The address of the instance. Terraform has no addresses of deposed objects, so their keys are
/// not in it.
impl fmt::Display for ObjectAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.resource.fmt(formatter)?;
        self.key.as_ref().map_or(Ok(()), |key| key.fmt(formatter))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_read_and_written_alike() {
        for text in [
            "random_pet.pet",
            "random_pet.pet[0]",
            r#"random_pet.pet["a.b[0],\"c\\\""]"#,
            "data.local_file.x",
            r#"module.a.module.b["k"].module.c[7].data.local_file.x["${"]"#.replace("${", "$${").as_str(),
            "module.module.a.module",
            "aws-thing.größe-2",
        ] {
            let address: ObjectAddress = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(address.to_string(), text);
        }
        let address: ObjectAddress = r#"module.a["x"].random_pet.b[3]"#.parse().expect("an address");
        assert_eq!(
            address.resource.module,
            [ModuleStep { name: "a".to_owned(), key: Some(InstanceKey::Text("x".to_owned())) }]
        );
        assert_eq!(address.key, Some(InstanceKey::Number(3)));
    }

    #[test]
    fn keys_are_written_as_terraforms_language_quotes_them() {
        let key = InstanceKey::Text("a\"b\\c\nd${e}%{f}$g\u{7}".to_owned());
        assert_eq!(key.to_string(), r#"["a\"b\\c\nd$${e}%%{f}$g\u0007"]"#);
        let address: ObjectAddress = format!("a.b{key}").parse().expect("an address");
        assert_eq!(address.key, Some(key));
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_place() {
        for (text, offset, reason) in [
            ("", 0, "a name is expected"),
            ("random_pet", 10, "'.' is expected"),
            ("random_pet.", 11, "a name is expected"),
            ("random_pet.1", 11, "a name is expected"),
            ("random_pet.a[", 13, "a number or a quoted text is expected"),
            ("random_pet.a[01]", 13, "a number has no zeros before it"),
            ("random_pet.a[1", 14, "']' is expected"),
            ("random_pet.a[\"x]", 16, "the text ends within quotes"),
            (r#"random_pet.a["\x"]"#, 15, "an unknown escape"),
            ("random_pet.a[99999999999999999999]", 13, "the number is too large"),
            ("random_pet.a.b", 12, "nothing more is expected"),
            ("module.a", 8, "'.' is expected"),
        ] {
            let error = text.parse::<ObjectAddress>().expect_err(text);
            assert_eq!((error.offset, error.reason), (offset, reason), "{text}");
        }
    }

    #[test]
    fn deposed_keys_are_eight_small_hexadecimal_digits() {
        assert_eq!(DeposedKey::parse("facecafe").expect("a key").as_str(), "facecafe");
        for text in ["", "beef", "FACECAFE", "tootcafe", "facecafe0"] {
            assert_eq!(DeposedKey::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC{0,40}") {
            if let Ok(address) = text.parse::<ObjectAddress>() {
                prop_assert_eq!(address.to_string().parse(), Ok(address));
            }
        }

        #[test]
        fn any_key_survives(key in any::<String>()) {
            let address = ObjectAddress {
                resource: ResourceAddress::managed("a", "b"),
                key: Some(InstanceKey::Text(key)),
                deposed: None,
            };
            prop_assert_eq!(address.to_string().parse(), Ok(address));
        }
    }
}
