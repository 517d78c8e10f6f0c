use std::io;
use std::pin::Pin;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use super::endpoint::Endpoint;

/// A connection of any wire.
pub type Dialed = Pin<Box<dyn Bytes>>;

/// What a connection can do.
pub trait Bytes: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Bytes for T {}

/// Opens a plain connection to an endpoint, for a test that writes its own HTTP.
///
/// # Errors
///
/// An I/O error when nobody listens there, or the TLS handshake fails.
pub async fn dial(endpoint: &Endpoint) -> io::Result<Dialed> {
    if let Some(socket) = &endpoint.unix_socket {
        return Ok(Box::pin(UnixStream::connect(socket).await?));
    }
    let (_, address) = endpoint
        .base_url
        .split_once("://")
        .ok_or_else(|| io::Error::other("the endpoint's base URL has no scheme"))?;
    let address: std::net::SocketAddr = address.parse().map_err(io::Error::other)?;
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let Some(root) = &endpoint.tls_root_der else {
        return Ok(Box::pin(stream));
    };
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(root.clone())).map_err(io::Error::other)?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let name = ServerName::IpAddress(address.ip().into());
    Ok(Box::pin(connector.connect(name, stream).await?))
}
