//! Diff: the changes of an update, taken from the provider's plan.

mod detail;
mod display;
mod elements;
mod secrecy;

use std::collections::{BTreeMap, BTreeSet};

use isthmus_common::fail_point;
use isthmus_cty::Value;
use isthmus_proto::property::Struct;
use isthmus_provider::Action;
use isthmus_state::Status;

use super::failure::Inputs;
use super::prior::Prior;
use super::{OperationError, Target};
use isthmus_package::shape::{Field, IdRule, ObjectShape, Shape};
use isthmus_translate::attribute_paths::property_path;
use isthmus_translate::inputs::Unknowns;
use isthmus_translate::property_path::PropertyPath;

pub(super) use detail::changes;
use display::{Known, displayed};
use secrecy::changes_of_secrecy;

/// That change. No inputs have the key, so an engine shows no values for it.
const META_CHANGE: Change = Change { display: Display::Inputs, ..Change::new(ChangeKind::Update) };

#[derive(Debug, Default)]
pub struct Difference {
    /// By path, none of which is within another; empty if nothing changes.
    pub changes: BTreeMap<PropertyPath, Change>,
    /// Whether the old object must be deleted before the new one is created.
    pub delete_before_replace: bool,
    /// The top-level outputs that an update does not change: what only the provider sets and its
    /// plan leaves as it is. In a preview, an engine keeps them known for other resources.
    pub stables: Vec<String>,
}

impl Difference {
    /// Whether an engine gets the paths of the changes.
    ///
    /// Without them, it compares all outputs, and shows unchanged ones and unknown new values, too.
    /// It can do so for a replacement that it creates first, whose outputs it has by then.
    pub fn is_detailed(&self) -> bool {
        self.delete_before_replace || !self.changes.values().any(|change| change.replaces)
    }

    /// The top-level properties that change, each once.
    pub fn changed(&self) -> BTreeSet<&str> {
        self.changes.keys().filter_map(PropertyPath::top_level).collect()
    }

    /// Those that require a replacement.
    pub fn replacing(&self) -> BTreeSet<&str> {
        let replacing = self.changes.iter().filter(|(_, change)| change.replaces);
        replacing.filter_map(|(path, _)| path.top_level()).collect()
    }

    /// The changes that an engine gets by their paths.
    pub fn detailed(&self) -> impl Iterator<Item = (&PropertyPath, Change)> {
        let is_detailed = self.is_detailed();
        let changes =
            self.changes.iter().filter(move |(_, change)| is_detailed && change.display != Display::Name);
        changes.map(|(path, change)| (path, *change))
    }

    /// Truncates paths at the first key within a secret that is not the schema's. An engine prints
    /// paths even where it hides values, so of a map that is secret as a whole only the map is
    /// reported.
    ///
    /// Secrets are determined by the schema, and by the marks in the old and the new properties.
    pub fn hide_keys_of_secrets(&mut self, shape: &ObjectShape, bags: &[&Struct]) {
        for (path, change) in std::mem::take(&mut self.changes) {
            let ends = bags.iter().map(|bag| Inputs::new(bag, shape).without_secret_keys(&path).0.len());
            let end = ends.min().unwrap_or_default();
            let is_whole = end == path.0.len();
            let kind = if is_whole { change.kind } else { ChangeKind::Update };
            let shown = PropertyPath(path.0.into_iter().take(end).collect());
            let entry = self.changes.entry(shown).or_insert(Change { kind, replaces: false, ..change });
            entry.replaces |= change.replaces;
        }
    }
}

#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The stored inputs.
    pub inputs: &'a Struct,
    /// The stored properties.
    pub olds: &'a Struct,
    /// The new inputs.
    pub news: Struct,
    pub ignore_changes: &'a [PropertyPath],
    /// Whether the name in `news` is generated. A replacement gets another one.
    pub is_name_generated: bool,
}

/// Where a change has to begin with what the server has ([`Target::refreshed`]), so does the
/// comparison. What does not change is not read, unless an update of it has failed.
pub async fn diff(
    target: &Target<'_>,
    prior: &Prior,
    comparison: Comparison<'_>,
) -> Result<Difference, OperationError> {
    fail_point("comparing");
    if !prior.is_unrefreshed {
        if !target.holds_documents() {
            return compare(target, prior, comparison).await;
        }
        let (difference, stored) = target.warnings.aside(compare(target, prior, comparison.clone())).await;
        let difference = difference?;
        if difference.changes.is_empty() {
            target.warnings.lock().append(stored);
            return Ok(difference);
        }
    }
    let refreshed = target.refreshed(prior, comparison.olds).await?;
    let mut difference = compare(target, refreshed.as_ref().unwrap_or(prior), comparison).await?;
    // What was read is not stored yet; an update stores it.
    if difference.changes.is_empty() {
        difference.changes.insert(PropertyPath::top(META), META_CHANGE);
    }
    Ok(difference)
}

async fn compare(
    target: &Target<'_>,
    prior: &Prior,
    comparison: Comparison<'_>,
) -> Result<Difference, OperationError> {
    let Comparison { inputs, olds, mut news, ignore_changes, is_name_generated } = comparison;
    let resource = target.ignoring(&mut news, (inputs, olds), prior, ignore_changes)?;
    let mut config = target.config_as_far_as_it_fits(&news, Unknowns::Keep)?;
    target.restore_ignored_digits(&mut config.value, prior, ignore_changes);
    target.keep_timeouts(&mut config.value, &prior.object.value);
    if prior.status == Status::Damaged {
        // The state of a failed creation is unknown: like core, start over, without a handover.
        target.forget_changes();
        let replace = Change { replaces: true, ..META_CHANGE };
        return Ok(Difference {
            changes: BTreeMap::from([(PropertyPath::top(META), replace)]),
            delete_before_replace: true,
            stables: Vec::new(),
        });
    }
    let object = target.with_unread(prior, inputs, &mut config.value)?;
    let plan = resource
        .plan(Some(&object), &config.value, &mut target.warnings.of_call())
        .await
        .map_err(|error| target.failed(error))?;
    target.warn_of_deferral(&plan);
    target.note(&plan)?;
    let (before, after) = (&object.value, &plan.planned);
    let known = Known { inputs, olds, news: &news };
    let replacing = match &plan.action {
        Action::NoOp => {
            let mut changes = BTreeMap::new();
            // What other resources use by the new names is not in the stack by these, so an update stores it.
            if prior.is_renamed() {
                changes.insert(PropertyPath::top(META), META_CHANGE);
            } else if plan.deferral.is_none() {
                let changed = changes_of_secrecy(target, &prior.object.value, known);
                changes.extend(changed.into_iter().map(|(path, kind)| (path, Change::new(kind))));
            }
            let stables = if changes.is_empty() { Vec::new() } else { stables(target, before, after) };
            return Ok(Difference { changes, delete_before_replace: false, stables });
        }
        // A deferred plan is not applied. Of a replacement, an engine would delete the old object first.
        Action::Replace(paths) if plan.deferral.is_none() => paths.as_slice(),
        Action::Replace(_) | Action::Create | Action::Update | Action::Delete => &[],
    };
    let changed = changes(&target.shape.object, before, after, prior.properties(olds), &news);
    let mut changes: BTreeMap<PropertyPath, Change> =
        changed.into_iter().map(|(path, kind)| (path, Change::new(kind))).collect();
    for path in replacing {
        mark_replacing(&mut changes, property_path(path, &target.shape.object));
    }
    let renamed = target.shape.autonamed().filter(|_| is_name_generated);
    let delete_before_replace = !replacing.is_empty()
        && (keeps_its_name(target, &config.value, before, after, renamed)
            || claims_the_same(target, before, after, renamed)
            || keeps_a_nested_name(&target.shape.object, [&config.value, before, after]));
    let stables = if replacing.is_empty() { stables(target, before, after) } else { Vec::new() };
    let mut difference = Difference { changes, delete_before_replace, stables };
    difference.hide_keys_of_secrets(&target.shape.object, &[olds, prior.properties(olds), &news]);
    difference.changes = displayed(difference.changes, known);
    Ok(difference)
}

fn stables(target: &Target<'_>, before: &Value, after: &Value) -> Vec<String> {
    let outputs = target.shape.object.fields.iter().filter(|field| {
        // The id is no property.
        let is_id = target.shape.id == IdRule::Computed && *field.terraform == *"id";
        field.computed && !field.optional && !field.required && !is_id
    });
    let stable = outputs.filter(|field| {
        match (before.attribute(&field.terraform), after.attribute(&field.terraform)) {
            (Some(was), Some(will_be)) => !was.is_null() && was == will_be && will_be.is_wholly_known(),
            _ => false,
        }
    });
    stable.map(|field| field.pulumi.clone()).collect()
}

/// The names of the top-level properties in which two objects differ.
pub(super) fn changed_properties(shape: &ObjectShape, prior: &Value, planned: &Value) -> BTreeSet<String> {
    let changes = changes(shape, prior, planned, &Struct::default(), &Struct::default());
    changes.keys().filter_map(|path| path.top_level()).map(str::to_owned).collect()
}

/// Whether the program sets the same name as before, which identifies the object even where it is
/// optional.
fn keeps_its_name(
    target: &Target<'_>,
    config: &Value,
    prior: &Value,
    planned: &Value,
    renamed: Option<&Field>,
) -> bool {
    let Some(name) = target.shape.autonamed().filter(|name| renamed.is_none() && !name.sensitive) else {
        return false;
    };
    stays(&name.terraform, [config, prior, planned])
}

/// Whether the new object conflicts with the old one, so that the old one must be deleted first.
///
/// Terraform's default is to delete first, engines create first. Where required properties identify
/// an object (a file by its path, a bucket by its name), creating first fails, or creates something
/// that deleting the old object then destroys. So the old one is deleted first if every required
/// string stays the same; secrets are no names and do not count. Resources without a required
/// string get names of the provider's choice and are created first, as are those with a generated
/// name (`renamed`), because the replacement gets another.
fn claims_the_same(target: &Target<'_>, prior: &Value, planned: &Value, renamed: Option<&Field>) -> bool {
    let (Value::Object(before), Value::Object(after)) = (prior, planned) else { return false };
    let mut required = target
        .shape
        .object
        .fields
        .iter()
        .filter(|field| {
            field.required && !field.sensitive && !field.write_only && matches!(field.shape, Shape::String)
        })
        .peekable();
    required.peek().is_some()
        && required.all(|field| match (before.get(&field.terraform), after.get(&field.terraform)) {
            _ if renamed.is_some_and(|renamed| renamed.terraform == field.terraform) => false,
            (Some(was), Some(will_be)) => will_be.is_known() && was == will_be,
            _ => false,
        })
}

/// Whether the program sets the same name as before in a single block or object, such as the
/// `metadata` of what Kubernetes has.
///
/// Only of a type without a name or a required string at its top level. An optional name in an optional
/// block refers to another object more often than not, such as the launch template of an instance.
fn keeps_a_nested_name(object: &ObjectShape, values: [&Value; 3]) -> bool {
    let identifies = |field: &Field| field.required || (*field.terraform == *"name" && field.optional);
    let is_text = |field: &Field| matches!(field.shape, Shape::String) && !field.is_secret();
    !object.fields.iter().any(|field| is_text(field) && identifies(field))
        && object.fields.iter().any(|field| keeps_a_name_within(field, values, true))
}

/// Whether a name in the value of `field` is set and stays the same. `values` are those of the object around it: the
/// configured, the prior and the planned one.
fn keeps_a_name_within(field: &Field, values: [&Value; 3], must_be_set: bool) -> bool {
    let [Some(given), Some(was), Some(will_be)] = values.map(|value| value.attribute(&field.terraform))
    else {
        return false;
    };
    if field.is_secret() || given.is_null() {
        return false;
    }
    let must_be_set = must_be_set && field.required;
    let of_one = |object: &ObjectShape, values: [&Value; 3]| {
        object.fields.iter().any(|inner| match &inner.shape {
            Shape::String if *inner.terraform == *"name" => {
                (must_be_set || inner.required) && !inner.is_secret() && stays(&inner.terraform, values)
            }
            _ => keeps_a_name_within(inner, values, must_be_set),
        })
    };
    let of_only = |element: &Shape| match (element, [given, was, will_be].map(Value::elements)) {
        (Shape::Object(object), [Some([given]), Some([was]), Some([will_be])]) => {
            of_one(object, [given, was, will_be])
        }
        _ => false,
    };
    match &field.shape {
        Shape::Object(object) => of_one(object, [given, was, will_be]),
        Shape::FlattenedList(element) | Shape::FlattenedSet(element) => of_only(element),
        Shape::List(element) | Shape::Set(element) if field.is_unflattened => of_only(element),
        // Deeper in a document, a `name` is mostly a label or the like.
        Shape::Dynamic if must_be_set => {
            let mut members = given.entries().into_iter().flatten();
            stays("name", [given, was, will_be])
                || members.any(|(member, given)| match [was, will_be].map(|value| value.attribute(member)) {
                    [Some(was), Some(will_be)] => stays("name", [given, was, will_be]),
                    _ => false,
                })
        }
        _ => false,
    }
}

/// Whether a text of an object is configured and does not change.
fn stays(name: &str, values: [&Value; 3]) -> bool {
    match values.map(|value| value.attribute(name)) {
        [Some(given @ Value::String(_)), Some(was), Some(will_be)] => given == will_be && was == will_be,
        _ => false,
    }
}

/// Marks the changes at, in, or around a path that requires a replacement. Without any, as for a
/// write-only value, the path itself becomes one: an engine replaces only for a reason that it can
/// show.
fn mark_replacing(changes: &mut BTreeMap<PropertyPath, Change>, place: PropertyPath) {
    let place = if place.0.is_empty() { PropertyPath::top(META) } else { place };
    let mut is_shown = false;
    for (path, change) in changes.iter_mut() {
        if place.contains(path) || path.contains(&place) {
            change.replaces = true;
            is_shown = true;
        }
    }
    if !is_shown {
        changes.insert(place, Change { replaces: true, ..Change::new(ChangeKind::Update) });
    }
}

/// The key that represents a change which no property shows.
pub const META: &str = "__meta";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub kind: ChangeKind,
    /// Whether it requires a replacement.
    pub replaces: bool,
    pub display: Display,
}

impl Change {
    /// A change that requires no replacement, shown with its values.
    pub const fn new(kind: ChangeKind) -> Self {
        Self { kind, replaces: false, display: Display::Outputs }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Add,
    Delete,
    Update,
}

/// Where an engine takes the values from that it shows for a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    /// The old value from the stored outputs, the new one from the program's inputs.
    Outputs,
    /// Both values from inputs (`inputDiff`).
    Inputs,
    /// No values: only the top-level property is reported.
    Name,
}

#[cfg(test)]
mod tests;
