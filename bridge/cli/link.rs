//! `isthmus link`: links a provider as a plugin of the legacy engine, and installs it first if it
//! is given by address.
//!
//! That engine starts `lumi-resource-PKG` from PATH, or else from `packs/PKG` of its own directory.
//! Two links suffice: one of that name to this executable, which derives its role from the name,
//! and one beside it to the provider. Links hold no content that could become stale, and show where
//! they lead.
//!
//! Only links of this command are replaced, so that it can be run again with a newer provider.

use isthmus_platform::files::symlink;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use isthmus_common::permissions::create_directories;
use isthmus_common::scratch::{ScratchDirectory, remove_abandoned};
use isthmus_install::{ProviderAddress, find_executable};
use isthmus_provider::plugin::{ExecutableError, inspect};

use super::install::{ProviderError, install_one};
use super::output::{fail_as, print};
use super::shell;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::settings::Settings;
use isthmus_package::parameters::{EXECUTABLE_PREFIX, is_path};
use isthmus_services::lumirpc::{PLUGIN_PREFIX, identity, type_in_file_name};

/// Suffix of the link to the provider, after the plugin's name.
pub(crate) const PROVIDER_LINK: &str = ".provider";

/// The engine's default directory, and the variable that overrides it.
const LUMI_ROOT: &str = "/usr/local/lumi";
const LUMI_ROOT_VARIABLE: &str = "LUMIROOT";

/// File name of this executable.
const PROGRAM: &str = "isthmus";

const EXAMPLES: &str = "\
Examples:
  isthmus link hashicorp/random '~> 3.8'
  isthmus link ./terraform-provider-random
  isthmus link ./terraform-provider-aws_v5.0.0 --dir ~/bin
  isthmus link ./terraform-provider-acme --as corp

Without --dir, isthmus creates the links in packs/PKG of the engine's directory, $LUMIROOT or /usr/local/lumi. It replaces only its own
links.";

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

#[derive(Debug, thiserror::Error)]
enum LinkError {
    #[error("failed to link {path}", path = .path.display())]
    InvalidBinary {
        path: PathBuf,
        #[source]
        error: ExecutableError,
    },
    #[error("a provider binary has no version to choose: unexpected {0:?}")]
    VersionOfFile(String),
    #[error(transparent)]
    Install(#[from] ProviderError),
    /// The file that is installed for an address, such as a development override, is of no address.
    #[error(
        "failed to link {address}: it is installed as {file}, which the plugin would take for {taken_for}\nhelp: without a \
         development override the provider is installed with its address; or link the file: `isthmus link {file}`",
        file = .file.display()
    )]
    NoAddress { address: ProviderAddress, file: PathBuf, taken_for: String },
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
    /// The code of its kind, if that has a page.
    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Install(error) => error.code(),
            _ => None,
        }
    }

    fn help(&self) -> Vec<String> {
        match self {
            Self::Install(error) => error.help(),
            _ => Vec::new(),
        }
    }
}

pub(crate) fn run(link: &Link, settings: &Arc<Settings>) -> ExitCode {
    shell::warn_of_redirection();
    let root = std::env::var_os(LUMI_ROOT_VARIABLE);
    match link.program(settings).and_then(|program| link.make(&program, root.as_deref())) {
        Ok(text) => {
            print(&format!("{text}\n"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            let text = isthmus_common::with_help(isthmus_common::error_chain(&error), error.help());
            fail_as(&text, error.code())
        }
    }
}

impl Link {
    /// Path of the provider binary, which is installed if an address is given.
    fn program(&self, settings: &Arc<Settings>) -> Result<PathBuf, LinkError> {
        let is_file = is_path(&self.provider) || Path::new(&self.provider).is_file();
        if !is_file {
            let file = install_one(&self.provider, self.version.as_deref(), settings)?;
            return self.require_address(file);
        }
        if let Some(version) = &self.version {
            return Err(LinkError::VersionOfFile(version.clone()));
        }
        let program = find_executable(Path::new(&self.provider));
        match inspect(&program) {
            Ok(()) => Ok(program),
            Err(error) => Err(LinkError::InvalidBinary { path: PathBuf::from(&self.provider), error }),
        }
    }

    /// Rejects a file that was installed for an address and whose path does not have it: nothing else
    /// leads the plugin to the address.
    fn require_address(&self, file: PathBuf) -> Result<PathBuf, LinkError> {
        let Ok(address) = ProviderAddress::parse(&self.provider) else { return Ok(file) };
        let package = self.package.as_deref().unwrap_or(address.provider_type());
        let taken_for =
            identity(package, isthmus_install::address_of(&file).as_ref(), &file).provider_address();
        if taken_for == address.to_string() {
            Ok(file)
        } else {
            Err(LinkError::NoAddress { address, file, taken_for })
        }
    }

    fn make(&self, program: &Path, root: Option<&OsStr>) -> Result<String, LinkError> {
        // Not canonicalized: some programs depend on the name that they are started by.
        let program = std::path::absolute(program).map_err(LinkError::Here)?;
        let package = self.package(&program)?;
        let directory = match &self.dir {
            Some(directory) => std::path::absolute(directory).map_err(LinkError::Here)?,
            None => {
                let root = root.filter(|root| !root.is_empty()).unwrap_or(OsStr::new(LUMI_ROOT));
                Path::new(root).join("packs").join(&package)
            }
        };
        let ours = std::env::current_exe().map_err(LinkError::Here)?;
        let plugin = directory.join(format!("{PLUGIN_PREFIX}{package}"));
        let provider = directory.join(format!("{PLUGIN_PREFIX}{package}{PROVIDER_LINK}"));
        // Both are checked before anything changes.
        let is_own_executable =
            |target: &Path| target == ours || target.file_name().is_some_and(|name| name == PROGRAM);
        require_ours(&plugin, is_own_executable)?;
        // A provider link beside a plugin link of ours is ours too. A lone one is left by an
        // interrupted command.
        let is_beside_ours = plugin.is_symlink();
        require_ours(&provider, |target| is_beside_ours || is_provider(target))?;
        create_directories(&directory)
            .map_err(|error| LinkError::Write { path: directory.clone(), error })?;
        remove_abandoned(&directory);
        // The plugin last, so that it never exists without its provider.
        let is_new = place(&provider, &program)? | place(&plugin, &ours)?;
        let done = if is_new { "linked" } else { "linked already" };
        Ok(format!("{done}: {} runs {}", plugin.display(), program.display()))
    }

    fn package(&self, program: &Path) -> Result<String, LinkError> {
        let package = match &self.package {
            Some(package) => package.clone(),
            None => match type_in_file_name(program) {
                Some(file_type) => file_type.to_owned(),
                None => return Err(LinkError::NoType(program.to_owned())),
            },
        };
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if package.starts_with(|first: char| first.is_ascii_alphabetic()) && package.bytes().all(is_part) {
            Ok(package)
        } else {
            Err(LinkError::Name(package))
        }
    }
}

/// Whether a file is named like a provider binary.
fn is_provider(file: &Path) -> bool {
    file.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(EXECUTABLE_PREFIX))
}

/// Rejects a path that this command did not create: anything but a link whose target `is_ours`
/// accepts.
fn require_ours(path: &Path, is_ours: impl Fn(&Path) -> bool) -> Result<(), LinkError> {
    match std::fs::read_link(path) {
        Ok(target) if is_ours(&target) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) | Err(_) => Err(LinkError::Foreign(path.to_owned())),
    }
}

/// Creates or atomically replaces a link. Returns `false` if it exists already.
fn place(path: &Path, target: &Path) -> Result<bool, LinkError> {
    if std::fs::read_link(path).is_ok_and(|found| found == target) {
        return Ok(false);
    }
    let failed = |error| LinkError::Write { path: path.to_owned(), error };
    let scratch = ScratchDirectory::beside(path).map_err(failed)?;
    let new = scratch.path().join("link");
    symlink(target, &new).and_then(|()| std::fs::rename(&new, path)).map_err(failed)?;
    Ok(true)
}

#[cfg(test)]
mod tests {

    use super::*;

    fn program(directory: &Path, name: &str) -> PathBuf {
        let file = directory.join(name);
        std::fs::write(&file, "#!/bin/sh\n").expect("a file");
        isthmus_platform::files::set_mode(&file, 0o755).expect("a mode");
        file
    }

    fn link(provider: impl AsRef<Path>, package: Option<&str>, dir: Option<PathBuf>) -> Link {
        let provider = provider.as_ref().to_str().expect("a path in UTF-8").to_owned();
        Link { provider, version: None, package: package.map(str::to_owned), dir }
    }

    impl Link {
        fn run_with(&self, root: Option<&OsStr>) -> Result<String, LinkError> {
            self.make(&self.program(&Arc::<Settings>::default())?, root)
        }
    }

    #[test]
    fn the_links_are_where_the_engine_looks() {
        let directory = tempfile::tempdir().expect("a directory");
        let provider = program(directory.path(), "terraform-provider-random_v3.6.0_x5");
        let root = directory.path().join("lumi");
        let done = link(directory.path().join("terraform-provider-random"), None, None)
            .run_with(Some(root.as_os_str()));
        assert!(done.expect("linked").starts_with("linked: "));
        let plugin = root.join("packs/random/lumi-resource-random");
        assert_eq!(std::fs::read_link(&plugin).ok(), std::env::current_exe().ok());
        let beside = root.join("packs/random/lumi-resource-random.provider");
        assert_eq!(std::fs::read_link(beside).expect("a link"), provider);
        assert_eq!(std::fs::read_dir(plugin.parent().expect("a directory")).expect("a directory").count(), 2);

        let again = link(provider, None, None).run_with(Some(root.as_os_str())).expect("linked");
        assert!(again.starts_with("linked already: "), "{again}");
    }

    #[test]
    fn a_link_of_ours_is_replaced_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let old = program(directory.path(), "terraform-provider-acme_v1");
        let new = program(directory.path(), "terraform-provider-acme_v2");
        let dir = directory.path().join("bin");
        let make = |provider: &Path| link(provider, Some("corp"), Some(dir.clone())).run_with(None);
        make(&old).expect("linked");
        assert!(make(&new).expect("linked").starts_with("linked: "));
        let (plugin, provider) = (dir.join("lumi-resource-corp"), dir.join("lumi-resource-corp.provider"));
        assert_eq!(std::fs::read_link(&provider).expect("a link"), new);

        // A link to a former path of this executable is ours too.
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
        // Links left by an interrupted command are replaced, links of a user are not.
        make(&old).expect("linked");
        std::fs::remove_file(&plugin).expect("removed");
        std::fs::remove_file(&provider).expect("removed");
        symlink("/etc/hostname", &provider).expect("a link");
        make(&old).expect_err("a link to something else");
        assert!(!plugin.is_symlink(), "nothing is changed");
    }

    #[test]
    fn what_is_no_provider_or_no_name_is_refused_with_what_to_do() {
        let directory = tempfile::tempdir().expect("a directory");
        let provider = program(directory.path(), "terraform-provider-acme");
        let other = program(directory.path(), "acme");
        let message = |provider: &Path, package| {
            let dir = directory.path().join("bin");
            isthmus_common::error_chain(
                &link(provider, package, Some(dir)).run_with(None).expect_err("refused"),
            )
        };
        assert_eq!(
            message(Path::new("/hashicorp/random"), None),
            "failed to link /hashicorp/random: the file does not exist; install the provider, or fix the path"
        );
        let misspelt = directory.path().join("terraform-provider-amce");
        assert!(message(&misspelt, None).ends_with(&format!("did you mean {}?", provider.display())));
        assert!(message(Path::new("hash icorp/random"), None).contains("is not a provider's address"));
        let versioned = Link { version: Some("1.0.0".to_owned()), ..link(&provider, None, None) };
        assert!(matches!(versioned.run_with(None), Err(LinkError::VersionOfFile(_))));
        assert!(message(&other, None).contains("--as"));
        for name in ["", "1a", "a/b", "a b", "../x"] {
            assert!(message(&provider, Some(name)).contains("invalid package name"), "{name}");
        }
        assert!(!directory.path().join("bin").exists());
    }
}
