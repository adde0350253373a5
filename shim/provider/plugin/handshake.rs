//! The handshake line of a go-plugin server: `1|6|unix|/path/plugin123|grpc|CERTIFICATE|`.
//!
//! The parser is pure, because an unknown executable may print anything, from a usage text to a web
//! page. Each fault is its own error with its own advice. Messages show the line escaped and
//! truncated.
//!
//! The server chooses the protocol version; one that has none in common with its client announces
//! its own, so the version is always checked.

use std::net::SocketAddr;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use isthmus_common::is_misleading;
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;

/// Major version of the provider protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProtocolVersion {
    /// `tfplugin5`: Terraform 0.12 and later; the SDKv2's, and many framework providers'.
    V5,
    /// `tfplugin6`: Terraform 1.0 and later; nested attributes.
    V6,
}

impl ProtocolVersion {
    /// The version number.
    pub fn number(self) -> u32 {
        match self {
            Self::V5 => 5,
            Self::V6 => 6,
        }
    }

    /// The version with this number, if it is supported.
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        match number {
            5 => Some(Self::V5),
            6 => Some(Self::V6),
            _ => None,
        }
    }
}

/// Address of a provider, on this machine only: a Unix socket, or TCP on the loopback interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Absolute path of a Unix socket.
    Unix(PathBuf),
    /// A loopback address with a port other than 0.
    Tcp(SocketAddr),
}

impl Address {
    /// Parses a network name (`unix`, `tcp`) and an address, as printed by Go's `net.Addr`.
    pub(super) fn parse(network: &str, address: &str) -> Result<Self, AddressError> {
        match network {
            "unix" => {
                let path = PathBuf::from(address);
                if path.is_absolute() && !address.contains('\0') {
                    Ok(Self::Unix(path))
                } else {
                    Err(AddressError::SocketPath { path: shown(address) })
                }
            }
            "tcp" => {
                let unreadable = || AddressError::TcpAddress { address: shown(address) };
                let socket: SocketAddr = address.parse().map_err(|_| unreadable())?;
                if socket.port() == 0 {
                    Err(unreadable())
                } else if !socket.ip().is_loopback() {
                    Err(AddressError::NotLoopback { address: socket })
                } else {
                    Ok(Self::Tcp(socket))
                }
            }
            other => Err(AddressError::Network { network: shown(other) }),
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "unix socket {}", path.display()),
            Self::Tcp(address) => write!(formatter, "TCP address {address}"),
        }
    }
}

/// Why an address is unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// A network other than `unix` and `tcp`.
    #[error("it listens on the network \"{network}\"; only \"unix\" and \"tcp\" are known")]
    Network {
        /// The network, escaped.
        network: String,
    },
    /// An empty or relative socket path.
    #[error("it listens on the unix socket \"{path}\", which is not an absolute path")]
    SocketPath {
        /// The path, escaped.
        path: String,
    },
    /// Not `IP:port`.
    #[error("it listens on the TCP address \"{address}\", which is not an IP address with a port")]
    TcpAddress {
        /// The address, escaped.
        address: String,
    },
    /// An address that may be another machine's.
    #[error(
        "it listens on {address}, which is not a loopback address; a provider is only spoken to on this machine"
    )]
    NotLoopback {
        /// The address, escaped.
        address: SocketAddr,
    },
}

/// A valid handshake line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The protocol version.
    pub protocol: ProtocolVersion,
    /// The address, escaped.
    pub address: Address,
    /// The certificate that it will present; `None` without TLS.
    pub certificate: Option<CertificateDer<'static>>,
}

/// The requested transport, which determines the contents of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A client certificate was sent: the server must return its own.
    MutualTls,
    /// No TLS.
    Plain,
}

/// Why a line of output is no valid handshake line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HandshakeError {
    /// The first line was blank.
    #[error(
        "its first line of output is empty, where a handshake line was expected; it is not a Terraform provider"
    )]
    Empty,
    /// No handshake line: not a go-plugin server.
    #[error(
        "its first line of output is not a handshake (`1|5 or 6|network|address|grpc|certificate`), so it is not a \
         Terraform provider; it printed \"{beginning}\""
    )]
    NotAHandshake {
        /// The first bytes, escaped and truncated.
        beginning: String,
    },
    /// An incomplete handshake line.
    #[error("its handshake line has {count} fields, and at least 4 are needed: \"{line}\"")]
    TooFewFields {
        /// Number of fields.
        count: usize,
        /// The line, escaped and truncated.
        line: String,
    },
    /// A later go-plugin protocol.
    #[error(
        "it speaks version {offered} of go-plugin's own protocol, and only version 1 is known; a newer isthmus is needed"
    )]
    CoreProtocol {
        /// The offered version, escaped.
        offered: String,
    },
    /// A provider from before Terraform 0.12 (4), or from the future.
    #[error(
        "it offers version {offered} of the Terraform plugin protocol; isthmus speaks versions 5 and 6. Use a release of \
         the provider that speaks one of them"
    )]
    ProviderProtocol {
        /// The second field, escaped.
        offered: String,
    },
    /// An unusable address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Go's own RPC encoding, from before Terraform 0.12.
    #[error(
        "it speaks \"{offered}\" instead of gRPC, as providers from before Terraform 0.12 did; use a later release of \
         the provider"
    )]
    NotGrpc {
        /// The fifth field, escaped; `netrpc` if missing, which means the same.
        offered: String,
    },
    /// The sixth field is not base64.
    #[error("the certificate in its handshake line is not base64")]
    CertificateEncoding(#[source] base64::DecodeError),
    /// The sixth field is no certificate.
    #[error("the certificate in its handshake line is not an X.509 certificate")]
    CertificateContent(#[source] rustls::Error),
    /// TLS was requested, but not provided. Continuing would use plain text.
    #[error(
        "isthmus requires mutual TLS, and it announced no certificate; if it cannot do TLS, start it without (as \
         TF_DISABLE_PLUGIN_TLS does in Terraform)"
    )]
    CertificateMissing,
    /// TLS was not requested; without a client certificate every connection would be refused.
    #[error(
        "it announced a certificate although isthmus requested plain text, and would refuse a connection without TLS"
    )]
    CertificateUnasked,
    /// The listener requires go-plugin's multiplexing instead of plain gRPC.
    #[error("it insists on go-plugin's connection multiplexing, which isthmus does not support")]
    Multiplexed,
}

impl Handshake {
    /// Parses the first line of standard output, without its line feed.
    ///
    /// # Errors
    /// With at most a few hundred characters of the line.
    pub fn parse(line: &[u8], transport: Transport) -> Result<Self, HandshakeError> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Err(HandshakeError::Empty);
        }
        let not_a_handshake = || HandshakeError::NotAHandshake { beginning: shown_bytes(line) };
        let text = std::str::from_utf8(line).map_err(|_| not_a_handshake())?;
        let fields: Vec<&str> = text.splitn(MOST_FIELDS + 1, '|').map(str::trim).collect();

        if !is_number(fields[0]) || fields.len() < 2 {
            return Err(not_a_handshake());
        }
        if fields.len() < FEWEST_FIELDS {
            return Err(HandshakeError::TooFewFields { count: fields.len(), line: shown(text) });
        }
        if fields[0] != CORE_PROTOCOL {
            return Err(HandshakeError::CoreProtocol { offered: shown(fields[0]) });
        }
        let protocol = fields[1]
            .parse()
            .ok()
            .and_then(ProtocolVersion::from_number)
            .ok_or_else(|| HandshakeError::ProviderProtocol { offered: shown(fields[1]) })?;
        let address = Address::parse(fields[2], fields[3])?;
        match fields.get(4).copied() {
            Some("grpc") => {}
            None | Some("") => return Err(HandshakeError::NotGrpc { offered: "netrpc".to_owned() }),
            Some(other) => return Err(HandshakeError::NotGrpc { offered: shown(other) }),
        }
        if fields.get(6) == Some(&"true") {
            return Err(HandshakeError::Multiplexed);
        }
        let certificate = certificate(fields.get(5).copied().unwrap_or_default())?;
        match (transport, &certificate) {
            (Transport::MutualTls, None) => Err(HandshakeError::CertificateMissing),
            (Transport::Plain, Some(_)) => Err(HandshakeError::CertificateUnasked),
            (Transport::MutualTls, Some(_)) | (Transport::Plain, None) => {
                Ok(Self { protocol, address, certificate })
            }
        }
    }
}

/// Version of go-plugin's handshake line.
const CORE_PROTOCOL: &str = "1";
/// Number of fields of the oldest servers.
const FEWEST_FIELDS: usize = 4;
/// Number of fields of the newest servers; the rest is ignored.
const MOST_FIELDS: usize = 7;
/// go-plugin ignores a shorter sixth field, a placeholder of old servers.
const LONGEST_PLACEHOLDER: usize = 50;
/// Maximum bytes of output in an error.
const SHOWN_BYTES: usize = 200;

/// Go prints the field without padding; some other servers pad.
fn certificate(field: &str) -> Result<Option<CertificateDer<'static>>, HandshakeError> {
    if field.len() <= LONGEST_PLACEHOLDER {
        return Ok(None);
    }
    let der = STANDARD_NO_PAD
        .decode(field.trim_end_matches('='))
        .map_err(HandshakeError::CertificateEncoding)
        .map(CertificateDer::from)?;
    ParsedCertificate::try_from(&der).map_err(HandshakeError::CertificateContent)?;
    Ok(Some(der))
}

fn is_number(field: &str) -> bool {
    !field.is_empty() && field.len() <= 10 && field.bytes().all(|byte| byte.is_ascii_digit())
}

fn shown(text: &str) -> String {
    shown_bytes(text.as_bytes())
}

/// Escapes and truncates bytes for an error text.
pub(super) fn shown_bytes(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN_BYTES)];
    let mut text = String::with_capacity(cut.len() + 8);
    for chunk in cut.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_misleading(character) || matches!(character, '"' | '\\') {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    if cut.len() < bytes.len() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(line: &str) -> Result<Handshake, HandshakeError> {
        Handshake::parse(line.as_bytes(), Transport::Plain)
    }

    fn certificate_field() -> (String, CertificateDer<'static>) {
        let identity = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("can sign");
        let der = identity.cert.der().clone();
        (STANDARD_NO_PAD.encode(&der), der)
    }

    #[test]
    fn a_plain_text_line_of_a_go_provider_is_understood() {
        let handshake = plain("1|5|unix|/tmp/plugin4080500168|grpc|\n").expect("a real line");
        assert_eq!(handshake.protocol, ProtocolVersion::V5);
        assert_eq!(handshake.address, Address::Unix("/tmp/plugin4080500168".into()));
        assert_eq!(handshake.certificate, None);
    }

    #[test]
    fn a_line_with_a_certificate_yields_its_exact_bytes_with_padding_or_without() {
        let (field, der) = certificate_field();
        for padding in ["", "=", "=="] {
            let line = format!("1|6|tcp|127.0.0.1:10000|grpc|{field}{padding}|false");
            let handshake = Handshake::parse(line.as_bytes(), Transport::MutualTls).expect("a good line");
            assert_eq!(handshake.protocol, ProtocolVersion::V6);
            assert_eq!(handshake.address, Address::Tcp(([127, 0, 0, 1], 10000).into()));
            assert_eq!(handshake.certificate, Some(der.clone()));
        }
    }

    #[test]
    fn every_way_to_be_wrong_has_its_own_error() {
        use HandshakeError as E;
        type Case = (String, fn(&E) -> bool);
        let long = "A".repeat(60);
        let cases: Vec<Case> = vec![
            ("".into(), |e| matches!(e, E::Empty)),
            (" \r\n".into(), |e| matches!(e, E::Empty)),
            ("Usage: tool [options]".into(), |e| matches!(e, E::NotAHandshake { .. })),
            ("<html>|<body>|a|b|c".into(), |e| matches!(e, E::NotAHandshake { .. })),
            ("1".into(), |e| matches!(e, E::NotAHandshake { .. })),
            ("1|5".into(), |e| matches!(e, E::TooFewFields { count: 2, .. })),
            ("1|5|unix".into(), |e| matches!(e, E::TooFewFields { count: 3, .. })),
            ("2|5|unix|/tmp/a|grpc|".into(), |e| matches!(e, E::CoreProtocol { offered } if offered == "2")),
            (
                "1|4|unix|/tmp/a|grpc|".into(),
                |e| matches!(e, E::ProviderProtocol { offered } if offered == "4"),
            ),
            (
                "1|7|unix|/tmp/a|grpc|".into(),
                |e| matches!(e, E::ProviderProtocol { offered } if offered == "7"),
            ),
            ("1|x|unix|/tmp/a|grpc|".into(), |e| matches!(e, E::ProviderProtocol { .. })),
            ("1|5|unix|/tmp/a".into(), |e| matches!(e, E::NotGrpc { offered } if offered == "netrpc")),
            ("1|5|unix|/tmp/a|netrpc".into(), |e| matches!(e, E::NotGrpc { offered } if offered == "netrpc")),
            ("1|5|udp|/tmp/a|grpc|".into(), |e| matches!(e, E::Address(AddressError::Network { .. }))),
            ("1|5|unix|plugin1|grpc|".into(), |e| matches!(e, E::Address(AddressError::SocketPath { .. }))),
            ("1|5|unix||grpc|".into(), |e| matches!(e, E::Address(AddressError::SocketPath { .. }))),
            ("1|5|tcp|localhost|grpc|".into(), |e| matches!(e, E::Address(AddressError::TcpAddress { .. }))),
            ("1|5|tcp|127.0.0.1:0|grpc|".into(), |e| {
                matches!(e, E::Address(AddressError::TcpAddress { .. }))
            }),
            ("1|5|tcp|10.0.0.1:80|grpc|".into(), |e| {
                matches!(e, E::Address(AddressError::NotLoopback { .. }))
            }),
            ("1|5|tcp|0.0.0.0:80|grpc|".into(), |e| {
                matches!(e, E::Address(AddressError::NotLoopback { .. }))
            }),
            ("1|5|unix|/tmp/a|grpc||true".into(), |e| matches!(e, E::Multiplexed)),
            (format!("1|5|unix|/tmp/a|grpc|!{long}"), |e| matches!(e, E::CertificateEncoding(_))),
            (format!("1|5|unix|/tmp/a|grpc|{long}"), |e| matches!(e, E::CertificateContent(_))),
        ];
        for (line, expected) in cases {
            let error = plain(&line).expect_err(&line);
            assert!(expected(&error), "{line:?} was judged {error:?}");
        }
    }

    #[test]
    fn a_certificate_must_be_there_exactly_when_tls_was_asked_for() {
        let (field, _) = certificate_field();
        let bare = b"1|5|unix|/tmp/a|grpc|";
        assert_eq!(Handshake::parse(bare, Transport::MutualTls), Err(HandshakeError::CertificateMissing));
        let unasked = format!("1|5|unix|/tmp/a|grpc|{field}");
        assert_eq!(plain(&unasked), Err(HandshakeError::CertificateUnasked));
    }

    #[test]
    fn the_message_about_versions_names_both_sides() {
        let text = plain("1|4|unix|/tmp/a|grpc|").expect_err("version 4").to_string();
        assert!(text.contains("offers version 4") && text.contains("speaks versions 5 and 6"), "{text}");
    }

    #[test]
    fn garbage_is_shown_escaped_and_cut() {
        let mut garbage = b"\x1b[31mno \"provider\"\xff".to_vec();
        garbage.extend(std::iter::repeat_n(b'x', 100_000));
        let text = Handshake::parse(&garbage, Transport::Plain).expect_err("garbage").to_string();
        assert!(text.contains(r#"\u{1b}[31mno \"provider\"\xff"#), "{text}");
        assert!(text.len() < 1000 && text.contains('…'), "{} bytes", text.len());
    }

    proptest! {
        #[test]
        fn no_line_makes_the_parser_panic(line in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Err(error) = Handshake::parse(&line, Transport::MutualTls) {
                prop_assert!(error.to_string().len() < 2000);
            }
        }

        #[test]
        fn no_fields_make_the_parser_panic(fields in proptest::collection::vec("[0-9a-z/.:|=]{0,12}", 0..9)) {
            let line = format!("1|5|{}", fields.join("|"));
            let outcome = Handshake::parse(line.as_bytes(), Transport::Plain);
            prop_assert!(outcome.as_ref().map_or(true, |handshake| handshake.certificate.is_none()));
        }
    }
}
