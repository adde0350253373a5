//! Provider source addresses: `host/namespace/type`.
//!
//! The grammar is that of OpenTofu and Terraform. Names are normalised by the rules of
//! internationalised domain names before they are compared, and become directories on disk; so
//! normalised names are validated again (a full-width dot, for one, becomes a dot). A type alone is
//! in the namespace `hashicorp`, as in Terraform.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use idna::AsciiDenyList;
use idna::uts46::{DnsLength, Hyphens, Uts46};

use crate::shown::shown_text;

/// The default registry.
pub const DEFAULT_HOST: &str = "registry.opentofu.org";

/// The default namespace.
pub const DEFAULT_NAMESPACE: &str = "hashicorp";

/// The default port of registries; omitted in a normalised address.
const DEFAULT_PORT: u16 = 443;

/// Maximum length in bytes, since normalising takes time.
const LONGEST: usize = 1024;

/// Prefixes that no type may have, because every provider binary has them.
const REDUNDANT: [(&str, &str); 2] =
    [("terraform-", "terraform-provider-"), ("opentofu-", "opentofu-provider-")];

/// A normalised provider source address; equal addresses are the same provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderAddress {
    /// In Unicode, with its port if that is not the default.
    host: String,
    namespace: String,
    provider_type: String,
}

/// A text is no provider source address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address:?} is not a provider's address, which is written [HOST/][NAMESPACE/]TYPE: {fault}{}", help(.address))]
pub struct AddressError {
    /// The address; truncated if it is long.
    pub address: String,
    /// The reason.
    pub fault: PartFault,
}

/// The reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartFault {
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    #[error("it has {0} parts, or an empty one")]
    Parts(usize),
    #[error("it is a URL; leave out the scheme")]
    Url,
    #[error("it is the path of a file, and a provider of a registry is meant")]
    Path,
    #[error("it has an @; leave out what is before it")]
    User,
    #[error("the {part} {text:?} contains a dot; only the host may")]
    Dot { part: &'static str, text: String },
    #[error("the {part} {text:?} contains two hyphens in a row")]
    Hyphens { part: &'static str, text: String },
    #[error(
        "the {part} {text:?} must consist of letters, digits and hyphens, without a hyphen at either end"
    )]
    Characters { part: &'static str, text: String },
    #[error(
        "the namespace \"-\" is not in use any more; write the provider's real one, such as {DEFAULT_NAMESPACE}"
    )]
    Legacy,
    #[error("the host {0:?} is not a host's name")]
    Host(String),
    #[error("the host {0:?} is in Punycode; write it in its own letters")]
    Punycode(String),
    #[error("the port {0:?} is not a number from 0 to 65535")]
    Port(String),
    #[error(
        "the type starts with {prefix:?}, which belongs to the names of programs and repositories; \
             did you mean {meant:?}, or a file, whose path begins with ./ or /?"
    )]
    Program { prefix: &'static str, meant: String },
    #[error("the type starts with {0:?}, which registries do not allow")]
    Redundant(&'static str),
}

impl ProviderAddress {
    /// Parses and normalises `[host/][namespace/]type`. The defaults are [`DEFAULT_HOST`] and
    /// [`DEFAULT_NAMESPACE`].
    ///
    /// # Errors
    /// When the address is invalid.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let fault = |fault| {
            // Only a URL has a user and a password.
            let shown = if text.contains('@') { shown_text(text) } else { text.to_owned() };
            AddressError { address: beginning(&shown).to_owned(), fault }
        };
        if text.len() > LONGEST {
            return Err(fault(PartFault::TooLong));
        }
        if text.contains("://") {
            return Err(fault(PartFault::Url));
        }
        if ["./", "../"].iter().any(|start| text.starts_with(start)) {
            return Err(fault(PartFault::Path));
        }
        let parts: Vec<&str> = text.split('/').collect();
        let (host, namespace, provider_type) = match *parts {
            _ if parts.contains(&"") => return Err(fault(PartFault::Parts(parts.len()))),
            [provider_type] => (None, DEFAULT_NAMESPACE, provider_type),
            [namespace, provider_type] => (None, namespace, provider_type),
            [host, namespace, provider_type] => (Some(host), namespace, provider_type),
            _ => return Err(fault(PartFault::Parts(parts.len()))),
        };
        if namespace == "-" {
            return Err(fault(PartFault::Legacy));
        }
        let address = Self {
            host: host.map_or_else(|| Ok(DEFAULT_HOST.to_owned()), normalise_host).map_err(fault)?,
            namespace: normalise_part("namespace", namespace).map_err(fault)?,
            provider_type: normalise_part("type", provider_type).map_err(fault)?,
        };
        address.without_redundant_prefix().map_err(fault)?;
        Ok(address)
    }

    /// Parses the full form; `None` if it is not normalised, as it is in lock files and directories.
    pub(crate) fn parse_normalised(text: &str) -> Option<Self> {
        Self::parse(text).ok().filter(|address| address.to_string() == text)
    }

    /// The registry's host, with its port if that is not the default.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The type, such as `random`.
    pub fn provider_type(&self) -> &str {
        &self.provider_type
    }

    /// The short form for users, without the default host.
    pub fn for_display(&self) -> String {
        if self.host == DEFAULT_HOST {
            format!("{}/{}", self.namespace, self.provider_type)
        } else {
            self.to_string()
        }
    }

    /// Users copy `terraform-provider-TYPE`, the name of executables and repositories. No type has
    /// this prefix.
    fn without_redundant_prefix(&self) -> Result<(), PartFault> {
        for (redundant, program) in REDUNDANT {
            if let Some(provider_type) = self.provider_type.strip_prefix(program) {
                let meant = Self { provider_type: provider_type.to_owned(), ..self.clone() }.for_display();
                return Err(PartFault::Program { prefix: program, meant });
            }
            if self.provider_type.starts_with(redundant) {
                return Err(PartFault::Redundant(redundant));
            }
        }
        Ok(())
    }
}

/// The full form, `host/namespace/type`, also of directories.
impl fmt::Display for ProviderAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.host, self.namespace, self.provider_type)
    }
}

/// Advice for `hashicorp/random@3.8.0`, the form of other tools.
fn help(address: &str) -> String {
    match address.split_once('@') {
        Some((address, version)) if ProviderAddress::parse(address).is_ok() => {
            format!("\nhelp: a version is an argument of its own: {address} '{version}'")
        }
        Some(_) | None => String::new(),
    }
}

impl FromStr for ProviderAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Self::parse(text)
    }
}

pub(super) fn normalise_part(part: &'static str, text: &str) -> Result<String, PartFault> {
    if text.contains('.') {
        return Err(PartFault::Dot { part, text: text.to_owned() });
    }
    // This also excludes Punycode, which starts with `xn--`.
    if text.contains("--") {
        return Err(PartFault::Hyphens { part, text: text.to_owned() });
    }
    let characters = || PartFault::Characters { part, text: text.to_owned() };
    let (folded, result) = Uts46::new().to_unicode(text.as_bytes(), AsciiDenyList::STD3, Hyphens::Check);
    result.map_err(|_| characters())?;
    // Normalising can produce a dot, or an empty name.
    if folded.is_empty() || folded.contains('.') || folded.contains("--") {
        return Err(characters());
    }
    Ok(folded.into_owned())
}

/// A host as in addresses: in Unicode, with its port if that is not the default.
pub(super) fn normalise_host(text: &str) -> Result<String, PartFault> {
    let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let port = match port {
        None => None,
        Some(_) if matches!(name.to_ascii_lowercase().as_str(), "http" | "https") => {
            return Err(PartFault::Url);
        }
        Some(_) if text.contains('@') => return Err(PartFault::User),
        Some(port) => Some(parse_port(port).ok_or_else(|| PartFault::Port(port.to_owned()))?),
    };
    let punycode = |label: &str| label.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--"));
    if name.split('.').any(punycode) {
        return Err(PartFault::Punycode(name.to_owned()));
    }
    let none = || PartFault::Host(name.to_owned());
    let rules = Uts46::new();
    let ascii = rules
        .to_ascii(name.as_bytes(), AsciiDenyList::STD3, Hyphens::Check, DnsLength::Ignore)
        .map_err(|_| none())?;
    // A host may end with a dot; otherwise labels are not empty.
    if ascii.strip_suffix('.').unwrap_or(&ascii).split('.').any(str::is_empty) {
        return Err(none());
    }
    let (host, result): (Cow<'_, str>, _) =
        rules.to_unicode(ascii.as_bytes(), AsciiDenyList::STD3, Hyphens::Check);
    result.map_err(|_| none())?;
    Ok(match port.filter(|port| *port != DEFAULT_PORT) {
        None => host.into_owned(),
        Some(port) => format!("{host}:{port}"),
    })
}

/// As [`normalise_host`], for a host that may be in Punycode.
pub(super) fn normalise_any_host(text: &str) -> Result<String, PartFault> {
    let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
    let (name, result) = Uts46::new().to_unicode(name.as_bytes(), AsciiDenyList::STD3, Hyphens::Check);
    result.map_err(|_| PartFault::Host(text.to_owned()))?;
    normalise_host(&format!("{name}{port}"))
}

/// An address's host in ASCII.
pub(super) fn host_in_ascii(host: &str) -> Cow<'_, str> {
    let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
    let ascii =
        Uts46::new().to_ascii(name.as_bytes(), AsciiDenyList::STD3, Hyphens::Check, DnsLength::Ignore);
    // The host of an address was normalised before.
    ascii.map_or(Cow::Borrowed(host), |ascii| Cow::Owned(format!("{ascii}{port}")))
}

fn parse_port(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The beginning of an external text, for an error.
fn beginning(text: &str) -> &str {
    const SHOWN: usize = 200;
    text.char_indices().nth(SHOWN).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_comes_to_the_same_full_address() {
        for (text, full) in [
            ("random", "registry.opentofu.org/hashicorp/random"),
            ("hashicorp/random", "registry.opentofu.org/hashicorp/random"),
            ("Hashicorp/RANDOM", "registry.opentofu.org/hashicorp/random"),
            ("REGISTRY.OpenTofu.org/hashicorp/random", "registry.opentofu.org/hashicorp/random"),
            ("registry.terraform.io/hashicorp/random", "registry.terraform.io/hashicorp/random"),
            ("BunnyWay/bunnynet", "registry.opentofu.org/bunnyway/bunnynet"),
            ("1/2", "registry.opentofu.org/1/2"),
            ("a/a1-2b", "registry.opentofu.org/a/a1-2b"),
            ("a/terraform", "registry.opentofu.org/a/terraform"),
            ("a/opentofu", "registry.opentofu.org/a/opentofu"),
            ("terraform.io/builtin/terraform", "terraform.io/builtin/terraform"),
            // Names are normalised like hosts.
            ("A/BÜCHER", "registry.opentofu.org/a/bücher"),
            ("a/faß", "registry.opentofu.org/a/faß"),
            ("a/日本", "registry.opentofu.org/a/日本"),
            ("a/ｈ", "registry.opentofu.org/a/h"),
            ("a/①", "registry.opentofu.org/a/1"),
            ("a/İ", "registry.opentofu.org/a/i\u{307}"),
            ("a/א", "registry.opentofu.org/a/א"),
            ("a/😀", "registry.opentofu.org/a/😀"),
            ("a/\u{ad}b", "registry.opentofu.org/a/b"),
            // Hosts
            ("localhost/a/b", "localhost/a/b"),
            ("127.0.0.1:8080/a/b", "127.0.0.1:8080/a/b"),
            ("example.com:8080/a/b", "example.com:8080/a/b"),
            ("example.com:0443/a/b", "example.com/a/b"),
            ("example.com:65535/a/b", "example.com:65535/a/b"),
            ("example.com:0/a/b", "example.com:0/a/b"),
            ("example.com./a/b", "example.com./a/b"),
            ("Bücher.Example/a/b", "bücher.example/a/b"),
            ("ドメイン名例.example/a/b", "ドメイン名例.example/a/b"),
            ("faß.de/a/b", "faß.de/a/b"),
            ("例。com/a/b", "例.com/a/b"),
        ] {
            assert_eq!(
                ProviderAddress::parse(text).map(|address| address.to_string()),
                Ok(full.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn an_address_is_short_where_its_host_goes_without_saying() {
        let shown = |text: &str| ProviderAddress::parse(text).expect(text).for_display();
        assert_eq!(shown("random"), "hashicorp/random");
        assert_eq!(shown("registry.opentofu.org/a/b"), "a/b");
        assert_eq!(shown("registry.terraform.io/a/b"), "registry.terraform.io/a/b");
        let address = ProviderAddress::parse("example.com:81/a/b").expect("it is one");
        assert_eq!(
            (address.host(), address.namespace(), address.provider_type()),
            ("example.com:81", "a", "b")
        );
    }

    #[test]
    fn the_user_of_a_url_is_not_repeated() {
        for (text, shown) in [
            ("https://me:sesame@example.com/a/b", "\"https://…@example.com/a/b\""),
            ("https://sesame@example.com/a/b", "\"https://…@example.com/a/b\""),
            ("me:sesame@example.com/a/b", "\"…@example.com/a/b\""),
            ("example.com:8443/a/b@1.0", "\"…\""),
        ] {
            let error = ProviderAddress::parse(text).expect_err("no address").to_string();
            assert!(error.starts_with(shown), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "it has 1 parts, or an empty one"),
            ("/", "an empty one"),
            ("a/", "an empty one"),
            ("a//b", "an empty one"),
            ("a/b/c/d", "it has 4 parts"),
            ("https://example.com/a/b", "leave out the scheme"),
            ("https:a/b/c", "leave out the scheme"),
            ("a.b/c", "the namespace \"a.b\" contains a dot"),
            ("a/b.c", "the type \"b.c\" contains a dot"),
            ("a/b。c", "the type \"b。c\" must consist of letters"),
            ("a/。。", "must consist of letters"),
            ("../..", "the path of a file"),
            ("a．b/c", "must consist of letters"),
            ("a/-b", "without a hyphen at either end"),
            ("a/b-", "without a hyphen at either end"),
            ("a--b/c", "the namespace \"a--b\" contains two hyphens"),
            ("a/xn--bcher-kva", "two hyphens"),
            ("a/b_c", "letters, digits and hyphens"),
            ("a/b c", "letters, digits and hyphens"),
            (" a/b", "letters, digits and hyphens"),
            ("a/b\0", "letters, digits and hyphens"),
            ("a/b!", "letters, digits and hyphens"),
            ("a/\u{ad}", "letters, digits and hyphens"),
            ("a/a\u{200d}b", "letters, digits and hyphens"),
            ("a/אa", "letters, digits and hyphens"),
            ("?/aws", "letters, digits and hyphens"),
            ("-/aws", "is not in use any more"),
            ("C:\\x\\terraform-provider-a", "letters, digits and hyphens"),
            ("C:/terraform/x", "the port \"\""),
            ("example.com:/a/b", "the port \"\""),
            ("example.com:x/a/b", "the port \"x\""),
            ("example.com:65536/a/b", "the port \"65536\""),
            ("example.com:-1/a/b", "the port \"-1\""),
            ("example.com:+80/a/b", "the port \"+80\""),
            ("[::1]/a/b", "the port"),
            (":80/a/b", "the host \"\""),
            ("example..com/a/b", "the host \"example..com\""),
            (".example.com/a/b", "the host"),
            ("./a/b", "the path of a file"),
            ("。/a/b", "the host"),
            ("\u{ad}.com/a/b", "the host"),
            ("-bad.example/a/b", "the host"),
            ("ba--d.example/a/b", "the host"),
            ("ex_ample.com/a/b", "the host"),
            ("example.com%20/a/b", "the host"),
            ("xn--bcher-kva.example/a/b", "Punycode"),
            ("a.XN--bcher-kva/a/b", "Punycode"),
            ("a/terraform-provider-random", "did you mean \"a/random\", or a file"),
            ("terraform-provider-random", "did you mean \"hashicorp/random\", or a file"),
            ("example.com/a/opentofu-provider-x", "did you mean \"example.com/a/x\", or a file"),
            ("a/terraform-random", "starts with \"terraform-\""),
            ("a/Terraform-random", "starts with \"terraform-\""),
        ] {
            let error = ProviderAddress::parse(text).expect_err(text).to_string();
            assert!(error.contains(reason) && error.contains(&format!("{text:?}")), "{text:?}: {error}");
        }
        let long = "a".repeat(5000);
        assert!(ProviderAddress::parse(&long).expect_err("nobody is called so").to_string().len() < 400);
    }

    proptest! {
        #[test]
        fn a_plain_address_stays_as_it_is(
            text in "[a-z][a-z0-9]{0,9}(\\.[a-z0-9]{1,5}){0,2}(:[1-9][0-9]{0,2})?/[a-z0-9]{1,5}(-[a-z0-9]{1,5})?/[a-z0-9]{1,9}",
        ) {
            prop_assume!(!text.contains(":443/"));
            prop_assert_eq!(ProviderAddress::parse(&text).map(|address| address.to_string()), Ok(text));
        }
    }
}
