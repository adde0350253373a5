//! Splits a stream of bytes into lines of bounded length.
//!
//! A provider may print a line of any size, or never end one. Longer lines are passed on in pieces
//! of 64 KiB, as in go-plugin; pieces are marked, because a part of a JSON record must not be
//! parsed.

/// Maximum size of a piece in bytes.
pub(super) const LONGEST_PIECE: usize = 64 * 1024;

/// A line, or a part of a long one; without its line feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// The text in any encoding.
    pub(super) bytes: &'a [u8],
    /// Whether it is a whole line.
    pub(super) whole: bool,
    /// Whether it ends the line.
    pub(super) ends: bool,
}

/// An incomplete line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pending: Vec<u8>,
    /// Whether a part of the current line was already passed on.
    continued: bool,
}

impl Lines {
    /// Adds bytes and passes on every piece that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Piece<'_>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if self.pending.is_empty() && !self.continued && line.len() <= LONGEST_PIECE {
                each(Piece { bytes: without_return(line), whole: true, ends: true });
            } else {
                self.hold(line, &mut each);
                self.finish(&mut each);
            }
        }
        self.hold(bytes, &mut each);
    }

    /// Passes on the last line, which has no line feed.
    pub(super) fn finish(&mut self, mut each: impl FnMut(Piece<'_>)) {
        if !self.pending.is_empty() || self.continued {
            each(Piece { bytes: without_return(&self.pending), whole: !self.continued, ends: true });
        }
        self.pending.clear();
        self.continued = false;
    }

    fn hold(&mut self, mut bytes: &[u8], each: &mut impl FnMut(Piece<'_>)) {
        while self.pending.len() + bytes.len() > LONGEST_PIECE {
            let (now, later) = bytes.split_at(LONGEST_PIECE - self.pending.len());
            self.pending.extend_from_slice(now);
            each(Piece { bytes: &self.pending, whole: false, ends: false });
            self.pending.clear();
            self.continued = true;
            bytes = later;
        }
        self.pending.extend_from_slice(bytes);
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(chunks: &[&[u8]]) -> Vec<(Vec<u8>, bool)> {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for chunk in chunks {
            lines.push(chunk, |piece| seen.push((piece.bytes.to_vec(), piece.whole)));
            assert!(lines.pending.capacity() <= 2 * LONGEST_PIECE, "the buffer grew");
        }
        lines.finish(|piece| seen.push((piece.bytes.to_vec(), piece.whole)));
        seen
    }

    fn whole(lines: &[&str]) -> Vec<(Vec<u8>, bool)> {
        lines.iter().map(|line| (line.as_bytes().to_vec(), true)).collect()
    }

    #[test]
    fn lines_come_out_whole_however_they_were_read() {
        assert_eq!(pieces(&[b"one\ntwo\r\n\nthree"]), whole(&["one", "two", "", "three"]));
        assert_eq!(
            pieces(&[b"o", b"ne\nt", b"wo\r", b"\n", b"\nthree"]),
            whole(&["one", "two", "", "three"])
        );
    }

    #[test]
    fn a_line_that_is_too_long_comes_in_pieces_that_say_so() {
        let long = vec![b'a'; 2 * LONGEST_PIECE + 5];
        let mut ended = long.clone();
        ended.extend_from_slice(b"\nnext\n");
        let expected = vec![
            (vec![b'a'; LONGEST_PIECE], false),
            (vec![b'a'; LONGEST_PIECE], false),
            (vec![b'a'; 5], false),
            (b"next".to_vec(), true),
        ];
        assert_eq!(pieces(&[&ended]), expected);
        assert_eq!(pieces(&[&long, b"\nnext\n"]), expected);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_between_the_pieces(text in "[a-c\n]{0,200}", cuts in proptest::collection::vec(0usize..200, 0..6)) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let expected: Vec<&str> = text.lines().collect();
            prop_assert_eq!(pieces(&chunks), whole(&expected));
        }
    }
}
