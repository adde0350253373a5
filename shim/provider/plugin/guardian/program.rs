//! What a guardian is, what it starts, and what it finds.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// The name that a process is told its role by.
pub(super) const NAME: &str = "isthmus-guardian";

/// What watches over a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guardian(pub(super) Kind);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// A thread of this process.
    #[default]
    Thread,
    /// A process that runs this executable.
    #[cfg(target_os = "linux")]
    Process(PathBuf),
}

impl Guardian {
    /// A process of its own that runs this program's executable, whose `main` must begin with [`guardian_role`](super::guardian_role).
    ///
    /// Systems other than Linux have a thread instead.
    pub fn own_executable() -> Self {
        // Unlike a path, this stays the same file when another version is installed over it.
        Self::from_executable(PathBuf::from("/proc/self/exe"))
    }

    /// A process of its own that runs this executable, whose `main` must begin with [`guardian_role`](super::guardian_role).
    pub fn from_executable(executable: PathBuf) -> Self {
        #[cfg(target_os = "linux")]
        return Self(Kind::Process(executable));
        #[cfg(not(target_os = "linux"))]
        return {
            drop(executable);
            Self(Kind::Thread)
        };
    }

    /// A thread of this process, for programs whose executable does not take the role of a guardian.
    pub fn thread() -> Self {
        Self(Kind::Thread)
    }
}

/// What becomes of processes that a provider has put into another session (`setsid`), when the provider has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherSessions {
    /// They keep running and are reported: `setsid` is how a process detaches on purpose, and Terraform leaves it alone.
    #[default]
    Leave,
    /// They are killed. Only a guardian that is a process knows them.
    Kill,
}

/// What is to be started.
#[derive(Clone, Debug)]
pub(in super::super) struct Program {
    /// An absolute path.
    pub(in super::super) executable: PathBuf,
    pub(in super::super) args: Vec<OsString>,
    /// All of it; nothing is inherited.
    pub(in super::super) environment: BTreeMap<OsString, OsString>,
    pub(in super::super) working_directory: Option<PathBuf>,
    pub(in super::super) other_sessions: OtherSessions,
}

/// A process that a provider has put into another session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct OtherSession {
    pub(in super::super) process: u32,
    pub(in super::super) command: String,
    pub(in super::super) killed: bool,
}
