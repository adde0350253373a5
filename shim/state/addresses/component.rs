//! The address of a component of a stack.

use std::fmt;
use std::str::FromStr;

use super::scanner::{AddressSyntaxError, Fault, InstanceKey, ModuleStep, Scanner};

/// An instance of a component: `stack.a["k"].component.b[0]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentAddress {
    /// Path of the embedded stack; empty for the root stack.
    pub stacks: Vec<ModuleStep>,
    /// Its name.
    pub name: String,
    /// Instance key.
    pub key: Option<InstanceKey>,
}

impl ComponentAddress {
    /// A component of the root stack with a single instance.
    pub fn new(name: impl Into<String>) -> Self {
        Self { stacks: Vec::new(), name: name.into(), key: None }
    }

    /// The component without its instance key.
    #[must_use]
    pub(crate) fn without_key(&self) -> Self {
        Self { key: None, ..self.clone() }
    }
}

impl FromStr for ComponentAddress {
    type Err = AddressSyntaxError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Scanner::read_all(text, "a component", Scanner::component)
    }
}

impl Scanner<'_> {
    pub(crate) fn component(&mut self) -> Result<ComponentAddress, Fault> {
        let mut stacks = Vec::new();
        while self.take_word("stack.") {
            stacks.push(ModuleStep { name: self.identifier()?, key: self.key()? });
            self.expect('.')?;
        }
        if !self.take_word("component.") {
            return Err(self.fault("`component.` is expected"));
        }
        Ok(ComponentAddress { stacks, name: self.identifier()?, key: self.key()? })
    }
}

impl fmt::Display for ComponentAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.stacks {
            write!(formatter, "stack.{step}.")?;
        }
        write!(formatter, "component.{}", self.name)?;
        self.key.as_ref().map_or(Ok(()), |key| key.fmt(formatter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_of_any_stack_are_read_and_written_alike() {
        for text in ["component.a", r#"component.a["x,y"]"#, r#"stack.a["k"].stack.b.component.c[0]"#] {
            let address: ComponentAddress = text.parse().expect("an address");
            assert_eq!(address.to_string(), text);
        }
        let address: ComponentAddress = "component.a[0]".parse().expect("an address");
        assert_eq!(address.without_key(), ComponentAddress::new("a"));
    }

    #[test]
    fn what_is_no_component_is_refused() {
        for text in ["", "a", "component.", "stack.a", "component.a.b", "stack.component.a"] {
            text.parse::<ComponentAddress>().expect_err(text);
        }
    }
}
