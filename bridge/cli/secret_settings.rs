//! Settings with secrets, which no other process of the user reads in `/proc/PROCESS/environ`: providers are such processes.
//!
//! A process that was started with one is not dumpable: its files in `/proc` belong to root, and no debugger of the same user attaches
//! to it, nor does `perf`. The kernel shows the environment that a process was started with, whatever the process does
//! with it later. So a daemon, which runs for long, executes itself again without these variables, and finds them in a file in
//! memory that is its standard input, which it does not need. Of an engine's plugin, the engine has the same environment.

use std::ffi::OsString;

/// Hides the memory and the environment of this process, if it was started with such a setting.
pub(super) fn hide() {
    #[cfg(target_os = "linux")]
    on_linux::hide();
}

/// The environment of a daemon, which it is not started with where that has secrets.
pub(super) fn environment_of_daemon() -> std::io::Result<Vec<(OsString, OsString)>> {
    #[cfg(target_os = "linux")]
    return on_linux::environment();
    #[cfg(not(target_os = "linux"))]
    return Ok(std::env::vars_os().collect());
}

#[cfg(target_os = "linux")]
mod on_linux {
    use std::ffi::{OsStr, OsString};
    use std::fs::File;
    use std::io::{self, Read as _, Seek as _, Write as _};
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use rustix::fs::{MemfdFlags, fstat, memfd_create};
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    use rustix::stdio::dup2_stdin;

    use isthmus_context::settings::{KEY, PASSPHRASE, STORE};

    /// An address of a store may have a password.
    const SECRET: [&str; 3] = [KEY.name, PASSPHRASE.name, STORE.name];

    /// Set where standard input has them.
    const MARK: &str = "ISTHMUS_SECRETS_ON_STDIN";

    pub(super) fn hide() {
        if SECRET.iter().chain(&[MARK]).any(|name| std::env::var_os(name).is_some()) {
            // A kernel always can.
            set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
        }
    }

    pub(super) fn environment() -> io::Result<Vec<(OsString, OsString)>> {
        let (secret, mut environment): (Vec<_>, Vec<_>) =
            std::env::vars_os().partition(|(name, _)| SECRET.iter().any(|secret| name == secret));
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
}
