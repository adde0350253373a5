//! Checks that a plan conforms to the configuration (core's `AssertPlanValid`).

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::{AttributePath, PathStep, Value};

use super::Violation;
use super::dynamic_blocks::split_blocks;
use crate::schema::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting,
};

/// Compares `planned` with `config`, given `prior`. The result is empty if the plan is valid. The
/// legacy type system often violates these rules; the caller decides about the severity.
pub fn check_planned(block: &Block, prior: &Value, config: &Value, planned: &Value) -> Vec<Violation> {
    let mut check = Check { path: AttributePath::default(), violations: Vec::new() };
    check.block(block, prior, config, planned);
    check.violations
}

struct Check {
    path: AttributePath,
    violations: Vec<Violation>,
}

static NULL: Value = Value::Null;
static UNKNOWN: Value = Value::unknown();

impl Check {
    fn report(&mut self, reason: impl Into<String>) {
        self.violations.push(Violation { path: self.path.clone(), reason: reason.into() });
    }

    fn within(&mut self, step: PathStep, check: impl FnOnce(&mut Self)) {
        self.path.0.push(step);
        check(self);
        self.path.0.pop();
    }

    fn block(&mut self, block: &Block, prior: &Value, config: &Value, planned: &Value) {
        match (config.is_null(), planned.is_null()) {
            (false, true) => return self.report("planned as absent, but the configuration has it"),
            (true, false) => {
                return self.report("planned as existing, but the configuration does not have it");
            }
            (true, true) => return,
            (false, false) => {}
        }
        self.attributes(&block.attributes, prior, config, planned);
        for nested in &block.blocks {
            let element_type = &nested.block.implied_type;
            let prior = split_blocks(field(prior, &nested.name), element_type);
            let config = split_blocks(field(config, &nested.name), element_type);
            let planned = split_blocks(field(planned, &nested.name), element_type);
            self.within(PathStep::Attribute(nested.name.clone()), |check| {
                check.nested_block(nested, &prior, &config, &planned);
            });
        }
    }

    fn attributes(&mut self, attributes: &[Attribute], prior: &Value, config: &Value, planned: &Value) {
        for attribute in attributes {
            let prior = field(prior, &attribute.name);
            let config = field(config, &attribute.name);
            let planned = field(planned, &attribute.name);
            self.within(PathStep::Attribute(attribute.name.clone()), |check| {
                check.attribute(attribute, prior, config, planned);
            });
        }
    }

    fn attribute(&mut self, attribute: &Attribute, prior: &Value, config: &Value, planned: &Value) {
        if attribute.write_only {
            if !planned.is_null() {
                self.report("a write-only attribute has a planned value");
            }
            return;
        }
        if planned == config {
            return;
        }
        // The provider may decide that the new notation means the prior value.
        if planned == prior && !prior.is_null() && !config.is_null() {
            return;
        }
        if config.is_null() {
            if !attribute.computed && !planned.is_null() {
                self.report("a value is planned for an attribute that is neither configured nor computed");
            }
            return;
        }
        if attribute.computed && !attribute.optional {
            return;
        }
        if let AttributeType::Nested(nested) = &attribute.attribute_type {
            return self.nested_attribute(nested, prior, config, planned);
        }
        self.report("the planned value is not the configured one");
    }

    fn nested_attribute(&mut self, nested: &NestedObject, prior: &Value, config: &Value, planned: &Value) {
        if planned.is_null() {
            return self.report("planned as absent, but the configuration has it");
        }
        if matches!(planned, Value::Unknown(_)) && !matches!(config, Value::Unknown(_)) {
            return self.report("planned as unknown, but the configuration has it");
        }
        let attributes = &nested.attributes;
        // Core checks only the attributes of elements, null or not.
        match (nested.nesting, config, planned) {
            (ObjectNesting::Single, _, _) => self.attributes(attributes, prior, config, planned),
            (ObjectNesting::List, Value::List(configured), Value::List(elements)) => {
                if !self.same_count(configured.len(), elements.len()) {
                    return;
                }
                for (index, (config, planned)) in configured.iter().zip(elements).enumerate() {
                    let prior = item(prior, index);
                    self.within(PathStep::Index(index), |check| {
                        check.attributes(attributes, prior, config, planned)
                    });
                }
            }
            (ObjectNesting::Map, Value::Map(configured), Value::Map(elements)) => {
                if !self.same_keys(configured, elements) {
                    return;
                }
                for (key, planned) in elements {
                    let (prior, config) = (entry(prior, key), configured.get(key).unwrap_or(&NULL));
                    self.within(PathStep::Key(key.clone()), |check| {
                        check.attributes(attributes, prior, config, planned)
                    });
                }
            }
            (ObjectNesting::List | ObjectNesting::Map, Value::Unknown(_), _) => {
                self.report("the configuration does not know its elements yet, but the plan does");
            }
            // Elements of a set have no identity, so only their number is checked. Those with
            // unknown parts may turn out equal.
            (ObjectNesting::Set, Value::Set(configured), Value::Set(elements)) => {
                let is_exact = configured.len() == 1 || config.is_wholly_known();
                let most = elements.len();
                let fewest = if planned.is_wholly_known() { most } else { most.min(1) };
                if is_exact && !(fewest..=most).contains(&configured.len()) {
                    self.same_count(configured.len(), most);
                }
            }
            // An unknown configured set allows anything; other combinations do not conform to the
            // schema, and were refused on decoding.
            (ObjectNesting::List | ObjectNesting::Set | ObjectNesting::Map, _, _) => {}
        }
    }

    fn nested_block(&mut self, nested: &NestedBlock, prior: &Value, config: &Value, planned: &Value) {
        if nested.nesting != BlockNesting::Single && planned.is_null() {
            return self.report("absent blocks must be planned as none, not as null");
        }
        if planned == config {
            return;
        }
        if !config.is_known() {
            return self.report("the configuration does not know these blocks yet, but the plan does");
        }
        if config.is_null() && nested.block.computed {
            return;
        }
        if !planned.is_known() {
            return self.report("blocks are planned as unknown; only what is in them may be");
        }
        match (nested.nesting, config, planned) {
            (BlockNesting::Single | BlockNesting::Group, _, _) => {
                self.block(&nested.block, prior, config, planned)
            }
            (BlockNesting::List | BlockNesting::Map, Value::Null, _) => {
                if let Some(planned) = count(planned).filter(|planned| *planned > 0) {
                    self.same_count(0, planned);
                }
            }
            (BlockNesting::List, Value::List(configured), Value::List(elements)) => {
                if !self.same_count(configured.len(), elements.len()) {
                    return;
                }
                for (index, (config, planned)) in configured.iter().zip(elements).enumerate() {
                    let prior = item(prior, index);
                    self.within(PathStep::Index(index), |check| {
                        check.element(&nested.block, prior, config, planned)
                    });
                }
            }
            (BlockNesting::Map, Value::Map(configured), Value::Map(elements)) => {
                if !self.same_keys(configured, elements) {
                    return;
                }
                for (key, planned) in elements {
                    let (prior, config) = (entry(prior, key), configured.get(key).unwrap_or(&NULL));
                    self.within(PathStep::Key(key.clone()), |check| {
                        check.element(&nested.block, prior, config, planned)
                    });
                }
            }
            // Elements of a set have no identity, so only their presence is checked.
            (BlockNesting::Set, _, Value::Set(elements))
                if elements.iter().any(|element| matches!(element, Value::Unknown(_))) =>
            {
                self.report("a block is planned as unknown; only what is in it may be");
            }
            // Other combinations do not conform to the schema, and were refused on decoding.
            (BlockNesting::List | BlockNesting::Set | BlockNesting::Map, _, _) => {}
        }
    }

    fn element(&mut self, block: &Block, prior: &Value, config: &Value, planned: &Value) {
        if matches!(planned, Value::Unknown(_)) {
            return self.report("a block is planned as unknown; only what is in it may be");
        }
        self.block(block, prior, config, planned);
    }

    fn same_count(&mut self, configured: usize, planned: usize) -> bool {
        if configured != planned {
            self.report(format!("{planned} elements are planned, but {configured} are configured"));
        }
        configured == planned
    }

    fn same_keys(
        &mut self,
        configured: &BTreeMap<Arc<str>, Value>,
        planned: &BTreeMap<Arc<str>, Value>,
    ) -> bool {
        let same = configured.len() == planned.len() && configured.keys().eq(planned.keys());
        if !same {
            self.report("the planned keys are not the configured ones");
        }
        same
    }
}

/// An attribute of an object; one of an unknown object is unknown.
fn field<'a>(object: &'a Value, name: &str) -> &'a Value {
    match object {
        Value::Object(attributes) => attributes.get(name).unwrap_or(&NULL),
        Value::Unknown(_) => &UNKNOWN,
        _ => &NULL,
    }
}

fn item(list: &Value, index: usize) -> &Value {
    match list {
        Value::List(elements) => elements.get(index).unwrap_or(&NULL),
        Value::Unknown(_) => &UNKNOWN,
        _ => &NULL,
    }
}

fn entry<'a>(map: &'a Value, key: &str) -> &'a Value {
    match map {
        Value::Map(elements) => elements.get(key).unwrap_or(&NULL),
        Value::Unknown(_) => &UNKNOWN,
        _ => &NULL,
    }
}

fn count(blocks: &Value) -> Option<usize> {
    blocks.elements().map(<[Value]>::len).or_else(|| blocks.entries().map(BTreeMap::len))
}

#[cfg(test)]
mod tests;
