//! Recordings: the calls of a session on both sides, in one file, without its secrets; and their replay.
//!
//! - [`SessionRecorder`] is what a session has while it is recorded: it gets the engine's calls from the server, and those of
//!   the provider from an observer. A call is written when it has ended, because all of its secrets are known by then.
//! - `format`, `writer`, `reader` and `bags` are both directions of the file's JSON, of messages that `crate::walk` decodes.
//! - `placeholders` replaces secrets so that what is recorded can be replayed.
//! - `player`, `scripted` and `comparison` are for a replay: the provider's side, the engine's calls, and what differs.

mod bags;
mod call;
mod comparison;
mod file;
mod format;
mod placeholders;
mod player;
mod reader;
mod recorded;
mod scripted;
mod session;
mod writer;

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use isthmus_cty::json::Json;

pub use call::{OpenCall, capture, continued};
pub use comparison::Difference;
pub use file::{MODE, RecordingError, header};
pub use player::Player;
pub use recorded::{RecordedCall, RecordedSession, count, sessions};
pub use scripted::Script;
pub use session::SessionRecorder;

/// Where the lines of a process go.
#[derive(Debug)]
pub struct Recording {
    sink: Sink,
    has_failed: AtomicBool,
}

#[derive(Debug)]
enum Sink {
    File(File),
    /// Those of a replay.
    Memory(Mutex<Vec<Json>>),
}

impl Recording {
    /// Opens a recording to append to, or creates it.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        Ok(Self { sink: Sink::File(file::open(path)?), has_failed: AtomicBool::new(false) })
    }

    pub fn in_memory() -> Self {
        Self { sink: Sink::Memory(Mutex::default()), has_failed: AtomicBool::new(false) }
    }

    pub fn is_replay(&self) -> bool {
        matches!(self.sink, Sink::Memory(_))
    }

    /// Appends lines. The first failure ends the recording, and is returned once.
    pub fn append(&self, lines: Vec<Json>) -> Result<(), std::io::Error> {
        match &self.sink {
            Sink::Memory(memory) => memory.lock().unwrap_or_else(PoisonError::into_inner).extend(lines),
            Sink::File(_) if self.has_failed.load(Ordering::Relaxed) => {}
            Sink::File(file) => file::append(file, &lines).inspect_err(|_| {
                self.has_failed.store(true, Ordering::Relaxed);
            })?,
        }
        Ok(())
    }

    /// Takes the lines of a replay since the last time.
    pub fn take(&self) -> Vec<Json> {
        match &self.sink {
            Sink::Memory(memory) => {
                std::mem::take(&mut memory.lock().unwrap_or_else(PoisonError::into_inner))
            }
            Sink::File(_) => Vec::new(),
        }
    }
}
