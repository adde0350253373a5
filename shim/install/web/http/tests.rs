//! Real connections: through proxies, and to trusted and untrusted servers.

use std::fs;
use std::sync::Arc;

use isthmus_test_registry::{Proxy, Registry};
use url::Url;

use super::*;
use crate::web::testing::{OneToken, SteppedClock};
use crate::web::{Ask, WebClient};

const DISCOVERY: &str = "https://registry.example/.well-known/terraform.json";
/// `me` and `p@ss`.
const BASIC: &str = "Basic bWU6cEBzcw==";

/// A registry, and an environment that trusts its CA.
struct Fixture {
    registry: Registry,
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let (registry, directory) = (Registry::start(), tempfile::tempdir().expect("a directory"));
        fs::write(directory.path().join("authority.pem"), registry.authority_pem()).expect("a file");
        Self { registry, directory }
    }

    /// The result of a request in this environment, with additional variables.
    async fn fetch(&self, url: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let authority = self.directory.path().join("authority.pem");
        let trusted = ("SSL_CERT_FILE".to_owned(), authority.into_os_string());
        let more = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        let environment = Environment::from_iter(std::iter::once(trusted).chain(more));
        let transport = HttpTransport::new(HttpSettings::from_environment(&environment));
        let web = WebClient::new(Arc::new(transport), Arc::new(OneToken("registry.example", "s3cret")));
        let web = web.with_clock(Arc::new(SteppedClock::at(0)));
        let url = Url::parse(url).expect(url);
        let fetched = web.fetch(&Ask::document(&url).with_token_of("registry.example")).await;
        let fetched = fetched.map_err(|error| isthmus_common::with_help(error.to_string(), error.help()))?;
        Ok(String::from_utf8(fetched.body.into()).expect("a text"))
    }
}

#[tokio::test]
async fn a_host_is_reached_through_the_proxy_of_its_scheme() {
    let fixture = Fixture::new();
    let proxy = Proxy::before(&fixture.registry);
    let variables = [("https_proxy", &*proxy.host()), ("HTTP_PROXY", &*format!("http://{}", proxy.host()))];
    let body = fixture.fetch(DISCOVERY, &variables).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(body, "{\"providers.v1\":\"/v1/providers/\"}");
    assert_eq!(fixture.fetch("http://files.example/a.zip", &variables).await.as_deref(), Ok("the proxy"));
    // The token for the registry is inside the tunnel.
    assert_eq!(
        proxy.requests(),
        ["CONNECT registry.example:443", "GET http://files.example/a.zip Bearer s3cret"]
    );

    let local = format!("{}/.well-known/terraform.json", fixture.registry.url());
    fixture.fetch(&local, &variables).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(proxy.requests().len(), 2, "this machine itself is reached without");
}

#[tokio::test]
async fn a_proxy_receives_configured_credentials() {
    let fixture = Fixture::new();
    let proxy = Proxy::for_those_with(&fixture.registry, BASIC);
    let address = format!("http://me:p%40ss@{}", proxy.host());
    let variables = [("HTTPS_PROXY", address.as_str()), ("HTTP_PROXY", address.as_str())];
    fixture.fetch(DISCOVERY, &variables).await.unwrap_or_else(|error| panic!("{error}"));
    fixture.fetch("http://files.example/", &variables).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        proxy.requests(),
        [
            format!("CONNECT registry.example:443 {BASIC}"),
            format!("GET http://files.example/ {BASIC} Bearer s3cret")
        ]
    );

    for (url, asked) in [(DISCOVERY, 3), ("http://files.example/", 4)] {
        let host = proxy.host();
        let variables = [("HTTPS_PROXY", host.as_str()), ("HTTP_PROXY", host.as_str())];
        let error = fixture.fetch(url, &variables).await.expect_err("who asks?");
        assert!(error.contains("put the proxy's user and password into HTTPS_PROXY"), "{error}");
        assert_eq!(proxy.requests().len(), asked, "it would say the same once more");
    }
}

#[tokio::test]
async fn a_proxy_that_does_not_help_is_told_by_its_variable() {
    let fixture = Fixture::new();
    let proxy = Proxy::refusing(&fixture.registry, 403);
    let address = proxy.host();
    let error = fixture.fetch(DISCOVERY, &[("HTTPS_PROXY", &address)]).await.expect_err("it is refused");
    assert!(
        error.starts_with(&format!("{DISCOVERY}: the proxy did not connect to it ("))
            && error.ends_with("\nhelp: check HTTPS_PROXY, and NO_PROXY if registry.example needs no proxy"),
        "{error}"
    );
    drop(proxy);
    let error = fixture.fetch(DISCOVERY, &[("HTTPS_PROXY", &address)]).await.expect_err("it is not there");
    assert!(
        error.starts_with("could not reach the proxy for registry.example: Connection refused")
            && error.contains("\nhelp: check HTTPS_PROXY, and NO_PROXY"),
        "{error}"
    );
    let error =
        fixture.fetch(DISCOVERY, &[("HTTPS_PROXY", "ftp://me:s3cret@x")]).await.expect_err("no proxy");
    assert!(
        error.contains("as it is configured (HTTPS_PROXY is not a proxy's address")
            && !error.contains("s3cret"),
        "{error}"
    );
}

#[tokio::test]
async fn an_authority_that_could_not_be_read_is_told_when_it_is_missed() {
    let fixture = Fixture::new();
    let url = format!("{}/.well-known/terraform.json", fixture.registry.url());
    fixture.fetch(&url, &[]).await.unwrap_or_else(|error| panic!("{error}"));
    let directory = fixture.directory.path().to_str().expect("a path in UTF-8");
    let missing = format!("{directory}/missing.pem");
    let in_directory = [("SSL_CERT_FILE", missing.as_str()), ("SSL_CERT_DIR", directory)];
    fixture.fetch(&url, &in_directory).await.unwrap_or_else(|error| panic!("{error}"));

    fs::write(format!("{directory}/authority.pem"), Registry::start().authority_pem()).expect("a file");
    let error = fixture.fetch(&url, &in_directory).await.expect_err("nobody vouches for it");
    assert!(
        error.contains("no secure connection could be made (invalid peer certificate: ")
            && error.contains("; SSL_CERT_FILE: ")
            && error.contains("missing.pem"),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_that_says_nothing_is_not_waited_for_without_end() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let settings = HttpSettings { silence: Duration::from_millis(50), ..HttpSettings::default() };
    let request = Request { url: Url::parse(&url).expect("an address"), headers: http::HeaderMap::new() };
    let error = HttpTransport::new(settings).get(request).await.expect_err("it says nothing");
    assert_eq!(error.fault, TransportFault::Timeout, "{error}");
}

#[tokio::test]
async fn a_server_that_shows_its_own_authority_is_trusted_if_that_is_named() {
    let (registry, directory) = (Registry::self_signed(), tempfile::tempdir().expect("a directory"));
    let url = format!("{}/.well-known/terraform.json", registry.url());
    let fixture = Fixture { registry, directory };
    fs::write(fixture.directory.path().join("authority.pem"), fixture.registry.authority_pem())
        .expect("a file");
    fixture.fetch(&url, &[]).await.unwrap_or_else(|error| panic!("{error}"));
    // That of another server is not enough.
    let other = Registry::self_signed();
    fs::write(fixture.directory.path().join("authority.pem"), other.authority_pem()).expect("a file");
    let error = fixture.fetch(&url, &[]).await.expect_err("nobody vouches for it");
    assert!(error.contains("invalid peer certificate"), "{error}");
}

#[tokio::test]
async fn a_failure_is_told_apart_by_the_types_of_its_causes() {
    use TransportFault::{Broken, NoProxy, NoRoute, Proxy, Tls};
    let fixture = Fixture::new();
    let closed = || {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address")
    };
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let silent_at = silent.local_addr().expect("an address");
    tokio::spawn(async move {
        // Connections are closed at once, before TLS and HTTP.
        while let Ok((connection, _)) = silent.accept().await {
            drop(connection);
        }
    });
    let other = Registry::start();
    let refusing = isthmus_test_registry::Proxy::refusing(&fixture.registry, 502);
    let trusted = fixture.directory.path().join("authority.pem");
    let trusted = trusted.to_str().expect("a path in UTF-8");
    let proxy = |address: String| format!("http://{address}");
    for (url, proxy, expected) in [
        ("https://nowhere.invalid/".to_owned(), None, NoRoute),
        (format!("https://{}/", closed()), None, NoRoute),
        (format!("http://{}/", closed()), None, NoRoute),
        (DISCOVERY.to_owned(), Some(proxy(closed().to_string())), NoProxy),
        (DISCOVERY.to_owned(), Some(proxy("nowhere.invalid:1".to_owned())), NoProxy),
        ("http://files.example/".to_owned(), Some(proxy(closed().to_string())), NoProxy),
        (DISCOVERY.to_owned(), Some(proxy(refusing.host())), Proxy),
        (DISCOVERY.to_owned(), Some(proxy(silent_at.to_string())), Proxy),
        (format!("https://{silent_at}/"), None, Broken),
        (format!("http://{silent_at}/"), None, Broken),
        (other.url(), None, Tls),
    ] {
        let mut variables = vec![("SSL_CERT_FILE", trusted.to_owned())];
        for name in ["HTTPS_PROXY", "HTTP_PROXY"] {
            variables.extend(proxy.clone().map(|proxy| (name, proxy)));
        }
        let settings = HttpSettings::from_environment(&Environment::from_iter(variables));
        let request = Request { url: Url::parse(&url).expect("an address"), headers: http::HeaderMap::new() };
        let error = HttpTransport::new(settings).get(request).await.expect_err(&url);
        assert_eq!(error.fault, expected, "{url} by {proxy:?}: {error}");
    }
}

#[test]
fn the_user_agent_is_that_of_the_environment() {
    let with = |variables: &[(&str, &str)]| user_agent(&Environment::from_iter(variables.iter().copied()));
    let own = concat!("isthmus/", env!("CARGO_PKG_VERSION"));
    assert_eq!(with(&[]), own);
    assert_eq!(with(&[(APPEND_USER_AGENT, " ci/1 ")]), format!("{own} ci/1"));
    assert_eq!(with(&[(USER_AGENT, "mine"), (APPEND_USER_AGENT, "x")]), "mine x");
}
