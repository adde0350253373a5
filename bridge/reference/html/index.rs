//! The first page: what the package is, and all its members.

use maud::html;

use super::count;
use super::layout::{Place, page};
use crate::package::catalogue::Package;
use crate::reference::member::{Kind, Member, Members};

/// So many members are seen at a glance, without letters between them.
const FEW: usize = 60;

pub(in crate::reference) fn index(package: &Package, members: &Members) -> String {
    let identity = package.identity();
    let kinds = || {
        Kind::ALL.into_iter().filter(|kind| *kind != Kind::Configuration).filter_map(|kind| {
            let members: Vec<_> = members.of_kind(kind).collect();
            (!members.is_empty()).then_some((kind, members))
        })
    };
    let content = html! {
        h1 { (identity.name) }
        p.lead {
            "Terraform provider " code { (identity.provider_address()) }
            @if let Some(version) = identity.provider_version() { ", version " (version) }
            " as the Pulumi package " code { (identity.name) } "."
        }
        nav.sections aria-label="Kinds" {
            a href="configuration.html" { "Configuration" }
            @for (kind, members) in kinds() {
                a href={ "#" (anchor(kind)) } { (count(members.len(), kind.name(), &kind.plural().to_lowercase())) }
            }
        }
        @for (kind, members) in kinds() {
            section aria-labelledby=(anchor(kind)) {
                h2 #(anchor(kind)) { (kind.plural()) " " span.count { (members.len()) } }
                @let letters = by_letter(&members);
                @for (letter, members) in &letters {
                    div.letter {
                        @if letters.len() > 1 && count_of(&letters) > FEW { h3 { (letter) } }
                        ul.members {
                            @for member in members {
                                li {
                                    a href=(member.path()) { (member.name()) }
                                    span.terraform { (member.terraform) }
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    page(package, Place::Top, "Reference", &content)
}

/// Members in groups of a first letter, which a browser lays out when they are scrolled to: thousands at once would take longer
/// than anything else of the page.
fn by_letter<'m>(members: &[&'m Member]) -> Vec<(char, Vec<&'m Member>)> {
    let mut letters: Vec<(char, Vec<&Member>)> = Vec::new();
    for member in members {
        let name = member.name();
        let name =
            if member.kind == Kind::DataSource { name.strip_prefix("get").unwrap_or(name) } else { name };
        let letter = name.chars().next().map_or('#', |first| first.to_ascii_uppercase());
        match letters.last_mut() {
            Some((last, group)) if *last == letter => group.push(*member),
            _ => letters.push((letter, vec![*member])),
        }
    }
    letters
}

fn count_of(letters: &[(char, Vec<&Member>)]) -> usize {
    letters.iter().map(|(_, members)| members.len()).sum()
}

fn anchor(kind: Kind) -> String {
    kind.plural().to_lowercase().replace(' ', "-")
}
