//! The socket of the shared daemon that plugins pass their calls on to.

use isthmus_platform::local::is_socket;

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::settings::DaemonChoice;
use isthmus_services::attach::DaemonSocket;
use isthmus_services::attach::of_socket;

pub(super) async fn examine(world: &World) -> Judgement {
    let found = |summary: &str| Judgement::new(summary, Vec::new());
    let path = match &world.settings().daemon {
        DaemonChoice::Off => return found("off"),
        DaemonChoice::Addresses(addresses) => {
            return Judgement::skipped(format!("{} at addresses, which are not examined", addresses.len()));
        }
        DaemonChoice::Socket(path) => world.context.resolve(path),
        DaemonChoice::WellKnown => {
            let path = DaemonSocket::well_known(&world.context);
            match path.filter(|path| is_socket(path)) {
                Some(path) => path,
                None => return found("none: each plugin serves its engine itself"),
            }
        }
    };
    let shown = path.display().to_string();
    let Err(error) = DaemonSocket::connect(&path).await else {
        return found(&format!("listens on {shown}"));
    };
    let mut fault = Finding::fault(of_socket(&error), &isthmus_common::error_chain(&error));
    if fault.code == ErrorCode::NoDaemon && world.settings().daemon == DaemonChoice::WellKnown {
        fault = fault.advising(format!(
            "start a daemon: `isthmus daemon`, which replaces it; or remove {shown}, if no daemon is meant"
        ));
    }
    Judgement::new(shown, vec![fault])
}
