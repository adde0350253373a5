//! Conversion of parts of messages.

use std::collections::BTreeSet;

use isthmus_proto::pulumirpc::check_request::{AutonamingOptions, autonaming_options};
use isthmus_proto::pulumirpc::{CheckFailure, DiffResponse, PropertyDiff, diff_response, property_diff};
use tonic::Status;

use crate::status::RequestError;
use isthmus_operations::resource::{AutonamingMode, Change, ChangeKind, Difference, Display, Failure};
use isthmus_translate::property_path::PropertyPath;

/// Engines send strict versions only.
pub(super) fn strict_version(what: &str, version: &str) -> Result<semver::Version, Status> {
    semver::Version::parse(version).map_err(|error| {
        RequestError::Invalid(format!("{what}: {version:?} is not a version: {error}")).into()
    })
}

pub(super) fn failures(failures: Vec<Failure>) -> Vec<CheckFailure> {
    failures
        .into_iter()
        .map(|failure| {
            let (property, reason) = failure.into_parts();
            CheckFailure { property, reason }
        })
        .collect()
}

/// Parses `ignoreChanges`.
pub(super) fn paths(texts: &[String]) -> Result<Vec<PropertyPath>, Status> {
    texts
        .iter()
        .map(|text| {
            text.parse()
                .map_err(|error| RequestError::Invalid(format!("ignoreChanges: {text:?}: {error}")).into())
        })
        .collect()
}

/// Converts the autonaming options. Unknown modes count as a proposal.
pub(super) fn autonaming_mode(options: Option<&AutonamingOptions>) -> AutonamingMode<'_> {
    use autonaming_options::Mode;
    let Some(options) = options else { return AutonamingMode::Any };
    match options.mode() {
        Mode::Propose => AutonamingMode::Proposed(&options.proposed_name),
        Mode::Enforce => AutonamingMode::Enforced(&options.proposed_name),
        Mode::Disable => AutonamingMode::Disabled,
    }
}

/// A detailed diff.
pub(super) fn difference(difference: Difference) -> DiffResponse {
    let changes = if difference.changes.is_empty() {
        diff_response::DiffChanges::DiffNone
    } else {
        diff_response::DiffChanges::DiffSome
    };
    let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
    DiffResponse {
        replaces: owned(difference.replacing()),
        stables: difference.stables.clone(),
        delete_before_replace: difference.delete_before_replace,
        changes: changes as i32,
        diffs: owned(difference.changed()),
        detailed_diff: difference.detailed().map(|(path, change)| (path.to_string(), kind(change))).collect(),
        has_detailed_diff: difference.is_detailed(),
    }
}

fn kind(change: Change) -> PropertyDiff {
    use property_diff::Kind;
    let kind = match (change.kind, change.replaces) {
        (ChangeKind::Add, false) => Kind::Add,
        (ChangeKind::Add, true) => Kind::AddReplace,
        (ChangeKind::Delete, false) => Kind::Delete,
        (ChangeKind::Delete, true) => Kind::DeleteReplace,
        (ChangeKind::Update, false) => Kind::Update,
        (ChangeKind::Update, true) => Kind::UpdateReplace,
    };
    PropertyDiff { kind: kind as i32, input_diff: change.display == Display::Inputs }
}
