//! Version constraints: `~> 3.0, != 3.2.1`.
//!
//! The grammar is that of OpenTofu and Terraform, from Ruby: comparisons with a version, separated
//! by commas, that all must hold. A version may be abbreviated (`3` is `3.0.0`); with `~>`, its
//! length determines which number may increase. Prereleases match only if they are named exactly.
//!
//! Odd cases follow their library (go-versions), with three exceptions: prereleases are compared by
//! the rules of semantic versions throughout, and both an operator without a version and an invalid
//! suffix are refused.

use std::cmp::Ordering;
use std::fmt;

use semver::{BuildMetadata, Prerelease, Version};

/// Length limit; each comparison is evaluated for each version.
const LONGEST: usize = 1024;

/// A version constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionConstraint {
    text: String,
    comparisons: Vec<Comparison>,
}

/// A text is no version constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not parse version constraint {constraint:?}: {fault}{}", help(.constraint))]
pub struct ConstraintError {
    /// The text; truncated if it is long.
    pub constraint: String,
    /// The reason.
    pub fault: ConstraintFault,
}

/// Why a version constraint is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintFault {
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    #[error("it is a path")]
    Path,
    #[error("unknown operator {operator:?}{}", suggestion(*.meant))]
    Operator { operator: String, meant: Option<&'static str> },
    #[error("versions are written without a \"v\", as in 1.2.3")]
    V,
    #[error("there may be one space at most behind the operator {0:?}")]
    Spaces(String),
    /// An operator, or nothing, without a version.
    #[error("the version is missing{}; write for example \">= 1.2.3\"", at(.0))]
    NoVersion(String),
    #[error("{0:?} stands for no number; leave out what may be anything, as in \"~> 1.0\"")]
    Wildcard(char),
    #[error("a version has three numbers at most (major, minor, patch)")]
    Numbers,
    #[error("the number {0} is too large")]
    Large(String),
    #[error("{0:?} is not what a version may end with")]
    Suffix(String),
    #[error("there is {rest:?} behind {before:?}; conditions are separated by commas")]
    NoComma { before: String, rest: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    operator: Operator,
    boundary: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    /// `~>` with three numbers: the last one may increase.
    Patch,
    /// `~>` with fewer: all but the first may increase.
    Minor,
}

impl VersionConstraint {
    /// Parses a constraint. An empty one matches every version that is not a prerelease.
    ///
    /// # Errors
    /// When it is invalid.
    pub fn parse(text: &str) -> Result<Self, ConstraintError> {
        let fault = |fault| ConstraintError { constraint: beginning(text).to_owned(), fault };
        if text.len() > LONGEST {
            return Err(fault(ConstraintFault::TooLong));
        }
        if is_path(text.trim()) {
            return Err(fault(ConstraintFault::Path));
        }
        let mut comparisons = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (comparison, behind) = parse_comparison(rest).map_err(fault)?;
            let before = rest[..rest.len() - behind.len()].to_owned();
            comparisons.push(comparison);
            let behind = behind.trim_start();
            rest = match behind.strip_prefix(',') {
                Some(next) => next.trim_start(),
                None if behind.is_empty() => behind,
                None if behind.starts_with('v') => return Err(fault(ConstraintFault::V)),
                None => {
                    return Err(fault(ConstraintFault::NoComma {
                        before,
                        rest: beginning(behind).to_owned(),
                    }));
                }
            };
        }
        Ok(Self { text: text.trim().to_owned(), comparisons })
    }

    /// The empty constraint, which matches every version that is not a prerelease.
    pub const fn any() -> Self {
        Self { text: String::new(), comparisons: Vec::new() }
    }

    /// The constraint that only this version satisfies.
    pub fn exactly(version: &Version) -> Self {
        let comparison = Comparison { operator: Operator::Equal, boundary: version.clone() };
        Self { text: version.to_string(), comparisons: vec![comparison] }
    }

    /// Whether a version matches.
    pub fn allows(&self, version: &Version) -> bool {
        let asked_for = |comparison: &Comparison| {
            comparison.operator == Operator::Equal && comparison.boundary == *version
        };
        (version.pre.is_empty() || self.comparisons.iter().any(asked_for))
            && self.comparisons.iter().all(|comparison| comparison.holds(version))
    }

    /// The only matching version, if there is only one.
    pub fn only_version(&self) -> Option<&Version> {
        let equal = |comparison: &&Comparison| comparison.operator == Operator::Equal;
        self.comparisons.iter().find(equal).map(|comparison| &comparison.boundary)
    }

    /// The canonical form, as in lock files: distinct comparisons with complete versions, ordered
    /// by version and then by operator. The order is the library's, which compares prereleases in its
    /// own way: OpenTofu refuses lock files in any other.
    pub fn canonical(&self) -> String {
        let mut comparisons: Vec<&Comparison> = self.comparisons.iter().collect();
        comparisons.sort_by(|one, other| {
            let versions = library_order(&one.boundary, &other.boundary);
            versions.then_with(|| one.operator.rank().cmp(&other.operator.rank()))
        });
        comparisons.dedup();
        comparisons.into_iter().map(Comparison::to_string).collect::<Vec<_>>().join(", ")
    }

    /// Whether it matches every version that is not a prerelease.
    pub(crate) fn is_any(&self) -> bool {
        self.comparisons.is_empty()
    }
}

/// The original text.
impl fmt::Display for VersionConstraint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operator, boundary: Version { major, minor, patch, pre, build } } = self;
        formatter.write_str(match operator {
            Operator::Equal => "",
            Operator::NotEqual => "!= ",
            Operator::Greater => "> ",
            Operator::GreaterOrEqual => ">= ",
            Operator::Less => "< ",
            Operator::LessOrEqual => "<= ",
            Operator::Patch | Operator::Minor => "~> ",
        })?;
        write!(formatter, "{major}.{minor}")?;
        if *operator != Operator::Minor {
            write!(formatter, ".{patch}")?;
        }
        if !pre.is_empty() {
            write!(formatter, "-{pre}")?;
        }
        if !build.is_empty() {
            write!(formatter, "+{build}")?;
        }
        Ok(())
    }
}

impl Operator {
    /// Rank among comparisons with the same version in the canonical form.
    fn rank(self) -> u8 {
        match self {
            Self::Greater => 0,
            Self::GreaterOrEqual => 1,
            Self::Equal => 2,
            Self::Patch => 3,
            Self::Minor => 4,
            Self::LessOrEqual => 5,
            Self::Less => 6,
            Self::NotEqual => 7,
        }
    }
}

impl Comparison {
    fn holds(&self, version: &Version) -> bool {
        let Self { operator, boundary } = self;
        // Build metadata has no order; only an exact version compares it.
        let rank = version.cmp_precedence(boundary);
        match operator {
            Operator::Equal => version == boundary,
            Operator::NotEqual => version != boundary,
            Operator::Greater => rank == Ordering::Greater,
            Operator::GreaterOrEqual => rank != Ordering::Less,
            Operator::Less => rank == Ordering::Less,
            Operator::LessOrEqual => rank != Ordering::Greater,
            Operator::Patch => {
                rank != Ordering::Less && is_below(version, boundary.major, boundary.minor.checked_add(1))
            }
            Operator::Minor => {
                rank != Ordering::Less
                    && boundary.major.checked_add(1).is_none_or(|major| is_below(version, major, Some(0)))
            }
        }
    }
}

/// Whether the version is lower than `major.minor.0`; without a minor number, lower than the next
/// major one.
fn is_below(version: &Version, major: u64, minor: Option<u64>) -> bool {
    match minor {
        Some(minor) => version.cmp_precedence(&Version::new(major, minor, 0)) == Ordering::Less,
        None => version.major <= major,
    }
}

/// The order of versions in the library (go-versions), where a prerelease with fewer parts is lower
/// even if a part before differs.
fn library_order(one: &Version, other: &Version) -> Ordering {
    let numbers = |version: &Version| (version.major, version.minor, version.patch, version.pre.is_empty());
    let by_prerelease = || library_order_of_parts(&one.pre, &other.pre);
    let by_build = || library_order_of_parts(&one.build, &other.build);
    numbers(one).cmp(&numbers(other)).then_with(by_prerelease).then_with(by_build)
}

fn library_order_of_parts(mut one: &str, mut other: &str) -> Ordering {
    let rank = |part: &str| {
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        (!is_number, if is_number { part.len() } else { 0 }, part.to_owned())
    };
    loop {
        match (one.split_once('.'), other.split_once('.')) {
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (None, None) => return rank(one).cmp(&rank(other)),
            (Some((part, _)), Some((other_part, _))) if part != other_part => {
                return rank(part).cmp(&rank(other_part));
            }
            (Some((_, rest)), Some((_, other_rest))) => (one, other) = (rest, other_rest),
        }
    }
}

/// A comparison, and the remaining text.
fn parse_comparison(text: &str) -> Result<(Comparison, &str), ConstraintFault> {
    let is_operator = |character: char| {
        !(character.is_ascii_alphanumeric() || is_space(character) || character == '.' || character == '*')
    };
    let (operator, rest) = split_while(text, is_operator);
    let kind = operator_named(operator)?;
    let (separator, rest) = split_while(rest, |character| is_space(character) || character == 'v');
    let next = rest.chars().next();
    if !next.is_some_and(|next| next.is_ascii_digit() || is_wildcard(next)) {
        return Err(ConstraintFault::NoVersion(beginning(text).to_owned()));
    }
    if separator.contains('v') {
        return Err(ConstraintFault::V);
    }
    if !matches!(separator, "" | " ") {
        return Err(ConstraintFault::Spaces(operator.to_owned()));
    }
    let (numbers, count, rest) = parse_numbers(rest)?;
    let (prerelease, behind) = suffix(rest, '-');
    // A hyphen with nothing after it is not consumed.
    let (build, rest) = if behind.len() + 1 == rest.len() { ("", behind) } else { suffix(behind, '+') };
    let invalid = |suffix: &str| ConstraintFault::Suffix(beginning(suffix).to_owned());
    let operator = match kind {
        Operator::Minor if count == 3 => Operator::Patch,
        other => other,
    };
    let boundary = Version {
        major: numbers[0],
        minor: numbers[1],
        patch: numbers[2],
        pre: Prerelease::new(prerelease).map_err(|_| invalid(prerelease))?,
        build: BuildMetadata::new(build).map_err(|_| invalid(build))?,
    };
    Ok((Comparison { operator, boundary }, rest))
}

fn operator_named(text: &str) -> Result<Operator, ConstraintFault> {
    let meant = match text {
        "" | "=" => return Ok(Operator::Equal),
        "!=" => return Ok(Operator::NotEqual),
        ">" => return Ok(Operator::Greater),
        ">=" => return Ok(Operator::GreaterOrEqual),
        "<" => return Ok(Operator::Less),
        "<=" => return Ok(Operator::LessOrEqual),
        "~>" => return Ok(Operator::Minor),
        "=>" => Some(">="),
        "=<" => Some("<="),
        "==" => Some("="),
        "~" | "^" => Some("~>"),
        "!" | "<>" => Some("!="),
        _ => None,
    };
    Err(ConstraintFault::Operator { operator: beginning(text).to_owned(), meant })
}

/// The leading numbers, and how many there are. A dot may be at the end.
fn parse_numbers(text: &str) -> Result<([u64; 3], usize, &str), ConstraintFault> {
    let mut numbers = [0; 3];
    let mut count = 0;
    let mut rest = text;
    loop {
        if let Some(wildcard) = rest.chars().next().filter(|next| is_wildcard(*next)) {
            return Err(if count < 3 {
                ConstraintFault::Wildcard(wildcard)
            } else {
                ConstraintFault::Numbers
            });
        }
        let (digits, behind) = split_while(rest, |character| character.is_ascii_digit());
        if digits.is_empty() {
            let suffix = rest.chars().next().filter(|next| matches!(next, '-' | '+'));
            return suffix.map_or(Ok((numbers, count, rest)), |_| {
                Err(ConstraintFault::Suffix(format!(".{}", beginning(rest))))
            });
        }
        let number = numbers.get_mut(count).ok_or(ConstraintFault::Numbers)?;
        *number = digits.parse().map_err(|_| ConstraintFault::Large(beginning(digits).to_owned()))?;
        count += 1;
        match behind.strip_prefix('.') {
            Some(next) => rest = next,
            None => return Ok((numbers, count, behind)),
        }
    }
}

/// The text after `mark`, if present. It may be empty.
fn suffix(text: &str, mark: char) -> (&str, &str) {
    match text.strip_prefix(mark) {
        Some(rest) => {
            split_while(rest, |character| character.is_ascii_alphanumeric() || matches!(character, '.' | '-'))
        }
        None => ("", text),
    }
}

fn split_while(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|character| !belongs(character)).unwrap_or(text.len()))
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

fn is_wildcard(character: char) -> bool {
    matches!(character, '*' | 'x' | 'X')
}

fn is_path(text: &str) -> bool {
    text.starts_with(['/', '\\']) || text.starts_with("~/")
}

/// Advice when a shell has split the constraint: in `NAME ~> 3.8` it expands `~` to the home
/// directory and redirects to the file `3.8`, and of `NAME '~>' 3.8` only the operator arrives.
fn help(constraint: &str) -> &'static str {
    let text = constraint.trim();
    let is_operator = !text.is_empty() && text.chars().all(|character| "~<>=!^".contains(character));
    if is_operator || is_path(text) {
        "\nhelp: put quotes around the whole version constraint, as in '~> 3.8': shells expand ~ and redirect at < and >"
    } else {
        ""
    }
}

fn suggestion(operator: Option<&str>) -> String {
    operator.map_or_else(String::new, |operator| format!("; did you mean {operator:?}?"))
}

fn at(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" in {text:?}") }
}

/// The beginning of an external text, for an error.
fn beginning(text: &str) -> &str {
    const SHOWN: usize = 100;
    text.char_indices().nth(SHOWN).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSIONS: &str = "0.0.0 0.9.0 1.0.0-alpha 1.0.0-beta1 1.0.0-beta.2 1.0.0 1.0.0+meta 1.0.1 1.1.0 1.2.3 1.2.4 \
                            1.3.0 2.0.0-rc1 2.0.0 2.0.1 3.0.0";
    const RELEASES: &str = "0.0.0 0.9.0 1.0.0 1.0.0+meta 1.0.1 1.1.0 1.2.3 1.2.4 1.3.0 2.0.0 2.0.1 3.0.0";
    const FROM_1: &str = "1.0.0 1.0.0+meta 1.0.1 1.1.0 1.2.3 1.2.4 1.3.0 2.0.0 2.0.1 3.0.0";
    const ONES: &str = "1.0.0 1.0.0+meta 1.0.1 1.1.0 1.2.3 1.2.4 1.3.0";

    fn allowed(text: &str) -> String {
        let constraint = VersionConstraint::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let versions = VERSIONS.split_whitespace().map(|version| Version::parse(version).expect(version));
        let allowed =
            versions.filter(|version| constraint.allows(version)).map(|version| version.to_string());
        allowed.collect::<Vec<_>>().join(" ")
    }

    /// The expected results are those of go-versions 1.0.3.
    #[test]
    fn each_constraint_allows_what_it_allows_elsewhere() {
        for (text, expected) in [
            ("", RELEASES),
            (" ", RELEASES),
            ("1.2.3", "1.2.3"),
            ("=1.2.3", "1.2.3"),
            ("= 1.2.3", "1.2.3"),
            ("!= 1.2.3", "0.0.0 0.9.0 1.0.0 1.0.0+meta 1.0.1 1.1.0 1.2.4 1.3.0 2.0.0 2.0.1 3.0.0"),
            (">1.0.0", "1.0.1 1.1.0 1.2.3 1.2.4 1.3.0 2.0.0 2.0.1 3.0.0"),
            ("> 1", "1.0.1 1.1.0 1.2.3 1.2.4 1.3.0 2.0.0 2.0.1 3.0.0"),
            (">=1.0", FROM_1),
            ("<2", "0.0.0 0.9.0 1.0.0 1.0.0+meta 1.0.1 1.1.0 1.2.3 1.2.4 1.3.0"),
            ("<= 1.2.3", "0.0.0 0.9.0 1.0.0 1.0.0+meta 1.0.1 1.1.0 1.2.3"),
            ("~>1.2.3", "1.2.3 1.2.4"),
            ("~> 1.2", "1.2.3 1.2.4 1.3.0"),
            ("~>1", ONES),
            // Missing numbers are zero, not wildcards.
            ("1", "1.0.0"),
            ("1.0", "1.0.0"),
            ("1.2", ""),
            ("1.", "1.0.0"),
            ("01.2.3", "1.2.3"),
            // Several
            (">= 1, < 2", ONES),
            (">=1.0.0,<2.0.0", ONES),
            (">= 1 , < 2", ONES),
            ("<1.2.4,>1.1", "1.2.3"),
            ("1.0.0,", "1.0.0"),
            ("1,2", ""),
            // Prereleases
            ("1.0.0-beta1", "1.0.0-beta1"),
            ("= 1.0.0-beta1", "1.0.0-beta1"),
            (">=1.0.0-beta1", FROM_1),
            ("<=1.0.0-beta1", "0.0.0 0.9.0"),
            ("!=1.0.0-beta1", RELEASES),
            ("<1.0.0-rc1,>=1.0.0-alpha", ""),
            (">=1.0.0-alpha,1.0.0-beta1", "1.0.0-beta1"),
            ("1.0.0-beta1,>=1.0.0", ""),
            ("2.0.0-rc1,!=2.0.0-rc1", ""),
            ("~> 1.0.0-beta1", "1.0.0 1.0.0+meta 1.0.1"),
            ("~> 1.0-beta1", ONES),
            ("~>2.0.0-rc1", "2.0.0 2.0.1"),
            ("2.0.0-rc1,~>2.0.0-rc1", "2.0.0-rc1"),
            ("1.0.0-", "1.0.0"),
            // Build metadata counts only in an exact version.
            ("1.0.0+meta", "1.0.0+meta"),
            ("1.0+meta", "1.0.0+meta"),
            ("1.0.0+", "1.0.0"),
            ("=1.0.0", "1.0.0"),
            ("!=1.0.0", "0.0.0 0.9.0 1.0.0+meta 1.0.1 1.1.0 1.2.3 1.2.4 1.3.0 2.0.0 2.0.1 3.0.0"),
            (">=1.0.0+meta", FROM_1),
            (">1.0.0+meta", "1.0.1 1.1.0 1.2.3 1.2.4 1.3.0 2.0.0 2.0.1 3.0.0"),
            // The largest numbers
            ("18446744073709551615.0.0", ""),
            ("~>18446744073709551615", ""),
            ("~>18446744073709551615.18446744073709551615.0", ""),
            ("\t1.0.0\n", "1.0.0"),
        ] {
            assert_eq!(allowed(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_constraint_is_refused_with_the_reason() {
        for (text, reason) in [
            ("==1.2.3", "unknown operator \"==\"; did you mean \"=\"?"),
            ("=>1.0", "unknown operator \"=>\"; did you mean \">=\"?"),
            ("=<1.0", "unknown operator \"=<\"; did you mean \"<=\"?"),
            ("^1.0", "unknown operator \"^\"; did you mean \"~>\"?"),
            ("~1.0", "unknown operator \"~\"; did you mean \"~>\"?"),
            ("<>1.0", "unknown operator \"<>\"; did you mean \"!=\"?"),
            ("&1.0", "unknown operator \"&\""),
            ("é1.0.0", "unknown operator \"é\""),
            ("/root", ": it is a path\nhelp: put quotes around the whole version constraint, as in '~> 3.8'"),
            ("~/", ": it is a path\nhelp: put quotes"),
            ("\\\\host\\share", ": it is a path\nhelp: put quotes"),
            ("~", "unknown operator \"~\"; did you mean \"~>\"?\nhelp: put quotes"),
            ("~>", "the version is missing in \"~>\"; write for example \">= 1.2.3\"\nhelp: put quotes"),
            ("\"1.0.0\"", "unknown operator \"\\\"\""),
            (",1.0.0", "unknown operator \",\""),
            ("1.0.0,,2.0.0", "unknown operator \",\""),
            ("v1.0.0", "without a \"v\""),
            ("=v1.0.0", "without a \"v\""),
            (">= 1.0, < v2", "without a \"v\""),
            ("1.0.0v", "without a \"v\""),
            (">= 1.0 < 2", "there is \"< 2\" behind \">= 1.0\"; conditions are separated by commas"),
            ("1.0.0 || 2.0.0", "separated by commas"),
            ("1.0.0 - 2.0.0", "separated by commas"),
            ("1..2", "separated by commas"),
            ("1.0.0-beta_1", "there is \"_1\" behind \"1.0.0-beta\""),
            ("1.0.0-béta", "there is \"éta\" behind"),
            ("1.0.0é", "there is \"é\" behind \"1.0.0\""),
            (">=  1.0", "one space at most behind the operator \">=\""),
            (">=\t1.0", "one space at most"),
            (">", "the version is missing in \">\""),
            (">= ", "the version is missing in \">=\""),
            ("~>, 1.0", "unknown operator \"~>,\""),
            ("latest", "the version is missing in \"latest\""),
            (".1", "the version is missing in \".1\""),
            ("1.x", "'x' stands for no number"),
            ("*", "'*' stands for no number"),
            ("1.0.0.0", "three numbers at most"),
            ("1.0.0.x", "three numbers at most"),
            ("18446744073709551616.0.0", "the number 18446744073709551616 is too large"),
            ("1.0.0-01", "\"01\" is not what a version may end with"),
            ("1.0.0.+meta", "\".+meta\" is not what a version may end with"),
            ("1.2.-beta1", "\".-beta1\" is not what a version may end with"),
            ("1-+", "there is \"+\" behind \"1-\""),
            ("1.0.0-a..b", "\"a..b\" is not what a version may end with"),
        ] {
            let error = VersionConstraint::parse(text).expect_err(text).to_string();
            let start = format!("could not parse version constraint {text:?}: ");
            assert!(error.starts_with(&start) && error.contains(reason), "{text:?}: {error}");
            let is_helped = ["/", "~/", "\\"].iter().any(|path| text.starts_with(path))
                || !text.contains(|part: char| !"~<>= ".contains(part));
            assert_eq!(error.contains("help: "), is_helped, "{text:?}: {error}");
        }
        let long = "1.0.0,".repeat(1000);
        assert!(VersionConstraint::parse(&long).expect_err("nobody needs so many").to_string().len() < 400);
    }

    #[test]
    fn prereleases_are_ordered_as_semantic_versions_are() {
        // go-versions orders the one with fewer parts first, whatever the parts are.
        assert_eq!(allowed(">=1.0.0-beta.2,1.0.0-beta1"), "1.0.0-beta1");
        assert_eq!(allowed(">=1.0.0-alpha.1,1.0.0-beta1"), "1.0.0-beta1");
    }

    #[test]
    fn an_exact_version_can_be_told() {
        let only = |text| VersionConstraint::parse(text).expect(text).only_version().map(Version::to_string);
        assert_eq!(only("1.2").as_deref(), Some("1.2.0"));
        assert_eq!(only(">= 1, = 1.2.3-rc1").as_deref(), Some("1.2.3-rc1"));
        assert_eq!(only("~> 1.2"), None);
        let version = Version::parse("1.2.3-rc1+a").expect("it is one");
        let exactly = VersionConstraint::exactly(&version);
        assert!(exactly.allows(&version) && !exactly.allows(&Version::new(1, 2, 3)));
        assert_eq!(VersionConstraint::parse("1.2.3-rc1+a"), Ok(exactly));
    }
}
