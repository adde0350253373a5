//! The holder of a lease: a process, so that another one on the same machine can check whether it
//! still runs.
//!
//! A lease expires by itself, but only after a minute, which is too long for a restart after the
//! daemon was killed.

use std::fs;
use std::time::Duration;

/// Time after which the lease of a process expires.
pub(super) const LEASE: Duration = Duration::from_secs(60);

/// A process, as recorded in a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    /// Identifies the boot and the PID namespace.
    machine: String,
    process: u32,
    /// Start time in the kernel's clock: process ids are reused.
    began: String,
    host: String,
}

impl Holder {
    pub(super) fn this() -> Self {
        let process = std::process::id();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self {
            machine: machine(),
            process,
            began: began(process).unwrap_or_default(),
            host: host.trim().to_owned(),
        }
    }

    /// The text in the lease.
    pub(super) fn text(&self) -> String {
        let Self { machine, process, began, host } = self;
        format!("{machine} {process} {began} {host}")
    }

    /// Parses a lease's text; `None`: another version's format.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(4, ' ');
        let mut word = || words.next().map(str::to_owned);
        Some(Self { machine: word()?, process: word()?.parse().ok()?, began: word()?, host: word()? })
    }

    /// A process of this machine that has exited.
    #[cfg(test)]
    pub(super) fn ended() -> Self {
        Self { began: "1".to_owned(), ..Self::this() }
    }

    /// For messages.
    pub(super) fn description(&self) -> String {
        format!("process {} on {}", self.process, self.host)
    }

    /// Whether it has certainly exited; unknown for another machine.
    pub(super) fn has_ended(&self) -> bool {
        !self.machine.is_empty()
            && self.machine == machine()
            && began(self.process).as_deref() != Some(self.began.as_str())
    }
}

/// Empty if the system does not report it.
fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default();
    if boot.is_empty() || space.is_empty() { String::new() } else { format!("{}/{space}", boot.trim()) }
}

/// The 22nd field of `/proc/PID/stat`; the second is a name that may contain anything.
fn began(process: u32) -> Option<String> {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = line.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    // Field 3 is the state: Z if it has exited and was not waited for.
    let state = fields.next()?;
    (state != "Z" && state != "X").then(|| fields.nth(18).map(str::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_says_so_in_a_lease() {
        let this = Holder::this();
        assert!(!this.has_ended(), "{this:?}");
        assert_eq!(Holder::parse(&this.text()), Some(this.clone()));
        assert!(this.description().contains(&std::process::id().to_string()));
    }

    #[test]
    fn a_process_that_has_ended_is_known_and_so_is_one_with_its_number() {
        let mut child = std::process::Command::new("true").spawn().expect("a process");
        let ended = Holder { process: child.id(), began: "1".to_owned(), ..Holder::this() };
        child.wait().expect("its end");
        assert!(ended.has_ended());
        let reused = Holder { began: "1".to_owned(), ..Holder::this() };
        assert!(reused.has_ended());
    }

    #[test]
    fn of_another_machine_nothing_is_certain() {
        let other = Holder { machine: "elsewhere".to_owned(), began: "1".to_owned(), ..Holder::this() };
        assert!(!other.has_ended());
        assert_eq!(Holder::parse("something else"), None);
    }
}
