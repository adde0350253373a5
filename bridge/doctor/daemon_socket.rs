//! The socket of the shared daemon that plugins pass their calls on to.

use std::os::unix::fs::FileTypeExt as _;
use std::path::PathBuf;

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::settings::DaemonChoice;
use isthmus_services::attach::DaemonSocket;
use isthmus_services::attach::of_socket;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Facts {
    /// No daemon is used.
    Off,
    /// There is no socket where plugins look by themselves.
    None,
    /// Daemons at addresses, which are not examined.
    Addresses(usize),
    /// A daemon listens there.
    Listening(PathBuf),
    /// The socket is not used, for this reason.
    Refused(PathBuf, ErrorCode, String),
    /// No daemon listens on the socket where plugins look by themselves.
    LeftOver(PathBuf, String),
}

pub(super) async fn gather(world: &World) -> Facts {
    let path = match &world.settings().daemon {
        DaemonChoice::Off => return Facts::Off,
        DaemonChoice::Addresses(addresses) => return Facts::Addresses(addresses.len()),
        DaemonChoice::Socket(path) => world.context.resolve(path),
        DaemonChoice::WellKnown => {
            let path = DaemonSocket::well_known(&world.context);
            let is_socket = |path: &PathBuf| path.metadata().is_ok_and(|it| it.file_type().is_socket());
            match path.filter(is_socket) {
                Some(path) => path,
                None => return Facts::None,
            }
        }
    };
    let is_named = world.settings().daemon != DaemonChoice::WellKnown;
    match DaemonSocket::connect(&path).await {
        Ok(_) => Facts::Listening(path),
        Err(error) => match (of_socket(&error), isthmus_common::error_chain(&error)) {
            (ErrorCode::NoDaemon, text) if !is_named => Facts::LeftOver(path, text),
            (code, text) => Facts::Refused(path, code, text),
        },
    }
}

pub(super) fn judge(facts: &Facts) -> Judgement {
    match facts {
        Facts::Off => Judgement::new("off", Vec::new()),
        Facts::None => Judgement::new("none: each plugin serves its engine itself", Vec::new()),
        Facts::Addresses(count) => {
            Judgement::skipped(format!("{count} at addresses, which are not examined"))
        }
        Facts::Listening(path) => Judgement::new(format!("listens on {}", path.display()), Vec::new()),
        Facts::Refused(path, code, text) => {
            Judgement::new(path.display().to_string(), vec![Finding::fault(*code, text)])
        }
        Facts::LeftOver(path, text) => {
            let path = path.display().to_string();
            let help = format!(
                "start a daemon: `isthmus daemon`, which replaces it; or remove {path}, if no daemon is meant"
            );
            Judgement::new(path, vec![Finding::fault(ErrorCode::NoDaemon, text).advising(help)])
        }
    }
}
