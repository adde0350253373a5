//! A stack export: the document that `pulumi stack export` writes and `pulumi stack import` reads.
//!
//! Version 3 of the format. The engine checks that every resource comes after its parent, its
//! provider and its dependencies, and that all URNs are of the stack that imports it.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use isthmus_proto::property::Struct;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::hcl_names::Component;
use super::property_json::{ExportedValueError, bag_from_json, bag_to_json};
use super::secrets_provider::{PassphraseCrypter, SecretsProvider};
use isthmus_common::file_fault::FileFault;
use isthmus_package::urn::Urn;

const VERSION: u64 = 3;
/// The newest version that is read. It is 3 with a list of features, of which none changes what is read here.
const NEWEST: u64 = 4;
const STACK_TYPE: &str = "pulumi:pulumi:Stack";
const PROVIDER_TYPE: &str = "pulumi:providers:";
/// The time of a deployment that no engine has made: Go's zero time.
const NO_TIME: &str = "0001-01-01T00:00:00Z";

/// A stack: the prefix of its URNs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackName {
    pub project: String,
    pub stack: String,
}

impl StackName {
    /// The URN of a resource.
    pub fn urn(&self, token: &str, name: &str) -> String {
        format!("urn:pulumi:{}::{}::{token}::{name}", self.stack, self.project)
    }

    /// The URN of a resource in components, the outermost first.
    pub fn urn_within(&self, parents: &[Component], token: &str, name: &str) -> String {
        let types: Vec<&str> = parents.iter().map(|parent| &*parent.token).chain([token]).collect();
        self.urn(&types.join("$"), name)
    }

    /// The URN of the innermost component; the stack's without any.
    fn parent(&self, parents: &[Component]) -> String {
        match parents {
            [] => self.root(),
            [outer @ .., parent] => self.urn_within(outer, &parent.token, &parent.name),
        }
    }

    fn root(&self) -> String {
        self.urn(STACK_TYPE, &format!("{}-{}", self.project, self.stack))
    }
}

/// A provider of a stack.
#[derive(Clone, Debug)]
pub struct StackProvider {
    /// Name of the package.
    pub package: String,
    /// Version of the package.
    pub package_version: semver::Version,
    /// Name and version of the plugin.
    pub plugin: &'static str,
    pub plugin_version: semver::Version,
    /// The parameter value.
    pub parameter: Vec<u8>,
    /// The name of an explicit provider; `None`: the default provider.
    pub explicit: Option<String>,
    /// The components that it is in, the outermost first.
    pub parents: Vec<Component>,
    /// A random UUID.
    pub id: String,
    /// The configuration of an explicit provider.
    pub properties: BTreeMap<String, String>,
}

impl StackProvider {
    /// Its resource type.
    pub fn token(&self) -> String {
        format!("{PROVIDER_TYPE}{}", self.package)
    }

    /// The name of its resource. Engines name a default provider by its version.
    pub fn name(&self) -> String {
        if let Some(name) = &self.explicit {
            return name.clone();
        }
        let version = &self.package_version;
        let mut name = format!("default_{}_{}_{}", version.major, version.minor, version.patch);
        for part in version.pre.split('.').chain(version.build.split('.')).filter(|part| !part.is_empty()) {
            name.push('_');
            name.push_str(part);
        }
        name
    }

    /// How resources refer to it.
    pub fn reference(&self, stack: &StackName) -> String {
        format!("{}::{}", self.urn(stack), self.id)
    }

    fn urn(&self, stack: &StackName) -> String {
        stack.urn_within(&self.parents, &self.token(), &self.name())
    }

    fn to_json(&self, stack: &StackName) -> Json {
        // The YAML host passes the version of the plugin for an explicit provider.
        let version = if self.explicit.is_some() { &self.plugin_version } else { &self.package_version };
        let version = version.to_string();
        let inputs = json!({
            "__internal": {
                "name": self.plugin,
                "parameterization": BASE64.encode(&self.parameter),
                "version": self.plugin_version.to_string(),
            },
            "version": version,
        });
        let mut inputs = inputs;
        let mut outputs = json!({ "version": version });
        for (name, text) in &self.properties {
            inputs[name] = Json::from(text.as_str());
            outputs[name] = Json::from(text.as_str());
        }
        let mut members = json!({
            "urn": self.urn(stack),
            "custom": true,
            "id": self.id,
            "type": self.token(),
            "inputs": inputs,
            "outputs": outputs,
        });
        if self.explicit.is_some() {
            members["parent"] = Json::from(stack.parent(&self.parents));
        }
        members
    }
}

/// A resource of a stack.
#[derive(Clone, Debug)]
pub struct StackResource {
    /// The components that it is in, the outermost first.
    pub parents: Vec<Component>,
    pub token: String,
    pub name: String,
    pub id: String,
    pub inputs: Struct,
    pub outputs: Struct,
    /// URNs.
    pub dependencies: Vec<String>,
    /// As by [`StackProvider::reference`].
    pub provider: String,
    /// Whether it was replaced and is to be deleted.
    pub is_pending_deletion: bool,
    /// Whether the object outlives the resource.
    pub retain_on_delete: bool,
}

impl StackResource {
    fn to_json(&self, stack: &StackName, crypter: Option<&PassphraseCrypter>) -> Json {
        let mut members = Map::new();
        let mut set = |name: &str, value: Json| members.insert(name.to_owned(), value);
        set("urn", stack.urn_within(&self.parents, &self.token, &self.name).into());
        set("custom", true.into());
        if self.is_pending_deletion {
            set("delete", true.into());
        }
        set("id", self.id.as_str().into());
        set("type", self.token.as_str().into());
        set("inputs", bag_to_json(&self.inputs, crypter));
        set("outputs", bag_to_json(&self.outputs, crypter));
        set("parent", stack.parent(&self.parents).into());
        if !self.dependencies.is_empty() {
            set("dependencies", self.dependencies.clone().into());
        }
        set("provider", self.provider.as_str().into());
        if self.retain_on_delete {
            set("retainOnDelete", true.into());
        }
        Json::Object(members)
    }
}

/// The document of a stack. `resources` are in an order in which each comes after its dependencies.
pub fn stack_export(
    stack: &StackName,
    secrets: &SecretsProvider,
    providers: &[StackProvider],
    resources: &[StackResource],
) -> String {
    let root = json!({ "urn": stack.root(), "custom": false, "type": STACK_TYPE });
    let parents = providers.iter().map(|provider| &provider.parents);
    let parents = parents.chain(resources.iter().map(|resource| &resource.parents));
    // An outer component is a prefix of what is in it, so it comes first.
    let components: BTreeSet<&[Component]> =
        parents.flat_map(|parents| (1..=parents.len()).map(|depth| &parents[..depth])).collect();
    let component = |path: &[Component]| {
        let (own, outer) = path.split_last()?;
        let urn = stack.urn_within(outer, &own.token, &own.name);
        Some(json!({ "urn": urn, "custom": false, "type": own.token, "parent": stack.parent(outer) }))
    };
    let all: Vec<Json> = [root]
        .into_iter()
        .chain(components.into_iter().filter_map(component))
        .chain(providers.iter().map(|provider| provider.to_json(stack)))
        .chain(resources.iter().map(|resource| resource.to_json(stack, secrets.crypter())))
        .collect();
    let document = json!({
        "version": VERSION,
        "deployment": {
            "manifest": { "time": NO_TIME, "magic": "", "version": "" },
            "secrets_providers": secrets.to_json(),
            "resources": all,
            "metadata": {},
        },
    });
    let mut text = serde_json::to_string_pretty(&document).expect("JSON has a text");
    text.push('\n');
    text
}

/// A stack export that was read.
#[derive(Debug)]
pub struct ReadExport {
    /// All custom resources except providers.
    pub resources: Vec<ReadResource>,
    /// The providers.
    pub providers: Vec<ReadProvider>,
    /// The URNs of components, which Terraform has no resources for.
    pub components: Vec<String>,
    /// The URNs of resources that are only read (`get` of an SDK): Pulumi does not manage them.
    pub external: Vec<String>,
    /// The stack's outputs.
    pub outputs: Result<Struct, ExportedValueError>,
    /// Operations that were interrupted: URN and kind, such as `creating`.
    pub interrupted: Vec<(String, String)>,
}

/// A provider in a stack export.
#[derive(Debug)]
pub struct ReadProvider {
    /// As resources refer to it.
    pub reference: String,
    /// The name of an explicit provider; `None`: a default provider.
    pub explicit: Option<String>,
    /// The parameter value; `None` if it is not a package of a parameterized plugin.
    pub parameter: Option<Vec<u8>>,
}

/// A resource in a stack export.
#[derive(Debug)]
pub struct ReadResource {
    pub urn: String,
    pub token: String,
    pub id: String,
    pub outputs: Result<Struct, ExportedValueError>,
    pub dependencies: Vec<String>,
    pub provider: String,
    pub is_pending_deletion: bool,
    pub retain_on_delete: bool,
}

/// A document is no stack export.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("it is not a stack export")]
    Syntax(#[source] FileFault),
    #[error("its version is {0}, but only versions {VERSION} to {NEWEST} are known")]
    Version(u64),
}

#[derive(Deserialize)]
struct Document {
    version: u64,
    deployment: Deployment,
}

#[derive(Deserialize)]
struct Deployment {
    #[serde(default)]
    resources: Option<Vec<Resource>>,
    #[serde(default)]
    pending_operations: Option<Vec<PendingOperation>>,
}

#[derive(Deserialize)]
struct PendingOperation {
    resource: PendingResource,
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Deserialize)]
struct PendingResource {
    urn: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    urn: String,
    #[serde(default)]
    custom: bool,
    #[serde(default)]
    delete: bool,
    #[serde(default)]
    external: bool,
    #[serde(default)]
    id: String,
    #[serde(rename = "type")]
    token: String,
    #[serde(default)]
    inputs: Json,
    #[serde(default)]
    outputs: Json,
    #[serde(default)]
    dependencies: Vec<String>,
    #[serde(default)]
    property_dependencies: BTreeMap<String, Option<Vec<String>>>,
    #[serde(default)]
    provider: String,
    #[serde(default)]
    parent: String,
    #[serde(default)]
    retain_on_delete: bool,
}

/// Reads a stack export.
///
/// # Errors
/// If it is none.
pub fn read_export(bytes: &[u8]) -> Result<ReadExport, ExportError> {
    let document: Document =
        serde_json::from_slice(bytes).map_err(|error| ExportError::Syntax(error.into()))?;
    if !(VERSION..=NEWEST).contains(&document.version) {
        return Err(ExportError::Version(document.version));
    }
    let interrupted = document.deployment.pending_operations.unwrap_or_default();
    let mut read = ReadExport {
        resources: Vec::new(),
        providers: Vec::new(),
        components: Vec::new(),
        external: Vec::new(),
        outputs: Ok(Struct::new()),
        interrupted: interrupted.into_iter().map(|pending| (pending.resource.urn, pending.kind)).collect(),
    };
    for resource in document.deployment.resources.unwrap_or_default() {
        if resource.token.starts_with(PROVIDER_TYPE) {
            read.providers.push(provider(&resource));
        } else if !resource.custom {
            if resource.token == STACK_TYPE {
                read.outputs = match resource.outputs {
                    Json::Null => Ok(Struct::new()),
                    outputs => bag_from_json(&outputs),
                };
            } else {
                read.components.push(resource.urn);
            }
        } else if resource.external {
            read.external.push(resource.urn);
        } else {
            let mut dependencies = resource.dependencies;
            dependencies.extend(resource.property_dependencies.into_values().flatten().flatten());
            dependencies.sort_unstable();
            dependencies.dedup();
            read.resources.push(ReadResource {
                outputs: bag_from_json(&resource.outputs),
                urn: resource.urn,
                token: resource.token,
                id: resource.id,
                dependencies,
                provider: resource.provider,
                is_pending_deletion: resource.delete,
                retain_on_delete: resource.retain_on_delete,
            });
        }
    }
    Ok(read)
}

fn provider(resource: &Resource) -> ReadProvider {
    let name = Urn(&resource.urn).name();
    let encoded = resource.inputs["__internal"]["parameterization"].as_str();
    ReadProvider {
        reference: format!("{}::{}", resource.urn, resource.id),
        // Engines give default providers no parent. One of a program may be called `default`, too.
        explicit: Some(name.to_owned())
            .filter(|name| !resource.parent.is_empty() || !name.starts_with("default")),
        parameter: encoded.and_then(|text| BASE64.decode(text).ok()),
    }
}

#[cfg(test)]
mod tests {
    use isthmus_proto::property::Value as Property;

    use super::*;
    use isthmus_translate::property::secret;

    fn stack() -> StackName {
        StackName { project: "shop".to_owned(), stack: "dev".to_owned() }
    }

    fn provider(explicit: Option<&str>, version: &str) -> StackProvider {
        StackProvider {
            package: "random".to_owned(),
            package_version: version.parse().expect("a version"),
            plugin: "terraform-provider",
            plugin_version: semver::Version::new(1, 1, 3),
            parameter: b"{}".to_vec(),
            explicit: explicit.map(str::to_owned),
            parents: Vec::new(),
            id: "u-1".to_owned(),
            properties: BTreeMap::new(),
        }
    }

    fn resource(provider: &StackProvider) -> StackResource {
        StackResource {
            parents: Vec::new(),
            token: "random:index/pet:Pet".to_owned(),
            name: "a".to_owned(),
            id: "able-dog".to_owned(),
            inputs: Struct::new(),
            outputs: Struct::from([("secret", secret(Property::from("s")))]),
            dependencies: vec![stack().urn("t", "b")],
            provider: provider.reference(&stack()),
            is_pending_deletion: true,
            retain_on_delete: true,
        }
    }

    #[test]
    fn a_default_provider_is_named_by_its_version() {
        assert_eq!(provider(None, "3.7.2").name(), "default_3_7_2");
        assert_eq!(provider(None, "3.7.2-beta.1+x").name(), "default_3_7_2_beta_1_x");
        assert_eq!(provider(Some("west"), "3.7.2").name(), "west");
        assert_eq!(
            provider(None, "0.0.0").reference(&stack()),
            "urn:pulumi:dev::shop::pulumi:providers:random::default_0_0_0::u-1"
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let explicit = ["west", "default", "default_1"].map(|name| provider(Some(name), "1.0.0"));
        let providers: Vec<_> = [provider(None, "1.0.0")].into_iter().chain(explicit).collect();
        let text =
            stack_export(&stack(), &SecretsProvider::Cli(Json::Null), &providers, &[resource(&providers[1])]);
        let read = read_export(text.as_bytes()).expect("a stack export");
        let names: Vec<_> = read.providers.iter().map(|provider| provider.explicit.as_deref()).collect();
        assert_eq!(names, [None, Some("west"), Some("default"), Some("default_1")]);
        assert!(read.providers.iter().all(|provider| provider.parameter.as_deref() == Some(b"{}")));
        let [found] = read.resources.as_slice() else { panic!("{:?}", read.resources) };
        let written = resource(&providers[1]);
        assert_eq!(found.urn, stack().urn(&written.token, "a"));
        assert_eq!((&found.id, &found.provider), (&written.id, &written.provider));
        assert_eq!(found.outputs.as_ref(), Ok(&written.outputs));
        assert_eq!(found.dependencies, written.dependencies);
        assert!(found.is_pending_deletion && found.retain_on_delete);
        assert!(read.components.is_empty());
    }

    #[test]
    fn components_come_before_what_is_in_them() {
        let of = |token: &str, name: &str| Component { token: token.to_owned(), name: name.to_owned() };
        let parents = vec![of("components:index:Net", "net"), of("components:index:Sub", "net.sub")];
        let provider = provider(None, "1.0.0");
        let resource = StackResource { parents, name: "net.sub.a".to_owned(), ..resource(&provider) };
        let secrets = SecretsProvider::Cli(Json::Null);
        let text = stack_export(&stack(), &secrets, &[provider], &[resource]);
        let export: Json = serde_json::from_str(&text).expect("JSON");
        let of = |resource: &Json, member: &str| resource[member].as_str().unwrap_or_default().to_owned();
        let all = export["deployment"]["resources"].as_array().expect("resources");
        let found: Vec<(String, String)> =
            all.iter().map(|resource| (of(resource, "urn"), of(resource, "parent"))).collect();
        let urn = |rest: &str| format!("urn:pulumi:dev::shop::{rest}");
        let root = urn("pulumi:pulumi:Stack::shop-dev");
        let net = urn("components:index:Net::net");
        let sub = urn("components:index:Net$components:index:Sub::net.sub");
        let pet = urn("components:index:Net$components:index:Sub$random:index/pet:Pet::net.sub.a");
        let provider = urn("pulumi:providers:random::default_1_0_0");
        let none = String::new;
        let expected =
            [(root.clone(), none()), (net.clone(), root), (sub.clone(), net), (provider, none()), (pet, sub)];
        assert_eq!(found, expected);
        assert_eq!(read_export(text.as_bytes()).expect("a stack export").components.len(), 2);
    }

    #[test]
    fn what_a_stack_has_besides_its_objects_is_read() {
        let text = r#"{"version":4,"deployment":{
            "resources":[
                {"urn":"s","type":"pulumi:pulumi:Stack","outputs":{"name":"able-dog"}},
                {"urn":"e","type":"random:index/pet:Pet","custom":true,"external":true,"id":"x"}
            ],
            "pending_operations":[{"resource":{"urn":"p","type":"t"},"type":"creating"}]
        }}"#;
        let read = read_export(text.as_bytes()).expect("a stack export");
        assert_eq!(read.outputs, Ok(Struct::from([("name", Property::from("able-dog"))])));
        assert_eq!((read.external, read.resources.len()), (vec!["e".to_owned()], 0));
        assert_eq!(read.interrupted, [("p".to_owned(), "creating".to_owned())]);
    }

    #[test]
    fn what_is_no_export_is_refused() {
        for text in [
            "",
            "{}",
            r#"{"version":3}"#,
            r#"{"version":2,"deployment":{"resources":[]}}"#,
            r#"{"version":5,"deployment":{"resources":[]}}"#,
        ] {
            assert!(read_export(text.as_bytes()).is_err(), "{text}");
        }
        let empty = read_export(br#"{"version":3,"deployment":{"manifest":{}}}"#).expect("an empty stack");
        assert!(empty.resources.is_empty());
    }
}
