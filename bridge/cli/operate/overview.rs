//! What runs in a daemon, as text.

use std::collections::HashMap;
use std::time::Duration;

use isthmus_common::counted;
use isthmus_proto::daemon::{OverviewResponse, ProcessOverview, ProviderName, SessionOverview};

use serde_json::json;

use super::super::json_root;
use super::super::table::{bytes, table};
use isthmus_context::timestamp::two_units;

/// The calls of an earlier moment, which rates are counted from.
#[derive(Debug)]
pub(super) struct Before {
    calls: HashMap<u64, u64>,
    elapsed: Duration,
}

impl Before {
    pub(super) fn new(overview: &OverviewResponse, elapsed: Duration) -> Self {
        let calls = overview.sessions.iter().map(|session| (session.number, session.calls)).collect();
        Self { calls, elapsed }
    }

    /// Calls of each second since then.
    fn rate(&self, session: &SessionOverview) -> f64 {
        let before = self.calls.get(&session.number).copied().unwrap_or_default();
        let seconds = self.elapsed.as_secs_f64();
        // Counts of calls are far below what a double holds exactly.
        if seconds > 0.0 { session.calls.saturating_sub(before) as f64 / seconds } else { 0.0 }
    }
}

/// Tables of the processes and sessions; with rates where there was an earlier moment.
pub(super) fn text(overview: &OverviewResponse, before: Option<&Before>) -> String {
    let OverviewResponse { version, uptime_milliseconds, draining, sessions, processes } = overview;
    let in_flight: u64 = sessions.iter().map(|session| session.calls_in_flight).sum();
    let draining = if *draining { ", draining" } else { "" };
    let mut text = format!(
        "isthmus {version}, up for {}{draining}\n{}, {}, {} in flight",
        age(*uptime_milliseconds),
        counted(sessions.len(), "session"),
        counted(processes.len(), "provider process"),
        counted(in_flight, "call"),
    );
    if let Some(before) = before {
        // The sum of nothing is -0.
        let rate = sessions.iter().map(|session| before.rate(session)).sum::<f64>() + 0.0;
        text.push_str(&format!(", {rate:.1} calls/s"));
    }
    text.push_str("\n\n");
    // What is longest comes last, where a terminal cuts it off.
    let head = ["PID", "IDENTITY", "MEMORY", "AGE", "SESSIONS", "IN FLIGHT", "VERSION", "PROVIDER"];
    text.push_str(&table(head, processes.iter().map(process_row)));
    text.push('\n');
    match before {
        Some(before) => {
            let head = ["SESSION", "IDENTITY", "AGE", "CALLS", "CALLS/S", "IN FLIGHT", "VERSION", "PROVIDER"];
            text.push_str(&table(
                head,
                sessions.iter().map(|session| {
                    let [number, identity, age, calls, in_flight, version, provider] = session_row(session);
                    let rate = format!("{:.1}", before.rate(session));
                    [number, identity, age, calls, rate, in_flight, version, provider]
                }),
            ));
        }
        None => {
            let head = ["SESSION", "IDENTITY", "AGE", "CALLS", "IN FLIGHT", "VERSION", "PROVIDER"];
            text.push_str(&table(head, sessions.iter().map(session_row)));
        }
    }
    text
}

/// The same as JSON.
pub(super) fn document(overview: &OverviewResponse) -> String {
    let provider = |provider: Option<&ProviderName>| {
        provider.map(|provider| json!({ "address": provider.address, "version": provider.version }))
    };
    let sessions = overview.sessions.iter().map(|session| {
        json!({
            "number": session.number,
            "identity": session.identity,
            "provider": provider(session.provider.as_ref()),
            "age_milliseconds": session.age_milliseconds,
            "calls": session.calls,
            "calls_in_flight": session.calls_in_flight,
        })
    });
    let processes = overview.processes.iter().map(|process| {
        json!({
            "provider": provider(process.provider.as_ref()),
            "process_id": process.process_id,
            "identity": process.identity,
            "memory_bytes": process.memory_bytes,
            "age_milliseconds": process.age_milliseconds,
            "sessions": process.sessions,
            "calls_in_flight": process.calls_in_flight,
        })
    });
    let members = json!({
        "version": overview.version,
        "uptime_milliseconds": overview.uptime_milliseconds,
        "draining": overview.draining,
        "sessions": sessions.collect::<Vec<_>>(),
        "processes": processes.collect::<Vec<_>>(),
    });
    json_root::document("ps", members)
}

fn process_row(process: &ProcessOverview) -> [String; 8] {
    let [address, version] = name(process.provider.as_ref());
    let id = Some(process.process_id).filter(|id| *id != 0);
    [
        id.map_or_else(|| "-".to_owned(), |id| id.to_string()),
        process.identity.clone(),
        bytes(process.memory_bytes),
        age(process.age_milliseconds),
        process.sessions.to_string(),
        process.calls_in_flight.to_string(),
        version,
        address,
    ]
}

fn session_row(session: &SessionOverview) -> [String; 7] {
    let [address, version] = name(session.provider.as_ref());
    [
        session.number.to_string(),
        session.identity.clone(),
        age(session.age_milliseconds),
        session.calls.to_string(),
        session.calls_in_flight.to_string(),
        version,
        address,
    ]
}

fn name(provider: Option<&ProviderName>) -> [String; 2] {
    let part = |part: fn(&ProviderName) -> &String| {
        provider.map(part).filter(|text| !text.is_empty()).map_or_else(|| "-".to_owned(), String::clone)
    };
    [part(|provider| &provider.address), part(|provider| &provider.version)]
}

fn age(milliseconds: u64) -> String {
    two_units(Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overview(calls: u64) -> OverviewResponse {
        let provider = Some(ProviderName { address: "local/\u{1b}[2Jx".to_owned(), version: String::new() });
        OverviewResponse {
            version: "1.2.3".to_owned(),
            uptime_milliseconds: 125_000,
            draining: false,
            sessions: vec![SessionOverview {
                number: 7,
                identity: "user:1000".to_owned(),
                provider: provider.clone(),
                age_milliseconds: 5_000,
                calls,
                calls_in_flight: 1,
            }],
            processes: vec![ProcessOverview {
                provider,
                process_id: 0,
                identity: "user:1000".to_owned(),
                memory_bytes: 52_000_000,
                age_milliseconds: 4_000,
                sessions: 1,
                calls_in_flight: 1,
            }],
        }
    }

    #[test]
    fn rates_are_those_since_the_earlier_moment() {
        let before = Before::new(&overview(10), Duration::from_secs(2));
        let text = text(&overview(15), Some(&before));
        assert!(
            text.starts_with(
                "isthmus 1.2.3, up for 2 min 5 s\n1 session, 1 provider process, 1 call in flight, "
            ),
            "{text}"
        );
        assert!(text.contains("2.5 calls/s") && text.contains("CALLS/S"), "{text}");
        let nothing = OverviewResponse { sessions: Vec::new(), processes: Vec::new(), ..overview(0) };
        let text = super::text(&nothing, Some(&before));
        assert!(
            text.contains("\n0 sessions, 0 provider processes, 0 calls in flight, 0.0 calls/s\n"),
            "{text}"
        );
    }

    #[test]
    fn a_name_cannot_command_the_terminal() {
        let text = text(&overview(1), None);
        assert!(!text.contains('\u{1b}') && text.contains("\\u{1b}[2Jx"), "{text}");
        assert!(text.contains("52.0 MB"), "{text}");
    }
}
