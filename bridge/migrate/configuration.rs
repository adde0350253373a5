//! A Terraform configuration, as far as a migration reads it: the expressions of resources, locals,
//! outputs, module calls and provider configurations.
//!
//! Only native syntax (`.tf`) is parsed. What is not understood is skipped: a program has the literal
//! of the state in its place.

use std::collections::BTreeMap;

use hcl_edit::expr::{Expression, ObjectKey};
use hcl_edit::structure::{Block, Body};
use isthmus_state::ResourceAddress;

use isthmus_translate::import::Configured;

/// Attributes of a block by name.
pub type Attributes = BTreeMap<String, Expression>;

/// All modules that were read, by the names of the module calls; the root module has none.
#[derive(Debug, Default)]
pub struct Configuration {
    modules: BTreeMap<Vec<String>, Module>,
}

/// A module.
#[derive(Debug, Default)]
pub struct Module {
    /// By type and name.
    resources: BTreeMap<(String, String), Body>,
    pub locals: Attributes,
    /// Values by name.
    pub outputs: Attributes,
    /// Arguments of module calls by name.
    pub calls: BTreeMap<String, Attributes>,
    pub providers: Vec<ProviderBlock>,
}

/// A provider configuration.
#[derive(Debug)]
pub struct ProviderBlock {
    /// The provider's name in the module, by default its type.
    pub name: String,
    pub alias: Option<String>,
    pub attributes: Attributes,
    /// Whether it has nested blocks, which are not read.
    pub has_blocks: bool,
}

impl Module {
    /// The source of a module call, if it is a path.
    pub fn path_of(&self, call: &str) -> Option<&str> {
        match self.calls.get(call)?.get("source")? {
            Expression::String(source) if source.starts_with('.') => Some(source),
            _ => None,
        }
    }

    /// Whether it has a configuration of a provider, without an alias.
    pub fn configures(&self, provider: &str) -> bool {
        self.providers.iter().any(|block| block.name == provider && block.alias.is_none())
    }
}

impl Configuration {
    /// Adds a file of a module. Returns the module calls with a source of the file system.
    ///
    /// # Errors
    /// If it is not HCL.
    pub fn add(
        &mut self,
        module: &[String],
        text: &str,
    ) -> Result<Vec<(String, String)>, hcl_edit::parser::Error> {
        let body = hcl_edit::parser::parse_body(text)?;
        let module = self.modules.entry(module.to_vec()).or_default();
        let mut local_calls = Vec::new();
        for block in body.blocks() {
            let labels: Vec<&str> = block.labels.iter().map(|label| label.as_str()).collect();
            match (block.ident.as_str(), labels.as_slice()) {
                ("resource", [type_name, name]) => {
                    let key = ((*type_name).to_owned(), (*name).to_owned());
                    // An override file has the same block with other attributes.
                    let body = module.resources.entry(key).or_default();
                    body.extend(block.body.clone());
                }
                ("locals", []) => module.locals.extend(attributes(&block.body)),
                ("output", [name]) => {
                    if let Some(value) = attributes(&block.body).remove("value") {
                        module.outputs.insert((*name).to_owned(), value);
                    }
                }
                ("module", [name]) => {
                    let arguments = attributes(&block.body);
                    if let Some(Expression::String(source)) = arguments.get("source")
                        && source.starts_with('.')
                    {
                        local_calls.push(((*name).to_owned(), source.value().clone()));
                    }
                    module.calls.insert((*name).to_owned(), arguments);
                }
                ("provider", [name]) => module.providers.push(provider(name, block)),
                _ => {}
            }
        }
        Ok(local_calls)
    }

    /// A module by the names of its calls.
    pub fn module(&self, names: &[String]) -> Option<&Module> {
        self.modules.get(names)
    }

    /// Which parts of a resource's instances it sets.
    pub fn of_resource(&self, address: &ResourceAddress) -> Configured {
        self.resource(address).map_or(Configured::Unknown, |body| Configured::Parts(parts_of_body(body)))
    }

    /// The expression of a resource's attribute.
    pub fn attribute(&self, address: &ResourceAddress, attribute: &str) -> Option<&Expression> {
        Some(&self.resource(address)?.get_attribute(attribute)?.value)
    }

    fn resource(&self, address: &ResourceAddress) -> Option<&Body> {
        let names: Vec<String> = address.module.iter().map(|step| step.name.clone()).collect();
        let key = (address.type_name.clone(), address.name.clone());
        self.module(&names)?.resources.get(&key)
    }
}

/// What a body sets: of several blocks of a type, what any of them sets.
fn parts_of_body(body: &Body) -> BTreeMap<String, Configured> {
    let mut parts = BTreeMap::new();
    for attribute in body.attributes().filter(|attribute| !matches!(attribute.value, Expression::Null(_))) {
        add(&mut parts, attribute.key.to_string(), parts_of_value(&attribute.value));
    }
    for block in body.blocks() {
        let (name, body) = match block.labels.first() {
            Some(name) if block.ident.as_str() == "dynamic" => {
                (name.as_str(), block.body.get_blocks("content").next().map(|content| &content.body))
            }
            _ => (block.ident.as_str(), Some(&block.body)),
        };
        let of_block = body.map_or(Configured::Whole, |body| Configured::Parts(parts_of_body(body)));
        add(&mut parts, name.to_owned(), of_block);
    }
    parts
}

fn add(parts: &mut BTreeMap<String, Configured>, name: String, part: Configured) {
    let both = match parts.remove(&name) {
        Some(other) => union(other, part),
        None => part,
    };
    parts.insert(name, both);
}

fn union(one: Configured, other: Configured) -> Configured {
    let (Configured::Parts(mut all), Configured::Parts(more)) = (one, other) else {
        return Configured::Whole;
    };
    for (name, part) in more {
        add(&mut all, name, part);
    }
    Configured::Parts(all)
}

/// What an expression sets. All of a value that only an evaluation would show.
fn parts_of_value(expression: &Expression) -> Configured {
    match expression {
        Expression::Parenthesis(inner) => parts_of_value(inner.inner()),
        Expression::Array(elements) => {
            elements.iter().map(parts_of_value).reduce(union).unwrap_or(Configured::Whole)
        }
        Expression::Object(members) => {
            let mut parts = BTreeMap::new();
            for (key, value) in members.iter() {
                let name = match key {
                    ObjectKey::Ident(name) => name.to_string(),
                    ObjectKey::Expression(Expression::String(name)) => name.value().clone(),
                    ObjectKey::Expression(_) => return Configured::Whole,
                };
                if !matches!(value.expr(), Expression::Null(_)) {
                    add(&mut parts, name, parts_of_value(value.expr()));
                }
            }
            Configured::Parts(parts)
        }
        _ => Configured::Whole,
    }
}

fn provider(name: &str, block: &Block) -> ProviderBlock {
    let mut attributes = attributes(&block.body);
    let alias = match attributes.remove("alias") {
        Some(Expression::String(alias)) => Some(alias.value().clone()),
        _ => None,
    };
    let has_blocks = block.body.blocks().next().is_some();
    ProviderBlock { name: name.to_owned(), alias, attributes, has_blocks }
}

fn attributes(body: &Body) -> Attributes {
    body.attributes().map(|attribute| (attribute.key.to_string(), attribute.value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use isthmus_state::ObjectAddress;

    use super::*;

    #[test]
    fn what_a_migration_needs_is_read() {
        let text = r#"
            resource "random_pet" "a" {
              prefix = random_pet.b.id
              lifecycle { prevent_destroy = true }
            }
            locals { x = 1 }
            output "o" { value = random_pet.a.id }
            module "site" {
              source = "./site"
              name   = "x"
            }
            module "far" { source = "example/far/aws" }
            provider "aws" {
              alias  = "west"
              region = "us-west-1"
            }
            variable "v" {}
        "#;
        let mut configuration = Configuration::default();
        let calls = configuration.add(&[], text).expect("a configuration");
        assert_eq!(calls, [("site".to_owned(), "./site".to_owned())]);
        let module = configuration.module(&[]).expect("the root module");
        let address = |text: &str| text.parse::<ObjectAddress>().expect("an address").resource;
        assert!(configuration.attribute(&address("random_pet.a"), "prefix").is_some());
        assert_eq!(configuration.of_resource(&address("random_pet.c")), Configured::Unknown);
        assert!(module.locals.contains_key("x") && module.outputs.contains_key("o"));
        let [provider] = module.providers.as_slice() else { panic!("{:?}", module.providers) };
        assert_eq!(provider.alias.as_deref(), Some("west"));
        assert_eq!(provider.attributes.keys().collect::<Vec<_>>(), ["region"]);
        assert!(configuration.add(&[], "resource {").is_err());
    }
    #[test]
    fn what_a_resource_sets_is_known_by_its_parts() {
        let text = r#"
            resource "a" "b" {
              name  = var.name
              unset = null
              disks = [{ size = 1, "label" = "x", other = null }, { mode = "ro" }]
              whole = [{ size = 1 }, local.other]
              rule { port = 1 }
              dynamic "rule" {
                for_each = var.rules
                content { protocol = rule.value }
              }
            }
        "#;
        let mut configuration = Configuration::default();
        configuration.add(&[], text).expect("a configuration");
        configuration.add(&[], "resource \"a\" \"b\" {\n  size = 1\n}\n").expect("an override");
        let parts = |names: &[&str]| {
            Configured::Parts(names.iter().map(|name| ((*name).to_owned(), Configured::Whole)).collect())
        };
        let expected = [
            ("disks", parts(&["label", "mode", "size"])),
            ("name", Configured::Whole),
            ("rule", parts(&["port", "protocol"])),
            ("size", Configured::Whole),
            ("whole", Configured::Whole),
        ];
        let expected = expected.map(|(name, part)| (name.to_owned(), part));
        let address: ObjectAddress = "a.b[0]".parse().expect("an address");
        assert_eq!(configuration.of_resource(&address.resource), Configured::Parts(expected.into()));
    }
}
