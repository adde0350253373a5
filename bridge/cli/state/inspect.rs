//! `isthmus state inspect`: shows the state or the plan of a stack, which Terraform writes as records that no other tool
//! reads.
//!
//! The whole file is read before anything is printed. Values are printed on one line each, so that output is proportional
//! to the file, whatever is nested in it.

mod content;
mod outline;

use std::path::PathBuf;

use bytes::Bytes;
use clap::Args;
use isthmus_cty::json::Json;
use isthmus_state::stacks::{Kind, SequenceError, SequenceFile, StacksPlan, StacksState};

use super::error::StateError;
use super::read_file;
use crate::cli::json_root::exact_line;
use crate::cli::output::{Outcome, print, warn};
use content::Content;
use outline::Part;

const EXAMPLES: &str = "\
Examples:
  isthmus state inspect stack.plan
  isthmus state inspect - --json < stack.state | jq -r '.components[].address'

The file is a sequence of length-delimited tfstackdata1 records: the state of a stack, or its plan, of any Terraform release. isthmus
checks the whole file, like `isthmus state import`, but shows records that only a newer release knows by key, or by type in a plan.
EXPERIMENTAL: Terraform documents the format as private and may change it.

The type of a planned value is in its provider's schema, and not in the file: isthmus shows the value without it. It shows sets as arrays,
numbers that no double holds exactly as strings, and unknown values as \"(known after apply)\".

isthmus shows values that are sensitive by the file as \"(secret)\", and leaves out private data, unless you pass --secrets. Without a
provider, it does not recognize a value that only the schema marks as sensitive.";

/// Show the records of a stack's state or plan.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Inspect {
    /// Records of a state or a plan (`-`: standard input).
    file: PathBuf,
    /// Show secret values, private data, and preserved and unknown records.
    #[arg(long)]
    secrets: bool,
    /// Write a JSON object, on one line.
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(super) fn run(&self) -> Result<Outcome, StateError> {
        let bytes = Bytes::from(read_file(&self.file)?);
        let kind = SequenceFile::kind_of(&bytes).ok_or_else(|| StateError::NoSequence(self.file.clone()))?;
        let invalid =
            |error: SequenceError| StateError::Sequence { file: self.file.clone(), error: Box::new(error) };
        let shown = shown(&bytes, kind, self.secrets).map_err(invalid)?;
        warn("experimental: Terraform documents the format of stack records as private and may change it");
        print(&if self.json {
            exact_line("state inspect", Json::from(shown))
        } else {
            outline::text(&shown)
        });
        Ok(Outcome::Done)
    }
}

fn shown(bytes: &Bytes, kind: Kind, with_secrets: bool) -> Result<Part, SequenceError> {
    let content = Content { with_secrets };
    Ok(match SequenceFile::read(bytes, kind)? {
        SequenceFile::State(records) => content.state(&StacksState::read_to_show(records)?),
        SequenceFile::Plan(records) => content.plan(&StacksPlan::read(records, None)?),
    })
}

/// Both forms of the output, for the fuzzer.
#[cfg(feature = "fuzzing")]
pub(crate) fn inspected(bytes: &Bytes, with_secrets: bool) -> Option<(String, String)> {
    let shown = shown(bytes, SequenceFile::kind_of(bytes)?, with_secrets).ok()?;
    let text = outline::text(&shown);
    Some((text, Json::from(shown).to_string()))
}
