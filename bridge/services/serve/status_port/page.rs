//! The status page: what runs, as HTML that the browser loads again every two seconds, without a script.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use isthmus_context::timestamp::{timestamp, two_units};
use isthmus_session::daemon::{Inventory, ProcessView, SessionView};
use isthmus_session::observe::{Failure, Observation, ProviderName, outcome};

const STYLE: &str = include_str!("page.css");

/// Seconds after which the page is loaded again.
const RELOAD: u8 = 2;

/// Nothing but the page's own style has an effect in it, whatever a name on it holds.
pub(super) fn content_security_policy() -> HeaderValue {
    static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
        let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE));
        let policy =
            format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; frame-ancestors 'none'");
        policy.parse().expect("a header of printable characters")
    });
    POLICY.clone()
}

pub(super) fn render(observation: &Observation, inventory: &Inventory) -> String {
    let Inventory { sessions, processes } = inventory;
    let memory = processes.iter().map(|process| process.memory).sum();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="refresh" content=(RELOAD);
                title { "isthmus daemon" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "isthmus daemon" }
                    span { "version " (env!("CARGO_PKG_VERSION")) }
                    span { "up for " (two_units(observation.uptime())) }
                    @if observation.is_draining() { strong.draining { "draining" } }
                }
                dl.figures {
                    (figure("sessions", &sessions.len()))
                    (figure("provider processes", &processes.len()))
                    (figure("calls in flight", &observation.in_flight()))
                    (figure("memory of providers", &mebibytes(memory)))
                }
                h2 { "Provider processes" }
                (table(
                    &["provider", "version", "process", "identity", "memory", "age", "sessions", "calls in flight"],
                    processes.iter().map(process_row).collect(),
                ))
                h2 { "Sessions" }
                (table(
                    &["session", "identity", "provider", "version", "age", "calls", "calls in flight"],
                    sessions.iter().map(session_row).collect(),
                ))
                h2 { "Recent errors" }
                (table(
                    &["time", "call", "provider", "status"],
                    observation.failures().iter().map(failure_row).collect(),
                ))
            }
        }
    };
    page.into_string()
}

fn figure(name: &str, value: &impl ToString) -> Markup {
    html! { div { dt { (name) } dd { (value.to_string()) } } }
}

fn table(head: &[&str], rows: Vec<Vec<String>>) -> Markup {
    html! {
        @if rows.is_empty() {
            p.none { "none" }
        } @else {
            table {
                thead { tr { @for name in head { th { (name) } } } }
                // On a narrow screen, each cell is a line that begins with the name of its column.
                tbody { @for row in &rows { tr { @for (name, cell) in head.iter().zip(row) { td data-name=(name) { (cell) } } } } }
            }
        }
    }
}

fn process_row(process: &ProcessView) -> Vec<String> {
    let ProviderName { address, version } = &process.provider;
    vec![
        address.clone(),
        version.clone(),
        process.process_id.map(|id| id.to_string()).unwrap_or_default(),
        process.identity.to_string(),
        mebibytes(process.memory),
        two_units(process.age),
        process.sessions.to_string(),
        process.in_flight.to_string(),
    ]
}

fn session_row(session: &SessionView) -> Vec<String> {
    let provider = session.provider.as_ref();
    vec![
        session.number.to_string(),
        session.identity.to_string(),
        provider.map(|provider| provider.address.clone()).unwrap_or_default(),
        provider.map(|provider| provider.version.clone()).unwrap_or_default(),
        two_units(session.age),
        session.calls.to_string(),
        session.in_flight.to_string(),
    ]
}

fn failure_row(failure: &Failure) -> Vec<String> {
    vec![
        timestamp(failure.at),
        failure.rpc.to_owned(),
        failure.provider.to_string(),
        outcome(failure.code).to_owned(),
    ]
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use isthmus_platform::process::User;

    use std::time::Duration;

    use super::*;
    use isthmus_session::authorization::Identity;

    #[test]
    fn names_of_others_are_text() {
        let observation = Observation::new(None, None);
        let address = r#"local/<script>alert("x")</script>&"#.to_owned();
        let session = SessionView {
            number: 1,
            identity: Identity::User(User::from_id(1000)),
            provider: Some(ProviderName { address, version: String::new() }),
            age: Duration::from_secs(61),
            calls: 5,
            in_flight: 1,
        };
        let page = render(&observation, &Inventory { sessions: vec![session], processes: Vec::new() });
        assert!(page.contains("local/&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;"), "{page}");
        assert!(!page.contains("<script"), "{page}");
        assert!(page.contains("1 min 1 s"), "{page}");
    }
}
