//! What only a world of the legacy engine has: deployments that apply no plan, resources that the engine leaves as they are, and
//! look-ups.

use isthmus_proto::property::{Struct, Value};

use super::{Resource, World};
use crate::daemon::Isthmus;
use crate::providers::Service;
use crate::report::Report;
use crate::steps::{Decision, Step};

/// Those types whose objects note that they are read.
const NOTES_READS: [&str; 5] = [
    "conformance_audited",
    "conformance_diary",
    "conformance_timed_attribute",
    "conformance_timed_block",
    "conformance_legacy_timed",
];

/// Those types of which a plan can differ from the last one although the program and the state are the same, so that OpenTofu
/// updates them again and again.
const RESTLESS: [&str; 6] = [
    "conformance_block_list",
    "conformance_block_single",
    "conformance_legacy_planned",
    "conformance_legacy_sets",
    "conformance_legacy_shapes",
    "conformance_planner",
];

impl World {
    /// What a deployment of the legacy engine does. It applies no plan, but decides again, with all arguments known; so does
    /// OpenTofu then, without the changes of the resources that choose them.
    pub(super) async fn deployment(
        &mut self,
        steps: &[Step],
        mut decisions: Vec<Decision>,
        mut untouched: Vec<String>,
        report: &mut Report,
    ) -> Vec<Decision> {
        self.begin_command().await;
        let decided = self
            .each(|_, mut resource, isthmus| async move {
                let decided = resource.decide(&isthmus, false).await;
                (resource, decided)
            })
            .await;
        for (((decided, decision), resource), step) in
            decided.into_iter().zip(&mut decisions).zip(&self.resources).zip(steps)
        {
            match decided {
                Ok(decided) if step.unknown || decided == *decision => *decision = decided,
                other => {
                    let text = format!("planned: {decision}; the deployment decides: {other:?}");
                    report.fail(self.told(resource, step, &text));
                }
            }
        }
        if steps.iter().any(|step| step.unknown) {
            for resource in &mut self.resources {
                resource.turns = resource.made.unwrap_or(resource.turns);
            }
            let theirs = self.tofu_plan(steps, &vec![None; steps.len()], &decisions);
            untouched = self.compare_decisions(steps, &decisions, &theirs, report);
        }
        if !untouched.is_empty() {
            report.untouched += untouched.len();
            self.tofu.plan(false, &untouched);
        }
        decisions
    }

    /// Destroys with OpenTofu what failed creations have left: isthmus does so for the legacy engine, which cannot store it.
    pub(super) fn destroy_tainted(&self) {
        let state = self.tofu.state();
        let is_tainted = |resource: &&Resource| {
            state.get(&resource.named.name).is_some_and(|in_state| in_state.is_tainted)
        };
        let tainted: Vec<String> = self.resources.iter().filter(is_tainted).map(Resource::address).collect();
        if !tainted.is_empty() {
            self.tofu.destroy(&tainted);
        }
    }

    /// Looks up the resources of a legacy engine by their ids: the objects are what the last changes have returned.
    pub(super) async fn look_up(&mut self, steps: &[Step], report: &mut Report) {
        if self.setting.service == Service::Pulumirpc {
            return;
        }
        let found = self
            .each(|_, resource, isthmus| async move {
                let found = resource.look_up(&isthmus).await;
                (resource, found)
            })
            .await;
        for ((found, resource), step) in found.into_iter().zip(&self.resources).zip(steps) {
            report.lookups += usize::from(found.is_some());
            if let Some(Err(text)) = found {
                report.fail(self.told(resource, step, &text));
            }
        }
        for (provider, record) in &mut self.our_records {
            for request in record.added(&self.schemas[provider]) {
                let is_read = matches!(request.method, "ReadResource" | "UpgradeResourceState");
                assert!(is_read || request.type_name.is_empty(), "a look-up only reads: {request:?}");
            }
        }
    }
}

impl Resource {
    /// Whether OpenTofu may update it although its program is the same: to repeat an update that has failed, or by a plan that
    /// differs from the last one. The legacy engine then calls nothing.
    pub(super) fn is_restless(&self) -> bool {
        self.is_half_made || RESTLESS.contains(&self.kind.type_name)
    }

    /// Compares what the legacy engine has with a look-up by the id. `None`: it cannot be compared.
    async fn look_up(&self, isthmus: &Isthmus) -> Option<Result<(), String>> {
        let (Isthmus::Lumirpc(plugin), Some(stored)) = (isthmus, &self.stored) else { return None };
        // After a failed change the engine has what was before.
        let is_behind = self.is_half_made || self.is_half_deleted || self.is_astray;
        if is_behind || NOTES_READS.contains(&self.kind.type_name) {
            return None;
        }
        let found = plugin.get(&self.named, &stored.id).await;
        let is_of_older_sdk = self.kind.type_name.starts_with("conformance_legacy");
        let is_same = match &found {
            Ok(Some(found)) if is_of_older_sdk => without_zeros(found) == without_zeros(&stored.outputs),
            Ok(Some(found)) => *found == stored.outputs,
            Ok(None) | Err(_) => false,
        };
        let differs = || format!("Get returns {found:?}, the engine has {:?}", stored.outputs);
        Some(if is_same { Ok(()) } else { Err(differs()) })
    }
}

/// Outputs without nulls and zero values: the older SDK reads the one for the other.
fn without_zeros(outputs: &Struct) -> Struct {
    fn without(value: &Value) -> Value {
        match value {
            Value::List(items) => Value::List(items.iter().map(without).collect()),
            Value::Struct(members) => Value::Struct(without_zeros(members)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }
    let is_zero = |value: &Value| match value {
        Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Number(number) => *number == 0.0,
        Value::String(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Struct(members) => members.is_empty(),
    };
    let members = outputs.iter().map(|(name, value)| (name.to_owned(), without(value)));
    members.filter(|(_, value)| !is_zero(value)).collect()
}
