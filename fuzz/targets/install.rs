//! What registries, mirrors, publishers and users send.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use isthmus_install::{PackageHash, ProviderAddress, VersionConstraint, fuzzing};
use semver::Version;

/// The address of a provider has one form.
pub(crate) fn addresses(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(address) = ProviderAddress::parse(text) {
        for written in [address.to_string(), address.for_display()] {
            assert_eq!(ProviderAddress::parse(&written).as_ref(), Ok(&address), "{text:?}");
        }
        let parts = [address.namespace(), address.provider_type()];
        assert!(parts.iter().all(|part| !part.is_empty() && !part.contains(['/', '.'])), "{address}");
        // They are the names of directories.
        assert!(!address.host().contains(['/', '\\']) && !address.host().starts_with('.'), "{address}");
    }
    if let Ok(hash) = PackageHash::parse(text) {
        assert_eq!(PackageHash::parse(hash.as_str()).as_ref(), Ok(&hash));
    }
}

/// A version constraint has one canonical form, which allows the same versions.
pub(crate) fn constraints(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(constraint) = VersionConstraint::parse(text) else { return };
    let canonical = constraint.canonical();
    let again = VersionConstraint::parse(&canonical).unwrap_or_else(|error| panic!("{error}: {text:?}"));
    assert_eq!(again.canonical(), canonical, "{text:?}");
    for version in versions_near(&constraint) {
        let allowed = constraint.allows(&version);
        assert_eq!(again.allows(&version), allowed, "{version} by {text:?} and {canonical:?}");
        let only = constraint.only_version();
        assert!(!allowed || only.is_none_or(|only| *only == version), "{version} by {text:?}");
    }
}

/// Versions around the boundaries of a constraint, and some others.
pub(crate) fn versions_near(constraint: &VersionConstraint) -> Vec<Version> {
    let fixed = ["0.0.0", "1.2.3", "1.2.3-beta.1", "1.2.3+build", "2.0.0", "18446744073709551615.0.0"];
    let mut versions: Vec<Version> =
        fixed.iter().map(|text| Version::parse(text).expect("a version")).collect();
    let canonical = constraint.canonical();
    for part in canonical.split(", ") {
        let number = part.trim_start_matches(|character: char| !character.is_ascii_digit());
        // `~> 1.2` has two numbers.
        let Ok(version) = Version::parse(number).or_else(|_| Version::parse(&format!("{number}.0"))) else {
            continue;
        };
        let Version { major, minor, patch, .. } = version;
        let release = Version::new(major, minor, patch);
        versions.push(Version { patch: patch.saturating_add(1), ..release.clone() });
        versions.push(Version { patch: patch.saturating_sub(1), ..release.clone() });
        versions.push(Version::new(major, minor.saturating_add(1), 0));
        versions.push(Version::new(major.saturating_add(1), 0, 0));
        versions.extend([release, version]);
    }
    versions
}

pub(crate) fn cli_config(bytes: &[u8]) {
    fuzzing::cli_config(bytes);
}

pub(crate) fn lock_file(bytes: &[u8]) {
    fuzzing::lock_file(bytes);
}

pub(crate) fn checksums(bytes: &[u8]) {
    fuzzing::checksums(bytes);
}

pub(crate) fn registry(bytes: &[u8]) {
    fuzzing::registry(bytes);
}

pub(crate) fn network_mirror(bytes: &[u8]) {
    fuzzing::network_mirror(bytes);
}

pub(crate) fn oci_mirror(bytes: &[u8]) {
    fuzzing::oci_mirror(bytes);
}

/// A key in ASCII armor, an empty line `===`, and a signature, in ASCII armor or binary.
pub(crate) fn signature(bytes: &[u8]) {
    const MARK: &[u8] = b"===\n";
    let end = bytes.windows(MARK.len()).position(|found| found == MARK);
    let (key, signature) = end.map_or((&b""[..], bytes), |end| (&bytes[..end], &bytes[end + MARK.len()..]));
    fuzzing::signature(b"document\n", signature, &String::from_utf8_lossy(key));
}

/// An archive, which creates nothing outside of its directory, and no more than the limits.
pub(crate) fn unpack(bytes: &[u8]) {
    let scratch = scratch();
    let (archive, directory) = (scratch.join("archive"), scratch.join("outer").join("inner"));
    fs::create_dir_all(&directory).expect("a directory");
    fs::write(&archive, bytes).expect("a file");
    let (most_bytes, most_entries) = fuzzing::unpack(&archive, &directory);
    let (bytes, entries) = measured(&directory);
    assert!(bytes <= most_bytes && entries <= most_entries, "{bytes} bytes in {entries} entries");
    assert_eq!(measured(scratch), (bytes + fs::metadata(&archive).expect("it is there").len(), entries + 3));
    fs::remove_dir_all(scratch.join("outer")).expect("it can be removed");
}

/// A directory of this process, in memory if there is such a file system.
fn scratch() -> &'static Path {
    static SCRATCH: OnceLock<PathBuf> = OnceLock::new();
    SCRATCH.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let directory = parent.join(format!("isthmus-fuzz-{}", std::process::id()));
        fs::create_dir(&directory).expect("a new directory");
        directory
    })
}

/// The bytes of all files below a directory, and how many entries it has. There are only files and
/// directories.
fn measured(directory: &Path) -> (u64, usize) {
    let (mut bytes, mut entries) = (0, 0);
    for entry in fs::read_dir(directory).expect("a directory") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a type");
        entries += 1;
        if kind.is_dir() {
            let (more_bytes, more_entries) = measured(&entry.path());
            (bytes, entries) = (bytes + more_bytes, entries + more_entries);
        } else {
            assert!(kind.is_file(), "{:?} is neither a file nor a directory", entry.path());
            bytes += entry.metadata().expect("it is there").len();
        }
    }
    (bytes, entries)
}
