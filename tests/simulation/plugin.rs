//! A plugin's process: isthmus as an engine starts it, but with connections in memory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::{BoxFuture, Environment};
use isthmus_context::settings::Settings;
use isthmus_grpc::Stream;
use isthmus_operations::resource::{OperationJournal, OperationWarnings};
use isthmus_package::releases::PLUGIN_VERSION;
use isthmus_proto::property::Struct;
use isthmus_provider::plugin::ProtocolVersion;
use isthmus_provider::plugin::simulation::{Launcher, SimulatedProcess};
use isthmus_services::config;
use isthmus_services::serve::Listener;
use isthmus_session::daemon::{Daemon, Instance, ProviderSource, Sessions};
use isthmus_session::engine::{Engine, EngineLog, OfferedConnections};
use isthmus_session::process_context::{ProcessContext, StartedBy};
use isthmus_state::simulation::DatabaseServer;
use isthmus_state::{EncryptedStoreError, LazyEncryptedStore, OpenIntents};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cloud::{Cloud, provide};
use crate::network;
use crate::system::{self, Death, Machine};
use crate::world::{self, Shared};

/// The package, and the provider's type.
const PACKAGE: &str = "sim";

/// Where a plugin runs, and with which settings.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    pub(crate) durable: bool,
    /// Operations are in the database of a server.
    pub(crate) served: bool,
    /// The engine is a legacy one.
    pub(crate) legacy: bool,
}

impl Place {
    fn environment(&self) -> Environment {
        let directory = &self.directory;
        let environment = Environment::default()
            .with("ISTHMUS_HOME", directory.join("home"))
            .with("ISTHMUS_DAEMON", "off")
            .with("ISTHMUS_STOP_GRACE_PERIOD", "1")
            .with("HOME", directory)
            .with("PULUMI_HOME", directory.join("pulumi"))
            .with("PULUMI_BACKEND_URL", format!("file://{}", directory.display()));
        let environment = if self.served {
            environment.with("ISTHMUS_STORE", "postgres://simulation/isthmus")
        } else {
            environment
        };
        if self.durable { environment.with("ISTHMUS_DURABILITY", "disk") } else { environment }
    }

    fn settings(&self) -> Arc<Settings> {
        let environment = self.environment();
        let variables = environment.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Arc::new(Settings::parse(variables).expect("the settings of the simulation"))
    }

    /// The provider's file.
    pub(crate) fn provider(&self) -> PathBuf {
        self.directory.join("terraform-provider-sim")
    }
}

/// Runs as a plugin's process, until it is stopped.
pub(crate) async fn serve(
    place: Place,
    connections: mpsc::Receiver<Box<dyn Stream>>,
    engine: OfferedConnections,
    stopped: CancellationToken,
) {
    let settings = place.settings();
    let log = EngineLog::start(Some(Engine::offered(engine)));
    let own = ProcessContext::own(StartedBy::Engine, Arc::clone(&settings));
    let context = own.of_plugin(
        StartedBy::Engine,
        &place.environment(),
        Some(place.directory.clone()),
        settings,
        PLUGIN_VERSION,
        own.identity().clone(),
    );
    let daemon = Daemon::with_context(log.clone(), context);
    if place.legacy && start_legacy(&daemon, place.provider(), &log).await.is_none() {
        return daemon.finish().await;
    }
    let sessions = Sessions::new(daemon);
    let listener = Listener::simulated(connections);
    listener.serve(Arc::clone(&sessions), None, stopped.cancelled()).await;
    sessions.finish().await;
}

/// What precedes the service of the legacy engine: its plugin is of one package. `None`: it ends at once.
async fn start_legacy(daemon: &Arc<Daemon>, provider: PathBuf, log: &EngineLog) -> Option<()> {
    let identity = isthmus_services::lumirpc::identity(PACKAGE, None, &provider);
    let source = ProviderSource::in_file(PACKAGE, provider, daemon.context().environment()).ok()?;
    let instance = Instance::start(identity, source, daemon.context(), log, &mut Vec::new()).await.ok()?;
    daemon.serve_only(Arc::clone(&instance));
    let (none, mut warnings) = (Struct::new(), OperationWarnings::default());
    let configuration = config::Arguments::Properties(&none);
    config::configure(&instance, &instance.provider(), configuration, &mut warnings).await.ok()?;
    daemon.state_store().await.ok()?;
    daemon.report_open_intents(|_| true, log).await;
    Some(())
}

/// What is known beside the engines.
#[derive(Debug)]
pub(crate) struct Known {
    /// What `isthmus recover list --all` shows.
    pub(crate) open: OpenIntents,
    /// The ids of the objects in the state store.
    pub(crate) stored: BTreeSet<String>,
}

/// Finds out what is known.
pub(crate) async fn recover(place: Place, found: Shared<Option<Result<Known, String>>>) {
    let settings = place.settings();
    let store = isthmus_context::home::state_store(&settings).map(Arc::new);
    let known = async {
        if place.legacy {
            let store = store.map_err(|error| error.to_string())?;
            return in_store(&store).await.map_err(|error| isthmus_common::error_chain(&error));
        }
        let journal = OperationJournal::configured(&settings, &store).map_err(|error| error.to_string())?;
        let open = journal.open_intents().await.map_err(|error| isthmus_common::error_chain(&error))?;
        Ok(Known { open, stored: BTreeSet::new() })
    };
    let known = known.await;
    found.with(|found| *found = Some(known));
}

/// What the state store of the legacy engine has.
async fn in_store(store: &LazyEncryptedStore) -> Result<Known, EncryptedStoreError> {
    let Some(store) = store.existing().await? else {
        return Ok(Known { open: OpenIntents::default(), stored: BTreeSet::new() });
    };
    let open = store.journal().open_intents().await?;
    let stored = store.list(None).await?.into_iter().map(|(_, key, _)| key.id).collect();
    Ok(Known { open, stored })
}

/// Starts providers as parties of the world. `death` is that of the next one.
pub(crate) fn launcher(cloud: Shared<Cloud>, death: Shared<Option<Death>>) -> Launcher {
    Arc::new(move |_| {
        let (sender, connections) = mpsc::unbounded_channel();
        let machine = Machine { dies_at: death.with(Option::take), ..Machine::NEW };
        let party = world::start("provider", machine, provide(connections, cloud.clone()));
        SimulatedProcess {
            connect: Arc::new(move || {
                let (ours, theirs) = network::connection();
                let sent = sender.send(theirs);
                Box::pin(async move {
                    match sent {
                        Ok(()) => Ok(Box::new(ours) as Box<dyn Stream>),
                        Err(_) => Err(std::io::ErrorKind::ConnectionRefused.into()),
                    }
                })
            }),
            exit: party.exit,
            kill: party.killed.drop_guard(),
            protocol: ProtocolVersion::V6,
        }
    })
}

/// A database's server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    /// It cannot be reached before this moment.
    pub(crate) stopped_until: Duration,
    /// The parties that could not reach it at once.
    pub(crate) kept_waiting: BTreeSet<u64>,
}

/// How long isthmus waits for a server.
const PATIENCE: Duration = Duration::from_secs(30);

impl DatabaseServer for Shared<Server> {
    /// Reaches it after a moment, or not within [`PATIENCE`].
    fn reached(&self) -> BoxFuture<'static, Result<(), String>> {
        let (server, party) = (self.clone(), world::running());
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let stopped = server.with(|server| {
                let stopped = server.stopped_until.saturating_sub(system::now());
                if !stopped.is_zero() {
                    server.kept_waiting.insert(party);
                }
                stopped
            });
            tokio::time::sleep(stopped.min(PATIENCE)).await;
            if stopped <= PATIENCE { Ok(()) } else { Err("the server is stopped".to_owned()) }
        })
    }

    fn works(&self, work: &mut dyn FnMut()) {
        system::on_another_machine(work);
    }
}

/// Makes what a plugin finds at its place.
pub(crate) fn furnish(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let provider = directory.join("terraform-provider-sim");
    std::fs::write(&provider, "#!/bin/sh\n")?;
    std::fs::set_permissions(&provider, std::fs::Permissions::from_mode(0o755))
}
