//! The files of a migrated project.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine as _;
use isthmus_state::ObjectAddress;

use super::adopted::{Adopted, place};
use super::carried::Carried;
use crate::cli::migrate::files::OutputFile;
use crate::cli::migrate::losses::Losses;
use isthmus_migrate::addresses::Addresses;
use isthmus_migrate::dependencies::dependencies;
use isthmus_migrate::deployment::{StackName, StackProvider, StackResource, stack_export};
use isthmus_migrate::program::{
    ConfiguredSecret, ExplicitProvider, PackageReference, Program, ProgramResource, Written,
};
use isthmus_migrate::secrets_provider::{PassphraseCrypter, SecretsProvider};
use isthmus_migrate::yaml::key;

/// The stack export in the output directory.
const STACK_FILE: &str = "stack.json";
/// The addresses, for the way back.
const ADDRESSES_FILE: &str = "addresses.json";
/// The directory of secrets, each in a file with the name of its configuration key.
const SECRETS: &str = "secrets";

/// The files of a project.
pub(super) struct ProjectFiles {
    pub(super) files: Vec<OutputFile>,
    /// The number of files with secrets of the program.
    pub(super) secrets: usize,
}

/// The files for these resources.
pub(super) fn project_files(
    stack: &StackName,
    secrets_provider: &SecretsProvider,
    resources: &[Adopted],
    providers: &[(StackProvider, PackageReference)],
    mut carried: Option<Carried>,
    losses: &mut Losses,
) -> ProjectFiles {
    let names: Vec<(&ObjectAddress, &[String])> =
        resources.iter().map(|resource| (&resource.address, resource.dependencies.as_slice())).collect();
    let found = dependencies(&names);
    for omitted in &found.omitted {
        losses.add(place(&resources[omitted.instance].address), omitted.why.to_string());
    }
    let mut exported = Vec::with_capacity(resources.len());
    let mut pending = Vec::new();
    let mut addresses = Addresses::default();
    let mut program = Program { project: stack.project.clone(), ..Program::default() };
    if let Some(carried) = &mut carried {
        program.outputs = std::mem::take(&mut carried.outputs);
    }
    for position in &found.order {
        let Adopted {
            address,
            parents,
            name,
            token,
            found: object,
            inputs,
            ignore_changes,
            provider,
            retain_on_delete,
            ..
        } = &resources[*position];
        let on = || found.of[*position].iter().map(|other| &resources[*other]);
        let is_pending_deletion = address.deposed.is_some();
        let resource = StackResource {
            parents: parents.clone(),
            token: token.clone(),
            name: name.name.clone(),
            id: object.id.clone(),
            inputs: object.inputs.clone(),
            outputs: object.properties.clone(),
            dependencies: on()
                .map(|other| stack.urn_within(&other.parents, &other.token, &other.name.name))
                .collect(),
            provider: providers[*provider].0.reference(stack),
            is_pending_deletion,
            retain_on_delete: *retain_on_delete,
        };
        if is_pending_deletion {
            pending.push(resource);
            continue;
        }
        exported.push(resource);
        addresses.insert(token, &name.name, address.clone());
        let Some(carried) = &mut carried else { continue };
        let (references, implied) = carried.references.remove(position).unwrap_or_default();
        let explicit = found.of[*position].iter().filter(|other| !implied.contains(other));
        program.resources.push(ProgramResource {
            references,
            key: name.key.clone(),
            name: name.name.clone(),
            token: token.clone(),
            inputs: inputs.clone(),
            ignore_changes: ignore_changes.clone(),
            depends_on: explicit.map(|other| resources[*other].name.key.clone()).collect(),
            provider: providers[*provider].0.explicit.clone(),
            retain_on_delete: *retain_on_delete,
        });
    }
    // What an engine deletes comes after all that it keeps.
    exported.append(&mut pending);
    let mut packages = BTreeMap::new();
    for (provider, reference) in providers {
        if let Some(name) = &provider.explicit {
            program.providers.push(ExplicitProvider {
                key: name.clone(),
                token: provider.token(),
                properties: provider.properties.clone(),
            });
        }
        packages.insert(provider.package.clone(), (provider, reference));
    }
    program.packages = packages
        .values()
        .map(|(_, reference)| PackageReference {
            name: reference.name.clone(),
            plugin: reference.plugin,
            plugin_version: reference.plugin_version.clone(),
            parameters: reference.parameters.clone(),
        })
        .collect();
    let is_hcl = carried.is_none();
    let Written { yaml, secrets, inexpressible } = match is_hcl {
        false => program.write(),
        true => Written { yaml: hcl_project(&stack.project), ..Written::default() },
    };
    for (key, why) in inexpressible {
        losses.add(format!("the property of {key} in the program"), why.to_string());
    }
    let exported_providers: Vec<StackProvider> =
        providers.iter().map(|(provider, _)| provider.clone()).collect();
    let mut files = vec![
        OutputFile::shared("Pulumi.yaml", yaml),
        OutputFile::private(
            STACK_FILE,
            stack_export(stack, secrets_provider, &exported_providers, &exported),
        ),
        OutputFile::shared(ADDRESSES_FILE, addresses.write()),
    ];
    if !is_hcl {
        files.extend(packages.values().map(|(provider, _)| declaration(provider)));
    }
    let Some(crypter) = secrets_provider.crypter() else {
        let count = secrets.len();
        let file = |secret: ConfiguredSecret| {
            OutputFile::private(PathBuf::from(SECRETS).join(&secret.key), secret.value)
        };
        files.extend(secrets.into_iter().map(file));
        return ProjectFiles { files, secrets: count };
    };
    files.push(OutputFile::shared(settings_file(stack), stack_settings(stack, crypter, &secrets)));
    ProjectFiles { files, secrets: 0 }
}

/// The project file of a configuration in HCL. Its `required_providers` name the packages.
fn hcl_project(project: &str) -> String {
    format!("name: {}\nruntime: hcl\n", key(project))
}

/// The file of the settings of a stack.
pub(super) fn settings_file(stack: &StackName) -> String {
    format!("Pulumi.{}.yaml", stack.stack)
}

/// The settings of a stack that has a passphrase.
fn stack_settings(stack: &StackName, crypter: &PassphraseCrypter, secrets: &[ConfiguredSecret]) -> String {
    let mut text = format!("encryptionsalt: {}\n", crypter.salt());
    if !secrets.is_empty() {
        text.push_str("config:\n");
    }
    for secret in secrets {
        let value = crypter.encrypt(&secret.value);
        text.push_str(&format!("  {}:{}:\n    secure: {value}\n", stack.project, secret.key));
    }
    text
}

/// The declaration of a package: what `pulumi package add` writes for a YAML program.
fn declaration(provider: &StackProvider) -> OutputFile {
    let StackProvider { package, package_version, plugin, plugin_version, parameter, .. } = provider;
    let parameter = base64::engine::general_purpose::STANDARD.encode(parameter);
    let text = format!(
        "packageDeclarationVersion: 1\nname: {plugin}\nversion: {plugin_version}\nparameterization:\n  name: {}\n  \
         version: {package_version}\n  value: {parameter}\n",
        key(package)
    );
    OutputFile::shared(format!("sdks/{package}/{package}-{package_version}.yaml"), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_is_called_null_is_declared_by_its_name() {
        let provider = StackProvider {
            package: "null".to_owned(),
            package_version: semver::Version::new(3, 2, 4),
            plugin: "terraform-provider",
            plugin_version: semver::Version::new(1, 1, 3),
            parameter: b"{}".to_vec(),
            explicit: None,
            parents: Vec::new(),
            id: String::new(),
            properties: BTreeMap::new(),
        };
        let file = declaration(&provider);
        assert_eq!(file.path, PathBuf::from("sdks/null/null-3.2.4.yaml"));
        let text = String::from_utf8(file.bytes).expect("a text");
        assert!(text.contains("parameterization:\n  name: \"null\"\n"), "{text}");
    }
}
