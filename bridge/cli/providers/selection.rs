//! Selection of providers by argument: `[HOST/][NAMESPACE/]TYPE[@VERSION]`.

use isthmus_install::{CachedPackage, Inventory, ProviderAddress, ProviderCache};
use semver::Version;

use super::error::ProvidersError;
use isthmus_package::names::tokens::nearest;

/// A provider, or one version of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) address: ProviderAddress,
    pub(super) version: Option<Version>,
}

impl Selection {
    pub(super) fn parse(text: &str) -> Result<Self, ProvidersError> {
        let (address, version) = match text.split_once('@') {
            Some((address, version)) => {
                let version = Version::parse(version.strip_prefix('v').unwrap_or(version));
                (address, Some(version.map_err(|_| ProvidersError::Version(text.to_owned()))?))
            }
            None => (text, None),
        };
        Ok(Self { address: ProviderAddress::parse(address)?, version })
    }

    pub(super) fn has(&self, package: &CachedPackage) -> bool {
        self.address == package.address
            && self.version.as_ref().is_none_or(|version| *version == package.version)
    }
}

/// Parses the arguments, each of which must match a package.
pub(super) fn parse_all(
    arguments: &[String],
    cache: &ProviderCache,
    inventory: &Inventory,
) -> Result<Vec<Selection>, ProvidersError> {
    let parse = |argument: &String| {
        Selection::parse(argument).map_err(|error| match Version::parse(argument) {
            Ok(version) => ProvidersError::LoneVersion(version),
            Err(_) => error,
        })
    };
    let selections: Vec<Selection> = arguments.iter().map(parse).collect::<Result<_, _>>()?;
    for (selection, argument) in selections.iter().zip(arguments) {
        if !inventory.packages.iter().any(|package| selection.has(package)) {
            let is_absent = !inventory.packages.iter().any(|package| package.address == selection.address);
            let packages = inventory.packages.iter().filter(|_| is_absent);
            let names: Vec<String> = packages.map(|package| package.address.for_display()).collect();
            let similar = nearest(&selection.address.for_display(), names.iter().map(String::as_str));
            return Err(ProvidersError::Absent {
                provider: argument.clone(),
                similar: similar.map(str::to_owned),
                path: cache.root().to_owned(),
            });
        }
    }
    Ok(selections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_may_name_a_version() {
        let parse = |text| {
            Selection::parse(text).map(|selection| (selection.address.for_display(), selection.version))
        };
        assert_eq!(parse("random").expect("an address"), ("hashicorp/random".to_owned(), None));
        let one = ("example.com:8443/a/b".to_owned(), Some(Version::new(1, 2, 3)));
        assert_eq!(parse("example.com:8443/a/b@v1.2.3").expect("an address"), one);
        assert!(parse("random@latest").expect_err("no version").to_string().contains("has no version"));
        assert!(
            parse("a/b/c/d").expect_err("no address").to_string().contains("is not a provider's address")
        );
    }
}
