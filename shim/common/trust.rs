//! Trust in servers: registries, mirrors, and the state store's.
//!
//! A server is trusted if a known CA has issued its certificate, or if the certificate itself is
//! known. The second rule is that of Go programs, and so of `tofu init`: `openssl req -x509`
//! creates a certificate that is a CA and a server's at once, and adding it to SSL_CERT_FILE trusts
//! that server. webpki refuses such a certificate (`CaUsedAsEndEntity`). Only then is it compared
//! with the known ones, byte for byte. Its dates, name and purpose are verified as usual, and so is
//! the signature of the handshake, which proves that the server has the key.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::ext::pkix::ExtendedKeyUsage;

/// The purpose of a server's certificate.
const SERVER_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
/// Every purpose.
const ANY_PURPOSE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");

/// TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Unsupported protocol versions or cipher suites.
    #[error("could not set up TLS")]
    Configuration(#[from] Error),
    /// There are no trusted certificates.
    #[error("could not set up TLS: no authority is known")]
    Roots(#[from] VerifierBuilderError),
}

/// A client configuration that trusts the `known` certificates. Invalid ones are ignored.
///
/// # Errors
/// When there is none.
pub fn client_config(known: Vec<CertificateDer<'static>>) -> Result<ClientConfig, TrustError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(known.iter().cloned());
    let issued =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build()?;
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(KnownServers { issued, known }))
        .with_no_client_auth())
}

#[derive(Debug)]
struct KnownServers {
    issued: Arc<WebPkiServerVerifier>,
    known: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for KnownServers {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.issued.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            Err(error) if is_authority_as_server(&error) && self.known.contains(end_entity) => {
                let certificate = Certificate::from_der(end_entity)
                    .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
                check_dates(&certificate, now)?;
                check_purpose(&certificate)?;
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.issued.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.issued.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.issued.supported_verify_schemes()
    }
}

fn is_authority_as_server(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(OtherError(other))) = error else { return false };
    matches!(other.downcast_ref::<webpki::Error>(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// webpki checks the dates before it refuses a CA, but does not guarantee that.
fn check_dates(certificate: &Certificate, now: UnixTime) -> Result<(), CertificateError> {
    let validity = &certificate.tbs_certificate.validity;
    if now.as_secs() < validity.not_before.to_unix_duration().as_secs() {
        return Err(CertificateError::NotValidYet);
    }
    if now.as_secs() > validity.not_after.to_unix_duration().as_secs() {
        return Err(CertificateError::Expired);
    }
    Ok(())
}

/// A certificate without a purpose is for all.
fn check_purpose(certificate: &Certificate) -> Result<(), CertificateError> {
    let purposes = certificate.tbs_certificate.get::<ExtendedKeyUsage>();
    let purposes = purposes.map_err(|_| CertificateError::BadEncoding)?;
    let is_server =
        |purposes: &ExtendedKeyUsage| purposes.0.contains(&SERVER_AUTH) || purposes.0.contains(&ANY_PURPOSE);
    match purposes {
        Some((_, purposes)) if !is_server(&purposes) => Err(CertificateError::InvalidPurpose),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
        KeyUsagePurpose, date_time_ymd,
    };
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use rustls::{ServerConfig, SupportedProtocolVersion};
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;

    const NAME: &str = "registry.example";

    /// A certificate as of `openssl req -x509 -addext subjectAltName=DNS:…`.
    fn authority() -> CertificateParams {
        let mut params = CertificateParams::new(vec![NAME.to_owned()]).expect("a name");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
    }

    /// Handshakes with a server that presents a certificate and has a key, trusting others.
    async fn shake_hands(
        known: &[&CertificateDer<'static>],
        shown: &CertificateDer<'static>,
        key: &KeyPair,
        version: &'static SupportedProtocolVersion,
    ) -> Result<(), String> {
        let client = client_config(known.iter().map(|known| (*known).clone()).collect());
        let client = client.map_err(|error| crate::error_chain(&error))?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key = aws_lc_rs::sign::any_supported_type(&key).expect("a key");
        // The client verifies that the key belongs to the certificate.
        let pair = rustls::sign::CertifiedKey::new(vec![shown.clone()], key);
        let server = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(pair)));
        let (near, far) = tokio::io::duplex(1 << 16);
        let name = ServerName::try_from(NAME).expect("a name");
        let connector = TlsConnector::from(Arc::new(client));
        let (connected, _) =
            tokio::join!(connector.connect(name, near), TlsAcceptor::from(Arc::new(server)).accept(far));
        connected.map(drop).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_server_that_shows_a_known_authority_as_its_own_certificate_is_trusted() {
        let key = KeyPair::generate().expect("a key");
        let certificate = authority().self_signed(&key).expect("a certificate");
        for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
            let shaken = shake_hands(&[certificate.der()], certificate.der(), &key, version).await;
            assert_eq!(shaken, Ok(()), "{version:?}");
        }
        let mut for_servers = authority();
        for_servers.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let mut for_anything = authority();
        for_anything.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any];
        for params in [for_servers, for_anything] {
            let certificate = params.self_signed(&key).expect("a certificate");
            let shaken =
                shake_hands(&[certificate.der()], certificate.der(), &key, &rustls::version::TLS13).await;
            assert_eq!(shaken, Ok(()));
        }
    }

    #[tokio::test]
    async fn nothing_else_of_an_authority_is_trusted_than_its_exact_certificate() {
        let key = KeyPair::generate().expect("a key");
        let known = authority().self_signed(&key).expect("a certificate");
        // The same subject and key, issued again.
        let again = authority().self_signed(&key).expect("a certificate");
        assert_ne!(known.der(), again.der());
        // An intermediate CA's certificate as a server's.
        let mut root = authority();
        root.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let root = CertifiedIssuer::self_signed(root, KeyPair::generate().expect("a key")).expect("a root");
        let below = authority().signed_by(&key, &root).expect("a certificate");
        for (known, shown) in [(known.der(), again.der()), (root.der(), below.der())] {
            let error = shake_hands(&[known], shown, &key, &rustls::version::TLS13).await;
            let error = error.expect_err("it is another certificate");
            assert!(error.contains("CaUsedAsEndEntity"), "{error}");
        }
        // The certificate is public; without its key, it proves nothing.
        for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
            let other = KeyPair::generate().expect("a key");
            let error = shake_hands(&[known.der()], known.der(), &other, version).await;
            let error = error.expect_err("it has another key");
            assert!(error.contains("BadSignature") || error.contains("bad signature"), "{error}");
        }
    }

    #[tokio::test]
    async fn dates_name_and_purpose_of_a_known_certificate_are_checked() {
        let mut expired = authority();
        expired.not_after = date_time_ymd(2020, 1, 1);
        let mut early = authority();
        early.not_before = date_time_ymd(4000, 1, 1);
        let mut elsewhere = authority();
        elsewhere.subject_alt_names =
            CertificateParams::new(vec!["other.example".to_owned()]).expect("a name").subject_alt_names;
        let mut for_clients = authority();
        for_clients.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        for (params, why) in [
            (expired, "expired"),
            (early, "not valid yet"),
            (elsewhere, "not valid for name"),
            (for_clients, "purpose"),
        ] {
            let key = KeyPair::generate().expect("a key");
            let certificate = params.self_signed(&key).expect("a certificate");
            let error =
                shake_hands(&[certificate.der()], certificate.der(), &key, &rustls::version::TLS13).await;
            let error = error.expect_err(why);
            assert!(error.to_lowercase().contains(why), "{why}: {error}");
        }
    }
}
