//! Entrances for the counted paths (`benches/instructions`): entries as they are written to a file.

use bytes::Bytes;

use super::entry::{Begun, Entry, Made, Reference, Step};
use super::own_file::{HEAD, add_frame};
use crate::encryption::CipherKey;
use crate::journal::intent::{FileId, OperationId, OperationKind};

/// A journal file without the file.
#[derive(Debug)]
pub struct JournalEntries {
    cipher: CipherKey,
}

const FILE: FileId = [7; 6];

impl Default for JournalEntries {
    fn default() -> Self {
        Self { cipher: CipherKey::new([7; 32]) }
    }
}

impl JournalEntries {
    /// The frame of an intent.
    pub fn intent(&self, package: &str, type_name: &str, subject: &str) -> Vec<u8> {
        self.frame(Step::Begun(Begun {
            operation: operation(),
            kind: OperationKind::Create.number(),
            package: package.to_owned(),
            type_name: type_name.to_owned(),
            subject: subject.to_owned(),
            id: String::new(),
            since: 1_795_000_000_000,
            process: 12_345,
            companion: Bytes::from_static(&[7; 100]),
        }))
    }

    /// The frame of a created object, in the caller's encoding.
    pub fn creation(&self, id: &str, object: &[u8]) -> Vec<u8> {
        let object = Bytes::copy_from_slice(object);
        self.frame(Step::Made(Made { operation: operation(), id: id.to_owned(), object }))
    }

    fn frame(&self, step: Step) -> Vec<u8> {
        let mut frames = Vec::new();
        add_frame(&mut frames, &self.cipher, (FILE, HEAD as u64), &Entry::from(step));
        frames
    }
}

fn operation() -> Option<Reference> {
    Reference::to(OperationId::InFile { file: FILE, number: 1 })
}
