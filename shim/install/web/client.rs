//! The web client: redirects, retries, tokens and limits.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::de::DeserializeOwned;
use url::Url;

use super::clock::{Clock, SystemClock};
use super::error::{AuthState, WebError, WebFault};
use super::transport::{Body, Request, Response, Transport, TransportError, TransportFault};
use crate::auth::CredentialsSource;
use crate::shown::shown;

/// A header that some registries depend on: the version of OpenTofu whose rules are followed.
const TERRAFORM_VERSION: (&str, &str) = ("x-terraform-version", "1.12.6");
/// Delay before the second attempt; it doubles with each attempt.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Maximum `Retry-After` that is waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A web client. Clones share its connections.
#[derive(Clone, Debug)]
pub(crate) struct WebClient {
    transport: Arc<dyn Transport>,
    credentials: Arc<dyn CredentialsSource>,
    clock: Arc<dyn Clock>,
    settings: WebSettings,
}

/// Retries and timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WebSettings {
    /// Number of attempts for a document, at least one.
    pub attempts: u32,
    /// Number of consecutive download attempts without progress, at least one.
    pub download_attempts: u32,
    /// Timeout of one attempt for a document, with its body.
    pub patience: Duration,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub url: &'a Url,
    /// The host whose token is sent, in the form of addresses. It is sent to the server of `url`,
    /// and not to redirect targets.
    pub token_of: Option<&'a str>,
    /// Another `Authorization` header, if there is no token to look up. It is sent to the server of
    /// `url` only.
    pub authorization: Option<&'a HeaderValue>,
    /// Accepted content types.
    pub accept: &'static str,
    /// Maximum size of the body in bytes.
    pub largest: u64,
    /// Maximum number of redirects.
    pub redirects: u8,
}

/// A document.
#[derive(Clone, Debug)]
pub(crate) struct Fetched {
    /// Its final URL, the base of relative ones in it.
    pub url: Url,
    /// Its content type.
    pub content_type: Option<String>,
    pub body: Bytes,
}

/// A response whose body is not yet received.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Its final URL.
    pub url: Url,
    /// 200, or 206 for a range.
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Box<dyn Body>,
}

impl Fetched {
    /// The document, which is in JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, WebError> {
        let Self { url, content_type, body } = self;
        serde_json::from_slice(body).map_err(|error| {
            let is_page = content_type.as_ref().is_some_and(|kind| kind.starts_with("text/html"))
                || body.trim_ascii_start().starts_with(b"<");
            let fault = if is_page { WebFault::WebPage } else { WebFault::Malformed(error.to_string()) };
            WebError::new(url, fault)
        })
    }
}

impl Default for WebSettings {
    fn default() -> Self {
        Self { attempts: 3, download_attempts: 3, patience: Duration::from_secs(10) }
    }
}

impl<'a> Ask<'a> {
    /// Size limit of documents other than archives.
    pub(crate) const DOCUMENT: u64 = 16 << 20;

    /// A request of a JSON document.
    pub(crate) fn json(url: &'a Url) -> Self {
        Self {
            url,
            token_of: None,
            authorization: None,
            accept: "application/json",
            largest: Self::DOCUMENT,
            redirects: 10,
        }
    }

    /// A request of any other document.
    pub(crate) fn document(url: &'a Url) -> Self {
        Self { accept: "*/*", ..Self::json(url) }
    }

    /// Sends the token for this host.
    #[must_use]
    pub(crate) fn with_token_of(self, host: &'a str) -> Self {
        Self { token_of: Some(host), ..self }
    }
}

impl WebClient {
    pub(crate) fn new(transport: Arc<dyn Transport>, credentials: Arc<dyn CredentialsSource>) -> Self {
        Self { transport, credentials, clock: Arc::new(SystemClock), settings: WebSettings::default() }
    }

    /// With another clock.
    #[cfg(any(test, feature = "fuzzing"))]
    #[must_use]
    pub(crate) fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// With other settings.
    #[must_use]
    pub(crate) fn with_settings(self, settings: WebSettings) -> Self {
        Self { settings, ..self }
    }

    /// Its clock.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Its settings.
    pub(crate) fn settings(&self) -> WebSettings {
        self.settings
    }

    /// Fetches a document.
    pub(crate) async fn fetch(&self, ask: &Ask<'_>) -> Result<Fetched, WebError> {
        let mut attempt = 1;
        loop {
            let fetched = tokio::time::timeout(self.settings.patience, self.fetch_once(ask, attempt));
            let error = match fetched.await {
                Ok(Ok(fetched)) => return Ok(fetched),
                Ok(Err(error)) => error,
                Err(_) => Refusal::silent(ask.url, self.settings.patience),
            };
            self.wait_before_next(error, attempt, self.settings.attempts).await?;
            attempt += 1;
        }
    }

    /// Fetches a JSON document, and returns its final URL.
    pub(crate) async fn fetch_json<T: DeserializeOwned>(&self, ask: &Ask<'_>) -> Result<(T, Url), WebError> {
        let fetched = self.fetch(ask).await?;
        Ok((fetched.json()?, fetched.url))
    }

    /// Its transport.
    pub(crate) fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }

    /// Sends a request once, with additional headers.
    pub(crate) async fn open(
        &self,
        ask: &Ask<'_>,
        more: &[(HeaderName, HeaderValue)],
        attempt: u32,
    ) -> Result<Opened, Refusal> {
        let mut url = ask.url.clone();
        let token = match ask.token_of {
            Some(host) => self
                .credentials
                .token(host)
                .await
                .map_err(|error| Refusal { error: WebError::new(&url, error), wait: None })?,
            None => None,
        };
        let authorization = token.map(|token| token.header()).or_else(|| ask.authorization.cloned());
        for _ in 0..=ask.redirects {
            let at_home = url.origin() == ask.url.origin();
            let authorization = authorization.as_ref().filter(|_| at_home);
            let refused = |fault: WebFault| Refusal { error: WebError::new(&url, fault), wait: None };
            let mut headers: HeaderMap = more.iter().cloned().collect();
            headers.insert(header::ACCEPT, HeaderValue::from_static(ask.accept));
            headers.insert(TERRAFORM_VERSION.0, HeaderValue::from_static(TERRAFORM_VERSION.1));
            if let Some(authorization) = authorization {
                headers.insert(header::AUTHORIZATION, authorization.clone());
            }
            let answer = self.transport.get(Request { url: url.clone(), headers }).await;
            let answer = answer.map_err(|error| refused(error.into()))?;
            match answer.status {
                StatusCode::OK | StatusCode::PARTIAL_CONTENT => {
                    let Response { status, headers, body } = answer;
                    return Ok(Opened { url, status, headers, body });
                }
                StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::SEE_OTHER
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT => {
                    let location = answer.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
                    let next = location.and_then(|location| url.join(location).ok());
                    let next = next.filter(|next| matches!(next.scheme(), "http" | "https"));
                    let next = next.ok_or_else(|| refused(WebFault::RedirectToNowhere))?;
                    if url.scheme() == "https" && next.scheme() == "http" {
                        return Err(refused(WebFault::Downgrade(shown(&next))));
                    }
                    url = next;
                }
                status => {
                    let wait = retry_after(&answer.headers, self.clock.now());
                    let told = wait.filter(|wait| *wait > LONGEST_WAIT).map(|wait| wait.as_secs());
                    let is_told = at_home && (ask.token_of.is_some() || ask.authorization.is_some());
                    let who_asks = match authorization {
                        Some(_) => AuthState::Told,
                        None if is_told => AuthState::NotConfigured,
                        None => AuthState::NotApplicable,
                    };
                    let fault = WebFault::Status { status, who_asks, attempts: attempt, wait: told };
                    return Err(Refusal { wait, ..refused(fault) });
                }
            }
        }
        Err(Refusal { error: WebError::new(ask.url, WebFault::Redirects(ask.redirects)), wait: None })
    }

    /// Waits for the next attempt.
    pub(crate) async fn wait_before_next(
        &self,
        refusal: Refusal,
        attempt: u32,
        attempts: u32,
    ) -> Result<(), WebError> {
        let Refusal { error, wait } = refusal;
        let wait = wait.unwrap_or_else(|| FIRST_WAIT.saturating_mul(1 << attempt.saturating_sub(1).min(7)));
        if attempt >= attempts || !error.is_retryable() || wait > LONGEST_WAIT {
            return Err(error);
        }
        self.clock.sleep(wait).await;
        Ok(())
    }

    async fn fetch_once(&self, ask: &Ask<'_>, attempt: u32) -> Result<Fetched, Refusal> {
        let Opened { url, headers, mut body, .. } = self.open(ask, &[], attempt).await?;
        let refused = |fault: WebFault| Refusal { error: WebError::new(&url, fault), wait: None };
        let mut bytes = Vec::new();
        while let Some(chunk) = body.chunk().await.map_err(|error| refused(error.into()))? {
            bytes.extend_from_slice(&chunk);
            if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > ask.largest {
                return Err(refused(WebFault::TooLarge(ask.largest)));
            }
        }
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.map(str::to_ascii_lowercase);
        Ok(Fetched { url, content_type, body: bytes.into() })
    }
}

/// A failed attempt.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) error: WebError,
    /// The server's `Retry-After`.
    pub(crate) wait: Option<Duration>,
}

impl Refusal {
    /// Of a server that did not answer in time.
    pub(crate) fn silent(url: &Url, patience: Duration) -> Self {
        let detail = format!("no answer within {} s", patience.as_secs());
        let error = TransportError::new(TransportFault::Timeout, detail);
        Self { error: WebError::new(url, error), wait: None }
    }
}

/// Parses `Retry-After`: seconds, or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    Some(httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests;
