//! What is secret in a saved object, before the provider sees it: its diagnostics may repeat it.
//!
//! A saved object may be of an older schema, and may have been edited, so that nothing but its top level is relied upon: everything
//! below an attribute that is secret, or has a secret anywhere in it, counts as secret.

use std::collections::BTreeMap;

use isthmus_cty::PathStep;
use isthmus_cty::json::Json;
use isthmus_known_secrets::{KnownSecrets, Retention};
use isthmus_provider::schema::Block;
use isthmus_state::SavedObject;

/// Notes the secrets of a saved object.
pub(super) fn note_saved(
    saved: &SavedObject,
    flat: Option<&BTreeMap<String, String>>,
    schema: &Block,
    secrets: &KnownSecrets,
) {
    let marked = |name: &str| {
        saved.sensitive_paths.iter().any(|path| match path.0.first() {
            Some(PathStep::Attribute(first) | PathStep::Key(first)) => **first == *name,
            _ => true,
        })
    };
    if let Json::Object(members) = &saved.value {
        for (_, value) in members.iter().filter(|(name, _)| marked(name) || may_be_secret(name, schema)) {
            note(value, secrets);
        }
    }
    for (path, text) in flat.into_iter().flatten() {
        let name = path.split('.').next().unwrap_or_default();
        if marked(name) || may_be_secret(name, schema) {
            secrets.learn(text, Retention::Usual);
        }
    }
}

/// Whether the schema has a secret in the attribute or block; one that it does not have may be one of an older schema.
fn may_be_secret(name: &str, schema: &Block) -> bool {
    let attribute = schema.attributes.iter().find(|attribute| *attribute.name == *name);
    let block = schema.blocks.iter().find(|block| *block.name == *name);
    match (attribute, block) {
        (Some(attribute), _) => attribute.has_secrets(),
        (None, Some(block)) => block.block.has_secrets,
        (None, None) => schema.has_secrets,
    }
}

fn note(value: &Json, secrets: &KnownSecrets) {
    match value {
        Json::String(text) => secrets.learn(text, Retention::Usual),
        Json::Number(text) => secrets.learn_number(text, Retention::Usual),
        Json::Array(elements) => elements.iter().for_each(|element| note(element, secrets)),
        Json::Object(members) => members.iter().for_each(|(_, member)| note(member, secrets)),
        Json::Null | Json::Bool(_) => {}
    }
}
