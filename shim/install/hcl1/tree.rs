//! The syntax tree: named items with their positions.

use std::fmt;

/// Size limit of a file.
pub(super) const LONGEST: usize = 1 << 20;

/// Maximum nesting; valid settings have a depth of four.
pub(super) const DEEPEST: usize = 32;

/// A position in a text, counted in characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

impl Position {
    /// The start of a text.
    pub(super) const START: Self = Self { line: 1, column: 1 };

    pub(super) fn behind(self, character: char) -> Self {
        if character == '\n' {
            Self { line: self.line + 1, column: 1 }
        } else {
            Self { column: self.column + 1, ..self }
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// The contents of a block or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) position: Position,
    pub(crate) items: Vec<Item>,
}

/// A named item: an argument or a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) name: Key,
    /// Labels between the name and the value, such as a host.
    pub(crate) labels: Vec<Key>,
    /// Whether it is `name = value`. In JSON it is unknown, and `false` for all items.
    pub(crate) is_assigned: bool,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) position: Position,
    pub(crate) text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) position: Position,
    pub(crate) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    List(Vec<Value>),
    Body(Body),
}

impl Content {
    /// Its kind, for an error.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::List(_) => "a list",
            Self::Body(_) => "a block",
        }
    }
}

/// A syntax error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) position: Position,
    pub(crate) fault: SyntaxFault,
}

/// The reason of a syntax error, without anything that is in the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxFault {
    #[error("the file is longer than {LONGEST} bytes")]
    TooLong,
    #[error("there are more than {DEEPEST} blocks or lists in each other")]
    TooDeep,
    #[error("the file is not in UTF-8 here")]
    Encoding,
    #[error("this character has no meaning here")]
    Character,
    #[error("this {0} has no end")]
    Unterminated(&'static str),
    #[error("a backslash cannot be followed by this; write \\\\ for a backslash itself")]
    Escape,
    #[error("this is not a number")]
    Number,
    #[error("a heredoc starts with << and a name, and nothing else in its line")]
    Heredoc,
    #[error("found {found}, where {expected} should be")]
    Expected { expected: &'static str, found: String },
    #[error("this was already set at {first}; it can be set once only")]
    Twice { first: Position },
}
