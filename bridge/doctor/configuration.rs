//! The CLI configuration of Terraform or OpenTofu, the lock file, and the cache, as installations use them.

use std::path::PathBuf;

use isthmus_install::{CliConfig, Installer, MirrorError, unread_mirrors};

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::settings;
use isthmus_session::daemon::Installation;
use isthmus_session::error_code::of_configuration;

#[derive(Debug)]
pub(super) struct Facts {
    /// The files that were read.
    files: Vec<PathBuf>,
    warnings: Vec<String>,
    /// Filesystem mirrors that installations would fail to read.
    mirrors: Vec<MirrorError>,
    /// The installer, or why there is none.
    pub(super) installer: Result<Installer, (ErrorCode, String)>,
    /// The lock file of the settings, if it does not exist.
    missing_lock: Option<PathBuf>,
}

/// Blocks on the file system.
pub(super) fn gather(world: &World) -> Facts {
    // An invalid one is a fault of the installer.
    let config = CliConfig::load(world.environment()).unwrap_or_default();
    let (files, mirrors) = (config.files().to_vec(), unread_mirrors(&config));
    let Installation { installer, warnings } = Installation::configured(&world.context);
    let installer =
        installer.map_err(|error| (of_configuration(&error), isthmus_common::error_chain(&error)));
    let lock = world.settings().lock_file.as_deref().map(|path| world.context.resolve(path));
    let missing_lock = lock.filter(|path| matches!(path.try_exists(), Ok(false)));
    Facts { files, warnings, mirrors, installer, missing_lock }
}

pub(super) fn judge(facts: &Facts) -> Judgement {
    let Facts { files, warnings, mirrors, installer, missing_lock } = facts;
    let invalid = installer.as_ref().err().map(|(code, text)| Finding::fault(*code, text));
    let missing = missing_lock.iter().map(|path| {
        let text =
            format!("{} names the file {}, which does not exist", settings::LOCK_FILE.name, path.display());
        Finding::fault(ErrorCode::LockFileMismatch, &text)
            .advising("name another file, or lock the project's providers")
    });
    let mirrors = mirrors.iter().map(|error| {
        let finding = Finding::fault(ErrorCode::NoInstallationMethod, &isthmus_common::error_chain(error));
        match error.help() {
            Some(help) => finding.advising(help),
            None => finding,
        }
    });
    let warnings = warnings.iter().map(|text| {
        let help = "correct the file or the variable that the text names";
        Finding::warning(ErrorCode::InvalidCliConfiguration, text).advising(help)
    });
    let shown: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let summary = if shown.is_empty() { "no file".to_owned() } else { shown.join(", ") };
    Judgement::new(summary, invalid.into_iter().chain(mirrors).chain(missing).chain(warnings).collect())
}
