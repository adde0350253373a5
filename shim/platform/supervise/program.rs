//! Programs to start, and how their guardian is to treat them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::system;

/// Kills a program when this process cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guardian(pub(super) GuardianKind);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum GuardianKind {
    /// A thread of this process.
    #[default]
    Thread,
    /// A process of this executable.
    Process(PathBuf),
}

impl Guardian {
    /// A process of this program's executable, whose `main` must begin with
    /// [`guardian_role`](super::guardian_role).
    pub fn own_executable() -> Self {
        Self(GuardianKind::Process(system::own_executable()))
    }

    /// A process of this executable, whose `main` must begin with
    /// [`guardian_role`](super::guardian_role).
    pub fn from_executable(executable: PathBuf) -> Self {
        Self(GuardianKind::Process(executable))
    }

    /// A thread of this process, for programs whose executable does not have the role.
    pub fn thread() -> Self {
        Self(GuardianKind::Thread)
    }
}

/// What to do with processes in other sessions (`setsid`) after the provider's exit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherSessions {
    /// Leave them running and report them, as Terraform does: `setsid` detaches a process on
    /// purpose.
    #[default]
    Leave,
    /// Kill them. Only a guardian process can.
    Kill,
}

/// A program to start.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its file; not searched in `PATH`.
    pub executable: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Complete; nothing is inherited.
    pub environment: BTreeMap<OsString, OsString>,
    /// Its working directory; ours by default.
    pub working_directory: Option<PathBuf>,
    /// What to do with processes that outlive it in other sessions.
    pub other_sessions: OtherSessions,
}

/// A process of a program in another session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherSession {
    /// Its id.
    pub process: u32,
    /// Its name, which it chooses.
    pub command: String,
    /// Whether the guardian killed it; otherwise it runs on.
    pub killed: bool,
}

/// Why a program was not started.
#[derive(Debug)]
pub enum SpawnError {
    /// The guardian failed to start.
    Guardian(io::Error),
    /// The system failed to start the program.
    Program(io::Error),
}
