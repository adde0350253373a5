//! The first page: what the package is, and all its members.

use isthmus_common::counted;
use isthmus_install::ProviderAddress;
use maud::{Markup, html};

use super::layout::{PageDepth, page};
use crate::member::{Member, Members, PageKind};
use crate::page::Digest;
use isthmus_package::catalogue::{Identity, Package};
use isthmus_package::parameters::ParameterSource;
use isthmus_package::releases::PLUGIN_VERSION;
use isthmus_package::schema::BASE_NAME;

/// So many members are seen at a glance, without letters between them.
const FEW: usize = 60;

/// A member in a list.
type Listed<'m> = (&'m Member, &'m Digest);

/// The page. A digest belongs to each member.
pub(crate) fn index(package: &Package, members: &Members, digests: &[Digest]) -> String {
    let identity = package.identity();
    let kinds = || {
        PageKind::ALL.into_iter().filter(|kind| *kind != PageKind::Configuration).filter_map(|kind| {
            let listed = members.all().iter().zip(digests).filter(|(member, _)| member.kind == kind);
            let listed: Vec<Listed<'_>> = listed.collect();
            (!listed.is_empty()).then_some((kind, listed))
        })
    };
    let content = html! {
        h1 { (identity.name) }
        p.lead {
            "Terraform provider " code { (identity.provider_address()) }
            @if let Some(version) = identity.provider_version() { ", version " (version) }
            " as the Pulumi package " code { (identity.name) } ". In a project's directory, this adds it:"
        }
        div.code { pre tabindex="0" aria-label="Command" role="region" { code { (package_add(identity)) } } }
        nav.sections aria-label="Kinds" {
            a href="configuration.html" { "Configuration" }
            @for (kind, listed) in kinds() {
                a href={ "#" (anchor(kind)) } { (counted(listed.len(), kind.name())) }
            }
        }
        @for (kind, listed) in kinds() {
            section aria-labelledby=(anchor(kind)) {
                h2 #(anchor(kind)) { (kind.plural()) " " span.count { (listed.len()) } }
                @if listed.len() <= FEW {
                    (list(&listed))
                } @else {
                    @for (letter, listed) in by_letter(&listed) { div.letter { h3 { (letter) } (list(&listed)) } }
                }
            }
        }
    };
    page(package, PageDepth::Top, "Reference", &content)
}

fn list(listed: &[Listed<'_>]) -> Markup {
    html! {
        ul.members {
            @for (member, digest) in listed {
                li {
                    a href=(member.path()) { (member.name()) }
                    span.terraform { (member.terraform) }
                    @if !digest.summary.is_empty() { span.summary { (digest.summary) } }
                }
            }
        }
    }
}

/// The command that adds the package to a project. Its SDK names the version of the plugin that is replaced.
fn package_add(identity: &Identity) -> String {
    let mut command = format!("pulumi package add {BASE_NAME}@{PLUGIN_VERSION} ");
    match &identity.parameter.source {
        ParameterSource::Remote { url, .. } => {
            let address =
                ProviderAddress::parse(url).map_or_else(|_| url.clone(), |address| address.for_display());
            command.push_str(&address);
            command.extend(identity.provider_version().map(|version| format!(" {version}")));
        }
        ParameterSource::Local { path } => command.push_str(&quoted_for_shell(path)),
    }
    command.extend(identity.parameter.provider_name.as_ref().map(|name| format!(" --provider-name {name}")));
    command
}

/// A path as an argument of a shell.
fn quoted_for_shell(path: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+@:".contains(character);
    if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// Members in groups of a first letter, which a browser lays out when they are scrolled to: thousands at once would take longer
/// than anything else of the page.
fn by_letter<'m>(listed: &[Listed<'m>]) -> Vec<(char, Vec<Listed<'m>>)> {
    let mut letters: Vec<(char, Vec<Listed<'_>>)> = Vec::new();
    for &(member, digest) in listed {
        let name = member.name();
        let name =
            if member.kind == PageKind::DataSource { name.strip_prefix("get").unwrap_or(name) } else { name };
        let letter = name.chars().next().map_or('#', |first| first.to_ascii_uppercase());
        match letters.last_mut() {
            Some((last, group)) if *last == letter => group.push((member, digest)),
            _ => letters.push((letter, vec![(member, digest)])),
        }
    }
    letters
}

fn anchor(kind: PageKind) -> String {
    kind.plural().to_lowercase().replace(' ', "-")
}
