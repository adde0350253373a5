//! The program of a migrated stack, in Pulumi YAML.
//!
//! Values are literals, except secrets: these are configuration of the stack (`pulumi config set
//! --secret`), so that the program holds none. Dependencies are `dependsOn`.
//!
//! In texts and keys of maps `$` is doubled, because `${` is a reference. A key that would be read as
//! something else (`fn::…` as a function, `<<` as a merge) is a reference to a variable with its text.

use std::collections::{BTreeMap, HashSet};

use isthmus_cty::Number;
use isthmus_proto::property::{Struct, Value as Property};

use super::configured_text::configured_text;
use super::names::{RESERVED_KEYS, sanitized, unique};
use super::yaml::{before_value, key, quoted};
use isthmus_translate::property::number_to_json;
use isthmus_translate::property::{PropertyView, classify};

/// Maximum length of a key of the configuration, of which each is the name of a file, too.
const LONGEST_CONFIGURATION_KEY: usize = 200;

/// A program.
#[derive(Debug, Default)]
pub struct Program {
    pub project: String,
    pub packages: Vec<PackageReference>,
    pub providers: Vec<ExplicitProvider>,
    pub resources: Vec<ProgramResource>,
    /// Outputs: texts with references.
    pub outputs: BTreeMap<String, String>,
}

/// A package in a project file: what `pulumi package add` writes.
#[derive(Debug)]
pub struct PackageReference {
    pub name: String,
    pub plugin: &'static str,
    pub plugin_version: String,
    /// The arguments of `pulumi package add`.
    pub parameters: Vec<String>,
}

/// A provider that resources refer to.
#[derive(Debug)]
pub struct ExplicitProvider {
    pub key: String,
    pub token: String,
    /// Texts by property.
    pub properties: BTreeMap<String, String>,
}

#[derive(Debug)]
pub struct ProgramResource {
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
#[derive(Debug, PartialEq, Eq, Default)]
pub struct Written {
    /// The project file.
    pub yaml: String,
    /// The secrets that the program takes from the configuration of its stack.
    pub secrets: Vec<ConfiguredSecret>,
    /// Places that YAML cannot express: the key of the resource, and why.
    pub inexpressible: Vec<(String, Inexpressible)>,
}

/// A secret of the configuration.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfiguredSecret {
    /// The configuration key, without namespace.
    pub key: String,
    pub value: String,
    /// The declared type. Numbers other than integers have none, since a project has no type for them:
    /// they are used without a declaration.
    kind: Option<&'static str>,
}

impl std::fmt::Debug for ConfiguredSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ConfiguredSecret({})", self.key)
    }
}

/// What YAML cannot express.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inexpressible {
    #[error("a value is of a kind that providers do not take")]
    Kind,
}

impl Program {
    /// Writes the program.
    pub fn write(&self) -> Written {
        let mut keys: HashSet<String> = RESERVED_KEYS.map(str::to_owned).into();
        keys.extend(self.resources.iter().map(|resource| resource.key.clone()));
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
        let declared: Vec<_> =
            writer.secrets.iter().filter_map(|secret| Some((&secret.key, secret.kind?))).collect();
        if !declared.is_empty() {
            yaml.push_str("config:\n");
        }
        for (name, kind) in declared {
            yaml.push_str(&format!("  {}:\n    type: {kind}\n    secret: true\n", key(name)));
        }
        if !writer.variables.is_empty() {
            yaml.push_str("variables:\n");
        }
        for (text, variable) in &writer.variables {
            yaml.push_str(&format!("  {variable}: {}\n", quoted(&doubled(text))));
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
    /// Names in use: those of resources, of configuration and of variables share a namespace.
    keys: HashSet<String>,
    secrets: Vec<ConfiguredSecret>,
    /// Variables by their texts.
    variables: BTreeMap<String, String>,
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
            let path = format!("{}-{}", resource.key, sanitized(name));
            self.value(3, &before_value(&key(name)), value, false, &path);
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

    /// An entry of a map. `path` names the value among the keys of the configuration.
    fn entry(&mut self, level: usize, name: &str, value: &Property, is_secret: bool, path: &str) {
        let before = if is_special_key(name) {
            vec![format!("${{{}}}:", self.variable(name))]
        } else {
            before_value(&key(&doubled(name)))
        };
        self.value(level, &before, value, is_secret, path);
    }

    /// A value after `before`, whose last line it continues.
    fn value(&mut self, level: usize, before: &[String], value: &Property, is_secret: bool, path: &str) {
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
                &Property::Null
            }
        };
        let [earlier @ .., last] = before else { return };
        for line in earlier {
            self.line(level, line);
        }
        let scalar = match value {
            Property::Null => "null".to_owned(),
            Property::Bool(value) if is_secret => self.secret(Some("boolean"), value.to_string(), path),
            Property::Number(number) if is_secret => {
                let json = number_to_json(*number);
                self.secret(json.is_i64().then_some("integer"), json.to_string(), path)
            }
            Property::String(text) if is_secret => {
                let kind = (!is_exact_number(text)).then_some("string");
                self.secret(kind, configured_text(text), path)
            }
            Property::Bool(value) => value.to_string(),
            Property::Number(number) => number_to_json(*number).to_string(),
            Property::String(text) => quoted(&doubled(text)),
            Property::List(elements) if elements.is_empty() => "[]".to_owned(),
            Property::Struct(members) if members.is_empty() => "{}".to_owned(),
            Property::List(elements) => {
                self.line(level, last);
                for (index, element) in elements.iter().enumerate() {
                    let path = format!("{path}-{index}");
                    self.value(level + 1, &["-".to_owned()], element, is_secret, &path);
                }
                return;
            }
            Property::Struct(members) => {
                self.line(level, last);
                for (name, value) in members.iter() {
                    self.entry(level + 1, name, value, is_secret, &format!("{path}-{}", sanitized(name)));
                }
                return;
            }
        };
        self.line(level, &format!("{last} {scalar}"));
    }

    /// Makes a value configuration; returns the reference to it.
    fn secret(&mut self, kind: Option<&'static str>, value: String, path: &str) -> String {
        // It becomes the name of a file. It is ASCII: see `sanitized`.
        let path = path.get(..LONGEST_CONFIGURATION_KEY).unwrap_or(path);
        let key = unique(path, |key| self.keys.insert(key.to_owned()));
        let reference = format!("${{{key}}}");
        self.secrets.push(ConfiguredSecret { key, value, kind });
        reference
    }

    /// The variable with a text.
    fn variable(&mut self, text: &str) -> String {
        if let Some(variable) = self.variables.get(text) {
            return variable.clone();
        }
        let variable = unique("key", |key| self.keys.insert(key.to_owned()));
        self.variables.insert(text.to_owned(), variable.clone());
        variable
    }

    fn open(&mut self, level: usize, name: &str) {
        for line in before_value(&key(name)) {
            self.line(level, &line);
        }
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

/// Whether a key of a map would be read as a function or as a merge, even if it is quoted.
fn is_special_key(name: &str) -> bool {
    name == "<<" || name.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("fn::"))
}

/// Whether a text is a number with more digits than a double, which number properties take as well:
/// of a declared type, the YAML host would refuse it there.
fn is_exact_number(text: &str) -> bool {
    Number::from_decimal(text).is_ok_and(|number| Number::from_f64_shortest(number.as_f64()) != Some(number))
}

#[cfg(test)]
mod tests;
