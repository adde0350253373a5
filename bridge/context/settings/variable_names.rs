//! Names of variables, of which a setting lists some.

use std::ffi::OsStr;

use super::values;

/// Names. A `*` at the end of one stands for the rest of a name.
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
        Ok(Self(names))
    }

    /// The names in a list that is correct.
    pub fn of(list: &str) -> Self {
        Self(list.split(',').map(|name| name.trim().to_owned()).collect())
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
