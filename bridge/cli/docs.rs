//! `isthmus docs`: the reference of a provider in Pulumi's names, in a browser, as files, or in the terminal.
//!
//! Only the provider's schema is needed, which the schema cache has of a provider that ran before.

mod files;
mod server;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use isthmus_common::counted;

use super::output::{fail, inform, print};
use super::runtime;
use isthmus_context::settings::Settings;
use isthmus_package::catalogue::{Package, TokenError};
use isthmus_reference::{Documents, Language, MemberError, Site, text};
use isthmus_session::daemon::{Daemon, SessionError, Sessions};
use isthmus_session::engine::EngineLog;
use isthmus_session::process_context::StartedBy;

const EXAMPLES: &str = "\
Examples:
  isthmus docs hashicorp/random
  isthmus docs hashicorp/aws '~> 6.0' --port 8080
  isthmus docs ./terraform-provider-acme --output public/acme
  isthmus docs hashicorp/random --terminal random.Password
  isthmus docs hashicorp/random --terminal random_password --language python

TYPE is a name in Pulumi (random:index/password:Password, random.Password, Password) or in Terraform (random_password,
data.aws_ami).";

/// Show the reference of a provider in Pulumi's names.
///
/// Serves pages at an address of this machine until Ctrl-C, or writes them as files. isthmus installs the
/// provider if it is missing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Docs {
    #[arg(
        value_name = "PROVIDER",
        help = "Path of a provider binary, or source address, [HOST/][NAMESPACE/]TYPE"
    )]
    provider: String,
    /// Version or version constraint of an address, such as '~> 3.8' (default: the newest).
    version: Option<String>,
    /// Print the page of one resource, data source or function.
    #[arg(long, value_name = "TYPE", conflicts_with_all = ["output", "port"])]
    terminal: Option<String>,
    /// Language of the example in the terminal.
    #[arg(long, value_enum, default_value_t = ExampleLanguage::Yaml, requires = "terminal")]
    language: ExampleLanguage,
    /// Write the pages as files into a directory.
    #[arg(long, value_name = "DIR", conflicts_with = "port")]
    output: Option<PathBuf>,
    /// Port to serve the pages at (default: a free one).
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Name of the package (default: the provider's type).
    #[arg(long, value_name = "NAME")]
    provider_name: Option<String>,
    /// Add the provider's own documentation, from its repository at GitHub.
    #[arg(long = "fullDocs", alias = "full-docs")]
    full_docs: bool,
    /// Add the provider's own documentation, from its repository in a directory.
    #[arg(long = "upstreamRepoPath", alias = "upstream-repo-path", value_name = "DIR", value_hint = clap::ValueHint::AnyPath)]
    upstream_repository: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ExampleLanguage {
    Yaml,
    #[value(name = "typescript")]
    TypeScript,
    Python,
    Go,
}

impl From<ExampleLanguage> for Language {
    fn from(language: ExampleLanguage) -> Self {
        match language {
            ExampleLanguage::Yaml => Self::Yaml,
            ExampleLanguage::TypeScript => Self::TypeScript,
            ExampleLanguage::Python => Self::Python,
            ExampleLanguage::Go => Self::Go,
        }
    }
}

pub(super) fn run(docs: &Docs, settings: &Arc<Settings>) -> ExitCode {
    runtime::run(async {
        match docs.run(settings).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error.report()),
        }
    })
}

impl Docs {
    async fn run(&self, settings: &Arc<Settings>) -> Result<(), DocsError> {
        let (package, documents) = self.package(settings).await?;
        let site = Site::new(package, documents);
        if let Some(wanted) = &self.terminal {
            let page = site.page(site.find(wanted)?)?;
            print(&isthmus_common::printable(&text(&page, self.language.into())));
            return Ok(());
        }
        match &self.output {
            Some(directory) => {
                let written = files::write(&site, directory)?;
                print(&format!("{}\n", directory.join("index.html").display()));
                inform(&format!("{} written", counted(written, "file")));
                Ok(())
            }
            None => server::serve(Arc::new(site), self.port).await,
        }
    }

    /// The package, as the plugin has it for `pulumi package add`, and the provider's own documentation.
    async fn package(&self, settings: &Arc<Settings>) -> Result<(Arc<Package>, Arc<Documents>), DocsError> {
        let log = EngineLog::start(None);
        let daemon = Daemon::new(log, StartedBy::Other, Ok(Settings::clone(settings)));
        let sessions = Sessions::new(daemon);
        let session = sessions.open(None);
        let mut arguments = vec![self.provider.clone()];
        arguments.extend(self.version.clone());
        if let Some(name) = &self.provider_name {
            arguments.extend(["--provider-name".to_owned(), name.clone()]);
        }
        if self.full_docs {
            arguments.push("--fullDocs".to_owned());
        }
        if let Some(directory) = &self.upstream_repository {
            arguments.extend(["--upstreamRepoPath".to_owned(), directory.clone()]);
        }
        let package = session.session().parameterize_by_arguments(&arguments).await;
        let documents = session.session().documentation().cloned().unwrap_or_default().documents;
        // Its schema is all that is needed of the provider.
        drop(session);
        sessions.finish().await;
        Ok((package?, documents))
    }
}

/// Why the reference of a provider cannot be shown.
#[derive(Debug, thiserror::Error)]
enum DocsError {
    /// The provider cannot be installed or started, or has no schema.
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Member(#[from] MemberError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(
        "failed to write to {path}: it was not created by `isthmus docs`, and is not empty\nhelp: choose a new directory",
        path = .0.display()
    )]
    Foreign(PathBuf),
    #[error("failed to write {path}", path = .path.display())]
    Write {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("failed to listen on port {port}")]
    Listen {
        port: u16,
        #[source]
        error: io::Error,
    },
}

impl DocsError {
    /// The text for the user: error chain, help and warnings.
    fn report(&self) -> String {
        match self {
            Self::Session(error) => error.report(),
            other => isthmus_common::error_chain(other),
        }
    }
}
