//! What was seen of a feature, in few words. Every cell of the table is one of these, made by code from the answers and
//! from what the provider was asked.

use std::fmt;

use crate::steps::Decision;

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// How much of the feature there is.
    pub(crate) grade: Grade,
    facts: Vec<Fact>,
}

/// How much of a feature there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grade {
    Missing,
    Partly,
    Whole,
}

/// One thing that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// What a preview decides.
    Decides(Decision),
    /// What a preview shows of it: places in the words of the side.
    Shows(Vec<String>),
    /// What it says when it refuses something.
    Refuses(When, String),
    /// It does not know of the feature: what it says then.
    NotOffered(String),
    /// A value that was seen.
    Saw(&'static str, String),
    /// One of the ends that a scenario can have.
    Is(&'static str),
    /// How often something was seen.
    Counted(&'static str, usize),
    /// What comes after something else.
    Then(&'static str, Vec<Self>),
}

/// When something was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Preview,
    Update,
    Refresh,
    Import,
}

impl Outcome {
    /// Of this grade, with what was seen.
    pub(crate) fn new(grade: Grade, facts: impl IntoIterator<Item = Fact>) -> Self {
        Self { grade, facts: facts.into_iter().collect() }
    }

    /// The whole feature if `is_right`, else nothing of it.
    pub(crate) fn whole_if(is_right: bool, facts: impl IntoIterator<Item = Fact>) -> Self {
        Self::new(if is_right { Grade::Whole } else { Grade::Missing }, facts)
    }

    /// Nothing of it.
    pub(crate) fn missing(facts: impl IntoIterator<Item = Fact>) -> Self {
        Self::new(Grade::Missing, facts)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.grade {
            Grade::Whole => "**yes**: ",
            Grade::Partly => "**partly**: ",
            Grade::Missing => "**no**: ",
        })?;
        let facts: Vec<String> = self.facts.iter().map(Fact::to_string).collect();
        formatter.write_str(&facts.join("; "))
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decides(decision) => match decision {
                Decision::Nothing => formatter.write_str("no change"),
                decision => write!(formatter, "{decision}"),
            },
            Self::Shows(places) if places.is_empty() => formatter.write_str("shows nothing"),
            Self::Shows(places) => {
                const MOST: usize = 2;
                let named: Vec<String> = places.iter().take(MOST).map(|place| code(place)).collect();
                write!(formatter, "shows {}", named.join(", "))?;
                if places.len() > MOST {
                    write!(formatter, " and {} more", places.len() - MOST)
                } else {
                    Ok(())
                }
            }
            Self::Refuses(when, text) => write!(formatter, "refused {when}: {}", quoted(text)),
            Self::NotOffered(text) => write!(formatter, "not offered: {}", quoted(text)),
            Self::Saw(what, value) => write!(formatter, "{what} {}", code(value)),
            Self::Then(when, facts) => {
                let facts: Vec<String> = facts.iter().map(Self::to_string).collect();
                write!(formatter, "{when} {}", facts.join(", "))
            }
            Self::Is(text) => formatter.write_str(text),
            Self::Counted(what, count) => write!(formatter, "{what}: {count}"),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Preview => "in preview",
            Self::Update => "in update",
            Self::Refresh => "in refresh",
            Self::Import => "in import",
        })
    }
}

/// Something of a program, in a cell.
fn code(text: &str) -> String {
    format!("`{}`", shortened(&one_line(text), 40).replace('`', "'"))
}

/// The beginning of a message, in a cell.
fn quoted(text: &str) -> String {
    let line = one_line(text).replace('<', "&lt;");
    format!("“{}”", shortened(&line, 28).replace('*', "\\*"))
}

/// At most so many characters of a line, up to the end of a word.
fn shortened(line: &str, longest: usize) -> String {
    match line.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &line[..line[..end].rfind(' ').unwrap_or(end)]),
        None => line.to_owned(),
    }
}

/// Without what would break a cell, and without what is another one in each run: directories, ports.
fn one_line(text: &str) -> String {
    let temporary = std::env::temp_dir();
    let temporary = temporary.to_string_lossy();
    let words = text
        .split_whitespace()
        .map(|word| if word.contains("/tmp") || word.contains(&*temporary) { "…" } else { word });
    words.collect::<Vec<_>>().join(" ").replace('|', "/")
}
