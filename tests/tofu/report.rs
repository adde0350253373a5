//! What a run has come to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::kinds::KINDS;
use crate::providers::Service;
use crate::rules::Tally;
use crate::steps::{Decision, Edit, Outside, Step};

/// How many failures are told in full.
const TOLD: usize = 400;

/// Counts, and what went wrong.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) steps: usize,
    steps_of_legacy_engine: usize,
    /// How often the legacy engine has called nothing, because its inputs were the same, where OpenTofu would update.
    pub(crate) untouched: usize,
    /// How many of its look-ups were compared.
    pub(crate) lookups: usize,
    /// How many resources have come to their end.
    pub(crate) lives: usize,
    types: BTreeSet<&'static str>,
    decisions: BTreeMap<Decision, usize>,
    happenings: BTreeMap<&'static str, usize>,
    /// How often a provider has failed, to both sides.
    pub(crate) failures_of_providers: usize,
    /// How often the two sides had to part, because OpenTofu refused a plan that no engine applies.
    pub(crate) astray: usize,
    /// How many values of unchanged states are those of an upgrade to OpenTofu, which has stored it.
    pub(crate) upgraded: usize,
    /// How many configurations of providers were compared.
    pub(crate) configurations: usize,
    /// How many previews were compared.
    pub(crate) previews: usize,
    our_requests: usize,
    their_requests: usize,
    pub(crate) tally: Tally,
    failures: Vec<String>,
}

impl Report {
    /// Counts a step and what was decided in it.
    pub(crate) fn count(
        &mut self,
        service: Service,
        type_name: &'static str,
        decision: Decision,
        step: &Step,
    ) {
        self.types.insert(type_name);
        self.steps += 1;
        self.steps_of_legacy_engine += usize::from(service == Service::Lumirpc);
        *self.decisions.entry(decision).or_default() += 1;
        let edit = match step.edit {
            Edit::None => "the program stays as it is",
            Edit::Wish => "the program says something else",
            Edit::Remove => "the program has the resource no more",
            Edit::Import => "imported as it is",
            Edit::ImportOther => "imported into another program",
        };
        *self.happenings.entry(edit).or_default() += 1;
        let outside = match step.outside {
            Outside::Nothing => None,
            Outside::Drift(..) => Some("the object was changed by others"),
            Outside::Vanish => Some("the object was removed by others"),
        };
        if let Some(outside) = outside {
            *self.happenings.entry(outside).or_default() += 1;
        }
        if step.unknown {
            *self.happenings.entry("arguments unknown before the change").or_default() += 1;
        }
        if step.trouble.is_some() {
            *self.happenings.entry("an operation that is to go wrong").or_default() += 1;
        }
        if step.refresh {
            *self.happenings.entry("read before the decision").or_default() += 1;
        }
    }

    /// Counts requests of one resource in one step.
    pub(crate) fn requests(&mut self, ours: usize, theirs: usize) {
        self.our_requests += ours;
        self.their_requests += theirs;
    }

    /// Notes that something is not as it should be.
    pub(crate) fn fail(&mut self, failure: String) {
        self.failures.push(failure);
    }

    /// Whether something is.
    pub(crate) fn has_failed(&self) -> bool {
        !self.failures.is_empty()
    }

    /// What went wrong.
    pub(crate) fn failures(&self) -> String {
        let mut text = format!("{} failures in {} steps\n", self.failures.len(), self.steps);
        for failure in self.failures.iter().take(TOLD) {
            text += failure;
            text += "\n\n";
        }
        text
    }

    /// The kinds that no step was about.
    pub(crate) fn missed(&self) -> Vec<&'static str> {
        KINDS.iter().map(|kind| kind.type_name).filter(|name| !self.types.contains(name)).collect()
    }

    /// The counts, for people.
    pub(crate) fn text(&self) -> String {
        let mut text = "| what | how often |\n|---|---|\n".to_owned();
        let mut line = |name: &str, count: usize| {
            writeln!(text, "| {name} | {count} |").expect("text can be written to");
        };
        line("resources", self.lives);
        line("steps", self.steps);
        line("steps by the legacy engine", self.steps_of_legacy_engine);
        line("updates by OpenTofu that the same inputs give no reason for", self.untouched);
        line("look-ups by the legacy engine", self.lookups);
        line("types of resources", self.types.len());
        for (decision, count) in &self.decisions {
            line(&format!("decided: {decision}"), *count);
        }
        for (happening, count) in &self.happenings {
            line(happening, *count);
        }
        line("the provider failed", self.failures_of_providers);
        line("OpenTofu alone refused the last plan, of what did not change", self.astray);
        line("values that OpenTofu alone has upgraded, of what did not change", self.upgraded);
        line("previews", self.previews);
        line("configurations of providers", self.configurations);
        line("requests about resources by isthmus", self.our_requests);
        line("requests about resources by OpenTofu", self.their_requests);
        text += "\n| rule | how often | reason |\n|---|---|---|\n";
        for (rule, count) in self.tally.counts() {
            writeln!(text, "| {} | {count} | {} |", rule.id, rule.reason).expect("text can be written to");
        }
        text
    }
}
