//! Changes of secrecy alone.
//!
//! An engine keeps the stored outputs of a resource that does not change. Of values that become
//! secret in the program's inputs, it marks whole top-level outputs; what is further within, and what
//! stops being secret, takes an update.

use std::borrow::Cow;
use std::collections::BTreeMap;

use isthmus_cty::Value;
use isthmus_proto::property::{Struct, Value as Property};

use super::ChangeKind;
use super::display::Known;
use crate::resource::Target;
use isthmus_translate::meta::Meta;
use isthmus_translate::property::{PropertyView, contains_secret, unwrap, without_secrets};
use isthmus_translate::property_path::{PropertyPath, PropertyStep};

/// The outputs of an unchanged object that become secret, or stop being secret, because the inputs
/// do.
///
/// What becomes secret counts as added: an engine shows no old value for it, which is in the clear.
pub(super) fn changes_of_secrecy(
    target: &Target<'_>,
    object: &Value,
    Known { inputs, olds, news }: Known<'_>,
) -> BTreeMap<PropertyPath, ChangeKind> {
    let mut walk = Walk { path: Vec::new(), changes: BTreeMap::new() };
    // A secret of another type or an older schema may be any of today's values.
    let is_another = |(name, value): (&str, &Property)| {
        target.shape.object.pulumi(name).is_none() && contains_secret(value) != Ok(false)
    };
    if !target.keep_secrets || inputs == news || inputs.iter().any(is_another) {
        return walk.changes;
    }
    // Of what the Go bridge has stored, engines have marked no secrets within lists.
    let is_ours = Meta::from_properties(olds).is_ok_and(|meta| meta.source.is_some());
    let outputs = [inputs, news].map(|bag| {
        let bag = if is_ours { Cow::Borrowed(bag) } else { Cow::Owned(with_open_lists(bag)) };
        target.translated(object, &target.secrets_of(&bag), false).map(|(properties, _)| properties)
    });
    // An object without outputs has none to rewrite.
    if let [Ok(before), Ok(after)] = &outputs {
        walk.object(before, after);
    }
    walk.changes.retain(|path, kind| match kind {
        ChangeKind::Add => !is_secret_in(olds, path),
        // A program may mark less of a property than the whole that is stored as secret.
        _ => path
            .top_level()
            .and_then(|name| news.get(name))
            .is_none_or(|input| contains_secret(input) == Ok(false)),
    });
    walk.changes
}

/// Whether the value at the path is secret, or one that it is within.
fn is_secret_in(bag: &Struct, path: &PropertyPath) -> bool {
    let is_secret = |value: &Property| matches!(unwrap(value), Ok((_, true)));
    (1..=path.0.len()).any(|length| PropertyPath(path.0[..length].to_vec()).find(bag).is_some_and(is_secret))
}

/// The bag without the marks of secrets within lists.
fn with_open_lists(bag: &Struct) -> Struct {
    let open = |value: &Property| match value {
        Property::List(_) => without_secrets(value).unwrap_or_else(|_| value.clone()),
        Property::Struct(members) => Property::Struct(with_open_lists(members)),
        other => other.clone(),
    };
    bag.iter().map(|(name, value)| (name.to_owned(), open(value))).collect()
}

/// Compares outputs that differ in nothing but secrecy.
struct Walk {
    path: Vec<PropertyStep>,
    changes: BTreeMap<PropertyPath, ChangeKind>,
}

impl Walk {
    fn object(&mut self, before: &Struct, after: &Struct) {
        for (name, before) in before.iter() {
            if let Some(after) = after.get(name) {
                self.step(PropertyStep::Name(name.to_owned()), before, after);
            }
        }
    }

    fn step(&mut self, step: PropertyStep, before: &Property, after: &Property) {
        self.path.push(step);
        match (unwrap(before), unwrap(after)) {
            (Ok((_, false)), Ok((_, true))) => self.note(ChangeKind::Add),
            (Ok((_, true)), Ok((_, false))) => self.note(ChangeKind::Update),
            (Ok((PropertyView::Object(before), false)), Ok((PropertyView::Object(after), false))) => {
                self.object(before, after);
            }
            (Ok((PropertyView::List(before), false)), Ok((PropertyView::List(after), false))) => {
                for (index, (before, after)) in before.iter().zip(after).enumerate() {
                    self.step(PropertyStep::Index(index), before, after);
                }
            }
            _ => {}
        }
        self.path.pop();
    }

    fn note(&mut self, kind: ChangeKind) {
        self.changes.insert(PropertyPath(self.path.clone()), kind);
    }
}
