//! Protection of files against other users.
//!
//! Created directories and files have at most the mode that the umask allows, and are never
//! writable by other users: these could execute code by changing a provider binary, a lock file or
//! a record. Trusted files (the key file, the home directory) are checked as by ssh: another user
//! may neither own nor write to them.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use isthmus_platform::files::{
    DirBuilderExt as _, OpenFlags, OpenOptionsExt as _, Others, Protection, described_permission,
    help_against_others, help_to_own, permissions, protection,
};
use isthmus_platform::process::User;

/// Mode of a new public file, before the umask.
pub const FILE: u32 = 0o644;
/// Mode of a new public directory or executable, before the umask.
pub const DIRECTORY: u32 = 0o755;
/// Mode of a new private file.
pub const PRIVATE_FILE: u32 = 0o600;
/// Mode of a new private directory.
pub const PRIVATE_DIRECTORY: u32 = 0o700;

/// The write bits of group and others.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// The read bits of group and others.
const READABLE_BY_OTHERS: u32 = 0o044;
/// The read bit of others.
const READABLE_BY_ANYONE: u32 = 0o004;
/// In a directory with this bit, only its owner may remove or rename an entry of a user.
const STICKY: u32 = 0o1000;

/// Another user may change a trusted file or directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PermissionsError {
    /// It is writable by others.
    #[error(
        "{path} is not trusted: {permission} lets other users write to it\nhelp: run `{}`", help_against_others(path, Others::Write),
        path = path.display(), permission = described_permission(*mode)
    )]
    Writable {
        /// The file or directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It is secret, and readable by others.
    #[error(
        "{path} is not trusted: {permission} lets other users read it\nhelp: run `{}`", help_against_others(path, Others::Read),
        path = path.display(), permission = described_permission(*mode)
    )]
    Readable {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The system does not say whose it is, or who may do what with it.
    #[error("{path} is not trusted, because the system does not say who may change it: {reason}", path = path.display())]
    Unknown {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// It is neither a file nor a directory.
    #[error("{path} is neither a file nor a directory", path = .0.display())]
    Kind(PathBuf),
    /// It belongs to another user.
    #[error(
        "{path} is not trusted: it belongs to the user with uid {owner}\nhelp: run `{}`", help_to_own(path, *user),
        path = path.display()
    )]
    Owner {
        /// The file or directory.
        path: PathBuf,
        /// Its owner.
        owner: User,
        /// The user of this process.
        user: User,
    },
}

/// Refuses a file or directory that another user than root may write to. A missing or inaccessible
/// one is accepted: using it fails later with a better reason.
///
/// A directory with the sticky bit (`/tmp`) is accepted, because users cannot replace others' files
/// there.
///
/// # Errors
/// When it belongs to another user, is writable by others, or is a device or the like.
pub fn require_trusted(path: &Path) -> Result<(), PermissionsError> {
    let Ok(metadata) = path.metadata() else { return Ok(()) };
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(PermissionsError::Kind(path.to_owned()));
    }
    let user = User::current();
    let Protection { owner, mode } = known(path, &metadata)?;
    if owner != user && !owner.is_root() {
        return Err(PermissionsError::Owner { path: path.to_owned(), owner, user });
    }
    let is_sticky = metadata.is_dir() && mode & STICKY != 0;
    if mode & WRITABLE_BY_OTHERS != 0 && !is_sticky {
        return Err(PermissionsError::Writable { path: path.to_owned(), mode });
    }
    Ok(())
}

fn known(path: &Path, metadata: &Metadata) -> Result<Protection, PermissionsError> {
    protection(path, metadata)
        .map_err(|error| PermissionsError::Unknown { path: path.to_owned(), reason: error.to_string() })
}

/// Refuses a file that another user may write to or replace, by its path or through links.
///
/// # Errors
/// As of [`require_trusted`], for the file or its directory.
pub fn require_trusted_file(path: &Path) -> Result<(), PermissionsError> {
    for path in [Ok(path.to_owned()), path.canonicalize()].into_iter().flatten() {
        require_trusted(&path)?;
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        require_trusted(directory.unwrap_or(Path::new(".")))?;
    }
    Ok(())
}

/// Refuses a file with a secret that another user may read, write to or replace. A file of root may be readable by its
/// group, as the secrets of containers are, and as PostgreSQL's rule for keys is.
///
/// # Errors
/// As of [`require_trusted_file`], or if others may read it.
pub fn require_private_file(path: &Path) -> Result<(), PermissionsError> {
    require_trusted_file(path)?;
    let Ok(metadata) = path.metadata() else { return Ok(()) };
    let Protection { owner, mode } = known(path, &metadata)?;
    let readers = if owner.is_root() { READABLE_BY_ANYONE } else { READABLE_BY_OTHERS };
    if mode & readers != 0 {
        return Err(PermissionsError::Readable { path: path.to_owned(), mode });
    }
    Ok(())
}

/// Creates a directory and its missing parents, none of them writable by others.
///
/// # Errors
/// When one cannot be created.
pub fn create_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY).create(path)
}

/// Creates one directory that is not writable by others.
///
/// # Errors
/// When it cannot be created, or is there.
pub fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY).create(path)
}

/// Options to create a file that is not writable by others, not through a symbolic link.
pub fn file_options(mode: u32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(without_others(mode)).flags(OpenFlags { no_follow: true, ..OpenFlags::default() });
    options
}

/// Options for a temporary file or directory with this mode, before the umask.
pub fn temporary(mode: u32) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    if let Some(permissions) = permissions(mode) {
        builder.permissions(permissions);
    }
    builder
}

/// Removes write permission of others from the mode of a new file.
pub(crate) fn without_others(mode: u32) -> u32 {
    mode & !WRITABLE_BY_OTHERS
}

/// Removes write permission of others, setuid and setgid from a mode.
pub fn without_writers(mode: u32) -> u32 {
    mode & 0o755
}

#[cfg(test)]
mod tests {
    use isthmus_platform::files::symlink;
    use std::os::unix::fs::chown;

    use super::*;

    struct OwnedFiles {
        directory: tempfile::TempDir,
    }

    impl OwnedFiles {
        fn new() -> Self {
            let directory = tempfile::tempdir().expect("a directory");
            let owned = Self { directory };
            std::fs::create_dir(owned.path("home")).expect("a directory");
            owned.mode("home", 0o700);
            std::fs::write(owned.path("home/state.key"), "").expect("a file");
            owned.mode("home/state.key", 0o600);
            owned
        }

        fn path(&self, name: &str) -> PathBuf {
            self.directory.path().join(name)
        }

        fn mode(&self, name: &str, mode: u32) {
            isthmus_platform::files::set_mode(&self.path(name), mode).expect("it is ours");
        }

        fn check(&self) -> Result<(), String> {
            let short = |error: PermissionsError| {
                error.to_string().replace(&format!("{}/", self.directory.path().display()), "")
            };
            require_trusted_file(&self.path("home/state.key")).map_err(short)
        }
    }

    #[test]
    fn nothing_is_kept_in_a_device() {
        assert_eq!(require_trusted(Path::new("/dev/null")), Err(PermissionsError::Kind("/dev/null".into())));
    }

    #[test]
    fn what_only_its_owner_may_write_to_is_trusted() {
        let owned = OwnedFiles::new();
        assert_eq!(owned.check(), Ok(()));
        for (home, file) in [(0o755, 0o644), (0o700, 0o400), (0o500, 0o444)] {
            owned.mode("home", home);
            owned.mode("home/state.key", file);
            assert_eq!(owned.check(), Ok(()), "{home:o} {file:o}");
        }
        assert_eq!(require_trusted_file(&owned.path("home/missing")), Ok(()));
        assert_eq!(require_trusted(&owned.path("missing")), Ok(()));
    }

    #[test]
    fn what_others_may_write_to_is_refused_with_what_to_do() {
        for (name, mode) in [
            ("home", 0o777),
            ("home", 0o770),
            ("home", 0o702),
            ("home/state.key", 0o666),
            ("home/state.key", 0o620),
            ("home/state.key", 0o602),
            // The sticky bit has no effect on a file.
            ("home/state.key", 0o1666),
        ] {
            let owned = OwnedFiles::new();
            owned.mode(name, mode);
            let expected = format!(
                "{name} is not trusted: its mode {mode:04o} lets other users write to it\nhelp: run `chmod go-w {name}`"
            );
            assert_eq!(owned.check(), Err(expected));
            owned.mode(name, mode & !0o022);
            assert_eq!(owned.check(), Ok(()), "as the help says");
        }
    }

    #[test]
    fn files_in_a_sticky_directory_cannot_be_replaced_by_other_users() {
        let owned = OwnedFiles::new();
        owned.mode("home", 0o1777);
        assert_eq!(owned.check(), Ok(()));
    }

    #[test]
    fn a_link_is_as_good_as_what_it_leads_to() {
        let owned = OwnedFiles::new();
        std::fs::create_dir(owned.path("shared")).expect("a directory");
        std::fs::rename(owned.path("home/state.key"), owned.path("shared/state.key")).expect("a move");
        symlink(owned.path("shared/state.key"), owned.path("home/state.key")).expect("a link");
        assert_eq!(owned.check(), Ok(()));
        owned.mode("shared", 0o777);
        let error = owned.check().expect_err("others may replace what it leads to");
        assert!(error.contains("shared is not trusted") && !error.contains("shared/"), "{error}");
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        for name in ["home", "home/state.key"] {
            let owned = OwnedFiles::new();
            if rustix::process::geteuid().is_root() {
                chown(owned.path(name), Some(65534), None).expect("as root");
                let help = format!("help: run `chown 0 {name}`");
                let expected =
                    format!("{name} is not trusted: it belongs to the user with uid 65534\n{help}");
                assert_eq!(owned.check(), Err(expected));
            } else {
                // Root is trusted; creating another user's file requires root.
                assert_eq!(require_trusted(Path::new("/")), Ok(()));
                assert_eq!(owned.check(), Ok(()));
            }
        }
    }

    #[test]
    fn a_mode_loses_what_lets_others_write_and_what_changes_the_user() {
        assert_eq!([0o777, 0o4775, 0o666, 0o600].map(without_writers), [0o755, 0o755, 0o644, 0o600]);
    }
}
