//! Names that SDKs derive from the names of members, and that are another member's.
//!
//! The class of a resource `Pair` has arguments called `PairArgs`, and a resource type can have that
//! name as well. Such an SDK does not compile, or its generator fails. In the other languages the
//! member works by its name, and so it keeps it. A function of a provider gets another one, as if a
//! language had its name itself, and programs without SDKs go on by its own.
//!
//! The rules are of what the generators of Pulumi 3.259 and pulumi-java 1.34 were seen to get
//! wrong. Go's gives most resources other names itself.

use super::MemberKind;
use super::casing::lower_first;

/// What a member is in an SDK.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Class,
    Function,
}

use Form::{Class, Function};

impl From<MemberKind> for Form {
    fn from(kind: MemberKind) -> Self {
        if kind == MemberKind::Resource { Class } else { Function }
    }
}

/// A member of one form, what is behind its name in a derived one, another member with that name, and the languages that
/// cannot have both.
type Rule = (Form, &'static str, Form, &'static str);

const RULES: [Rule; 7] = [
    (Class, "Args", Class, "Java, .NET or Node.js"),
    (Class, "State", Class, ".NET or Node.js"),
    (Class, "Args", Function, ".NET"),
    (Class, "State", Function, ".NET"),
    (Function, "Args", Function, "Go or .NET"),
    (Function, "Result", Function, "Go or .NET"),
    (Function, "Output", Function, "Go or Node.js"),
];

/// The languages in which the name of a member is one that the SDK derives from another member's, if there are any.
///
/// `has` says whether the package has a resource or a function, as the kind is, of a name in upper camel case.
pub fn taken(kind: MemberKind, name: &str, has: impl Fn(bool, &str) -> bool) -> Option<&'static str> {
    let form = Form::from(kind);
    // Go's generator renames the function that reads a resource, and the resource that comes before and is called like it.
    let is_read_later = |of: &str| lower_first(name) < lower_first(of) && has(true, of);
    if form == Class && name.strip_prefix("Get").is_some_and(is_read_later) {
        return Some("Go");
    }
    // Go's generator renames functions that begin with `get`.
    let mut of_a_class = ["Input", "Output"].iter().filter_map(|suffix| name.strip_suffix(suffix));
    if kind == MemberKind::Function && of_a_class.any(|of| has(true, of)) {
        return Some("Go");
    }
    let rules = RULES.iter().filter(|(.., other, _)| *other == form);
    rules
        .filter_map(|(base, suffix, _, languages)| Some((base, name.strip_suffix(suffix)?, languages)))
        .find_map(|(base, of, languages)| has(*base == Class, of).then_some(*languages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_an_sdk_makes_of_another_members_is_taken_in_that_language() {
        let resources = ["Class", "HashCode", "Pair", "GetHashCode"];
        let functions = ["GetPair", "Shout"];
        let has = |is_resource: bool, name: &str| {
            if is_resource { resources.contains(&name) } else { functions.contains(&name) }
        };
        let languages = |kind, name| taken(kind, name, has);
        assert_eq!(languages(MemberKind::Resource, "Pair"), None);
        assert_eq!(languages(MemberKind::Resource, "PairArgs"), Some("Java, .NET or Node.js"));
        assert_eq!(languages(MemberKind::Resource, "TripleArgs"), None);
        assert_eq!(languages(MemberKind::Resource, "GetHashCode"), Some("Go"));
        // Go's generator has seen `Class` before.
        assert_eq!(languages(MemberKind::Resource, "GetClass"), None);
        assert_eq!(languages(MemberKind::DataSource, "GetPairResult"), Some("Go or .NET"));
        assert_eq!(languages(MemberKind::Function, "PairState"), Some(".NET"));
        assert_eq!(languages(MemberKind::Function, "PairOutput"), Some("Go"));
        assert_eq!(languages(MemberKind::Function, "ShoutOutput"), Some("Go or Node.js"));
    }
}
