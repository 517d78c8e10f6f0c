use std::io;
use std::sync::{Arc, OnceLock};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The names the certificate is good for. The `.test` names never resolve in the world outside
/// (RFC 6761), which lets an egress scenario point any of them at a world.
const NAMES: [&str; 4] = ["localhost", "127.0.0.1", "relay.test", "*.relay.test"];

/// The certificate of this process and the configuration of a server that shows it.
pub(super) struct Certificate {
    pub(super) root_der: Vec<u8>,
    pub(super) server: Arc<ServerConfig>,
}

/// Making a key takes longer than a whole case, so that a process makes one and keeps it.
pub(super) fn certificate() -> io::Result<&'static Certificate> {
    static MADE: OnceLock<Result<Certificate, String>> = OnceLock::new();
    MADE.get_or_init(make)
        .as_ref()
        .map_err(|why| io::Error::other(format!("cannot make a self-signed certificate: {why}")))
}

fn make() -> Result<Certificate, String> {
    let names = NAMES.map(str::to_owned).to_vec();
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(names).map_err(|why| why.to_string())?;
    let chain = vec![CertificateDer::from(cert.der().to_vec())];
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).map_err(str::to_owned)?;
    let server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|why| why.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|why| why.to_string())?;
    Ok(Certificate { root_der: cert.der().to_vec(), server: Arc::new(server) })
}
