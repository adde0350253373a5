//! The home directory of isthmus: the state store, its key, the journal and caches.

use std::path::PathBuf;

use isthmus_common::permissions::{PermissionsError, require_trusted};

use super::directory::{Usability, usability};
use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::home;

#[derive(Clone, Debug)]
pub(super) struct Facts {
    directory: PathBuf,
    usability: Usability,
    trusted: Result<(), PermissionsError>,
}

/// `None` if there is no home directory.
pub(super) fn gather(world: &World) -> Option<Facts> {
    let directory = home::directory(world.settings(), world.environment()).ok()?;
    Some(Facts { usability: usability(&directory), trusted: require_trusted(&directory), directory })
}

pub(super) fn judge(facts: Option<&Facts>) -> Judgement {
    let Some(Facts { directory, usability, trusted }) = facts else {
        let text = "no home directory: neither ISTHMUS_HOME nor PULUMI_HOME nor HOME is set";
        return Judgement::new("none", vec![Finding::fault(ErrorCode::NoHomeDirectory, text)]);
    };
    let mut findings = Vec::new();
    if let Some(text) = usability.fault("the home directory", directory) {
        findings.push(Finding::fault(ErrorCode::DirectoryUnusable, &text));
    } else if let Err(error) = trusted {
        findings.push(Finding::fault(ErrorCode::NotTrusted, &error.to_string()));
    }
    let missing = if matches!(usability, Usability::Creatable(_)) { " (created on first use)" } else { "" };
    Judgement::new(format!("{}{missing}", directory.display()), findings)
}
