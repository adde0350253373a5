//! Storage of the sandbox's objects: one directory, one JSON file per object.
//!
//! Files, because a provider process runs for one operation only, and users can cause drift by
//! editing or deleting them. `TYPE.ID.json` contains the object's state, and is replaced
//! atomically.

use isthmus_platform::files::DirBuilderExt as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::diagnostics::Diagnostic;

#[derive(Clone, Debug)]
pub(crate) struct Objects {
    directory: PathBuf,
}

/// Why an object's file cannot be accessed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObjectsError {
    /// The id is not one that the sandbox generates, and could refer to another directory.
    #[error("{id:?} cannot be the id of an object: ids are letters, digits, hyphens and underscores")]
    BadId { id: String },
    /// An I/O error.
    #[error("the sandbox cannot {what} {}", path.display())]
    File {
        /// The failed operation.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl Objects {
    /// Opens a directory; creates it if necessary.
    pub(crate) fn open(directory: &Path) -> Result<Self, ObjectsError> {
        // Other users may not change the objects, even under a umask of 000.
        let created = fs::DirBuilder::new().recursive(true).mode(0o755).create(directory);
        created.map_err(failed("make the directory", directory))?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// The content of an object's file; `None` if there is none.
    pub(crate) fn read(&self, type_name: &str, id: &str) -> Result<Option<Vec<u8>>, ObjectsError> {
        let path = self.path(type_name, id)?;
        match fs::read(&path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path)(error)),
        }
    }

    /// Writes an object's file atomically.
    pub(crate) fn write(&self, type_name: &str, id: &str, content: &[u8]) -> Result<(), ObjectsError> {
        let path = self.path(type_name, id)?;
        let fail = failed("write", &path);
        let mut file = match tempfile::NamedTempFile::new_in(&self.directory) {
            Ok(file) => file,
            Err(error) => return Err(fail(error)),
        };
        let written = file.write_all(content).and_then(|()| file.persist(&path).map_err(|error| error.error));
        written.map(|_| ()).map_err(fail)
    }

    /// Removes an object's file; `false` if there was none.
    pub(crate) fn remove(&self, type_name: &str, id: &str) -> Result<bool, ObjectsError> {
        let path = self.path(type_name, id)?;
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed("remove", &path)(error)),
        }
    }

    /// The ids of all objects of a type, sorted.
    pub(crate) fn ids(&self, type_name: &str) -> Result<Vec<String>, ObjectsError> {
        let fail = failed("list", &self.directory);
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) => return Err(fail(error)),
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut ids: Vec<String> = names
            .filter_map(|name| {
                let id = name.strip_prefix(type_name)?.strip_prefix('.')?.strip_suffix(".json")?;
                is_id(id).then(|| id.to_owned())
            })
            .collect();
        ids.sort();
        Ok(ids)
    }

    fn path(&self, type_name: &str, id: &str) -> Result<PathBuf, ObjectsError> {
        if !is_id(id) {
            return Err(ObjectsError::BadId { id: id.to_owned() });
        }
        Ok(self.directory.join(format!("{type_name}.{id}.json")))
    }
}

impl From<ObjectsError> for Diagnostic {
    fn from(error: ObjectsError) -> Self {
        let reason = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        Self::error(error.to_string(), reason)
    }
}

fn is_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ObjectsError {
    let path = path.to_owned();
    move |source| ObjectsError::File { what, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_exists_until_it_is_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let objects = Objects::open(directory.path()).expect("a directory that exists");

        assert_eq!(objects.read("sandbox_note", "a").expect("readable"), None);
        objects.write("sandbox_note", "a", b"{}").expect("writable");
        objects.write("sandbox_note", "a", b"{\"x\":1}").expect("writable again");
        assert_eq!(objects.read("sandbox_note", "a").expect("readable").as_deref(), Some(&b"{\"x\":1}"[..]));
        assert!(objects.remove("sandbox_note", "a").expect("removable"));
        assert!(!objects.remove("sandbox_note", "a").expect("gone is no error"));
    }

    #[test]
    fn only_objects_of_the_type_are_listed() {
        let directory = tempfile::tempdir().expect("a directory");
        let objects = Objects::open(directory.path()).expect("a directory that exists");
        for (type_name, id) in [("sandbox_note", "b"), ("sandbox_note", "a"), ("sandbox_notebook", "c")] {
            objects.write(type_name, id, b"{}").expect("writable");
        }
        assert_eq!(objects.ids("sandbox_note").expect("listable"), ["a", "b"]);
    }

    #[test]
    fn an_id_cannot_lead_out_of_the_directory() {
        let directory = tempfile::tempdir().expect("a directory");
        let objects = Objects::open(directory.path()).expect("a directory that exists");
        for id in ["../escape", "", "a/b", "a.b", &"x".repeat(65)] {
            assert!(matches!(objects.read("sandbox_note", id), Err(ObjectsError::BadId { .. })), "{id:?}");
        }
    }
}
