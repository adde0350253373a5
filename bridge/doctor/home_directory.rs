//! The home directory of isthmus: the state store, its key, the journal and caches.

use isthmus_common::permissions::require_trusted;

use super::directory::{Usability, usability};
use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::home;

/// Blocks on the file system.
pub(super) fn examine(world: &World) -> Judgement {
    let Ok(directory) = home::directory(world.settings(), world.environment()) else {
        let text = "no home directory: neither ISTHMUS_HOME nor PULUMI_HOME nor HOME is set";
        return Judgement::new("none", vec![Finding::fault(ErrorCode::NoHomeDirectory, text)]);
    };
    let usability = usability(&directory);
    let finding = match (usability.fault("the home directory", &directory), require_trusted(&directory)) {
        (Some(text), _) => Some(Finding::fault(ErrorCode::DirectoryUnusable, &text)),
        (None, Err(error)) => Some(Finding::fault(ErrorCode::NotTrusted, &error.to_string())),
        (None, Ok(())) => None,
    };
    let missing = if matches!(usability, Usability::Creatable(_)) { " (created on first use)" } else { "" };
    Judgement::new(format!("{}{missing}", directory.display()), finding.into_iter().collect())
}
