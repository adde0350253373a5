//! The file of a recording: JSON lines, of which the first says what the file is.
//!
//! Several plugin processes of one command append to one file: each line is written as a whole while the file is locked, and
//! has the id of its session. The file is created with its first line in it, and never overwritten. A file that is no
//! recording, or that others may read, is not appended to.

use isthmus_platform::files::{OpenFlags, OpenOptionsExt as _, Protection, lock, protection_of, unlock};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use isthmus_common::{Links, open_regular};
use isthmus_cty::json::Json;
use isthmus_platform::process::User;

use super::format::{object, text};

/// The version of the format, `MAJOR.MINOR`: members are added with a new minor version.
const FORMAT_VERSION: &str = "1.0";

/// The longest first line.
const LONGEST_HEADER: usize = 1024;

/// The mode of the file: its owner's alone.
pub const MODE: u32 = 0o600;

/// A file cannot be used for a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("failed to open {}", path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} exists and is not a recording, so isthmus writes nothing to it\nhelp: name a file that does not exist", .0.display())]
    Other(PathBuf),
    #[error("{} is not a recording: its first line is not the header of one", .0.display())]
    NotARecording(PathBuf),
    #[error("{} is not only this user's: others may read or write it\nhelp: name a file that does not exist", .0.display())]
    Shared(PathBuf),
    #[error("{} has format version {version}, and this isthmus reads {FORMAT_VERSION}", path.display())]
    Version { path: PathBuf, version: String },
    #[error(
        "line {line} of {} does not belong to a recording\nhelp: it may be cut off, if the disk was full: remove it, and \
         isthmus replays the other lines",
        path.display()
    )]
    Line { path: PathBuf, line: usize },
}

/// The first line.
pub fn header() -> String {
    let text = |text: &str| Json::String(text.to_owned());
    let header = object([
        ("kind", text("header")),
        ("format_version", text(FORMAT_VERSION)),
        ("isthmus", text(env!("CARGO_PKG_VERSION"))),
    ]);
    format!("{header}\n")
}

/// Opens a recording to append to, or creates it.
pub(super) fn open(path: &Path) -> Result<File, RecordingError> {
    let failed = |source| RecordingError::Open { path: path.to_owned(), source };
    // One that exists needs no space on the disk.
    if matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound) {
        match isthmus_context::new_file::write_file(path, header().as_bytes(), MODE, false) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let flags = OpenFlags { no_waiting: true, ..OpenFlags::default() };
    let file = OpenOptions::new().read(true).append(true).flags(flags).open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(RecordingError::Other(path.to_owned()));
    }
    let Protection { owner, mode } = protection_of(&file, &metadata).map_err(failed)?;
    if mode & 0o077 != 0 || owner != User::current() {
        return Err(RecordingError::Shared(path.to_owned()));
    }
    match first_line(&file) {
        Ok(line) => check(path, &line).map_err(|error| match error {
            RecordingError::NotARecording(path) => RecordingError::Other(path),
            error => error,
        })?,
        Err(source) => return Err(failed(source)),
    }
    Ok(file)
}

fn first_line(file: &File) -> io::Result<String> {
    let mut line = Vec::new();
    io::Read::take(BufReader::new(file), LONGEST_HEADER as u64).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn check(path: &Path, line: &str) -> Result<(), RecordingError> {
    let header = Json::parse(line.as_bytes()).ok();
    let member = |name: &str| header.as_ref().map(|header| text(header, name)).unwrap_or_default();
    if member("kind") != "header" || !line.ends_with('\n') {
        return Err(RecordingError::NotARecording(path.to_owned()));
    }
    let version = member("format_version");
    if version.split('.').next() == FORMAT_VERSION.split('.').next() {
        Ok(())
    } else {
        Err(RecordingError::Version { path: path.to_owned(), version })
    }
}

/// Appends lines, without those of another process between them: all of them, or none if there is no space.
pub(super) fn append(mut file: &File, lines: &[Json]) -> io::Result<()> {
    let mut text = String::new();
    for line in lines {
        line.write(&mut text);
        text.push('\n');
    }
    lock(file)?;
    let written = file.metadata().and_then(|before| {
        // Half a line would make the next one unreadable.
        file.write_all(text.as_bytes()).inspect_err(|_| drop(file.set_len(before.len())))
    });
    unlock(file)?;
    written
}

/// The lines of a recording behind its header.
pub(super) fn read(path: &Path) -> Result<Vec<Json>, RecordingError> {
    // What is no file may never end, or never begin.
    let opened = open_regular(path, Links::Follow);
    let file = opened.map_err(|source| RecordingError::Open { path: path.to_owned(), source })?;
    let failed = |source| RecordingError::Read { path: path.to_owned(), source };
    let header = first_line(&file).map_err(failed)?;
    check(path, &header)?;
    let mut lines = Vec::new();
    (&file).seek(SeekFrom::Start(header.len() as u64)).map_err(failed)?;
    for (number, line) in BufReader::new(&file).split(b'\n').enumerate() {
        let json = Json::parse(&line.map_err(failed)?);
        // Behind the header.
        lines.push(json.map_err(|_| RecordingError::Line { path: path.to_owned(), line: number + 2 })?);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {

    use super::*;

    fn line(number: usize) -> Json {
        Json::Array(vec![Json::Number(number.to_string()), Json::String("x".repeat(100_000))])
    }

    #[test]
    fn several_writers_write_whole_lines_to_one_new_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("session.jsonl");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let file = open(path).expect("it is a recording");
                    for _ in 0..10 {
                        append(&file, &[line(writer), line(writer)]).expect("there is space");
                    }
                });
            }
        });
        assert_eq!(
            isthmus_platform::files::mode(&std::fs::metadata(&path).expect("it is there")) & 0o777,
            MODE
        );
        let lines = read(&path).expect("it is a recording");
        assert_eq!(lines.len(), 80);
        assert!(lines.chunks(2).all(|pair| pair[0] == pair[1]), "what is written together stays together");
    }

    #[tokio::test]
    async fn an_append_without_space_leaves_whole_lines() {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("session.jsonl");
        let file = open(&path).expect("it is a recording");
        append(&file, &[line(1)]).expect("there is space");
        // In a process of its own, because the limit is of the process.
        if std::env::var_os("RECORDING_LIMITED").is_none() {
            let this = std::env::current_exe().expect("this program");
            let name = "recording::file::tests::an_append_without_space_leaves_whole_lines";
            let ran = std::process::Command::new(this)
                .args([name, "--exact"])
                .env("RECORDING_LIMITED", "1")
                .output();
            let ran = String::from_utf8_lossy(&ran.expect("it runs").stdout).into_owned();
            assert!(ran.contains("1 passed"), "{ran}");
            return;
        }
        // Rust's test harness does not ignore the signal, so that it would end this process.
        let exceeded = tokio::signal::unix::SignalKind::from_raw(25);
        let _exceeded = tokio::signal::unix::signal(exceeded).expect("SIGXFSZ");
        let limit = getrlimit(Resource::Fsize);
        let before = file.metadata().expect("it is there").len();
        setrlimit(Resource::Fsize, Rlimit { current: Some(before + 10), ..limit }).expect("a limit");
        append(&file, &[line(2)]).expect_err("there is no space");
        setrlimit(Resource::Fsize, limit).expect("no limit");
        assert_eq!(read(&path).expect("it is a recording").len(), 1);
        append(&file, &[line(3)]).expect("there is space again");
        assert_eq!(read(&path).expect("it is a recording").len(), 2);
    }

    #[test]
    fn a_file_of_others_is_neither_overwritten_nor_appended_to() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("notes.txt");
        for contents in ["", "notes\n", "{\"kind\":\"header\",\"format_version\":\"2.0\"}\n"] {
            std::fs::write(&path, contents).expect("it is written");
            isthmus_platform::files::set_mode(&path, MODE).expect("its own");
            open(&path).expect_err(contents);
            read(&path).expect_err(contents);
            assert_eq!(std::fs::read_to_string(&path).expect("it is there"), contents);
        }
        std::fs::write(&path, header()).expect("it is written");
        isthmus_platform::files::set_mode(&path, 0o640).expect("its own");
        assert!(matches!(open(&path), Err(RecordingError::Shared(_))));
        assert!(matches!(open(directory.path()), Err(RecordingError::Open { .. })));
    }
}
