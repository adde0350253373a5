//! What a program has from a configuration in place of literals.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use isthmus_proto::property::Value as Property;
use isthmus_state::ObjectAddress;

use super::adopted::Adopted;
use isthmus_migrate::configuration::Configuration;
use isthmus_migrate::references::{Evaluator, Resources, Scope};
use isthmus_package::shape::IdRule;
use isthmus_translate::property::without_secrets;

/// What a program has from a configuration.
#[derive(Default)]
pub(super) struct Carried {
    /// By position: texts with references by property, and the resources that they refer to.
    pub(super) references: HashMap<usize, (BTreeMap<String, String>, BTreeSet<usize>)>,
    pub(super) outputs: BTreeMap<String, String>,
}

impl Carried {
    pub(super) fn of(
        configuration: &Configuration,
        resources: &[Adopted],
        outputs: &BTreeMap<String, Property>,
    ) -> Self {
        let mut carried = Self::default();
        let Some(root) = configuration.module(&[]) else { return carried };
        let targets = Targets {
            resources,
            positions: resources
                .iter()
                .enumerate()
                .map(|(position, resource)| (&resource.address, position))
                .collect(),
        };
        let evaluator = Evaluator { configuration, resources: &targets };
        for (position, resource) in resources.iter().enumerate() {
            let (mut texts, mut implied) = (BTreeMap::new(), BTreeSet::new());
            for field in &resource.shape.object.fields {
                let Some(literal) = resource.inputs.get(&field.pulumi) else { continue };
                let found = evaluator.of_resource(&resource.address, &field.terraform, literal);
                if let Some(found) = found.filter(|found| !found.positions.contains(&position)) {
                    texts.insert(field.pulumi.clone(), found.text);
                    implied.extend(found.positions);
                }
            }
            carried.references.insert(position, (texts, implied));
        }
        for (name, literal) in outputs {
            let scope = Scope { module: &[], key: None };
            let found = root.outputs.get(name).and_then(|value| evaluator.reference(value, scope, literal));
            if let Some(found) = found {
                carried.outputs.insert(name.clone(), found.text);
            }
        }
        carried
    }
}

/// The resources that a configuration refers to.
struct Targets<'a> {
    resources: &'a [Adopted],
    positions: HashMap<&'a ObjectAddress, usize>,
}

impl Resources for Targets<'_> {
    fn attribute(&self, address: &ObjectAddress, attribute: &str) -> Option<(usize, String, Property)> {
        let position = *self.positions.get(address)?;
        let Adopted { shape, found, name, .. } = &self.resources[position];
        let field = shape.object.terraform(attribute)?;
        let is_id = attribute == "id" && shape.id == IdRule::Computed;
        let value = if is_id {
            Property::from(found.id.as_str())
        } else {
            found.properties.get(&field.pulumi)?.clone()
        };
        let property = if is_id { "id" } else { &field.pulumi };
        Some((position, format!("{}.{property}", name.key), without_secrets(&value).ok()?))
    }
}
