//! Mutual TLS 1.3 with raw public keys (RFC 7250): no certificates, no authorities, no expiry. A peer that cannot prove
//! the private half of a key in the task is rejected.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
};

use crate::keys::{PrivateKey, PublicKey};

/// The prefix of the 32 bytes of an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410).
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// The protocol between parties.
const ALPN: &[u8] = b"reticent-party/1";
/// The protocol of anonymous clients.
const STRANGERS_ALPN: &[u8] = b"reticent-reports/1";

/// Accepts connections from any of these peers.
///
/// # Errors
/// If the key cannot be used.
pub fn server(key: &PrivateKey, peers: Vec<PublicKey>) -> Result<ServerConfig, Error> {
    let (provider, own) = (provider(), own(key)?);
    let pinned = Pinned::new(&provider, peers);
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(pinned)
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(own)));
    config.alpn_protocols = vec![ALPN.to_vec()];
    // Every connection proves its key anew.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Connects to one peer.
///
/// # Errors
/// If the key cannot be used.
pub fn client(key: &PrivateKey, peer: PublicKey) -> Result<ClientConfig, Error> {
    let (provider, own) = (provider(), own(key)?);
    let pinned = Pinned::new(&provider, vec![peer]);
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous() // only because no authority is involved: the key itself is known
        .with_custom_certificate_verifier(pinned)
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(own)));
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(config)
}

/// Accepts connections from anonymous clients of aggregators.
///
/// # Errors
/// If the key cannot be used.
pub fn server_for_strangers(key: &PrivateKey) -> Result<ServerConfig, Error> {
    let (provider, own) = (provider(), own(key)?);
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(own)));
    config.alpn_protocols = vec![STRANGERS_ALPN.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Connects anonymously to the owner of this key.
pub fn stranger(peer: PublicKey) -> ClientConfig {
    let provider = provider();
    let pinned = Pinned::new(&provider, vec![peer]);
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .expect("ring has cipher suites of TLS 1.3")
        .dangerous() // as above
        .with_custom_certificate_verifier(pinned)
        .with_no_client_auth();
    config.alpn_protocols = vec![STRANGERS_ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    config
}

/// The key that the other side has proved to own.
pub fn proved(certificates: Option<&[CertificateDer<'_>]>) -> Option<PublicKey> {
    match certificates? {
        [key] => public_key(key),
        _ => None,
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn own(key: &PrivateKey) -> Result<Arc<CertifiedKey>, Error> {
    let signer = ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(key.pkcs8()))?;
    let info = [&SPKI_PREFIX[..], key.public().bytes()].concat();
    Ok(Arc::new(CertifiedKey::new(vec![CertificateDer::from(info)], signer)))
}

fn public_key(info: &[u8]) -> Option<PublicKey> {
    let key = info.strip_prefix(&SPKI_PREFIX)?;
    Some(PublicKey::from_bytes(key.try_into().ok()?))
}

/// Accepts the known keys only.
#[derive(Debug)]
struct Pinned {
    keys: Vec<PublicKey>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Pinned {
    fn new(provider: &CryptoProvider, keys: Vec<PublicKey>) -> Arc<Self> {
        Arc::new(Self { keys, algorithms: provider.signature_verification_algorithms })
    }

    fn check(&self, info: &CertificateDer<'_>) -> Result<(), Error> {
        match public_key(info) {
            Some(key) if self.keys.contains(&key) => Ok(()),
            _ => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }
}

/// What both traits ask of a verifier: TLS 1.3 only, and signatures by raw public keys.
macro_rules! raw_public_keys {
    () => {
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(Error::General("parties speak TLS 1.3".into()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            info: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let key = SubjectPublicKeyInfoDer::from(info.as_ref());
            verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    raw_public_keys!();
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    raw_public_keys!();
}
