//! Fills a directory as a filesystem mirror, or as a network mirror behind a file server.
//!
//! Layout and index files are those of `tofu providers mirror`. Concurrent readers see complete
//! archives and indexes only, and indexes only contain existing archives.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use isthmus_common::permissions::{FILE, create_directories};
use isthmus_common::scratch::ScratchDirectory;
use isthmus_common::{Links, open_regular, read_regular};
use semver::Version;
use serde_json::json;

use super::{FilesystemMirror, MirrorError};
use crate::{PackageForm, PackageHash, Platform, ProviderAddress};

/// Fills a directory.
#[derive(Clone, Debug)]
pub struct MirrorWriter {
    mirror: FilesystemMirror,
}

impl MirrorWriter {
    /// Fills this directory, which may not exist.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { mirror: FilesystemMirror::new(root) }
    }

    /// Copies a verified archive into the mirror. It is in no index until
    /// [`write_indexes`](Self::write_indexes).
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn add(
        &self,
        address: &ProviderAddress,
        version: &Version,
        platform: Platform,
        archive: &Path,
    ) -> Result<PathBuf, MirrorError> {
        let target = self.mirror.archive(address, version, platform);
        let copied = create_directories(&self.mirror.provider_directory(address)).and_then(|()| {
            let mut source = open_regular(archive, Links::Follow)?;
            replace(&target, |file| io::copy(&mut source, file).map(drop))
        });
        copied.map_err(|source| MirrorError::Write { path: target.clone(), source })?;
        Ok(target)
    }

    /// Writes a provider's indexes: `index.json` with all versions, and for each of them
    /// `VERSION.json` with its archives and their hashes.
    ///
    /// # Errors
    /// When an archive cannot be read, or an index cannot be written.
    pub fn write_indexes(&self, address: &ProviderAddress) -> Result<(), MirrorError> {
        let directory = self.mirror.provider_directory(address);
        let mut versions: BTreeMap<String, BTreeMap<String, serde_json::Value>> = BTreeMap::new();
        for package in self.mirror.packages(address)? {
            // Only archives can be served.
            let PackageForm::Archive(path) = &package.form else { continue };
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let hashes = [PackageHash::of_contents(&package.form)?, PackageHash::of_archive(path)?];
            let hashes: Vec<&str> = hashes.iter().map(PackageHash::as_str).collect();
            let archives = versions.entry(package.version.to_string()).or_default();
            archives.insert(package.platform.to_string(), json!({"hashes": hashes, "url": name}));
        }
        for (version, archives) in &versions {
            write_index(&directory.join(format!("{version}.json")), "archives", &json!(archives))?;
        }
        let all: BTreeMap<&String, serde_json::Value> =
            versions.keys().map(|version| (version, json!({}))).collect();
        write_index(&directory.join("index.json"), "versions", &json!(all))
    }
}

/// Writes or replaces an index; a file without the member of an index is none.
fn write_index(path: &Path, member: &str, value: &serde_json::Value) -> Result<(), MirrorError> {
    let written = require_index(path, member)
        .and_then(|()| replace(path, |file| write!(file, "{:#}", json!({ member: value }))));
    written.map_err(|source| MirrorError::Write { path: path.to_owned(), source })
}

fn require_index(path: &Path, member: &str) -> io::Result<()> {
    let text = match read_regular(path, Links::Follow) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        text => text?,
    };
    match serde_json::from_slice::<serde_json::Value>(&text) {
        Ok(found) if found.get(member).is_some() => Ok(()),
        Ok(_) | Err(_) => {
            Err(io::Error::other("the existing file is not the index of a mirror; move it away"))
        }
    }
}

/// Replaces a file atomically.
fn replace(path: &Path, write: impl FnOnce(&mut fs::File) -> io::Result<()>) -> io::Result<()> {
    let scratch = ScratchDirectory::beside(path)?;
    // A server of another user must be able to read it; minus the umask.
    let mut file = scratch.file(FILE)?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut writer = zip::ZipWriter::new(file.as_file());
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file("terraform-provider-b_v1.0.0", options).expect("an entry");
        writer.write_all(text.as_bytes()).expect("a file");
        writer.finish().expect("an archive");
        file
    }

    #[test]
    fn a_file_of_others_in_the_place_of_an_index_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let writer = MirrorWriter::new(directory.path());
        let address = ProviderAddress::parse("example.com/a/b").expect("an address");
        let (version, platform) =
            (Version::new(1, 0, 0), Platform::parse("linux_amd64").expect("a platform"));
        writer.add(&address, &version, platform, archive("one").path()).expect("it is copied");
        for name in ["1.0.0.json", "index.json"] {
            let path = directory.path().join("example.com/a/b").join(name);
            fs::write(&path, "{\"scripts\": {}}").expect("a file");
            let error = writer.write_indexes(&address).expect_err(name);
            assert!(
                isthmus_common::error_chain(&error).ends_with("is not the index of a mirror; move it away"),
                "{error}"
            );
            assert_eq!(fs::read(&path).expect("the file"), b"{\"scripts\": {}}");
            fs::remove_file(&path).expect("a file");
            writer.write_indexes(&address).expect("nothing is in the way");
        }
    }

    #[test]
    fn a_mirror_has_archives_and_indexes_that_name_them() {
        let directory = tempfile::tempdir().expect("a directory");
        let writer = MirrorWriter::new(directory.path().join("new"));
        let address = ProviderAddress::parse("example.com/a/b").expect("an address");
        let platform = |text| Platform::parse(text).expect("a platform");
        let add = |version: &str, machine, text| {
            let archive = archive(text);
            let version = Version::parse(version).expect(version);
            let path = writer.add(&address, &version, platform(machine), archive.path());
            assert_eq!(fs::read(path.expect("it is copied")).ok(), fs::read(archive.path()).ok());
        };
        add("1.0.0", "linux_amd64", "one");
        add("1.0.0", "darwin_arm64", "two");
        add("1.1.0", "linux_amd64", "three");
        add("1.1.0", "linux_amd64", "four");
        writer.write_indexes(&address).unwrap_or_else(|error| panic!("{error}"));

        let provider = directory.path().join("new/example.com/a/b");
        let read = |name: &str| fs::read_to_string(provider.join(name)).expect(name);
        assert_eq!(read("index.json"), "{\n  \"versions\": {\n    \"1.0.0\": {},\n    \"1.1.0\": {}\n  }\n}");
        let index: serde_json::Value = serde_json::from_str(&read("1.1.0.json")).expect("JSON");
        let path = provider.join("terraform-provider-b_1.1.0_linux_amd64.zip");
        let hashes = [
            PackageHash::of_contents(&PackageForm::Archive(path.clone())).expect("a sum").to_string(),
            PackageHash::of_archive(&path).expect("a sum").to_string(),
        ];
        let url = "terraform-provider-b_1.1.0_linux_amd64.zip";
        assert_eq!(index, json!({"archives": {"linux_amd64": {"hashes": hashes, "url": url}}}));
        let index: serde_json::Value = serde_json::from_str(&read("1.0.0.json")).expect("JSON");
        assert_eq!(index["archives"].as_object().map(serde_json::Map::len), Some(2));
        // No temporary file is left.
        assert_eq!(fs::read_dir(&provider).expect("a directory").count(), 6);
        assert_eq!(writer.mirror.packages(&address).expect("it can be read").len(), 3);
    }
}
