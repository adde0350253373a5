//! The reference of a package: pages about each of its members in Pulumi's names, made from the provider's schema.
//!
//! Pure: from a package to texts. A page is made when it is asked for, because a large provider has thousands, and the list
//! of all members comes from their names alone. The same model of a page becomes HTML, for a browser, and text, for a
//! terminal. Texts of providers are not trusted: they become HTML in one place only, which sanitises them.

mod example;
mod html;
mod member;
mod page;
mod property;
mod prose;
mod site;
mod terminal;
mod upstream;

pub use example::Language;
pub use member::{MemberError, Members, PageKind};
pub use property::type_text;
pub use prose::text as plain_text;
pub use site::{File, Site};
pub use terminal::text;
pub use upstream::{Documents, MADE, candidates};
