//! The commands about providers, as people and scripts use them.

mod cli_configuration;
mod consent;
mod docs;
mod doctor;
mod files;
mod help;
mod inheritance;
mod inspect;
mod installing;
mod mirrors;
mod network;
mod output;
mod plugins;
mod providers;
mod record;
mod replay;
mod settings;
#[cfg(unix)]
mod umask;
mod usage;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::native;
use crate::harness::said::Said;

/// What the namespace of providers is in the cache of a machine.
const HASHICORP: &str = "registry.opentofu.org/hashicorp";

/// A search path: this directory, and those of the system's own programs.
fn path_with(directory: &Path) -> OsString {
    std::env::join_paths([directory, Path::new("/usr/bin"), Path::new("/bin")])
        .expect("paths without separators")
}

/// A user's home, with nothing in it.
struct Machine {
    directory: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a directory") }
    }

    fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        native(self.directory.path().join(path))
    }

    /// Where providers are.
    fn cache(&self) -> PathBuf {
        self.path(".pulumi/dynamic_tf_plugins")
    }

    /// A command in the home's directory, with nothing of the real user's around it.
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .env(isthmus_platform::HOME, self.directory.path())
            .env("PULUMI_HOME", self.directory.path().join(".pulumi"))
            .env("PATH", std::env::join_paths(["/usr/bin", "/bin"]).expect("paths"))
            .current_dir(self.directory.path())
            .stdin(Stdio::null());
        command
    }

    fn isthmus(&self, words: &[&str]) -> Said {
        Said::of(self.command(env!("CARGO_BIN_EXE_isthmus")).args(words))
    }

    fn write(&self, path: impl AsRef<Path>, content: &[u8]) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(&path, content).expect("a file");
        path
    }
}
