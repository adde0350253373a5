//! `isthmus link`: puts a provider where a legacy engine looks for it. One that is named by its address is installed first.
//!
//! That engine starts `lumi-resource-PKG`, which it looks for on PATH and then in `packs/PKG` of its own directory. Two links do:
//! one of that name to this program, which knows by the name what to do, and one beside it to the provider. A link holds
//! nothing that could grow old, and whoever looks at it sees where it leads.
//!
//! What is not ours is never replaced; what is may be, so that the command can be run again with a newer provider.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use isthmus_common::permissions::{PRIVATE_DIRECTORY, create_directories};
use isthmus_install::find_executable;
use isthmus_provider::plugin::{ExecutableError, inspect};

use super::PLUGIN_PREFIX;
use crate::cli::install::{ProviderError, install_one};
use crate::cli::output::{fail, print};
use crate::cli::shell;
use crate::package::parameters::{EXECUTABLE_PREFIX, is_path, local_provider_type};
use crate::settings::Settings;

/// What the link to the provider is called, behind the plugin's name.
pub(crate) const PROVIDER_LINK: &str = ".provider";

/// The engine's own directory, and the variable that names another one.
const LUMI_ROOT: &str = "/usr/local/lumi";
const LUMI_ROOT_VARIABLE: &str = "LUMIROOT";

/// What the program itself is called.
const PROGRAM: &str = "isthmus";

const EXAMPLES: &str = "\
Examples:
  isthmus link hashicorp/random '~> 3.8'
  isthmus link ./terraform-provider-random
  isthmus link ./terraform-provider-aws_v5.0.0 --dir ~/bin
  isthmus link ./terraform-provider-acme --as corp

Without --dir the links are created in packs/PKG of the engine's directory, $LUMIROOT or /usr/local/lumi. Only links that the
command created itself are replaced.";

/// Link a provider as a plugin of the legacy engine.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Link {
    #[arg(help = "Path of a provider binary, or source address, [HOST/][NAMESPACE/]TYPE")]
    provider: String,
    /// Version or version constraint of an address, such as '~> 3.8' (default: the newest).
    version: Option<String>,
    /// Name of the package (default: the provider's type).
    #[arg(long = "as", value_name = "PKG")]
    package: Option<String>,
    /// Directory of the links, which has to be on the engine's PATH.
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// A provider cannot be linked.
#[derive(Debug, thiserror::Error)]
enum LinkError {
    #[error("failed to link {path}", path = .path.display())]
    NoProgram {
        path: PathBuf,
        #[source]
        error: ExecutableError,
    },
    #[error("a provider binary has no version to choose: unexpected {0:?}")]
    VersionOfFile(String),
    #[error(transparent)]
    Install(#[from] ProviderError),
    #[error(
        "failed to determine the provider's type: {path} is not named {EXECUTABLE_PREFIX}TYPE\nhelp: name the package with --as",
        path = .0.display()
    )]
    NoType(PathBuf),
    #[error(
        "invalid package name {0:?}: it must start with a letter and consist of letters, digits, hyphens and underscores"
    )]
    Name(String),
    #[error(
        "{path} exists and was not created by `isthmus link`\nhelp: remove it, or choose another directory with --dir",
        path = .0.display()
    )]
    Foreign(PathBuf),
    #[error("failed to write {path}\nhelp: choose another directory with --dir", path = .path.display())]
    Write {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("failed to determine the path of this program or the working directory")]
    Here(#[source] io::Error),
}

impl LinkError {
    /// What to do about it, in lines of their own.
    fn help(&self) -> Vec<String> {
        match self {
            Self::Install(error) => error.help(),
            _ => Vec::new(),
        }
    }
}

pub(crate) fn run(link: &Link, settings: &Settings) -> ExitCode {
    shell::warn_of_redirection();
    let root = std::env::var_os(LUMI_ROOT_VARIABLE);
    match link.program(settings).and_then(|program| link.make(&program, root.as_deref())) {
        Ok(text) => {
            print(&format!("{text}\n"));
            ExitCode::SUCCESS
        }
        Err(error) => fail(&isthmus_common::with_help(isthmus_common::error_chain(&error), error.help())),
    }
}

impl Link {
    /// The provider's program, which is installed if an address is named.
    fn program(&self, settings: &Settings) -> Result<PathBuf, LinkError> {
        let is_file = is_path(&self.provider) || Path::new(&self.provider).is_file();
        if !is_file {
            return Ok(install_one(&self.provider, self.version.as_deref(), settings)?);
        }
        if let Some(version) = &self.version {
            return Err(LinkError::VersionOfFile(version.clone()));
        }
        let program = find_executable(Path::new(&self.provider));
        match inspect(&program) {
            Ok(()) => Ok(program),
            Err(error) => Err(LinkError::NoProgram { path: PathBuf::from(&self.provider), error }),
        }
    }

    fn make(&self, program: &Path, root: Option<&OsStr>) -> Result<String, LinkError> {
        // Not where it leads in the end: some programs look at the name that they were started by.
        let program = std::path::absolute(program).map_err(LinkError::Here)?;
        let package = self.package(&program)?;
        let folder = match &self.dir {
            Some(folder) => std::path::absolute(folder).map_err(LinkError::Here)?,
            None => {
                let root = root.filter(|root| !root.is_empty()).unwrap_or(OsStr::new(LUMI_ROOT));
                Path::new(root).join("packs").join(&package)
            }
        };
        let ours = std::env::current_exe().map_err(LinkError::Here)?;
        let plugin = folder.join(format!("{PLUGIN_PREFIX}{package}"));
        let provider = folder.join(format!("{PLUGIN_PREFIX}{package}{PROVIDER_LINK}"));
        // Looked at before anything is changed.
        let is_program =
            |target: &Path| target == ours || target.file_name().is_some_and(|name| name == PROGRAM);
        require_ours(&plugin, is_program)?;
        // The one beside a link of ours is ours as well. By itself it is what an interrupted command has left.
        let is_beside_ours = plugin.is_symlink();
        require_ours(&provider, |target| is_beside_ours || is_provider(target))?;
        create_directories(&folder).map_err(|error| LinkError::Write { path: folder.clone(), error })?;
        // The plugin last: it is never there without its provider.
        let is_new = place(&provider, &program)? | place(&plugin, &ours)?;
        let done = if is_new { "linked" } else { "linked already" };
        Ok(format!("{done}: {} runs {}", plugin.display(), program.display()))
    }

    fn package(&self, program: &Path) -> Result<String, LinkError> {
        let package = match &self.package {
            Some(package) => package.clone(),
            None => {
                let name = program.file_name().unwrap_or_default().to_string_lossy();
                let of_file =
                    local_provider_type(&name).map_err(|_| LinkError::NoType(program.to_owned()))?;
                // Released providers carry their version in their file's name; types have neither of these.
                of_file.split(['_', '.']).next().unwrap_or_default().to_owned()
            }
        };
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if package.starts_with(|first: char| first.is_ascii_alphabetic()) && package.bytes().all(is_part) {
            Ok(package)
        } else {
            Err(LinkError::Name(package))
        }
    }
}

/// Whether a file is called as provider binaries are.
fn is_provider(file: &Path) -> bool {
    file.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(EXECUTABLE_PREFIX))
}

/// Refuses what is in the way and was not put there by this command: anything but a link to what `is_ours` knows.
fn require_ours(path: &Path, is_ours: impl Fn(&Path) -> bool) -> Result<(), LinkError> {
    match std::fs::read_link(path) {
        Ok(target) if is_ours(&target) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // A link to something else, or no link at all.
        Ok(_) | Err(_) => Err(LinkError::Foreign(path.to_owned())),
    }
}

/// Makes a link, or replaces ours at once. `false`: it is there already.
fn place(path: &Path, target: &Path) -> Result<bool, LinkError> {
    if std::fs::read_link(path).is_ok_and(|found| found == target) {
        return Ok(false);
    }
    let failed = |error| LinkError::Write { path: path.to_owned(), error };
    let folder = path.parent().unwrap_or(Path::new("."));
    let beside = tempfile::Builder::new()
        .prefix(".isthmus-")
        .permissions(std::fs::Permissions::from_mode(PRIVATE_DIRECTORY))
        .tempdir_in(folder)
        .map_err(failed)?;
    let new = beside.path().join("link");
    symlink(target, &new).and_then(|()| std::fs::rename(&new, path)).map_err(failed)?;
    Ok(true)
}

#[cfg(test)]
mod tests {

    use super::*;

    fn program(folder: &Path, name: &str) -> PathBuf {
        let file = folder.join(name);
        std::fs::write(&file, "#!/bin/sh\n").expect("a file");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        file
    }

    fn link(provider: impl AsRef<Path>, package: Option<&str>, dir: Option<PathBuf>) -> Link {
        let provider = provider.as_ref().to_str().expect("a path in UTF-8").to_owned();
        Link { provider, version: None, package: package.map(str::to_owned), dir }
    }

    impl Link {
        fn made(&self, root: Option<&OsStr>) -> Result<String, LinkError> {
            self.make(&self.program(&Settings::default())?, root)
        }
    }

    #[test]
    fn the_links_are_where_the_engine_looks() {
        let folder = tempfile::tempdir().expect("a directory");
        let provider = program(folder.path(), "terraform-provider-random_v3.6.0_x5");
        let root = folder.path().join("lumi");
        let done =
            link(folder.path().join("terraform-provider-random"), None, None).made(Some(root.as_os_str()));
        assert!(done.expect("linked").starts_with("linked: "));
        let plugin = root.join("packs/random/lumi-resource-random");
        assert_eq!(std::fs::read_link(&plugin).ok(), std::env::current_exe().ok());
        let beside = root.join("packs/random/lumi-resource-random.provider");
        assert_eq!(std::fs::read_link(beside).expect("a link"), provider);
        assert_eq!(std::fs::read_dir(plugin.parent().expect("a directory")).expect("a directory").count(), 2);

        let again = link(provider, None, None).made(Some(root.as_os_str())).expect("linked");
        assert!(again.starts_with("linked already: "), "{again}");
    }

    #[test]
    fn a_link_of_ours_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a directory");
        let old = program(folder.path(), "terraform-provider-acme_v1");
        let new = program(folder.path(), "terraform-provider-acme_v2");
        let dir = folder.path().join("bin");
        let make = |provider: &Path| link(provider, Some("corp"), Some(dir.clone())).made(None);
        make(&old).expect("linked");
        assert!(make(&new).expect("linked").starts_with("linked: "));
        let (plugin, provider) = (dir.join("lumi-resource-corp"), dir.join("lumi-resource-corp.provider"));
        assert_eq!(std::fs::read_link(&provider).expect("a link"), new);

        // One that led to an older place of this program is ours as well.
        std::fs::remove_file(&plugin).expect("removed");
        symlink("/gone/isthmus", &plugin).expect("a link");
        make(&new).expect("linked");

        std::fs::remove_file(&plugin).expect("removed");
        std::fs::write(&plugin, "somebody's plugin").expect("a file");
        let error = make(&old).expect_err("not ours").to_string();
        assert!(error.contains("lumi-resource-corp") && error.contains("--dir"), "{error}");
        assert_eq!(std::fs::read(&plugin).expect("a file"), b"somebody's plugin");
        assert_eq!(std::fs::read_link(&provider).expect("a link"), new, "nothing is changed");
        std::fs::remove_file(&plugin).expect("removed");
        for target in ["/usr/bin/true", "/home/me/isthmus-wrapper.sh"] {
            symlink(target, &plugin).expect("a link");
            make(&old).expect_err("a link to something else");
            std::fs::remove_file(&plugin).expect("removed");
        }
        // What an interrupted command has left is ours, and what a user has put there is not.
        make(&old).expect("linked");
        std::fs::remove_file(&plugin).expect("removed");
        std::fs::remove_file(&provider).expect("removed");
        symlink("/etc/hostname", &provider).expect("a link");
        make(&old).expect_err("a link to something else");
        assert!(!plugin.is_symlink(), "nothing is changed");
    }

    #[test]
    fn what_is_no_provider_or_no_name_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().expect("a directory");
        let provider = program(folder.path(), "terraform-provider-acme");
        let other = program(folder.path(), "acme");
        let said = |provider: &Path, package| {
            let dir = folder.path().join("bin");
            isthmus_common::error_chain(&link(provider, package, Some(dir)).made(None).expect_err("refused"))
        };
        assert_eq!(
            said(Path::new("/hashicorp/random"), None),
            "failed to link /hashicorp/random: the file does not exist; install the provider, or fix the path"
        );
        let misspelt = folder.path().join("terraform-provider-amce");
        assert!(said(&misspelt, None).ends_with(&format!("did you mean {}?", provider.display())));
        assert!(said(Path::new("hash icorp/random"), None).contains("is not a provider's address"));
        let versioned = Link { version: Some("1.0.0".to_owned()), ..link(&provider, None, None) };
        assert!(matches!(versioned.made(None), Err(LinkError::VersionOfFile(_))));
        assert!(said(&other, None).contains("--as"));
        for name in ["", "1a", "a/b", "a b", "../x"] {
            assert!(said(&provider, Some(name)).contains("invalid package name"), "{name}");
        }
        assert!(!folder.path().join("bin").exists());
    }
}
