//! The legacy engine (`lumi`, 2017): its service, its plugin, and the state that it cannot store.
//!
//! That engine loads one plugin per package. Of a resource it stores the id, inputs and outputs,
//! but no Terraform state. So the state store holds what a provider returns, and each call looks
//! its prior state up there; the operations themselves are those of [`isthmus_operations::resource`].

mod name;
mod service;
pub mod stored_resource;
mod work;

/// Prefix of a legacy plugin's name; the package follows.
pub const PLUGIN_PREFIX: &str = "lumi-resource-";

use std::path::Path;

use isthmus_install::ProviderAddress;

pub(crate) use service::LumiService;

use isthmus_package::catalogue::Identity;
use isthmus_package::parameters::{LOCAL_VERSION, Parameter, ParameterSource, local_provider_type};

/// The identity of a package. Its provider has an address, or else the type in its file name, or else
/// the package's name for a type.
pub fn identity(package: &str, address: Option<&ProviderAddress>, executable: &Path) -> Identity {
    let version =
        semver::Version::parse(LOCAL_VERSION).expect("the version of local providers is a semantic one");
    let (provider_type, source) = match address {
        Some(address) => {
            let (url, version) = (address.to_string(), LOCAL_VERSION.to_owned());
            (address.provider_type().to_owned(), ParameterSource::Remote { url, version })
        }
        None => {
            let path = executable.to_string_lossy().into_owned();
            (type_in_file_name(executable).unwrap_or(package).to_owned(), ParameterSource::Local { path })
        }
    };
    Identity { name: package.to_owned(), provider_type, version, parameter: Parameter::new(source) }
}

/// The type in a provider's file name. Those of released providers have a version too; types contain
/// neither character.
pub fn type_in_file_name(executable: &Path) -> Option<&str> {
    let file_type = local_provider_type(executable.file_name()?.to_str()?).ok()?;
    file_type.split(['_', '.']).next().filter(|file_type| !file_type.is_empty())
}
