//! The file systems of what isthmus writes: free space, and whether they allow execution.

use std::path::{Path, PathBuf};

use isthmus_platform::files::space;

use super::directory::{Usability, existing, usability};
use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::home;

/// With less, writes fail soon.
const LEAST: u64 = 16 << 20;

/// A provider with its archive.
const COMFORTABLE: u64 = 256 << 20;

/// What a directory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Home,
    Providers,
    Temporary,
}

#[derive(Clone, Debug)]
pub(super) struct DirectorySpace {
    purpose: Purpose,
    directory: PathBuf,
    usability: Usability,
    /// In bytes, for this user; `None` if the system does not tell.
    available: Option<u64>,
    forbids_execution: bool,
}

pub(super) fn gather(world: &World) -> Vec<DirectorySpace> {
    let environment = world.environment();
    let places = [
        (Purpose::Home, home::directory(world.settings(), environment).ok()),
        (Purpose::Providers, home::provider_cache(environment).ok()),
        (Purpose::Temporary, Some(std::env::temp_dir())),
    ];
    places.into_iter().filter_map(|(purpose, directory)| Some(of(purpose, &directory?))).collect()
}

fn of(purpose: Purpose, directory: &Path) -> DirectorySpace {
    let found = space(&existing(directory)).ok();
    DirectorySpace {
        purpose,
        directory: directory.to_owned(),
        usability: usability(directory),
        available: found.map(|found| found.available),
        forbids_execution: found.is_some_and(|found| found.forbids_execution),
    }
}

pub(super) fn judge(facts: &[DirectorySpace]) -> Judgement {
    let findings = facts.iter().flat_map(judge_one).collect();
    let least = facts.iter().filter_map(|facts| facts.available).min();
    let summary = least.map_or_else(
        || "free space is not known".to_owned(),
        |least| format!("at least {} MiB free", least >> 20),
    );
    Judgement::new(summary, findings)
}

fn judge_one(facts: &DirectorySpace) -> Vec<Finding> {
    let DirectorySpace { purpose, directory, usability, available, forbids_execution } = facts;
    let mut findings = Vec::new();
    let name = purpose.name();
    let shown = directory.display();
    match (purpose, usability.fault(name, directory)) {
        // Its own check says so.
        (Purpose::Home, _) => {}
        (_, Some(text)) => {
            let help = format!("set {} to a directory that can be written to", purpose.variable());
            findings.push(Finding::fault(ErrorCode::DirectoryUnusable, &text).advising(help));
        }
        // Nothing creates it.
        (Purpose::Temporary, None) if matches!(usability, Usability::Creatable(_)) => {
            let text = format!("{name} {shown} does not exist");
            let help = format!("create it, or set {} to a directory that exists", purpose.variable());
            findings.push(Finding::fault(ErrorCode::DirectoryUnusable, &text).advising(help));
        }
        (_, None) => {}
    }
    if let Some(available) = available.filter(|available| *available < COMFORTABLE) {
        let text = format!("{} MiB are free for {name}, {shown}", available >> 20);
        let advice = format!(
            "`isthmus providers prune --dry-run` lists what is not needed; or set {} to a directory on another disk",
            purpose.variable()
        );
        if available < LEAST {
            findings.push(Finding::fault(ErrorCode::LittleSpace, &text).advising(advice));
        } else if *purpose == Purpose::Providers {
            findings.push(Finding::warning(ErrorCode::LittleSpace, &text).advising(advice));
        }
    }
    if *purpose == Purpose::Providers && *forbids_execution {
        let text = format!("{name} {shown} is on a file system that does not allow execution (noexec)");
        let help = format!("set {} to a directory on another file system", purpose.variable());
        findings.push(Finding::fault(ErrorCode::NoExecution, &text).advising(help));
    }
    findings
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Home => "the home directory",
            Self::Providers => "the provider cache",
            Self::Temporary => "the temporary directory",
        }
    }

    /// The variable that names another one.
    fn variable(self) -> &'static str {
        match self {
            Self::Home => "ISTHMUS_HOME",
            Self::Providers => "PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR",
            Self::Temporary => isthmus_platform::TEMPORARY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn a_full_disk_is_a_fault_and_one_without_room_for_a_provider_a_warning() {
        let facts = |purpose, available, forbids_execution| DirectorySpace {
            purpose,
            directory: "/x".into(),
            usability: Usability::Usable,
            available: Some(available),
            forbids_execution,
        };
        for (facts, level) in [
            (facts(Purpose::Home, LEAST - 1, false), Some(Level::Fault)),
            (facts(Purpose::Home, LEAST, true), None),
            (facts(Purpose::Providers, COMFORTABLE - 1, false), Some(Level::Warning)),
            (facts(Purpose::Providers, COMFORTABLE, false), None),
            (facts(Purpose::Providers, COMFORTABLE, true), Some(Level::Fault)),
            (facts(Purpose::Temporary, LEAST, true), None),
        ] {
            assert_eq!(judge(std::slice::from_ref(&facts)).level(), level, "{facts:?}");
        }
    }
}
