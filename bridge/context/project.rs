//! The Pulumi project around a directory, and the files in it that name plugin versions.
//!
//! As for the Pulumi CLI, the project is the nearest directory upwards with a project file. The
//! search below it is bounded, because it may be a home or root directory: hidden directories,
//! installed dependencies, other projects and other file systems are skipped, links to directories
//! are not followed (as in the Pulumi CLI), and depth and number of entries are limited.

pub mod backend;
pub mod document;
pub mod names_file;
pub mod stale;

use isthmus_platform::files::identity;
use std::fs::{self, DirEntry};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

pub use document::PLUGIN;
use document::{DocumentError, FileKind, Named};

use isthmus_package::parameters::{Parameter, ParameterSource};

/// The project files of the Pulumi CLI, in its order of precedence.
const PROJECT_FILES: [&str; 3] = ["Pulumi.json", "Pulumi.yaml", "Pulumi.yml"];

/// Maximum size of a file, in bytes.
const LARGEST_FILE: u64 = 16 << 20;

/// Maximum depth below the project directory.
const DEEPEST: usize = 12;

/// Maximum number of directory entries: a large monorepo has fewer without its dependencies.
const MOST_ENTRIES: usize = 200_000;

/// A directory, with or without a project file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub directory: PathBuf,
    /// The project file; without one, the directory has no stacks.
    pub file: Option<PathBuf>,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct Contents {
    /// Files that name a plugin version, ordered by path.
    pub files: Vec<(PathBuf, Named)>,
    pub warnings: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("failed to read the project directory {path}", path = .path.display())]
    Directory {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("failed to read the project file {path}", path = .path.display())]
    File {
        path: PathBuf,
        #[source]
        error: FileError,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error(transparent)]
    Read(io::Error),
    #[error(transparent)]
    Document(#[from] DocumentError),
}

impl Project {
    /// The directory itself, whether or not it has a project file.
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), file: project_file(directory) }
    }

    /// The project of a directory: the nearest one upwards.
    pub fn around(directory: &Path) -> Option<Self> {
        directory.ancestors().map(Self::at).find(|project| project.file.is_some())
    }

    /// The runtime of the project's programs, such as `nodejs`, if its file names one.
    pub fn runtime(&self) -> Option<String> {
        let file = self.file.as_deref()?;
        document::runtime(file.file_name()?.to_str()?, &read_file(file).ok()?)
    }

    /// Whether its programs are in HCL, whose `.tf` files have its packages.
    pub fn is_hcl(&self) -> bool {
        self.runtime().as_deref() == Some("hcl")
    }

    /// The files of the program in HCL that the project's directory has, if it is one.
    fn configurations(&self) -> Vec<PathBuf> {
        let entries = self.is_hcl().then(|| fs::read_dir(&self.directory)).into_iter().flatten().flatten();
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut files: Vec<PathBuf> =
            paths.filter(|path| kind_of(path) == Some(FileKind::Configuration)).collect();
        files.sort();
        files
    }

    /// The member that the project file must have for the Pulumi CLI, and has not.
    pub fn missing_member(&self) -> Option<&'static str> {
        let file = self.file.as_deref()?;
        document::missing_member(file.file_name()?.to_str()?, &read_file(file).ok()?)
    }

    /// The directory that `plugins` in the project file names for the plugin, which the Pulumi CLI uses before any other, and
    /// the only version that it is used for, if it has one.
    pub fn plugin_directory(&self) -> Option<(PathBuf, Option<String>)> {
        let file = self.file.as_deref()?;
        let (path, version) =
            document::plugin_directory(file.file_name()?.to_str()?, &read_file(file).ok()?)?;
        Some((self.directory.join(path), version))
    }

    /// The URL of the backend, if the project file names one.
    pub fn backend_url(&self) -> Option<String> {
        let file = self.file.as_deref()?;
        document::backend_url(file.file_name()?.to_str()?, &read_file(file).ok()?)
    }

    /// Reads the files below the directory that name plugin versions. `progress` is called for each
    /// directory with the number of entries so far.
    ///
    /// # Errors
    /// If the project directory or its project file cannot be read or parsed. Other unreadable
    /// files are warned of, or skipped if they may be anything.
    pub fn read(&self, progress: &dyn Fn(usize)) -> Result<Contents, ProjectError> {
        let failed = |error| ProjectError::Directory { path: self.directory.clone(), error };
        let device = device(&self.directory).map_err(failed)?;
        let is_hcl = self.is_hcl();
        let mut search = Search { project: self, is_hcl, device, entries: 0, contents: Contents::default() };
        let mut directories = vec![(self.directory.clone(), 0)];
        while let Some((directory, depth)) = directories.pop() {
            let listed = fs::read_dir(&directory);
            if depth == 0
                && let Err(error) = listed
            {
                return Err(failed(error));
            }
            for entry in listed.into_iter().flatten().filter_map(Result::ok) {
                search.entries += 1;
                if search.entries > MOST_ENTRIES {
                    search.contents.warnings.push(format!(
                        "the search for plugin versions in {} ended after {MOST_ENTRIES} directory entries; name further versions \
                         with --plugin-version",
                        self.directory.display()
                    ));
                    return Ok(search.finish());
                }
                let is_hcl_sdk = kind_of(&entry.path()) == Some(FileKind::HclSdk);
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && !is_hcl_sdk => {
                        if depth < DEEPEST && search.enters(&entry) {
                            directories.push((entry.path(), depth + 1));
                        }
                    }
                    // A file of this name is read, or else reported.
                    Ok(kind) if kind.is_file() || kind.is_symlink() || is_hcl_sdk => {
                        search.read(entry.path())?;
                    }
                    Ok(_) | Err(_) => {}
                }
            }
            progress(search.entries);
        }
        Ok(search.finish())
    }
}

impl Contents {
    /// The providers of the SDKs, each once.
    pub fn providers(&self) -> Vec<ParameterSource> {
        let packages = self.files.iter().filter_map(|(_, named)| named.sdk.as_ref()?.package.as_ref());
        let mut sources: Vec<ParameterSource> = Vec::new();
        for package in packages {
            // An invalid one is reported where it is used.
            if let Ok(Parameter { source, .. }) = Parameter::decode(&package.value)
                && !sources.contains(&source)
            {
                sources.push(source);
            }
        }
        sources
    }
}

fn project_file(directory: &Path) -> Option<PathBuf> {
    PROJECT_FILES.iter().map(|name| directory.join(name)).find(|file| file.is_file())
}

/// A search in progress.
struct Search<'a> {
    project: &'a Project,
    is_hcl: bool,
    /// The file system of the project.
    device: u64,
    entries: usize,
    contents: Contents,
}

impl Search<'_> {
    /// Whether a directory is searched.
    fn enters(&self, entry: &DirEntry) -> bool {
        let name = entry.file_name();
        let is_foreign = name.as_encoded_bytes().starts_with(b".")
            || ["node_modules", "target", "site-packages", "__pycache__"]
                .iter()
                .any(|foreign| name == *foreign);
        if is_foreign {
            return false;
        }
        let path = entry.path();
        // The mark of a Python virtual environment.
        !path.join("pyvenv.cfg").exists()
            && project_file(&path).is_none()
            && device(&path).is_ok_and(|device| device == self.device)
    }

    fn read(&mut self, path: PathBuf) -> Result<(), ProjectError> {
        if kind_of(&path) == Some(FileKind::Configuration) && !self.is_hcl {
            return Ok(());
        }
        match read_named(&path) {
            None => {}
            Some(Ok(named)) if named.is_empty() => {}
            Some(Ok(named)) => self.contents.files.push((path, named)),
            // Without it the project's versions are unknown.
            Some(Err(error)) if self.project.file.as_ref() == Some(&path) => {
                return Err(ProjectError::File { path, error });
            }
            // Other files may be anything; those of components and of HCL are for the Pulumi CLI.
            Some(Err(error)) if matches!(kind_of(&path), Some(FileKind::Project | FileKind::HclSdk)) => {
                self.contents.warnings.push(format!(
                    "failed to read {}: {}; the plugin versions in it are not installed",
                    path.display(),
                    isthmus_common::error_chain(&error)
                ));
            }
            Some(Err(_)) => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Contents {
        self.contents.files.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.contents
    }
}

/// Parses a file, if its kind may name a plugin version.
fn read_named(path: &Path) -> Option<Result<Named, FileError>> {
    let kind = kind_of(path)?;
    let name = path.file_name()?.to_str()?;
    Some(read_file(path).map_err(FileError::Read).and_then(|text| Ok(Named::parse(kind, name, &text)?)))
}

fn kind_of(path: &Path) -> Option<FileKind> {
    path.file_name()?.to_str().and_then(FileKind::of)
}

fn read_file(path: &Path) -> io::Result<String> {
    // Checked first: opening a named pipe would wait for a writer.
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if metadata.len() > LARGEST_FILE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let file = fs::File::open(path)?;
    let mut text = String::new();
    file.take(LARGEST_FILE).read_to_string(&mut text)?;
    Ok(text)
}
/// The number of a directory's file system.
fn device(directory: &Path) -> io::Result<u64> {
    Ok(identity(directory, &fs::symlink_metadata(directory)?)?.device)
}
