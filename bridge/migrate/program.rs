//! The program of a migrated stack, in Pulumi YAML.
//!
//! Values are literals, except secrets: these are configuration of the stack (`pulumi config set
//! --secret`), so that the program holds none. Dependencies are `dependsOn`.
//!
//! All texts are quoted as in JSON, which YAML reads the same way; `$` is doubled, because `${` is a
//! reference.

use std::collections::{BTreeMap, HashSet};

use isthmus_proto::property::{Struct, Value as Property};

use super::names::{sanitized, unique};
use super::property_json::number_to_json;
use crate::translate::property::{PropertyView, classify};

/// A program.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub project: String,
    pub packages: Vec<PackageReference>,
    pub providers: Vec<ExplicitProvider>,
    pub resources: Vec<ProgramResource>,
    /// Outputs: texts with references.
    pub outputs: BTreeMap<String, String>,
}

/// A package in a project file: what `pulumi package add` writes.
#[derive(Debug)]
pub(crate) struct PackageReference {
    pub name: String,
    pub plugin: &'static str,
    pub plugin_version: String,
    /// The arguments of `pulumi package add`.
    pub parameters: Vec<String>,
}

/// A provider that resources refer to.
#[derive(Debug)]
pub(crate) struct ExplicitProvider {
    pub key: String,
    pub token: String,
    /// Texts by property.
    pub properties: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(crate) struct ProgramResource {
    pub key: String,
    pub name: String,
    pub token: String,
    pub inputs: Struct,
    /// Keys.
    pub depends_on: Vec<String>,
    /// The key of an explicit provider.
    pub provider: Option<String>,
    pub retain_on_delete: bool,
    /// Property paths.
    pub ignore_changes: Vec<String>,
    /// Texts with references, in place of the inputs of the same names.
    pub references: BTreeMap<String, String>,
}

/// A written program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// The project file.
    pub yaml: String,
    /// The secrets that the program takes from the configuration of its stack.
    pub secrets: Vec<ConfiguredSecret>,
    /// Places that YAML cannot express: the key of the resource, and why.
    pub inexpressible: Vec<(String, Inexpressible)>,
}

/// A secret of the configuration.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ConfiguredSecret {
    /// The configuration key, without namespace.
    pub key: String,
    pub value: String,
    kind: &'static str,
}

impl std::fmt::Debug for ConfiguredSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ConfiguredSecret({})", self.key)
    }
}

/// What YAML cannot express.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Inexpressible {
    #[error("the key {0:?} of a map would be read as a function")]
    Function(String),
    #[error("a value is of a kind that providers do not take")]
    Kind,
}

impl Program {
    /// Writes the program.
    pub(crate) fn write(&self) -> Written {
        let mut keys: HashSet<String> = self.resources.iter().map(|resource| resource.key.clone()).collect();
        keys.extend(self.providers.iter().map(|provider| provider.key.clone()));
        let mut writer = Writer { keys, ..Writer::default() };
        for provider in &self.providers {
            writer.open(1, &provider.key);
            writer.text(2, "type", &provider.token);
            if !provider.properties.is_empty() {
                writer.open(2, "properties");
            }
            for (name, text) in &provider.properties {
                writer.line(3, &format!("{}: {}", key(name), quoted(&doubled(text))));
            }
        }
        for resource in &self.resources {
            writer.resource(resource);
        }
        let mut yaml = format!("name: {}\nruntime: yaml\n", quoted(&self.project));
        if !self.packages.is_empty() {
            yaml.push_str("packages:\n");
        }
        for package in &self.packages {
            yaml.push_str(&format!(
                "  {}:\n    source: {}\n    version: {}\n    parameters:\n",
                key(&package.name),
                package.plugin,
                package.plugin_version
            ));
            for parameter in &package.parameters {
                yaml.push_str(&format!("      - {}\n", quoted(parameter)));
            }
        }
        if !writer.secrets.is_empty() {
            yaml.push_str("config:\n");
        }
        for secret in &writer.secrets {
            yaml.push_str(&format!("  {}:\n    type: {}\n    secret: true\n", key(&secret.key), secret.kind));
        }
        if !writer.yaml.is_empty() {
            yaml.push_str("resources:\n");
            yaml.push_str(&writer.yaml);
        }
        if !self.outputs.is_empty() {
            yaml.push_str("outputs:\n");
        }
        for (name, text) in &self.outputs {
            yaml.push_str(&format!("  {}: {}\n", key(name), quoted(text)));
        }
        Written { yaml, secrets: writer.secrets, inexpressible: writer.inexpressible }
    }
}

#[derive(Default)]
struct Writer {
    yaml: String,
    /// Names in use: those of resources and of configuration share a namespace.
    keys: HashSet<String>,
    secrets: Vec<ConfiguredSecret>,
    inexpressible: Vec<(String, Inexpressible)>,
    /// The resource that is written.
    resource: String,
}

impl Writer {
    fn resource(&mut self, resource: &ProgramResource) {
        self.resource.clone_from(&resource.key);
        self.open(1, &resource.key);
        self.text(2, "type", &resource.token);
        if resource.name != resource.key {
            self.text(2, "name", &resource.name);
        }
        let inputs = resource.inputs.iter().filter(|(_, value)| !value.is_null());
        let mut inputs = inputs.peekable();
        if inputs.peek().is_some() {
            self.open(2, "properties");
        }
        for (name, value) in inputs {
            if let Some(text) = resource.references.get(name) {
                self.line(3, &format!("{}: {}", key(name), quoted(text)));
                continue;
            }
            self.member(3, name, value, false, &format!("{}-{}", resource.key, sanitized(name)));
        }
        let is_plain = resource.depends_on.is_empty()
            && resource.provider.is_none()
            && !resource.retain_on_delete
            && resource.ignore_changes.is_empty();
        if is_plain {
            return;
        }
        self.open(2, "options");
        if let Some(provider) = &resource.provider {
            self.line(3, &format!("provider: ${{{provider}}}"));
        }
        if !resource.depends_on.is_empty() {
            self.open(3, "dependsOn");
        }
        for other in &resource.depends_on {
            self.line(4, &format!("- ${{{other}}}"));
        }
        if !resource.ignore_changes.is_empty() {
            self.open(3, "ignoreChanges");
        }
        for path in &resource.ignore_changes {
            self.line(4, &format!("- {}", quoted(path)));
        }
        if resource.retain_on_delete {
            self.line(3, "retainOnDelete: true");
        }
    }

    /// A member of an object. `path` names the value among the keys of the configuration.
    fn member(&mut self, level: usize, name: &str, value: &Property, is_secret: bool, path: &str) {
        if name.to_ascii_lowercase().starts_with("fn::") {
            self.inexpressible.push((self.resource.clone(), Inexpressible::Function(name.to_owned())));
        }
        let name = if level == 3 { key(name) } else { key(&doubled(name)) };
        self.value(level, &format!("{name}:"), value, is_secret, path);
    }

    fn value(&mut self, level: usize, before: &str, value: &Property, is_secret: bool, path: &str) {
        let value = match classify(value) {
            Ok(PropertyView::Secret(inner)) => return self.value(level, before, inner, true, path),
            Ok(
                PropertyView::Null
                | PropertyView::Bool(_)
                | PropertyView::Number(_)
                | PropertyView::String(_)
                | PropertyView::List(_)
                | PropertyView::Object(_),
            ) => value,
            _ => {
                self.inexpressible.push((self.resource.clone(), Inexpressible::Kind));
                return self.line(level, &format!("{before} null"));
            }
        };
        let scalar = match value {
            Property::Null => "null".to_owned(),
            Property::Bool(value) if is_secret => self.secret("boolean", value.to_string(), path),
            Property::Number(number) if is_secret => {
                self.secret("integer", number_to_json(*number).to_string(), path)
            }
            Property::String(text) if is_secret => self.secret("string", text.clone(), path),
            Property::Bool(value) => value.to_string(),
            Property::Number(number) => number_to_json(*number).to_string(),
            Property::String(text) => quoted(&doubled(text)),
            Property::List(elements) if elements.is_empty() => "[]".to_owned(),
            Property::Struct(members) if members.is_empty() => "{}".to_owned(),
            Property::List(elements) => {
                self.line(level, before);
                for (index, element) in elements.iter().enumerate() {
                    self.value(level + 1, "-", element, is_secret, &format!("{path}-{index}"));
                }
                return;
            }
            Property::Struct(members) => {
                self.line(level, before);
                for (name, value) in members.iter() {
                    self.member(level + 1, name, value, is_secret, &format!("{path}-{}", sanitized(name)));
                }
                return;
            }
        };
        self.line(level, &format!("{before} {scalar}"));
    }

    /// Makes a value configuration; returns the reference to it.
    fn secret(&mut self, kind: &'static str, value: String, path: &str) -> String {
        let key = unique(path, |key| self.keys.insert(key.to_owned()));
        let reference = format!("${{{key}}}");
        self.secrets.push(ConfiguredSecret { key, value, kind });
        reference
    }

    fn open(&mut self, level: usize, name: &str) {
        self.line(level, &format!("{}:", key(name)));
    }

    fn text(&mut self, level: usize, name: &str, text: &str) {
        self.line(level, &format!("{name}: {}", quoted(text)));
    }

    fn line(&mut self, level: usize, text: &str) {
        for _ in 0..level {
            self.yaml.push_str("  ");
        }
        self.yaml.push_str(text);
        self.yaml.push('\n');
    }
}

/// A text in which nothing is a reference.
fn doubled(text: &str) -> String {
    text.replace('$', "$$")
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text has a JSON form")
}

/// A key, quoted unless YAML reads it as this text anyway.
fn key(name: &str) -> String {
    let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-'));
    // Words that YAML reads as something else.
    let is_word = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"]
        .contains(&name.to_ascii_lowercase().as_str());
    if is_plain && !is_word { name.to_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translate::property::secret;

    fn resource(key: &str, inputs: Struct) -> ProgramResource {
        ProgramResource {
            key: key.to_owned(),
            name: key.to_owned(),
            token: "random:index/pet:Pet".to_owned(),
            inputs,
            depends_on: Vec::new(),
            provider: None,
            retain_on_delete: false,
            ignore_changes: Vec::new(),
            references: BTreeMap::new(),
        }
    }

    fn object(members: &[(&str, Property)]) -> Property {
        Property::Struct(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    }

    #[test]
    fn a_program_has_packages_providers_and_resources() {
        let program = Program {
            project: "shop".to_owned(),
            packages: vec![PackageReference {
                name: "random".to_owned(),
                plugin: "terraform-provider",
                plugin_version: "1.1.3".to_owned(),
                parameters: vec!["hashicorp/random".to_owned(), "3.7.2".to_owned()],
            }],
            providers: vec![ExplicitProvider {
                key: "west".to_owned(),
                token: "pulumi:providers:random".to_owned(),
                properties: BTreeMap::from([("region".to_owned(), "$x".to_owned())]),
            }],
            resources: vec![
                resource("a", Struct::from([("length", Property::Number(2.0)), ("unset", Property::Null)])),
                ProgramResource {
                    name: "b".to_owned(),
                    depends_on: vec!["a".to_owned()],
                    provider: Some("west".to_owned()),
                    retain_on_delete: true,
                    ignore_changes: vec!["disks[0].size".to_owned()],
                    references: BTreeMap::from([("prefix".to_owned(), "${a.id}-x".to_owned())]),
                    ..resource("random_pet-b", Struct::from([("prefix", secret(Property::from("able-x")))]))
                },
            ],
            outputs: BTreeMap::from([("name".to_owned(), "${a.id}".to_owned())]),
        };
        let written = program.write();
        let expected = r#"name: "shop"
runtime: yaml
packages:
  random:
    source: terraform-provider
    version: 1.1.3
    parameters:
      - "hashicorp/random"
      - "3.7.2"
resources:
  west:
    type: "pulumi:providers:random"
    properties:
      region: "$$x"
  a:
    type: "random:index/pet:Pet"
    properties:
      length: 2
  random_pet-b:
    type: "random:index/pet:Pet"
    name: "b"
    properties:
      prefix: "${a.id}-x"
    options:
      provider: ${west}
      dependsOn:
        - ${a}
      ignoreChanges:
        - "disks[0].size"
      retainOnDelete: true
outputs:
  name: "${a.id}"
"#;
        assert_eq!(written.yaml, expected);
        assert!(written.secrets.is_empty() && written.inexpressible.is_empty());
    }

    #[test]
    fn values_are_literals_in_which_nothing_is_a_reference() {
        let inputs = Struct::from([
            ("text", Property::from("a ${b} $$ \"q\"\n")),
            ("empty", Property::List(Vec::new())),
            ("none", object(&[])),
            ("list", Property::List(vec![object(&[("on", Property::Bool(true))]), Property::from("x")])),
            ("map", object(&[("a.b $c", Property::Number(0.5))])),
        ]);
        let program =
            Program { project: "p".to_owned(), resources: vec![resource("a", inputs)], ..Program::default() };
        let expected = r#"name: "p"
runtime: yaml
resources:
  a:
    type: "random:index/pet:Pet"
    properties:
      text: "a $${b} $$$$ \"q\"\n"
      empty: []
      none: {}
      list:
        -
          "on": true
        - "x"
      map:
        "a.b $$c": 0.5
"#;
        assert_eq!(program.write().yaml, expected);
    }

    #[test]
    fn secrets_are_configuration_and_not_in_the_program() {
        let inputs = Struct::from([
            ("password", secret(Property::from("hush"))),
            ("pins", secret(Property::List(vec![Property::Number(42.0), Property::Bool(true)]))),
        ]);
        let program = Program {
            project: "p".to_owned(),
            resources: vec![resource("a", inputs), resource("a-password", Struct::new())],
            ..Program::default()
        };
        let written = program.write();
        let secrets: Vec<_> =
            written.secrets.iter().map(|secret| (secret.key.as_str(), secret.value.as_str())).collect();
        assert_eq!(secrets, [("a-password-2", "hush"), ("a-pins-0", "42"), ("a-pins-1", "true")]);
        assert!(written.yaml.contains("      password: ${a-password-2}\n"), "{}", written.yaml);
        assert!(written.yaml.contains("        - ${a-pins-0}\n"), "{}", written.yaml);
        assert!(
            written.yaml.contains("  a-pins-1:\n    type: boolean\n    secret: true\n"),
            "{}",
            written.yaml
        );
        assert!(!written.yaml.contains("hush") && !format!("{written:?}").contains("hush"));
    }

    #[test]
    fn a_key_that_would_be_a_function_is_reported() {
        let inputs = Struct::from([("map", object(&[("fn::toJSON", Property::from("x"))]))]);
        let program = Program { resources: vec![resource("a", inputs)], ..Program::default() };
        let reported = program.write().inexpressible;
        assert_eq!(reported, [("a".to_owned(), Inexpressible::Function("fn::toJSON".to_owned()))]);
    }
}
