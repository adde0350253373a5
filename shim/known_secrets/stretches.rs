//! Stretches of base64 in a text.
//!
//! What stands in base64 is searched for in the decoded text: there it may be escaped again (a
//! password in a JSON document, or in the `Authorization` header of OAuth 2.0, where it is escaped as
//! in URLs), and stand anywhere. Encoders wrap lines (MIME after 76 characters, PEM after 64), and
//! others escape line ends, `+` and `/` once more, so a stretch goes on after line ends, and such
//! escapes are undone.
//!
//! Letters before an encoded text may belong to the alphabet as well (`v1/dXNlcg==`), so that every
//! stretch is decoded at all four alignments.

use std::ops::Range;

/// Minimum characters of a stretch: those of eight bytes.
pub(super) const SHORTEST: usize = 11;
/// The same of a stretch that is the whole text, which may be the last line of wrapped base64.
const SHORTEST_LINE: usize = 6;
/// Characters from which on a stretch may be a line of wrapped base64 wherever it stands; lines have
/// between 60 and 76.
const LINE: usize = 60;
/// Characters that are decoded together.
const GROUP: usize = 4;
/// Limit of backslashes before an escaped character: those of a text within four others.
const MOST_BACKSLASHES: usize = 8;
/// Limit of bytes that one character takes in a text, escaped.
const WIDEST: usize = MOST_BACKSLASHES + b"u002b".len();
/// Limit of bytes that what is too short for a stretch takes in a text.
pub(super) const WIDEST_REST: usize = SHORTEST * WIDEST;

/// Base64 characters, without the line ends between them.
#[derive(Debug)]
pub(super) struct Stretch<'a> {
    text: &'a [u8],
    /// The six bits of each character.
    sextets: Vec<u8>,
    /// The position of each character in the text.
    starts: Vec<usize>,
    /// It may be the continuation of a line that is not part of the text. Logs are read line by line.
    pub(super) may_continue: bool,
    /// The same for the next line.
    pub(super) may_go_on: bool,
}

impl Stretch<'_> {
    /// The decoded bytes at every alignment.
    pub(super) fn decoded(&self) -> [Vec<u8>; GROUP] {
        std::array::from_fn(|alignment| decoded(&self.sextets[alignment..]))
    }

    /// The range in the text of these decoded bytes, with the padding behind them.
    pub(super) fn place(&self, alignment: usize, bytes: &Range<usize>) -> Range<usize> {
        let first = alignment + bytes.start * 4 / 3;
        let end = alignment + (bytes.end * 4).div_ceil(3);
        self.starts[first]..self.end_of(end)
    }

    /// The range of bytes that are part of a longer text. At the beginning and the end of the stretch,
    /// characters of incomplete bytes belong to it.
    pub(super) fn place_of_fragment(&self, alignment: usize, bytes: &Range<usize>) -> Range<usize> {
        let Range { start, end } = self.place(alignment, bytes);
        let first = alignment + bytes.start * 4 / 3;
        let behind = alignment + (bytes.end * 4).div_ceil(3);
        let start = if first < GROUP { self.starts[0] } else { start };
        let end = if behind + GROUP > self.sextets.len() { self.end_of(self.sextets.len()) } else { end };
        start..end
    }

    /// The position up to which the text may be cut if it goes on, so that the last `bytes` decoded bytes
    /// are in one piece. `None` if the stretch is complete.
    pub(super) fn cut(&self, bytes: usize) -> Option<usize> {
        let end = self.end_of(self.sextets.len());
        // An escape may be incomplete.
        let is_complete = self.text.len() - end > 2 * WIDEST;
        let behind = (bytes * 4).div_ceil(3) + GROUP;
        (!is_complete).then(|| self.starts[self.sextets.len().saturating_sub(behind)])
    }

    /// The position behind the first `count` characters, and behind padding if those are all.
    fn end_of(&self, count: usize) -> usize {
        let last = self.starts[count - 1];
        let end = last + character(&self.text[last..]).map_or(1, |(_, width)| width);
        if count == self.sextets.len() { end + padding(&self.text[end..]) } else { end }
    }
}

/// The stretches of a text that are not too short.
#[derive(Debug)]
pub(super) struct Stretches<'a> {
    text: &'a [u8],
    at: usize,
    /// What is not blank.
    inner: Range<usize>,
    sextets: Vec<u8>,
    starts: Vec<usize>,
}

impl<'a> Stretches<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        let start = text.len() - text.trim_ascii_start().len();
        let inner = start..start.max(text.trim_ascii_end().len());
        Self { text, at: 0, inner, sextets: Vec::new(), starts: Vec::new() }
    }

    /// Skips what cannot be part of a stretch: most of a text. Returns whether anything is left.
    ///
    /// Of a stretch with blanks after its line ends, a beginning on a very short line may be skipped.
    fn skip(&mut self) -> bool {
        let width = if self.inner.len() < SHORTEST + 2 { SHORTEST_LINE } else { SHORTEST };
        while let Some(window) = self.text.get(self.at..self.at + width) {
            match window.iter().rposition(|byte| !MAY_BELONG[usize::from(*byte)]) {
                Some(other) => self.at += other + 1,
                None => return true,
            }
        }
        false
    }

    /// Reads up to the end of the next stretch, which may be empty.
    fn read(&mut self) {
        self.sextets.clear();
        self.starts.clear();
        self.sextets.reserve(LINE);
        self.starts.reserve(LINE);
        loop {
            let rest = &self.text[self.at..];
            if let Some((sextet, width)) = character(rest) {
                self.sextets.push(sextet);
                self.starts.push(self.at);
                self.at += width;
            } else if let Some(width) = line_ends(rest) {
                self.at += width;
            } else {
                self.at += 1;
                return;
            }
        }
    }
}

impl<'a> Iterator for Stretches<'a> {
    type Item = Stretch<'a>;

    fn next(&mut self) -> Option<Stretch<'a>> {
        while self.skip() {
            self.read();
            if self.sextets.len() < SHORTEST_LINE {
                continue;
            }
            let mut stretch = Stretch {
                text: self.text,
                sextets: std::mem::take(&mut self.sextets),
                starts: std::mem::take(&mut self.starts),
                may_continue: false,
                may_go_on: false,
            };
            let length = stretch.sextets.len();
            let begins_text = stretch.starts[0] == self.inner.start;
            let ends_text = stretch.end_of(length) == self.inner.end;
            if length >= SHORTEST || (begins_text && ends_text) {
                stretch.may_continue = begins_text || length >= LINE;
                stretch.may_go_on = ends_text || length >= LINE;
                return Some(stretch);
            }
            // Words are many, and need no buffers of their own.
            (self.sextets, self.starts) = (stretch.sextets, stretch.starts);
        }
        None
    }
}

fn decoded(sextets: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sextets.len() / GROUP * 3 + 3);
    let (groups, rest) = sextets.as_chunks::<GROUP>();
    for [first, second, third, fourth] in groups {
        bytes.extend_from_slice(&[first << 2 | second >> 4, second << 4 | third >> 2, third << 6 | fourth]);
    }
    bytes.extend(rest.windows(2).zip([2, 4]).map(|(pair, shift)| pair[0] << shift | pair[1] >> (6 - shift)));
    bytes
}

const NONE: u8 = u8::MAX;
/// The six bits of each byte, in both alphabets.
const SEXTETS: [u8; 256] = {
    let mut sextets = [NONE; 256];
    let mut sextet = 0;
    while sextet < 26 {
        sextets[(b'A' + sextet) as usize] = sextet;
        sextets[(b'a' + sextet) as usize] = sextet + 26;
        if sextet < 10 {
            sextets[(b'0' + sextet) as usize] = sextet + 52;
        }
        sextet += 1;
    }
    sextets[b'+' as usize] = 62;
    sextets[b'-' as usize] = 62;
    sextets[b'/' as usize] = 63;
    sextets[b'_' as usize] = 63;
    sextets
};

/// Whether each byte is a base64 character, or may be in an escape or line end between them.
const MAY_BELONG: [bool; 256] = {
    let mut may_belong = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        may_belong[byte] = SEXTETS[byte] != NONE || matches!(byte as u8, b'%' | b'\\' | b'\n' | b'\r');
        byte += 1;
    }
    may_belong
};

/// The base64 character at the beginning of a text, and its width. `+` and `/` are escaped in URLs,
/// and in JSON by PHP and .NET.
fn character(text: &[u8]) -> Option<(u8, usize)> {
    let first = *text.first()?;
    let sextet = SEXTETS[usize::from(first)];
    if sextet != NONE {
        return Some((sextet, 1));
    }
    let backslashes = backslashes(text);
    match (first, &text[backslashes..]) {
        (b'%', [_, b'2', b'B' | b'b', ..]) => Some((62, 3)),
        (b'%', [_, b'2', b'F' | b'f', ..]) => Some((63, 3)),
        (b'\\', [b'/', ..]) => Some((63, backslashes + 1)),
        (b'\\', [b'u', b'0', b'0', b'2', b'B' | b'b', ..]) => Some((62, backslashes + 5)),
        (b'\\', [b'u', b'0', b'0', b'2', b'F' | b'f', ..]) => Some((63, backslashes + 5)),
        _ => None,
    }
}

/// The width of line ends at the beginning of a text, escaped or not, with the blanks behind them.
fn line_ends(text: &[u8]) -> Option<usize> {
    let mut width = 0;
    loop {
        let rest = &text[width..];
        let backslashes = backslashes(rest);
        width += match &rest[backslashes..] {
            [b'\n' | b'\r', ..] if backslashes == 0 => 1,
            [b'n' | b'r', ..] if backslashes > 0 => backslashes + 1,
            [b'%', b'0', b'A' | b'a' | b'D' | b'd', ..] if backslashes == 0 => 3,
            [b' ' | b'\t', ..] if backslashes == 0 && width > 0 => 1,
            _ => return (width > 0).then_some(width),
        };
    }
}

/// The width of the padding at the beginning of a text.
fn padding(text: &[u8]) -> usize {
    let mut width = 0;
    for _ in 0..2 {
        width += match &text[width..] {
            [b'=', ..] => 1,
            [b'%', b'3', b'D' | b'd', ..] => 3,
            _ => 0,
        };
    }
    width
}

fn backslashes(text: &[u8]) -> usize {
    text.iter().take(MOST_BACKSLASHES).take_while(|byte| **byte == b'\\').count()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// The decoded text that has this part, and its place.
    fn find<'a>(text: &'a str, part: &str) -> Option<&'a str> {
        Stretches::new(text.as_bytes()).find_map(|stretch| {
            stretch.decoded().iter().enumerate().find_map(|(alignment, bytes)| {
                let start = bytes.windows(part.len()).position(|window| window == part.as_bytes())?;
                Some(&text[stretch.place(alignment, &(start..start + part.len()))])
            })
        })
    }

    #[test]
    fn decoding_undoes_encoding_at_every_alignment() {
        for length in 8..40 {
            let text: String = ('!'..).take(length).collect();
            for before in ["", "/", "v1", "abc", "/v1/"] {
                let encoded = format!("{before}{}", STANDARD.encode(&text));
                assert_eq!(find(&encoded, &text), Some(&encoded[before.len()..]), "{encoded}");
                assert_eq!(
                    find(&encoded[..encoded.len() - 1], &text[..length - 3]).map(str::len),
                    Some((4 * length - 12).div_ceil(3))
                );
            }
        }
    }

    #[test]
    fn line_ends_belong_to_a_stretch_and_other_characters_do_not() {
        for (text, expected) in [
            ("c2VzYW1lLXNlc2FtZQ==", Some("c2VzYW1lLXNlc2FtZQ==")),
            ("\\nc2VzYW1lLXNl\\nc2FtZQ==\\n", Some("c2VzYW1lLXNl\\nc2FtZQ==")),
            ("c2VzYW1lLXNl\r\n\t c2FtZQ==", Some("c2VzYW1lLXNl\r\n\t c2FtZQ==")),
            ("c2VzYW1lLXNl c2FtZQ==", None),
            ("c2VzYW1lLXNl\\tc2FtZQ==", None),
            ("c2VzYW1lLXNl\"c2FtZQ==", None),
            ("c2VzYW1lLXNl.c2FtZQ==", None),
        ] {
            assert_eq!(find(text, "sesame-sesame"), expected, "{text}");
        }
    }

    #[test]
    fn a_stretch_may_be_of_a_longer_text_at_the_edges_of_a_line() {
        let edges = |text: &str| {
            let stretches = Stretches::new(text.as_bytes());
            stretches.map(|stretch| (stretch.may_continue, stretch.may_go_on)).collect::<Vec<_>>()
        };
        let line = "QUJD".repeat(15);
        for (text, expected) in [
            ("QUJDQUJDQUJD", &[(true, true)][..]),
            (" QUJDQUJDQUJD\n", &[(true, true)]),
            ("body: QUJDQUJDQUJD", &[(false, true)]),
            ("QUJDQUJDQUJD, QUJDQUJDQUJDQUJD.", &[(true, false), (false, false)]),
            (&format!("| {line} |"), &[(true, true)]),
            ("QUJDQUJDQU==", &[(true, true)]),
            ("a QUJDQUJDQU", &[]),
            ("QUJDQ", &[]),
        ] {
            assert_eq!(edges(text), expected, "{text}");
        }
    }
}
