//! What a migration leaves behind, each with the reason.

use std::collections::BTreeMap;
use std::process::ExitCode;

use isthmus_common::listed;

use crate::cli::output::warn;
use crate::cli::table::in_one_line;

/// Exit code if something could not be migrated.
const INCOMPLETE: u8 = 3;

/// What was not migrated.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Places, by reason.
    by_reason: BTreeMap<String, Vec<String>>,
}

impl Losses {
    /// Adds a loss at an address, a URN or another place.
    pub(super) fn add(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        self.by_reason.entry(reason.into()).or_default().push(place.into());
    }

    /// Lists all losses on standard error. Of a reason with many places the first are listed.
    pub(super) fn report(&self) {
        for (reason, places) in &self.by_reason {
            let places = listed(places.iter().map(|place| in_one_line(place)));
            warn(&format!("not migrated: {places}: {reason}"));
        }
    }

    pub(super) fn exit_code(&self) -> ExitCode {
        if self.by_reason.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) }
    }
}
