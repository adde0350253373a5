//! Parsing of project files and SDKs that name the plugin.
//!
//! A project file lists packages below `packages`, each with a source, the version of the plugin
//! and its parameters. A generated SDK names the plugin that it was generated with and contains the
//! parameter value: in `pulumi-plugin.json` (Python, Go, .NET), in `plugin.json` (Java), in the
//! field `pulumi` of `package.json` (Node.js), in `hcl.sdk.json` (HCL, whose members are capitalised), or
//! in a YAML file of its own (YAML). A program in HCL has its packages in `required_providers` of
//! `.tf` files, and its host may be told a version of the plugin in the project file.

use std::collections::BTreeSet;

use base64::Engine as _;
use semver::Version;
use serde_json::Value;

use isthmus_common::file_fault::FileFault;

/// The plugin's name in these files.
pub const PLUGIN: &str = "terraform-provider";

/// The files that may name the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// The file of a project, or of a component plugin within one.
    Project,
    /// `pulumi-plugin.json`, `plugin.json`
    Manifest,
    /// `hcl.sdk.json`, a name that nothing else has.
    HclSdk,
    /// `package.json`
    NodePackage,
    /// A YAML file: perhaps a package declaration.
    Declaration,
    /// A `.tf` file, which is a program if the project's runtime is HCL.
    Configuration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Yaml,
}

/// The contents of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Packages of the plugin that the project requests.
    pub packages: Vec<RequestedPackage>,
    /// The SDK that the file belongs to.
    pub sdk: Option<Sdk>,
    /// The version of the plugin that a project in HCL chooses for its host.
    pub host_version: Option<Version>,
}

/// A package of the plugin in a project file.
#[derive(Debug, PartialEq, Eq)]
pub struct RequestedPackage {
    /// The package's name in the project.
    pub name: String,
    pub plugin_version: Option<Version>,
    /// The arguments of `pulumi package add`.
    pub parameters: Vec<String>,
}

/// A generated SDK of the plugin.
#[derive(Debug, PartialEq, Eq)]
pub struct Sdk {
    pub plugin_version: Option<Version>,
    /// The generated package, if it is parameterized.
    pub package: Option<GeneratedPackage>,
}

/// The package of an SDK.
#[derive(Debug, PartialEq, Eq)]
pub struct GeneratedPackage {
    pub name: String,
    /// The parameter value, for Parameterize.
    pub value: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error("not a JSON document")]
    Json(#[source] FileFault),
    #[error("not a YAML document")]
    Yaml(#[source] FileFault),
    #[error("not HCL")]
    Hcl(#[source] FileFault),
    #[error("not a JSON object")]
    NoObject,
    #[error("`packages` is not a mapping of names to packages")]
    Packages,
    #[error(
        "the option terraformProviderVersion of the runtime is not a semantic version in quotes, such as \"1.4.0\""
    )]
    HostVersion,
    #[error("the version of package {package:?} is not a semantic version in quotes, such as \"1.4.0\"")]
    Version {
        /// The package's name in the project.
        package: String,
    },
}

impl FileKind {
    /// The kind of a file by its name, if it is relevant.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "pulumi-plugin.json" | "plugin.json" => Self::Manifest,
            "hcl.sdk.json" => Self::HclSdk,
            "package.json" => Self::NodePackage,
            "Pulumi.json" | "Pulumi.yaml" | "Pulumi.yml" | "PulumiPlugin.json" | "PulumiPlugin.yaml"
            | "PulumiPlugin.yml" => Self::Project,
            _ if name.ends_with(".yaml") => Self::Declaration,
            _ if name.ends_with(".tf") => Self::Configuration,
            _ => return None,
        })
    }
}

impl Named {
    /// Parses a file of this kind and name.
    ///
    /// # Errors
    /// If it has a syntax error, or an invalid plugin version. Well-formed files with other
    /// contents yield nothing.
    pub fn parse(kind: FileKind, name: &str, text: &str) -> Result<Self, DocumentError> {
        if kind == FileKind::Configuration {
            return Ok(Self { packages: required_providers(text)?, ..Self::default() });
        }
        // Most files do not mention the plugin and need no parsing. Syntax errors of files that can be
        // Pulumi's only are reported.
        let is_parsed = match kind {
            FileKind::HclSdk => true,
            FileKind::Project => !text.trim().is_empty(),
            _ => text.contains(PLUGIN),
        };
        if !is_parsed {
            return Ok(Self::default());
        }
        let document = parse(name, text)?;
        let sdk = |document: &Value| Self { sdk: sdk(document), ..Self::default() };
        Ok(match kind {
            FileKind::Project => {
                let version = &document["runtime"]["options"]["terraformProviderVersion"];
                let host_version = match version {
                    Value::Null => None,
                    // Without quotes, 1.1 is a number.
                    version => {
                        let version = version.as_str().and_then(|version| parse_version(version).ok());
                        Some(version.ok_or(DocumentError::HostVersion)?)
                    }
                };
                Self { packages: packages(&document["packages"])?, host_version, ..Self::default() }
            }
            FileKind::HclSdk if !document.is_object() => return Err(DocumentError::NoObject),
            FileKind::Manifest | FileKind::HclSdk => sdk(&document),
            FileKind::NodePackage => sdk(&document["pulumi"]),
            FileKind::Declaration if document["packageDeclarationVersion"] == 1 => sdk(&document),
            FileKind::Declaration | FileKind::Configuration => Self::default(),
        })
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// All versions of the plugin.
    pub fn versions(&self) -> BTreeSet<Version> {
        let requested = self.packages.iter().filter_map(|package| package.plugin_version.clone());
        let generated = self.sdk.iter().filter_map(|sdk| sdk.plugin_version.clone());
        requested.chain(generated).chain(self.host_version.clone()).collect()
    }
}

/// The runtime in a project file of this name: `runtime: NAME`, or a mapping with `name`.
pub(super) fn runtime(name: &str, text: &str) -> Option<String> {
    let document = parse(name, text).ok()?;
    let runtime = &document["runtime"];
    runtime.as_str().or_else(|| runtime["name"].as_str()).map(str::to_owned)
}

/// The member that a project file of this name must have, and has not; `None` if it cannot be read, which is another fault.
pub(super) fn missing_member(name: &str, text: &str) -> Option<&'static str> {
    let document = parse(name, text).ok()?;
    ["name", "runtime"].into_iter().find(|member| document[*member].is_null())
}

/// The backend in a project file of this name: `backend`, with `url`.
pub(super) fn backend_url(name: &str, text: &str) -> Option<String> {
    let url = parse(name, text).ok()?["backend"]["url"].as_str()?.to_owned();
    (!url.is_empty()).then_some(url)
}

/// The directory of the plugin, if `plugins` in a project file of this name has one, with the version that it is for.
pub(super) fn plugin_directory(name: &str, text: &str) -> Option<(String, Option<String>)> {
    let document = parse(name, text).ok()?;
    let providers = document["plugins"]["providers"].as_array()?;
    let plugin = providers.iter().find(|plugin| plugin["name"] == PLUGIN)?;
    Some((plugin["path"].as_str()?.to_owned(), plugin["version"].as_str().map(str::to_owned)))
}

fn parse(name: &str, text: &str) -> Result<Value, DocumentError> {
    let format = if name.ends_with(".json") { Format::Json } else { Format::Yaml };
    match format {
        Format::Json => serde_json::from_str(text).map_err(|error| DocumentError::Json(error.into())),
        // The parser limits depth, size and alias expansion.
        Format::Yaml => serde_saphyr::from_str(text).map_err(|error| DocumentError::Yaml(error.into())),
    }
}

/// `NAME: terraform-provider@1.4.0`, or a mapping with `source`, `version` and `parameters`.
fn packages(packages: &Value) -> Result<Vec<RequestedPackage>, DocumentError> {
    if !packages.is_null() && !packages.is_object() {
        return Err(DocumentError::Packages);
    }
    let mut requested = Vec::new();
    for (name, package) in packages.as_object().into_iter().flatten() {
        let (source, version, parameters) = match package {
            Value::String(short) => {
                let (source, version) = short.split_once('@').unwrap_or((short, ""));
                (source, Value::from(version), Vec::new())
            }
            package => {
                let source = package["source"].as_str().unwrap_or_default();
                let parameters = package["parameters"].as_array().into_iter().flatten();
                let parameters = parameters.filter_map(|parameter| parameter.as_str().map(str::to_owned));
                (source, package["version"].clone(), parameters.collect())
            }
        };
        if source != PLUGIN {
            continue;
        }
        let fault = || DocumentError::Version { package: name.clone() };
        let plugin_version = match &version {
            Value::Null => None,
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(parse_tolerantly(text).map_err(|_| fault())?),
            // Without quotes, 1.1 is a number.
            _ => return Err(fault()),
        };
        requested.push(RequestedPackage { name: name.clone(), plugin_version, parameters });
    }
    Ok(requested)
}

/// The providers that HCL's host asks the plugin for, each with the package's name there: the last part of the source.
fn required_providers(text: &str) -> Result<Vec<RequestedPackage>, DocumentError> {
    if !text.contains("required_providers") {
        return Ok(Vec::new());
    }
    let body = hcl_edit::parser::parse_body(text).map_err(|error| DocumentError::Hcl(error.into()))?;
    let settings = body.blocks().filter(|block| block.ident.as_str() == "terraform");
    let required = settings.flat_map(|block| block.body.blocks());
    let required = required.filter(|block| block.ident.as_str() == "required_providers");
    let requested = required.flat_map(|block| block.body.attributes()).filter_map(|provider| {
        let member = |name: &str| {
            let mut members = provider.value.as_object()?.iter();
            let (_, value) =
                members.find(|(key, _)| key.as_ident().is_some_and(|key| key.as_str() == name))?;
            value.expr().as_str().map(str::to_owned)
        };
        let source = member("source").unwrap_or_else(|| format!("hashicorp/{}", provider.key.as_str()));
        let name = source.rsplit('/').next()?.to_owned();
        // Those of Pulumi are packages of other plugins.
        let is_ours = !source.starts_with("pulumi/");
        let parameters = [source].into_iter().chain(member("version")).collect();
        is_ours.then_some(RequestedPackage { name, plugin_version: None, parameters })
    });
    Ok(requested.collect())
}

fn sdk(plugin: &Value) -> Option<Sdk> {
    let member = |of: &Value, name: &str, capitalised: &str| {
        of.get(name).or_else(|| of.get(capitalised)).cloned().unwrap_or_default()
    };
    let text = |value: Value| value.as_str().map(str::to_owned);
    if member(plugin, "name", "Name") != PLUGIN {
        return None;
    }
    let generated = member(plugin, "parameterization", "Parameterization");
    let value = text(member(&generated, "value", "Value"))
        .and_then(|value| base64::engine::general_purpose::STANDARD.decode(value).ok());
    let name = text(member(&generated, "name", "Name"));
    let package = name.zip(value).map(|(name, value)| GeneratedPackage { name, value });
    let version = member(plugin, "version", "Version");
    let plugin_version = version.as_str().and_then(|version| parse_version(version).ok());
    Some(Sdk { plugin_version, package })
}

/// Parses a version of the plugin, with or without the `v` of Git tags.
///
/// # Errors
/// If it is not a semantic version.
pub fn parse_version(text: &str) -> Result<Version, semver::Error> {
    Version::parse(text.strip_prefix('v').unwrap_or(text))
}

/// Parses a version in a project file as tolerantly as the Pulumi CLI: missing parts are 0.
fn parse_tolerantly(text: &str) -> Result<Version, semver::Error> {
    let text = text.trim();
    let parts = text.strip_prefix('v').unwrap_or(text).split('.').count();
    let is_short = parts < 3 && !text.contains(['-', '+']);
    parse_version(&if is_short { text.to_owned() + &".0".repeat(3 - parts) } else { text.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(name: &str, text: &str) -> Named {
        let kind = FileKind::of(name).unwrap_or_else(|| panic!("{name} is of no kind"));
        Named::parse(kind, name, text).unwrap_or_else(|error| panic!("{name}: {error:?}\n{text}"))
    }

    fn versions(name: &str, text: &str) -> Vec<String> {
        named(name, text).versions().iter().map(Version::to_string).collect()
    }

    #[test]
    fn a_project_file_names_its_runtime() {
        for (name, text, expected) in [
            ("Pulumi.yaml", "name: p\nruntime: nodejs\n", Some("nodejs")),
            ("Pulumi.yaml", "name: p\nruntime:\n  name: go\n  options: {}\n", Some("go")),
            ("Pulumi.json", r#"{"runtime": "python"}"#, Some("python")),
            ("Pulumi.yaml", "name: p\n", None),
            ("Pulumi.yaml", "", None),
            ("Pulumi.yaml", "runtime: [\n", None),
        ] {
            assert_eq!(runtime(name, text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn sdks_of_all_languages_name_the_plugin_and_what_they_were_generated_for() {
        let plugin = |version: &str| {
            json!({
                "resource": true, "name": "terraform-provider", "version": version,
                "parameterization": {"name": "random", "version": "3.7.2", "value": "e30="},
            })
        };
        let declaration = "packageDeclarationVersion: 1\nname: terraform-provider\nversion: 1.0.0\nparameterization:\n  name: \
                           random\n  version: 3.7.2\n  value: e30=\n";
        for (name, text) in [
            ("pulumi-plugin.json", plugin("1.0.0").to_string()),
            ("plugin.json", plugin("v1.0.0").to_string()),
            ("package.json", json!({"version": "9.9.9", "pulumi": plugin("1.0.0")}).to_string()),
            ("random-3.7.2.yaml", declaration.to_owned()),
        ] {
            let sdk = named(name, &text).sdk.unwrap_or_else(|| panic!("{name} names nothing"));
            assert_eq!(sdk.plugin_version, Some(Version::new(1, 0, 0)), "{name}");
            let package = GeneratedPackage { name: "random".to_owned(), value: b"{}".to_vec() };
            assert_eq!(sdk.package, Some(package), "{name}");
        }
    }

    #[test]
    fn programs_in_hcl_name_their_providers() {
        let text = "terraform {\n  required_version = \">= 1.0\"\n  required_providers {\n    pets = {\n      source  = \"hashicorp/random\"\n      \
                    version = \"~> 3.8\"\n    }\n    tls = {}\n    aws = { source = \"pulumi/aws\" }\n  }\n}\n\nresource \"random_pet\" \"a\" {}\n";
        let package = |name: &str, parameters: &[&str]| RequestedPackage {
            name: name.to_owned(),
            plugin_version: None,
            parameters: parameters.iter().map(|&parameter| parameter.to_owned()).collect(),
        };
        let expected =
            [package("random", &["hashicorp/random", "~> 3.8"]), package("tls", &["hashicorp/tls"])];
        assert_eq!(named("main.tf", text).packages, expected);
        let project = "name: p\nruntime:\n  name: hcl\n  options: { terraformProviderVersion: 1.2.0 }\npackages:\n  tls: terraform-provider\n";
        assert_eq!(versions("Pulumi.yaml", project), ["1.2.0"]);
    }

    #[test]
    fn packages_are_read_in_every_form_that_yaml_and_json_have() {
        let parameters = ["hashicorp/random", "~> 3.8"];
        for (name, text) in [
            (
                "Pulumi.yaml",
                "packages:\n  random: { source: terraform-provider, version: 1.4.0, parameters: [hashicorp/random, ~> 3.8] }\n",
            ),
            (
                "Pulumi.yaml",
                "name: x\nversion: 9.9.9\npackages:\n  random:\n    source: terraform-provider # the plugin\n    version: '1.4.0'\n    \
                 parameters:\n    - hashicorp/random\n    - \"~> 3.8\"\n  aws:\n    source: aws\n    version: 9.9.9\n",
            ),
            (
                "Pulumi.yml",
                "packages: {\n random: {parameters: [\n hashicorp/random, '~> 3.8'], version: v1.4.0,\n source: \"terraform-provider\"}\n}\n",
            ),
            (
                "PulumiPlugin.yaml",
                "base: &base\n  source: terraform-provider\n  version: 1.4.0\npackages:\n  random:\n    <<: *base\n    parameters:\n      - \
                 hashicorp/random\n      - >-\n        ~> 3.8\n",
            ),
            (
                "Pulumi.json",
                r#"{"packages": {"random": {"source": "terraform-provider", "version": "1.4.0", "parameters": ["hashicorp/random", "~> 3.8"]}}}"#,
            ),
        ] {
            let package = RequestedPackage {
                name: "random".to_owned(),
                plugin_version: Some(Version::new(1, 4, 0)),
                parameters: parameters.map(str::to_owned).to_vec(),
            };
            assert_eq!(named(name, text).packages, [package], "{name}\n{text}");
        }
        assert_eq!(versions("Pulumi.yaml", "packages:\n  tls: terraform-provider@0.6.0\n"), ["0.6.0"]);
        assert_eq!(versions("Pulumi.yaml", "packages:\n  tls: terraform-provider\n"), [""; 0]);
    }

    #[test]
    fn files_of_other_plugins_and_of_other_purpose_name_nothing() {
        for (name, text) in [
            ("pulumi-plugin.json", json!({"name": "aws", "version": "9.9.9"}).to_string()),
            ("package.json", json!({"name": "terraform-provider", "version": "9.9.9"}).to_string()),
            ("package.json", json!(["terraform-provider"]).to_string()),
            ("list.yaml", "- name: terraform-provider\n- name: x\n  version: 9.9.9\n".to_owned()),
            ("chart.yaml", "name: terraform-provider\nversion: 9.9.9\n".to_owned()),
            ("Pulumi.yaml", "description: terraform-provider\npackages:\n".to_owned()),
        ] {
            assert!(named(name, &text).is_empty(), "{name}\n{text}");
        }
        assert_eq!(FileKind::of("main.py"), None);
        assert_eq!(FileKind::of("Pulumi.dev.yaml"), Some(FileKind::Declaration));
    }

    #[test]
    fn a_version_of_the_plugin_that_is_none_is_refused_with_its_package() {
        for package in [
            "{ source: terraform-provider, version: 1.1 }",
            "{ source: terraform-provider, version: latest }",
            "{ source: terraform-provider, version: [1.4.0] }",
            "terraform-provider@1.x",
        ] {
            let text = format!("packages:\n  random: {package}\n");
            let error = Named::parse(FileKind::Project, "Pulumi.yaml", &text).expect_err(package);
            let shown = isthmus_common::error_chain(&error);
            assert_eq!(
                shown,
                "the version of package \"random\" is not a semantic version in quotes, such as \"1.4.0\""
            );
        }
        assert_eq!(versions("Pulumi.yaml", "packages: { a: terraform-provider@v1.1 }"), ["1.1.0"]);
        for text in
            ["", "\n", "# nothing\n", "packages: { a: { source: a, version: 1.1 } }\n", "runtime: yaml\n"]
        {
            assert!(named("Pulumi.yaml", text).is_empty(), "{text}");
        }
        Named::parse(FileKind::Project, "Pulumi.yaml", "packages: [\n").expect_err("it is no YAML");
    }

    #[test]
    fn a_file_that_expands_without_end_or_is_too_deep_is_refused() {
        let mut laughs = "terraform-provider: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let items = vec![format!("*a{}", level - 1); 10].join(", ");
            laughs.push_str(&format!("b{level}: &a{level} [{items}]\n"));
        }
        for text in [laughs, format!("terraform-provider: {}", "[".repeat(100_000))] {
            let error = Named::parse(FileKind::Project, "Pulumi.yaml", &text).expect_err("it is refused");
            assert!(matches!(error, DocumentError::Yaml(_)), "{error:?}");
        }
    }

    #[test]
    fn a_fault_is_shown_without_the_lines_of_the_file() {
        let text = "packages: terraform-provider\nconfig:\n  password: hunter2\n  password: hunter2\n}\n";
        let error = Named::parse(FileKind::Project, "Pulumi.yaml", text).expect_err("it is no YAML");
        let shown = isthmus_common::error_chain(&error);
        assert!(shown.starts_with("not a YAML document: ") && shown.contains("line"), "{shown}");
        assert!(!shown.contains("hunter2") && !shown.contains('\n'), "{shown}");
    }
}
