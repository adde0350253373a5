use isthmus_test_registry::{Archive, Entry};

use super::*;

fn unpacked(bytes: &[u8], limits: &UnpackLimits) -> Result<tempfile::TempDir, UnpackError> {
    let directory = tempfile::tempdir().expect("a directory");
    let archive = directory.path().join("a.zip");
    std::fs::write(&archive, bytes).expect("a file");
    let into = directory.path().join("into");
    std::fs::create_dir(&into).expect("a directory");
    unpack(&archive, &into, limits).map(|()| directory)
}

fn refused(archive: Archive) -> String {
    match unpacked(&archive.finish(), &UnpackLimits::default()).expect_err("it is hostile") {
        UnpackError::Refused { fault, .. } => fault.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn files_come_out_with_the_one_bit_that_matters() {
    let archive = Archive::default()
        .with("terraform-provider-x_v1.0.0", Entry::File(0o644), b"program")
        .with("tool", Entry::File(0o4777), b"program too")
        .with("docs/deep/README.md", Entry::File(0o600), b"text")
        .with("docs/", Entry::Directory, b"")
        .with("empty/", Entry::Directory, b"");
    let directory = unpacked(&archive.finish(), &UnpackLimits::default()).expect("it is harmless");
    let into = directory.path().join("into");
    for (name, content, mode) in [
        ("terraform-provider-x_v1.0.0", "program", 0o755),
        ("tool", "program too", 0o755),
        ("docs/deep/README.md", "text", 0o644),
    ] {
        let path = into.join(name);
        assert_eq!(std::fs::read_to_string(&path).expect(name), content);
        let found = isthmus_platform::files::mode(&path.metadata().expect(name)) & 0o7777;
        assert_eq!(found & !0o022, mode & !0o022, "{name}: {found:o}");
    }
    assert!(into.join("empty").is_dir());
}

#[test]
fn nothing_leads_out_of_the_directory() {
    for name in
        ["../x", "/etc/x", "a/../../x", "a//b", "./x", "a/.", "..\\x", "C:x", "C:/x", "a\nb", "..", "/"]
    {
        let text = refused(Archive::default().with(name, Entry::File(0o644), b""));
        assert!(text.contains("does not lead into the directory"), "{name}: {text}");
    }
    let deep = vec!["a"; 40].join("/");
    assert!(refused(Archive::default().with(&deep, Entry::File(0o644), b"")).contains("does not lead"));
    let long = "a".repeat(300);
    assert!(refused(Archive::default().with(&long, Entry::File(0o644), b"")).contains("does not lead"));
}

#[test]
fn links_and_devices_are_refused() {
    let text = refused(Archive::default().with("link", Entry::Link, b"/etc/passwd"));
    assert_eq!(text, "\"link\" in it is neither a file nor a directory");
}

#[test]
fn two_names_that_some_system_takes_for_one_are_refused() {
    let two = |one: &str, other: &str| {
        let archive = Archive::default().with(one, Entry::File(0o644), b"1");
        let entry = if other.ends_with('/') { Entry::Directory } else { Entry::File(0o644) };
        refused(archive.with(other, entry, b"2"))
    };
    for (one, other) in
        [("README", "readme"), ("a", "a/b"), ("a/b", "A/c"), ("a/b", "a"), ("a", "a/"), ("ÄB", "äb")]
    {
        assert!(
            two(one, other).contains("twice, or differs from another name only in case"),
            "{one} {other}"
        );
    }
}

#[test]
fn a_name_that_is_there_twice_is_refused() {
    // The archive's library refuses to write duplicates, so one of two names of equal length is
    // replaced.
    let bytes = Archive::default()
        .with("aaaa", Entry::File(0o644), b"1")
        .with("bbbb", Entry::File(0o644), b"2")
        .finish();
    let mut twice = bytes.clone();
    for at in 0..bytes.len() - 4 {
        if &bytes[at..at + 4] == b"bbbb" {
            twice[at..at + 4].copy_from_slice(b"aaaa");
        }
    }
    let error = unpacked(&twice, &UnpackLimits::default()).expect_err("which one?").to_string();
    assert!(error.contains("refused"), "{error}");
}

#[test]
fn an_archive_that_unpacks_to_too_much_is_given_up() {
    let zeros = vec![0; 1 << 20];
    let bomb = Archive::default()
        .with("a", Entry::File(0o644), &zeros)
        .with("b", Entry::File(0o644), &zeros)
        .finish();
    let limits = UnpackLimits { small: 1 << 16, ..UnpackLimits::default() };
    let error = unpacked(&bomb, &limits).expect_err("a bomb").to_string();
    assert!(error.contains("more than 100 times its size"), "{error}");
    let limits = UnpackLimits { bytes: (1 << 20) + 1, ..UnpackLimits::default() };
    let error = unpacked(&bomb, &limits).expect_err("too large").to_string();
    assert!(error.contains("more than 1048577 bytes"), "{error}");
    let limits = UnpackLimits { entries: 1, ..UnpackLimits::default() };
    let error = unpacked(&bomb, &limits).expect_err("too many").to_string();
    assert!(error.contains("more than 1 entries"), "{error}");
    unpacked(&bomb, &UnpackLimits::default()).expect("small enough");
}

#[test]
fn what_is_damaged_anywhere_is_no_archive() {
    let whole = Archive::of_programs(&[("terraform-provider-x", &b"a program of some length".repeat(9))]);
    for length in [0, 1, 20, whole.len() / 2, whole.len() - 1] {
        assert!(unpacked(&whole[..length], &UnpackLimits::default()).is_err(), "{length} bytes");
    }
    // One bit anywhere: an error, or the same files (names of authors and times may change).
    for at in (0..whole.len()).step_by(5) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        if let Ok(directory) = unpacked(&damaged, &UnpackLimits::default()) {
            for entry in std::fs::read_dir(directory.path().join("into")).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.file_name().is_some_and(|name| name == "terraform-provider-x") {
                    let content = std::fs::read(&path).expect("a file");
                    assert_eq!(content, b"a program of some length".repeat(9), "byte {at}");
                }
            }
        }
    }
}
