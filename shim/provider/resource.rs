//! The lifecycle of one managed resource, call by call as core makes them.

use std::sync::Arc;

use bytes::Bytes;
use isthmus_proto::tfplugin6;

use super::deferral::Postponement;
use super::diagnostics::{attribute_path, errors_of};
use super::final_plan::{Handover, Start};
use super::{Deferral, Diagnostic, Provider, ProviderError, Rpc, dynamic};
use crate::cty::{AttributePath, PathStep, Type, Value, json::Json};
use crate::rules;
use crate::schema::Schema;

/// One resource type of one provider.
#[derive(Debug)]
pub struct Resource<'a> {
    pub(super) provider: &'a Provider,
    pub(super) type_name: Arc<str>,
    schema: Arc<Schema>,
}

/// A resource that exists, as Terraform keeps it.
#[derive(Clone, Debug)]
pub struct Object {
    /// Conforms to the schema; wholly known.
    pub value: Value,
    /// The provider's own data, returned to it as it came.
    pub private: Bytes,
    /// The provider's identity of the object, returned to it as it came.
    pub identity: Option<tfplugin6::ResourceIdentityData>,
}

/// A resource that exists, as it was stored by whatever version of the provider.
#[derive(Clone, Debug)]
pub struct StoredObject {
    /// The value, by the schema of that version.
    pub value: Json,
    /// Which version.
    pub schema_version: i64,
    /// See [`Object::private`].
    pub private: Bytes,
    /// See [`Object::identity`].
    pub identity: Option<tfplugin6::ResourceIdentityData>,
}

/// What a plan amounts to.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// There is nothing yet.
    Create,
    /// The plan is the prior state.
    NoOp,
    /// The object changes in place.
    Update,
    /// The object has to make way for a new one, because of these attributes. What is planned is the change in place that
    /// the provider cannot make; the new object has a plan of its own.
    Replace(Vec<AttributePath>),
    /// The object goes.
    Delete,
}

/// A provider's plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it amounts to.
    pub action: Action,
    /// The state that is planned; unknown where only applying will tell. Null: the object goes.
    pub planned: Value,
    /// Why it cannot be applied yet, if it cannot. What is planned is then what the configuration says, and unknown where it
    /// leaves something to the provider.
    pub deferral: Option<Deferral>,
    pub(super) prior: Value,
    pub(super) prior_private: Bytes,
    pub(super) config: Value,
    pub(super) private: Bytes,
    pub(super) identity: Option<tfplugin6::ResourceIdentityData>,
    legacy: bool,
    /// How often the provider had been asked to stop when planning began.
    stops: u64,
}

/// What applying a plan has come to.
#[derive(Debug)]
pub struct Applied {
    /// What exists now; `None` when the object is gone.
    pub object: Option<Object>,
    /// Ways in which the result is not what was planned, in a provider of which that is tolerated.
    pub inconsistencies: Vec<rules::Violation>,
}

/// What ReadResource has come to.
enum Sight {
    /// The object, or its absence.
    Clear(Option<Object>),
    /// The provider cannot tell yet.
    Deferred(Deferral),
}

/// A failed apply.
#[derive(Debug)]
pub struct ApplyFailure {
    /// Why.
    pub error: ProviderError,
    /// What exists all the same, or still. `None`: nothing does, or nothing is known beyond what was there before.
    pub object: Option<Object>,
}

impl<'a> Resource<'a> {
    pub(super) fn new(provider: &'a Provider, type_name: Arc<str>, schema: Arc<Schema>) -> Self {
        Self { provider, type_name, schema }
    }

    /// Its schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Lets the provider judge a configuration, which may have unknown values. Errors are returned as
    /// [`ProviderError::Diagnostics`].
    pub async fn validate(
        &self,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let rpc = Rpc::ValidateResourceConfig;
        let request = tfplugin6::validate_resource_config::Request {
            type_name: self.type_name.to_string(),
            config: self.encode(rpc, config)?,
            client_capabilities: self.provider.client_capabilities(Postponement::Refused),
        };
        let response: tfplugin6::validate_resource_config::Response =
            self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)
    }

    /// Refuses an object that a newer version of the provider has stored. Core asks no provider to look back.
    ///
    /// # Errors
    /// [`ProviderError::NewerState`], which names the `writer`, the version that stored it, where that is known.
    pub fn refuse_newer(&self, stored: i64, writer: Option<&str>) -> Result<(), ProviderError> {
        let known = self.schema.version;
        if stored <= known {
            return Ok(());
        }
        Err(ProviderError::NewerState {
            provider: self.provider.name().to_owned(),
            type_name: self.type_name.to_string(),
            stored,
            known,
            writer: writer.map(str::to_owned),
        })
    }

    /// Brings a stored object to the current schema. Core asks the provider every time, even when the versions agree,
    /// because providers also mend states there.
    pub async fn upgrade(
        &self,
        stored: &StoredObject,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Object, ProviderError> {
        let rpc = Rpc::UpgradeResourceState;
        self.refuse_newer(stored.schema_version, None)?;
        let mut value = stored.value.clone();
        if stored.schema_version == self.schema.version {
            retain_known(&mut value, &self.schema.block.implied_type);
        }
        let request = tfplugin6::upgrade_resource_state::Request {
            type_name: self.type_name.to_string(),
            version: stored.schema_version,
            raw_state: Some(tfplugin6::RawState {
                json: Bytes::from(value.to_string()),
                flatmap: std::collections::HashMap::new(),
            }),
        };
        let response: tfplugin6::upgrade_resource_state::Response = self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        let value = self.converted(rpc, response.upgraded_state.as_ref())?;
        Ok(Object { value, private: stored.private.clone(), identity: stored.identity.clone() })
    }

    /// Reads the object as it is now. `None`: it is gone. When the provider cannot tell yet, the object stays as it was, with
    /// a warning.
    pub async fn read(
        &self,
        current: &Object,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Object>, ProviderError> {
        match self.look(current, warnings).await? {
            Sight::Clear(object) => Ok(object),
            Sight::Deferred(deferral) => {
                let subject = format!("reading this {}", self.type_name);
                warnings.push(deferral.warning(&subject, "Until then it is taken to be as it was."));
                Ok(Some(current.clone()))
            }
        }
    }

    async fn look(&self, current: &Object, warnings: &mut Vec<Diagnostic>) -> Result<Sight, ProviderError> {
        let rpc = Rpc::ReadResource;
        let request = tfplugin6::read_resource::Request {
            type_name: self.type_name.to_string(),
            current_state: self.encode(rpc, &current.value)?,
            private: current.private.clone(),
            provider_meta: self.provider.provider_meta(rpc)?,
            client_capabilities: self.provider.client_capabilities(Postponement::Allowed),
            current_identity: current.identity.clone(),
        };
        let response: tfplugin6::read_resource::Response = self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        if let Some(deferral) = self.deferral(rpc, response.deferred, Postponement::Allowed)? {
            return Ok(Sight::Deferred(deferral));
        }
        let value = self.decode(rpc, response.new_state.as_ref())?;
        if value.is_null() {
            return Ok(Sight::Clear(None));
        }
        let value = rules::normalise_blocks(&self.schema.block, value);
        self.require_storable(rpc, &value)?;
        let object = Object { value, private: response.private, identity: present(response.new_identity) };
        Ok(Sight::Clear(Some(object)))
    }

    /// Takes an existing object over by its id, and reads it. `None`: there is no such object.
    pub async fn import(
        &self,
        id: &str,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Object>, ProviderError> {
        self.import_by(id.to_owned(), None, warnings).await
    }

    /// Takes an existing object over by its identity, and reads it. `None`: there is no such object.
    pub async fn import_by_identity(
        &self,
        identity: tfplugin6::ResourceIdentityData,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Object>, ProviderError> {
        self.import_by(String::new(), Some(identity), warnings).await
    }

    async fn import_by(
        &self,
        id: String,
        identity: Option<tfplugin6::ResourceIdentityData>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Object>, ProviderError> {
        let rpc = Rpc::ImportResourceState;
        let request = tfplugin6::import_resource_state::Request {
            type_name: self.type_name.to_string(),
            id,
            client_capabilities: self.provider.client_capabilities(Postponement::Allowed),
            identity: identity.clone(),
        };
        let response: tfplugin6::import_resource_state::Response = self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        if let Some(deferral) = self.deferral(rpc, response.deferred, Postponement::Allowed)? {
            return Err(self.deferred("imported", deferral));
        }
        let imported = response.imported_resources;
        let types: Vec<&str> = imported.iter().map(|object| object.type_name.as_str()).collect();
        if let Some(reason) = not_the_one(&types, &self.type_name) {
            return Err(self.impossible_import(reason));
        }
        let Some(first) = imported.into_iter().next() else {
            return Err(self.impossible_import("there is none".to_owned()));
        };
        let value = self.decode(rpc, first.state.as_ref())?;
        if value.is_null() {
            return Err(self.invalid_answer(rpc, "the imported object is null"));
        }
        let value = rules::normalise_blocks(&self.schema.block, value);
        self.require_storable(rpc, &value)?;
        // Providers put a marker into the private data that the read below looks for.
        let object = Object { value, private: first.private, identity: present(first.identity).or(identity) };
        match self.look(&object, warnings).await? {
            Sight::Clear(object) => Ok(object),
            Sight::Deferred(deferral) => Err(self.deferred("imported", deferral)),
        }
    }

    /// Plans what becomes of `prior` (`None`: nothing is there yet) under `config`.
    pub async fn plan(
        &self,
        prior: Option<&Object>,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Plan, ProviderError> {
        self.plan_from(Start::at(prior), config, warnings).await
    }

    /// Plans the new object of a replacement, which the plan that `handover` is of has asked for.
    pub async fn plan_replacement(
        &self,
        handover: &Handover,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Plan, ProviderError> {
        self.plan_from(Start::after(handover), config, warnings).await
    }

    async fn plan_from(
        &self,
        start: Start,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Plan, ProviderError> {
        let rpc = Rpc::PlanResourceChange;
        let stops = self.provider.stops();
        let block = &self.schema.block;
        let before = start.value;
        let proposed = rules::proposed_new(block, &before, config);
        let request = tfplugin6::plan_resource_change::Request {
            type_name: self.type_name.to_string(),
            prior_state: self.encode(rpc, &before)?,
            proposed_new_state: self.encode(rpc, &proposed)?,
            config: self.encode(rpc, config)?,
            prior_private: start.private.clone(),
            provider_meta: self.provider.provider_meta(rpc)?,
            client_capabilities: self.provider.client_capabilities(Postponement::Allowed),
            prior_identity: start.identity,
            planned_private: Bytes::new(),
        };
        let response: tfplugin6::plan_resource_change::Response = self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        let deferral = self.deferral(rpc, response.deferred, Postponement::Allowed)?;
        let legacy = response.legacy_type_system;
        // Blocks are left as they are, even null or unknown ones of the legacy type system: so does core, and the provider
        // gets its own plan back.
        let mut planned = self.decode(rpc, response.planned_state.as_ref())?;
        if deferral.is_some() && planned.is_null() {
            planned = rules::planned_from_config(block, config);
        }
        if planned.is_null() && !config.is_null() {
            // Of the legacy type system much is tolerated, but there would be nothing to apply here.
            return Err(self.invalid_answer(rpc, "nothing is planned for a resource that is configured"));
        }
        if deferral.is_none() {
            self.require_no_write_only(rpc, &planned)?;
            let violations = rules::check_planned(block, &before, config, &planned);
            if !(legacy || start.is_second || violations.is_empty()) {
                return Err(self.broken_rules("produced an invalid plan", violations));
            }
        }
        let named = response.requires_replace.into_iter().map(attribute_path).collect();
        let replacing = rules::replacement_paths(block, &before, &planned, named)
            .map_err(|error| self.invalid_answer(rpc, &error.to_string()))?;
        let action = if before.is_null() {
            Action::Create
        } else if !replacing.is_empty() {
            Action::Replace(replacing)
        } else if planned.is_wholly_known() && planned == before {
            Action::NoOp
        } else {
            Action::Update
        };
        // A plan that is put off may not hold what it says of computed values, so nothing is promised of them.
        let planned = if deferral.is_some() { rules::planned_from_config(block, config) } else { planned };
        Ok(Plan {
            action,
            planned,
            deferral,
            prior: before,
            prior_private: start.private,
            config: config.clone(),
            private: response.planned_private,
            identity: present(response.planned_identity),
            legacy,
            stops,
        })
    }

    /// Plans the end of an object. A provider that does not announce `plan_destroy` is not asked: older ones cannot
    /// answer.
    pub async fn plan_destroy(
        &self,
        prior: &Object,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Plan, ProviderError> {
        let stops = self.provider.stops();
        let plan = |private, identity| Plan {
            action: Action::Delete,
            planned: Value::Null,
            deferral: None,
            prior: prior.value.clone(),
            prior_private: prior.private.clone(),
            config: Value::Null,
            private,
            identity,
            legacy: false,
            stops,
        };
        if !self.provider.catalogue().capabilities().plan_destroy {
            return Ok(plan(prior.private.clone(), prior.identity.clone()));
        }
        let rpc = Rpc::PlanResourceChange;
        let request = tfplugin6::plan_resource_change::Request {
            type_name: self.type_name.to_string(),
            prior_state: self.encode(rpc, &prior.value)?,
            proposed_new_state: self.encode(rpc, &Value::Null)?,
            config: self.encode(rpc, &Value::Null)?,
            prior_private: prior.private.clone(),
            provider_meta: self.provider.provider_meta(rpc)?,
            client_capabilities: self.provider.client_capabilities(Postponement::Refused),
            prior_identity: prior.identity.clone(),
            planned_private: Bytes::new(),
        };
        let response: tfplugin6::plan_resource_change::Response = self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        self.deferral(rpc, response.deferred, Postponement::Refused)?;
        if !self.decode(rpc, response.planned_state.as_ref())?.is_null() {
            return Err(self.invalid_answer(rpc, "the planned value of a destroyed object is not null"));
        }
        Ok(plan(response.planned_private, present(response.planned_identity)))
    }

    /// Carries a plan out, unless the provider has put it off, or was asked to stop since it was made: core begins nothing new
    /// after that.
    pub async fn apply(
        &self,
        plan: &Plan,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Applied, Box<ApplyFailure>> {
        let rpc = Rpc::ApplyResourceChange;
        let nothing = |error| Box::new(ApplyFailure { error, object: None });
        if self.provider.stops() != plan.stops {
            return Err(nothing(ProviderError::Stopped {
                provider: self.provider.name().to_owned(),
                type_name: self.type_name.to_string(),
            }));
        }
        if let Some(deferral) = plan.deferral {
            let what = if plan.prior.is_null() { "created" } else { "changed" };
            return Err(nothing(self.deferred(what, deferral)));
        }
        let request = tfplugin6::apply_resource_change::Request {
            type_name: self.type_name.to_string(),
            prior_state: self.encode(rpc, &plan.prior).map_err(nothing)?,
            planned_state: self.encode(rpc, &plan.planned).map_err(nothing)?,
            config: self.encode(rpc, &plan.config).map_err(nothing)?,
            planned_private: plan.private.clone(),
            provider_meta: self.provider.provider_meta(rpc).map_err(nothing)?,
            planned_identity: plan.identity.clone(),
        };
        let response: tfplugin6::apply_resource_change::Response =
            self.provider.call(rpc, request).await.map_err(nothing)?;
        let errors = errors_of(response.diagnostics, warnings);
        let refused = (!errors.is_empty()).then(|| ProviderError::Diagnostics {
            operation: self.provider.operation(rpc),
            diagnostics: errors,
        });
        // An absent value is null to core: providers that say nothing after a deletion mean that nothing is left.
        let says_nothing = response.new_state.is_none();
        let value = match self.decode(rpc, response.new_state.as_ref()) {
            Ok(value) => rules::normalise_blocks(&self.schema.block, value),
            Err(error) => return Err(nothing(refused.unwrap_or(error))),
        };
        // What exists is kept even if the answer is wrong. Where a value is missing there is null, as in core; write-only
        // values are taken out, where core forgets the whole object, because a provider that fails half-way does not take
        // them out itself.
        let clean = self.require_no_write_only(rpc, &value);
        let value = rules::without_write_only(&self.schema.block, value);
        let unknown = unknown_places(&value);
        let value = if unknown.is_empty() { value } else { unknowns_as_null(value) };
        let object = (!value.is_null()).then(|| Object {
            value: value.clone(),
            private: response.private,
            identity: present(response.new_identity),
        });
        if let Some(error) = refused {
            return Err(Box::new(ApplyFailure { error, object }));
        }
        if let Err(error) = clean {
            return Err(Box::new(ApplyFailure { error, object }));
        }
        if !unknown.is_empty() {
            let reason = format!(
                "after applying, some values are still unknown, and are kept as null: {}",
                unknown.join(", ")
            );
            let error = self.invalid_answer(rpc, &reason);
            return Err(Box::new(ApplyFailure { error, object }));
        }
        if says_nothing && !plan.planned.is_null() {
            return Err(nothing(self.invalid_answer(rpc, "it does not say what exists now")));
        }
        if plan.planned.is_null() && !value.is_null() {
            let reason =
                "it has deleted the object without an error, and answered with one that is still there";
            let error = self.invalid_answer(rpc, reason);
            return Err(Box::new(ApplyFailure { error, object }));
        }
        let violations = rules::check_applied(&self.schema.block, &plan.planned, &value);
        // That the object is gone is not tolerated even of the legacy type system.
        let is_tolerated = (plan.legacy || response.legacy_type_system) && object.is_some();
        if !is_tolerated && !violations.is_empty() {
            let error = self.broken_rules("produced an inconsistent result after apply", violations);
            return Err(Box::new(ApplyFailure { error, object }));
        }
        Ok(Applied { object, inconsistencies: violations })
    }

    fn encode(&self, rpc: Rpc, value: &Value) -> Result<Option<tfplugin6::DynamicValue>, ProviderError> {
        let operation = self.provider.operation(rpc);
        dynamic::encode(value, &self.schema.block.implied_type, operation, &self.type_name)
    }

    fn decode(&self, rpc: Rpc, message: Option<&tfplugin6::DynamicValue>) -> Result<Value, ProviderError> {
        self.provider.decode(rpc, &self.type_name, message, &self.schema.block.implied_type)
    }

    /// An object that the provider has made of a stored one.
    pub(super) fn converted(
        &self,
        rpc: Rpc,
        message: Option<&tfplugin6::DynamicValue>,
    ) -> Result<Value, ProviderError> {
        let value = self.decode(rpc, message)?;
        if value.is_null() {
            let object = if rpc == Rpc::MoveResourceState { "moved" } else { "upgraded" };
            return Err(self.invalid_answer(rpc, &format!("the {object} object is null")));
        }
        self.require_storable(rpc, &value)?;
        Ok(value)
    }

    fn require_storable(&self, rpc: Rpc, value: &Value) -> Result<(), ProviderError> {
        if !value.is_wholly_known() {
            return Err(self.invalid_answer(rpc, "some values are unknown, which only plans may have"));
        }
        self.require_no_write_only(rpc, value)
    }

    fn require_no_write_only(&self, rpc: Rpc, value: &Value) -> Result<(), ProviderError> {
        match rules::write_only_paths(&self.schema.block, value).first() {
            None => Ok(()),
            Some(path) => {
                Err(self.invalid_answer(rpc, &format!("the write-only attribute {path} has a value")))
            }
        }
    }

    fn deferral(
        &self,
        rpc: Rpc,
        message: Option<tfplugin6::Deferred>,
        postponement: Postponement,
    ) -> Result<Option<Deferral>, ProviderError> {
        self.provider.deferral(rpc, &self.type_name, message, postponement)
    }

    fn deferred(&self, what: &'static str, deferral: Deferral) -> ProviderError {
        self.provider.deferred(what, &self.type_name, deferral)
    }

    fn impossible_import(&self, reason: String) -> ProviderError {
        ProviderError::Import {
            provider: self.provider.name().to_owned(),
            type_name: self.type_name.to_string(),
            reason,
        }
    }

    pub(super) fn broken_rules(
        &self,
        what: &'static str,
        violations: Vec<rules::Violation>,
    ) -> ProviderError {
        ProviderError::Rules {
            provider: self.provider.name().to_owned(),
            what,
            type_name: self.type_name.to_string(),
            violations,
        }
    }

    fn invalid_answer(&self, rpc: Rpc, reason: &str) -> ProviderError {
        self.provider.invalid_answer(rpc, &self.type_name, reason)
    }
}

/// Why imported objects of these types are not the one of the `wanted` type, if they are not. (Terraform's older command
/// took several objects from one import; its import blocks do not, and neither can an engine.)
fn not_the_one(types: &[&str], wanted: &str) -> Option<String> {
    match types {
        [] => Some("it found no object under this id, and gave no reason; check the id".to_owned()),
        [only] if *only == wanted => None,
        [only] => Some(format!(
            "what it found under this id is a {only}; import it as that, or look up the id of the {wanted}"
        )),
        several => {
            let (count, types) = (several.len(), several.join(", "));
            Some(format!(
                "it found {count} objects under this id ({types}), and a resource is one object; import each of them by \
                 an id of its own, if the provider knows one"
            ))
        }
    }
}

/// An identity, unless it is null: core keeps none then, and sends none.
fn present(identity: Option<tfplugin6::ResourceIdentityData>) -> Option<tfplugin6::ResourceIdentityData> {
    const NULL: u8 = 0xc0;
    identity.filter(|identity| {
        identity.identity_data.as_ref().is_some_and(|data| match (&data.msgpack[..], &data.json[..]) {
            ([], json) => !json.is_empty() && json != b"null",
            (msgpack, _) => msgpack != [NULL],
        })
    })
}

/// Where something is unknown; a few places at most. An element of a set would be named by its value, so the set is.
fn unknown_places(value: &Value) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    let walked = value.walk(&mut |path, part| {
        if !part.is_known() {
            let is_named = |step: &&PathStep| !matches!(step, PathStep::Element(_));
            let place = AttributePath(path.iter().take_while(is_named).cloned().collect());
            let place = if place.is_root() { "the whole object".to_owned() } else { place.to_string() };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        if places.len() < SHOWN_PLACES { Ok(true) } else { Err(()) }
    });
    if walked.is_err() {
        places.push("…".to_owned());
    }
    places
}

/// How many places an error names.
const SHOWN_PLACES: usize = 5;

fn unknowns_as_null(value: Value) -> Value {
    let known = value.transform(&mut |_, part| {
        Ok::<_, std::convert::Infallible>(if part.is_known() { part } else { Value::Null })
    });
    match known {
        Ok(known) => known,
        Err(never) => match never {},
    }
}

/// Drops what the current schema does not have, at every level. Core does so when the versions agree: an attribute that
/// was removed without a new version would otherwise make the provider refuse the object.
fn retain_known(value: &mut Json, value_type: &Type) {
    match (value, value_type) {
        (Json::Object(members), Type::Object(object)) => {
            members.retain(|(name, _)| object.attributes.contains_key(name.as_str()));
            for (name, member) in members {
                if let Some(member_type) = object.attributes.get(name.as_str()) {
                    retain_known(member, member_type);
                }
            }
        }
        (Json::Object(members), Type::Map(element)) => {
            for (_, member) in members {
                retain_known(member, element);
            }
        }
        (Json::Array(items), Type::List(element) | Type::Set(element)) => {
            for item in items {
                retain_known(item, element);
            }
        }
        (Json::Array(items), Type::Tuple(elements)) => {
            for (item, element) in items.iter_mut().zip(elements.iter()) {
                retain_known(item, element);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
