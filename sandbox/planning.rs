//! Plans changes by the rules of Terraform's plugin framework.
//!
//! The client sends a proposed new state: the configuration, with computed values from the prior
//! state. The framework (1) sets defaults, (2) returns the prior state if nothing differs, (3)
//! otherwise marks computed values without configuration as unknown, except those with
//! `UseStateForUnknown`, and (4) returns changed attributes that require replacement. So a client
//! that proposes a wrong state gets plans full of unknown values, as from real providers.

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::{AttributePath, PathStep, Value};

use crate::schema::{Attribute, Block, Nesting, Shape};

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    /// The planned state.
    pub state: Value,
    /// Attributes whose change requires replacement.
    pub requires_replace: Vec<AttributePath>,
}

/// Plans a creation (prior null), an update, or a deletion (proposed null).
pub(crate) fn plan(block: &Block, prior: &Value, proposed: &Value, config: &Value) -> Plan {
    if matches!(proposed, Value::Null) {
        return Plan { state: Value::Null, requires_replace: Vec::new() };
    }
    let mut state = proposed.clone();
    visit_block(block, &mut state, config, &mut fill_default);
    if state != *prior {
        visit_block(block, &mut state, config, &mut mark_unknown);
    }
    let mut requires_replace = Vec::new();
    if !matches!(prior, Value::Null) {
        block_replacements(block, prior, &state, &AttributePath::default(), &mut requires_replace);
    }
    Plan { state, requires_replace }
}

fn fill_default(attribute: &Attribute, planned: &mut Value, config: &Value) {
    if attribute.write_only {
        *planned = Value::Null;
    } else if let Some(default) = &attribute.default
        && matches!(config, Value::Null)
    {
        *planned = default.clone();
    }
}

fn mark_unknown(attribute: &Attribute, planned: &mut Value, config: &Value) {
    let given = !matches!(config, Value::Null) || attribute.default.is_some();
    let survives = attribute.keeps && !matches!(planned, Value::Null);
    if attribute.is_computed() && !given && !survives {
        *planned = Value::Unknown(None);
    }
}

type Visit<'a> = &'a mut dyn FnMut(&Attribute, &mut Value, &Value);

/// Visits the planned value and the configuration together, every attribute of every block and
/// nested attribute.
fn visit_block(block: &Block, planned: &mut Value, config: &Value, visit: Visit<'_>) {
    let (Value::Object(planned), Value::Object(config)) = (planned, config) else { return };
    visit_attributes(&block.attributes, planned, config, visit);
    for nested in &block.blocks {
        let (Some(planned), Some(config)) = (planned.get_mut(nested.name), config.get(nested.name)) else {
            continue;
        };
        let computed = |one: &Value, other: &Value| same_but_computed(&nested.block.attributes, one, other);
        visit_elements(nested.nesting, planned, config, &computed, &mut |planned, config| {
            visit_block(&nested.block, planned, config, visit);
        });
    }
}

fn visit_attributes(
    attributes: &[Attribute],
    planned: &mut BTreeMap<Arc<str>, Value>,
    config: &BTreeMap<Arc<str>, Value>,
    visit: Visit<'_>,
) {
    for attribute in attributes {
        let (Some(planned), Some(config)) = (planned.get_mut(attribute.name), config.get(attribute.name))
        else {
            continue;
        };
        visit(attribute, planned, config);
        if let Shape::Nested(nesting, inner) = &attribute.shape {
            let computed = |one: &Value, other: &Value| same_but_computed(inner, one, other);
            visit_elements(*nesting, planned, config, &computed, &mut |planned, config| {
                if let (Value::Object(planned), Value::Object(config)) = (planned, config) {
                    visit_attributes(inner, planned, config, visit);
                }
            });
        }
    }
}

/// Pairs elements of the plan with those of the configuration: lists by index, maps by key, sets by
/// all attributes that are not computed.
fn visit_elements(
    nesting: Nesting,
    planned: &mut Value,
    config: &Value,
    same: &dyn Fn(&Value, &Value) -> bool,
    visit: &mut dyn FnMut(&mut Value, &Value),
) {
    match (nesting, &mut *planned, config) {
        (Nesting::Single, planned, config) => visit(planned, config),
        (Nesting::List, Value::List(planned), Value::List(config)) => {
            for (planned, config) in planned.iter_mut().zip(config) {
                visit(planned, config);
            }
        }
        (Nesting::Map, Value::Map(planned), Value::Map(config)) => {
            for (key, planned) in planned {
                if let Some(config) = config.get(key) {
                    visit(planned, config);
                }
            }
        }
        (Nesting::Set, Value::Set(elements), Value::Set(config)) => {
            for element in elements.iter_mut() {
                if let Some(config) = config.iter().find(|config| same(element, config)) {
                    visit(element, config);
                }
            }
            let elements = std::mem::take(elements);
            *planned = Value::set(elements);
        }
        _ => {}
    }
}

/// Whether a planned element of a set matches a configured one: equal in all configured attributes.
fn same_but_computed(attributes: &[Attribute], planned: &Value, config: &Value) -> bool {
    let (Value::Object(planned), Value::Object(config)) = (planned, config) else { return planned == config };
    planned.iter().all(|(name, planned)| {
        let computed =
            attributes.iter().any(|attribute| *attribute.name == **name && attribute.is_computed());
        match config.get(name) {
            Some(Value::Null) if computed => true,
            Some(config) => planned == config,
            None => false,
        }
    })
}

fn block_replacements(
    block: &Block,
    prior: &Value,
    planned: &Value,
    path: &AttributePath,
    found: &mut Vec<AttributePath>,
) {
    attribute_replacements(&block.attributes, prior, planned, path, found);
    let (Value::Object(prior), Value::Object(planned)) = (prior, planned) else { return };
    for nested in &block.blocks {
        let (Some(prior), Some(planned)) = (prior.get(nested.name), planned.get(nested.name)) else {
            continue;
        };
        let path = extended(path, PathStep::Attribute(Arc::from(nested.name)));
        for (step, prior, planned) in element_pairs(prior, planned) {
            let path = step.map_or_else(|| path.clone(), |step| extended(&path, step));
            block_replacements(&nested.block, prior, planned, &path, found);
        }
    }
}

fn attribute_replacements(
    attributes: &[Attribute],
    prior: &Value,
    planned: &Value,
    path: &AttributePath,
    found: &mut Vec<AttributePath>,
) {
    let (Value::Object(prior), Value::Object(planned)) = (prior, planned) else { return };
    for attribute in attributes {
        let (Some(prior), Some(planned)) = (prior.get(attribute.name), planned.get(attribute.name)) else {
            continue;
        };
        let path = extended(path, PathStep::Attribute(Arc::from(attribute.name)));
        if attribute.replaces && prior != planned {
            found.push(path.clone());
        }
        if let Shape::Nested(_, inner) = &attribute.shape {
            for (step, prior, planned) in element_pairs(prior, planned) {
                let path = step.map_or_else(|| path.clone(), |step| extended(&path, step));
                attribute_replacements(inner, prior, planned, &path, found);
            }
        }
    }
}

/// Elements that both values have, each with its path step. Elements of sets have no step in the
/// protocol, so they never require replacement.
fn element_pairs<'a>(prior: &'a Value, planned: &'a Value) -> Vec<(Option<PathStep>, &'a Value, &'a Value)> {
    match (prior, planned) {
        (Value::Object(_), Value::Object(_)) => vec![(None, prior, planned)],
        (Value::List(prior), Value::List(planned)) => {
            let pairs = prior.iter().zip(planned).enumerate();
            pairs.map(|(index, (prior, planned))| (Some(PathStep::Index(index)), prior, planned)).collect()
        }
        (Value::Map(prior), Value::Map(planned)) => {
            let pairs = prior.iter().filter_map(|(key, prior)| Some((key, prior, planned.get(key)?)));
            pairs
                .map(|(key, prior, planned)| (Some(PathStep::Key(Arc::clone(key))), prior, planned))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn extended(path: &AttributePath, step: PathStep) -> AttributePath {
    let mut steps = path.0.clone();
    steps.push(step);
    AttributePath(steps)
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Type;

    use super::*;
    use crate::object::at;
    use crate::schema::NestedBlock;

    fn note() -> Block {
        Block {
            attributes: vec![
                Attribute::computed("id", Type::String).keeps(),
                Attribute::required("title", Type::String),
                Attribute::optional("color", Type::String).replaces(),
                Attribute::optional_computed("size", Type::String).or(Value::string("small")),
                Attribute::computed("revision", Type::String),
            ],
            blocks: vec![NestedBlock::new(
                "rule",
                Nesting::Set,
                Block {
                    attributes: vec![
                        Attribute::required("port", Type::String),
                        Attribute::computed("id", Type::String).keeps(),
                    ],
                    ..Block::default()
                },
            )],
            ..Block::default()
        }
    }

    fn value(attributes: &[(&str, Value)]) -> Value {
        Value::Object(attributes.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect())
    }

    fn with(base: &Value, name: &str, changed: Value) -> Value {
        let Value::Object(attributes) = base else { panic!("an object") };
        let mut attributes = attributes.clone();
        attributes.insert(Arc::from(name), changed);
        Value::Object(attributes)
    }

    fn attribute<'a>(object: &'a Value, name: &str) -> &'a Value {
        let Value::Object(attributes) = object else { panic!("an object, not {object:?}") };
        attributes.get(name).unwrap_or(&Value::Null)
    }

    fn rule(port: &str, id: Value) -> Value {
        value(&[("port", Value::string(port)), ("id", id)])
    }

    fn config() -> Value {
        value(&[
            ("id", Value::Null),
            ("title", Value::string("a")),
            ("color", Value::string("red")),
            ("size", Value::Null),
            ("revision", Value::Null),
            ("rule", Value::set(vec![rule("80", Value::Null)])),
        ])
    }

    fn state() -> Value {
        value(&[
            ("id", Value::string("1")),
            ("title", Value::string("a")),
            ("color", Value::string("red")),
            ("size", Value::string("small")),
            ("revision", Value::string("r1")),
            ("rule", Value::set(vec![rule("80", Value::string("x"))])),
        ])
    }

    #[test]
    fn a_creation_leaves_computed_values_unknown_and_fills_defaults() {
        let plan = plan(&note(), &Value::Null, &config(), &config());
        assert!(matches!(attribute(&plan.state, "id"), Value::Unknown(_)));
        assert!(matches!(attribute(&plan.state, "revision"), Value::Unknown(_)));
        assert_eq!(*attribute(&plan.state, "size"), Value::string("small"));
        assert_eq!(*attribute(&plan.state, "title"), Value::string("a"));
        assert_eq!(
            *attribute(&plan.state, "rule"),
            Value::set(vec![rule("80", Value::Unknown(None))]),
            "computed values inside of a set's elements are unknown as well"
        );
        assert_eq!(plan.requires_replace, []);
    }

    #[test]
    fn without_a_change_the_plan_is_the_prior_state() {
        let plan = plan(&note(), &state(), &state(), &config());
        assert_eq!(plan, Plan { state: state(), requires_replace: Vec::new() });
    }

    #[test]
    fn an_update_keeps_what_survives_and_recomputes_the_rest() {
        let config = with(&config(), "title", Value::string("b"));
        let proposed = with(&state(), "title", Value::string("b"));
        let plan = plan(&note(), &state(), &proposed, &config);
        assert_eq!(*attribute(&plan.state, "id"), Value::string("1"));
        assert!(matches!(attribute(&plan.state, "revision"), Value::Unknown(_)));
        assert_eq!(
            *attribute(&plan.state, "rule"),
            Value::set(vec![rule("80", Value::string("x"))]),
            "the element is recognised though its id is not in the configuration"
        );
        assert_eq!(plan.requires_replace, []);
    }

    #[test]
    fn a_change_that_replaces_is_named_by_its_path() {
        let config = with(&config(), "color", Value::string("blue"));
        let proposed = with(&state(), "color", Value::string("blue"));
        assert_eq!(plan(&note(), &state(), &proposed, &config).requires_replace, [at("color")]);
    }

    #[test]
    fn a_value_that_may_change_replaces_too() {
        let config = with(&config(), "color", Value::Unknown(None));
        let proposed = with(&state(), "color", Value::Unknown(None));
        assert_eq!(plan(&note(), &state(), &proposed, &config).requires_replace, [at("color")]);
    }

    #[test]
    fn a_deletion_plans_null() {
        let plan = plan(&note(), &state(), &Value::Null, &Value::Null);
        assert_eq!(plan, Plan { state: Value::Null, requires_replace: Vec::new() });
    }
}
