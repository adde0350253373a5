//! The file that is being decoded, and the resulting configuration.

use std::path::Path;

use crate::cli_config::{CliConfig, ConfigWarning};
use crate::hcl::{Body, Position};
use isthmus_common::Environment;

pub(super) struct Reader<'a> {
    pub(super) file: &'a Path,
    pub(super) environment: &'a Environment,
    pub(super) config: &'a mut CliConfig,
}

impl Reader<'_> {
    pub(super) fn warn_of_others(&mut self, body: &Body, known: &[&str]) {
        for name in body.others(known) {
            self.warn(name.position, &unknown(&name.text, known));
        }
    }

    pub(super) fn warn(&mut self, position: Position, text: &str) {
        let file = Some(self.file.to_owned());
        self.config.warnings.push(ConfigWarning { file, position: Some(position), text: text.to_owned() });
    }
}

/// The warning about an unknown name. It has the name only if that may be one of a setting: the file may be another one than the
/// user meant.
fn unknown(name: &str, known: &[&str]) -> String {
    const LONGEST: usize = 50;
    let is_usual = |character: char| character.is_ascii_lowercase() || character == '_';
    if name.len() > LONGEST || !name.chars().all(is_usual) {
        return "this name is unknown and ignored".to_owned();
    }
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(name, known);
    let similar = known.iter().copied().filter(|known| likeness(known) >= 0.7);
    let meant = similar.max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    let meant = meant.map(|meant| format!("; did you mean {meant:?}?")).unwrap_or_default();
    format!("{name:?} is unknown and ignored{meant}")
}
