//! Pages of a provider's own documentation, from its repository: Markdown files, a page for each member.
//!
//! The directories are those of Terraform's registry, today's and the one before, as the Go bridge looks for them.

mod markdown;

pub use markdown::MADE;

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use regex::Regex;
use sha2::{Digest as _, Sha256};

use super::member::{Member, Members, PageKind};
use super::page::Page;
use isthmus_package::catalogue::Package;
use isthmus_package::described::{Described, Text};
use isthmus_package::names::MemberKind;
use isthmus_package::schema::in_parallel;

/// The pages that were found, by the paths of their members' pages.
#[derive(Debug, Default)]
pub struct Documents(BTreeMap<String, String>);

/// Where the page about a member may be, relative to the repository, the best place first.
pub fn candidates(provider_type: &str, member: &Member) -> Vec<String> {
    let (today, before) = match member.kind {
        PageKind::Configuration => {
            return vec!["docs/index.md".to_owned(), "website/docs/index.html.markdown".to_owned()];
        }
        PageKind::Resource => ("resources", Some("r")),
        PageKind::DataSource => ("data-sources", Some("d")),
        PageKind::Function => ("functions", Some("functions")),
        PageKind::EphemeralResource => ("ephemeral-resources", Some("ephemeral-resources")),
        PageKind::Action => ("actions", Some("actions")),
    };
    let full = member.terraform.as_str();
    // A name that leads elsewhere is of no file.
    if full.contains(['/', '\\', '\0']) || full.starts_with('.') {
        return Vec::new();
    }
    let short = full.strip_prefix(provider_type).and_then(|rest| rest.strip_prefix('_')).unwrap_or(full);
    let mut candidates = Vec::new();
    for name in [short, full] {
        candidates.push(format!("docs/{today}/{name}.md"));
        if let Some(before) = before {
            for suffix in ["html.markdown", "html.md", "markdown", "md"] {
                candidates.push(format!("website/docs/{before}/{name}.{suffix}"));
            }
        }
    }
    candidates.dedup();
    candidates
}

impl Documents {
    /// Adds the page about a member.
    pub fn add(&mut self, member: &Member, text: &str) {
        self.0.insert(member.path(), body(text).to_owned());
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a document that is made of the pages depends on.
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        for text in self.0.iter().flat_map(|(path, text)| [path, text]) {
            digest.update(text.len().to_be_bytes());
            digest.update(text);
        }
        digest.finalize().into()
    }

    /// The texts for the package's schema: pages without what the schema says itself, each with an example of the member.
    pub fn described(&self, package: &Package) -> Described {
        let mut described = Described::default();
        let members = Members::of(package);
        let with_pages: Vec<(&Member, MemberKind, &str)> = members
            .all()
            .iter()
            .filter_map(|member| Some((member, member.kind.of_member()?, self.of(member)?)))
            .collect();
        let texts = in_parallel(&with_pages, |(member, _, page)| {
            // Examples of a member with an invalid schema would be of no use.
            let examples = Page::of(package, member).map(|page| page.examples).unwrap_or_default();
            let properties = descriptions(page).into_iter();
            Text {
                description: markdown::description(page, &member.token, &examples),
                properties: properties.map(|(name, text)| (name.to_owned(), text.to_owned())).collect(),
            }
        });
        for ((member, kind, _), text) in with_pages.iter().zip(texts) {
            described.add(*kind, &member.terraform, text);
        }
        described
    }

    /// The overview of the package for Pulumi's registry, from the provider's first page.
    pub fn overview(&self, package: &Package) -> String {
        let members = Members::of(package);
        let configuration = members.all().iter().find(|member| member.kind == PageKind::Configuration);
        let page = configuration.and_then(|member| Page::of(package, member).ok());
        let text = configuration.and_then(|member| self.of(member)).unwrap_or_default();
        markdown::overview(package, text, page.as_ref())
    }

    /// The provider's page about a member, as Markdown in Terraform's names.
    pub(super) fn of(&self, member: &Member) -> Option<&str> {
        self.0.get(&member.path()).map(String::as_str)
    }

    /// Describes the properties that the schema does not.
    pub(super) fn complete(&self, member: &Member, page: &mut Page) {
        let Some(text) = self.of(member) else { return };
        let described = descriptions(text);
        for property in page.inputs.iter_mut().chain(&mut page.outputs) {
            if property.description.is_empty()
                && let Some(description) = described.get(property.terraform.as_str())
            {
                property.description = (*description).to_owned();
            }
        }
    }
}

/// A page without its front matter.
fn body(text: &str) -> &str {
    let behind = text.trim_start().strip_prefix("---").and_then(|rest| rest.split_once("\n---"));
    behind.map_or(text, |(_, body)| body.trim_start_matches('-')).trim()
}

/// The arguments and attributes that a page lists, by Terraform's names. The first one of a name counts: nested ones follow.
fn descriptions(text: &str) -> HashMap<&str, &str> {
    static ITEM: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?m)^ {0,3}[*-] +`([a-z0-9_]+)` *(?:-|–|:)? *(?:\((?:[A-Z][^()]*)\) *)?(?:-|–|:)? *([^ \t\r\n].*)$",
        )
        .expect("the pattern of this file is valid")
    });
    let mut found = HashMap::new();
    for item in ITEM.captures_iter(text) {
        if let (Some(name), Some(description)) = (item.get(1), item.get(2)) {
            found.entry(name.as_str()).or_insert(description.as_str());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_a_page_are_those_of_the_registry() {
        let member =
            |kind, terraform: &str| Member { kind, terraform: terraform.to_owned(), token: String::new() };
        let found = candidates("random", &member(PageKind::Resource, "random_pet"));
        assert_eq!(found[..2], ["docs/resources/pet.md", "website/docs/r/pet.html.markdown"]);
        assert!(found.contains(&"docs/resources/random_pet.md".to_owned()), "{found:?}");
        assert!(candidates("random", &member(PageKind::Resource, "random_../../x")).is_empty());
    }

    #[test]
    fn a_page_has_no_front_matter_and_describes_arguments() {
        let page = "---\npage_title: x\n---\n\n# Pet\n\n* `length` - (Optional) The length.\n- `separator` (String) The \
                    mark.\n* `length` - another one\n* plain\n";
        assert!(body(page).starts_with("# Pet"), "{}", body(page));
        let found = descriptions(page);
        assert_eq!((found["length"], found["separator"], found.len()), ("The length.", "The mark.", 2));
    }
}
