//! What the kernel says of a contestant's processes: CPU time, memory, and who is still alive.
//!
//! A contestant is a process with everything below it. Processes that run the provider's executable are the
//! provider; all others are the bridge, so that a bridge pays for its own helpers. Whatever has ended and been waited
//! for is found in the accounts of its parent and taken for the provider's: bridges start nothing else that ends.

use std::collections::HashSet;
use std::fs;
use std::iter::Sum;
use std::ops::AddAssign;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;

/// The unit of CPU time in /proc/PID/stat, in ticks a second. It is part of the kernel's interface, whatever frequency
/// the kernel itself runs at.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time in seconds, user and system together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct CpuSeconds {
    /// The bridge's. Zero for the floor, which has none.
    pub(crate) bridge: f64,
    /// The provider's.
    pub(crate) provider: f64,
}

impl CpuSeconds {
    /// What was used since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { bridge: self.bridge - earlier.bridge, provider: self.provider - earlier.provider }
    }

    /// For each 1,000 of so many calls.
    #[expect(clippy::cast_precision_loss, reason = "calls stay far below 2^53")]
    pub(crate) fn for_1000_of(self, calls: usize) -> Self {
        let thousands = calls as f64 / 1000.0;
        Self { bridge: self.bridge / thousands, provider: self.provider / thousands }
    }

    /// The bridge's and the provider's.
    pub(crate) fn both(self) -> f64 {
        self.bridge + self.provider
    }
}

impl Sum for CpuSeconds {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::default(), |sum, one| Self {
            bridge: sum.bridge + one.bridge,
            provider: sum.provider + one.provider,
        })
    }
}

/// Memory of processes; sums over processes, hence pages that they share count for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Memory {
    /// What is resident now, files in memory included (`VmRSS`).
    pub(crate) resident: Kib,
    /// The part of it that belongs to no file (`RssAnon`).
    pub(crate) anonymous: Kib,
    /// The most that ever was resident (`VmHWM`).
    pub(crate) peak: Kib,
}

impl AddAssign for Kib {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl AddAssign for Memory {
    fn add_assign(&mut self, other: Self) {
        self.resident.0 += other.resident.0;
        self.anonymous.0 += other.anonymous.0;
        self.peak.0 += other.peak.0;
    }
}

/// An amount of memory in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub(crate) struct Kib(u64);

impl Kib {
    /// The same in MiB.
    #[expect(clippy::cast_precision_loss, reason = "memory stays far below 2^53")]
    pub(crate) fn mib(self) -> f64 {
        self.0 as f64 / 1024.0
    }
}

/// A look at a contestant's processes.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Usage {
    /// CPU time since their start.
    pub(crate) cpu: CpuSeconds,
    /// Memory of the bridge and its helpers.
    pub(crate) bridge: Memory,
    /// Memory of the process that was started, if it is a bridge.
    pub(crate) main: Memory,
    /// Memory of the provider.
    pub(crate) provider: Memory,
    /// How many processes run the provider.
    pub(crate) providers: usize,
}

/// Numbers of a contestant's processes.
#[derive(Clone, Debug)]
pub(crate) struct Processes {
    /// Of the bridge and its helpers.
    pub(crate) bridge: Vec<i32>,
    /// Of the provider.
    pub(crate) provider: Vec<i32>,
}

/// Tells providers from bridges, by the file that a process runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Executable {
    device: u64,
    inode: u64,
}

impl Executable {
    /// The file at a path.
    pub(crate) fn at(path: &Path) -> anyhow::Result<Self> {
        let metadata =
            fs::metadata(path).with_context(|| format!("{} cannot be looked at", path.display()))?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }

    /// Not being allowed to look, or too late, is no.
    fn is_run_by(self, pid: i32) -> bool {
        fs::metadata(format!("/proc/{pid}/exe"))
            .is_ok_and(|metadata| metadata.dev() == self.device && metadata.ino() == self.inode)
    }
}

/// One process, safe against its number being given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pid: i32,
    started: u64,
}

impl Identity {
    /// Whether it still runs. One that has ended and is only waiting to be waited for does not.
    pub(crate) fn is_alive(self) -> bool {
        Stat::of(self.pid).is_some_and(|stat| stat.started == self.started && stat.is_running())
    }

    /// Ends it by force, if it is still there.
    pub(crate) fn kill(self) {
        if self.is_alive()
            && let Some(pid) = Pid::from_raw(self.pid)
        {
            // It may have ended in between, which is what was wanted.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// A process and everything below it, as it was at one moment.
#[derive(Debug)]
pub(crate) struct Tree {
    root: i32,
    /// All of them, the root included.
    members: Vec<Stat>,
}

impl Tree {
    /// `pid` and everything below it.
    pub(crate) fn of(pid: u32) -> anyhow::Result<Self> {
        let root = i32::try_from(pid).context("a process number out of range")?;
        let mut all = every_process();
        if !all.iter().any(|stat| stat.pid == root) {
            bail!("the process {root} is gone");
        }
        let mut members = HashSet::from([root]);
        // Parents come before their children, except when numbers have started anew; hence until nothing is found.
        loop {
            let before = members.len();
            members.extend(
                all.iter()
                    .filter(|stat| members.contains(&stat.parent))
                    .map(|stat| stat.pid)
                    .collect::<Vec<_>>(),
            );
            if members.len() == before {
                break;
            }
        }
        all.retain(|stat| members.contains(&stat.pid));
        Ok(Self { root, members: all })
    }

    /// Those that run, except the one that is `pid`.
    pub(crate) fn below(&self, pid: u32) -> Vec<Identity> {
        self.members
            .iter()
            .filter(|stat| u32::try_from(stat.pid) != Ok(pid) && stat.is_running())
            .map(|stat| Identity { pid: stat.pid, started: stat.started })
            .collect()
    }

    /// Their numbers, those that run the provider apart.
    pub(crate) fn processes(&self, provider: Executable) -> Processes {
        let (provider, bridge) = self
            .members
            .iter()
            .filter(|stat| stat.is_running())
            .map(|stat| stat.pid)
            .partition(|pid| provider.is_run_by(*pid));
        Processes { bridge, provider }
    }

    /// The memory of each, divided among the processes that share it: of the bridge, and of the provider (`Pss`).
    pub(crate) fn proportional_memory(&self, provider: Executable) -> (Kib, Kib) {
        let (mut of_bridge, mut of_provider) = (Kib::default(), Kib::default());
        for stat in self.members.iter().filter(|stat| stat.is_running()) {
            let share = if provider.is_run_by(stat.pid) { &mut of_provider } else { &mut of_bridge };
            *share += proportional_memory(stat.pid);
        }
        (of_bridge, of_provider)
    }

    /// The same of the first process alone.
    pub(crate) fn proportional_memory_of_root(&self) -> Kib {
        proportional_memory(self.root)
    }

    /// What they have used, and use.
    pub(crate) fn usage(&self, provider: Executable) -> Usage {
        let mut usage = Usage::default();
        for stat in &self.members {
            let memory = memory(stat.pid);
            if provider.is_run_by(stat.pid) {
                usage.providers += 1;
                usage.cpu.provider += stat.cpu();
                usage.provider += memory;
            } else {
                usage.cpu.bridge += stat.cpu();
                usage.bridge += memory;
                if stat.pid == self.root {
                    usage.main = memory;
                }
            }
            usage.cpu.provider += ticks(stat.ended_ticks);
        }
        usage
    }
}

/// CPU time in seconds of this program's children that have ended and been waited for.
pub(crate) fn ended_children_cpu() -> anyhow::Result<f64> {
    let own =
        Stat::of(std::process::id().cast_signed()).context("the CPU time of this program is unknown")?;
    Ok(ticks(own.ended_ticks))
}

#[expect(clippy::cast_precision_loss, reason = "CPU time stays far below 2^53 ticks")]
fn ticks(count: u64) -> f64 {
    count as f64 / TICKS_PER_SECOND
}

/// The fields of /proc/PID/stat that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    pid: i32,
    state: char,
    parent: i32,
    /// Its own CPU time.
    ticks: u64,
    /// CPU time of its children that have ended.
    ended_ticks: u64,
    /// When it started, in ticks since the machine did.
    started: u64,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name in parentheses may hold anything, parentheses and spaces too; what follows the last one is regular.
    fn parse(text: &str) -> Option<Self> {
        let (pid, _) = text.split_once(' ')?;
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // The manual counts from 1 at the process number; the state is its field 3 and ours 0.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            pid: pid.parse().ok()?,
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            ticks: number(14)? + number(15)?,
            ended_ticks: number(16)? + number(17)?,
            started: number(22)?,
        })
    }

    fn is_running(self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Its CPU time in seconds: that of its threads, which the scheduler counts in nanoseconds, or that of the process if
    /// it is more, because threads have ended.
    fn cpu(self) -> f64 {
        ticks(self.ticks).max(threads_cpu(self.pid))
    }
}

/// CPU time of the threads of a process that have not ended, in seconds. Zero without the scheduler's statistics.
fn threads_cpu(pid: i32) -> f64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0.0 };
    let nanoseconds = threads.filter_map(|thread| {
        let statistics = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        statistics.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum()).as_secs_f64()
}

/// Processes that end while we look are left out.
fn every_process() -> Vec<Stat> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter_map(Stat::of).collect()
}

/// Nothing for a process that has ended.
fn memory(pid: i32) -> Memory {
    let field = |name| field(&format!("/proc/{pid}/status"), name);
    Memory { resident: field("VmRSS:"), anonymous: field("RssAnon:"), peak: field("VmHWM:") }
}

fn proportional_memory(pid: i32) -> Kib {
    field(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

/// A size in a file of the kernel; zero if it is not there.
fn field(file: &str, name: &str) -> Kib {
    let text = fs::read_to_string(file).unwrap_or_default();
    let value =
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse().ok());
    Kib(value.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_behind_whatever_name_the_process_gave_itself() {
        let line = "42 (a) S (b) S 7 42 42 0 -1 4194560 900 10 0 0 31 12 5 4 20 0 9 0 8817 1 2 3";
        let expected = Stat { pid: 42, state: 'S', parent: 7, ticks: 43, ended_ticks: 9, started: 8817 };
        assert_eq!(Stat::parse(line), Some(expected));
    }

    #[test]
    fn a_line_that_is_cut_short_is_no_process() {
        assert_eq!(Stat::parse("42 (a) S 7 42"), None);
    }

    #[test]
    fn this_process_is_alive_and_its_memory_is_known() {
        let own = Stat::of(std::process::id().cast_signed()).expect("this process exists");
        assert!(Identity { pid: own.pid, started: own.started }.is_alive());
        assert!(
            !Identity { pid: own.pid, started: own.started + 1 }.is_alive(),
            "another process of that number"
        );
        assert!(memory(own.pid).peak > Kib(0));
        assert!(own.cpu() >= ticks(own.ticks));
    }
}
