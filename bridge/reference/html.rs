//! Pages as HTML. Every text is escaped, but for what [`prose`] has sanitised.

mod assets;
mod index;
mod layout;
mod member;
mod properties;

pub(super) use assets::{SCRIPT, STYLE, version};
pub(super) use index::index;
pub(super) use member::{broken, member};

use maud::html;

use super::prose;
use isthmus_package::catalogue::Package;
use layout::{Place, page};

/// The page of a path without a page.
pub(super) fn not_found(package: &Package) -> String {
    let content = html! {
        h1 { "Page not found" }
        p { "This page does not exist. " a href="/index.html" { "All pages" } " are on the first one." }
    };
    page(package, Place::Anywhere, "Page not found", &content)
}
