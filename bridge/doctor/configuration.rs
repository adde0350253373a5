//! The CLI configuration of Terraform or OpenTofu, the lock file, and the cache, as installations use them.

use isthmus_install::{CliConfig, Installer, unread_mirrors};

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::settings;
use isthmus_session::daemon::Installation;
use isthmus_session::error_code::of_configuration;

/// The judgement, and the installer if there is one. Blocks on the file system.
pub(super) fn examine(world: &World) -> (Judgement, Option<Installer>) {
    // An invalid one is a fault of the installer.
    let config = CliConfig::load(world.environment()).unwrap_or_default();
    let mirrors = unread_mirrors(&config).into_iter().map(|error| {
        let finding = Finding::fault(ErrorCode::NoInstallationMethod, &isthmus_common::error_chain(&error));
        match error.help() {
            Some(help) => finding.advising(help),
            None => finding,
        }
    });
    let Installation { installer, warnings } = Installation::configured(&world.context);
    let invalid = installer
        .as_ref()
        .err()
        .map(|error| Finding::fault(of_configuration(error), &isthmus_common::error_chain(error)));
    let lock = world.settings().lock_file.as_deref().map(|path| world.context.resolve(path));
    let missing = lock.filter(|path| matches!(path.try_exists(), Ok(false))).map(|path| {
        let text =
            format!("{} names the file {}, which does not exist", settings::LOCK_FILE.name, path.display());
        Finding::fault(ErrorCode::LockFileMismatch, &text)
            .advising("name another file, or lock the project's providers")
    });
    let warnings = warnings.iter().map(|text| {
        let help = "correct the file or the variable that the text names";
        Finding::warning(ErrorCode::InvalidCliConfiguration, text).advising(help)
    });
    let files: Vec<String> = config.files().iter().map(|file| file.display().to_string()).collect();
    let summary = if files.is_empty() { "no file".to_owned() } else { files.join(", ") };
    let findings = invalid.into_iter().chain(mirrors).chain(missing).chain(warnings).collect();
    (Judgement::new(summary, findings), installer.ok())
}
