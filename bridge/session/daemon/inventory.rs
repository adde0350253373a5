//! The sessions and provider processes of a daemon at some moment, for its operators.

use std::sync::Arc;
use std::time::Duration;

use isthmus_provider::Provider;

use super::Sessions;
use crate::authorization::Identity;
use crate::observe::{Figures, ObservedProvider, ObservedSession, ProviderName};

/// What runs in a daemon.
#[derive(Debug, Default)]
pub struct Inventory {
    pub sessions: Vec<SessionView>,
    pub processes: Vec<ProcessView>,
}

/// An open session.
#[derive(Debug)]
pub struct SessionView {
    pub number: u64,
    /// Whose it is.
    pub identity: Identity,
    /// `None` before it is chosen.
    pub provider: Option<ProviderName>,
    pub age: Duration,
    /// Calls since it was opened.
    pub calls: u64,
    /// Calls in progress.
    pub in_flight: usize,
}

/// A provider process.
#[derive(Debug)]
pub struct ProcessView {
    pub provider: ProviderName,
    /// The label of its metrics.
    label: Arc<str>,
    /// On whose behalf it runs.
    pub identity: Identity,
    pub process_id: Option<u32>,
    /// Resident, with the processes that it has started, in bytes.
    pub memory: u64,
    pub age: Duration,
    /// The sessions that use it.
    pub sessions: usize,
    /// Calls of engines in progress.
    pub in_flight: usize,
}

impl Sessions {
    /// The sessions and processes of a shared daemon.
    pub async fn inventory(&self) -> Inventory {
        let mut found = Vec::new();
        let mut sessions = Vec::new();
        for session in self.all() {
            let Some(observed) = session.observed() else { continue };
            let identity = session.context().identity().clone();
            sessions.push(view_of(session.caller().number(), identity.clone(), observed));
            if let (Some((provider, in_flight)), Some(of)) = (session.own_process(), observed.provider()) {
                found.push((provider, Arc::clone(of), identity, 1, in_flight));
            }
        }
        for process in self.daemon().pool().map(|pool| pool.views()).unwrap_or_default() {
            if let Some(observed) = process.observed {
                found.push((
                    process.provider,
                    observed,
                    process.identity,
                    process.sessions,
                    process.in_flight,
                ));
            }
        }
        sessions.sort_by_key(|session| session.number);
        let measure = move || found.into_iter().filter_map(running).collect();
        let mut processes: Vec<ProcessView> = isthmus_common::blocking(measure).await;
        processes.sort_by_key(|process| std::cmp::Reverse(process.age));
        Inventory { sessions, processes }
    }

    /// What a scrape measures.
    pub async fn figures(&self) -> Figures {
        let processes = self.inventory().await.processes;
        Figures {
            sessions: self.count(),
            waiting: self.daemon().pool().map(|pool| pool.waiting()).unwrap_or_default(),
            unconfirmed: self.daemon().operations().unconfirmed(),
            processes: processes.into_iter().map(|process| (process.label, process.memory)).collect(),
        }
    }
}

fn view_of(number: u64, identity: Identity, observed: &ObservedSession) -> SessionView {
    SessionView {
        number,
        identity,
        provider: observed.provider().map(|provider| provider.name().clone()),
        age: observed.since().elapsed(),
        calls: observed.calls(),
        in_flight: observed.in_flight(),
    }
}

/// A process, unless it has ended. Blocks on the file system.
fn running(
    (provider, observed, identity, sessions, in_flight): (
        Provider,
        Arc<ObservedProvider>,
        Identity,
        usize,
        usize,
    ),
) -> Option<ProcessView> {
    let plugin = provider.plugin();
    if plugin.exit().is_some() {
        return None;
    }
    Some(ProcessView {
        provider: observed.name().clone(),
        label: Arc::clone(observed.label()),
        identity,
        process_id: plugin.process_id(),
        memory: plugin.resident_memory().unwrap_or_default(),
        age: plugin.since().elapsed(),
        sessions,
        in_flight,
    })
}
