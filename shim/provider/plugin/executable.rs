//! Whether a file can be a provider at all, and why the system would not run it.
//!
//! Asked before the start, for two reasons. The system's own answer is one number for several causes (`ENOENT` is a
//! missing file, a missing interpreter and a missing working directory alike). And the C library, told by the kernel
//! that a file is no program, hands it to a shell: a web page that was saved as a provider would be run as a script.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use isthmus_common::Platform;

use super::handshake::shown_bytes;
use crate::plugin::similar_path;

/// Why a file cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ExecutableError {
    /// Nothing is there.
    #[error("the file does not exist; {}", instead(.similar.as_deref()))]
    Missing {
        /// The file that was perhaps meant.
        similar: Option<PathBuf>,
    },
    /// A directory is there, as when the directory of an unpacked archive was named.
    #[error("it is a directory; name the executable inside it")]
    Directory,
    /// A socket, a device, a named pipe.
    #[error("it is not a regular file")]
    NotAFile,
    /// No permission to execute, on the file, on a directory above it, or on the whole file system.
    #[error(
        "it is not executable for this user; allow it with `chmod +x`, and see that its file system allows execution"
    )]
    NotExecutable,
    /// Neither a program of this system nor a script.
    #[error("it is {what}; a provider binary is an executable for {}", Platform::CURRENT)]
    WrongFormat {
        /// What it is instead, or its first bytes, escaped.
        what: String,
    },
    /// The file is there, and what it needs to run is not.
    #[error(
        "the file exists, but its interpreter does not (the program in its `#!` line, or the dynamic loader of the C \
         library that it was built for)"
    )]
    InterpreterMissing,
    /// Looking at the file failed.
    #[error("it cannot be looked at")]
    Unreadable(#[source] io::Error),
}

/// Refuses what can be seen to be no provider. Blocks on the file system.
///
/// # Errors
/// When the file cannot be started, with the reason.
pub fn inspect(path: &Path) -> Result<(), ExecutableError> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => missing(path),
        io::ErrorKind::PermissionDenied => ExecutableError::NotExecutable,
        _ => ExecutableError::Unreadable(error),
    })?;
    if metadata.is_dir() {
        return Err(ExecutableError::Directory);
    }
    if !metadata.is_file() {
        return Err(ExecutableError::NotAFile);
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        return Err(ExecutableError::NotExecutable);
    }
    let mut beginning = Vec::new();
    match File::open(path).and_then(|file| file.take(HEADER_BYTES).read_to_end(&mut beginning)) {
        Ok(_) => judge(&beginning),
        // To execute a file, nobody needs to be able to read it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(ExecutableError::Unreadable(error)),
    }
}

/// The meaning of the system's refusal to start a file that [`inspect`] had nothing against; the refusal itself, when
/// it means something else.
pub(super) fn explain(path: &Path, refusal: io::Error) -> Result<ExecutableError, io::Error> {
    match refusal.kind() {
        io::ErrorKind::NotFound if path.exists() => Ok(ExecutableError::InterpreterMissing),
        io::ErrorKind::NotFound => Ok(missing(path)),
        io::ErrorKind::PermissionDenied => Ok(ExecutableError::NotExecutable),
        _ => Err(refusal),
    }
}

fn missing(path: &Path) -> ExecutableError {
    ExecutableError::Missing { similar: similar_path(path) }
}

fn instead(similar: Option<&Path>) -> String {
    match similar {
        Some(similar) => format!("did you mean {}?", similar.display()),
        None => "install the provider, or fix the path".to_owned(),
    }
}

/// A path that means the same file in every working directory, and is never looked up in `PATH`.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// As much of an ELF file as tells its machine, and enough to be shown.
const HEADER_BYTES: u64 = 64;
/// Where an ELF header tells its byte order: 1 is little-endian.
const ELF_BYTE_ORDER: usize = 5;
/// Where an ELF header tells its machine, as 16 bits.
const ELF_MACHINE: std::ops::Range<usize> = 18..20;

/// The machines whose programs this one runs: its own and its 32-bit forebear. None where nobody has looked it up.
const OUR_MACHINES: Option<[u16; 2]> = if cfg!(target_arch = "x86_64") {
    Some([62, 3])
} else if cfg!(target_arch = "aarch64") {
    Some([183, 40])
} else {
    None
};

/// Names for the machines that providers are published for.
const MACHINES: [(u16, &str); 6] =
    [(3, "386"), (40, "arm"), (62, "amd64"), (183, "arm64"), (22, "s390x"), (21, "ppc64le")];

/// Beginnings of files that people have put in a provider's place.
const FOREIGN: [(&[u8], &str); 9] = [
    (b"MZ", "a program for Windows"),
    (b"PK\x03\x04", "a ZIP archive, which has to be unpacked first"),
    (b"\x1f\x8b", "a compressed archive, which has to be unpacked first"),
    (b"\xcf\xfa\xed\xfe", MACOS),
    (b"\xce\xfa\xed\xfe", MACOS),
    (b"\xca\xfe\xba\xbe", MACOS),
    (b"\x7fELF", "a program for Linux or another system with ELF executables"),
    (b"<!", "a web page"),
    (b"<html", "a web page"),
];
const MACOS: &str = "a program for macOS";

fn judge(beginning: &[u8]) -> Result<(), ExecutableError> {
    let native: &[&[u8]] = if cfg!(target_vendor = "apple") {
        &[b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"#!"]
    } else {
        &[b"\x7fELF", b"#!"]
    };
    if native.iter().any(|magic| beginning.starts_with(magic)) {
        return match foreign_machine(beginning) {
            None => Ok(()),
            Some(machine) => Err(ExecutableError::WrongFormat { what: machine }),
        };
    }
    let what = match FOREIGN.iter().find(|(magic, _)| beginning.starts_with(magic)) {
        Some((_, what)) => (*what).to_owned(),
        None if beginning.is_empty() => "an empty file".to_owned(),
        None => format!("neither a program nor a script, and begins with \"{}\"", shown_bytes(beginning)),
    };
    Err(ExecutableError::WrongFormat { what })
}

/// What an ELF file was built for, when that is not this machine.
fn foreign_machine(beginning: &[u8]) -> Option<String> {
    let machine: [u8; 2] = beginning.get(ELF_MACHINE)?.try_into().ok()?;
    if !beginning.starts_with(b"\x7fELF") {
        return None;
    }
    let machine = if beginning[ELF_BYTE_ORDER] == 1 {
        u16::from_le_bytes(machine)
    } else {
        u16::from_be_bytes(machine)
    };
    if OUR_MACHINES.is_none_or(|ours| ours.contains(&machine)) {
        return None;
    }
    Some(match MACHINES.iter().find(|(number, _)| *number == machine) {
        Some((_, name)) => format!("a program for {}_{name}", Platform::CURRENT.os),
        None => format!("a program for another machine (ELF machine {machine})"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(beginning: &[u8]) -> String {
        judge(beginning).expect_err("it is no provider").to_string()
    }

    #[test]
    fn programs_of_this_machine_and_scripts_pass() {
        let own = std::env::current_exe().expect("tests have an executable");
        inspect(&own).expect("this test runs, so its file can");
        judge(b"#!/bin/sh\n").expect("a script");
    }

    #[test]
    fn what_was_put_in_a_providers_place_is_called_by_its_name() {
        assert!(message(b"PK\x03\x04zzzz").contains("a ZIP archive"));
        assert!(message(b"MZ\x90\x00").contains("a program for Windows"));
        assert!(message(b"<!DOCTYPE html>").contains("a web page"));
        assert!(message(b"").contains("an empty file"));
        assert!(message(b"hello\n").contains(r#"begins with "hello\n""#));
    }

    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    #[test]
    fn a_program_for_another_machine_is_not_handed_to_a_shell() {
        let mut header = [0u8; 64];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        for (machine, name) in
            [(22u16, "for linux_s390x; "), (21, "for linux_ppc64le; "), (243, "ELF machine 243")]
        {
            header[ELF_MACHINE].copy_from_slice(&machine.to_le_bytes());
            let text = message(&header);
            assert!(text.contains(name) && text.ends_with(&format!("for {}", Platform::CURRENT)), "{text}");
        }
    }
}
