//! The HTTP transport.
//!
//! TLS is rustls with aws-lc-rs. CAs are read with the first connection, because most starts need
//! none; so an invalid setting is reported only if the network is needed.

use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, header};
use rustls::pki_types::CertificateDer;
use tokio::sync::OnceCell;

use super::authorities::{Authorities, Trusted};
use super::proxy::ProxyRules;
use super::transport::{Body, Request, Response, Transport, TransportError, TransportFault};
use isthmus_common::BoxFuture;

use isthmus_common::Environment;

/// Connection timeout.
const CONNECT: Duration = Duration::from_secs(10);
/// Default timeout without data on a connection.
const SILENCE: Duration = Duration::from_secs(30);
/// Maximum length of a chain of causes.
const DEEPEST: usize = 12;

/// Terraform's and OpenTofu's variable for an addition to the user agent.
const APPEND_USER_AGENT: &str = "TF_APPEND_USER_AGENT";
/// OpenTofu's variable for another user agent.
const USER_AGENT: &str = "OPENTOFU_USER_AGENT";

/// Settings of connections.
#[derive(Clone, Debug)]
pub(crate) struct HttpSettings {
    pub proxies: ProxyRules,
    /// Locations of trusted CAs.
    pub authorities: Authorities,
    /// Additional CAs.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// The user agent.
    pub user_agent: String,
    /// Timeout without data on a connection.
    pub silence: Duration,
}

/// A transport over HTTP connections, which are reused.
#[derive(Debug)]
pub(crate) struct HttpTransport {
    settings: HttpSettings,
    ready: OnceCell<Result<Ready, TransportError>>,
}

/// The initialized client.
#[derive(Debug)]
struct Ready {
    client: reqwest::Client,
    /// CA locations that could not be read.
    unread: Option<String>,
}

/// Without proxies, with the system's CAs.
impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            proxies: ProxyRules::default(),
            authorities: Authorities::default(),
            extra_roots: Vec::new(),
            user_agent: own_name(),
            silence: SILENCE,
        }
    }
}

impl HttpSettings {
    /// The settings in the environment.
    pub(crate) fn from_environment(environment: &Environment) -> Self {
        Self {
            proxies: ProxyRules::from_environment(environment),
            authorities: Authorities::from_environment(environment),
            user_agent: user_agent(environment),
            ..Self::default()
        }
    }
}

fn own_name() -> String {
    format!("isthmus/{}", env!("CARGO_PKG_VERSION"))
}

fn user_agent(environment: &Environment) -> String {
    let set = |name| environment.text(name).map(str::trim).filter(|text| !text.is_empty());
    let base = set(USER_AGENT).map_or_else(own_name, str::to_owned);
    match set(APPEND_USER_AGENT) {
        Some(more) => format!("{base} {more}"),
        None => base,
    }
}

impl HttpTransport {
    /// A transport; nothing is read or opened yet.
    pub(crate) fn new(settings: HttpSettings) -> Self {
        Self { settings, ready: OnceCell::new() }
    }

    async fn ready(&self) -> Result<&Ready, TransportError> {
        let build = async || {
            let settings = self.settings.clone();
            // The CAs are some hundred files, in directories that may be remote.
            let built = tokio::task::spawn_blocking(move || build(&settings)).await;
            built.unwrap_or_else(|error| Err(TransportError::new(TransportFault::Setup, error.to_string())))
        };
        self.ready.get_or_init(build).await.as_ref().map_err(TransportError::clone)
    }
}

impl Transport for HttpTransport {
    fn get(&self, request: Request) -> BoxFuture<'_, Result<Response, TransportError>> {
        Box::pin(async move {
            let Ready { client, unread } = self.ready().await?;
            let through_proxy = self.settings.proxies.proxy(&request.url).is_some();
            let sent = client.get(request.url).headers(request.headers).send();
            let answer = sent.await.map_err(|error| {
                let mut error = classify(error, through_proxy);
                if let (TransportFault::Tls, Some(unread)) = (error.fault, unread) {
                    error.detail = format!("{}; {unread}", error.detail);
                }
                error
            })?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            Ok(Response { status, headers, body: Box::new(HttpBody { answer, through_proxy }) })
        })
    }
}

#[derive(Debug)]
struct HttpBody {
    answer: reqwest::Response,
    through_proxy: bool,
}

impl Body for HttpBody {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, TransportError>> {
        Box::pin(async { self.answer.chunk().await.map_err(|error| classify(error, self.through_proxy)) })
    }
}

fn build(settings: &HttpSettings) -> Result<Ready, TransportError> {
    let setup = |detail: String| TransportError::new(TransportFault::Setup, detail);
    let setting = |detail: String| TransportError::new(TransportFault::Setting, detail);
    let mut user_agent = HeaderValue::from_str(&settings.user_agent)
        .map_err(|_| setting(format!("{APPEND_USER_AGENT} or {USER_AGENT} cannot be sent as a header")))?;
    user_agent.set_sensitive(false);
    if let Some(nonsense) = settings.proxies.nonsense() {
        return Err(setting(nonsense));
    }
    let rules = settings.proxies.clone();
    let Trusted { certificates, unread } = settings.authorities.read(&settings.extra_roots).map_err(setup)?;
    let tls = isthmus_common::trust::client_config(certificates)
        .map_err(|error| setup(isthmus_common::error_chain(&error)))?;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT)
        .read_timeout(settings.silence)
        .default_headers([(header::USER_AGENT, user_agent)].into_iter().collect())
        // Its own rules for the environment differ from those of Go programs, and ignore invalid
        // settings.
        .no_proxy()
        .proxy(reqwest::Proxy::custom(move |url| rules.proxy(url)))
        .build()
        .map_err(|error| setup(chain(&error)))?;
    Ok(Ready { client, unread })
}

/// The kind of a failure, by the types of its causes, which determines whether a binary may be
/// started. The URL is omitted from the text: it may authorise a download.
fn classify(error: reqwest::Error, through_proxy: bool) -> TransportError {
    let error = error.without_url();
    let mut tls = None;
    let mut io = None;
    let mut innermost: Option<String> = None;
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    for _ in 0..DEEPEST {
        let Some(current) = cause else { break };
        tls = tls.or_else(|| current.downcast_ref::<rustls::Error>());
        let as_io = current.downcast_ref::<io::Error>();
        io = as_io.or(io);
        innermost = Some(current.to_string());
        // The inner error of an I/O error is not among its causes.
        cause = match as_io.and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => current.source(),
        };
    }
    if let Some(tls) = tls {
        let fault = if is_about_dates(tls) { TransportFault::CertificateDates } else { TransportFault::Tls };
        return TransportError::new(fault, tls.to_string());
    }
    let never_came_about =
        error.is_connect() && (error.is_dns() || io.is_some_and(|error| is_about_connecting(error.kind())));
    let fault = match (error.is_timeout(), never_came_about, error.is_connect() && through_proxy) {
        (true, ..) => TransportFault::Timeout,
        (false, true, true) => TransportFault::NoProxy,
        (false, true, false) => TransportFault::NoRoute,
        (false, false, true) => match innermost.as_deref() {
            // Its type is private. The class of the failure does not depend on it, only the advice.
            Some(text) if text.contains("proxy authorization required") => TransportFault::ProxyAuthorization,
            _ => TransportFault::Proxy,
        },
        (false, false, false) if error.is_builder() => TransportFault::Setup,
        (false, false, false) => TransportFault::Broken,
    };
    let detail = innermost.filter(|_| never_came_about).unwrap_or_else(|| chain(&error));
    TransportError::new(fault, detail)
}

/// Whether a certificate was refused for the current time alone.
fn is_about_dates(error: &rustls::Error) -> bool {
    use rustls::CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    matches!(
        error,
        rustls::Error::InvalidCertificate(
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }
        )
    )
}

/// Whether an I/O error means that no connection was established, rather than that one broke, or a
/// local fault.
fn is_about_connecting(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::TimedOut
            // A firewall of this machine.
            | io::ErrorKind::PermissionDenied
    )
}

/// The causes of an error in one line, without the outermost, which is generic.
fn chain(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(current) = cause.filter(|_| texts.len() < DEEPEST) {
        let text = current.to_string();
        // Some repeat their causes.
        if !texts.last().is_some_and(|last| last.contains(&text)) {
            texts.push(text);
        }
        cause = current.source();
    }
    if texts.is_empty() { error.to_string() } else { texts.join(": ") }
}

#[cfg(test)]
mod tests;
