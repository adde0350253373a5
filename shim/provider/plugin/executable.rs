//! Checks whether a file can be a provider.
//!
//! They precede the start for two reasons. The system's error number has several causes (`ENOENT`:
//! a missing file, interpreter or working directory). And the C library passes a file that is no
//! executable to a shell: a web page saved as a provider would run as a script.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use isthmus_common::Platform;
use isthmus_platform::files::is_executable;
use isthmus_platform::{IS_MACOS, IS_WINDOWS};

use super::handshake::shown_bytes;
use super::similar_path::{PROVIDER_PREFIX, similar_path};

/// Entries of a directory that are looked at.
const MOST_ENTRIES: usize = 10_000;

/// Why a file is no program.
const NOT_EXECUTABLE: &str = if IS_WINDOWS {
    "it is not executable: the name of a program ends with .exe"
} else {
    "it is not executable for this user; allow it with `chmod +x`, and see that its file system allows execution"
};

/// Why a file cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ExecutableError {
    /// The file does not exist.
    #[error("the file does not exist; {}", instead(.similar.as_deref()))]
    Missing {
        /// A similar path that exists.
        similar: Option<PathBuf>,
    },
    /// A directory, such as that of an unpacked archive.
    #[error("it is a directory; name the executable inside it{}", .inside.as_deref().map(such_as).unwrap_or_default())]
    Directory {
        /// A provider binary in it.
        inside: Option<PathBuf>,
    },
    /// A socket, a device or a named pipe.
    #[error("it is not a regular file")]
    NotAFile,
    /// No execute permission for the file, a parent directory or the file system.
    #[error("{}", NOT_EXECUTABLE)]
    NotExecutable,
    /// No executable of this system.
    #[error("it is {what}; a provider binary is an executable for {}", Platform::CURRENT)]
    WrongFormat {
        /// What it is, or its first bytes, escaped.
        what: String,
    },
    /// The file exists, but not its interpreter or libraries.
    #[error(
        "the file exists, but its interpreter does not (the program in its `#!` line, or the dynamic loader of the C \
         library that it was built for)"
    )]
    InterpreterMissing,
    /// An I/O error.
    #[error("it cannot be looked at")]
    Unreadable(#[source] io::Error),
}

/// Refuses files that cannot be providers. Blocks on the file system.
///
/// # Errors
/// Why the file cannot be started.
pub fn inspect(path: &Path) -> Result<(), ExecutableError> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => missing(path),
        io::ErrorKind::PermissionDenied => ExecutableError::NotExecutable,
        _ => ExecutableError::Unreadable(error),
    })?;
    if metadata.is_dir() {
        return Err(ExecutableError::Directory { inside: binary_in(path) });
    }
    if !metadata.is_file() {
        return Err(ExecutableError::NotAFile);
    }
    if !is_executable(path) {
        return Err(ExecutableError::NotExecutable);
    }
    let mut beginning = Vec::new();
    match File::open(path).and_then(|file| file.take(HEADER_BYTES).read_to_end(&mut beginning)) {
        Ok(_) => judge(&beginning),
        // Executing a file does not require read permission.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(ExecutableError::Unreadable(error)),
    }
}

/// The cause of the system's error in starting a file that [`inspect`] accepted; or the error
/// itself.
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

/// The first provider binary in a directory.
fn binary_in(directory: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?.take(MOST_ENTRIES).filter_map(Result::ok);
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PROVIDER_PREFIX));
    named.map(|entry| entry.path()).filter(|path| path.is_file() && inspect(path).is_ok()).min()
}

fn such_as(inside: &Path) -> String {
    format!(", {}", inside.display())
}

/// An absolute path, which is not searched in `PATH`.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Bytes for the machine of an ELF file, and for messages.
const HEADER_BYTES: u64 = 64;
/// Position of an ELF header's byte order: 1 is little-endian.
const ELF_BYTE_ORDER: usize = 5;
/// Position of an ELF header's machine, as 16 bits.
const ELF_MACHINE: std::ops::Range<usize> = 18..20;

/// Machines whose programs run here: this one and its 32-bit predecessor. `None`: unknown.
const OUR_MACHINES: Option<[u16; 2]> = if cfg!(target_arch = "x86_64") {
    Some([62, 3])
} else if cfg!(target_arch = "aarch64") {
    Some([183, 40])
} else {
    None
};

/// Names of machines that providers are published for.
const MACHINES: [(u16, &str); 6] =
    [(3, "386"), (40, "arm"), (62, "amd64"), (183, "arm64"), (22, "s390x"), (21, "ppc64le")];

/// Beginnings of files that are mistaken for providers.
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
    let native: &[&[u8]] = if IS_MACOS {
        &[b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"#!"]
    } else if IS_WINDOWS {
        &[b"MZ"]
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

/// The machine of an ELF file, if it is not this one.
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

    #[test]
    fn of_a_directory_the_binary_in_it_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let message = || inspect(directory.path()).expect_err("a directory").to_string();
        std::fs::write(directory.path().join("README.md"), "").expect("a file");
        std::fs::write(directory.path().join("terraform-provider-a.zip"), "PK").expect("a file");
        assert_eq!(message(), "it is a directory; name the executable inside it");
        let binary = directory.path().join("terraform-provider-acme_v1.0.0");
        std::fs::write(&binary, "#!/bin/sh\n").expect("a file");
        isthmus_platform::files::set_mode(&binary, 0o755).expect("it is ours");
        assert!(message().ends_with(&format!("inside it, {}", binary.display())), "{}", message());
    }

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
