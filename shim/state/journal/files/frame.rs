//! Frames: how encrypted entries follow each other in a file.
//!
//! A frame is the length of its contents, that length with all bits inverted, eight bytes of the
//! SHA-256 of the contents, and the contents. A process may be killed in the middle of a write, so the
//! end of a file may be cut off; this is expected and not damage. Anything else that does not fit is
//! damage: the frames behind it are found again by their lengths and checksums.

use sha2::{Digest as _, Sha256};

/// Length, inverted length, checksum.
const HEAD: usize = 4 + 4 + SUM;
const SUM: usize = 8;

/// What the bytes of a file are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Frames<'a> {
    /// The contents of whole frames, and the offsets of these frames.
    pub(super) whole: Vec<(u64, &'a [u8])>,
    /// Number of places that no frame could be read at.
    pub(super) damaged: usize,
    /// Length up to the end of the last whole frame.
    pub(super) length: u64,
}

/// Adds a frame.
///
/// # Panics
/// If `contents` has 4 GiB or more: no message has.
pub(super) fn add(bytes: &mut Vec<u8>, contents: &[u8]) {
    let length = u32::try_from(contents.len()).expect("an entry is shorter than 4 GiB");
    bytes.reserve(HEAD + contents.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&(!length).to_le_bytes());
    bytes.extend_from_slice(&checksum(contents));
    bytes.extend_from_slice(contents);
}

/// Reads the frames from `start` on.
pub(super) fn read(bytes: &[u8], start: usize) -> Frames<'_> {
    let mut frames = Frames { length: start as u64, ..Frames::default() };
    let mut at = start;
    while at < bytes.len() {
        match frame(&bytes[at..]) {
            Some(contents) => {
                frames.whole.push((at as u64, contents));
                at += HEAD + contents.len();
                frames.length = at as u64;
            }
            None => {
                let next = (at + 1..bytes.len()).find(|next| frame(&bytes[*next..]).is_some());
                let Some(next) = next else {
                    frames.damaged += usize::from(!is_cut_off(&bytes[at..]));
                    break;
                };
                frames.damaged += 1;
                at = next;
            }
        }
    }
    frames
}

/// The contents of the frame at the beginning, if it is whole.
fn frame(bytes: &[u8]) -> Option<&[u8]> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let contents = rest.get(..length(head)?)?;
    (checksum(contents) == head[HEAD - SUM..]).then_some(contents)
}

/// Whether this is the beginning of a frame whose end is missing.
fn is_cut_off(bytes: &[u8]) -> bool {
    match bytes.split_at_checked(HEAD) {
        None => true,
        Some((head, rest)) => length(head).is_some_and(|length| rest.len() < length),
    }
}

fn length(head: &[u8]) -> Option<usize> {
    let (length, inverted) = (head.first_chunk::<4>()?, head[4..].first_chunk::<4>()?);
    let (length, inverted) = (u32::from_le_bytes(*length), u32::from_le_bytes(*inverted));
    (length == !inverted).then(|| usize::try_from(length).ok()).flatten()
}

fn checksum(contents: &[u8]) -> [u8; SUM] {
    let digest = Sha256::digest(contents);
    let mut sum = [0; SUM];
    sum.copy_from_slice(&digest[..SUM]);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let mut bytes = b"head".to_vec();
        for contents in [&b"one"[..], b"", b"three and more"] {
            add(&mut bytes, contents);
        }
        bytes
    }

    fn texts(bytes: &[u8]) -> (Vec<String>, usize) {
        let frames = read(bytes, 4);
        let texts = frames.whole.iter().map(|(_, text)| String::from_utf8_lossy(text).into_owned());
        (texts.collect(), frames.damaged)
    }

    #[test]
    fn what_was_added_is_read() {
        assert_eq!(texts(&file()), (["one", "", "three and more"].map(str::to_owned).to_vec(), 0));
        assert_eq!(read(&file(), 4).length, file().len() as u64);
    }

    #[test]
    fn a_file_that_was_cut_off_at_any_byte_is_read_up_to_there_and_is_not_damaged() {
        let whole = file();
        let ends: Vec<usize> = read(&whole, 4)
            .whole
            .iter()
            .map(|(at, text)| usize::try_from(*at).expect("an offset") + HEAD + text.len())
            .collect();
        for end in 4..whole.len() {
            let frames = read(&whole[..end], 4);
            assert_eq!(frames.damaged, 0, "cut off at {end}");
            assert_eq!(frames.whole.len(), ends.iter().filter(|known| **known <= end).count());
        }
    }

    #[test]
    fn any_other_byte_in_the_middle_is_damage_and_the_frames_around_it_are_read() {
        let whole = file();
        let last = read(&whole, 4).whole[2].0;
        for at in 4..usize::try_from(last).expect("an offset") {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            let (texts, faults) = texts(&damaged);
            assert!(faults > 0, "byte {at}");
            assert_eq!(texts.last().map(String::as_str), Some("three and more"), "byte {at}");
        }
    }
}
