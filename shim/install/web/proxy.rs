//! Selection of the proxy for a URL, by the rules of Go programs, hence of OpenTofu.
//!
//! HTTPS_PROXY and HTTP_PROXY apply by the URL's scheme, and NO_PROXY lists exceptions; each may be in
//! lower case. ALL_PROXY, which is curl's, has no effect. A proxy of socks5 resolves the names of hosts,
//! as one of socks5h does. Loopback is never reached through a
//! proxy. An invalid proxy address is an error that names the variable; the proxy is not bypassed,
//! since nothing may be reachable without it.

use std::net::IpAddr;

use isthmus_common::Secret;
use url::{Host, Url};

use isthmus_common::Environment;

/// Supported schemes of proxies.
const SCHEMES: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];

/// The proxies and exceptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProxyRules {
    https: Option<Named>,
    http: Option<Named>,
    without: Vec<Exception>,
}

/// A proxy, or an invalid variable.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    variable: String,
    /// It may contain a password.
    proxy: Option<Secret<Url>>,
}

/// An exception: reached without a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Exception {
    Everything,
    Network { address: IpAddr, bits: u8 },
    Address { address: IpAddr, port: Option<u16> },
    Domain { name: String, itself: bool, port: Option<u16> },
}

impl ProxyRules {
    /// The rules in the environment.
    pub(crate) fn from_environment(environment: &Environment) -> Self {
        let variable = |name: &str| {
            let names = [name.to_owned(), name.to_ascii_lowercase()];
            names.into_iter().find_map(|name| Some((environment.text(&name)?.trim().to_owned(), name)))
        };
        let named = |name| variable(name).map(Named::read);
        let without = variable("NO_PROXY").map(|(text, _)| exceptions(&text)).unwrap_or_default();
        // In a CGI program, the client's header `Proxy` becomes this variable.
        let is_cgi = environment.text("REQUEST_METHOD").is_some();
        Self { https: named("HTTPS_PROXY"), http: named("HTTP_PROXY").filter(|_| !is_cgi), without }
    }

    /// The proxy for a URL; `None` if it is reached without.
    pub(crate) fn proxy(&self, url: &Url) -> Option<Url> {
        let named = if url.scheme() == "https" { &self.https } else { &self.http };
        let proxy = named.as_ref()?.proxy.as_ref().filter(|_| !self.is_without(url));
        proxy.map(|proxy| proxy.expose().clone())
    }

    /// The invalid variables.
    pub(crate) fn nonsense(&self) -> Option<String> {
        let wrong = [&self.https, &self.http].into_iter().flatten().find(|named| named.proxy.is_none())?;
        Some(format!(
            "{} is not a proxy's address; write http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT with special characters \
             of the password as %XX",
            wrong.variable
        ))
    }

    fn is_without(&self, url: &Url) -> bool {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else { return true };
        let address = match host {
            Host::Domain("localhost") => return true,
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(IpAddr::from(address)),
            Host::Ipv6(address) => Some(IpAddr::from(address)),
        };
        if address.is_some_and(|address| address.is_loopback()) {
            return true;
        }
        let text = host.to_string();
        self.without.iter().any(|exception| exception.holds(&text, address, port))
    }
}

impl Named {
    fn read((text, variable): (String, String)) -> Self {
        let has_scheme = text.contains("://");
        let with_scheme = if has_scheme { text } else { format!("http://{text}") };
        let proxy = Url::parse(&with_scheme).ok();
        // Of `http:/proxy` or `htps//proxy`, the scheme would be the host, and the proxy a path.
        let is_host = |url: &Url| has_scheme || matches!(url.path(), "" | "/");
        let proxy = proxy.filter(|url| SCHEMES.contains(&url.scheme()) && url.has_host() && is_host(url));
        let proxy = proxy.map(|mut url| {
            if url.scheme() == "socks5" {
                // Both schemes are without a meaning for the parser, so that one can replace the other.
                let _ = url.set_scheme("socks5h");
            }
            url
        });
        Self { variable, proxy: proxy.map(Secret::new) }
    }
}

impl Exception {
    fn holds(&self, host: &str, address: Option<IpAddr>, port: u16) -> bool {
        let is_port = |wanted: &Option<u16>| wanted.is_none_or(|wanted| wanted == port);
        match self {
            Self::Everything => true,
            Self::Network { address: network, bits } => {
                address.is_some_and(|address| begins_alike(*network, address, *bits))
            }
            Self::Address { address: wanted, port } => address == Some(*wanted) && is_port(port),
            Self::Domain { name, itself, port } => {
                let is_below = || host.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.'));
                ((*itself && host == name) || is_below()) && is_port(port)
            }
        }
    }
}

fn exceptions(text: &str) -> Vec<Exception> {
    text.split(',').map(str::trim).filter_map(exception).collect()
}

/// Invalid exceptions are ignored.
fn exception(text: &str) -> Option<Exception> {
    if text == "*" {
        return Some(Exception::Everything);
    }
    if let Some((address, bits)) = text.split_once('/') {
        let (address, bits) = (address.parse::<IpAddr>().ok()?, bits.parse::<u8>().ok()?);
        let most = if address.is_ipv4() { 32 } else { 128 };
        return (bits <= most).then_some(Exception::Network { address, bits });
    }
    if let Ok(address) = text.parse() {
        return Some(Exception::Address { address, port: None });
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse().ok()?)),
        None => (text, None),
    };
    if let Ok(address) = host.trim_start_matches('[').trim_end_matches(']').parse() {
        return Some(Exception::Address { address, port });
    }
    let host = host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host);
    let (name, itself) = host.strip_prefix('.').map_or((host, true), |name| (name, false));
    match Host::parse(name).ok()? {
        Host::Domain(name) => Some(Exception::Domain { name, itself, port }),
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

/// Whether two addresses of the same kind have a common prefix of this length.
fn begins_alike(one: IpAddr, other: IpAddr, bits: u8) -> bool {
    let differ = match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        _ => return false,
    };
    differ >= u32::from(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(variables: &[(&str, &str)]) -> ProxyRules {
        ProxyRules::from_environment(&Environment::from_iter(variables.iter().copied()))
    }

    fn proxy(rules: &ProxyRules, url: &str) -> Option<String> {
        rules.proxy(&Url::parse(url).expect(url)).map(|url| url.to_string())
    }

    #[test]
    fn the_scheme_of_an_address_chooses_the_proxy() {
        let both = rules(&[("https_proxy", "http://one:1"), ("HTTP_PROXY", "two:2")]);
        assert_eq!(proxy(&both, "https://a.example/").as_deref(), Some("http://one:1/"));
        assert_eq!(proxy(&both, "http://a.example/").as_deref(), Some("http://two:2/"));
        for scheme in ["socks5", "socks5h"] {
            let address = format!("{scheme}://u:p%40@three");
            let socks = rules(&[("HTTPS_PROXY", &address)]);
            assert_eq!(proxy(&socks, "https://a.example/").as_deref(), Some("socks5h://u:p%40@three"));
            assert!(!format!("{socks:?}").contains("p%40"), "{socks:?}");
        }
        let all = rules(&[("ALL_PROXY", "three:3"), ("all_proxy", "three:3"), ("HTTPS_PROXY", "")]);
        assert_eq!(proxy(&all, "https://a.example/"), None);
        assert_eq!(proxy(&rules(&[]), "https://a.example/"), None);
        let cgi = rules(&[("HTTP_PROXY", "http://evil"), ("REQUEST_METHOD", "GET")]);
        assert_eq!(proxy(&cgi, "http://a.example/"), None);
    }

    #[test]
    fn what_is_no_proxy_is_told_by_its_variable() {
        for text in [
            "ftp://a",
            "http://",
            "http://a:port",
            "a b",
            "http:/a:3128",
            "htps//a:3128",
            "https:\\\\a",
            "http:a",
        ] {
            let rules = rules(&[("https_proxy", text)]);
            let told = rules.nonsense().expect(text);
            assert!(told.starts_with("https_proxy is not a proxy's address; write http://"), "{told}");
        }
        for text in ["proxy.example:3128", "proxy.example:3128/", "http://proxy.example:3128/path"] {
            assert_eq!(rules(&[("HTTPS_PROXY", text)]).nonsense(), None, "{text}");
        }
    }

    #[test]
    fn what_no_proxy_names_is_reached_without() {
        for (exception, without, through) in [
            ("example.com", "https://example.com/ https://a.EXAMPLE.com:8443/", "https://notexample.com/"),
            (".example.com", "https://a.example.com/", "https://example.com/"),
            ("*.example.com", "https://a.example.com/", "https://example.com/"),
            ("x, example.com:8443 ,", "https://example.com:8443/ https://x/", "https://example.com/"),
            (
                "bücher.example",
                "https://xn--bcher-kva.example/ https://bücher.example/",
                "https://b.example/",
            ),
            ("10.0.0.0/9", "https://10.127.0.1/", "https://10.128.0.1/ https://a.example/"),
            ("fd00::/8", "https://[fd12::1]/", "https://[fe12::1]/ https://10.0.0.1/"),
            ("10.0.0.1:81,[fd00::1]:82", "http://10.0.0.1:81/ http://[fd00::1]:82/", "http://10.0.0.1/"),
            ("10.0.0.1,fd00::1", "https://10.0.0.1:5/ https://[fd00::1]/", "https://10.0.0.2/"),
            ("*", "https://a.example/ http://10.0.0.1/", ""),
            ("1.2.3.4/33,/,:,a:b,:80, .", "", "https://a/ https://1.2.3.4/"),
            ("", "https://localhost/ https://127.8.9.1:5/ http://[::1]/", "https://localhost.example/"),
        ] {
            let rules = rules(&[("HTTP_PROXY", "proxy"), ("HTTPS_PROXY", "proxy"), ("NO_PROXY", exception)]);
            for url in without.split_whitespace() {
                assert_eq!(proxy(&rules, url), None, "{exception}: {url}");
            }
            for url in through.split_whitespace() {
                assert_eq!(proxy(&rules, url).as_deref(), Some("http://proxy/"), "{exception}: {url}");
            }
        }
    }
}
