//! Reading of a lock file. OpenTofu requires the canonical form, so that files differ only if their
//! meaning does; so it is required here.

use std::collections::BTreeMap;
use std::path::Path;

use semver::Version;

use super::{LockFault, LockFileError, ProviderLock};
use crate::hcl::{self, Body, Content as Found, Item, Position, Value};
use crate::{PackageHash, ProviderAddress, VersionConstraint};

/// The host and namespace of built-in providers.
const BUILT_IN: (&str, &str) = ("terraform.io", "builtin");

type Located<T> = Result<T, (Position, LockFault)>;

/// The contents of a file.
#[derive(Default)]
pub(super) struct Content {
    /// The comments at the head, if any.
    pub(super) header: Option<String>,
    pub(super) providers: BTreeMap<ProviderAddress, ProviderLock>,
    pub(super) warnings: Vec<String>,
}

pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Content, LockFileError> {
    // OpenTofu takes one here, though not in a CLI configuration.
    let bytes = bytes.strip_prefix(hcl::BYTE_ORDER_MARK.as_bytes()).unwrap_or(bytes);
    let body = hcl::parse(bytes).map_err(|error| LockFileError::Syntax { path: path.to_owned(), error })?;
    // The file was parsed, so it is UTF-8.
    let header = header(std::str::from_utf8(bytes).unwrap_or_default());
    let mut content = Content { header: Some(header).filter(|text| !text.is_empty()), ..Content::default() };
    providers(&body, &mut content).map_err(|(position, fault)| LockFileError::Content {
        path: path.to_owned(),
        position,
        fault: Box::new(fault),
    })?;
    Ok(content)
}

/// The comments at the head.
fn header(text: &str) -> String {
    let comments = text.lines().take_while(|line| line.starts_with('#'));
    // A carriage return that ends the file without a line feed would be one more each time.
    comments.map(|line| format!("{}\n", line.trim_end_matches('\r'))).collect()
}

fn providers(body: &Body, lock: &mut Content) -> Located<()> {
    let mut places = BTreeMap::new();
    for item in &body.items {
        let position = item.name.position;
        match item.name.text.as_str() {
            "provider" => {}
            "module" => {
                lock.warnings.push(format!("{position}: modules are not locked here; this has no effect"));
                continue;
            }
            _ => return Err((position, LockFault::Unknown)),
        }
        let (address, provider) = provider(item)?;
        if let Some(first) = places.insert(address.clone(), position) {
            return Err((position, LockFault::Twice { first }));
        }
        lock.providers.insert(address, provider);
    }
    Ok(())
}

fn provider(item: &Item) -> Located<(ProviderAddress, ProviderLock)> {
    let ([label], Found::Body(body), false) = (item.labels.as_slice(), &item.value.content, item.is_assigned)
    else {
        return Err((item.name.position, LockFault::Form));
    };
    let address =
        ProviderAddress::parse_normalised(&label.text).ok_or((label.position, LockFault::Address))?;
    if (address.host(), address.namespace()) == BUILT_IN {
        return Err((label.position, LockFault::BuiltIn));
    }
    let known = ["version", "constraints", "hashes"];
    if let Some(other) = body.items.iter().find(|item| !known.contains(&item.name.text.as_str())) {
        return Err((other.name.position, LockFault::Unknown));
    }
    let argument = |name: &str| body.items.iter().find(|item| item.name.text == name).map(|item| &item.value);
    let version = argument("version").ok_or((item.name.position, LockFault::NoVersion))?;
    let version = read_version(version)?;
    let constraint = constraint(argument("constraints"))?;
    let hashes = argument("hashes").map(hashes).transpose()?.unwrap_or_default();
    Ok((address, ProviderLock { version, constraint, hashes: hashes.into_iter().collect() }))
}

fn read_version(value: &Value) -> Located<Version> {
    let given = text("version", value)?;
    let version = Version::parse(given).ok().filter(|version| version.to_string() == given);
    version.ok_or((value.position, LockFault::Version))
}

fn constraint(value: Option<&Value>) -> Located<VersionConstraint> {
    let given = value.map(|value| text("constraints", value)).transpose()?.unwrap_or_default();
    let position = value.map_or(Position::START, |value| value.position);
    let constraint = VersionConstraint::parse(given).map_err(|_| (position, LockFault::Constraint))?;
    if constraint.canonical() != given {
        return Err((position, LockFault::ConstraintForm));
    }
    Ok(constraint)
}

fn hashes(value: &Value) -> Located<Vec<PackageHash>> {
    let Found::List(values) = &value.content else {
        return Err(wrong("hashes", value, "a list of strings"));
    };
    if values.is_empty() {
        return Err((value.position, LockFault::NoHashes));
    }
    let hash = |value| {
        let text = text("hashes", value)?;
        PackageHash::parse(text).map_err(|_| (value.position, LockFault::Hash))
    };
    values.iter().map(hash).collect()
}

fn text<'a>(name: &'static str, value: &'a Value) -> Located<&'a str> {
    match &value.content {
        Found::String(text) if text.contains("${") || text.contains("%{") => {
            Err((value.position, LockFault::Template))
        }
        Found::String(text) => Ok(text),
        _ => Err(wrong(name, value, "a string")),
    }
}

fn wrong(name: &'static str, value: &Value, expected: &'static str) -> (Position, LockFault) {
    (value.position, LockFault::Kind { name, expected, found: value.content.kind() })
}
