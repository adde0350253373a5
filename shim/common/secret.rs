//! Values that must not be printed: keys, passphrases, tokens, passwords.
//!
//! A [`Secret`] cannot be formatted without [`Secret::expose`]. For secrets among the values of
//! resources see `isthmus_known_secrets::KnownSecrets`.

use std::fmt;

/// Replacement of a redacted secret: the Pulumi CLI's.
pub const REDACTED: &str = "[secret]";

/// A value that is not printed: it has no `Display` and no serialization, and `Debug` hides it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret<T = String>(T);

impl<T> Secret<T> {
    /// Hides a value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value. It must not get into printed text.
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
