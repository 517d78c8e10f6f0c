//! Names to addresses, through a hook: what is checked is what is connected to.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::Pin;

use super::policy::is_local_name;

/// Resolves the names of relays.
///
/// The policy asks once a use, checks every address it is given, and the connection goes to one
/// of these: there is no second look-up that could answer otherwise.
pub trait Resolve: fmt::Debug + Send + Sync {
    /// Every address of `host`.
    ///
    /// # Errors
    /// When the name cannot be resolved. A name without addresses is an error or an empty list.
    fn resolve<'a>(
        &'a self,
        host: &'a str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;
}

/// The system's own resolver. The names of loopback need none: they are what they are, on a machine
/// without a hosts file too.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        Box::pin(async move {
            if is_local_name(host) {
                return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
            }
            // The port is only there because the system asks for one.
            let found = tokio::net::lookup_host((host, 443)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
