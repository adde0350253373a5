//! A life under either bridge, which is driven as an engine drives it. What is the engine's own part is done here:
//! `ignoreChanges` applied to inputs, an update after a half-failed operation, secrets guessed where a plugin takes none.

use isthmus_proto::property::Struct;
use isthmus_proto::pulumirpc::diff_response::DiffChanges;
use isthmus_proto::pulumirpc::{DiffResponse, InvokeRequest, property_diff};
use isthmus_test_engine::{SIGNATURE, Severity, bag, json_of, secret};
use serde_json::Value as Json;

use super::{Life, Seen};
use crate::daemon::{Daemon, Failure, Named, Stored, said};
use crate::features::outcome::When;
use crate::features::program::{Phase, Program, ignore, pulumi};
use crate::steps::Decision;

impl Life {
    pub(super) async fn bridge_step(
        &mut self,
        program: Option<&Program>,
        update: bool,
        refresh: bool,
    ) -> Seen {
        let mut seen = Seen::nothing();
        let Some(program) = program else {
            let Some(stored) = self.stored.clone() else { return seen };
            seen.decision = Decision::Delete;
            let named = self.named(self.program.as_ref().expect("what is stored had a program"));
            let outcome = self.bridge().await.delete(&named, &stored).await;
            return match outcome {
                Ok(()) => {
                    self.stored = None;
                    seen
                }
                Err(text) => seen.refuse(When::Update, text),
            };
        };
        let bridge = self.bridge().await;
        let named = self.named(program);
        let told = bridge.told(&named).len();
        let done = self.bridge_changes(&bridge, program, update, refresh).await;
        let mut seen = done;
        let warnings = bridge.told(&named).into_iter().skip(told);
        seen.warnings =
            warnings.filter(|line| line.severity == Severity::Warning).map(|line| line.message).collect();
        self.program = Some(program.clone());
        seen
    }

    async fn bridge_changes(
        &mut self,
        bridge: &Daemon,
        program: &Program,
        update: bool,
        refresh: bool,
    ) -> Seen {
        let mut seen = Seen::nothing();
        let named = self.named(program);
        if refresh && let Some(stored) = self.stored.take() {
            match bridge.refresh(&named, &stored).await {
                Ok(read) => self.stored = read,
                Err(text) => {
                    self.stored = Some(stored);
                    return seen.refuse(When::Refresh, text);
                }
            }
        }
        for phase in [Phase::Preview, Phase::Update] {
            let when = if phase == Phase::Preview { When::Preview } else { When::Update };
            if phase == Phase::Update && !update {
                break;
            }
            let inputs = match self.inputs(bridge, program, phase).await {
                Ok(inputs) => inputs,
                Err(text) => return seen.refuse(when, text),
            };
            let decision = match self.stored.clone() {
                None => Decision::Create,
                Some(stored) => match bridge.diff(&named, &stored, &inputs).await {
                    Err(text) => return seen.refuse(when, text),
                    Ok(difference) => {
                        if phase == Phase::Preview {
                            seen.show(&difference);
                        }
                        decided(&difference)
                    }
                },
            };
            seen.decision = decision;
            let is_preview = phase == Phase::Preview;
            match self.change(bridge, &named, program, inputs, decision, is_preview).await {
                Ok(planned) if is_preview => seen.planned = planned,
                Ok(_) => {}
                Err(text) => return seen.refuse(when, text),
            }
        }
        seen
    }

    /// Check, as an engine makes it.
    async fn inputs(&self, bridge: &Daemon, program: &Program, phase: Phase) -> Result<Struct, String> {
        let named = self.named(program);
        let shape = self.shape(program.type_name);
        let mut news = pulumi(&program.body, &shape.object, phase, bridge.takes_secrets());
        let olds = self.stored.as_ref().map(|stored| &stored.inputs);
        if let Some(olds) = olds {
            let olds = json_of(olds);
            for path in &named.options.ignore {
                ignore(&mut news, &olds, path);
            }
        }
        bridge.check(&named, olds, &bag(&news)).await
    }

    /// What is planned, or what is there afterwards.
    async fn change(
        &mut self,
        bridge: &Daemon,
        named: &Named,
        program: &Program,
        inputs: Struct,
        decision: Decision,
        preview: bool,
    ) -> Result<Json, String> {
        let was_half_made = !preview && std::mem::take(&mut self.is_half_made);
        let stored = self.stored.clone();
        let made = match (decision, stored) {
            (Decision::Nothing, Some(stored)) if was_half_made => {
                bridge.update(named, &stored, &inputs, false).await
            }
            (Decision::Nothing, Some(stored)) => Ok(Stored { inputs, ..stored }),
            (Decision::Create | Decision::ReplaceCreatingFirst, stored) => {
                let made = bridge.create(named, &inputs, preview).await;
                if !preview
                    && made.is_ok()
                    && let Some(stored) = &stored
                {
                    bridge.delete(named, stored).await?;
                }
                made
            }
            (Decision::Update, Some(stored)) => bridge.update(named, &stored, &inputs, preview).await,
            (Decision::ReplaceDeletingFirst, Some(stored)) => {
                if !preview {
                    bridge.delete(named, &stored).await?;
                    self.stored = None;
                }
                bridge.create(named, &inputs, preview).await
            }
            (decision, _) => return Err(format!("{decision} of what is not there")),
        };
        match made {
            Ok(mut made) => {
                let outputs = json_of(&made.outputs);
                if !preview {
                    if !bridge.takes_secrets() {
                        self.guess_secrets(program, &mut made);
                    }
                    self.stored = Some(made);
                }
                Ok(outputs)
            }
            Err(Failure { reason, half_made }) => {
                if !preview && half_made.is_some() {
                    self.stored = half_made;
                    self.is_half_made = true;
                }
                Err(reason)
            }
        }
    }

    /// What an engine does for a plugin that takes no secrets: an output is one where the input of its name is.
    fn guess_secrets(&self, program: &Program, made: &mut Stored) {
        let shape = self.shape(program.type_name);
        let secrets = pulumi(&program.body, &shape.object, Phase::Update, true);
        let (mut inputs, mut outputs) = (json_of(&made.inputs), json_of(&made.outputs));
        mark_secrets(&mut inputs, &secrets);
        mark_secrets(&mut outputs, &secrets);
        made.inputs = bag(&inputs);
        made.outputs = bag(&outputs);
    }

    /// An invoke: what it returns, or why not.
    pub(crate) async fn invoke(&self, token: &str, arguments: &Json, preview: bool) -> Result<Json, String> {
        let request = InvokeRequest { tok: token.to_owned(), args: Some(bag(arguments)), preview };
        let answer = self.bridge().await.client().invoke(request).await;
        let answer = answer.map_err(|status| said(&status))?.into_inner();
        match answer.failures.first() {
            Some(failure) => Err(failure.reason.clone()),
            None => Ok(answer.r#return.as_ref().map_or(Json::Null, json_of)),
        }
    }
}

impl Seen {
    /// What the engine shows of a difference.
    fn show(&mut self, difference: &DiffResponse) {
        let replaces = |kind: i32| {
            use property_diff::Kind;
            let kind = Kind::try_from(kind);
            matches!(kind, Ok(Kind::AddReplace | Kind::DeleteReplace | Kind::UpdateReplace))
        };
        if difference.has_detailed_diff {
            self.shown = difference.detailed_diff.keys().cloned().collect();
            let replacing = difference.detailed_diff.iter().filter(|(_, diff)| replaces(diff.kind));
            self.replacing = replacing.map(|(path, _)| path.clone()).collect();
        } else {
            self.shown.clone_from(&difference.diffs);
            self.replacing.clone_from(&difference.replaces);
        }
        self.shown.sort();
        self.replacing.sort();
    }
}

/// What the engine does about a difference.
fn decided(difference: &DiffResponse) -> Decision {
    match (difference.changes(), difference.replaces.is_empty(), difference.delete_before_replace) {
        (DiffChanges::DiffNone, ..) => Decision::Nothing,
        (_, true, _) => Decision::Update,
        (_, false, false) => Decision::ReplaceCreatingFirst,
        (_, false, true) => Decision::ReplaceDeletingFirst,
    }
}

/// Makes secret what is secret in the other tree, as engines do: through objects, not through lists.
fn mark_secrets(json: &mut Json, secrets: &Json) {
    let (Json::Object(members), Json::Object(secrets)) = (json, secrets) else { return };
    for (name, marked) in secrets {
        let Some(member) = members.get_mut(name) else { continue };
        if member.get(SIGNATURE).is_some() {
            continue;
        }
        if marked.get(SIGNATURE).is_some() {
            *member = secret(member.take());
        } else {
            mark_secrets(member, marked);
        }
    }
}
