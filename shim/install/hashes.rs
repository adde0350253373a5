//! Package hashes: `h1:` and `zh:`, as in lock files and mirrors.
//!
//! `zh:` is the checksum of an archive. It is what registries sign, but cannot be computed from an
//! unpacked package. `h1:` is a hash of names and contents, the same for an archive and for a
//! directory; it comes from Go's module checksums, and includes all entries of an archive, and all
//! files of a directory, with links followed.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use isthmus_common::{Links, NotRegular, open_regular, shortened};
use sha2::{Digest as _, Sha256};

/// Limit of files.
const MOST_FILES: usize = 100_000;

/// Limit of unpacked bytes. The largest providers have some hundred megabytes.
const LARGEST: u64 = 8 << 30;

/// A package on disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PackageForm {
    /// Unpacked.
    Directory(PathBuf),
    /// As a ZIP file.
    Archive(PathBuf),
}

/// The hash of a package with its scheme as prefix: `h1:…`. Ordered as text, as in lock files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageHash(String);

/// Scheme of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashScheme {
    /// `h1`: the names and contents of files.
    Contents,
    Archive,
    /// An unknown scheme. Such hashes are preserved, and never match.
    Other,
}

/// A text is no hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a package hash, which starts with its scheme and a colon, as in \"h1:\"")]
pub struct HashError(pub String);

/// Hashing a package failed.
#[derive(Debug, thiserror::Error)]
#[error("the package at {} cannot be hashed", path.display())]
pub struct SumError {
    /// The package.
    pub path: PathBuf,
    /// The cause.
    #[source]
    pub source: io::Error,
}

impl PackageHash {
    /// Parses `SCHEME:HASH`.
    ///
    /// # Errors
    /// When there is no scheme.
    pub fn parse(text: &str) -> Result<Self, HashError> {
        match text.split_once(':') {
            Some((scheme, _)) if !scheme.is_empty() => Ok(Self(text.to_owned())),
            _ => Err(HashError(shortened(text, 200).into())),
        }
    }

    /// The hash of an archive with a known checksum.
    pub fn of_archive_sum(sha256: [u8; 32]) -> Self {
        Self(format!("zh:{}", hex::encode(sha256)))
    }

    /// The hash of an archive.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_archive(path: &Path) -> Result<Self, SumError> {
        let sum = open_regular(path, Links::Follow).and_then(|file| sum_of(file, &mut LARGEST.clone()));
        sum.map(Self::of_archive_sum).map_err(|source| SumError { path: path.to_owned(), source })
    }

    /// The hash of a package's contents.
    ///
    /// # Errors
    /// When it cannot be read, or is no package.
    pub fn of_contents(package: &PackageForm) -> Result<Self, SumError> {
        let sums = match package {
            PackageForm::Directory(path) => sums_of_directory(path),
            PackageForm::Archive(path) => sums_of_archive(path),
        };
        let of_all = sums.and_then(|sums| of_sums(&sums));
        of_all.map_err(|source| SumError { path: package.path().to_owned(), source })
    }

    /// Its scheme.
    pub(crate) fn scheme(&self) -> HashScheme {
        match self.0.split_once(':') {
            Some(("h1", _)) => HashScheme::Contents,
            Some(("zh", _)) => HashScheme::Archive,
            _ => HashScheme::Other,
        }
    }

    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PackageHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl PackageForm {
    /// Its path.
    pub fn path(&self) -> &Path {
        match self {
            Self::Directory(path) | Self::Archive(path) => path,
        }
    }

    /// The first of these hashes that matches. Each scheme is computed at most once.
    pub(crate) fn first_match<'h>(
        &self,
        wanted: impl IntoIterator<Item = &'h PackageHash>,
    ) -> Result<Option<&'h PackageHash>, SumError> {
        let (mut contents, mut archive) = (None, None);
        for hash in wanted {
            let found = match (hash.scheme(), self) {
                (HashScheme::Contents, _) => match &mut contents {
                    Some(known) => known,
                    unknown => unknown.insert(PackageHash::of_contents(self)?),
                },
                (HashScheme::Archive, Self::Archive(path)) => match &mut archive {
                    Some(known) => known,
                    unknown => unknown.insert(PackageHash::of_archive(path)?),
                },
                (HashScheme::Archive | HashScheme::Other, _) => continue,
            };
            if found == hash {
                return Ok(Some(hash));
            }
        }
        Ok(None)
    }
}

/// The hash of lines of hashes and names, ordered by the names' bytes.
fn of_sums(sums: &BTreeMap<Vec<u8>, [u8; 32]>) -> io::Result<PackageHash> {
    let mut all = Sha256::new();
    for (name, sum) in sums {
        if name.contains(&b'\n') {
            return Err(invalid(format!("the name {:?} has a line break", String::from_utf8_lossy(name))));
        }
        all.update(hex::encode(sum));
        all.update("  ");
        all.update(name);
        all.update("\n");
    }
    Ok(PackageHash(format!("h1:{}", STANDARD.encode(all.finalize()))))
}

fn sums_of_directory(directory: &Path) -> io::Result<BTreeMap<Vec<u8>, [u8; 32]>> {
    let mut sums = BTreeMap::new();
    let mut left = LARGEST;
    // Depth is bounded by the length of paths, so an explicit stack protects the program's own.
    let mut directories = vec![(directory.to_owned(), Vec::new())];
    while let Some((directory, name)) = directories.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            let mut name = name.clone();
            if !name.is_empty() {
                name.push(b'/');
            }
            name.extend_from_slice(entry.file_name().as_encoded_bytes());
            if entry.file_type()?.is_dir() {
                directories.push((entry.path(), name));
            } else {
                let file =
                    open_regular(&entry.path(), Links::Follow).map_err(|error| {
                        match NotRegular::of(&error) {
                            Some(reason) => invalid(format!("{}: {reason}", entry.path().display())),
                            None => error,
                        }
                    })?;
                sums.insert(name, sum_of(file, &mut left)?);
            }
            if sums.len() + directories.len() > MOST_FILES {
                return Err(invalid(format!("there are more than {MOST_FILES} files in it")));
            }
        }
    }
    Ok(sums)
}

fn sums_of_archive(path: &Path) -> io::Result<BTreeMap<Vec<u8>, [u8; 32]>> {
    let mut archive = zip::ZipArchive::new(io::BufReader::new(open_regular(path, Links::Follow)?))?;
    if archive.len() > MOST_FILES {
        return Err(invalid(format!("there are more than {MOST_FILES} files in it")));
    }
    let mut sums = BTreeMap::new();
    let mut left = LARGEST;
    for index in 0..archive.len() {
        let file = archive.by_index(index)?;
        let name = file.name_raw().to_vec();
        let sum = sum_of(file, &mut left)?;
        if sums.insert(name.clone(), sum).is_some() {
            let name = String::from_utf8_lossy(&name).into_owned();
            return Err(invalid(format!("{name:?} is in it more than once")));
        }
    }
    Ok(sums)
}

/// The checksum of a reader, whose length must not exceed `left`.
pub(crate) fn sum_of(mut reader: impl Read, left: &mut u64) -> io::Result<[u8; 32]> {
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => return Ok(sum.finalize().into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let taken = u64::try_from(count).unwrap_or(u64::MAX);
        *left =
            left.checked_sub(taken).ok_or_else(|| invalid(format!("it holds more than {LARGEST} bytes")))?;
        sum.update(&buffer[..count]);
    }
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    const FILES: [(&str, &str); 3] = [("b", "two\n"), ("a/c", "three\n"), ("a.txt", "")];

    fn directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, text) in FILES {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, text).expect("a file");
        }
        directory
    }

    fn archive(files: &[(&str, &str)]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut writer = zip::ZipWriter::new(file.as_file());
        for (name, text) in files {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).expect("an entry");
            writer.write_all(text.as_bytes()).expect("a file");
        }
        writer.finish().expect("an archive");
        file
    }

    #[test]
    fn a_directory_and_an_archive_of_the_same_files_have_one_sum_of_contents() {
        // The sha256sum of "HASH  a.txt\nHASH  a/c\nHASH  b\n", as by Go's
        // golang.org/x/mod/sumdb/dirhash.
        let lines = format!(
            "{}  a.txt\n{}  a/c\n{}  b\n",
            hex::encode(Sha256::digest("")),
            hex::encode(Sha256::digest("three\n")),
            hex::encode(Sha256::digest("two\n")),
        );
        let expected = format!("h1:{}", STANDARD.encode(Sha256::digest(lines)));
        let (directory, archive) = (directory(), archive(&FILES));
        let of = |package| {
            PackageHash::of_contents(&package).unwrap_or_else(|error| panic!("{error:?}")).to_string()
        };
        assert_eq!(of(PackageForm::Directory(directory.path().into())), expected);
        assert_eq!(of(PackageForm::Archive(archive.path().into())), expected);
        fs::write(directory.path().join("b"), "two").expect("a file");
        assert_ne!(of(PackageForm::Directory(directory.path().into())), expected);
        let empty = tempfile::tempdir().expect("a directory");
        assert_eq!(
            of(PackageForm::Directory(empty.path().into())),
            "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
    }

    #[test]
    fn a_package_is_known_by_any_of_several_sums() {
        let archive = archive(&FILES);
        let packed = PackageForm::Archive(archive.path().into());
        let contents = PackageHash::of_contents(&packed).expect("a sum");
        let whole = PackageHash::of_archive(archive.path()).expect("a sum");
        let bytes = fs::read(archive.path()).expect("it is there");
        assert_eq!(whole, PackageHash::of_archive_sum(Sha256::digest(bytes).into()));
        let parse = |text: &str| PackageHash::parse(text).expect(text);
        let others = [parse("h1:x"), parse("zh:00"), parse("h9:y")];
        assert_eq!(packed.first_match(&others).expect("it can be read"), None);
        assert_eq!(packed.first_match(others.iter().chain([&whole])).expect("it can be read"), Some(&whole));
        assert_eq!(
            packed.first_match(others.iter().chain([&contents])).expect("it can be read"),
            Some(&contents)
        );
        // An unpacked package has no archive hash.
        let directory = directory();
        assert_eq!(
            PackageForm::Directory(directory.path().into()).first_match([&whole]).expect("it can be read"),
            None
        );
        assert!(PackageHash::parse("x").is_err() && PackageHash::parse(":x").is_err());
    }

    #[test]
    fn unhashable_packages_are_refused_with_the_reason() {
        let reason = |package| {
            let error = PackageHash::of_contents(&package).expect_err("it has none");
            format!("{error}: {}", error.source)
        };
        let file = tempfile::NamedTempFile::new().expect("a file");
        assert!(reason(PackageForm::Archive(file.path().into())).contains("cannot be hashed: "));
        assert!(reason(PackageForm::Directory(file.path().into())).contains("cannot be hashed: "));
        let broken = archive(&[("a\nb", "")]);
        assert!(reason(PackageForm::Archive(broken.path().into())).contains("has a line break"));
        let directory = directory();
        isthmus_platform::files::symlink("nowhere", directory.path().join("link")).expect("a link");
        assert!(reason(PackageForm::Directory(directory.path().into())).contains("cannot be hashed: "));
        let pipe = tempfile::tempdir().expect("a directory");
        let (path, mode) = (pipe.path().join("b"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).expect("a FIFO");
        let expected = format!("{}: it is a FIFO, not a regular file", path.display());
        assert!(reason(PackageForm::Directory(pipe.path().into())).contains(&expected));
        assert!(reason(PackageForm::Archive(path)).contains("it is a FIFO"));
    }
}
