//! The file that is being decoded, and the resulting configuration.

use std::path::Path;

use crate::cli_config::{CliConfig, ConfigWarning};
use crate::hcl1::{Body, Position};
use isthmus_common::Environment;

pub(super) struct Reader<'a> {
    pub(super) file: &'a Path,
    pub(super) environment: &'a Environment,
    pub(super) config: &'a mut CliConfig,
}

impl Reader<'_> {
    pub(super) fn warn_of_others(&mut self, body: &Body, known: &[&str]) {
        for name in body.others(known) {
            self.warn(name.position, "this name is unknown and ignored");
        }
    }

    pub(super) fn warn(&mut self, position: Position, text: &str) {
        let file = Some(self.file.to_owned());
        self.config.warnings.push(ConfigWarning { file, position: Some(position), text: text.to_owned() });
    }
}
