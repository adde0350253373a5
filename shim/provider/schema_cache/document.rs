//! A document that was rendered from a provider's response, such as a package schema.
//!
//! It may have hundreds of megabytes, so it is written and read in chunks. Each chunk is validated
//! when it is read.

use std::io::{self, Write};

use bytes::{Bytes, BytesMut};
use prost::Message as _;

use super::files::{Body, Unfinished};
use crate::schema::Span;
use sha2::{Digest as _, Sha256};

/// Bytes of a chunk, except the last one.
const CHUNK: usize = 256 << 10;

/// A document in a file. It stays readable after the file was removed or replaced.
#[derive(Debug)]
pub struct Document {
    notes: Vec<String>,
    chunks: Vec<Span>,
    body: Body,
}

/// The head of the file.
#[derive(Clone, PartialEq, prost::Message)]
struct Head {
    #[prost(string, repeated, tag = "1")]
    notes: Vec<String>,
    /// The SHA-256 of each chunk.
    #[prost(bytes = "vec", repeated, tag = "2")]
    hashes: Vec<Vec<u8>>,
}

/// Writes a document.
#[derive(Debug)]
pub(super) struct DocumentWriter {
    file: Unfinished,
    chunk: Vec<u8>,
    hashes: Vec<Vec<u8>>,
}

impl Document {
    /// The document in a file. `None` if its head is invalid.
    pub(super) fn new(head: Bytes, body: Body) -> Option<Self> {
        let Head { notes, hashes } = Head::decode(head).ok()?;
        let chunk = |(number, hash): (usize, Vec<u8>)| {
            let offset = (number * CHUNK) as u64;
            let length = body.length().saturating_sub(offset).min(CHUNK as u64);
            Some(Span { offset, length, hash: hash.try_into().ok()? })
        };
        let chunks = hashes.into_iter().enumerate().map(chunk).collect::<Option<_>>()?;
        Some(Self { notes, chunks, body })
    }

    /// What is to be said of it.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.body.length()
    }

    /// The number of its chunks.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// The chunk with this number, from 0 on; `None` behind the last one. Blocks on the file system.
    ///
    /// It is read into `buffer`, whose memory is used again if no earlier chunk in it is left.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged. The file is removed then.
    pub fn chunk(&self, number: usize, buffer: &mut BytesMut) -> Option<io::Result<Bytes>> {
        let chunk = self.chunks.get(number)?;
        Some(self.body.read_into(*chunk, buffer).map(|()| buffer.split().freeze()))
    }
}

impl DocumentWriter {
    pub(super) fn new(file: Unfinished) -> Self {
        Self { file, chunk: Vec::with_capacity(CHUNK), hashes: Vec::new() }
    }

    pub(super) fn finish(mut self, notes: Vec<String>) -> io::Result<Document> {
        if !self.chunk.is_empty() {
            self.write_chunk()?;
        }
        let head = Head { notes, hashes: self.hashes }.encode_to_vec();
        let body = self.file.finish(&head)?;
        Document::new(head.into(), body).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn write_chunk(&mut self) -> io::Result<()> {
        self.hashes.push(Sha256::digest(&self.chunk).to_vec());
        self.file.write_all(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }
}

impl Write for DocumentWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let taken = text.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&text[..taken]);
        if self.chunk.len() == CHUNK {
            self.write_chunk()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
