//! The plugins directory of the Pulumi CLI: the versions of `terraform-provider` in it, and which of them isthmus has installed.
//!
//! The CLI takes exactly the version that an SDK, a project file or a stack names. Where none is named (`pulumi package add`, hosts of
//! HCL), it takes the highest one, which may be another program.

use std::io;
use std::path::{Path, PathBuf};

use isthmus_common::{Environment, Links, read_regular};
use isthmus_install::FileSum;
use semver::Version;

use crate::home;
use crate::project::document::PLUGIN;

/// File beside the executable that marks it as installed by isthmus.
pub const MARK: &str = "isthmus.txt";

/// Its first bytes.
pub(crate) const MARK_BEGINNING: &[u8] = b"The program in this directory is isthmus ";

/// Label of the executable's checksum in the mark.
pub const CHECKSUM_LABEL: &str = "SHA-256 ";

/// A directory that the CLI takes the plugin from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledPlugin {
    pub version: Version,
    pub directory: PathBuf,
}

impl InstalledPlugin {
    /// The directory of a version, whether there is one or not.
    pub fn at(plugins: &Path, version: Version) -> Self {
        let directory = plugins.join(format!("resource-{PLUGIN}-v{version}"));
        Self { version, directory }
    }

    /// The executable in it.
    pub fn file(&self) -> PathBuf {
        self.directory.join(file_name())
    }

    /// Whether its directory is a link to another one. The CLI takes such a version only where it is named.
    pub fn is_linked(&self) -> bool {
        self.directory.is_symlink()
    }

    /// Whether its installation has not ended: the CLI ignores it then.
    pub fn is_partial(&self) -> bool {
        self.partial().exists()
    }

    /// The file that says so.
    pub fn partial(&self) -> PathBuf {
        let mut name = self.directory.as_os_str().to_owned();
        name.push(".partial");
        name.into()
    }

    /// Whether its executable is the one that isthmus installed there.
    pub fn is_ours(&self) -> bool {
        let Ok(mark) = read_regular(&self.directory.join(MARK), Links::Refuse) else { return false };
        let mark = String::from_utf8_lossy(&mark);
        let checksum = mark.lines().find_map(|line| FileSum::parse(line.strip_prefix(CHECKSUM_LABEL)?).ok());
        checksum.is_some_and(|checksum| is_same(&self.file(), checksum))
    }

    /// Whether there is a mark of isthmus, or none.
    pub fn has_no_other_mark(&self) -> bool {
        match read_regular(&self.directory.join(MARK), Links::Refuse) {
            Ok(text) => text.starts_with(MARK_BEGINNING),
            Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }
}

/// The name of the executable.
pub fn file_name() -> String {
    format!("pulumi-resource-{PLUGIN}{}", std::env::consts::EXE_SUFFIX)
}

/// Whether a file has this checksum.
pub fn is_same(path: &Path, checksum: FileSum) -> bool {
    path.is_file() && FileSum::of_file(path).is_ok_and(|found| found == checksum)
}

/// Those that the CLI can take, by version.
pub fn installed_plugins(plugins: &Path) -> Vec<InstalledPlugin> {
    let entries = std::fs::read_dir(plugins).into_iter().flatten().filter_map(Result::ok);
    let prefix = format!("resource-{PLUGIN}-v");
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let version = Version::parse(entry.file_name().to_str()?.strip_prefix(&prefix)?).ok()?;
            Some(InstalledPlugin { version, directory: entry.path() })
        })
        .filter(|plugin| plugin.directory.is_dir() && !plugin.is_partial())
        .collect();
    found.sort_by(|one, other| one.version.cmp(&other.version));
    found
}

/// The plugin that the CLI takes where no version is named.
pub fn highest(plugins: &[InstalledPlugin]) -> Option<&InstalledPlugin> {
    plugins.iter().rfind(|plugin| !plugin.is_linked())
}

/// The same, if isthmus did not install it.
pub fn highest_of_others(plugins: &Path) -> Option<InstalledPlugin> {
    highest(&installed_plugins(plugins)).filter(|highest| !highest.is_ours()).cloned()
}

/// What a plugin of `version` says when the CLI takes another program, with a higher version, where none is named. Every session
/// asks for it, so no executable is read before versions have shown that it matters.
pub fn warning_of_higher(environment: &Environment, version: &Version) -> Option<String> {
    let plugins = home::pulumi_cli_home(environment)?.join("plugins");
    let installed = installed_plugins(&plugins);
    let other = highest(&installed).filter(|highest| highest.version > *version && !highest.is_ours())?;
    // It may be on PATH, which comes before all versions.
    InstalledPlugin::at(&plugins, version.clone()).is_ours().then(|| is_taken_unversioned(other))
}

/// What to say of a plugin that the CLI takes where no version is named, and that isthmus did not install.
pub fn is_taken_unversioned(other: &InstalledPlugin) -> String {
    format!(
        "{file} was not installed by isthmus, and has the highest version, which the Pulumi CLI takes where none is named\n\
         help: `isthmus install --plugin --everywhere` puts isthmus in its place, and keeps a backup",
        file = other.file().display()
    )
}

/// What to say of a plugin that isthmus did not install, under a version that a host of HCL may name by itself.
pub fn may_be_asked_for(other: &InstalledPlugin) -> String {
    format!(
        "{file} was not installed by isthmus, and a host of HCL may ask for its version\n\
         help: `isthmus install --plugin --everywhere` puts isthmus in its place, and keeps a backup",
        file = other.file().display()
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_highest_version_is_found_and_whether_isthmus_installed_it() {
        let home = tempfile::tempdir().expect("a directory");
        let plugins = home.path().join("plugins");
        let put = |version: &str, text: &str, is_ours: bool| {
            let plugin = InstalledPlugin::at(&plugins, Version::parse(version).expect("a version"));
            fs::create_dir_all(&plugin.directory).expect("a directory");
            fs::write(plugin.file(), text).expect("a file");
            if is_ours {
                let checksum = FileSum::of_file(&plugin.file()).expect("a file");
                let mark =
                    format!("The program in this directory is isthmus 0.\n{CHECKSUM_LABEL}{checksum}\n");
                fs::write(plugin.directory.join(MARK), mark).expect("a file");
            }
            plugin
        };
        let environment = Environment::default().with("PULUMI_HOME", home.path());
        let warning =
            |version: &str| warning_of_higher(&environment, &Version::parse(version).expect("a version"));
        assert_eq!(highest_of_others(&plugins), None, "there is no directory");
        put("1.3.0", "ours", true);
        assert_eq!(warning("1.3.0"), None);
        let other = put("1.10.0", "theirs", false);
        put("1.4.0", "theirs", false);
        fs::create_dir_all(plugins.join("resource-random-v4.0.0")).expect("a directory");
        let linked = InstalledPlugin::at(&plugins, Version::new(9, 0, 0));
        isthmus_platform::files::symlink(&other.directory, &linked.directory).expect("a link");
        assert!(installed_plugins(&plugins).contains(&linked), "the CLI takes it where its version is named");
        assert_eq!(highest_of_others(&plugins), Some(other.clone()));
        assert_eq!(warning("1.3.0"), Some(is_taken_unversioned(&other)));
        assert_eq!(warning("1.4.0"), None, "this program is not the one in that directory");
        fs::write(other.partial(), "").expect("a file");
        assert_eq!(
            highest_of_others(&plugins).map(|other| other.version.to_string()),
            Some("1.4.0".to_owned())
        );
        put("1.4.0", "ours", true);
        assert_eq!(highest_of_others(&plugins), None);
        put("1.4.0", "changed", false);
        assert!(highest_of_others(&plugins).is_some(), "its mark is of what was there");
    }
}
