//! Where and of what a result was made. Figures without it are worth nothing.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::options::workspace;

/// The machine, as the kernel describes it.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    /// The first processor's model.
    pub(crate) cpu: String,
    /// How many threads can run at once.
    pub(crate) cores: usize,
    /// Memory in MiB.
    pub(crate) memory_mib: u64,
    /// Release of the kernel.
    pub(crate) kernel: String,
    /// How many processes wanted to run, on average over the last minute, before the first measurement. Near zero on a
    /// machine that has nothing else to do.
    pub(crate) load_before: String,
}

impl Machine {
    /// Looks at this one. What the kernel does not say is "unknown".
    pub(crate) fn describe() -> Self {
        let cpu = field("/proc/cpuinfo", "model name").unwrap_or_else(unknown);
        Self {
            cpu,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: memory_kib("MemTotal").unwrap_or(0) / 1024,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| unknown(), |text| text.trim().to_owned()),
            load_before: load(),
        }
    }
}

/// Whether less than an eighth of the memory is free or could be freed. A run must end then: the kernel would end processes,
/// and not only the run's.
pub(crate) fn is_short_of_memory() -> bool {
    let (total, available) = (memory_kib("MemTotal"), memory_kib("MemAvailable"));
    total.zip(available).is_some_and(|(total, available)| available < total / 8)
}

fn memory_kib(name: &str) -> Option<u64> {
    field("/proc/meminfo", name)?.strip_suffix(" kB")?.trim().parse().ok()
}

/// How many processes wanted to run, on average over the last minute.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").ok();
    text.and_then(|text| text.split(' ').next().map(str::to_owned)).unwrap_or_else(unknown)
}

/// The commit that the workspace is at, marked if there are changes that are not in it.
pub(crate) fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(workspace()).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    match git(&["rev-parse", "--short=12", "HEAD"]) {
        Some(commit)
            if git(&["status", "--porcelain", "--untracked-files=no"])
                .is_some_and(|text| text.is_empty()) =>
        {
            commit
        }
        Some(commit) => format!("{commit}, with changes"),
        None => unknown(),
    }
}

/// Today in UTC, as in 2026-01-31.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

/// The date that is so many days after the first of January 1970.
fn date(days: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut left) = (1970, days);
    loop {
        let length = if leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let february = if leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", left + 1)
}

/// The value behind the colon in the first line with this name.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let (_, value) = text.lines().find(|line| line.starts_with(name))?.split_once(':')?;
    Some(value.trim().to_owned())
}

fn unknown() -> String {
    "unknown".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates_across_leap_years() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_453), "2025-12-31");
        assert_eq!(date(20_454), "2026-01-01");
    }
}
