//! The style and the script of all pages, and their version.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

pub(crate) const STYLE: &str = include_str!("style.css");
pub(crate) const SCRIPT: &str = include_str!("script.js");

/// By which browsers keep them: each page would take two requests more otherwise.
pub(crate) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let digest = Sha256::new().chain_update(STYLE).chain_update(SCRIPT).finalize();
        hex::encode(digest.get(..8).unwrap_or_default())
    });
    &VERSION
}
