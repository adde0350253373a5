//! A Terraform configuration, as far as a migration reads it: the expressions of resources, locals,
//! outputs, module calls and provider configurations.
//!
//! Only native syntax (`.tf`) is parsed. What is not understood is skipped: a program has the literal
//! of the state in its place.

use std::collections::BTreeMap;

use hcl_edit::expr::Expression;
use hcl_edit::structure::{Block, Body};

/// Attributes of a block by name.
pub(crate) type Attributes = BTreeMap<String, Expression>;

/// All modules that were read, by the names of the module calls; the root module has none.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    modules: BTreeMap<Vec<String>, Module>,
}

/// A module.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// By type and name.
    pub resources: BTreeMap<(String, String), Attributes>,
    pub locals: Attributes,
    /// Values by name.
    pub outputs: Attributes,
    /// Arguments of module calls by name.
    pub calls: BTreeMap<String, Attributes>,
    pub providers: Vec<ProviderBlock>,
}

/// A provider configuration.
#[derive(Debug)]
pub(crate) struct ProviderBlock {
    /// The provider's name in the module, by default its type.
    pub name: String,
    pub alias: Option<String>,
    pub attributes: Attributes,
    /// Whether it has nested blocks, which are not read.
    pub has_blocks: bool,
}

impl Configuration {
    /// Adds a file of a module. Returns the module calls with a source of the file system.
    ///
    /// # Errors
    /// If it is not HCL.
    pub(crate) fn add(
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
                    module.resources.insert(key, attributes(&block.body));
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
    pub(crate) fn module(&self, names: &[String]) -> Option<&Module> {
        self.modules.get(names)
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
        let key = ("random_pet".to_owned(), "a".to_owned());
        assert_eq!(module.resources[&key].keys().collect::<Vec<_>>(), ["prefix"]);
        assert!(module.locals.contains_key("x") && module.outputs.contains_key("o"));
        let [provider] = module.providers.as_slice() else { panic!("{:?}", module.providers) };
        assert_eq!(provider.alias.as_deref(), Some("west"));
        assert_eq!(provider.attributes.keys().collect::<Vec<_>>(), ["region"]);
        assert!(configuration.add(&[], "resource {").is_err());
    }
}
