//! The steps of an inspection: the calls that an engine makes in a preview, up to the plan.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use isthmus_known_secrets::{KnownSecrets, Retention};
use isthmus_proto::property::Struct;
use isthmus_provider::Provider;
use isthmus_provider::plugin::ProtocolVersion;

use super::files::Prior;
use super::report::{Action, Report, Step};
use super::schema_rows::schema_rows;
use isthmus_operations::resource::{
    self, AutonamingMode, Change, ChangeKind, Changes, Checked, Comparison, Difference, EarlierPlans,
    Failure, Naming, OperationError, OperationWarnings, Target, describe,
};
use isthmus_package::parameters::ParameterSource;
use isthmus_package::shape::{ObjectShape, ResourceShape};
use isthmus_services::config;
use isthmus_session::daemon::Instance;
use isthmus_trace::transcript::{Masks, ProviderCall, Shown, mark_what_may_be_secret, shown_bag};
use isthmus_trace::walk::{CapturedCalls, Schemas};
use isthmus_translate::inputs::{Unknowns, config_from_stored};
use isthmus_translate::marked_secrets::note_secrets;
use isthmus_translate::meta::{META_KEY, Meta};

/// The resource that is inspected, and the provider whose calls are captured.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    instance: &'a Instance,
    provider: Provider,
    shape: Arc<ResourceShape>,
    /// The name in the program.
    name: &'a str,
    urn: String,
    calls: CapturedCalls,
    masks: Masks,
    steps: Vec<Step>,
}

/// What an engine has after a check.
struct CheckedInputs {
    inputs: Struct,
    is_name_generated: bool,
}

impl<'a> Subject<'a> {
    pub(super) fn new(instance: &'a Instance, shape: Arc<ResourceShape>, name: &'a str) -> Self {
        let calls = CapturedCalls::default();
        let provider = instance.provider();
        let secrets = provider.secrets().clone();
        let provider = provider.of_user(secrets.clone(), calls.observer());
        let urn = format!("urn:pulumi:inspect::inspect::{}::{name}", shape.token);
        Self { instance, provider, shape, name, urn, calls, masks: Masks::new(secrets), steps: Vec::new() }
    }

    fn target(&self) -> Target<'_> {
        Target {
            numbers: self.instance.settings().exact_numbers,
            plans: Some(EarlierPlans { key: Cow::Borrowed(&self.urn), plans: &self.instance.plans }),
            ..Target::new(&self.provider, Arc::clone(&self.shape), self.instance.package.identity())
        }
    }

    /// Learns the secrets in a bag of the resource, which its request and those of the provider show.
    fn learn(&mut self, bag: &Struct) {
        note_marked(bag, &self.shape.object, self.provider.secrets(), Retention::Usual);
        // What cannot be read reaches no provider.
        if let Ok(config) =
            config_from_stored(bag, &self.shape.object, &self.shape.schema.block, Unknowns::Keep)
        {
            self.masks.add_paths(&config.secrets);
        }
    }

    /// Marks properties as those of the current schema and names, as an engine's have it.
    fn add_version(&self, properties: &mut Struct) {
        let meta = Meta {
            schema_version: self.shape.schema.version,
            names: self.instance.package.identity().parameter.names.digest_of_properties(),
            ..Meta::default()
        };
        if let Some(meta) = meta.to_property() {
            properties.insert(META_KEY, meta);
        }
    }

    fn bag(&self, bag: &Struct) -> Shown {
        shown_bag(bag, &self.shape.object, &self.masks)
    }

    /// Adds a step, with the calls of the provider since the one before. Returns whether it succeeded.
    fn add(
        &mut self,
        method: &'static str,
        request: Shown,
        response: Result<Shown, OperationError>,
        warnings: &OperationWarnings,
        object: &ObjectShape,
    ) -> bool {
        let response = response.map_err(|error| self.masks.redacted(&isthmus_common::error_chain(&error)));
        let diagnostics = warnings.diagnostics.iter().map(|warning| describe(warning, object));
        let lost = warnings.lost_digits.iter().map(|lost| lost.warning());
        let warnings = diagnostics.chain(warnings.texts.iter().cloned()).chain(lost);
        let warnings = warnings.map(|warning| self.masks.redacted(&warning)).collect();
        let is_refused = matches!(&response, Ok(Shown::Object(members)) if members.iter().any(|(name, _)| name == FAILURES));
        let is_done = response.is_ok() && !is_refused;
        let catalogue = Arc::clone(self.provider.catalogue());
        let provider = ProviderCall::take(&self.calls, Schemas(&catalogue), &self.masks);
        self.steps.push(Step { method, request, response, warnings, is_refused, provider });
        is_done
    }

    /// Checks the provider's configuration, and configures it. Returns whether it succeeded.
    async fn configure(&mut self, config: &Struct) -> bool {
        let shape = match self.instance.package.config_shape() {
            Ok(shape) => Arc::clone(&shape.object),
            // The calls below report it.
            Err(_) => Arc::default(),
        };
        note_marked(config, &shape, self.provider.secrets(), Retention::Session);
        let urn = format!(
            "urn:pulumi:inspect::inspect::pulumi:providers:{}::default",
            self.instance.package.identity().name
        );
        let mut warnings = OperationWarnings::default();
        let checked = config::check(self.instance, &self.provider, &urn, config.clone(), &mut warnings).await;
        let request = Shown::object([("news", shown_bag(config, &shape, &self.masks))]);
        let (inputs, response) = self.checked(checked, &shape);
        if !self.add("CheckConfig", request, response, &warnings, &shape) {
            return false;
        }
        let mut warnings = OperationWarnings::default();
        let arguments = config::Arguments::Properties(&inputs);
        let configured = config::configure(self.instance, &self.provider, arguments, &mut warnings).await;
        let request = Shown::object([("args", shown_bag(&inputs, &shape, &self.masks))]);
        let response = configured.map(|()| Shown::Object(Vec::new()));
        self.add("Configure", request, response, &warnings, &shape)
    }

    async fn check(&mut self, news: Struct, prior: Option<&Prior>) -> Option<CheckedInputs> {
        self.learn(&news);
        let none = Struct::new();
        let olds = prior.map_or(&none, |prior| &prior.inputs);
        // The digits of a generated name are the same in each inspection.
        let seed = self.urn.as_bytes();
        let naming = Naming { resource: self.name, olds, seed, autonaming_mode: AutonamingMode::Any };
        let (checked, warnings) = {
            let target = self.target();
            (resource::check(&target, news.clone(), Some(&naming)).await, target.warnings.take())
        };
        let object = Arc::clone(&self.shape.object);
        let mut request = vec![("news".to_owned(), self.bag(&news))];
        if !olds.is_empty() {
            request.push(("olds".to_owned(), self.bag(olds)));
        }
        let (inputs, response) = self.checked(checked, &object);
        let is_done = self.add("Check", Shown::Object(request), response, &warnings, &object);
        is_done.then_some(CheckedInputs { inputs, is_name_generated: warnings.is_name_generated })
    }

    /// Inputs that were checked, and the response that has them.
    fn checked(
        &self,
        checked: Result<Checked, OperationError>,
        shape: &ObjectShape,
    ) -> (Struct, Result<Shown, OperationError>) {
        match checked {
            Err(error) => (Struct::new(), Err(error)),
            Ok(Checked { inputs, failures }) => {
                let mut response = vec![("inputs".to_owned(), shown_bag(&inputs, shape, &self.masks))];
                if !failures.is_empty() {
                    let failures = failures.iter().map(|failure| self.failure(failure));
                    response.push((FAILURES.to_owned(), Shown::List(failures.collect())));
                }
                (inputs, Ok(Shown::Object(response)))
            }
        }
    }

    fn failure(&self, failure: &Failure) -> Shown {
        let [property, reason] = [failure.property(), failure.reason()].map(|text| self.masks.text(text));
        if failure.property().is_empty() {
            Shown::object([("reason", reason)])
        } else {
            Shown::object([("property", property), ("reason", reason)])
        }
    }

    async fn create(&mut self, inputs: &Struct) -> bool {
        let (planned, warnings) = {
            let target = self.target();
            (resource::preview_create(&target, inputs).await, target.warnings.take())
        };
        let request = Shown::object([("properties", self.bag(inputs))]);
        let response = planned.map(|properties| Shown::object([("properties", self.bag(&properties))]));
        let object = Arc::clone(&self.shape.object);
        self.add("Create (preview)", request, response, &warnings, &object)
    }

    /// Compares with an existing object, and plans its change.
    async fn change(&mut self, checked: CheckedInputs, stored: &Prior) -> Action {
        let object = Arc::clone(&self.shape.object);
        let request = Shown::object([
            ("olds", self.bag(&stored.outputs)),
            ("oldInputs", self.bag(&stored.inputs)),
            ("news", self.bag(&checked.inputs)),
        ]);
        let target = self.target().compared(Some(&stored.inputs));
        let compared = async {
            let prior = target.prior(&stored.outputs).await?;
            let comparison = Comparison {
                inputs: &stored.inputs,
                olds: &stored.outputs,
                news: checked.inputs.clone(),
                ignore_changes: &[],
                is_name_generated: checked.is_name_generated,
            };
            let difference = resource::diff(&target, &prior, comparison).await?;
            Ok::<_, OperationError>((prior, difference))
        };
        let compared = compared.await;
        let warnings = target.warnings.take();
        drop(target);
        let (compared, response) = match compared {
            Ok((prior, difference)) => {
                let shown = self.difference(&difference);
                (Some((prior, difference)), Ok(shown))
            }
            Err(error) => (None, Err(error)),
        };
        self.add("Diff", request, response, &warnings, &object);
        let Some((prior, difference)) = compared else { return Action::Refused };
        if difference.changes.is_empty() {
            return Action::Nothing;
        }
        if difference.changes.values().any(|change| change.replaces) {
            return match self.create(&checked.inputs).await {
                false => Action::Refused,
                true if difference.delete_before_replace => Action::DeleteAndReplace,
                true => Action::Replace,
            };
        }
        let request = Shown::object([
            ("olds", self.bag(&stored.outputs)),
            ("oldInputs", self.bag(&stored.inputs)),
            ("news", self.bag(&checked.inputs)),
        ]);
        let changes = Changes {
            inputs: &stored.inputs,
            olds: &stored.outputs,
            news: checked.inputs,
            ignore_changes: &[],
        };
        let (planned, warnings) = {
            let target = self.target();
            (resource::preview_update(&target, &prior, changes).await, target.warnings.take())
        };
        let response = planned.map(|properties| Shown::object([("properties", self.bag(&properties))]));
        if self.add("Update (preview)", request, response, &warnings, &object) {
            Action::Update
        } else {
            Action::Refused
        }
    }

    fn difference(&self, difference: &Difference) -> Shown {
        let has_changes = !difference.changes.is_empty();
        let changes = if has_changes { "DIFF_SOME" } else { "DIFF_NONE" };
        let mut members = vec![("changes".to_owned(), Shown::text(changes))];
        if has_changes {
            let names = |names: BTreeSet<&str>| Shown::List(names.into_iter().map(Shown::text).collect());
            members.push(("diffs".to_owned(), names(difference.changed())));
            let replacing = difference.replacing();
            if !replacing.is_empty() {
                members.push(("replaces".to_owned(), names(replacing)));
            }
            if difference.is_detailed() {
                let detailed = difference.detailed().map(|(path, change)| {
                    (self.masks.redacted(&path.to_string()), Shown::text(kind(change)))
                });
                members.push(("detailedDiff".to_owned(), Shown::Object(detailed.collect())));
            }
            members.push(("deleteBeforeReplace".to_owned(), Shown::Bool(difference.delete_before_replace)));
        }
        if !difference.stables.is_empty() {
            let stables = difference.stables.iter().map(Shown::text);
            members.push(("stables".to_owned(), Shown::List(stables.collect())));
        }
        Shown::Object(members)
    }
}

/// Notes the secrets of a bag, which no check has seen yet.
fn note_marked(bag: &Struct, shape: &ObjectShape, secrets: &KnownSecrets, retention: Retention) {
    let mut marked = bag.clone();
    mark_what_may_be_secret(&mut marked, shape);
    note_secrets(&marked, secrets, retention);
}

/// The member of a response to Check that makes the inputs invalid.
const FAILURES: &str = "failures";

/// The kind of a change, as Pulumi's JSON has it.
fn kind(change: Change) -> &'static str {
    match (change.kind, change.replaces) {
        (ChangeKind::Add, false) => "add",
        (ChangeKind::Add, true) => "add-replace",
        (ChangeKind::Delete, false) => "delete",
        (ChangeKind::Delete, true) => "delete-replace",
        (ChangeKind::Update, false) => "update",
        (ChangeKind::Update, true) => "update-replace",
    }
}

/// Makes the calls of a preview. The first one that fails is the last.
pub(super) async fn report(
    mut subject: Subject<'_>,
    config: &Struct,
    inputs: Struct,
    mut prior: Option<Prior>,
) -> Report {
    if let Some(prior) = prior.as_mut().filter(|prior| prior.is_bare) {
        subject.add_version(&mut prior.outputs);
    }
    let prior = prior.as_ref();
    if let Some(prior) = prior {
        subject.learn(&prior.outputs);
        subject.learn(&prior.inputs);
    }
    let action = if !subject.configure(config).await {
        Action::Refused
    } else {
        match (subject.check(inputs, prior).await, prior) {
            (None, _) => Action::Refused,
            (Some(checked), Some(prior)) => subject.change(checked, prior).await,
            (Some(checked), None) => {
                if subject.create(&checked.inputs).await {
                    Action::Create
                } else {
                    Action::Refused
                }
            }
        }
    };
    let identity = subject.instance.package.identity();
    let (schema, is_cut) = schema_rows(&subject.shape);
    Report {
        provider: match &identity.parameter.source {
            ParameterSource::Remote { url, .. } => url.clone(),
            ParameterSource::Local { path } => path.clone(),
        },
        version: identity.provider_version().map(str::to_owned),
        protocol: match subject.provider.protocol() {
            ProtocolVersion::V5 => 5,
            ProtocolVersion::V6 => 6,
        },
        resource_type: subject.shape.terraform_type.to_string(),
        token: subject.shape.token.clone(),
        schema,
        is_cut,
        steps: subject.steps,
        action,
    }
}
