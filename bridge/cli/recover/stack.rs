//! The objects that a stack has, by its export: evidence that the engine knows them.

use std::collections::BTreeSet;
use std::path::Path;

use isthmus_state::OpenIntent;
use serde::Deserialize;

use super::error::RecoverError;
use super::open::is_importable;
use crate::cli::state::read_file;
use isthmus_operations::resource::mark;
use isthmus_package::urn::Urn;

/// An export of a stack, as far as it is needed.
#[derive(Deserialize)]
struct Export {
    deployment: Deployment,
}

#[derive(Deserialize)]
struct Deployment {
    #[serde(default)]
    resources: Option<Vec<Resource>>,
}

#[derive(Deserialize)]
struct Resource {
    urn: String,
    #[serde(default)]
    id: String,
}

/// The URNs and ids of a stack's resources.
pub(super) struct KnownObjects(BTreeSet<(String, String)>);

impl KnownObjects {
    /// Reads a file that `pulumi stack export` has written; `-` is standard input.
    pub(super) fn read(file: &Path) -> Result<Self, RecoverError> {
        let bytes = read_file(file)?;
        let export: Export = serde_json::from_slice(&bytes)
            .map_err(|error| RecoverError::Export { file: file.to_owned(), error })?;
        let resources = export.deployment.resources.unwrap_or_default().into_iter();
        Ok(Self(resources.map(|Resource { urn, id }| (id, urn)).collect()))
    }

    /// Whether the stack has the object that an operation has created, by the rules of a call that mentions it: under its URN, or,
    /// where its run has ended in order, under any of its project and type.
    pub(super) fn have(&self, open: &OpenIntent) -> bool {
        let (own, id) = (Urn(&open.intent.subject), &open.intent.key.id);
        let is_own = |urn: &str| {
            let other = Urn(urn);
            urn == own.0
                || open.marks.has(mark::ENDED)
                    && other.resource_type() == own.resource_type()
                    && other.project() == own.project()
        };
        let mut of_id = self.0.range((id.clone(), String::new())..).take_while(|(other, _)| other == id);
        is_importable(open) && of_id.any(|(_, urn)| is_own(urn))
    }
}
