//! Entrances for the fuzzer (`fuzz/`): the bytes of a journal file, and what its entries amount to.

use std::collections::{BTreeSet, HashSet};

use prost::Message as _;

use super::entry::{Entry, Step};
use super::frame;
use super::replay::{Others, Replay};
use crate::journal::intent::{FileId, OperationId};

/// A file of frames and of other bytes: each frame is found where it is, and so is what is appended to the last.
///
/// The input is pieces, of which those with an even number are frames: mutations find no checksums.
pub fn frames(input: &[u8]) {
    let mut file = Vec::new();
    for (number, contents) in pieces(input) {
        if number % 2 == 0 {
            frame::add(&mut file, contents);
        } else {
            file.extend_from_slice(contents);
        }
    }
    let frames = frame::read(&file, 0);
    for (at, contents) in &frames.whole {
        let mut written = Vec::new();
        frame::add(&mut written, contents);
        let at = usize::try_from(*at).expect("an offset in memory");
        assert_eq!(file.get(at..at + written.len()), Some(&written[..]));
    }
    let whole = usize::try_from(frames.length).expect("a length in memory");
    let mut longer = file[..whole].to_vec();
    frame::add(&mut longer, b"another");
    let again = frame::read(&longer, 0);
    assert_eq!(again.whole.len(), frames.whole.len() + 1);
    assert_eq!(again.whole.last().map(|(_, contents)| *contents), Some(&b"another"[..]));
}

/// The entries of a few files: they amount to the same in any order, and after a compaction, at whichever point it
/// was killed. The input is pieces: a file's number, and an entry.
pub fn entries(input: &[u8]) {
    let mut entries: Vec<(FileId, Entry)> = Vec::new();
    for (number, entry) in pieces(input) {
        let Ok(entry) = Entry::decode(entry) else { continue };
        let file = [number % 4; 6];
        if is_possible(&entry, file, &entries) {
            entries.push((file, entry));
        }
    }
    let all = replay(&entries);
    assert_eq!(summary(&all), summary(&replay(entries.iter().rev())), "in the opposite order");

    let batch = BTreeSet::from([[0; 6], [1; 6]]);
    let others = Others { files: HashSet::from([[2; 6], [3; 6]]), are_read: true };
    let compacted: Vec<(FileId, Entry)> =
        all.entries(&batch, &others).into_iter().map(|entry| ([9; 6], entry)).collect();
    // It may be killed before it has removed any of its files, and between any two.
    for left in [&[][..], &[[0; 6]], &[[1; 6]], &[[0; 6], [1; 6]]] {
        let files = entries.iter().filter(|(file, _)| others.files.contains(file) || left.contains(file));
        assert_eq!(
            summary(&replay(files.chain(&compacted))),
            summary(&all),
            "after a compaction that left {left:?}"
        );
    }
}

/// Numbers and bytes. A piece begins with its number and the length of its bytes.
fn pieces(mut input: &[u8]) -> Vec<(u8, &[u8])> {
    let mut pieces = Vec::new();
    while let [number, length, rest @ ..] = input {
        let (bytes, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        pieces.push((*number, bytes));
        input = rest;
    }
    pieces
}

/// Whether a process can have written an entry: an operation is begun in its own file, by one entry, and what becomes
/// known of it is written behind that.
fn is_possible(entry: &Entry, file: FileId, before: &[(FileId, Entry)]) -> bool {
    let begun = |before: &Entry| match &before.step {
        Some(Step::Begun(begun)) => begun.operation.as_ref()?.operation(),
        Some(Step::Left(left)) => left.operation.as_ref()?.operation(),
        _ => None,
    };
    let is_begun = |id: OperationId| before.iter().any(|(_, entry)| begun(entry) == Some(id));
    let is_here = |id| matches!(id, OperationId::InFile { file: of, number: 1.. } if of == file);
    let operation = match &entry.step {
        Some(Step::Begun(_) | Step::Left(_)) => {
            return begun(entry).is_some_and(|id| is_here(id) && !is_begun(id));
        }
        Some(Step::Made(made)) => &made.operation,
        Some(Step::Unknown(unknown)) => &unknown.operation,
        _ => return true,
    };
    let operation = operation.as_ref().and_then(|operation| operation.operation());
    operation.is_some_and(|id| is_here(id) && is_begun(id))
}

fn replay<'a>(entries: impl IntoIterator<Item = &'a (FileId, Entry)>) -> Replay {
    let mut replay = Replay::default();
    entries.into_iter().for_each(|(file, entry)| replay.add(*file, entry.clone()));
    replay
}

/// What users get of it.
fn summary(replay: &Replay) -> Vec<String> {
    let open = replay.open().map(|(id, _, steps)| {
        format!("{id} {} {} {:?}", steps.made.is_some(), steps.unknown.is_some(), steps.marks())
    });
    let kept = replay.kept().map(|(id, _)| format!("{id} is kept"));
    open.chain(kept).collect()
}
