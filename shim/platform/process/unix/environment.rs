//! Secrets in the environment, which the kernel shows to other processes of the user as the process was started with it,
//! whatever the process does with it later: in `/proc` of Linux, and to `ps -E` of macOS.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::fs::{FileType, fstat};
use rustix::stdio::dup2_stdin;

use super::super::system;

/// Set where standard input has the variables that are secret.
const MARK: &str = "ISTHMUS_SECRETS_ON_STDIN";

/// Hides the memory and the environment of this process from others of its user, as far as the system can, if one of these
/// variables is set.
pub fn hide_from_other_processes(secret: &[&str]) {
    if secret.iter().chain(&[MARK]).any(|name| std::env::var_os(name).is_some()) {
        system::hide_from_debuggers();
    }
}

/// The environment of this process, which it is not started with where that has secrets.
///
/// The program executes itself again without these variables, and finds them in a pipe that is its standard input.
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
        let (reader, mut writer) = io::pipe()?;
        // There is no reader yet: what the pipe does not hold is an error.
        rustix::io::ioctl_fionbio(&writer, true)?;
        for (name, value) in secret {
            writer.write_all(&[name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat())?;
        }
        let mut arguments = std::env::args_os();
        let mut command = Command::new(std::env::current_exe()?);
        command.arg0(arguments.next().unwrap_or_default()).args(arguments).env(MARK, "1");
        for (name, _) in secret {
            command.env_remove(name);
        }
        command.stdin(reader);
        Ok(command.exec())
    };
    let executed: io::Result<io::Error> = execute();
    executed.unwrap_or_else(|error| error)
}

/// What the process before has written, of which nothing is left.
fn received() -> io::Result<Vec<(OsString, OsString)>> {
    let mut content = Vec::new();
    // Not from a terminal, where the mark was set by hand.
    if FileType::from_raw_mode(fstat(io::stdin())?.st_mode) == FileType::Fifo {
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
