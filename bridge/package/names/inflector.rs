//! English plurals and singulars, by the rules that Pulumi's names are made with.
//!
//! The behaviour is that of `github.com/pulumi/inflector` v0.2.1 (BSD; a descendant of CakePHP's inflector), errors
//! included: generated SDKs and state files hold names that came out of it, so a "better" plural is a wrong one. Known
//! oddities that are kept on purpose:
//!
//! - `hive` has a replacement that names a group that does not exist, so `archive` becomes `arc`;
//! - an irregular word counts only as a whole word, and `_` is part of a word: `foot` becomes `feet`, `my_foot` becomes
//!   `my_foots`; when something precedes it (`my-foot`), the first letter of the *whole* string replaces its own;
//! - `data` becomes `datas`, the singular of `quota` is `quotum` and that of `analysis` is `analysi`.
//!
//! Order: irregular words, then words without a plural, then the first rule that matches. The table of expectations in
//! `testdata/` was printed by the original.

use std::sync::{LazyLock, OnceLock};

use regex::Regex;

/// The plural of `word`.
pub(crate) fn pluralize(word: &str) -> String {
    PLURAL.inflect(word)
}

/// The singular of `word`.
pub(crate) fn singularize(word: &str) -> String {
    SINGULAR.inflect(word)
}

/// One direction. Patterns are compiled on demand: all of them take longer than the schema of a
/// small package, and most words need two or three.
struct Inflector {
    irregular: LazyLock<Regex, Box<dyn FnOnce() -> Regex + Send>>,
    irregular_words: &'static [(&'static str, &'static str)],
    uninflected: LazyLock<Regex, Box<dyn FnOnce() -> Regex + Send>>,
    rules: Vec<Rule>,
}

struct Rule {
    pattern: &'static str,
    replacement: &'static str,
    /// The possible last letters of a matching word, in lower case; `None` if they are not known.
    endings: Option<Vec<u8>>,
    compiled: OnceLock<Regex>,
}

static PLURAL: LazyLock<Inflector> =
    LazyLock::new(|| Inflector::new(IRREGULAR_PLURALS, UNINFLECTED_PLURALS, PLURAL_RULES));

static SINGULAR: LazyLock<Inflector> =
    LazyLock::new(|| Inflector::new(IRREGULAR_SINGULARS, UNINFLECTED_SINGULARS, SINGULAR_RULES));

impl Inflector {
    fn new(
        irregular_words: &'static [(&'static str, &'static str)],
        uninflected: &'static [&'static str],
        rules: &[(&'static str, &'static str)],
    ) -> Self {
        let irregular = move || {
            let words: Vec<_> = irregular_words.iter().map(|(word, _)| *word).collect();
            // The word boundary is ASCII's, as in Go's regular expressions.
            let words = in_any_case(&words.join("|"));
            Regex::new(&format!(r"(.*)(?-u:\b)((?:{words}))$")).expect("words make a valid pattern")
        };
        let uninflected = move || {
            let unchanged: Vec<_> = UNINFLECTED.iter().chain(uninflected).copied().collect();
            compiled(&format!("(?i)(^(?:{}))$", unchanged.join("|")))
        };
        Self {
            irregular: LazyLock::new(Box::new(irregular)),
            irregular_words,
            uninflected: LazyLock::new(Box::new(uninflected)),
            rules: rules.iter().map(|(pattern, replacement)| Rule::new(pattern, replacement)).collect(),
        }
    }

    fn inflect(&self, word: &str) -> String {
        if let Some(inflected) = self.irregular(word) {
            return inflected;
        }
        if self.uninflected.is_match(word) {
            return word.to_owned();
        }
        self.rules.iter().find_map(|rule| rule.apply(word)).unwrap_or_else(|| word.to_owned())
    }

    fn irregular(&self, word: &str) -> Option<String> {
        let ends_irregularly = |(irregular, _): &(&str, _)| {
            let start = word.len().checked_sub(irregular.len());
            start.is_some_and(|start| word.as_bytes()[start..].eq_ignore_ascii_case(irregular.as_bytes()))
        };
        if word.is_ascii() && !self.irregular_words.iter().any(ends_irregularly) {
            return None;
        }
        let groups = self.irregular.captures(word)?;
        let before = groups.get(1)?.as_str();
        let irregular = groups.get(2)?.as_str().to_lowercase();
        let (_, replacement) = self.irregular_words.iter().find(|(word, _)| *word == irregular)?;
        let first = word.chars().next()?;
        Some(format!("{before}{first}{}", &replacement[1..]))
    }
}

impl Rule {
    fn new(pattern: &'static str, replacement: &'static str) -> Self {
        Self { pattern, replacement, endings: endings(pattern), compiled: OnceLock::new() }
    }

    /// Applies the rule, if it matches.
    fn apply(&self, word: &str) -> Option<String> {
        if !self.may_match(word) {
            return None;
        }
        let pattern = self.compiled.get_or_init(|| compiled(self.pattern));
        pattern.is_match(word).then(|| pattern.replace_all(word, self.replacement).into_owned())
    }

    /// Compares the last letter, which excludes most rules. Non-ASCII letters may match ASCII ones
    /// regardless of case, so such words are left to the pattern.
    fn may_match(&self, word: &str) -> bool {
        let (Some(endings), true) = (&self.endings, word.is_ascii()) else { return true };
        word.bytes().last().is_some_and(|last| endings.contains(&last.to_ascii_lowercase()))
    }
}

/// The last letters of texts that the pattern matches, if they are evident: the pattern ends with a
/// letter, or with a group of alternatives without nested groups.
fn endings(pattern: &str) -> Option<Vec<u8>> {
    let end = pattern.strip_suffix('$')?;
    let letter = |text: &str| {
        text.bytes().last().filter(u8::is_ascii_alphabetic).map(|last| last.to_ascii_lowercase())
    };
    let Some(group) = end.strip_suffix(')') else { return Some(vec![letter(end)?]) };
    let (_, alternatives) = group.rsplit_once('(')?;
    if alternatives.contains(['[', ']', ')', '\\']) {
        return None;
    }
    alternatives.split('|').map(letter).collect()
}

fn compiled(pattern: &str) -> Regex {
    let in_any_case = pattern.strip_prefix("(?i)").map(in_any_case);
    Regex::new(in_any_case.as_deref().unwrap_or(pattern)).expect("the tables below hold valid patterns")
}

/// A pattern whose letters match as those of Go's `(?i)`: two characters beyond ASCII are a k and an s. With this crate's own
/// `(?i)` the executable has a table of all letters of Unicode, whose 70 KiB the dynamic linker writes in every process.
///
/// Letters of the pattern stand for themselves: it has no escapes and no flags.
fn in_any_case(pattern: &str) -> String {
    let mut all = String::with_capacity(pattern.len() * 4);
    let mut is_in_class = false;
    for letter in pattern.chars() {
        match letter {
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            _ => {}
        }
        if !letter.is_ascii_alphabetic() {
            all.push(letter);
            continue;
        }
        if !is_in_class {
            all.push('[');
        }
        all.extend([letter.to_ascii_lowercase(), letter.to_ascii_uppercase()]);
        match letter.to_ascii_lowercase() {
            'k' => all.push('\u{212a}'),
            's' => all.push('\u{17f}'),
            _ => {}
        }
        if !is_in_class {
            all.push(']');
        }
    }
    all
}

/// Words with equal singular and plural.
const UNINFLECTED: &[&str] = &[
    "Amoyese",
    "bison",
    "Borghese",
    "bream",
    "breeches",
    "britches",
    "buffalo",
    "cantus",
    "carp",
    "chassis",
    "clippers",
    "cod",
    "coitus",
    "Congoese",
    "contretemps",
    "corps",
    "debris",
    "diabetes",
    "djinn",
    "eland",
    "elk",
    "equipment",
    "Faroese",
    "flounder",
    "Foochowese",
    "gallows",
    "Genevese",
    "Genoese",
    "Gilbertese",
    "graffiti",
    "headquarters",
    "herpes",
    "hijinks",
    "Hottentotese",
    "information",
    "innings",
    "jackanapes",
    "Kiplingese",
    "Kongoese",
    "Lucchese",
    "mackerel",
    "Maltese",
    ".*?media",
    "mews",
    "moose",
    "mumps",
    "Nankingese",
    "news",
    "nexus",
    "Niasese",
    "Pekingese",
    "Piedmontese",
    "pincers",
    "Pistoiese",
    "pliers",
    "Portuguese",
    "proceedings",
    "rabies",
    "rice",
    "rhinoceros",
    "salmon",
    "Sarawakese",
    "scissors",
    "sea[- ]bass",
    "series",
    "Shavese",
    "shears",
    "siemens",
    "species",
    "swine",
    "testes",
    "trousers",
    "trout",
    "tuna",
    "Vermontese",
    "Wenchowese",
    "whiting",
    "wildebeest",
    "Yengeese",
];

const UNINFLECTED_PLURALS: &[&str] =
    &[".*[nrlm]ese", ".*deer", ".*fish", ".*measles", ".*ois", ".*pox", ".*sheep", "people"];

const UNINFLECTED_SINGULARS: &[&str] =
    &[".*[nrlm]ese", ".*deer", ".*fish", ".*measles", ".*ois", ".*pox", ".*sheep", ".*ss"];

/// First match wins. A nonexistent group is empty.
const PLURAL_RULES: &[(&str, &str)] = &[
    ("(?i)(s)tatus$", "${1}tatuses"),
    ("(?i)(quiz)$", "${1}zes"),
    ("(?i)^(ox)$", "${1}en"),
    ("(?i)([m|l])ouse$", "${1}ice"),
    ("(?i)(matr|vert|ind)(ix|ex)$", "${1}ices"),
    ("(?i)(x|ch|ss|sh)$", "${1}es"),
    ("(?i)([^aeiouy]|qu)y$", "${1}ies"),
    ("(?i)(hive)$", ""),
    ("(?i)(?:([^f])fe|([lre])f)$", "${1}${2}ves"),
    ("(?i)sis$", "ses"),
    ("(?i)([ti])um$", "${1}a"),
    ("(?i)(p)erson$", "${1}eople"),
    ("(?i)(m)an$", "${1}en"),
    ("(?i)(c)hild$", "${1}hildren"),
    ("(?i)(buffal|tomat)o$", "${1}oes"),
    ("(?i)(alumn|bacill|cact|foc|fung|nucle|radi|stimul|syllab|termin|vir)us$", "${1}i"),
    ("(?i)us$", "uses"),
    ("(?i)(alias)$", "${1}es"),
    ("(?i)(ax|cris|test)is$", "${1}es"),
    ("s$", "s"),
    ("^$", ""),
    ("$", "s"),
];

/// First match wins.
const SINGULAR_RULES: &[(&str, &str)] = &[
    ("(?i)(s)tatuses$", "${1}tatus"),
    ("(?i)^(.*)(menu)s$", "${1}${2}"),
    ("(?i)(quiz)zes$", "${1}"),
    ("(?i)(matr)ices$", "${1}ix"),
    ("(?i)(vert|ind)ices$", "${1}ex"),
    ("(?i)^(ox)en", "${1}"),
    ("(?i)(alias)(es)*$", "${1}"),
    ("(?i)(alumn|bacill|cact|foc|fung|nucle|radi|stimul|syllab|termin|viri?)i$", "${1}us"),
    ("(?i)([ftw]ax)es", "${1}"),
    ("(?i)(cris|ax|test)es$", "${1}is"),
    ("(?i)(shoe|slave)s$", "${1}"),
    ("(?i)(o)es$", "${1}"),
    ("ouses$", "ouse"),
    ("([^a])uses$", "${1}us"),
    ("(?i)([m|l])ice$", "${1}ouse"),
    ("(?i)(cache)s$", "${1}"),
    ("(?i)(x|ch|ss|sh)es$", "${1}"),
    ("(?i)(m)ovies$", "${1}ovie"),
    ("(?i)(s)eries$", "${1}eries"),
    ("(?i)([^aeiouy]|qu)ies$", "${1}y"),
    ("(?i)(tive)s$", "${1}"),
    ("(?i)([lre])ves$", "${1}f"),
    ("(?i)([^fo])ves$", "${1}fe"),
    ("(?i)(hive)s$", "${1}"),
    ("(?i)(drive)s$", "${1}"),
    ("(?i)(^analy)ses$", "${1}sis"),
    ("(?i)(analy|diagno|^ba|parenthe|progno|synop|the)ses$", "${1}sis"),
    ("(?i)([ti])a$", "${1}um"),
    ("(?i)(p)eople$", "${1}erson"),
    ("(?i)(m)en$", "${1}an"),
    ("(?i)(c)hildren$", "${1}hild"),
    ("(?i)(n)ews$", "${1}ews"),
    ("eaus$", "eau"),
    ("^(.*us)$", "${1}"),
    ("(?i)s$", ""),
];

const IRREGULAR_PLURALS: &[(&str, &str)] = &[
    ("atlas", "atlases"),
    ("beef", "beefs"),
    ("brother", "brothers"),
    ("cafe", "cafes"),
    ("child", "children"),
    ("cookie", "cookies"),
    ("corpus", "corpuses"),
    ("cow", "cows"),
    ("ganglion", "ganglions"),
    ("genie", "genies"),
    ("genus", "genera"),
    ("graffito", "graffiti"),
    ("hoof", "hoofs"),
    ("loaf", "loaves"),
    ("man", "men"),
    ("money", "monies"),
    ("mongoose", "mongooses"),
    ("move", "moves"),
    ("mythos", "mythoi"),
    ("niche", "niches"),
    ("numen", "numina"),
    ("occiput", "occiputs"),
    ("octopus", "octopuses"),
    ("opus", "opuses"),
    ("ox", "oxen"),
    ("penis", "penises"),
    ("person", "people"),
    ("sex", "sexes"),
    ("soliloquy", "soliloquies"),
    ("testis", "testes"),
    ("trilby", "trilbys"),
    ("turf", "turfs"),
    ("potato", "potatoes"),
    ("hero", "heroes"),
    ("tooth", "teeth"),
    ("goose", "geese"),
    ("foot", "feet"),
];

const IRREGULAR_SINGULARS: &[(&str, &str)] = &[
    ("foes", "foe"),
    ("waves", "wave"),
    ("curves", "curve"),
    ("atlases", "atlas"),
    ("beefs", "beef"),
    ("brothers", "brother"),
    ("cafes", "cafe"),
    ("children", "child"),
    ("cookies", "cookie"),
    ("corpuses", "corpus"),
    ("cows", "cow"),
    ("ganglions", "ganglion"),
    ("genies", "genie"),
    ("genera", "genus"),
    ("graffiti", "graffito"),
    ("hoofs", "hoof"),
    ("loaves", "loaf"),
    ("men", "man"),
    ("monies", "money"),
    ("mongooses", "mongoose"),
    ("moves", "move"),
    ("mythoi", "mythos"),
    ("niches", "niche"),
    ("caches", "cache"),
    ("numina", "numen"),
    ("occiputs", "occiput"),
    ("octopuses", "octopus"),
    ("opuses", "opus"),
    ("oxen", "ox"),
    ("penises", "penis"),
    ("people", "person"),
    ("sexes", "sex"),
    ("soliloquies", "soliloquy"),
    ("testes", "testis"),
    ("trilbys", "trilby"),
    ("turfs", "turf"),
    ("potatoes", "potato"),
    ("heroes", "hero"),
    ("teeth", "tooth"),
    ("geese", "goose"),
    ("feet", "foot"),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lines `word TAB plural TAB singular`, printed by the original.
    const EXPECTATIONS: &str = include_str!("testdata/inflections.tsv");

    #[test]
    fn every_word_of_the_table_is_inflected_as_the_original_does() {
        let mut wrong = Vec::new();
        let mut count = 0;
        for line in EXPECTATIONS.lines() {
            let mut columns = line.split('\t');
            let (Some(word), Some(plural), Some(singular)) = (columns.next(), columns.next(), columns.next())
            else {
                panic!("a line has three columns, this one has not: {line:?}");
            };
            count += 1;
            let ours = (pluralize(word), singularize(word));
            if ours != (plural.to_owned(), singular.to_owned()) {
                wrong.push(format!("{word}: expected {plural} and {singular}, found {ours:?}"));
            }
        }
        assert!(count > 1000, "the table has {count} lines only");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_look_at_the_last_letter_never_keeps_a_rule_from_matching() {
        let letters =
            ["e", "E", "s", "S", "y", "x", "a", "m", "n", "i", "f", "o", "h", "d", "k", "1", "_", "\u{17f}"];
        for rule in PLURAL.rules.iter().chain(&SINGULAR.rules) {
            let pattern = compiled(rule.pattern);
            let words = EXPECTATIONS.lines().step_by(25).flat_map(|line| line.split('\t'));
            for word in words.flat_map(|word| {
                letters.iter().map(move |letter| format!("{word}{letter}")).chain([word.to_owned()])
            }) {
                assert!(!pattern.is_match(&word) || rule.may_match(&word), "{word} and {}", rule.pattern);
            }
        }
        let seen = PLURAL.rules.iter().filter(|rule| rule.endings.is_some()).count();
        assert!(seen > PLURAL.rules.len() / 2, "{seen} rules are seen through only");
    }

    #[test]
    fn the_known_oddities_are_kept() {
        assert_eq!(pluralize("archive"), "arc");
        assert_eq!(pluralize("foot"), "feet");
        assert_eq!(pluralize("my_foot"), "my_foots");
        assert_eq!(pluralize("my-foot"), "my-meet");
        assert_eq!(pluralize("data"), "datas");
        assert_eq!(singularize("quota"), "quotum");
        assert_eq!(singularize("analysis"), "analysi");
        assert_eq!(pluralize(""), "");
    }

    #[test]
    fn letters_match_in_any_case_as_those_of_go() {
        assert_eq!(in_any_case("(k|[^s]o)$"), "([kK\u{212a}]|[^sS\u{17f}][oO])$");
        assert_eq!(
            (pluralize("bu\u{17f}"), singularize("QUIZZE\u{17f}")),
            ("buses".to_owned(), "QUIZ".to_owned())
        );
    }

    #[test]
    fn plurals_that_real_packages_have() {
        for (singular, plural) in [
            ("cache_stale", "cache_stales"),
            ("cache_vary", "cache_varies"),
            ("tls_support", "tls_supports"),
            ("input", "inputs"),
            ("node_media", "node_media"),
            ("status", "statuses"),
        ] {
            assert_eq!(pluralize(singular), plural);
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_inflected(word in ".*") {
            pluralize(&word);
            singularize(&word);
        }
    }
}
