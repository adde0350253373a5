//! A search for known forms in a text.
//!
//! The set grows with almost every call of a provider, and log lines are searched between all of
//! them. Automata (`aho-corasick`) suit constant sets: with a thousand secrets, rebuilding one
//! takes longer than the call. So forms are found by a hash of their first bytes, and among those that
//! share these, by their order: adding one is cheap, and so is a search among thousands of secrets that
//! begin alike, as names of cloud resources do.
//!
//! Of base64 there are no forms, except of short texts: it is decoded, and searched as well.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, Range};

use isthmus_common::REDACTED;

use super::fragments::Fragments;
use super::numbers::{self, Numbers};
use super::stretches::{Stretch, Stretches, WIDEST_REST};

/// Hashed bytes of forms that are found anywhere, and their minimum length.
const LONG: usize = 8;
/// The same for forms that are found as whole tokens only.
const SHORT: usize = 3;
/// How many times base64 is decoded: credentials of container registries are encoded within a document
/// that is.
const MOST_ENCODINGS: usize = 2;
/// End of an occurrence whose secret goes on behind what is known of it.
const TO_THE_END: usize = usize::MAX;

/// Forms of secrets.
#[derive(Default)]
pub(super) struct Index {
    anywhere: HashMap<[u8; LONG], Forms>,
    tokens: HashMap<[u8; SHORT], Forms>,
    fragments: Fragments,
    numbers: Numbers,
    /// A bit for each pair of first bytes: it excludes almost all positions of a text.
    beginnings: Vec<u64>,
    /// Length of the longest form.
    longest: usize,
}

/// Forms that begin alike.
#[derive(Default)]
struct Forms {
    /// Whether the secret is longer than the form, by form.
    by_text: BTreeMap<Box<[u8]>, bool>,
    /// Whether that is so of any.
    any_goes_on: bool,
}

impl Forms {
    fn add(&mut self, text: &[u8], goes_on: bool) {
        *self.by_text.entry(text.into()).or_default() |= goes_on;
        self.any_goes_on |= goes_on;
    }

    /// The lengths of the forms that a text begins with, from the longest on, and whether their secrets go on.
    fn beginnings<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (usize, bool)> + 'a {
        let mut rest = Some(text);
        std::iter::from_fn(move || {
            loop {
                let most = rest?;
                // In the order of bytes, what `most` begins with is not behind it.
                let not_behind = (Bound::Unbounded, Bound::Included(most));
                let (form, goes_on) = self.by_text.range::<[u8], _>(not_behind).next_back()?;
                let common = common_length(form, most);
                if common == form.len() {
                    rest = common.checked_sub(1).map(|length| &text[..length]);
                    return Some((common, *goes_on));
                }
                // A longer one would be between this form and `most`.
                rest = Some(&most[..common]);
            }
        })
    }

    /// The end of the longest form that begins there and is accepted.
    fn end(&self, text: &[u8], at: usize, accept: impl Fn(usize) -> bool) -> Option<usize> {
        let mut longest = None;
        for (length, goes_on) in self.beginnings(&text[at..]).filter(|(length, _)| accept(*length)) {
            if goes_on {
                return Some(TO_THE_END);
            }
            longest = longest.max(Some(at + length));
            if !self.any_goes_on {
                break;
            }
        }
        longest
    }
}

/// How many bytes two texts begin with alike. Compared in blocks: at each position of a long run of one
/// letter, a form that begins with such a run is compared.
fn common_length(one: &[u8], other: &[u8]) -> usize {
    const BLOCK: usize = 64;
    let blocks = one.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK));
    let alike = BLOCK * blocks.take_while(|(one, other)| one == other).count();
    let rest = one[alike..].iter().zip(&other[alike..]);
    alike + rest.take_while(|(one, other)| one == other).count()
}

/// Where a form matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occurrence {
    /// Anywhere, also within words.
    Anywhere,
    /// Not next to a letter, digit or underscore.
    Token,
}

impl Index {
    /// Adds a form. Forms that are too short are ignored.
    pub(super) fn add(&mut self, form: &str, occurrence: Occurrence, goes_on: bool) {
        let text = form.as_bytes();
        let forms = match (occurrence, text.first_chunk::<LONG>(), text.first_chunk::<SHORT>()) {
            (Occurrence::Anywhere, Some(key), _) => self.anywhere.entry(*key).or_default(),
            (_, _, Some(key)) => self.tokens.entry(*key).or_default(),
            (_, _, None) => return,
        };
        forms.add(text, goes_on);
        self.longest = self.longest.max(text.len());
        self.beginnings.resize(1 << 10, 0);
        let (word, bit) = place(text[0], text[1]);
        self.beginnings[word] |= bit;
    }

    /// Adds a secret whose parts are found in lines of wrapped base64.
    pub(super) fn add_fragments(&mut self, secret: &str, goes_on: bool) {
        self.fragments.add(secret.as_bytes(), goes_on);
    }

    /// Adds a number that is found in every spelling.
    pub(super) fn add_number(&mut self, decimal: &str) {
        self.numbers.add(decimal);
        self.longest = self.longest.max(numbers::LONGEST);
    }

    /// The text with all occurrences replaced; `None` if there are none.
    pub(super) fn redact(&self, text: &str) -> Option<String> {
        let occurrences = self.occurrences(text);
        let mut redacted = String::new();
        let mut done = 0;
        for Range { start, end } in &occurrences {
            redacted.push_str(&text[done..*start]);
            redacted.push_str(REDACTED);
            done = *end;
        }
        redacted.push_str(&text[done..]);
        (!occurrences.is_empty()).then_some(redacted)
    }

    /// The position where an incomplete text can be cut without cutting a form.
    pub(super) fn cut(&self, text: &str) -> usize {
        let cut = text.floor_char_boundary(text.len().saturating_sub(self.longest.max(WIDEST_REST)));
        let last = Stretches::new(text.as_bytes()).last();
        let cut = last.and_then(|stretch| stretch.cut(self.longest)).map_or(cut, |other| other.min(cut));
        let across = self.occurrences(text).into_iter().find(|occurrence| occurrence.contains(&cut));
        across.map_or(cut, |occurrence| occurrence.start)
    }

    /// Ranges of all forms; overlapping ones are merged.
    fn occurrences(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = self.found(text.as_bytes(), MOST_ENCODINGS);
        found.sort_unstable_by_key(|range| range.start);
        let mut occurrences: Vec<Range<usize>> = Vec::new();
        for Range { start, end } in found {
            let end = end.min(text.len());
            match occurrences.last_mut() {
                Some(last) if start < last.end => last.end = last.end.max(end),
                Some(_) | None => occurrences.push(start..end),
            }
        }
        occurrences
    }

    /// Ranges of all forms in any order, also in base64 that is encoded this many times.
    fn found(&self, text: &[u8], encodings: usize) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for (at, pair) in text.windows(2).enumerate() {
            // Most of a text is passed over here.
            if self.may_begin_with(pair[0], pair[1])
                && let Some(end) = self.end_of_longest(text, at)
            {
                found.push(at..end);
            }
        }
        if !self.numbers.is_empty() {
            found.extend((0..text.len()).filter_map(|at| Some(at..self.numbers.end(text, at)?)));
        }
        if encodings > 0 {
            let is_outermost = encodings == MOST_ENCODINGS;
            for stretch in Stretches::new(text) {
                self.find_in_stretch(&stretch, encodings - 1, is_outermost, &mut found);
            }
        }
        found
    }

    fn find_in_stretch(
        &self,
        stretch: &Stretch<'_>,
        encodings: usize,
        is_outermost: bool,
        found: &mut Vec<Range<usize>>,
    ) {
        for (alignment, bytes) in stretch.decoded().iter().enumerate() {
            let place = |Range { start, end }| match end {
                TO_THE_END => stretch.place(alignment, &(start..bytes.len())).start..TO_THE_END,
                _ => stretch.place(alignment, &(start..end)),
            };
            found.extend(self.found(bytes, encodings).into_iter().map(place));
            if is_outermost {
                let end = stretch.may_continue.then(|| self.fragments.end_in(bytes)).flatten();
                let beginning = stretch.may_go_on.then(|| self.fragments.beginning_in(bytes)).flatten();
                let parts = end.into_iter().chain(beginning).chain(self.fragments.middles_in(bytes));
                found.extend(parts.map(|part| stretch.place_of_fragment(alignment, &part)));
            }
        }
    }

    /// Whether any form begins with these bytes.
    fn may_begin_with(&self, first: u8, second: u8) -> bool {
        let (word, bit) = place(first, second);
        self.beginnings.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// The end of the longest form that begins there.
    fn end_of_longest(&self, text: &[u8], at: usize) -> Option<usize> {
        let rest = &text[at..];
        let anywhere = rest.first_chunk::<LONG>().and_then(|key| self.anywhere.get(key));
        let anywhere = anywhere.and_then(|forms| forms.end(text, at, |_| true));
        let tokens = rest.first_chunk::<SHORT>().and_then(|key| self.tokens.get(key));
        anywhere.max(tokens.and_then(|forms| forms.end(text, at, |length| is_token(text, at, at + length))))
    }
}

/// Whether the range is a whole token. Short secrets and numbers are looked for there, because they occur within other
/// words by chance.
pub(super) fn is_token(text: &[u8], begin: usize, end: usize) -> bool {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    // The letter of an escape (`\n`) is not part of the word.
    let is_escape = begin >= 2 && text[begin - 2] == b'\\';
    let is_begin =
        is_escape || begin.checked_sub(1).and_then(|at| text.get(at)).is_none_or(|byte| !is_of_word(byte));
    is_begin && text.get(end).is_none_or(|byte| !is_of_word(byte))
}

fn place(first: u8, second: u8) -> (usize, u64) {
    let pair = usize::from(first) << 8 | usize::from(second);
    (pair / 64, 1 << (pair % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(forms: &[(&str, Occurrence)]) -> Index {
        let mut index = Index::default();
        forms.iter().for_each(|(form, occurrence)| index.add(form, *occurrence, false));
        index
    }

    #[test]
    fn the_longest_of_forms_that_begin_alike_is_found() {
        let forms = ["sesame-1", "sesame-12", "sesame-1234", "sesame-13", "sesame-12345678"];
        let all = index(&forms.map(|form| (form, Occurrence::Anywhere)));
        for (text, expected) in [
            ("sesame-123", "[secret]3"),
            ("sesame-1234567", "[secret]567"),
            ("sesame-14", "[secret]4"),
            ("sesame-1sesame-13", "[secret][secret]"),
            ("sesame-2", "sesame-2"),
        ] {
            assert_eq!(all.redact(text).as_deref().unwrap_or(text), expected);
        }
        let mut going_on = all;
        going_on.add("sesame-12", Occurrence::Anywhere, true);
        assert_eq!(going_on.redact("sesame-1234 and more").as_deref(), Some("[secret]"));
    }

    /// Compared one by one, they took a minute; a shared daemon made every other session wait for it.
    #[test]
    fn thousands_of_secrets_that_begin_alike_are_searched_for_in_seconds() {
        let name = |number: usize| format!("arn:aws:iam::123456789012:role/secret-value-number-{number}!");
        let mut index = Index::default();
        (0..60_000).for_each(|number| index.add(&name(number), Occurrence::Anywhere, false));
        let text: String = (30_000..90_000).map(name).collect();
        let begin = std::time::Instant::now();
        let redacted = index.redact(&text).expect("half of them are known");
        assert_eq!(redacted.matches("[secret]").count(), 30_000);
        assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{:?}", begin.elapsed());
    }

    #[test]
    fn long_forms_are_found_anywhere_and_short_ones_as_tokens() {
        let index = index(&[("sesame-sesame", Occurrence::Anywhere), ("abcd", Occurrence::Token)]);
        for (text, expected) in [
            ("nothing of it", None),
            ("xsesame-sesamex", Some("x[secret]x")),
            ("sesame-sesamesesame-sesame", Some("[secret][secret]")),
            ("sesame-sesam", None),
            ("abcd", Some("[secret]")),
            ("(abcd), a=abcd;", Some("([secret]), a=[secret];")),
            ("abcde xabcd abcd_ éabcd abcdé", None),
            (r#"{"pin":"\nabcd"}"#, Some(r#"{"pin":"\n[secret]"}"#)),
            ("é sesame-sesame é", Some("é [secret] é")),
        ] {
            assert_eq!(index.redact(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn occurrences_that_overlap_are_one() {
        let index = index(&[
            ("abcdefgh", Occurrence::Anywhere),
            ("efghijkl", Occurrence::Anywhere),
            ("abcdefghi", Occurrence::Anywhere),
            ("cdefghij", Occurrence::Anywhere),
        ]);
        assert_eq!(index.redact("<abcdefghijkl>").as_deref(), Some("<[secret]>"));
        assert_eq!(index.redact("<abcdefghi>").as_deref(), Some("<[secret]>"));
    }

    #[test]
    fn what_goes_on_is_replaced_to_the_end() {
        let mut index = Index::default();
        index.add("beginning", Occurrence::Anywhere, true);
        assert_eq!(index.redact("the beginning of it all").as_deref(), Some("the [secret]"));
    }
}
