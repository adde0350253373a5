//! Values that may not be printed: keys, passphrases, tokens, passwords.
//!
//! The compiler refuses to format a [`Secret`], so whoever prints one has to write [`Secret::expose`] first. Secrets among the
//! values of resources are another matter: `isthmus_provider::KnownSecrets`.

use std::fmt;

/// What is printed in place of a secret. It is the word that the Pulumi CLI has for it.
pub const REDACTED: &str = "[secret]";

/// A value that is not printed: there is no `Display`, no serialization, and `Debug` hides it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret<T = String>(T);

impl<T> Secret<T> {
    /// Hides a value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself, for the one purpose that it is there for. It must not get into a text that is printed.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(REDACTED)
    }
}

impl<T> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_form_hides_the_value() {
        assert_eq!(format!("{:?}", Some(Secret::new("hunter2"))), "Some([secret])");
    }
}
