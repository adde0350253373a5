//! Paths of a provider's `requires_replace` that are effective.

use isthmus_cty::{AttributePath, PathStep, Value};

use crate::schema::{AttributeType, Block};

/// A provider returned a path that does not exist.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "the provider wants a replacement because of {path}, which is neither in the prior nor in the planned object"
)]
pub struct InvalidReplacePath {
    /// The path.
    pub path: AttributePath,
}

/// Filters the paths at which values differ (unknown counts as different). Providers return more;
/// those of the legacy SDK even in a creation. Core's rule: drop all without a prior object, refuse
/// a path that exists on neither side, treat a missing side as null, and always keep write-only
/// attributes, which cannot be compared.
pub fn replacement_paths(
    block: &Block,
    prior: &Value,
    planned: &Value,
    named: Vec<AttributePath>,
) -> Result<Vec<AttributePath>, InvalidReplacePath> {
    if prior.is_null() {
        return Ok(Vec::new());
    }
    let mut kept: Vec<AttributePath> = Vec::new();
    for path in named {
        let before = follow(prior, &path);
        let after = follow(planned, &path);
        if before.is_none() && after.is_none() {
            return Err(InvalidReplacePath { path });
        }
        let (before, after) = (before.unwrap_or(&NULL), after.unwrap_or(&NULL));
        let differs = !before.is_wholly_known() || !after.is_wholly_known() || before != after;
        if (differs || is_write_only(block, &path)) && !kept.contains(&path) {
            kept.push(path);
        }
    }
    Ok(kept)
}

static NULL: Value = Value::Null;
static UNKNOWN: Value = Value::unknown();

/// The value at the path; anything within an unknown value is unknown.
fn follow<'a>(value: &'a Value, path: &AttributePath) -> Option<&'a Value> {
    let mut value = value;
    for step in path {
        if !value.is_known() {
            return Some(&UNKNOWN);
        }
        let here = AttributePath(vec![step.clone()]);
        value = value.apply_path(&here)?;
    }
    Some(value)
}

/// Whether an attribute on the path is write-only, and cannot be compared.
fn is_write_only(block: &Block, path: &AttributePath) -> bool {
    let mut names = path.iter().filter_map(|step| match step {
        PathStep::Attribute(name) => Some(name),
        PathStep::Key(_) | PathStep::Index(_) | PathStep::Element(_) => None,
    });
    let mut block = block;
    let mut attributes = loop {
        let Some(name) = names.next() else { return false };
        match block.blocks.iter().find(|nested| nested.name == *name) {
            Some(nested) => block = &nested.block,
            None => break block.attributes.iter().find(|attribute| attribute.name == *name),
        }
    };
    while let Some(attribute) = attributes {
        if attribute.write_only {
            return true;
        }
        let (AttributeType::Nested(nested), Some(name)) = (&attribute.attribute_type, names.next()) else {
            return false;
        };
        attributes = nested.attributes.iter().find(|attribute| attribute.name == *name);
    }
    false
}

#[cfg(test)]
mod tests {
    use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Mode;
    use isthmus_proto::tfplugin6::schema::object::NestingMode as ObjectMode;

    use super::super::testing::object;
    use super::*;
    use crate::schema::testing::{attribute, block, compiled, nested_attribute, nested_block};

    fn schema() -> Block {
        let text = |name: &str, flags: &str| attribute(name, "\"string\"", flags);
        let rule = block(vec![text("port", "o"), text("secret", "ow")], vec![]);
        compiled(block(
            vec![
                text("email", "o"),
                text("id", "oc"),
                nested_attribute("items", ObjectMode::List, "o", vec![text("secret", "ow"), text("x", "o")]),
                text("pin", "ow"),
                attribute("tags", r#"["map","string"]"#, "o"),
                attribute("zones", r#"["set","string"]"#, "o"),
            ],
            vec![nested_block("rule", Mode::List, rule)],
        ))
    }

    /// Parses `rule 0 port` as `rule[0].port`; a step with `=` is a key.
    fn path(text: &str) -> AttributePath {
        text.split(' ')
            .filter(|step| !step.is_empty())
            .map(|step| match (step.parse(), step.strip_prefix('=')) {
                (Ok(index), _) => PathStep::Index(index),
                (_, Some(key)) => PathStep::key(key),
                (_, None) => PathStep::attribute(step),
            })
            .collect()
    }

    fn kept(prior: &str, planned: &str, named: &[&str]) -> Result<Vec<String>, String> {
        let schema = schema();
        let named = named.iter().map(|text| path(text)).collect();
        replacement_paths(&schema, &object(&schema, prior), &object(&schema, planned), named)
            .map(|paths| paths.iter().map(ToString::to_string).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_path_counts_when_something_changes_there_or_may() {
        for (prior, planned, named, expected) in [
            (r#"{"email": "a"}"#, r#"{"email": "b"}"#, "email", "email"),
            (r#"{"email": "a"}"#, r#"{"email": "a"}"#, "email", ""),
            (r#"{"email": "a"}"#, r#"{"email": "?"}"#, "email", "email"),
            (r#"{"email": "a"}"#, "{}", "email", "email"),
            (r#"{"tags": {"k": "a"}}"#, r#"{"tags": {"k": "b"}}"#, "tags =k", "tags[\"k\"]"),
            (r#"{"tags": {"k": "a"}}"#, r#"{"tags": {"k": "a", "l": "b"}}"#, "tags =k", ""),
            (r#"{"zones": ["a"]}"#, r#"{"zones": ["b"]}"#, "zones", "zones"),
            (r#"{"rule": [{"port": "1"}]}"#, r#"{"rule": [{"port": "2"}]}"#, "rule 0 port", "rule[0].port"),
            // A missing side counts as null.
            (r#"{"rule": []}"#, r#"{"rule": [{"port": "2"}]}"#, "rule 0 port", "rule[0].port"),
            (r#"{"rule": []}"#, r#"{"rule": [{}]}"#, "rule 0 port", ""),
            (r#"{"rule": [{"port": "1"}]}"#, "{}", "rule 0 port", "rule[0].port"),
            // Anything within an unknown is unknown.
            (r#"{"items": []}"#, r#"{"items": "?"}"#, "items 0 x", "items[0].x"),
            (r#"{"items": [{}]}"#, r#"{"items": ["?"]}"#, "items 0 x", "items[0].x"),
            // Write-only values cannot be compared.
            ("{}", "{}", "pin", "pin"),
            (r#"{"rule": [{}]}"#, r#"{"rule": [{}]}"#, "rule 0 secret", "rule[0].secret"),
            (r#"{"items": [{}]}"#, r#"{"items": [{}]}"#, "items 0 secret", "items[0].secret"),
            (r#"{"items": [{}]}"#, r#"{"items": [{}]}"#, "items 0 x", ""),
        ] {
            let expected: Vec<String> = if expected.is_empty() { vec![] } else { vec![expected.to_owned()] };
            assert_eq!(
                kept(prior, planned, &[named]),
                Ok(expected),
                "{named}\n  prior {prior}\nplanned {planned}"
            );
        }
    }

    #[test]
    fn nothing_is_replaced_that_is_not_there() {
        // Providers of the legacy SDK return paths in creations too.
        assert_eq!(kept("null", r#"{"email": "a", "id": "?"}"#, &["email", "id"]), Ok(vec![]));
    }

    #[test]
    fn providers_of_the_legacy_sdk_name_the_id_which_does_not_change_in_the_plan() {
        let prior = r#"{"email": "a", "id": "a"}"#;
        let planned = r#"{"email": "b", "id": "a"}"#;
        assert_eq!(kept(prior, planned, &["email", "id"]), Ok(vec!["email".to_owned()]));
    }

    #[test]
    fn a_path_is_kept_once() {
        let (prior, planned) = (r#"{"email": "a"}"#, r#"{"email": "b"}"#);
        assert_eq!(kept(prior, planned, &["email", "email"]), Ok(vec!["email".to_owned()]));
    }

    #[test]
    fn a_path_that_leads_nowhere_on_both_sides_is_the_providers_fault() {
        for named in ["nothing", "email 0", "tags =k", "rule 3 port", "zones 0", "rule 0 nothing"] {
            let said = kept(r#"{"zones": ["a"]}"#, r#"{"zones": ["b"]}"#, &[named]);
            assert_eq!(
                said,
                Err(format!(
                    "the provider wants a replacement because of {}, which is neither in the prior nor in the \
                     planned object",
                    path(named)
                ))
            );
        }
    }
}
