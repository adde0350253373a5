//! Lists of properties, nested ones folded.
//!
//! A description is a section, which no stray tag in it closes, whereas an item of a list may be.

use isthmus_common::counted;
use maud::{Markup, html};

use super::prose;
use crate::property::Property;

/// The properties below `path`, whose anchors are their paths.
pub(super) fn properties(properties: &[Property], path: &str) -> Markup {
    html! {
        @if !properties.is_empty() {
            ul.properties { @for property in properties { (item(property, path)) } }
        }
    }
}

fn item(property: &Property, above: &str) -> Markup {
    let path = if above.is_empty() { property.name.clone() } else { format!("{above}.{}", property.name) };
    html! {
        li #(path) {
            div.head {
                a.name href={ "#" (path) } { (property.name) }
                " " span.type { (property.type_text) }
                @for flag in property.flags() { " " span class={ "flag " (flag) } { (flag) } }
            }
            @if !property.terraform.is_empty() {
                div.terraform { "Terraform " @if property.is_block { "block " } code { (property.terraform) } }
            }
            @if let Some(message) = &property.deprecated {
                @if !message.is_empty() { p.deprecation { "Deprecated: " (message) } }
            }
            @if !property.description.is_empty() { section.prose { (prose::html(&property.description)) } }
            @if property.left_out > 0 {
                p.note { "Not shown, because the page has too many: " (counted(property.left_out, "nested property")) "." }
            }
            @if !property.nested.is_empty() {
                details {
                    summary { (counted(property.nested.len(), "property")) " of " code { (property.name) } }
                    (properties(&property.nested, &path))
                }
            }
        }
    }
}
