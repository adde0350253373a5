//! The holder of a lease: a process, so that another one on the same machine can check whether it
//! still runs.
//!
//! A lease expires by itself, but only after a minute, which is too long for a restart after the
//! daemon was killed.

use std::time::Duration;

use isthmus_platform::process::{began, host, is_gone, machine};

use super::store::{Claim, HeldLease};

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
        Self { machine: machine(), process, began: began(process).unwrap_or_default(), host: host() }
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
            && self.is_over(began(self.process).as_deref(), || is_gone(self.process))
    }

    /// Whether it has exited, by the start of the process that has its id now. The system may hide
    /// processes, also of the same user; one that is not found must be gone, too.
    fn is_over(&self, began: Option<&str>, is_gone: impl FnOnce() -> bool) -> bool {
        match began {
            // Without its own start, it may be this one.
            Some(began) => began != self.began && !self.began.is_empty(),
            None => is_gone(),
        }
    }
}

/// Lets a claim take over a lease whose holder has exited, once for each lease. `false`: the lease is held.
pub(super) fn takes_over(claim: &mut Claim, held: &HeldLease) -> bool {
    let is_new = claim.over != Some(held.fence);
    claim.over = Some(held.fence);
    is_new && Holder::parse(&held.holder).is_some_and(|holder| holder.has_ended())
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
    fn a_process_that_the_system_hides_has_not_ended() {
        let this = Holder::this();
        assert!(!this.is_over(None, || false));
        assert!(this.is_over(None, || true));
        assert!(this.is_over(Some("1"), || false), "its id is another process's");
        let unknown = Holder { began: String::new(), ..this };
        assert!(!unknown.is_over(Some("1"), || false));
    }

    #[test]
    fn of_another_machine_nothing_is_certain() {
        let other = Holder { machine: "elsewhere".to_owned(), began: "1".to_owned(), ..Holder::this() };
        assert!(!other.has_ended());
        assert_eq!(Holder::parse("something else"), None);
    }
}
