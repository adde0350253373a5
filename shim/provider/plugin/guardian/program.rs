//! Kinds of guardians, and the programs that they start.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Program name of the role.
pub(super) const NAME: &str = "isthmus-guardian";

/// GuardianKind of guardian.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guardian(pub(super) GuardianKind);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum GuardianKind {
    /// A thread of this process.
    #[default]
    Thread,
    /// A process of this executable.
    #[cfg(target_os = "linux")]
    Process(PathBuf),
}

impl Guardian {
    /// A process of this program's executable, whose `main` must begin with
    /// [`guardian_role`](super::guardian_role).
    ///
    /// On systems other than Linux a thread.
    pub fn own_executable() -> Self {
        // Unlike a path, this stays the same file when another version is installed.
        Self::from_executable(PathBuf::from("/proc/self/exe"))
    }

    /// A process of this executable, whose `main` must begin with
    /// [`guardian_role`](super::guardian_role).
    pub fn from_executable(executable: PathBuf) -> Self {
        #[cfg(target_os = "linux")]
        return Self(GuardianKind::Process(executable));
        #[cfg(not(target_os = "linux"))]
        return {
            drop(executable);
            Self(GuardianKind::Thread)
        };
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
pub(in super::super) struct Program {
    pub(in super::super) executable: PathBuf,
    pub(in super::super) args: Vec<OsString>,
    /// Complete; nothing is inherited.
    pub(in super::super) environment: BTreeMap<OsString, OsString>,
    pub(in super::super) working_directory: Option<PathBuf>,
    pub(in super::super) other_sessions: OtherSessions,
}

/// A process of a provider in another session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct OtherSession {
    pub(in super::super) process: u32,
    pub(in super::super) command: String,
    pub(in super::super) killed: bool,
}
