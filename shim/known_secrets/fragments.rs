//! A search for parts of secrets in decoded texts.
//!
//! Logs are read line by line, so that a line of wrapped base64 has a part of a secret: its end at
//! the beginning of the line, its beginning at the end, or one from its middle that fills the line.
//! Parts of less than [`EDGE`] bytes are not found: they occur by chance.

use std::collections::HashMap;
use std::ops::Range;

/// Minimum bytes of a part at an edge.
const EDGE: usize = 4;
/// Bytes of a block. One that begins at a multiple of its size is in every part that is twice as long.
const BLOCK: usize = 16;
/// Minimum bytes of a part from the middle: shorter ones are often words that other texts have too.
const MIDDLE: usize = 2 * BLOCK;
/// Minimum bytes of a secret with a part that fills a line: those of a line of 60 characters.
const LINE: usize = 45;

/// Known secrets, by their edges and blocks.
#[derive(Default)]
pub(super) struct Fragments {
    secrets: Vec<Box<[u8]>>,
    /// Indexes of secrets by their first bytes.
    beginnings: HashMap<[u8; EDGE], Vec<usize>>,
    /// The same by their last bytes.
    ends: HashMap<[u8; EDGE], Vec<usize>>,
    /// The secret and the position of each block.
    blocks: HashMap<[u8; BLOCK], (usize, usize)>,
    /// Length of the longest secret.
    longest: usize,
}

impl Fragments {
    /// Adds a secret, or the beginning of one that goes on.
    pub(super) fn add(&mut self, secret: &[u8], goes_on: bool) {
        let (Some(beginning), Some(end)) = (secret.first_chunk(), secret.last_chunk()) else { return };
        let index = self.secrets.len();
        self.beginnings.entry(*beginning).or_default().push(index);
        if !goes_on {
            self.ends.entry(*end).or_default().push(index);
        }
        if secret.len() >= LINE {
            let (blocks, _) = secret.as_chunks();
            for (number, block) in blocks.iter().enumerate() {
                self.blocks.entry(*block).or_insert((index, number * BLOCK));
            }
        }
        self.longest = self.longest.max(secret.len());
        self.secrets.push(secret.into());
    }

    /// The longest end of a secret at the beginning of a text.
    pub(super) fn end_in(&self, text: &[u8]) -> Option<Range<usize>> {
        let most = text.len().min(self.longest);
        let is_end = |end: usize| {
            let secrets = text[..end].last_chunk().and_then(|key| self.ends.get(key));
            secrets.into_iter().flatten().any(|index| self.secrets[*index].ends_with(&text[..end]))
        };
        (EDGE..=most).rev().find(|end| is_end(*end)).map(|end| 0..end)
    }

    /// The longest beginning of a secret at the end of a text.
    pub(super) fn beginning_in(&self, text: &[u8]) -> Option<Range<usize>> {
        let most = text.len().min(self.longest);
        let is_beginning = |length: &usize| {
            let rest = &text[text.len() - length..];
            let secrets = rest.first_chunk().and_then(|key| self.beginnings.get(key));
            secrets.into_iter().flatten().any(|index| self.secrets[*index].starts_with(rest))
        };
        (EDGE..=most).rev().find(is_beginning).map(|length| text.len() - length..text.len())
    }

    /// Parts from the middle of secrets.
    pub(super) fn middles_in(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if self.blocks.is_empty() {
            return found;
        }
        for at in 0..text.len() {
            let Some(block) = text[at..].first_chunk() else { break };
            let Some(&(index, position)) = self.blocks.get(block) else { continue };
            let secret = &self.secrets[index];
            let same = |(one, other): &(&u8, &u8)| one == other;
            let (before, behind) = (text[..at].iter().rev(), text[at..].iter());
            let before = before.zip(secret[..position].iter().rev()).take_while(same).count();
            let behind = behind.zip(&secret[position..]).take_while(same).count();
            if before + behind >= MIDDLE {
                found.push(at - before..at + behind);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    fn fragments() -> Fragments {
        let mut fragments = Fragments::default();
        fragments.add(b"sesame-sesame", false);
        fragments.add(LONG, false);
        fragments.add(b"beginning", true);
        fragments
    }

    #[test]
    fn ends_are_found_at_the_beginning_and_beginnings_at_the_end() {
        let fragments = fragments();
        for (text, end, beginning) in [
            ("same, and more", Some(0..4), None),
            ("sesame-sesame", Some(0..13), Some(0..13)),
            ("a text of sesame-ses", None, Some(10..20)),
            ("ame and ses", None, None),
            ("inning", None, None),
            ("the begin", None, Some(4..9)),
            ("e", None, None),
        ] {
            assert_eq!(fragments.end_in(text.as_bytes()), end, "{text}");
            assert_eq!(fragments.beginning_in(text.as_bytes()), beginning, "{text}");
        }
    }

    #[test]
    fn a_middle_of_a_secret_that_repeats_itself_is_found_to_its_end() {
        let secret: Vec<u8> =
            (0..500_u16).map(|at| b'!' + u8::try_from(at % 89 * (at % 89) % 89).unwrap()).collect();
        let mut fragments = Fragments::default();
        fragments.add(&secret, false);
        for start in 0..secret.len() - LINE {
            let found = fragments.middles_in(&secret[start..start + LINE]);
            assert!(found.contains(&(0..LINE)), "{start}: {found:?}");
        }
    }

    #[test]
    fn every_middle_that_is_long_enough_is_found() {
        let fragments = fragments();
        for start in 0..LONG.len() - MIDDLE {
            let text = [b"--", &LONG[start..start + MIDDLE], b"--"].concat();
            let found = fragments.middles_in(&text);
            assert!(!found.is_empty() && found.iter().all(|range| *range == (2..2 + MIDDLE)), "{found:?}");
        }
        assert_eq!(fragments.middles_in(&LONG[1..MIDDLE]), []);
        assert_eq!(fragments.middles_in(b"sesame-sesame"), []);
    }
}
