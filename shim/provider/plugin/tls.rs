//! Mutual TLS with one provider process, as in go-plugin's AutoMTLS.
//!
//! Each start generates a key pair; nothing is stored. The client's certificate is passed in an
//! environment variable, the server's in the handshake line, so both sides know the expected
//! certificate. It is compared byte for byte, which is stricter than a chain, and the signature of
//! the handshake is verified, because the certificate is public, but the key is not.
//!
//! The default verifier cannot be used: Go presents a certificate that is its own CA, which webpki
//! refuses. aws-lc-rs is needed because the key is P-521, which ring does not support.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};

/// The name in both certificates, whatever the address is.
pub(super) const SERVER_NAME: &str = "localhost";

/// Our certificate and key for the connections to one process.
pub(super) struct ClientIdentity {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
    pem: String,
}

/// Creating certificates or the TLS configuration failed, on our side.
#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    /// Key or certificate.
    #[error("the client certificate for the provider cannot be made")]
    Certificate(#[source] rcgen::Error),
    /// The configuration of the connection.
    #[error("the TLS connection to the provider cannot be set up")]
    Configuration(#[source] rustls::Error),
}

impl ClientIdentity {
    /// Generates a P-256 key and a self-signed certificate with the fields of go-plugin's hosts. Go
    /// adds it to its pool of CAs, hence the CA flag and both purposes.
    pub(super) fn generate() -> Result<Self, TlsSetupError> {
        let (certificate, key) =
            self_signed(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(TlsSetupError::Certificate)?;
        Ok(Self {
            certificate: certificate.der().clone(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()),
            pem: certificate.pem(),
        })
    }

    /// The certificate in the form of `PLUGIN_CLIENT_CERT`.
    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// A configuration that accepts only the owner of `pinned`, with HTTP/2 by ALPN (grpc-go drops
    /// other connections).
    pub(super) fn client_configuration(
        &self,
        pinned: CertificateDer<'static>,
    ) -> Result<ClientConfig, TlsSetupError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = Arc::new(PinnedServer { pinned, provider: Arc::clone(&provider) });
        let mut configuration = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(TlsSetupError::Configuration)?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_auth_cert(vec![self.certificate.clone()], PrivateKeyDer::Pkcs8(self.key.clone_key()))
            .map_err(TlsSetupError::Configuration)?;
        configuration.alpn_protocols = vec![b"h2".to_vec()];
        configuration.resumption = Resumption::disabled();
        Ok(configuration)
    }
}

/// go-plugin's certificate template, with a key of the given kind.
pub(super) fn self_signed(
    algorithm: &'static rcgen::SignatureAlgorithm,
) -> Result<(rcgen::Certificate, KeyPair), rcgen::Error> {
    let key = KeyPair::generate_for(algorithm)?;
    let mut template = CertificateParams::new(vec![SERVER_NAME.to_owned()])?;
    template.distinguished_name = DistinguishedName::new();
    template.distinguished_name.push(DnType::CommonName, SERVER_NAME);
    template.distinguished_name.push(DnType::OrganizationName, "HashiCorp");
    template.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    template.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
        KeyUsagePurpose::KeyAgreement,
        KeyUsagePurpose::KeyCertSign,
    ];
    template.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
    // A clock before 1970 yields 1970, and Go then rejects the certificate as expired.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    template.not_before = epoch + now.saturating_sub(CLOCK_TOLERANCE);
    template.not_after = epoch + now + LIFETIME;
    let certificate = template.self_signed(&key)?;
    Ok((certificate, key))
}

const CLOCK_TOLERANCE: Duration = Duration::from_secs(30);
/// go-plugin's 30 years: a provider may run as long as its host.
const LIFETIME: Duration = Duration::from_secs(262_980 * 3600);

/// Accepts one certificate, from the holder of its key.
#[derive(Debug)]
struct PinnedServer {
    pinned: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedServer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if end_entity.as_ref() == self.pinned.as_ref() {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rustls::ServerConfig;
    use rustls::sign::{CertifiedKey, SingleCertAndKey};
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;

    /// Handshakes with a server that presents `certificate` and signs with `key`.
    async fn shake_hands(
        client: ClientConfig,
        certificate: CertificateDer<'static>,
        key: &KeyPair,
        version: &'static rustls::SupportedProtocolVersion,
    ) -> Result<(), String> {
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let key = aws_lc_rs::sign::any_supported_type(&key).expect("the key is of a usual kind");
        let shown = SingleCertAndKey::from(CertifiedKey::new(vec![certificate], key));
        let mut server = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&[version])
            .expect("a usual version")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(shown));
        server.alpn_protocols = vec![b"h2".to_vec()];
        let (near, far) = tokio::io::duplex(64 * 1024);
        let name = ServerName::try_from(SERVER_NAME).expect("a name");
        let (client, _) = tokio::join!(
            TlsConnector::from(Arc::new(client)).connect(name, near),
            TlsAcceptor::from(Arc::new(server)).accept(far)
        );
        client.map(drop).map_err(|error| error.to_string())
    }

    fn server_identity() -> (CertificateDer<'static>, KeyPair) {
        let (certificate, key) = self_signed(&rcgen::PKCS_ECDSA_P521_SHA512).expect("can make a certificate");
        (certificate.der().clone(), key)
    }

    #[tokio::test]
    async fn only_the_pinned_certificate_with_its_own_key_is_accepted() {
        let (certificate, key) = server_identity();
        let (other_certificate, other_key) = server_identity();
        for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
            let client = || {
                let identity = ClientIdentity::generate().expect("can make a certificate");
                identity.client_configuration(certificate.clone()).expect("can be configured")
            };
            let honest = shake_hands(client(), certificate.clone(), &key, version).await;
            assert_eq!(honest, Ok(()), "{version:?}");
            let other = shake_hands(client(), other_certificate.clone(), &other_key, version).await;
            assert!(other.is_err_and(|error| error.contains("invalid peer certificate")), "{version:?}");
            let stolen = shake_hands(client(), certificate.clone(), &other_key, version).await;
            assert!(
                stolen.as_ref().is_err_and(|error| error.contains("BadSignature")),
                "{version:?}: {stolen:?}"
            );
        }
    }

    #[test]
    fn every_process_gets_an_identity_of_its_own() {
        let [one, two] = [(); 2].map(|()| ClientIdentity::generate().expect("can make a certificate"));
        assert_ne!(one.pem(), two.pem());
        assert!(one.pem().starts_with("-----BEGIN CERTIFICATE-----"), "{}", one.pem());
    }
}
