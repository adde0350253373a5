//! Validation of `--include` and `--exclude`.

use isthmus_provider::schema::Catalogue;

use super::catalogue::Package;
use crate::names::tokens::nearest;

/// Warns of each included or excluded name that the provider does not have, which is probably
/// misspelt, and of an empty package.
pub fn warnings(package: &Package) -> Vec<String> {
    let identity = package.identity();
    let provider = &identity.provider_type;
    let names = names(package.catalogue());
    let lists = [
        ("--include", &identity.parameter.includes),
        ("--exclude or isthmus.toml", &identity.parameter.excludes),
    ];
    let mut warnings = Vec::new();
    for (flag, list) in lists {
        for unknown in list.iter().filter(|name| !names.contains(&name.as_str())) {
            let suggestion = nearest(unknown, names.iter().copied())
                .map_or_else(String::new, |nearest| format!("; did you mean {nearest:?}?"));
            warnings
                .push(format!("the provider {provider} has no {unknown:?}, which {flag} names{suggestion}"));
        }
    }
    let kinds = [
        package.resources(),
        package.data_sources(),
        package.functions(),
        package.ephemeral_resources(),
        package.actions(),
    ];
    let is_empty = kinds.iter().all(|tokens| tokens.is_empty());
    if is_empty && !names.is_empty() {
        warnings.push(format!(
            "the package {} is empty, because --include and --exclude leave nothing of the provider {provider} in it",
            identity.name
        ));
    }
    warnings
}

/// All names that can be included or excluded.
fn names(catalogue: &Catalogue) -> Vec<&str> {
    let resources = catalogue.resource_names().map(AsRef::as_ref);
    let data_sources = catalogue.data_source_names().map(AsRef::as_ref);
    let functions = catalogue.functions().keys().map(AsRef::as_ref);
    let ephemeral_resources = catalogue.ephemeral_resource_names().map(AsRef::as_ref);
    let actions = catalogue.action_names().map(AsRef::as_ref);
    let mut names: Vec<&str> =
        resources.chain(data_sources).chain(functions).chain(ephemeral_resources).chain(actions).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::super::parameters::Parameter;
    use super::super::testing::{local, package_of};
    use super::*;

    fn warnings_about(includes: &[&str], excludes: &[&str]) -> Vec<String> {
        let owned = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        warnings(&package_of(Parameter {
            includes: owned(includes),
            excludes: owned(excludes),
            ..local("./terraform-provider-test")
        }))
    }

    #[test]
    fn names_that_the_provider_has_are_fine() {
        assert_eq!(warnings_about(&[], &[]), [""; 0]);
        assert_eq!(warnings_about(&["test_pet"], &[]), [""; 0]);
        assert_eq!(warnings_about(&[], &["parse_name", "test_pet"]), [""; 0]);
    }

    #[test]
    fn a_misspelt_name_is_told_with_what_was_meant() {
        assert_eq!(
            warnings_about(&["test_pet", "test_pets"], &["parse_nam", "zebra"]),
            [
                "the provider test has no \"test_pets\", which --include names; did you mean \"test_pet\"?",
                "the provider test has no \"parse_nam\", which --exclude or isthmus.toml names; did you mean \"parse_name\"?",
                "the provider test has no \"zebra\", which --exclude or isthmus.toml names",
            ]
        );
    }

    #[test]
    fn a_package_in_which_nothing_is_left_is_told() {
        let warnings = warnings_about(&["zebra"], &[]);
        assert!(warnings[1].starts_with("the package test is empty, because --include"), "{warnings:?}");
    }
}
