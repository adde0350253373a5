//! The server's side of go-plugin's mutual TLS.
//!
//! The client sends its certificate in an environment variable and receives the server's in the
//! handshake line; each side trusts exactly that one. The certificate is like go-plugin's (a P-521
//! key, marked as a CA, valid for 30 years), because other TLS libraries reject some of these
//! properties.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P521_SHA512,
};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName as Issuer, Error, ServerConfig,
    SignatureScheme,
};

/// A certificate and its key, for one process.
#[derive(Debug)]
pub(crate) struct Identity {
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    /// The certificate cannot be generated.
    #[error("a certificate could not be made")]
    Certificate(#[from] rcgen::Error),
    /// The client's certificate is invalid.
    #[error("PLUGIN_CLIENT_CERT is not a certificate in PEM")]
    ClientCertificate(#[source] rustls::pki_types::pem::Error),
    /// rustls rejects the configuration.
    #[error("TLS could not be configured")]
    Configuration(#[from] Error),
}

impl Identity {
    /// Generates a certificate.
    ///
    /// # Errors
    /// When the cryptographic library fails.
    pub(crate) fn generate() -> Result<Self, TlsError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512)?;
        let mut parameters = CertificateParams::new(vec!["localhost".to_owned()])?;
        let mut name = DistinguishedName::new();
        name.push(DnType::CommonName, "localhost");
        name.push(DnType::OrganizationName, "HashiCorp");
        parameters.distinguished_name = name;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
            KeyUsagePurpose::KeyAgreement,
            KeyUsagePurpose::KeyCertSign,
        ];
        parameters.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = parameters.self_signed(&key)?.der().clone();
        Ok(Self { certificate, key })
    }

    pub(crate) const fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The configuration for connections of the client with this certificate.
    pub(crate) fn server_config(&self, client_certificate: &str) -> Result<ServerConfig, TlsError> {
        let client = CertificateDer::from_pem_slice(client_certificate.as_bytes());
        let client = client.map_err(TlsError::ClientCertificate)?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(Pinned::new(client, &provider)))
            .with_single_cert(vec![self.certificate.clone()], key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }
}

/// Trusts one certificate, if the client can sign with its key.
#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Pinned {
    fn new(certificate: CertificateDer<'static>, provider: &CryptoProvider) -> Self {
        Self { certificate, algorithms: provider.signature_verification_algorithms }
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[Issuer] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if *end_entity == self.certificate {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
