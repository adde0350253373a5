//! What all pages have: the head, the search, the frame.

use maud::{DOCTYPE, Markup, html};

use super::version;
use isthmus_package::catalogue::Package;

/// Where a page is, from which its links lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageDepth {
    /// In the first directory.
    Top,
    /// In a directory of members.
    Below,
    /// Served at any path.
    Anywhere,
}

impl PageDepth {
    pub(super) fn of(path: &str) -> Self {
        if path.contains('/') { Self::Below } else { Self::Top }
    }

    /// What links to the first directory begin with.
    pub(super) fn root(self) -> &'static str {
        match self {
            Self::Top => "",
            Self::Below => "../",
            Self::Anywhere => "/",
        }
    }
}

pub(super) fn page(package: &Package, place: PageDepth, title: &str, content: &Markup) -> String {
    let (root, identity) = (place.root(), package.identity());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " – " (identity.name) }
                link rel="icon" href="data:,";
                link rel="stylesheet" href={ (root) "style.css?" (version()) };
                script defer src={ (root) "script.js?" (version()) } data-root=(root) {}
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header {
                    div.bar {
                        a.home href={ (root) "index.html" } {
                            strong { (identity.name) }
                            @if let Some(version) = identity.provider_version() { " " span { (version) } }
                        }
                        form.search role="search" hidden {
                            input #query type="search" placeholder="Search" aria-label="Search resources, data sources, functions and properties"
                                role="combobox" aria-expanded="false" aria-controls="results" aria-autocomplete="list" autocomplete="off"
                                spellcheck="false" autocapitalize="off";
                            ul #results role="listbox" aria-label="Results" hidden {}
                        }
                    }
                }
                main #content { (content) }
            }
        }
    };
    page.into_string()
}
