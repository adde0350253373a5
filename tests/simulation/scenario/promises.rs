//! What must be true, whatever a seed decides: docs/reliability.md says it to users.

use std::collections::BTreeSet;

use isthmus_state::{Condition, OpenIntent, OperationKind};

use super::{Broken, PATIENCE, Scenario};
use crate::cloud::THING;
use crate::plugin::{self, Known};
use crate::system::{self, Machine};
use crate::world::{self, Shared};

impl Scenario {
    /// What `isthmus recover` and the state store know.
    fn known(&mut self) -> Result<Known, Broken> {
        system::wait_until(self.server.with(|server| server.stopped_until));
        let found = Shared::default();
        world::start("recover", Machine::NEW, plugin::recover(self.place.clone(), found.clone()));
        let limit = system::now() + PATIENCE;
        self.parties.run_until(limit, || found.with(|found| found.is_some()));
        let known: Result<Known, String> = found.with(Option::take).ok_or("`isthmus recover` hangs")?;
        let known = known.map_err(|error| format!("`isthmus recover` fails: {error}"))?;
        match known.open.faults.first() {
            Some(fault) => Err(format!("the journal cannot be read: {fault:?}")),
            None => Ok(known),
        }
    }

    /// Each object is known to an engine, to `isthmus recover` or to the state store.
    pub(super) fn survey(&mut self) -> Result<(), Broken> {
        let Known { open, stored } = self.known()?;
        for open in &open.intents {
            world::note(|| {
                format!(
                    "open: {} {:?}",
                    isthmus_operations::resource::reports::of_operation(open),
                    open.marks
                )
            });
        }
        for (id, name) in self.strangers() {
            let is_known =
                stored.contains(&id) || open.intents.iter().any(|open| is_creation_of(open, &id, &name));
            if !is_known && !self.may_have_lost {
                let open = open.intents.iter();
                let open = open.map(|open| (&open.intent.subject, &open.intent.key.id, &open.condition));
                return Err(format!(
                    "{id} of {name} is lost: no engine has it, and open are {:#?}",
                    open.collect::<Vec<_>>()
                ));
            }
        }
        Ok(())
    }

    /// The objects that no engine knows: id and name.
    pub(super) fn strangers(&self) -> Vec<(String, String)> {
        let known: BTreeSet<String> =
            self.stacks.iter().flat_map(|stack| stack.saved.with(|saved| saved.ids())).collect();
        self.cloud.with(|cloud| {
            let objects = cloud.objects.iter();
            let objects = objects.filter(|(id, _)| !known.contains(*id) && !cloud.of_others.contains(*id));
            objects.map(|(id, object)| (id.clone(), object.name.clone())).collect()
        })
    }

    /// Objects and states are as the programs say.
    pub(super) fn objects_are_as_wished(&self) -> Result<(), Broken> {
        for stack in &self.stacks {
            let (stored, uncertain) =
                stack.saved.with(|saved| (saved.resources.clone(), saved.uncertain.clone()));
            for (name, wish) in stack.program.iter().filter(|(name, _)| !uncertain.contains(*name)) {
                let id = &stored[name].id;
                let Some(object) = self.cloud.with(|cloud| cloud.objects.get(id).cloned()) else {
                    return Err(format!("{name} of {} is {id}, which is not there", stack.name));
                };
                let body = match &wish.after {
                    None => format!("text {}", wish.body),
                    Some(after) => format!("text {} after {}", wish.body, stored[after].id),
                };
                if object.body != body
                    || object.color != format!("color {}", wish.color)
                    || object.name != wish.title
                {
                    return Err(format!("{id} is {object:?}, and not as {wish:?} says"));
                }
                let outputs = &stored[name].outputs;
                if outputs["body"] != object.body
                    || outputs["version"].as_str() != Some(&*object.version.to_string())
                {
                    return Err(format!("the state of {name} is {outputs}, and {id} is {object:?}"));
                }
            }
        }
        Ok(())
    }

    /// Each object that no engine knows was reported, and nothing else was.
    pub(super) fn reports(&self) -> Result<(), Broken> {
        let strangers = self.strangers();
        for stack in &self.stacks {
            let saved = stack.saved.with(|saved| saved.clone());
            let reports = &saved.reports;
            let creations: BTreeSet<&String> = reports.iter().filter(|text| is_of_creation(text)).collect();
            let strangers: Vec<_> =
                strangers.iter().filter(|(_, name)| name.starts_with(stack.name)).collect();
            for (id, name) in &strangers {
                let title = name.rsplit('/').next().unwrap_or_default();
                let is_of_it = |report: &String| {
                    report.contains(&format!("{id} "))
                        || report.contains(&format!("{id},"))
                        || report.contains(&format!("\"{id}\""))
                        || resource_of(report) == title
                };
                // Where the resource is not created again, nothing shows that the engine does not know it.
                let is_forgotten = saved.forgotten.contains_key(id);
                if !self.may_have_lost && !is_forgotten && !reports.iter().any(is_of_it) {
                    return Err(format!("{id} of {name} was not reported: {reports:#?}"));
                }
            }
            world::add("reports of creations", creations.len() as u64);
            world::add("objects that no engine knows", strangers.len() as u64);
            // It has said itself that it may report more.
            let is_announced = reports
                .iter()
                .any(|text| text.contains("Failed to record") || text.contains("Failed to remove"));
            if self.may_have_lost || self.may_report || is_announced {
                continue;
            }
            for report in creations {
                let is_of = |name: &String| resource_of(report) == first_name(name);
                let has_cause = saved.unanswered.iter().any(|(name, times)| *times > 0 && is_of(name))
                    || saved.released.values().any(is_of)
                    || stack.hasty.iter().any(is_of);
                if !has_cause {
                    return Err(format!("a report without a cause: {report}"));
                }
            }
        }
        Ok(())
    }
}

/// Whether a warning reports the creation of an object.
fn is_of_creation(text: &str) -> bool {
    text.contains("isthmus recover dismiss")
}

/// The first name of the resource that a report is about.
fn resource_of(report: &str) -> &str {
    let subject = report.split(&format!(" ({THING}")).next().unwrap_or_default();
    first_name(subject.rsplit([' ', ':']).next().unwrap_or_default())
}

/// The name that a resource had first, or that of the one whose object it has imported.
fn first_name(name: &str) -> &str {
    name.split('-').next().unwrap_or_default().trim_end_matches('x')
}

/// Whether an operation is the creation of an object: by its id, or by its resource where the id is not known.
fn is_creation_of(open: &OpenIntent, id: &str, name: &str) -> bool {
    let Some((stack, title)) = name.split_once('/') else { return false };
    let subject = &open.intent.subject;
    // The legacy engine has one stack here, and names no other.
    let is_of_stack = subject.contains(&format!(":{stack}::")) || !subject.contains("::");
    let is_of_it = is_of_stack && first_name(subject.rsplit("::").next().unwrap_or_default()) == title;
    let is_unknown = !matches!(open.condition, Condition::Unconfirmed);
    open.intent.intention == OperationKind::Create && (open.intent.key.id == id || is_of_it && is_unknown)
}
