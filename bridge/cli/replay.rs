//! `isthmus replay`: makes the calls of a recording again, and shows what differs.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use isthmus_common::{counted, listed, printable, shortened};
use serde_json::json;

use super::json_root::document;
use super::output::{Outcome, USAGE_ERROR, fail, print, warn};
use super::runtime;
use isthmus_context::settings::Settings;
use isthmus_services::replay::{OtherProvider, Replayed, replay};
use isthmus_trace::recording::Difference;

const EXAMPLES: &str = "\
Examples:
  isthmus replay session.jsonl
  isthmus replay session.jsonl --provider hashicorp/random --provider-version 3.8.1
  isthmus replay session.jsonl --provider ./terraform-provider-random --json | jq '.differences[].method'

The exit code is 0 if nothing differs, 1 if something does or the recording cannot be replayed.";

/// Characters of a line that are shown: names and values of recordings have any length.
const LONGEST: usize = 2_000;

/// Replay a recording and show the differences.
///
/// isthmus repeats the engine's calls, and answers with the recorded responses of the provider. With
/// `--provider`, it calls another provider or version: for configuration, checks, differences and previews.
/// It creates, changes, reads and deletes nothing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Replay {
    /// Recording of `isthmus record` or ISTHMUS_RECORD.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Path of a provider binary, or source address, to call instead.
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,
    /// Version or version constraint of an address, such as '~> 3.8' (default: the newest).
    #[arg(long, value_name = "VERSION", requires = "provider")]
    provider_version: Option<String>,
    /// Write a JSON object: the calls, and their differences.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &Replay, settings: &Arc<Settings>) -> ExitCode {
    let other = command.provider.clone().map(|provider| {
        let version = command.provider_version.clone();
        OtherProvider { provider, version }
    });
    runtime::run(async {
        match replay(&command.file, settings, other.as_ref()).await {
            Ok(replayed) => {
                replayed.warnings.iter().for_each(|warning| warn(warning));
                print(&if command.json { as_json(&replayed) } else { text(&replayed) });
                Outcome::of(replayed.differences.is_empty()).into()
            }
            Err(error) => {
                let code = fail(&isthmus_common::error_chain(&error));
                if error.is_usage_error() { ExitCode::from(USAGE_ERROR) } else { code }
            }
        }
    })
}

fn text(replayed: &Replayed) -> String {
    let mut text = String::new();
    let mut last = None;
    for difference in &replayed.differences {
        let Difference { session, sequence, method, subject, part, lines } = difference;
        // What differs of one call is together.
        if last.replace((session, *sequence)) != Some((session, *sequence)) {
            text.push_str(&format!("{}\n", shown(&format!("{method} {subject}")).trim_end()));
        }
        text.push_str(&format!("  {}\n", shown(part)));
        for line in lines {
            text.push_str(&format!("    {}\n", shown(line)));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let skipped = listed(replayed.skipped.iter().map(|(method, count)| format!("{} {count}", shown(method))));
    let skipped = if skipped.is_empty() { skipped } else { format!("; not replayed: {skipped}") };
    text.push_str(&format!(
        "{} of {} replayed{skipped}\n",
        counted(replayed.calls, "call"),
        counted(replayed.sessions, "session")
    ));
    if replayed.other_sessions > 0 {
        let sessions = counted(replayed.other_sessions, "session");
        text.push_str(&format!("not replayed, because of another provider than --provider: {sessions}\n"));
    }
    text.push_str(&match replayed.differences.len() {
        0 => "Result: the same\n".to_owned(),
        1 => "Result: 1 message differs\n".to_owned(),
        count => format!("Result: {count} messages differ\n"),
    });
    text
}

/// A text of the recording, as a line of a report: `--json` has the whole.
fn shown(text: &str) -> String {
    printable(&shortened(text, LONGEST)).into_owned()
}

fn as_json(replayed: &Replayed) -> String {
    let differences = replayed.differences.iter().map(|difference| {
        json!({
            "session": difference.session,
            "sequence": difference.sequence,
            "method": difference.method,
            "subject": difference.subject,
            "part": difference.part,
            "lines": difference.lines,
        })
    });
    let members = json!({
        "same": replayed.differences.is_empty(),
        "sessions": replayed.sessions,
        "sessions_of_other_providers": replayed.other_sessions,
        "calls": replayed.calls,
        "not_replayed": replayed.skipped,
        "differences": differences.collect::<Vec<_>>(),
    });
    document("replay", members)
}
