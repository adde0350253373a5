//! The languages of examples.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Yaml,
    TypeScript,
    Python,
    Go,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    pub language: Language,
    pub code: String,
}

impl Language {
    pub const ALL: [Self; 4] = [Self::Yaml, Self::TypeScript, Self::Python, Self::Go];

    pub fn name(self) -> &'static str {
        match self {
            Self::Yaml => "YAML",
            Self::TypeScript => "TypeScript",
            Self::Python => "Python",
            Self::Go => "Go",
        }
    }

    /// In identifiers of a page.
    pub fn key(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::TypeScript => "typescript",
            Self::Python => "python",
            Self::Go => "go",
        }
    }
}
