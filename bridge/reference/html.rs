//! Pages as HTML. Every text is escaped, but for what [`prose`] has sanitised.

mod index;
mod layout;
mod member;

pub(super) use index::index;
pub(super) use member::{broken, member};

use std::sync::LazyLock;

use maud::html;
use sha2::{Digest as _, Sha256};

use super::prose;
use isthmus_package::catalogue::Package;
use layout::{PageDepth, page};

/// The page of a path without a page.
pub(super) fn not_found(package: &Package) -> String {
    let content = html! {
        h1 { "Page not found" }
        p { "This page does not exist. " a href="/index.html" { "All pages" } " are on the first one." }
    };
    page(package, PageDepth::Anywhere, "Page not found", &content)
}

pub(crate) const STYLE: &str = include_str!("html/style.css");
pub(crate) const SCRIPT: &str = include_str!("html/script.js");

/// By which browsers keep them: each page would take two requests more otherwise.
pub(crate) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let digest = Sha256::new().chain_update(STYLE).chain_update(SCRIPT).finalize();
        hex::encode(digest.get(..8).unwrap_or_default())
    });
    &VERSION
}
