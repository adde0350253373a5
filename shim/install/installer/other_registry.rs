//! The provider of the same name in the other public registry: mirrors made by OpenTofu and
//! Terraform have the same directories with different hosts.

use super::error::InstallError;
use super::origins::Origins;
use crate::failure::FailureClass;
use crate::{DEFAULT_HOST, ProviderAddress, ProviderCache, VersionConstraint};

/// Terraform's registry. OpenTofu's is the default here.
const TERRAFORM_HOST: &str = "registry.terraform.io";

/// Adds the mirror that has the provider of the same name from the other public registry to the
/// error, in a matching version.
pub(super) async fn named_beside(
    error: Box<InstallError>,
    origins: &Origins,
    cache: &ProviderCache,
    address: &ProviderAddress,
    constraint: &VersionConstraint,
) -> Box<InstallError> {
    let (Some(other), Ok(origins)) = (in_other_registry(address), origins.of(address)) else {
        return error;
    };
    let is_reachable = match error.class() {
        FailureClass::Absent => true,
        FailureClass::Unreachable => false,
        FailureClass::Refused => return error,
    };
    for origin in origins.iter().filter(|origin| origin.is_mirror(is_reachable)) {
        let listing = origin.versions(cache, &other, false).await.unwrap_or_default();
        if listing.versions.iter().any(|listed| constraint.allows(&listed.version)) {
            let mirror = origin.to_string();
            return Box::new(InstallError::OtherRegistry { error, mirror, address: other });
        }
    }
    error
}

/// The address of the provider of the same name in the other public registry.
fn in_other_registry(address: &ProviderAddress) -> Option<ProviderAddress> {
    let host = match address.host() {
        DEFAULT_HOST => TERRAFORM_HOST,
        TERRAFORM_HOST => DEFAULT_HOST,
        _ => return None,
    };
    ProviderAddress::parse(&format!("{host}/{}/{}", address.namespace(), address.provider_type())).ok()
}
