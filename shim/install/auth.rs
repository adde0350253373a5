//! Credentials of registries, mirrors and OCI registries, from all sources of OpenTofu.
//!
//! [`RegistryCredentials`] are tokens by host: variables `TF_TOKEN_HOST`, files, and a credentials
//! helper. [`OciAuthenticator`] has credentials by repository: the CLI configuration, files of
//! Docker and Podman, and their helpers; and answers a registry's challenge. The CLI configuration
//! is read elsewhere, and nothing here opens a connection. Credentials for a proxy are in its
//! address.

mod challenge;
mod docker;
mod helper;
mod oci;
mod oci_authenticator;
mod registry;
mod token;

pub(crate) use challenge::{Challenge, TokenAnswer};
pub(crate) use helper::is_program_name;
pub(crate) use oci::OciPrefixFault;
pub(crate) use oci::{OciCredentials, OciDefaultCredentials, OciPrefix, OciSecret};
pub(crate) use oci_authenticator::OciAuthenticator;
pub(crate) use registry::{CredentialsHelper, RegistryCredentials};
pub(crate) use token::CredentialsError;
pub(crate) use token::CredentialsSource;
#[cfg(test)]
pub(crate) use token::{NoCredentials, Token};
