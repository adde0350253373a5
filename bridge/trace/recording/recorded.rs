//! What a recording has, read for its replay.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use isthmus_cty::json::Json;
use isthmus_provider::plugin::ProtocolVersion;

use super::file::{self, RecordingError};
use super::format::text;
use super::session::{SCHEMAS, SERVICE};

/// A call of a recording.
#[derive(Debug)]
pub struct RecordedCall {
    pub(super) sequence: u64,
    pub(super) service: String,
    pub method: String,
    parent: Option<u64>,
    pub(super) request: Json,
    /// The response or the status.
    pub(super) outcome: Result<Json, Json>,
}

/// A session of a recording.
#[derive(Debug, Default)]
pub struct RecordedSession {
    pub id: String,
    /// The name of the package.
    pub package: String,
    pub parameter: Option<Json>,
    /// Those of both sides, in order.
    pub calls: Vec<Arc<RecordedCall>>,
}

fn number(json: &Json, name: &str) -> Option<u64> {
    match json.member(name) {
        Some(Json::Number(text)) => text.parse().ok(),
        _ => None,
    }
}

impl RecordedCall {
    pub(super) fn read(line: &Json) -> Option<Self> {
        let outcome = match (line.member("response"), line.member("status")) {
            (Some(response), _) => Ok(response.clone()),
            (None, Some(status)) => Err(status.clone()),
            (None, None) => return None,
        };
        Some(Self {
            sequence: number(line, "sequence")?,
            service: text(line, "service"),
            method: text(line, "method"),
            parent: number(line, "parent"),
            request: line.member("request")?.clone(),
            outcome,
        })
    }

    pub fn is_engines(&self) -> bool {
        self.service == SERVICE
    }

    /// The URN or the token that it is about.
    pub(super) fn subject(&self) -> String {
        ["urn", "tok", "token"]
            .iter()
            .map(|name| text(&self.request, name))
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    /// Whether it is made again. Against another provider only what changes nothing is.
    pub fn is_replayed(&self, is_other: bool) -> bool {
        let is_preview = self.request.member("preview") == Some(&Json::Bool(true));
        match self.method.as_str() {
            "Handshake" | "Configure" | "Check" | "Diff" => true,
            // They have placeholders only, which another provider refuses.
            "CheckConfig" | "DiffConfig" => !is_other,
            "Create" | "Update" => is_preview || !is_other,
            "Read" | "Delete" | "Invoke" | "Call" => !is_other,
            _ => false,
        }
    }
}

/// The sessions of a file that have a provider, with their calls in order.
pub fn sessions(path: &Path) -> Result<Vec<RecordedSession>, RecordingError> {
    let mut sessions: Vec<RecordedSession> = Vec::new();
    let mut positions = HashMap::new();
    for (number, line) in file::read(path)?.into_iter().enumerate() {
        let id = text(&line, "session");
        let position = *positions.entry(id.clone()).or_insert_with(|| {
            sessions.push(RecordedSession { id, ..RecordedSession::default() });
            sessions.len() - 1
        });
        let Some(session) = sessions.get_mut(position) else { continue };
        if text(&line, "kind") == "session" {
            session.package = line.member("package").map(|package| text(package, "name")).unwrap_or_default();
            session.parameter = line.member("parameter").cloned();
        } else if let Some(call) = RecordedCall::read(&line) {
            session.calls.push(Arc::new(call));
        } else if text(&line, "kind") == "call" {
            // Behind the header.
            return Err(RecordingError::Line { path: path.to_owned(), line: number + 2 });
        }
    }
    sessions.retain(|session| session.parameter.is_some());
    for session in &mut sessions {
        session.calls.sort_by_key(|call| call.sequence);
    }
    Ok(sessions)
}

/// The calls of engines in a recording, and the sessions that have made them.
pub fn count(path: &Path) -> Result<(usize, usize), RecordingError> {
    let lines = file::read(path)?;
    let calls: Vec<_> = lines.iter().filter(|line| text(line, "service") == SERVICE).collect();
    let sessions: BTreeSet<_> = calls.iter().map(|line| text(line, "session")).collect();
    Ok((calls.len(), sessions.len()))
}

impl RecordedSession {
    /// The protocol of its provider, if that was started.
    pub fn protocol(&self) -> Option<ProtocolVersion> {
        self.calls.iter().find_map(|call| match call.service.as_str() {
            "tfplugin5.Provider" => Some(ProtocolVersion::V5),
            "tfplugin6.Provider" => Some(ProtocolVersion::V6),
            _ => None,
        })
    }

    /// The calls of the provider that belong to one of the engine.
    pub(super) fn children(&self, sequence: u64) -> Vec<Arc<RecordedCall>> {
        let children = self.calls.iter().filter(|call| call.parent == Some(sequence));
        children.filter(|call| !is_about_process(&call.method)).cloned().collect()
    }
}

/// Calls that depend on when a process was started or stopped.
pub(super) fn is_about_process(method: &str) -> bool {
    SCHEMAS.contains(&method) || matches!(method, "StopProvider" | "Stop")
}
