//! Removal of abandoned directories, and of none of users.

use isthmus_platform::directory::Directory;
use isthmus_platform::files::symlink;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use super::super::logs::{LogRecord, LogSink, Origin};
use super::*;

struct Place {
    directory: TempDir,
    records: Arc<Mutex<Vec<LogRecord>>>,
}

impl Place {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a directory"), records: Arc::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn logs(&self) -> Logs {
        let records = Arc::clone(&self.records);
        let sink = LogSink::new(move |record| records.lock().expect("not poisoned").push(record));
        Logs::new(Arc::from("random"), sink)
    }

    fn create(&self) -> SocketDirectory {
        SocketDirectory::create_in(self.directory.path(), &self.logs()).expect("a directory")
    }

    /// The directory of a killed daemon whose provider was listening.
    fn abandoned(&self) -> PathBuf {
        let directory = self.create();
        let path = directory.path().to_owned();
        drop(UnixListener::bind(path.join("plugin1")).expect("a socket"));
        let mut directory = std::mem::ManuallyDrop::new(directory);
        // The system closes it with the process, which releases the lock.
        directory.directory = Directory::open(Path::new("/")).expect("the root");
        path
    }

    fn sweep(&self) {
        sweep(self.directory.path(), &self.logs());
    }

    fn notes(&self, level: Level) -> Vec<String> {
        let records = self.records.lock().expect("not poisoned");
        let notes = records.iter().filter(|record| record.level == level && record.origin == Origin::Host);
        notes.map(|record| record.message.clone()).collect()
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

#[test]
fn a_long_temporary_directory_is_passed_over() {
    let long = PathBuf::from(format!("/{}", "a".repeat(80)));
    assert_eq!(short_parent(long), Path::new("/tmp"));
    assert_eq!(short_parent("relative".into()), Path::new("/tmp"));
    for unspeakable in ["/a\nb", "/a\rb", "/a|b"] {
        assert_eq!(short_parent(unspeakable.into()), Path::new("/tmp"), "{unspeakable:?}");
    }
    assert_eq!(short_parent("/run/user/1000".into()), Path::new("/run/user/1000"));
    // A temporary directory of macOS.
    let usual = "/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T";
    assert_eq!(short_parent(usual.into()), Path::new(usual));
}

#[test]
fn the_directory_is_ours_alone_and_goes_away() {
    let place = Place::new();
    let directory = SocketDirectory::create(&place.logs()).expect("a directory");
    let path = directory.path().to_owned();
    let mode = isthmus_platform::files::mode(&std::fs::metadata(&path).expect("it exists"));
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(names(&path), [MARKER]);
    assert!(path.join("plugin4294967295").as_os_str().len() <= LONGEST_SOCKET_PATH);
    drop(UnixListener::bind(path.join("plugin1")).expect("a socket"));
    drop(directory);
    assert!(!path.exists());
    assert_eq!(place.notes(Level::Warn), [""; 0]);
}

#[test]
fn what_a_killed_daemon_left_is_removed_at_once_and_what_is_in_use_stays() {
    let place = Place::new();
    let (used, abandoned) = (place.create(), place.abandoned());
    assert!(abandoned.join("plugin1").exists());
    place.sweep();
    assert!(!abandoned.exists());
    assert_eq!(names(used.path()), [MARKER]);
}

#[test]
fn a_directory_without_a_valid_marker_is_left_whole() {
    let place = Place::new();
    let marker = place.abandoned().join(MARKER);
    let copy = |name: &str| {
        let path = place.path(name);
        DirBuilder::new().mode(0o700).create(&path).expect("a directory");
        std::fs::copy(&marker, path.join(MARKER)).expect("a copy");
        path
    };
    // Without markers, as of old versions and of users; and with another directory's marker.
    let unmarked = ["isthmus-home", "isthmus-demo.X4", "isthmus-a1b2c3", "isthmus-sockets-a1b2c3"];
    for name in unmarked {
        DirBuilder::new().mode(0o700).create(place.path(name)).expect("a directory");
    }
    let copied = ["isthmus-sockets-Copied", "isthmus-sockets-copied-2"].map(copy);
    for path in unmarked.map(|name| place.path(name)).iter().chain(&copied) {
        std::fs::write(path.join("Pulumi.yaml"), "name: demo").expect("a file");
        drop(UnixListener::bind(path.join("socket")).expect("a socket"));
    }
    let all = |path: PathBuf| (names(&path), path);
    let before = unmarked.map(|name| all(place.path(name)));
    let before_copied = copied.clone().map(all);
    place.sweep();
    assert_eq!(unmarked.map(|name| all(place.path(name))), before);
    assert_eq!(copied.map(all), before_copied);
}

#[test]
fn an_abandoned_directory_with_anything_but_sockets_in_it_is_left_whole_and_named() {
    type Put = fn(&Path);
    let cases: [(&str, Put); 4] = [
        ("a regular file", |path| std::fs::write(path, "text of a user").expect("a file")),
        ("an empty directory", |path| std::fs::create_dir(path).expect("a directory")),
        ("a link to a file", |path| symlink("/etc/hostname", path).expect("a link")),
        ("a link to nowhere", |path| symlink("nowhere", path).expect("a link")),
    ];
    for (what, put) in cases {
        let place = Place::new();
        let abandoned = place.abandoned();
        put(&abandoned.join("thing"));
        place.sweep();
        assert_eq!(names(&abandoned), [MARKER, "plugin1", "thing"], "{what}");
        let notes = place.notes(Level::Debug);
        let expected = format!("socket directory {} not removed", abandoned.display());
        assert!(notes.len() == 1 && notes[0].contains(&expected) && notes[0].contains("thing"), "{notes:?}");
        if abandoned.join("thing").is_dir() {
            std::fs::remove_dir(abandoned.join("thing")).expect("it is empty");
        } else {
            std::fs::remove_file(abandoned.join("thing")).expect("it is there");
        }
        place.sweep();
        assert!(!abandoned.exists(), "{what}: once it is gone, the rest goes too");
    }
}

#[test]
fn a_link_by_the_name_of_a_directory_of_ours_is_not_followed() {
    let (place, elsewhere) = (Place::new(), Place::new());
    let abandoned = elsewhere.abandoned();
    let name = abandoned.file_name().expect("a name").to_str().expect("text");
    symlink(&abandoned, place.path(name)).expect("a link");
    place.sweep();
    assert_eq!(names(&abandoned), [MARKER, "plugin1"]);
    assert!(place.path(name).is_symlink());
}

#[test]
fn a_directory_that_is_put_in_the_place_of_ours_meanwhile_is_not_touched() {
    let place = Place::new();
    let directory = place.create();
    let path = directory.path().to_owned();
    std::fs::rename(&path, place.path("moved")).expect("a new name");
    DirBuilder::new().mode(0o700).create(&path).expect("a directory");
    drop(directory);
    assert!(path.exists(), "an empty directory of a user");
    std::fs::write(path.join("Pulumi.yaml"), "name: demo").expect("a file");
    assert_eq!(names(&place.path("moved")), [""; 0], "only what was ours is gone");
}

#[test]
fn what_a_provider_leaves_beside_its_socket_stays_with_a_warning() {
    let place = Place::new();
    let directory = place.create();
    let path = directory.path().to_owned();
    std::fs::write(path.join("report.txt"), "of the provider").expect("a file");
    drop(UnixListener::bind(path.join("plugin1")).expect("a socket"));
    drop(directory);
    assert_eq!(names(&path), [MARKER, "plugin1", "report.txt"]);
    let warnings = place.notes(Level::Warn);
    assert!(
        warnings.len() == 1
            && warnings[0].contains(&path.display().to_string())
            && warnings[0].contains("report.txt"),
        "{warnings:?}"
    );
}

#[test]
fn the_runtime_directory_of_a_session_is_used_if_only_its_user_may_enter_it() {
    let session = tempfile::tempdir().expect("a directory");
    let runtime = session.path().join("1000");
    let set = |path: &Path, mode| {
        isthmus_platform::files::set_mode(path, mode).expect("it is ours");
    };
    assert_eq!(runtime_parent(&runtime), None, "it is missing");
    std::fs::create_dir(&runtime).expect("a directory");
    set(&runtime, 0o755);
    assert_eq!(runtime_parent(&runtime), None, "others may enter it");
    set(&runtime, 0o700);
    let ours = runtime.join("isthmus");
    assert_eq!(runtime_parent(&runtime), Some(ours.clone()));
    assert_eq!(isthmus_platform::files::mode(&std::fs::metadata(&ours).expect("a directory")) & 0o777, 0o700);
    set(&ours, 0o770);
    assert_eq!(runtime_parent(&runtime), None, "others may write to ours");
    std::fs::remove_dir(&ours).expect("it is empty");
    symlink(session.path(), &ours).expect("a link");
    assert_eq!(runtime_parent(&runtime), None, "ours is a link");
    std::fs::remove_file(&ours).expect("a link");
    std::fs::write(&ours, "").expect("a file");
    assert_eq!(runtime_parent(&runtime), None, "ours is a file");
    let long = runtime.join("a".repeat(60));
    DirBuilder::new().mode(0o700).create(&long).expect("a directory");
    assert_eq!(runtime_parent(&long), None, "sockets would have too long a path");
    if rustix::process::geteuid().is_root() {
        std::fs::remove_file(&ours).expect("a file");
        std::os::unix::fs::chown(&runtime, Some(65534), None).expect("as root");
        assert_eq!(runtime_parent(&runtime), None, "it is another user's");
    }
}
