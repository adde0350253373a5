//! Linux: `/proc`, and files in memory.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::fs::{MemfdFlags, fstat, memfd_create};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::stdio::dup2_stdin;

use super::Usage;

/// The path of standard input.
pub(super) const STANDARD_INPUT: &str = "/proc/self/fd/0";

/// Whether this process inherited an ignored signal.
pub(super) fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (signal - 1) & 1 == 1
}

/// Where standard output goes, if that has a name.
pub fn standard_output_file() -> Option<PathBuf> {
    fs::read_link("/proc/self/fd/1").ok()
}

/// The executables that run on this machine, as far as this user may see them. Blocks.
pub fn executables() -> impl Iterator<Item = PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    processes.filter_map(|process| fs::read_link(process.path().join("exe")).ok())
}

/// What this process uses. Blocks on the file system.
pub fn usage() -> Usage {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default();
    let page = u64::try_from(rustix::param::page_size()).unwrap_or_default();
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    // One of them is the directory that is read.
    let open_files = fs::read_dir("/proc/self/fd").map_or(0, |files| files.count().saturating_sub(1));
    Usage {
        resident_memory: pages.saturating_mul(page),
        cpu: Duration::try_from(cpu).unwrap_or_default(),
        open_files,
    }
}

/// The name of this machine; empty if the system does not tell.
pub fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Identifies the boot and the PID namespace, in which a process id means one process; empty if the system does not tell.
pub fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default();
    if boot.is_empty() || space.is_empty() { String::new() } else { format!("{}/{space}", boot.trim()) }
}

/// When a running process began, by the kernel's clock: ids are reused.
pub fn began(process: u32) -> Option<String> {
    // The 22nd field; the second is a name that may contain anything.
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = line.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    // Field 3 is the state: Z if it has exited and was not waited for.
    let state = fields.next()?;
    (state != "Z" && state != "X").then(|| fields.nth(18).map(str::to_owned)).flatten()
}

/// Set where standard input has the variables that are secret.
const MARK: &str = "ISTHMUS_SECRETS_ON_STDIN";

/// Hides the memory and the environment of this process from others of its user, if one of these variables is set.
///
/// It is not dumpable then: its files in `/proc` belong to root, and no debugger of the same user attaches to it, nor does `perf`.
pub fn hide_from_other_processes(secret: &[&str]) {
    if secret.iter().chain(&[MARK]).any(|name| std::env::var_os(name).is_some()) {
        // A kernel always can.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
    }
}

/// The environment of this process, which it is not started with where that has secrets.
///
/// The kernel shows the environment that a process was started with, whatever the process does with it later. So the program
/// executes itself again without these variables, and finds them in a file in memory that is its standard input.
///
/// # Errors
/// When it cannot be executed again.
pub fn environment_without(secret: &[&str]) -> io::Result<Vec<(OsString, OsString)>> {
    let (secret, mut environment): (Vec<_>, Vec<_>) =
        std::env::vars_os().partition(|(name, _)| secret.iter().any(|secret| name == secret));
    let marked = environment.iter().position(|(name, _)| name == MARK);
    match marked {
        Some(mark) => {
            environment.remove(mark);
            environment.extend(received()?);
            Ok(environment)
        }
        None if secret.is_empty() => Ok(environment),
        None => Err(execute_without(&secret)),
    }
}

/// Executes this program again without these variables, which are its standard input. Returns only if that fails.
fn execute_without(secret: &[(OsString, OsString)]) -> io::Error {
    let execute = || {
        let mut file = File::from(memfd_create("settings", MemfdFlags::CLOEXEC)?);
        for (name, value) in secret {
            file.write_all(&[name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat())?;
        }
        file.rewind()?;
        let mut arguments = std::env::args_os();
        let mut command = Command::new(std::env::current_exe()?);
        command.arg0(arguments.next().unwrap_or_default()).args(arguments).env(MARK, "1");
        for (name, _) in secret {
            command.env_remove(name);
        }
        command.stdin(file);
        Ok(command.exec())
    };
    let executed: io::Result<io::Error> = execute();
    executed.unwrap_or_else(|error| error)
}

/// What the process before has written, of which nothing is left.
fn received() -> io::Result<Vec<(OsString, OsString)>> {
    let mut content = Vec::new();
    // Not from a terminal, where the mark was set by hand.
    if fstat(io::stdin())?.st_nlink == 0 {
        io::stdin().read_to_end(&mut content)?;
    }
    dup2_stdin(File::open("/dev/null")?)?;
    let variables = content.split(|byte| *byte == 0).filter_map(|variable| {
        let at = variable.iter().position(|byte| *byte == b'=')?;
        let (name, value) =
            (OsStr::from_bytes(&variable[..at]), OsString::from_vec(variable[at + 1..].to_vec()));
        Some((name.to_owned(), value))
    });
    Ok(variables.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_uses_is_measured() {
        let usage = usage();
        assert!(usage.resident_memory > 1 << 20, "{usage:?}");
        assert!(usage.cpu > Duration::ZERO, "{usage:?}");
        assert!(usage.open_files > 2, "{usage:?}");
    }
}
