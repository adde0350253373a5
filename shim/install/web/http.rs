//! The real transport.
//!
//! TLS is rustls with aws-lc-rs, as everywhere in this project. Whom it trusts is what the system trusts, or SSL_CERT_FILE and
//! SSL_CERT_DIR where they are set, as Go programs on Linux have it; both are read when the first connection is needed, because
//! most starts need none. Proxies are those of the environment: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in capitals or not.

use std::error::Error;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, header};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use super::{Body, BoxFuture, Request, Response, Transport, TransportError, TransportFault};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// How long nothing may come on a connection.
const SILENCE: Duration = Duration::from_secs(30);
/// The deepest chain of causes that is told.
const DEEPEST: usize = 12;

/// Terraform's and OpenTofu's variable for what is added to the user agent.
const APPEND_USER_AGENT: &str = "TF_APPEND_USER_AGENT";
/// OpenTofu's variable for what stands in place of it.
const USER_AGENT: &str = "OPENTOFU_USER_AGENT";

/// How connections are made.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Which proxies are used.
    pub proxies: Proxies,
    /// Certificate authorities to trust beside those of the system.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// How this program calls itself.
    pub user_agent: String,
}

/// Which proxies are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proxies {
    /// Those that the environment names.
    Environment,
    /// None.
    Direct,
    /// This one, for everything.
    Through(String),
}

/// Exchanges over real connections, which are kept open for the next one.
#[derive(Debug)]
pub struct HttpTransport {
    settings: HttpSettings,
    client: OnceLock<Result<reqwest::Client, TransportError>>,
}

impl HttpSettings {
    /// What the environment says.
    pub fn from_environment() -> Self {
        let user_agent = user_agent(|name| std::env::var(name).ok());
        Self { proxies: Proxies::Environment, extra_roots: Vec::new(), user_agent }
    }
}

fn user_agent(variable: impl Fn(&str) -> Option<String>) -> String {
    let set = |name| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let own = || format!("isthmus/{}", env!("CARGO_PKG_VERSION"));
    let base = set(USER_AGENT).unwrap_or_else(own);
    match set(APPEND_USER_AGENT) {
        Some(more) => format!("{base} {more}"),
        None => base,
    }
}

impl HttpTransport {
    /// A transport; nothing is read or opened yet.
    pub fn new(settings: HttpSettings) -> Self {
        Self { settings, client: OnceLock::new() }
    }

    fn client(&self) -> Result<&reqwest::Client, TransportError> {
        self.client.get_or_init(|| build(&self.settings)).as_ref().map_err(TransportError::clone)
    }
}

impl Transport for HttpTransport {
    fn get(&self, request: Request) -> BoxFuture<'_, Result<Response, TransportError>> {
        Box::pin(async move {
            let sent = self.client()?.get(request.url).headers(request.headers).send();
            let answer = sent.await.map_err(classify)?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            Ok(Response { status, headers, body: Box::new(HttpBody(answer)) })
        })
    }
}

#[derive(Debug)]
struct HttpBody(reqwest::Response);

impl Body for HttpBody {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, TransportError>> {
        Box::pin(async { self.0.chunk().await.map_err(classify) })
    }
}

fn build(settings: &HttpSettings) -> Result<reqwest::Client, TransportError> {
    let setup = |detail: String| TransportError::new(TransportFault::Setup, detail);
    let mut user_agent = HeaderValue::from_str(&settings.user_agent)
        .map_err(|_| setup(format!("{APPEND_USER_AGENT} or {USER_AGENT} cannot be sent as a header")))?;
    user_agent.set_sensitive(false);
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(settings).map_err(setup)?)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .default_headers([(header::USER_AGENT, user_agent)].into_iter().collect());
    let builder = match &settings.proxies {
        Proxies::Environment => builder,
        Proxies::Direct => builder.no_proxy(),
        Proxies::Through(proxy) => {
            builder.proxy(reqwest::Proxy::all(proxy).map_err(|error| setup(chain(&error)))?)
        }
    };
    builder.build().map_err(|error| setup(chain(&error)))
}

fn tls(settings: &HttpSettings) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    for root in &settings.extra_roots {
        roots.add(root.clone()).map_err(|error| format!("a given certificate cannot be used: {error}"))?;
    }
    if roots.is_empty() {
        let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        let why = if errors.is_empty() { String::new() } else { format!(": {}", errors.join("; ")) };
        return Err(format!("no certificate authority is known{why}"));
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// What kind of failure it was, by its causes. The address is left out of the text: it may authorise a download.
fn classify(error: reqwest::Error) -> TransportError {
    let error = error.without_url();
    let mut fault = if error.is_timeout() {
        TransportFault::Timeout
    } else if error.is_connect() {
        TransportFault::NoRoute
    } else if error.is_builder() {
        TransportFault::Setup
    } else {
        TransportFault::Broken
    };
    let mut detail = None;
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    for _ in 0..DEEPEST {
        let Some(current) = cause else { break };
        // What is in an I/O error is not among its causes.
        let inner = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(inner) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            (fault, detail) = (TransportFault::Tls, Some(inner.to_string()));
            break;
        }
        let text = current.to_string();
        if error.is_connect() && (text.contains("tunnel") || text.contains("proxy")) {
            fault = TransportFault::Proxy;
        }
        cause = match inner {
            Some(inner) => Some(inner),
            None => current.source(),
        };
    }
    TransportError::new(fault, detail.unwrap_or_else(|| chain(&error)))
}

/// The causes of an error in one line, without the outermost, which only says that something was sent.
fn chain(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(current) = cause.filter(|_| texts.len() < DEEPEST) {
        let text = current.to_string();
        // Some repeat what is inside them.
        if !texts.last().is_some_and(|last| last.contains(&text)) {
            texts.push(text);
        }
        cause = current.source();
    }
    if texts.is_empty() { error.to_string() } else { texts.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_agent_is_that_of_the_environment() {
        let with = |variables: &'static [(&str, &str)]| {
            user_agent(|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let own = concat!("isthmus/", env!("CARGO_PKG_VERSION"));
        assert_eq!(with(&[]), own);
        assert_eq!(with(&[(APPEND_USER_AGENT, " ci/1 ")]), format!("{own} ci/1"));
        assert_eq!(with(&[(USER_AGENT, "mine"), (APPEND_USER_AGENT, "x")]), "mine x");
    }
}
