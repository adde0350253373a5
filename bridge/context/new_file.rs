//! Writing of a file that users asked for: whole or not at all, and over another one only if they
//! asked for that too.

use std::io::{self, Write as _};
use std::path::Path;

use isthmus_common::scratch::ScratchDirectory;

/// Writes a file with this mode, before the umask, atomically. Without `overwrite`, a file that
/// exists is an error of the kind `AlreadyExists`.
pub fn write_file(file: &Path, bytes: &[u8], mode: u32, overwrite: bool) -> io::Result<()> {
    let scratch = ScratchDirectory::beside(file)?;
    let mut new = scratch.file(mode)?;
    new.write_all(bytes)?;
    new.as_file().sync_all()?;
    let placed = if overwrite { new.persist(file) } else { new.persist_noclobber(file) };
    placed.map(drop).map_err(|error| error.error)
}
