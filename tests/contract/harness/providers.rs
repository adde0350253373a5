//! The programs that the tests run on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// A Go program that the tests need, by its name in `tests/tools/build`, built when it is not yet.
pub(crate) fn tool(name: &str) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    built.entry(name.to_owned()).or_insert_with(|| build(name)).clone()
}

fn build(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = Command::new(root.join("tests/tools/build"))
        .arg(name)
        .output()
        .expect("tests/tools/build can be run");
    let said = String::from_utf8_lossy(&built.stdout).into_owned() + &String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "tests/tools/build failed: {said}");
    // Its last word is the path.
    PathBuf::from(said.trim().rsplit_once(": ").expect("the path of what was built").1)
}
