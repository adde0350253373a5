//! A plugin's process: isthmus as an engine starts it, but with connections in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::Environment;
use isthmus_context::settings::Settings;
use isthmus_grpc::Stream;
use isthmus_operations::resource::OperationJournal;
use isthmus_package::releases::PLUGIN_VERSION;
use isthmus_provider::plugin::ProtocolVersion;
use isthmus_provider::plugin::simulation::{Launcher, SimulatedProcess};
use isthmus_services::serve::Listener;
use isthmus_session::daemon::{Daemon, Sessions};
use isthmus_session::engine::{Engine, EngineLog, OfferedConnections};
use isthmus_session::process_context::{ProcessContext, StartedBy};
use isthmus_state::OpenIntents;
use isthmus_state::simulation::Reach;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cloud::{Cloud, provide};
use crate::network;
use crate::system::{self, Death, Machine};
use crate::world::{self, Shared};

/// Where a plugin runs, and with which settings.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    pub(crate) durable: bool,
    /// Operations are in the database of a server.
    pub(crate) served: bool,
}

impl Place {
    fn environment(&self) -> Environment {
        let directory = &self.directory;
        let environment = Environment::default()
            .with("ISTHMUS_HOME", directory.join("home"))
            .with("ISTHMUS_DAEMON", "off")
            .with("ISTHMUS_STOP_GRACE_PERIOD", "1")
            .with("HOME", directory)
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
    let daemon = Daemon::with_context(log, context);
    let sessions = Sessions::new(daemon);
    let listener = Listener::simulated(connections);
    listener.serve(Arc::clone(&sessions), None, stopped.cancelled()).await;
    sessions.finish().await;
}

/// What `isthmus recover list --all` knows.
pub(crate) async fn recover(place: Place, found: Shared<Option<Result<OpenIntents, String>>>) {
    let settings = place.settings();
    let store = isthmus_context::home::state_store(&settings).map(Arc::new);
    let open = async {
        let journal = OperationJournal::configured(&settings, &store).map_err(|error| error.to_string())?;
        journal.open_intents().await.map_err(|error| isthmus_common::error_chain(&error))
    };
    let open = open.await;
    found.with(|found| *found = Some(open));
}

/// Starts providers as parties of the world. `death` is that of the next one.
pub(crate) fn launcher(
    cloud: Shared<Cloud>,
    death: Shared<Option<Death>>,
    started: Shared<Vec<u64>>,
) -> Launcher {
    Arc::new(move |_| {
        let (sender, connections) = mpsc::unbounded_channel();
        let machine = Machine { dies_at: death.with(Option::take), ..Machine::NEW };
        let party = world::start("provider", machine, provide(connections, cloud.clone()));
        started.with(|started| started.push(party.id));
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

/// Whether the database's server can be reached.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    /// Not before this moment.
    pub(crate) stopped_until: Duration,
}

/// How long isthmus waits for a server.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reaches the server: after a moment, or not within [`PATIENCE`].
pub(crate) fn reach(server: Shared<Server>) -> Reach {
    Arc::new(move |_| {
        let server = server.clone();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let stopped = server.with(|server| server.stopped_until.saturating_sub(system::now()));
            tokio::time::sleep(stopped.min(PATIENCE)).await;
            if stopped > PATIENCE { Err("the server is stopped".to_owned()) } else { Ok(()) }
        })
    })
}

/// Makes what a plugin finds at its place.
pub(crate) fn furnish(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let provider = directory.join("terraform-provider-sim");
    std::fs::write(&provider, "#!/bin/sh\n")?;
    std::fs::set_permissions(&provider, std::fs::Permissions::from_mode(0o755))
}
