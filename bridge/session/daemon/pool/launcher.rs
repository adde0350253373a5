//! Launches of processes for the pool, by what sessions must have in common to share one.

use std::sync::Arc;

use isthmus_provider::schema_cache::{LaunchContext, Program};
use isthmus_provider::{Diagnostic, KnownSchema, SchemaUpdate};

use super::{Pool, PoolUse};
use crate::authorization::Identity;
use crate::daemon::calls::Calls;
use crate::daemon::process_log::{ProcessLog, ProcessUser};
use crate::daemon::rpc_log;
use crate::daemon::session_log::SessionLog;
use crate::daemon::start::{ProviderSource, StartError, start_logging};
use crate::engine::Severity;
use crate::process_context::ProcessContext;

/// What processes have in common that any session with the same can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaunchKey {
    pub(super) program: Program,
    context: LaunchContext,
    pub(super) identity: Identity,
    kills_sessions: bool,
}

impl LaunchKey {
    /// `None` if the process must not be shared.
    pub(crate) fn new(context: &ProcessContext, program: &Program) -> Option<Self> {
        let environment = context.environment();
        let is_logged = environment.starting_with("TF_LOG").next().is_some()
            || environment.value(rpc_log::VARIABLE).is_some();
        if is_logged {
            return None;
        }
        Some(Self {
            program: program.clone(),
            context: context.shared_launch_context()?,
            identity: context.identity().clone(),
            kills_sessions: context.settings().kill_sessions,
        })
    }
}

/// How a session launches a process of the pool.
#[derive(Debug)]
pub(crate) struct Launcher {
    pub(crate) pool: Pool,
    pub(crate) context: Arc<ProcessContext>,
    pub(crate) log: Arc<SessionLog>,
    pub(crate) source: ProviderSource,
    pub(crate) calls: Calls,
    pub(crate) key: LaunchKey,
}

impl Launcher {
    /// A process of the pool, which is launched if none runs; and what is new about its schema, compared with `known`.
    pub(crate) async fn process(
        self: &Arc<Self>,
        known: KnownSchema<'_>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(PoolUse, SchemaUpdate), StartError> {
        // Sessions that begin at once wait for the first one's launch.
        let lock = self.pool.0.launches.find_or_build(&self.key, |_| true, Arc::default);
        let _launching = lock.lock().await;
        match self.pool.find(self) {
            Some(used) => Ok((used, SchemaUpdate::AsKnown)),
            None => self.launch(known, warnings).await,
        }
    }

    pub(super) async fn launch(
        self: &Arc<Self>,
        known: KnownSchema<'_>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(PoolUse, SchemaUpdate), StartError> {
        let log = Arc::clone(&self.log);
        let room = self.pool.room(|reason| log.send(Severity::Warning, reason, "")).await;
        let (context, user, log) = (&self.context, self.user(), ProcessLog::default());
        let starting = log.add(user.clone());
        let sink = log.sink(context);
        let (provider, update) =
            start_logging(&self.source, context, sink, user.observer(), known, warnings).await?;
        drop(starting);
        if let Some(observed) = self.calls.observed() {
            observed.started();
        }
        Ok((self.pool.add(self, provider, log, room), update))
    }

    pub(super) fn user(&self) -> ProcessUser {
        let (context, log) = (Arc::clone(&self.context), Arc::clone(&self.log));
        ProcessUser { context, log, calls: self.calls.clone() }
    }
}
