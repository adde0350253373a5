//! Warnings of SDKs that contradict the project file.
//!
//! The Pulumi CLI reads `packages` of the project file only when it generates SDKs (`pulumi
//! install`, `pulumi package add`); a program uses the existing SDK. So after a change of
//! `parameters`, `pulumi up` silently uses the old provider. A program in HCL has them in `required_providers`.

use std::collections::BTreeSet;
use std::iter;
use std::path::{Path, PathBuf};

use isthmus_install::{ProviderAddress, VersionConstraint};
use semver::Version;

use super::document::{Named, RequestedPackage, Sdk};
use super::names_file::{FILE, NamesFile, PackageNames};
use super::{Project, read_named};
use isthmus_package::parameters::{Arguments, LOCAL_VERSION, Parameter, ParameterSource, Source};

/// Compares the SDKs among the files of a project with its project files, and returns a warning for
/// each contradiction.
pub fn warnings(directory: &Path, files: &[(PathBuf, Named)]) -> Vec<String> {
    let requested = files.iter().flat_map(|(path, named)| named.packages.iter().map(move |it| (path, it)));
    let mut warnings = Vec::new();
    // Without the names that it chooses, every SDK would seem to contradict it.
    let Ok(file) = NamesFile::around(directory) else { return warnings };
    for (project_file, requested) in requested {
        let sdks = files.iter().filter_map(|(path, named)| named.sdk.as_ref().map(|sdk| (path, sdk)));
        for (path, sdk) in sdks {
            warnings.extend(contradiction(requested, sdk, file.as_ref()).map(|difference| {
                let short = |path: &Path| path.strip_prefix(directory).unwrap_or(path).display().to_string();
                warning(&short(path), &short(project_file), requested, &difference)
            }));
        }
    }
    warnings
}

/// The warning about the SDK of a package, if it is below `sdks` of the project around a directory.
/// A package may come from elsewhere, such as the state of a stack, and has no SDK then. Blocks on
/// the file system.
pub fn warning_of_package(directory: &Path, name: &str, parameter: &Parameter) -> Option<String> {
    let project = Project::around(directory)?;
    let project_file = project.file.clone()?;
    let requested = iter::once(project_file)
        .chain(project.configurations())
        .find_map(|file| requested_package(&file, name).map(|requested| (file, requested)));
    let file = match NamesFile::around(&project.directory) {
        Ok(file) => file,
        Err(error) => return Some(isthmus_common::error_chain(&error)),
    };
    // A package need not be in the project file, but its names may be in the other one.
    let difference = match &requested {
        Some((_, requested)) => difference(requested, parameter, file.as_ref()),
        None => difference_of_names(name, parameter, file.as_ref()),
    }?;
    let sdk = Project::at(&project.directory.join("sdks").join(name)).read(&|_| {}).ok()?;
    let is_its = |sdk: &Sdk| sdk.package.as_ref().is_some_and(|package| package.value == parameter.encode());
    let (path, _) = sdk.files.iter().find(|(_, named)| named.sdk.as_ref().is_some_and(is_its))?;
    let short = |path: &Path| path.strip_prefix(&project.directory).unwrap_or(path).display().to_string();
    Some(match &requested {
        Some((file, requested)) => warning(&short(path), &short(file), requested, &difference),
        None => format!(
            "{sdk} overrides package {name:?} of {FILE}: {difference}\nhelp: generate the SDK anew by `pulumi package add`",
            sdk = short(path)
        ),
    })
}

/// The warning that a package has other names than the SDK which is about to be replaced, so that programs and stacks have to
/// follow. Blocks on the file system.
pub fn change_of_names(directory: &Path, name: &str, parameter: &Parameter) -> Option<String> {
    let project = Project::around(directory)?;
    let contents = Project::at(&project.directory.join("sdks").join(name)).read(&|_| {}).ok()?;
    let mut packages = contents.files.iter().filter_map(|(_, named)| named.sdk.as_ref()?.package.as_ref());
    let replaced = packages.find(|package| package.name == name)?;
    let replaced = Parameter::decode(&replaced.value).ok()?;
    (!replaced.names.has_names_of(&parameter.names)).then(|| {
        format!(
            "the names of package {name:?} change, as {FILE} chooses: programs have to use the new ones\n\
             help: preview each stack before its next update, which stores each resource by the new names and changes nothing else; \
             SDKs have an alias for each resource type with another name"
        )
    })
}

fn warning(sdk: &str, project_file: &str, requested: &RequestedPackage, difference: &str) -> String {
    // The host of HCL takes an SDK that is there.
    let remove = match Path::new(sdk).parent().filter(|_| project_file.ends_with(".tf")) {
        Some(directory) => format!("remove {}, and ", directory.display()),
        None => String::new(),
    };
    format!(
        "{sdk} overrides package {name:?} of {project_file}: {difference}\n\
         help: {remove}run `pulumi install`, which generates the SDK anew from {project_file}",
        name = requested.name,
    )
}

fn requested_package(project_file: &Path, name: &str) -> Option<RequestedPackage> {
    let named = read_named(project_file)?.ok()?;
    named.packages.into_iter().find(|package| package.name == name)
}

/// How an SDK of the package contradicts the project file.
fn contradiction(requested: &RequestedPackage, sdk: &Sdk, file: Option<&NamesFile>) -> Option<String> {
    let package = sdk.package.as_ref().filter(|package| package.name == requested.name)?;
    // Invalid values are reported where they are used.
    difference(requested, &Parameter::decode(&package.value).ok()?, file).or_else(|| {
        match (&sdk.plugin_version, &requested.plugin_version) {
            (Some(generated), Some(wanted)) if generated != wanted => {
                Some(format!("it names version {generated} of the plugin, the project names {wanted}"))
            }
            _ => None,
        }
    })
}

/// How the generated package contradicts its parameters.
fn difference(
    requested: &RequestedPackage,
    generated: &Parameter,
    file: Option<&NamesFile>,
) -> Option<String> {
    let arguments = Arguments::parse(&requested.parameters).ok()?;
    if let Some((generated, wanted)) = other_provider(&arguments.source, &generated.source) {
        return Some(format!("it was generated for {generated}, the parameters ask for {wanted}"));
    }
    let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<String>>();
    let chosen = file.and_then(|file| file.package(&requested.name));
    let mut excludes = sorted(&arguments.excludes);
    excludes.extend(chosen.iter().flat_map(|chosen| chosen.exclude.iter().cloned()));
    let is_same =
        sorted(&arguments.includes) == sorted(&generated.includes) && excludes == sorted(&generated.excludes);
    if !is_same {
        return Some("it was generated with other values of --include or --exclude".to_owned());
    }
    difference_of_names(&requested.name, generated, file)
}

/// How the choices in the generated package contradict those of the file.
fn difference_of_names(name: &str, generated: &Parameter, file: Option<&NamesFile>) -> Option<String> {
    let chosen = file.and_then(|file| file.package(name)).map(PackageNames::choices).unwrap_or_default();
    if !chosen.has_names_of(&generated.names) {
        return Some(format!("it was generated with other names than {FILE} has"));
    }
    (chosen != generated.names)
        .then(|| format!("it was generated with other `plain-results` than {FILE} has"))
}

/// The providers of the SDK and of the project file, if they differ.
fn other_provider(wanted: &Source, generated: &ParameterSource) -> Option<(String, String)> {
    let shown = match generated {
        ParameterSource::Remote { url, version } => {
            let address = ProviderAddress::parse(url).ok()?;
            format!("{} {version}", address.for_display())
        }
        ParameterSource::Local { path } => path.clone(),
    };
    let is_same = match (wanted, generated) {
        (Source::Local(wanted), ParameterSource::Local { path }) => wanted.path == *path,
        (Source::Remote(wanted), ParameterSource::Remote { url, version }) => {
            let address = ProviderAddress::parse(&wanted.name).ok()?;
            let constraint = VersionConstraint::parse(&wanted.version).ok()?;
            // A development override has no version of its own.
            let version_fits = version == LOCAL_VERSION
                || Version::parse(version).is_ok_and(|version| constraint.allows(&version));
            address.to_string() == *url && version_fits
        }
        (Source::Local(_), ParameterSource::Remote { .. })
        | (Source::Remote(_), ParameterSource::Local { .. }) => false,
    };
    let wanted = match wanted {
        Source::Local(local) => local.path.clone(),
        Source::Remote(remote) => format!("{} {}", remote.name, remote.version).trim_end().to_owned(),
    };
    (!is_same).then_some((shown, wanted))
}

#[cfg(test)]
mod tests {
    use super::super::document::GeneratedPackage;
    use super::*;

    const RANDOM: &str = r#"{"remote":{"url":"registry.opentofu.org/hashicorp/random","version":"3.8.0"}}"#;

    fn compare(parameters: &[&str], value: &str) -> Vec<String> {
        let package = RequestedPackage {
            name: "random".to_owned(),
            plugin_version: Some(Version::new(1, 4, 0)),
            parameters: parameters.iter().map(|parameter| (*parameter).to_owned()).collect(),
        };
        let generated = GeneratedPackage { name: "random".to_owned(), value: value.as_bytes().to_vec() };
        let sdk = Sdk { plugin_version: Some(Version::new(1, 4, 0)), package: Some(generated) };
        let files = [
            ("/p/Pulumi.yaml".into(), Named { packages: vec![package], ..Named::default() }),
            ("/p/sdks/random/random-3.8.0.yaml".into(), Named { sdk: Some(sdk), ..Named::default() }),
        ];
        warnings(Path::new("/p"), &files)
    }

    #[test]
    fn an_sdk_of_another_provider_or_version_is_named_with_both() {
        assert_eq!(
            compare(&["hashicorp/random", "~> 3.9"], RANDOM),
            [
                "sdks/random/random-3.8.0.yaml overrides package \"random\" of Pulumi.yaml: it was generated for hashicorp/random \
              3.8.0, the parameters ask for hashicorp/random ~> 3.9\n\
              help: run `pulumi install`, which generates the SDK anew from Pulumi.yaml"
            ]
        );
        for (parameters, value, differs) in [
            (&["acme/random"][..], RANDOM, true),
            (&["./terraform-provider-random"], RANDOM, true),
            (
                &["./terraform-provider-random"],
                r#"{"local":{"path":"./other/terraform-provider-random"}}"#,
                true,
            ),
            (&["hashicorp/random", "--include", "random_pet"], RANDOM, true),
            (&["hashicorp/random"], RANDOM, false),
            (&["random", "3.8.0"], RANDOM, false),
            (&["./terraform-provider-random"], r#"{"local":{"path":"./terraform-provider-random"}}"#, false),
            (
                &["hashicorp/random", "~> 9.0"],
                r#"{"remote":{"url":"registry.opentofu.org/hashicorp/random","version":"0.0.0"}}"#,
                false,
            ),
            // Reported by the parser.
            (&[], RANDOM, false),
            (&["hashicorp/random", "x"], RANDOM, false),
            (&["hashicorp/random"], "{", false),
        ] {
            let found = compare(parameters, value);
            assert_eq!(!found.is_empty(), differs, "{parameters:?} {value}: {found:?}");
        }
    }
}
