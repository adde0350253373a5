//! `isthmus inspect`: schema, plan and difference of one resource without an engine, with the calls of both sides.
//!
//! The provider is started and configured, validates and plans; nothing is created, changed or stored. The steps
//! are the same functions that both services call, so what is shown is what an engine gets.

mod error;
mod files;
mod layout;
mod report;
mod schema_rows;
mod steps;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use isthmus_proto::property::Struct;

use isthmus_platform::terminal::size;

use super::output::{USAGE_ERROR, fail, inform, is_terminal, print, warn};
use super::runtime;
use error::InspectError;
use files::PriorFile;
use isthmus_context::project::names_file::NamesFile;
use isthmus_context::settings::Settings;
use isthmus_package::parameters::Arguments;
use isthmus_reference::{Members, PageKind};
use isthmus_session::daemon::{Instance, open_package};
use isthmus_session::engine::EngineLog;
use isthmus_session::process_context::{ProcessContext, StartedBy};
use report::Report;
use steps::Subject;

const EXAMPLES: &str = "\
Examples:
  isthmus inspect hashicorp/random random_pet --inputs inputs.json
  isthmus inspect ./terraform-provider-acme acme_server --inputs inputs.json --config config.json
  pulumi stack export --show-secrets | isthmus inspect hashicorp/random random.Pet --inputs inputs.json --prior -
  isthmus inspect hashicorp/random random_pet --inputs inputs.json --json | jq '.steps[].terraform'

TYPE is a name in Terraform (random_password) or in Pulumi (random:index/password:Password, random.Password, Password).
Files are JSON, with Pulumi's names of properties; {\"fn::secret\": VALUE} is a secret.";

/// How long a provider has to end.
const GRACE: Duration = Duration::from_secs(5);

/// Columns of a terminal from which on both sides are shown side by side.
const WIDE: usize = 100;

/// Show schema, plan and diff of one resource.
///
/// Shows the calls to the provider with their responses, and the result for Pulumi, side by side on a wide
/// terminal. isthmus configures the provider and plans; it creates, changes and stores nothing. It masks
/// secrets.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Inspect {
    #[arg(
        value_name = "PROVIDER",
        help = "Path of a provider binary, or source address, [HOST/][NAMESPACE/]TYPE"
    )]
    provider: String,
    /// Resource type.
    #[arg(value_name = "TYPE")]
    resource: String,
    /// JSON file of the resource's inputs; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    inputs: PathBuf,
    /// JSON file of the existing object: a stack export, a resource of one, or its properties; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    prior: Option<PathBuf>,
    /// URN of the resource in the stack export, if it has several of the type.
    #[arg(long, requires = "prior")]
    urn: Option<String>,
    /// JSON file of the provider configuration (default: an empty one).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Version or version constraint of an address, such as '~> 3.8' (default: the newest).
    #[arg(long, value_name = "VERSION")]
    provider_version: Option<String>,
    /// Name of the package (default: the provider's type).
    #[arg(long, value_name = "NAME")]
    provider_name: Option<String>,
    /// Name of the resource in the program, which autonaming uses.
    #[arg(long, default_value = "example")]
    name: String,
    /// Write a JSON object: schema, and the calls of each step.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(inspect: &Inspect, settings: &Arc<Settings>) -> ExitCode {
    runtime::run(async {
        match inspect.report(settings).await {
            Ok(report) => {
                print(&if inspect.json { report.document() } else { layout::text(&report, columns()) });
                match report.failure() {
                    None => ExitCode::SUCCESS,
                    Some(step) => fail(&format!("{step} failed: the reason is shown above")),
                }
            }
            Err(error) => {
                let code = fail(&isthmus_common::error_chain(&error));
                if error.is_usage_error() { ExitCode::from(USAGE_ERROR) } else { code }
            }
        }
    })
}

/// The columns of both sides together; `None`: one is shown above the other.
fn columns() -> Option<usize> {
    let (columns, _) = size().filter(|_| is_terminal())?;
    (columns >= WIDE).then_some(columns)
}

impl Inspect {
    async fn report(&self, settings: &Arc<Settings>) -> Result<Report, InspectError> {
        // Before anything is downloaded or started.
        let files = [Some(&self.inputs), self.prior.as_ref(), self.config.as_ref()];
        if files.into_iter().flatten().filter(|file| files::is_standard_input(file)).count() > 1 {
            return Err(InspectError::StandardInput);
        }
        let inputs = files::read_bag(&self.inputs)?;
        let config = self.config.as_deref().map(files::read_bag).transpose()?.unwrap_or_default();
        let prior = self.prior.as_deref().map(PriorFile::read).transpose()?;
        let log = EngineLog::start(None);
        let instance = self.open(settings, &log).await?;
        let report = self.steps(&instance, &config, inputs, prior).await;
        instance.end(GRACE).await;
        log.flush().await;
        report
    }

    async fn steps(
        &self,
        instance: &Instance,
        config: &Struct,
        inputs: Struct,
        prior: Option<PriorFile>,
    ) -> Result<Report, InspectError> {
        let package = &instance.package;
        let members = Members::of(package);
        let member = members.find(&package.identity().name, &self.resource)?;
        if member.kind != PageKind::Resource {
            return Err(InspectError::Kind { name: self.resource.clone(), kind: member.kind.name() });
        }
        let shape = package.resource(&member.terraform)?;
        let prior = prior.map(|file| file.find(&shape.token, self.urn.as_deref())).transpose()?;
        let subject = Subject::new(instance, shape, &self.name);
        Ok(steps::report(subject, config, inputs, prior).await)
    }

    /// Starts the provider, with the names that the project around the working directory has chosen.
    async fn open(&self, settings: &Arc<Settings>, log: &EngineLog) -> Result<Arc<Instance>, InspectError> {
        let context = Arc::new(ProcessContext::own(StartedBy::Other, Arc::clone(settings)));
        let mut arguments = vec![self.provider.clone()];
        arguments.extend(self.provider_version.clone());
        if let Some(name) = &self.provider_name {
            arguments.extend(["--provider-name".to_owned(), name.clone()]);
        }
        let arguments = Arguments::parse(&arguments)?;
        let names = context.working_directory().map_or(Ok(None), NamesFile::around)?;
        let mut warnings = Vec::new();
        let opened =
            open_package(arguments, names, &context, log, &|line: String| inform(&line), &mut warnings).await;
        warnings.iter().for_each(|warning| warn(warning));
        Ok(opened?)
    }
}
