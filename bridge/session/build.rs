//! Build script: hashes the sources that package schemas are made by.
//!
//! Package schemas are cached for all processes of one build (`daemon/documents.rs`). A digest of the executable would
//! identify a build as well, but each process would have to read all of it first.

use std::error::Error;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// All that a package schema depends on, in the root of the workspace.
const SOURCES: [&str; 7] =
    ["Cargo.lock", "bridge/package", "bridge/reference", "bridge/session", "build.rs", "proto", "shim"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let mut hasher = DefaultHasher::new();
    for source in SOURCES {
        let source = root.join(source);
        println!("cargo::rerun-if-changed={}", source.display());
        hash(&source, &mut hasher)?;
    }
    println!("cargo::rustc-env=ISTHMUS_SOURCES={:016x}", hasher.finish());
    Ok(())
}

/// Adds a file, or the files of a directory in the order of their names.
fn hash(path: &Path, hasher: &mut DefaultHasher) -> Result<(), Box<dyn Error>> {
    if !path.is_dir() {
        hasher.write(path.file_name().unwrap_or_default().as_encoded_bytes());
        let content = fs::read(path)?;
        hasher.write_usize(content.len());
        hasher.write(&content);
        return Ok(());
    }
    let mut entries: Vec<_> =
        fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    entries.sort();
    entries.iter().try_for_each(|entry| hash(entry, hasher))
}
