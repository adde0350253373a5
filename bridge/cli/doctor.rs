//! `isthmus doctor`: examines this machine and a project, and reports faults with what to do.
//!
//! Exit codes: 0 no faults; 1 at least one; 2 usage error. Warnings are no faults. Settings that are not understood are faults
//! here, where other commands end with 2.

mod formats;
mod redaction;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use isthmus_install::ProviderAddress;

use super::install::Reporter;
use super::output::{Outcome, fail, print};
use super::runtime;
use isthmus_doctor::{Check, Level, World, examine};
use redaction::Redaction;

const EXAMPLES: &str = "\
Examples:
  isthmus doctor
  isthmus doctor --project ~/infrastructure hashicorp/aws
  isthmus doctor --skip registry --skip clock
  isthmus doctor --json | jq -r '.checks[].findings[] | .code + \" \" + .message'
  isthmus doctor --report > report.md

isthmus changes nothing. It starts the Pulumi CLI (which may write logs), plugins and the providers in the arguments for a moment. With
--yes it also starts providers that only the project names, and not its lock file or a development override. It queries each provider's
registry or mirror once, unless you pass --offline or set ISTHMUS_OFFLINE. Without a provider in the arguments or the project, it queries
hashicorp/random.

Each fault has a code, which `isthmus explain` describes, and a way to fix it. The exit code is 1 if isthmus finds a fault. isthmus
removes secrets from the output, and from a report also the path of the home directory. Read a report before you publish it.";

/// Examine this machine and project for faults.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Doctor {
    #[arg(
        value_name = "PROVIDER",
        value_parser = address,
        help = "Provider to examine besides the project's, [HOST/][NAMESPACE/]TYPE"
    )]
    providers: Vec<ProviderAddress>,
    /// Project directory (default: the nearest directory upwards with a Pulumi.yaml).
    #[arg(long, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
    /// Make this check only; may be repeated.
    #[arg(long, value_name = "CHECK", value_parser = checks())]
    only: Vec<String>,
    /// Leave out this check; may be repeated.
    #[arg(long, value_name = "CHECK", value_parser = checks(), hide_possible_values = true)]
    skip: Vec<String>,
    /// Start the providers and the plugin that only the project names.
    #[arg(long)]
    yes: bool,
    /// Do not query registries or mirrors.
    #[arg(long)]
    offline: bool,
    /// Write a JSON object: the checks with their findings, and versions.
    #[arg(long)]
    json: bool,
    /// Write a report for a bug tracker, in Markdown.
    #[arg(long, conflicts_with = "json")]
    report: bool,
}

fn address(text: &str) -> Result<ProviderAddress, String> {
    ProviderAddress::parse(text).map_err(|error| error.fault.to_string())
}

fn checks() -> impl clap::builder::TypedValueParser<Value = String> {
    let values = Check::ALL.map(|check| PossibleValue::new(check.name()).help(check.description()));
    PossibleValuesParser::new(values).map(|name| name)
}

pub(super) fn run(doctor: &Doctor) -> ExitCode {
    let directory = match &doctor.project {
        Some(directory) if !directory.is_dir() => {
            return fail(&format!("the project directory {} does not exist", directory.display()));
        }
        Some(directory) => std::path::absolute(directory).unwrap_or_else(|_| directory.clone()),
        None => std::env::current_dir().unwrap_or_default(),
    };
    runtime::run(async {
        let world = World::own(directory, doctor.providers.clone(), doctor.yes, doctor.offline);
        let reporter = Reporter::new();
        let begin = |check: Check| reporter.count(&format!("examining: {}", check.description()));
        let mut examined = examine(&world, &doctor.chosen(), &begin).await;
        reporter.clear();
        let redaction = Redaction::of(world.environment());
        for finding in examined.iter_mut().flat_map(|one| &mut one.judgement.findings) {
            redaction.redact(&mut finding.message);
            finding.help.iter_mut().for_each(|line| redaction.redact(line));
        }
        examined.iter_mut().for_each(|one| redaction.redact(&mut one.judgement.summary));
        let is_healthy = examined.iter().all(|one| one.judgement.level() != Some(Level::Fault));
        print(&match (doctor.json, doctor.report) {
            (true, _) => formats::document(&examined),
            (false, true) => formats::report(&examined, &redaction),
            (false, false) => formats::text(&examined),
        });
        Outcome::of(is_healthy).into()
    })
}

impl Doctor {
    /// The checks to make.
    fn chosen(&self) -> Vec<Check> {
        let named =
            |names: &[String], check: Check| names.iter().any(|name| Check::named(name) == Some(check));
        let is_chosen =
            |check: &Check| (self.only.is_empty() || named(&self.only, *check)) && !named(&self.skip, *check);
        Check::ALL.into_iter().filter(is_chosen).collect()
    }
}
