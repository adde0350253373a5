//! Access to the registries and mirrors of providers: one query for each provider.

use std::time::SystemTime;

use isthmus_install::{Installer, ProviderAddress};

use super::finding::{Finding, Judgement};
use super::project_files;
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_package::parameters::ParameterSource;
use isthmus_session::error_code::of_installation;

/// Queried where neither the user nor a project names a provider.
const USUAL: &str = "hashicorp/random";

/// Most providers that are queried.
const MOST: usize = 32;

/// The answer to a query.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    address: ProviderAddress,
    /// When it came, by this machine's clock.
    at: SystemTime,
    outcome: Result<(String, Option<SystemTime>), (ErrorCode, String)>,
}

/// The providers of the project and those that the user has named, each once.
pub(super) fn addresses(
    world: &World,
    project: Option<&project_files::ProjectFiles>,
) -> Vec<ProviderAddress> {
    let mut addresses = world.providers.clone();
    for source in project.iter().flat_map(|project| project.providers()) {
        if let ParameterSource::Remote { url, .. } = source
            && let Ok(address) = ProviderAddress::parse(&url)
            && !addresses.contains(&address)
        {
            addresses.push(address);
        }
    }
    addresses
}

pub(super) async fn gather(installer: &Installer, mut addresses: Vec<ProviderAddress>) -> Vec<Answer> {
    if addresses.is_empty() {
        addresses.extend(ProviderAddress::parse(USUAL));
    }
    let mut answers = Vec::new();
    for address in addresses.into_iter().take(MOST) {
        let outcome = match installer.probe(&address).await {
            Ok(probe) => Ok((probe.origin, probe.date)),
            Err(error) => {
                let text = isthmus_common::with_help(isthmus_common::error_chain(&*error), error.help());
                Err((of_installation(&error), text))
            }
        };
        answers.push(Answer { address, at: SystemTime::now(), outcome });
    }
    answers
}

pub(super) fn judge(answers: &[Answer]) -> Judgement {
    let mut findings: Vec<Finding> = Vec::new();
    let mut failed: Vec<(&str, ErrorCode)> = Vec::new();
    let mut reached = Vec::new();
    for Answer { address, outcome, .. } in answers {
        match outcome {
            Ok((origin, _)) => reached.push(format!("{} at {origin}", address.for_display())),
            // A registry that is down is down for all of its providers.
            Err((code, _)) if failed.contains(&(address.host(), *code)) => {}
            Err((code, text)) => {
                failed.push((address.host(), *code));
                findings.push(Finding::fault(*code, text));
            }
        }
    }
    let summary = if reached.is_empty() { "no provider was found".to_owned() } else { reached.join(", ") };
    Judgement::new(summary, findings)
}

impl Answer {
    /// The time of the registry's clock, and of this machine's at that moment.
    pub(super) fn dates(&self) -> Option<(SystemTime, SystemTime)> {
        let (_, date) = self.outcome.as_ref().ok()?;
        Some(((*date)?, self.at))
    }

    /// A registry's host, for messages.
    pub(super) fn host(&self) -> &str {
        self.address.host()
    }
}
