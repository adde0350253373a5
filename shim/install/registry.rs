//! The provider registry protocol: versions, and packages of a version.
//!
//! A host's service discovery document has the registry's address, which is remembered as long as
//! the client exists. A `host` block of the CLI configuration has precedence; then the host is not
//! queried.

mod answers;
mod choice;
mod error;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

use isthmus_common::shortened;
use semver::Version;
use serde_json::Value;
use tokio::sync::Mutex;
use url::Url;

use super::{Platform, ProviderAddress};
use crate::shown::shown_text;
use crate::web::{Ask, Refusal, WebClient, WebSettings};
use answers::{DownloadAnswer, VersionsAnswer};

pub(crate) use answers::{ListedVersion, Listing, RegistryPackage};
pub use choice::{NoVersion, choose};
pub(crate) use error::{Enforced, PackageFault, RegistryError};

/// The service name of provider registries.
const SERVICE: &str = "providers.v1";
/// The path of the service discovery document.
const DISCOVERY: &str = ".well-known/terraform.json";
/// Size limit of the service discovery document.
const LARGEST_DISCOVERY: u64 = 1 << 20;
const DISCOVERY_REDIRECTS: u8 = 3;

/// Configured services, by host and by name.
pub(crate) type ServiceOverrides = BTreeMap<String, BTreeMap<String, String>>;

/// A client of registries. Clones share its state.
#[derive(Clone, Debug)]
pub(crate) struct RegistryClient {
    web: WebClient,
    overrides: Arc<ServiceOverrides>,
    known: Arc<Mutex<HashMap<String, Url>>>,
}

impl RegistryClient {
    pub(crate) fn new(web: WebClient, overrides: ServiceOverrides) -> Self {
        Self { web, overrides: Arc::new(overrides), known: Arc::default() }
    }

    /// With another web client.
    #[must_use]
    pub(crate) fn with_web(self, web: WebClient) -> Self {
        Self { web, ..self }
    }

    /// Its web client.
    pub(crate) fn web(&self) -> &WebClient {
        &self.web
    }

    /// The versions of a provider.
    pub(crate) async fn versions(&self, address: &ProviderAddress) -> Result<Listing, RegistryError> {
        let url = self.endpoint(address, &["versions"]).await?;
        let ask = Ask::json(&url).with_token_of(address.host());
        let (answer, _) = self.web.fetch_json::<VersionsAnswer>(&ask).await.map_err(|source| {
            if source.is_not_found() {
                RegistryError::UnknownProvider { address: address.clone() }
            } else {
                RegistryError::web(address, source)
            }
        })?;
        Ok(answer.into())
    }

    /// The package of a version.
    pub(crate) async fn package(
        &self,
        address: &ProviderAddress,
        version: &Version,
        platform: Platform,
    ) -> Result<RegistryPackage, RegistryError> {
        let version_text = version.to_string();
        let url = self.endpoint(address, &[&version_text, "download", platform.os, platform.arch]).await?;
        let ask = Ask::json(&url).with_token_of(address.host());
        let (answer, found_at) = self.web.fetch_json::<DownloadAnswer>(&ask).await.map_err(|source| {
            if source.is_not_found() {
                RegistryError::UnknownPackage { address: address.clone(), version: version.clone(), platform }
            } else {
                RegistryError::web(address, source)
            }
        })?;
        answer.checked(&found_at, platform).map_err(|fault| RegistryError::Package {
            address: address.clone(),
            version: version.clone(),
            fault,
        })
    }

    /// Queries the versions of a provider with one attempt, and returns the date of the answer, which is the time of the
    /// server's clock.
    pub(crate) async fn probe(&self, address: &ProviderAddress) -> Result<Option<SystemTime>, RegistryError> {
        let once = WebSettings { attempts: 1, ..self.web.settings() };
        let client = self.clone().with_web(self.web.clone().with_settings(once));
        let url = client.endpoint(address, &["versions"]).await?;
        let ask = Ask::json(&url).with_token_of(address.host());
        let opened = tokio::time::timeout(once.patience, client.web.open(&ask, &[], 1)).await;
        let opened = opened.unwrap_or_else(|_| Err(Refusal::silent(&url, once.patience)));
        let opened = opened.map_err(|refusal| {
            if refusal.error.is_not_found() {
                RegistryError::UnknownProvider { address: address.clone() }
            } else {
                RegistryError::web(address, refusal.error)
            }
        })?;
        let date = opened.headers.get(http::header::DATE).and_then(|date| date.to_str().ok());
        Ok(date.and_then(|date| httpdate::parse_http_date(date).ok()))
    }

    async fn endpoint(&self, address: &ProviderAddress, path: &[&str]) -> Result<Url, RegistryError> {
        let mut url = self.service(address).await?;
        let no_base = || RegistryError::NoService { host: address.host().to_owned() };
        url.path_segments_mut()
            .map_err(|()| no_base())?
            .pop_if_empty()
            .extend([address.namespace(), address.provider_type()])
            .extend(path);
        Ok(url)
    }

    /// The registry of an address.
    async fn service(&self, address: &ProviderAddress) -> Result<Url, RegistryError> {
        let host = address.host();
        let no_service = || RegistryError::NoService { host: host.to_owned() };
        let invalid = |service: &str| {
            let service = shortened(&shown_text(service), 200).into();
            RegistryError::InvalidService { host: host.to_owned(), service }
        };
        let resolve = |base: &Url, service: &str| {
            let usable = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
            base.join(service).ok().filter(usable)
        };
        let discovery = format!("https://{host}/{DISCOVERY}");
        let discovery = Url::parse(&discovery).map_err(|_| invalid(&discovery))?;
        if let Some(services) = self.overrides.get(host) {
            let service = services.get(SERVICE).ok_or_else(no_service)?;
            return resolve(&discovery, service).ok_or_else(|| invalid(service));
        }
        // Held during the query, so that there is only one.
        let mut known = self.known.lock().await;
        if let Some(url) = known.get(host) {
            return Ok(url.clone());
        }
        let ask = Ask { largest: LARGEST_DISCOVERY, redirects: DISCOVERY_REDIRECTS, ..Ask::json(&discovery) };
        let asked = self.web.fetch_json::<HashMap<String, Value>>(&ask.with_token_of(host)).await;
        let (services, found_at) = asked.map_err(|source| {
            if source.is_not_found() { no_service() } else { RegistryError::web(address, source) }
        })?;
        let service = services.get(SERVICE).ok_or_else(no_service)?;
        let service = service.as_str().ok_or_else(|| invalid(&service.to_string()))?;
        let url = resolve(&found_at, service).ok_or_else(|| invalid(service))?;
        known.insert(host.to_owned(), url.clone());
        Ok(url)
    }
}

#[cfg(test)]
mod tests;
