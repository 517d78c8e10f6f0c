//! The policy itself, and the receipt without which nothing is dialled.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use url::{Host, Url};

use super::address::{Special, special};
use super::resolve::{Resolve, SystemResolver};
use super::url::RelayUrl;
use crate::guard::quote;
use crate::invitation::Invitation;

/// Where the client may connect to (EGRESS-1 to EGRESS-4).
///
/// The default reaches nothing: a host names its egress proxy, and the relays it means.
#[derive(Clone)]
pub struct EgressPolicy {
    proxy: Option<Url>,
    allow_unverified: bool,
    allowed_hosts: BTreeSet<String>,
    allowed_ports: BTreeSet<u16>,
    resolver: Arc<dyn Resolve>,
}

/// A proxy's URL may hold a password, so only whether there is one is shown.
impl fmt::Debug for EgressPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressPolicy")
            .field("has_proxy", &self.proxy.is_some())
            .field("allow_unverified", &self.allow_unverified)
            .field("allowed_hosts", &self.allowed_hosts)
            .field("allowed_ports", &self.allowed_ports)
            .finish_non_exhaustive()
    }
}

impl Default for EgressPolicy {
    fn default() -> Self {
        Self {
            proxy: None,
            allow_unverified: false,
            allowed_hosts: BTreeSet::new(),
            allowed_ports: BTreeSet::from([443]),
            resolver: Arc::new(SystemResolver),
        }
    }
}

impl EgressPolicy {
    /// Settings for a policy.
    #[must_use]
    pub fn builder() -> EgressPolicyBuilder {
        EgressPolicyBuilder::default()
    }

    /// The trusted proxy that every request goes through.
    #[must_use]
    pub fn proxy(&self) -> Option<&Url> {
        self.proxy.as_ref()
    }

    /// Checks a relay and resolves it. The connection goes to an address of the receipt.
    ///
    /// With a proxy, the proxy is the boundary: it resolves the name, and what it reaches is its
    /// own policy. An address that stands in the URL is checked all the same.
    ///
    /// # Errors
    /// [`EgressRefused`], before anything was sent.
    pub async fn admit(&self, invitation: &Invitation) -> Result<CheckedRelay, EgressRefused> {
        let relay = self.admit_unresolved(invitation)?;
        let name = match relay.base_url().host() {
            Some(Host::Domain(name)) if self.proxy.is_none() => name,
            _ => return Ok(relay),
        };
        let unresolvable = |why| EgressRefused::Unresolvable { host: name.to_owned(), why };
        let found = self.resolver.resolve(name).await;
        let found = found.map_err(|error| unresolvable(error.kind().to_string()))?;
        if found.is_empty() {
            return Err(unresolvable("it has no address".to_owned()));
        }
        // Every address must be fit: which of them is dialled is the connector's choice.
        for address in found.iter().copied() {
            let host = || name.to_owned();
            match (is_local_name(name), special(address)) {
                (true, _) if address.is_loopback() => {}
                (_, Some(special)) => {
                    return Err(EgressRefused::Address { host: host(), address, special });
                }
                (true, None) => return Err(EgressRefused::NotLocal { host: host(), address }),
                (false, None) => {}
            }
        }
        let addresses = relay.at(found);
        Ok(CheckedRelay { addresses, ..relay })
    }

    /// The same without resolving a name, for a connection that goes to a Unix socket of the
    /// host's own configuration.
    ///
    /// # Errors
    /// [`EgressRefused`], before anything was sent.
    pub fn admit_unresolved(&self, invitation: &Invitation) -> Result<CheckedRelay, EgressRefused> {
        if self.proxy.is_none() && !self.allow_unverified {
            return Err(EgressRefused::NoProxy);
        }
        let base_url = invitation.relay_base_url();
        let Some(host) = base_url.as_url().host() else {
            // A relay's URL always has one.
            return Err(EgressRefused::NotHttps);
        };
        let literal = match host {
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address)),
            // Whoever resolves this name, it is loopback there.
            Host::Domain(name) => is_local_name(name).then_some(Ipv4Addr::LOCALHOST.into()),
        };
        // The opt-in is for this machine's loopback. Behind a proxy it is the proxy's own.
        let is_local = literal.is_some_and(|ip| ip.is_loopback()) && self.proxy.is_none();
        if base_url.as_url().scheme() != "https" && !is_local {
            return Err(EgressRefused::NotHttps);
        }
        let name = host.to_string();
        if !self.allowed_hosts.contains(&name) {
            return Err(EgressRefused::Host {
                host: quote(&name),
                allowed: self.allowed_hosts.iter().cloned().collect(),
            });
        }
        let port = base_url.port();
        if !self.allowed_ports.contains(&port) {
            let allowed = self.allowed_ports.iter().copied().collect();
            return Err(EgressRefused::Port { port, allowed });
        }
        if let (false, Some(address)) = (is_local, literal)
            && let Some(special) = special(address)
        {
            return Err(EgressRefused::Address { host: name, address, special });
        }
        let relay = CheckedRelay { base_url: base_url.clone(), addresses: Vec::new() };
        let is_direct = self.proxy.is_none() && !matches!(host, Host::Domain(_));
        let addresses = relay.at(literal.into_iter().filter(|_| is_direct).collect());
        Ok(CheckedRelay { addresses, ..relay })
    }
}

/// `localhost` and the names below it are loopback by definition (RFC 6761). No other name may
/// lead there: a name that does is somebody's trick.
pub(super) fn is_local_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// A relay that may be reached: its URL, and the addresses that were checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedRelay {
    base_url: RelayUrl,
    addresses: Vec<SocketAddr>,
}

impl CheckedRelay {
    /// The relay's base URL.
    #[must_use]
    pub fn base_url(&self) -> &Url {
        self.base_url.as_url()
    }

    /// The only addresses that may be connected to. Empty where a proxy or a Unix socket carries
    /// the connection.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    fn at(&self, addresses: Vec<IpAddr>) -> Vec<SocketAddr> {
        addresses.into_iter().map(|ip| SocketAddr::new(ip, self.base_url.port())).collect()
    }
}

/// A listed host in the spelling that is compared, the one that a [`RelayUrl`] has too: without
/// case, in ASCII, without the dot of the root.
fn normal(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host);
    match host.parse::<Ipv6Addr>() {
        Ok(address) => Some(Host::<String>::Ipv6(address).to_string()),
        Err(_) => Host::parse(host).ok().map(|host| host.to_string()),
    }
}

/// A policy in the making.
#[derive(Clone, Default)]
pub struct EgressPolicyBuilder {
    proxy: Option<String>,
    allow_unverified: bool,
    allowed_hosts: Vec<String>,
    allowed_ports: Option<Vec<u16>>,
    resolver: Option<Arc<dyn Resolve>>,
}

impl fmt::Debug for EgressPolicyBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressPolicyBuilder")
            .field("has_proxy", &self.proxy.is_some())
            .field("allow_unverified", &self.allow_unverified)
            .field("allowed_hosts", &self.allowed_hosts)
            .field("allowed_ports", &self.allowed_ports)
            .finish_non_exhaustive()
    }
}

impl EgressPolicyBuilder {
    /// The trusted proxy that every request goes through, as an `http` or `https` URL. The
    /// environment's proxies are never followed (EGRESS-1).
    #[must_use]
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// Opts into egress without a proxy, and with it into plain HTTP on loopback. For isolated
    /// local use only: what the client checks by itself is no boundary.
    #[must_use]
    pub fn allow_unverified(mut self, allow: bool) -> Self {
        self.allow_unverified = allow;
        self
    }

    /// Hosts that a relay may have (EGRESS-3).
    #[must_use]
    pub fn allowed_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.allowed_hosts.extend(hosts.into_iter().map(Into::into));
        self
    }

    /// Ports that a relay may have, instead of 443 alone (EGRESS-3).
    #[must_use]
    pub fn allowed_ports(mut self, ports: impl IntoIterator<Item = u16>) -> Self {
        self.allowed_ports = Some(ports.into_iter().collect());
        self
    }

    /// Who resolves the names of relays, instead of the system.
    #[must_use]
    pub fn resolver(mut self, resolver: Arc<dyn Resolve>) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// The policy.
    ///
    /// # Errors
    /// When a host is none, or the proxy's URL cannot be used.
    pub fn build(self) -> Result<EgressPolicy, EgressRefused> {
        let proxy = match self.proxy {
            None => None,
            Some(url) => match Url::parse(&url) {
                Ok(url) if matches!(url.scheme(), "http" | "https") && url.host().is_some() => {
                    Some(url)
                }
                // The text is not repeated: a proxy's URL may hold a password.
                _ => return Err(EgressRefused::BadProxy),
            },
        };
        let allowed_hosts = self
            .allowed_hosts
            .iter()
            .map(|host| normal(host).ok_or_else(|| EgressRefused::BadHost { host: quote(host) }))
            .collect::<Result<_, _>>()?;
        let default = EgressPolicy::default();
        Ok(EgressPolicy {
            proxy,
            allow_unverified: self.allow_unverified,
            allowed_hosts,
            allowed_ports: self
                .allowed_ports
                .map_or(default.allowed_ports, |ports| ports.into_iter().collect()),
            resolver: self.resolver.unwrap_or(default.resolver),
        })
    }
}

/// Why a relay is not to be reached. Nothing was sent (LIFE-5).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EgressRefused {
    /// No trusted proxy, and no opt-in (EGRESS-1).
    #[error(
        "nothing was sent: there is no trusted egress proxy, and unverified egress was not opted \
         into (hint: `EgressPolicy::builder().proxy(…)`)"
    )]
    NoProxy,
    /// Not HTTPS (EGRESS-2).
    #[error(
        "nothing was sent: the relay's URL is not `https`, and plain `http` is for loopback with \
         the opt-in to unverified egress only"
    )]
    NotHttps,
    /// Not an allowed host (EGRESS-3).
    #[error(
        "nothing was sent: the relay's host {host} is not allowed (allowed: {})", list(.allowed)
    )]
    Host {
        /// The host, quoted.
        host: String,
        /// The ones that are.
        allowed: Vec<String>,
    },
    /// Not an allowed port (EGRESS-3).
    #[error("nothing was sent: the relay's port {port} is not allowed (allowed: {})", list(.allowed))]
    Port {
        /// The port.
        port: u16,
        /// The ones that are.
        allowed: Vec<u16>,
    },
    /// Not a public address (EGRESS-4).
    #[error("nothing was sent: the relay's host `{host}` is at {address}, {special}")]
    Address {
        /// The host.
        host: String,
        /// The first address that is not fit.
        address: IpAddr,
        /// What is special about it.
        special: Special,
    },
    /// A name of loopback leads elsewhere.
    #[error("nothing was sent: the relay's host `{host}` is at {address}, which is not loopback")]
    NotLocal {
        /// The host.
        host: String,
        /// The address.
        address: IpAddr,
    },
    /// The name leads nowhere.
    #[error("nothing was sent: the relay's host `{host}` cannot be resolved: {why}")]
    Unresolvable {
        /// The host.
        host: String,
        /// Why.
        why: String,
    },
    /// The proxy's URL is none.
    #[error("the egress proxy's URL is not an absolute `http` or `https` URL")]
    BadProxy,
    /// An allowed host is none.
    #[error(
        "{host} on the list of allowed hosts is not a host (a name or an address, without a port)"
    )]
    BadHost {
        /// What stands there, quoted.
        host: String,
    },
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    if items.is_empty() {
        return "none".to_owned();
    }
    items.iter().map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // What is admitted and what is refused is in `tests/hostile_invitations.yaml`.
    #[test]
    fn a_policy_with_a_host_or_a_proxy_that_is_none_is_not_built() {
        let hosts = |host: &str| EgressPolicy::builder().allowed_hosts([host]).build();
        for host in ["relay.example", "Bücher.example.", "10.0.0.1", "::1", "[::1]"] {
            assert!(hosts(host).is_ok(), "{host}");
        }
        for host in ["", "relay.example:443", "https://relay.example", "a b", "a/b", "[::1"] {
            assert!(matches!(hosts(host), Err(EgressRefused::BadHost { .. })), "{host:?}");
        }
        let proxy = |url: &str| EgressPolicy::builder().proxy(url).build();
        for url in ["http://proxy.internal:3128", "https://u:p@10.0.0.1", "http://127.0.0.1:1"] {
            assert!(proxy(url).is_ok(), "{url}");
        }
        for url in ["", "proxy:3128", "socks5://proxy:1080", "unix:/x"] {
            let refused = proxy(url).unwrap_err();
            assert_eq!(refused, EgressRefused::BadProxy, "{url}");
        }
    }

    #[test]
    fn a_proxys_password_is_in_no_debug_print() {
        let builder = EgressPolicy::builder().proxy("http://user:sesame@proxy.internal:3128");
        assert!(!format!("{builder:?}").contains("sesame"));
        let policy = builder.build().unwrap();
        assert!(!format!("{policy:?}").contains("sesame"));
        assert_eq!(policy.proxy().unwrap().password(), Some("sesame"));
    }
}
