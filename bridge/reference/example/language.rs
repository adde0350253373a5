//! The languages of examples.

use super::{Call, go, python, typescript, yaml};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Yaml,
    TypeScript,
    Python,
    Go,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Example {
    pub(crate) language: Language,
    pub(crate) code: String,
}

impl Language {
    pub(crate) const ALL: [Self; 4] = [Self::Yaml, Self::TypeScript, Self::Python, Self::Go];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Yaml => "YAML",
            Self::TypeScript => "TypeScript",
            Self::Python => "Python",
            Self::Go => "Go",
        }
    }

    /// In identifiers of a page.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::TypeScript => "typescript",
            Self::Python => "python",
            Self::Go => "go",
        }
    }

    pub(super) fn example(self, call: &Call<'_>) -> Example {
        let code = match self {
            Self::Yaml => yaml::program(call),
            Self::TypeScript => typescript::program(call),
            Self::Python => python::program(call),
            Self::Go => go::program(call),
        };
        Example { language: self, code }
    }
}

/// A text in double quotes, which all four languages read alike: escapes are those of JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether a name is an identifier in each language.
pub(super) fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// The name by which a program refers to a package.
pub(super) fn alias(package: &str, is_reserved: impl Fn(&str) -> bool) -> String {
    let name = package.replace('-', "_");
    if is_reserved(&name) { name + "_" } else { name }
}
