//! Pages as HTML. Every text is escaped, but for what [`prose`] has sanitised.

mod index;
mod layout;
mod member;
mod properties;

pub(super) use index::index;
pub(super) use member::{broken, member};

use maud::html;

use super::prose;
use crate::package::catalogue::Package;
use layout::{Place, page};

pub(super) const STYLE: &str = include_str!("html/style.css");
pub(super) const SCRIPT: &str = include_str!("html/script.js");

/// The page of a path without a page.
pub(super) fn not_found(package: &Package) -> String {
    let content = html! {
        h1 { "Page not found" }
        p { "There is no such page. " a href="/index.html" { "All pages" } " are on the first one." }
    };
    page(package, Place::Anywhere, "Page not found", &content)
}

/// The version of the style and the script that a request names.
pub(super) fn version() -> &'static str {
    &layout::VERSION
}

/// A number with its noun.
fn count(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}
