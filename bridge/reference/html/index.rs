//! The first page: what the package is, and all its members.

use maud::html;

use super::count;
use super::layout::{Place, page};
use crate::package::catalogue::Package;
use crate::reference::member::{Kind, Members};

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
    };
    page(package, Place::Top, "Reference", &content)
}

fn anchor(kind: Kind) -> String {
    kind.plural().to_lowercase().replace(' ', "-")
}
