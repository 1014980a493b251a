//! Which server certificates a client accepts.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme, WantsVerifier};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::{Error, Result};

/// Encrypts connections with TLS.
pub type Connector = MakeRustlsConnect;

/// Accepts certificates signed by an authority in a PEM file.
pub fn trusting_file(file: &str) -> Result<Connector> {
    let failed = |reason: String| Error::Certificates(format!("sslrootcert={file}: {reason}"));
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(failed("it contains no certificate".into()));
    }
    Ok(trusting(roots))
}

/// Accepts certificates signed by an authority that this machine trusts.
pub fn trusting_the_system() -> Result<Connector> {
    let mut roots = RootCertStore::empty();
    // Some systems have certificates that cannot be parsed; the others are enough.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        let reason = "this machine trusts no certificate authority; name one with sslrootcert=FILE in the URL";
        return Err(Error::Certificates(reason.into()));
    }
    Ok(trusting(roots))
}

/// Accepts any certificate: secure against passive eavesdroppers only.
pub fn trusting_anyone() -> Connector {
    let verifier = Arc::new(Anyone(Arc::new(ring::default_provider())));
    let config = builder().dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    MakeRustlsConnect::new(config)
}

fn trusting(roots: RootCertStore) -> Connector {
    MakeRustlsConnect::new(builder().with_root_certificates(roots).with_no_client_auth())
}

fn builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    builder.with_safe_default_protocol_versions().expect("the provider knows TLS 1.2 and 1.3")
}

/// Checks that the server has the key of its certificate, but not whose certificate it is.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _revocation: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
