//! The resources that the daemon's own process uses, as the kernel counts them.

use std::time::Duration;

/// What the daemon's process uses, without its providers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnProcess {
    /// Bytes.
    pub(super) resident_memory: u64,
    /// Processor time.
    pub(super) cpu: Duration,
    pub(super) open_files: usize,
}

impl OwnProcess {
    /// Zero for what this system does not tell. Blocks on the file system.
    pub(super) fn measure() -> Self {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default();
        let page = u64::try_from(rustix::param::page_size()).unwrap_or_default();
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let cpu = Duration::try_from(cpu).unwrap_or_default();
        // One of them is the directory that is read.
        let open_files =
            std::fs::read_dir("/proc/self/fd").map_or(0, |files| files.count().saturating_sub(1));
        Self { resident_memory: pages.saturating_mul(page), cpu, open_files }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_uses_is_measured() {
        let before = OwnProcess::measure();
        assert!(before.resident_memory > 1 << 20, "{before:?}");
        assert!(before.cpu > Duration::ZERO, "{before:?}");
        assert!(before.open_files > 2, "{before:?}");
    }
}
