//! The parts of a plan: components, and the changes of their objects.

use std::collections::BTreeMap;

use bytes::Bytes;
use isthmus_cty::AttributePath;
use isthmus_proto::tfplan::{self, CheckResults, FunctionCallHash, ResourceInstanceChange};
use isthmus_proto::tfstackdata1::{PlanComponentInstance, PlanResourceInstanceChangePlanned};

use super::error::Fault;
use super::state::{components, read_object, values};
use super::value::{StacksValue, read_paths};
use crate::addresses::{ComponentAddress, DeposedKey, ObjectAddress, ProviderConfigAddress};
use crate::record::SavedObject;

/// What is to be done with a component or an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedAction {
    /// Nothing.
    NoOp,
    /// It is made.
    Create,
    /// It is read; of a component: only that.
    Read,
    /// It is changed in place.
    Update,
    /// It goes.
    Delete,
    /// It goes, then another one is made.
    DeleteThenCreate,
    /// Another one is made, then it goes.
    CreateThenDelete,
    /// It stays, and is no longer known.
    Forget,
    /// Another one is made, and it is no longer known.
    CreateThenForget,
}

/// What kind of plan was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanMode {
    /// Whatever the configuration asks for.
    Normal,
    /// That everything goes.
    Destroy,
    /// That nothing is changed but what is known.
    RefreshOnly,
}

/// Why a change is put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferralReason {
    /// A reason that is not known.
    Invalid,
    /// How many instances there will be is not known.
    InstanceCountUnknown,
    /// The configuration of the resource is not known enough.
    ResourceConfigUnknown,
    /// The configuration of the provider is not known enough.
    ProviderConfigUnknown,
    /// What it needs does not exist yet.
    AbsentPrerequisite,
    /// What it needs is itself put off.
    DeferredPrerequisite,
}

/// An input of the stack, held fast for the apply.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedInput {
    /// `None`: it is not kept.
    pub value: Option<StacksValue>,
    /// It must be given again.
    pub required_on_apply: bool,
}

/// A component in a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedComponent {
    /// What is to be done with it as a whole.
    pub action: PlannedAction,
    /// What kind of plan it has.
    pub mode: PlanMode,
    /// When its plan was made, as RFC 3339.
    pub timestamp: String,
    /// Whether its plan may be carried out.
    pub is_applyable: bool,
    /// Whether nothing was put off.
    pub is_complete: bool,
    /// The components that it depends on.
    pub dependencies: Vec<ComponentAddress>,
    /// Its inputs, as far as they are known.
    pub inputs: BTreeMap<String, StacksValue>,
    /// Its outputs, as far as they are known.
    pub outputs: BTreeMap<String, StacksValue>,
    /// Results of checks.
    pub check_results: Vec<CheckResults>,
    /// Results of functions that the apply is held to.
    pub function_results: Vec<FunctionCallHash>,
    /// Changes of its objects, in the order of the plan.
    pub changes: Vec<PlannedChange>,
    /// Changes that are put off.
    pub deferred: Vec<DeferredChange>,
}

/// A change of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedChange {
    /// Which object.
    pub object: ObjectAddress,
    /// The configuration of its provider.
    pub provider: String,
    /// What is to be done; `None`: the object was only read again.
    pub action: Option<PlannedAction>,
    /// Values before and after: which of them there are, the action says. They are of the resource's type, which only its
    /// provider knows, and stay MessagePack.
    pub values: Vec<Bytes>,
    /// What of the values is secret, before and after.
    pub sensitive_paths: (Vec<AttributePath>, Vec<AttributePath>),
    /// The paths for which the object has to be replaced.
    pub replacement_paths: Vec<AttributePath>,
    /// The provider's data of the plan.
    pub private: Bytes,
    /// The object that the change starts from, upgraded and read again.
    pub prior: Option<SavedObject>,
    /// The whole change as it came.
    pub message: Option<ResourceInstanceChange>,
}

/// A change that is put off.
#[derive(Clone, Debug, PartialEq)]
pub struct DeferredChange {
    /// Why.
    pub reason: DeferralReason,
    /// What would have been done.
    pub change: PlannedChange,
}

impl PlannedAction {
    fn read(value: i32) -> Result<Self, Fault> {
        use tfplan::Action as Wire;
        Ok(match Wire::try_from(value) {
            Ok(Wire::Noop) => Self::NoOp,
            Ok(Wire::Create) => Self::Create,
            Ok(Wire::Read) => Self::Read,
            Ok(Wire::Update) => Self::Update,
            Ok(Wire::Delete) => Self::Delete,
            Ok(Wire::DeleteThenCreate) => Self::DeleteThenCreate,
            Ok(Wire::CreateThenDelete) => Self::CreateThenDelete,
            Ok(Wire::Forget) => Self::Forget,
            Ok(Wire::CreateThenForget) => Self::CreateThenForget,
            Err(_) => return Err(Fault::Number { what: "action", value }),
        })
    }

    /// What it is called in messages, and how many values a change by it has.
    fn values(self) -> (&'static str, usize) {
        match self {
            Self::NoOp => ("no action", 1),
            Self::Create => ("creation", 1),
            Self::Read => ("reading", 2),
            Self::Update => ("update", 2),
            Self::Delete => ("deletion", 1),
            Self::DeleteThenCreate | Self::CreateThenDelete | Self::CreateThenForget => ("replacement", 2),
            Self::Forget => ("forgetting", 1),
        }
    }
}

impl PlanMode {
    fn read(value: i32) -> Result<Self, Fault> {
        Ok(match tfplan::Mode::try_from(value) {
            Ok(tfplan::Mode::Normal) => Self::Normal,
            Ok(tfplan::Mode::Destroy) => Self::Destroy,
            Ok(tfplan::Mode::RefreshOnly) => Self::RefreshOnly,
            Err(_) => return Err(Fault::Number { what: "mode", value }),
        })
    }
}

impl DeferralReason {
    /// A reason that is not known is none that could be acted on, but no fault either: Terraform has it so.
    pub(super) fn read(value: i32) -> Self {
        use tfplan::DeferredReason as Wire;
        match Wire::try_from(value) {
            Ok(Wire::InstanceCountUnknown) => Self::InstanceCountUnknown,
            Ok(Wire::ResourceConfigUnknown) => Self::ResourceConfigUnknown,
            Ok(Wire::ProviderConfigUnknown) => Self::ProviderConfigUnknown,
            Ok(Wire::AbsentPrereq) => Self::AbsentPrerequisite,
            Ok(Wire::DeferredPrereq) => Self::DeferredPrerequisite,
            Ok(Wire::Invalid) | Err(_) => Self::Invalid,
        }
    }
}

impl PlannedComponent {
    pub(super) fn read(message: PlanComponentInstance) -> Result<Self, Fault> {
        require_time(&message.plan_timestamp)?;
        Ok(Self {
            action: PlannedAction::read(message.planned_action)?,
            mode: PlanMode::read(message.mode)?,
            timestamp: message.plan_timestamp,
            is_applyable: message.plan_applyable,
            is_complete: message.plan_complete,
            dependencies: components(&message.depends_on_component_addrs)?,
            inputs: values(message.planned_input_values, "input")?,
            outputs: values(message.planned_output_values, "output")?,
            check_results: message.planned_check_results,
            function_results: message.function_results,
            changes: Vec::new(),
            deferred: Vec::new(),
        })
    }
}

impl PlannedChange {
    /// The component that a change belongs to, and the change.
    pub(super) fn read(
        message: PlanResourceInstanceChangePlanned,
    ) -> Result<(ComponentAddress, Self), Fault> {
        let component: ComponentAddress = message.component_instance_addr.parse()?;
        let provider: ProviderConfigAddress = message.provider_config_addr.parse()?;
        let mut object: ObjectAddress = message.resource_instance_addr.parse()?;
        object.deposed = deposed(&message.deposed_key)?;
        let prior = message.prior_state.map(read_object).transpose()?;
        let prior = prior.map(|prior| SavedObject { address: Some(object.clone()), ..prior });
        let mut planned = Self {
            object,
            provider: message.provider_config_addr,
            action: None,
            values: Vec::new(),
            sensitive_paths: (Vec::new(), Vec::new()),
            replacement_paths: Vec::new(),
            private: Bytes::new(),
            prior,
            message: None,
        };
        if let Some(change) = message.change {
            planned.add(change, &provider)?;
        }
        Ok((component, planned))
    }

    fn add(&mut self, change: ResourceInstanceChange, provider: &ProviderConfigAddress) -> Result<(), Fault> {
        // What is said twice must be the same.
        let mut address: ObjectAddress = change.addr.parse()?;
        address.deposed = deposed(&change.deposed_key)?;
        if address != self.object {
            return Err(Fault::Inconsistent("objects"));
        }
        if change.provider.parse::<ProviderConfigAddress>()? != *provider {
            return Err(Fault::Inconsistent("providers"));
        }
        if !change.prev_run_addr.is_empty() {
            change.prev_run_addr.parse::<ObjectAddress>()?;
        }
        let inner = change.change.clone().ok_or(Fault::Missing("change"))?;
        let action = PlannedAction::read(inner.action)?;
        let (name, wanted) = action.values();
        if inner.values.len() != wanted {
            return Err(Fault::Values { action: name, found: inner.values.len(), wanted });
        }
        if tfplan::ResourceInstanceActionReason::try_from(change.action_reason).is_err() {
            return Err(Fault::Number { what: "reason of an action", value: change.action_reason });
        }
        self.action = Some(action);
        self.values = inner.values.into_iter().map(|value| value.msgpack).collect();
        self.sensitive_paths =
            (read_paths(inner.before_sensitive_paths)?, read_paths(inner.after_sensitive_paths)?);
        self.replacement_paths = read_paths(change.required_replace.clone())?;
        self.private = change.private.clone();
        self.message = Some(change);
        Ok(())
    }
}

fn deposed(text: &str) -> Result<Option<DeposedKey>, Fault> {
    if text.is_empty() {
        return Ok(None);
    }
    DeposedKey::parse(text).map(Some).ok_or_else(|| Fault::Deposed(text.to_owned()))
}

/// Refuses what is no time as RFC 3339 has it: `2006-01-02T15:04:05Z`, perhaps with parts of seconds and an offset.
pub(super) fn require_time(text: &str) -> Result<(), Fault> {
    let is_time = || {
        let (date, rest) = text.split_at_checked(10)?;
        let (clock, rest) = rest.strip_prefix(['T', 't'])?.split_at_checked(8)?;
        has_form(date, "0000-00-00").then_some(())?;
        has_form(clock, "00:00:00").then_some(())?;
        let rest = match rest.strip_prefix('.') {
            Some(fraction) => {
                let rest = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
                (rest.len() < fraction.len()).then_some(rest)?
            }
            None => rest,
        };
        let offset = rest.strip_prefix(['+', '-']);
        (matches!(rest, "Z" | "z") || offset.is_some_and(|offset| has_form(offset, "00:00"))).then_some(())
    };
    is_time().ok_or_else(|| Fault::Time(text.chars().take(40).collect()))
}

fn has_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(byte, wanted)| match wanted {
            b'0' => byte.is_ascii_digit(),
            other => byte == other,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_rfc_3339() {
        for text in ["2017-07-31T00:00:00Z", "2017-07-31T00:00:00.123456789+02:00"] {
            require_time(text).unwrap_or_else(|error| panic!("{error}"));
        }
        for text in
            ["", "2017-07-31", "2017-07-31 00:00:00Z", "2017-07-31T00:00:00", "2017-07-31T00:00:00.Z", "é"]
        {
            require_time(text).expect_err(text);
        }
    }
}
