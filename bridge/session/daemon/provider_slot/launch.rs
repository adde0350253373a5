//! The start of a provider's process, and the schema cache before and after it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use isthmus_provider::schema::Catalogue;
use isthmus_provider::schema_cache::{Program, SchemaCache};
use isthmus_provider::{Diagnostic, KnownSchema, Provider, SchemaUpdate};

use super::Remembered;
use crate::daemon::instance::{OwnProcess, ProviderProcess};
use crate::daemon::pool::{LaunchKey, Launcher};
use crate::daemon::start::{Program as ProviderProgram, SessionScope, start_knowing};
use crate::daemon::{Calls, Instance, ProviderSource, StartError};
use crate::engine::{LogLine, Severity};
use isthmus_package::catalogue::Identity;

/// Starts the provider, updates the schema cache, and uses another package if the cached schema is out
/// of date.
pub(super) async fn launch(
    scope: &SessionScope,
    source: &ProviderSource,
    calls: &Calls,
    identity: Identity,
    known: Option<&Remembered>,
) -> Result<Instance, StartError> {
    let inspected = match scope.daemon.schemas.clone().zip(file_of(source)) {
        // Before the start, so that a file that is replaced meanwhile is detected.
        Some((cache, file)) => {
            isthmus_common::spawn_blocking(move || Some((cache, Program::look(&file)?))).await.ok().flatten()
        }
        None => None,
    };
    let mut warnings = Vec::new();
    let program = inspected.as_ref().map(|(_, program)| program);
    let known_schema = match known {
        None => KnownSchema::Nothing,
        // A replay needs the schema.
        Some(known) if scope.context.recording().is_some() => KnownSchema::Earlier(&known.catalogue),
        Some(known) => known.of(program),
    };
    let (process, update) = process(scope, source, calls, program, known_schema, &mut warnings).await?;
    let withheld = scope.context.withheld_from(&identity.provider_type);
    let warnings: Vec<_> = warnings.iter().map(Diagnostic::to_string).chain(withheld).collect();
    scope.log.warn_now(warnings).await;
    let catalogue = Arc::clone(process.provider().catalogue());
    if known.is_some_and(|known| known.catalogue.fingerprint() != catalogue.fingerprint()) {
        let text = format!(
            "the schema of the provider of package {} differs from the cached one: the live schema is used",
            identity.name
        );
        scope.log.send(Severity::Debug, text, "");
    }
    let package = scope.daemon.packages.of(identity, Arc::clone(&catalogue));
    if let Some((cache, program)) = inspected {
        let known = known.filter(|known| known.program == program).map(|known| known.asked);
        if known == Some(process.provider().schema_time()) {
            doubt_on_failure(scope, &cache, &program, process.provider());
        }
        let answer = LiveSchema { asked: process.provider().schema_time(), catalogue, update };
        remember(scope, cache, program, answer, known);
    }
    Ok(Instance::new(package, process, source.clone(), calls.clone(), Arc::clone(scope.context.settings())))
}

/// A process of the session's own, or one of the pool. `program` is the provider's file, if it is one.
pub(super) async fn process(
    scope: &SessionScope,
    source: &ProviderSource,
    calls: &Calls,
    program: Option<&Program>,
    known: KnownSchema<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(ProviderProcess, SchemaUpdate), StartError> {
    let shared = scope.daemon.pool().and_then(|pool| Some((pool, LaunchKey::new(&scope.context, program?)?)));
    match shared {
        Some((pool, key)) => {
            let (context, log) = (Arc::clone(&scope.context), Arc::clone(&scope.log));
            let (pool, source, calls) = (pool.clone(), source.clone(), calls.clone());
            let launcher = Arc::new(Launcher { pool, context, log, source, calls, key });
            let (used, update) = launcher.process(known, warnings).await?;
            Ok((ProviderProcess::Shared(Arc::new(used)), update))
        }
        None => {
            let log = scope.log.to_engine();
            // One that runs already is not of this daemon.
            let pool = scope.daemon.pool().filter(|_| file_of(source).is_some());
            let room = match pool {
                Some(pool) => Some(pool.room(|reason| scope.log.send(Severity::Warning, reason, "")).await),
                None => None,
            };
            let (provider, update) =
                start_knowing(source, &scope.context, log, calls, known, warnings).await?;
            if let Some(observed) = calls.observed() {
                observed.started();
            }
            let own = match pool.zip(room) {
                Some((pool, room)) => pool.own(provider, room),
                None => OwnProcess::placed(provider, None),
            };
            Ok((ProviderProcess::Own(own), update))
        }
    }
}

/// The provider's file; `None` for a provider that runs already.
pub(super) fn file_of(source: &ProviderSource) -> Option<PathBuf> {
    match &source.program {
        ProviderProgram::File(file) => Some(file.clone()),
        ProviderProgram::Running(_) => None,
    }
}

/// A process that was not called for its schema fails perhaps because it has another one. The next process is called.
fn doubt_on_failure(scope: &SessionScope, cache: &SchemaCache, program: &Program, provider: &Provider) {
    let (cache, program, context) = (cache.clone(), program.clone(), Arc::clone(&scope.context));
    let (daemon, known) = (Arc::downgrade(&scope.daemon), provider.catalogue().fingerprint());
    provider.on_failure(move || {
        let doubt = move || {
            if let Some(context) = context.launch_context() {
                // Then it is called a day later.
                let _ = cache.doubt(&program, &context, known);
            }
        };
        if let Some(daemon) = daemon.upgrade() {
            daemon.spawn(async move { isthmus_common::blocking(doubt).await });
        }
    });
}

/// The schema of a process.
struct LiveSchema {
    catalogue: Arc<Catalogue>,
    update: SchemaUpdate,
    /// When a process was called for it.
    asked: SystemTime,
}

/// Caches the live schema in the background; its catalogue is read from the cache from then on. If the
/// same program was `known` since then, a different schema shows that it depends on more than the cache's key.
fn remember(
    scope: &SessionScope,
    cache: SchemaCache,
    program: Program,
    LiveSchema { catalogue, update, asked }: LiveSchema,
    known: Option<SystemTime>,
) {
    let (daemon, log, context) =
        (Arc::clone(&scope.daemon), scope.log.to_engine(), Arc::clone(&scope.context));
    let kept = isthmus_common::spawn_blocking(move || match (update, context.launch_context()) {
        // The time matters for these only.
        (SchemaUpdate::AsKnown, Some(context))
            if catalogue.capabilities().get_provider_schema_optional
                && known.is_some_and(|known| known < asked) =>
        {
            cache.confirm(&program, &context, catalogue.fingerprint())
        }
        (SchemaUpdate::AsKnown, _) => Ok(()),
        (SchemaUpdate::New(_) | SchemaUpdate::Uncacheable, _) if known.is_some() => {
            cache.mark_variable(&program)
        }
        (SchemaUpdate::New(answer), Some(context)) => {
            let kept = cache.keep(&program, &context, &answer);
            cache.serve(&catalogue);
            kept
        }
        (SchemaUpdate::Uncacheable, Some(context)) => {
            cache.forget(&program, &context);
            Ok(())
        }
        // The working directory was removed; it is part of the cache's key.
        (SchemaUpdate::New(_) | SchemaUpdate::Uncacheable, None) => Ok(()),
    });
    Arc::clone(&daemon).spawn(async move {
        if let Ok(Err(error)) = kept.await
            && daemon.should_report_cache_failure()
        {
            let message = format!(
                "schemas are not remembered from one start to the next: {}",
                isthmus_common::error_chain(&error)
            );
            log.send(LogLine { severity: Severity::Debug, message, urn: String::new() });
        }
    });
}
