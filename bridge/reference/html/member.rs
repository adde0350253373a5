//! The page about a member, with the list of its properties, nested ones folded.

use isthmus_common::counted;
use maud::{Markup, html};

use super::layout::{PageDepth, page as in_layout};
use super::prose;
use crate::example::Example;
use crate::member::{Member, PageKind};
use crate::page::{Import, Page};
use crate::property::Property;
use isthmus_package::catalogue::Package;

/// The page; `own` is the provider's own documentation.
pub(crate) fn member(package: &Package, page: &Page, own: Option<&str>) -> String {
    let place = if page.kind == PageKind::Configuration { PageDepth::Top } else { PageDepth::Below };
    let content = html! {
        div.columns {
            (contents(page, own.is_some()))
            article {
                p.kind { (page.kind.name()) }
                h1 { (page.title) }
                dl.names {
                    div { dt { "Token" } dd { code { (page.token) } } }
                    div { dt { "Terraform" } dd { code { (page.terraform) } } }
                }
                @if let Some(message) = &page.deprecated {
                    div.notice {
                        strong { "Deprecated." }
                        @if !message.is_empty() { " " (message) }
                    }
                }
                @if !page.description.is_empty() { section.prose { (prose::html(&page.description)) } }
                @if !page.examples.is_empty() { (examples(&page.examples)) }
                (section("inputs", page.inputs_title(), &page.inputs, None))
                (section("outputs", page.outputs_title(), &page.outputs, page.note_on_outputs()))
                @if let Some(import) = &page.import { (import_section(import)) }
                @if page.can_be_listed {
                    section aria-labelledby="list" {
                        h2 #list { "List" }
                        p { "Objects of this type can be listed by the provider." }
                    }
                }
                @if let Some(own) = own {
                    section aria-labelledby="documentation" {
                        h2 #documentation { "The provider's documentation" }
                        p.note { "In Terraform's names and language." }
                        section.prose { (prose::html(own)) }
                    }
                }
            }
        }
    };
    in_layout(package, place, &page.title, &content)
}

/// The page of a member whose schema is invalid.
pub(crate) fn broken(package: &Package, member: &Member, reason: &str) -> String {
    let content = html! {
        p.kind { (member.kind.name()) }
        h1 { (package.identity().name) "." (member.name()) }
        div.notice { strong { "This member is not in the package." } " " (reason) }
    };
    in_layout(package, PageDepth::of(&member.path()), member.name(), &content)
}

/// What is on the page, for wide screens.
fn contents(page: &Page, has_own: bool) -> Markup {
    let names = |title: &str, anchor: &str, properties: &[Property]| {
        html! {
            @if !properties.is_empty() {
                li {
                    a href={ "#" (anchor) } { (title) }
                    ul {
                        @for property in properties {
                            li { a href={ "#" (property.name) } { (property.name) } }
                        }
                    }
                }
            }
        }
    };
    html! {
        nav.contents aria-label="On this page" {
            ul {
                @if !page.examples.is_empty() { li { a href="#example" { "Example" } } }
                (names(page.inputs_title(), "inputs", &page.inputs))
                (names(page.outputs_title(), "outputs", &page.outputs))
                @if page.import.is_some() { li { a href="#import" { "Import" } } }
                @if has_own { li { a href="#documentation" { "The provider's documentation" } } }
            }
        }
    }
}

fn section(anchor: &str, title: &str, of: &[Property], note: Option<&str>) -> Markup {
    html! {
        @if !of.is_empty() || note.is_some() {
            section aria-labelledby=(anchor) {
                h2 #(anchor) { (title) }
                @if let Some(note) = note { p.note { (note) } }
                (properties(of, ""))
            }
        }
    }
}

/// The languages are radio buttons, of which each shows its program without a script.
fn examples(examples: &[Example]) -> Markup {
    html! {
        section aria-labelledby="example" {
            h2 #example { "Example" }
            fieldset.languages {
                legend.unseen { "Language" }
                @for (index, example) in examples.iter().enumerate() {
                    @let key = example.language.key();
                    input.unseen type="radio" name="language" id={ "language-" (key) } value=(key) checked[index == 0];
                    label for={ "language-" (key) } { (example.language.name()) }
                }
                @for example in examples {
                    div.code data-language=(example.language.key()) {
                        pre tabindex="0" aria-label={ "Example in " (example.language.name()) } role="region" {
                            code { (example.code) }
                        }
                    }
                }
            }
        }
    }
}

fn import_section(import: &Import) -> Markup {
    html! {
        section aria-labelledby="import" {
            h2 #import { "Import" }
            div.code { pre tabindex="0" aria-label="Command" role="region" { code { (import.command) } } }
            p { (import.id) }
        }
    }
}

/// The properties below `path`, whose anchors are their paths. A description is a section, which no stray tag in it closes,
/// whereas an item of a list may be.
fn properties(properties: &[Property], path: &str) -> Markup {
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
