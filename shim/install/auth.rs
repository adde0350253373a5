//! Credentials: who asks registries, mirrors and OCI registries, from every source that OpenTofu knows.
//!
//! [`RegistryCredentials`] are tokens by host: variables `TF_TOKEN_HOST`, files, and a credentials helper. [`OciAuthenticator`] are
//! credentials by repository: the CLI configuration, files of Docker and Podman, and their helpers; and what a registry's
//! challenge demands. The CLI configuration is read elsewhere, and nothing here opens a connection. The user of a proxy
//! stands in the address of the proxy.

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
