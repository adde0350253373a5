//! `isthmus daemon`: serves the plugins of any number of engines, which pass their calls on.
//!
//! It listens on a socket of its user alone. Beside the socket is a lock file, so that there is one daemon for each socket.
//! It names the socket's device and inode, so that one that a killed daemon has left is distinguished from that of another
//! program.
//!
//! With `--replace`, it takes over the socket and the lock of the daemon that listens (`bridge/services/handover.rs`). Where the service
//! manager passes a socket, that is the manager's: it is neither locked nor removed.

use isthmus_platform::files::{self, DirBuilderExt as _, FileIdentity, set_mode};
use isthmus_platform::local::{self, LONGEST_PATH, ListeningSocket, StdListener, has_no_listener};
use isthmus_platform::process::Signals;
use isthmus_platform::service::{PassedError, passed_socket};
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use isthmus_common::open_lock_file;
use isthmus_common::permissions::{PRIVATE_DIRECTORY, PRIVATE_FILE, PermissionsError, require_trusted};

use super::limits;
use super::output::{fail, inform, warn};
use super::plugin::serve_until_ended;
use super::runtime;
use super::service_manager;
use isthmus_context::settings::Settings;
use isthmus_services::attach::DaemonSocket;
use isthmus_services::handover::{Handover, TakeOverError, take_over};
use isthmus_services::serve::{AccessControl, Listener, StatusPort, StatusPortError};
use isthmus_session::daemon::{self, Pool};
use isthmus_session::engine::EngineLog;
use isthmus_session::observe::{AuditError, AuditLog, Observation, Traces};
use isthmus_session::process_context::{ProcessContext, StartedBy};

/// How the name of a socket in the lock file begins.
const IDENTITY: &[u8] = b"socket of isthmus: ";

/// More than the name of a socket in the lock file has, in bytes.
const LONGEST_IDENTITY: u64 = 128;

const EXAMPLES: &str = "\
Examples:
  isthmus daemon
  isthmus daemon --replace
  ISTHMUS_METRICS=127.0.0.1:9464 isthmus daemon --socket /run/isthmus/daemon.sock

Plugins of the same user find the daemon at its default socket. For another socket, set ISTHMUS_DAEMON for them.";

/// Serve the plugins of any number of engines, which share its providers.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Daemon {
    /// Socket to listen on (default: the one that plugins use without `ISTHMUS_DAEMON`).
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Replace the daemon that listens on the socket, if any. It serves its open sessions to their end; this
    /// one serves new sessions.
    #[arg(long)]
    replace: bool,
}

/// How long a daemon that starts or ends on the same socket is waited for, and how often it is looked for again.
const LOOK: (Duration, Duration) = (Duration::from_secs(10), Duration::from_millis(50));

#[derive(Debug, thiserror::Error)]
enum DaemonError {
    #[error(
        "no directory for the socket\nhelp: choose a path with `--socket`, or set ISTHMUS_HOME to a directory"
    )]
    NoDirectory,
    #[error("the path of the socket, {path}, has {length} bytes, and at most {LONGEST_PATH} are possible\nhelp: choose another \
             one with `--socket`", path = path.display())]
    Long { path: PathBuf, length: usize },
    #[error("the directory of the socket is refused")]
    Directory(#[from] PermissionsError),
    #[error("another daemon listens on {path}", path = .0.display())]
    Taken(PathBuf),
    #[error("{path} is not a daemon's socket, so isthmus leaves it alone\nhelp: remove it, or choose another path with \
             `--socket`", path = .0.display())]
    Occupied(PathBuf),
    #[error("{path} is not a daemon's lock file, so isthmus leaves it alone\nhelp: remove it, or choose another path with \
             `--socket`", path = .0.display())]
    Lock(PathBuf),
    #[error("failed to replace the daemon")]
    Replace(#[from] TakeOverError),
    #[error("the socket of the service manager is refused")]
    Activation(#[from] PassedError),
    #[error(
        "the service manager passes a socket, so `--socket` and `--replace` have no meaning\nhelp: leave them out of the unit"
    )]
    Activated,
    #[error("failed to listen on {path}", path = path.display())]
    Listen {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// A socket that is listened on. The lock on it is held, unless it is the service manager's.
struct Bound {
    socket: ListeningSocket,
    path: PathBuf,
    origin: Origin,
}

enum Origin {
    /// This process, or the service manager.
    New,
    /// A daemon that this replaces, with its process.
    TakenOver(Option<i32>),
}

pub(super) fn run(daemon: &Daemon, settings: &Arc<Settings>) -> ExitCode {
    if let Err(error) = limits::ensure_open_files() {
        return fail(&isthmus_common::error_chain(&error));
    }
    let passed = match passed_socket() {
        Ok(passed) => passed,
        Err(error) => return fail(&isthmus_common::error_chain(&DaemonError::from(error))),
    };
    let context = ProcessContext::own(StartedBy::Other, Arc::clone(settings));
    let chosen = daemon.socket.as_deref().map(|path| context.resolve(path));
    let is_chosen = chosen.is_some() || daemon.replace;
    let path = chosen.or_else(|| DaemonSocket::well_known(&context));
    let replaces = daemon.replace;
    runtime::serve(async move {
        let access_control = match AccessControl::open(&context).await {
            Ok(access_control) => access_control,
            Err(error) => return fail(&isthmus_common::error_chain(&error)),
        };
        let audit = match audit_log(&context) {
            Ok(audit) => audit,
            Err(error) => return fail(&isthmus_common::error_chain(&error)),
        };
        let bound = match (passed, path) {
            (Some(_), _) if is_chosen => Err(DaemonError::Activated),
            (Some(listener), _) => Ok(of_service_manager(listener)),
            (None, None) => Err(DaemonError::NoDirectory),
            (None, Some(path)) if replaces => replace(path).await,
            (None, Some(path)) => bind(path).await,
        };
        match bound.and_then(served_socket) {
            Ok((listener, bound)) => serve(listener, bound, access_control, audit, context).await,
            Err(error) => fail(&isthmus_common::error_chain(&error)),
        }
    })
}

async fn serve(
    listener: local::Listener,
    bound: Bound,
    access_control: AccessControl,
    audit: Option<AuditLog>,
    context: ProcessContext,
) -> ExitCode {
    let Bound { mut socket, path, origin } = bound;
    let pool = Pool::new(context.settings().pool);
    let status_port = match (status_port(context.settings(), &origin).await, &origin) {
        (Ok(status_port), _) => status_port,
        (Err(error), Origin::New) => {
            remove(socket.lock, &path);
            return fail(&isthmus_common::error_chain(&error));
        }
        // The socket has no other listener any more.
        (Err(error), Origin::TakenOver(_)) => {
            warn(&isthmus_common::error_chain(&error));
            None
        }
    };
    let traces = Traces::start(context.environment()).unwrap_or_else(|error| {
        warn(&error.to_string());
        None
    });
    let observation = Observation::new(audit, traces);
    let daemon = daemon::Daemon::shared(EngineLog::start(None), context, pool, Arc::clone(&observation));
    let (signals, mut ending) = (Signals::new(), Signals::new());
    let admission = match (access_control.listen(socket.network.take()).await, &origin) {
        (Ok(admission), _) => admission,
        (Err(error), Origin::New) => {
            remove(socket.lock, &path);
            return fail(&isthmus_common::error_chain(&error));
        }
        // The socket has no other listener any more.
        (Err(error), Origin::TakenOver(_)) => {
            inform(&format!("warning: {}", isthmus_common::error_chain(&error)));
            error.without_network
        }
    };
    let address = admission.address();
    socket.network = admission.listener();
    let handover = Arc::new(Handover::new(socket));
    let listener = Listener::shared(listener, Arc::clone(&handover), admission);
    match origin {
        Origin::New => inform(&format!("listening on {}", path.display())),
        Origin::TakenOver(predecessor) => {
            let predecessor = process(predecessor);
            inform(&format!("listening on {}, in place of {predecessor}", path.display()));
        }
    }
    if let Some(address) = address {
        inform(&format!("listening on {address}"));
    }
    service_manager::ready(matches!(origin, Origin::TakenOver(_)));
    // Calls end, then those that were stopped, then providers.
    let longest_end = daemon.settings().drain_period + 3 * daemon.stop_grace_period();
    let served = serve_until_ended(listener, status_port, &daemon, None, None, signals);
    let reported = async {
        tokio::select! {
            successor = handover.handed_over() => {
                observation.replaced();
                let successor = process(successor.0);
                inform(&format!("replaced by {successor}; this one ends with the last of its sessions"));
            }
            _ = ending.next() => service_manager::stopping(longest_end),
        }
        std::future::pending::<Infallible>().await
    };
    let code = tokio::select! {
        code = served => code,
        never = reported => match never {},
    };
    remove(handover.into_lock().await, &path);
    observation.end().await;
    code
}

/// Removes the socket of a daemon that holds the lock on it. One that stays is removed by the next daemon.
fn remove(lock: Option<File>, path: &Path) {
    if let Some(mut lock) = lock
        && is_named(&mut lock, path)
    {
        drop(std::fs::remove_file(path));
    }
}

fn process(process: Option<i32>) -> String {
    process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"))
}

/// The socket as it is accepted from, beside the one that may be handed over.
fn served_socket(bound: Bound) -> Result<(local::Listener, Bound), DaemonError> {
    match local::serve(&bound.socket.listener) {
        Ok(listener) => Ok((listener, bound)),
        Err(source) => Err(DaemonError::Listen { path: bound.path, source }),
    }
}

fn of_service_manager(listener: StdListener) -> Bound {
    let path = local::path_of(&listener);
    Bound {
        socket: ListeningSocket { listener, lock: None, network: None },
        path: path.unwrap_or_else(|| PathBuf::from("a socket of the service manager")),
        origin: Origin::New,
    }
}

/// Takes over the socket from the daemon that listens on it, or binds it if none does.
async fn replace(path: PathBuf) -> Result<Bound, DaemonError> {
    let began = Instant::now();
    loop {
        if let Some(taken) = take_over(&path).await? {
            return Ok(Bound { socket: taken.socket, path, origin: Origin::TakenOver(taken.predecessor) });
        }
        match bind(path.clone()).await {
            // It begins to listen, or ends.
            Err(DaemonError::Taken(_)) if began.elapsed() < LOOK.0 => tokio::time::sleep(LOOK.1).await,
            bound => return bound,
        }
    }
}

/// The audit log, if the settings name one.
fn audit_log(context: &ProcessContext) -> Result<Option<AuditLog>, AuditError> {
    context.settings().audit_log.as_ref().map(|path| AuditLog::open(&context.resolve(path))).transpose()
}

/// The port for metrics and the status page, if the settings name one. A predecessor closes its own when it is replaced.
async fn status_port(settings: &Settings, origin: &Origin) -> Result<Option<StatusPort>, StatusPortError> {
    let Some(address) = &settings.metrics else { return Ok(None) };
    let patience = match origin {
        Origin::New => Duration::ZERO,
        Origin::TakenOver(_) => LOOK.0,
    };
    let (port, address) = StatusPort::open(address, patience).await?;
    inform(&format!("metrics and status on http://{address}/"));
    Ok(Some(port))
}

async fn bind(path: PathBuf) -> Result<Bound, DaemonError> {
    let length = path.as_os_str().len();
    if length > LONGEST_PATH {
        return Err(DaemonError::Long { path, length });
    }
    let failed = |source| DaemonError::Listen { path: path.clone(), source };
    let directory = path.parent().unwrap_or(Path::new("/"));
    let created = std::fs::DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(directory);
    created.map_err(failed)?;
    require_trusted(directory)?;
    let mut lock_path = path.clone().into_os_string();
    lock_path.push(".lock");
    let mut lock = open_lock_file(Path::new(&lock_path), PRIVATE_FILE).map_err(failed)?;
    if lock.try_lock().is_err() {
        return Err(DaemonError::Taken(path));
    }
    let named = content(&mut lock).map_err(failed)?;
    if !named.is_empty() && !named.starts_with(IDENTITY) {
        return Err(DaemonError::Lock(lock_path.into()));
    }
    match path.symlink_metadata() {
        // Of a daemon that was killed: it would hold the lock.
        Ok(_) if is_named(&mut lock, &path) => {
            // It dies at this moment, and has not closed its socket yet. Or another program's socket has got its inode.
            let began = Instant::now();
            while !has_no_listener(&path) {
                if began.elapsed() > LOOK.0 {
                    return Err(DaemonError::Occupied(path));
                }
                tokio::time::sleep(LOOK.1).await;
            }
            std::fs::remove_file(&path).map_err(failed)?
        }
        Ok(_) => return Err(DaemonError::Occupied(path)),
        Err(_) => {}
    }
    let listener = local::bind(&path).map_err(failed)?;
    name_in(&mut lock, &path).map_err(failed)?;
    // Whoever connects meanwhile is checked all the same.
    set_mode(&path, PRIVATE_FILE).map_err(failed)?;
    let socket = ListeningSocket { listener, lock: Some(lock), network: None };
    Ok(Bound { socket, path, origin: Origin::New })
}

/// The socket's name in the lock file.
fn identity(path: &Path) -> io::Result<Vec<u8>> {
    let FileIdentity { device, inode } = files::identity(path, &path.symlink_metadata()?)?;
    Ok([IDENTITY, format!("device {device}, inode {inode}\n").as_bytes()].concat())
}

/// Whether the lock file names the socket at this path.
fn is_named(lock: &mut File, path: &Path) -> bool {
    let named = content(lock).and_then(|named| Ok(named == identity(path)?));
    local::is_socket(path) && !path.is_symlink() && matches!(named, Ok(true))
}

/// What is in the lock file, as far as it may name a socket.
fn content(lock: &mut File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    lock.rewind()?;
    lock.take(LONGEST_IDENTITY).read_to_end(&mut content)?;
    Ok(content)
}

fn name_in(lock: &mut File, bound: &Path) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    lock.write_all(&identity(bound)?)
}
