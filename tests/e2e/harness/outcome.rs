//! What a command has done, from the engine's own records: its events, and its calls to the plugin.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use serde_json::Value;

/// How much of a call a report shows; package schemas and keys would drown the rest.
const CALL_WIDTH: usize = 1200;

/// How many lines of the log a report shows. Providers tell at length which of their functions they call.
const LOG_LINES: usize = 60;

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// As it was typed.
    pub(crate) command: String,
    /// Nothing if it did not end by itself.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The engine's events, one object each, with the name of the kind as key.
    pub(crate) events: Vec<Value>,
    /// Where the engine has put down its calls.
    pub(crate) calls: PathBuf,
}

/// One call of the engine to the plugin.
#[derive(Debug)]
pub(crate) struct Call {
    /// The last part of the method's name.
    pub(crate) method: String,
    pub(crate) request: Value,
    /// The answer, unless the call failed or goes on.
    pub(crate) response: Option<Value>,
    pub(crate) errors: Option<Value>,
}

impl Outcome {
    /// The outcome, of a command that has to have succeeded.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert!(self.status.is_some_and(|status| status.success()), "it failed\n{self}");
        self
    }

    /// The outcome, of a command that has to have failed by itself.
    #[track_caller]
    pub(crate) fn failed(self) -> Self {
        assert!(self.status.is_some_and(|status| !status.success()), "it did not fail\n{self}");
        self
    }

    /// The outcome, of a command that has to have shown `text`.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        let shown = self.stdout.contains(text) || self.stderr.contains(text);
        assert!(shown, "it does not say {text:?}\n{self}");
        self
    }

    /// The steps that the engine took for the resource called `name`, in the words of the engine: `create`, `update`, `same`,
    /// and for a replacement `create-replacement`, `replace`, `delete-replaced`.
    pub(crate) fn steps(&self, name: &str) -> Vec<&str> {
        self.of_kind("resourcePreEvent")
            .map(|event| &event["metadata"])
            .filter(|step| step["urn"].as_str().is_some_and(|urn| urn.rsplit("::").next() == Some(name)))
            .filter_map(|step| step["op"].as_str())
            .collect()
    }

    /// How many resources were created, updated and so on; without those that stayed as they were.
    pub(crate) fn changes(&self) -> BTreeMap<&str, u64> {
        let summaries =
            self.of_kind("summaryEvent").filter_map(|summary| summary["resourceChanges"].as_object());
        let counts =
            summaries.flatten().filter_map(|(operation, count)| Some((operation.as_str(), count.as_u64()?)));
        counts.filter(|(operation, _)| *operation != "same").collect()
    }

    /// The outcome, of a command after which everything has to be as it was.
    #[track_caller]
    pub(crate) fn changed_nothing(self) -> Self {
        assert!(self.changes().is_empty(), "there were changes: {:?}\n{self}", self.changes());
        self
    }

    /// The engine's calls of one method of the plugin that it got an answer to, in the order of the answers.
    pub(crate) fn calls(&self, method: &str) -> Vec<Call> {
        let ended = |call: &Call| call.response.is_some() || call.errors.is_some();
        calls_in(&self.calls).into_iter().filter(|call| call.method == method && ended(call)).collect()
    }

    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter_map(move |event| event.get(kind))
    }
}

/// The report of a failure: both outputs, what the plugin has logged through the engine, and what was asked and answered.
impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "---- {}", self.command)?;
        match self.status {
            Some(status) => writeln!(formatter, "ended with {status}")?,
            None => writeln!(formatter, "had to be killed because it did not end")?,
        }
        writeln!(formatter, "---- standard output\n{}", self.stdout)?;
        writeln!(formatter, "---- standard error\n{}", self.stderr)?;
        let log: Vec<&Value> = self.of_kind("diagnosticEvent").collect();
        let left_out = log.len().saturating_sub(LOG_LINES);
        writeln!(
            formatter,
            "---- log of the engine and the plugin (the last lines; {left_out} before them)"
        )?;
        for line in &log[left_out..] {
            let text = |key: &str| line[key].as_str().unwrap_or_default().trim_end().to_owned();
            writeln!(formatter, "{} {}{}", text("urn"), text("prefix"), text("message"))?;
        }
        writeln!(formatter, "---- calls to the plugin")?;
        for call in calls_in(&self.calls) {
            let answer = match (&call.errors, &call.response) {
                (Some(errors), _) => format!("error {errors}"),
                (None, Some(response)) => response.to_string(),
                (None, None) => continue,
            };
            writeln!(
                formatter,
                "{} {}\n    -> {}",
                call.method,
                cut(&call.request.to_string()),
                cut(&answer)
            )?;
        }
        write!(formatter, "----")
    }
}

/// The calls to resource plugins in the engine's record `file`: each twice, when it began and when it ended.
fn calls_in(file: &Path) -> Vec<Call> {
    // A command that fails early has called nobody.
    let text = std::fs::read_to_string(file).unwrap_or_default();
    // The last line may be half written while the engine runs.
    text.lines().filter_map(|line| call(serde_json::from_str(line).ok()?)).collect()
}

fn call(mut line: Value) -> Option<Call> {
    let method = line["method"].as_str()?.strip_prefix("/pulumirpc.ResourceProvider/")?.to_owned();
    let ended = line["progress"] == "response_completed";
    let mut take = |key: &str| line.get_mut(key).map(Value::take);
    let errors = take("errors");
    // An empty answer is left out of the record.
    let response = (ended && errors.is_none()).then(|| take("response").unwrap_or_default());
    Some(Call { method, request: take("request").unwrap_or_default(), response, errors })
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(CALL_WIDTH) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}
