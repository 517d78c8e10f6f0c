//! A relay's base URL, in the one spelling that every reader of URLs reads alike (EGRESS-2).
//!
//! URL readers mend what they are given: they drop tabs, turn backslashes around, widen `127.1`,
//! fold look-alike letters, climb `..`. Two of them that mend differently see two hosts, and what
//! was checked is then not what is connected to. So nothing is mended here. A text that is not
//! already written the way it would be after mending is refused.

use std::fmt;
use std::net::Ipv6Addr;

use url::{Host, Url};

use crate::guard::is_invisible;

/// Longer than any base URL needs to be, in bytes.
const URL_BYTES_MAX: usize = 2048;

/// A relay's base URL: `http` or `https`, a host, perhaps a port and a path, and nothing else.
///
/// `Display` and `Debug` tell where the relay is and not what its path says (AUTH-2). Who needs the
/// whole of it says so with [`RelayUrl::as_str`].
#[derive(Clone, PartialEq, Eq)]
pub struct RelayUrl(Url);

impl RelayUrl {
    /// Reads a relay's base URL.
    ///
    /// # Errors
    /// [`RelayUrlError`], which never repeats the text.
    pub fn parse(text: &str) -> Result<Self, RelayUrlError> {
        let written = Written::take_apart(text)?;
        let url = Url::parse(text).map_err(|_| spelling("it is not a URL"))?;
        let Some(host) = url.host() else { return Err(spelling("it names no host")) };
        let is_same = match host {
            Host::Ipv4(read) => written.host == read.to_string(),
            Host::Ipv6(read) => written.bracketed == Some(read),
            Host::Domain(read) => is_name(without_root(read)) && written.names(read),
        };
        if !is_same {
            return Err(spelling("its host is not in the one spelling that it has"));
        }
        let is_bare = written.path.is_empty() && url.path() == "/";
        if !is_bare && written.path != url.path() {
            return Err(spelling("its path is not in the one spelling that it has"));
        }
        Ok(Self(without_root_dot(url)))
    }

    /// The URL, for who connects to it.
    #[must_use]
    pub fn as_url(&self) -> &Url {
        &self.0
    }

    /// All of the URL as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Its port, the scheme's own when it names none.
    #[must_use]
    pub fn port(&self) -> u16 {
        // Both schemes that a relay's URL may have are known to the reader.
        self.0.port_or_known_default().unwrap_or(443)
    }
}

impl fmt::Display for RelayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.0.scheme(), self.0.host_str().unwrap_or_default())?;
        if let Some(port) = self.0.port() {
            write!(f, ":{port}")?;
        }
        f.write_str(if self.0.path() == "/" { "/" } else { "/[redacted]" })
    }
}

impl fmt::Debug for RelayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RelayUrl({self})")
    }
}

/// A URL's parts as they stand in the text, before any reader has mended them.
struct Written<'a> {
    /// The host, without the brackets of an IPv6 address.
    host: &'a str,
    /// The address, when the host stands in brackets.
    bracketed: Option<Ipv6Addr>,
    path: &'a str,
}

impl<'a> Written<'a> {
    fn take_apart(text: &'a str) -> Result<Self, RelayUrlError> {
        if text.len() > URL_BYTES_MAX {
            return Err(spelling("it is longer than 2048 bytes"));
        }
        if text.contains(|c: char| c == '\\' || is_invisible(c)) {
            return Err(spelling("it holds a backslash, white space, or what cannot be seen"));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(spelling("it does not begin with `https://`"));
        };
        if !scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)) {
            return Err(spelling("it does not begin with `https://`"));
        }
        if !["https", "http"].iter().any(|known| known.eq_ignore_ascii_case(scheme)) {
            return Err(RelayUrlError::Scheme);
        }
        if rest.contains('#') {
            return Err(RelayUrlError::Fragment);
        }
        if rest.contains('?') {
            return Err(RelayUrlError::Query);
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(RelayUrlError::Userinfo);
        }
        let (host, bracketed, port) = match authority.strip_prefix('[') {
            Some(inside) => {
                let halves = inside.split_once(']');
                let (host, port) = halves.ok_or(spelling("a bracket of its host is not closed"))?;
                let address = host.parse::<Ipv6Addr>();
                let address = address
                    .map_err(|_| spelling("what stands in the brackets is no IPv6 address"))?;
                (host, Some(address), port)
            }
            None => {
                let (host, port) =
                    authority.split_at(authority.find(':').unwrap_or(authority.len()));
                (host, None, port)
            }
        };
        if host.is_empty() {
            return Err(spelling("it names no host"));
        }
        if !port.is_empty() && !port.strip_prefix(':').is_some_and(is_port) {
            return Err(spelling("its port is not a number from 1 to 65535"));
        }
        Ok(Self { host, bracketed, path })
    }

    /// Whether the text names the host that the reader read: in its ASCII form or in its own
    /// script, in any case, with or without the dot of the root.
    fn names(&self, read: &str) -> bool {
        let written = without_root(self.host);
        let read = without_root(read);
        if written.is_ascii() {
            return written.eq_ignore_ascii_case(read);
        }
        let (own_script, valid) = idna::domain_to_unicode(read);
        valid.is_ok() && written.to_lowercase() == own_script
    }
}

/// Labels of letters, digits, hyphens and underscores, none of them empty or at an odd end.
fn is_name(name: &str) -> bool {
    name.len() <= 253
        && name.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
        && !text.starts_with('0')
        && text.parse::<u16>().is_ok_and(|port| port != 0)
}

fn without_root(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// `relay.example.` and `relay.example` are one host. One spelling is compared, resolved, sent as
/// `Host` and shown to TLS (EGRESS-3).
fn without_root_dot(mut url: Url) -> Url {
    if let Some(name) = url.host_str().and_then(|host| host.strip_suffix('.')).map(str::to_owned) {
        // The name was checked label by label, so it is a host without its dot too.
        let _ = url.set_host(Some(&name));
    }
    url
}

/// Why a text is no relay's base URL. The text itself is not repeated: it is the invitation's, and
/// may hold what belongs in no message (AUTH-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RelayUrlError {
    /// It is no URL, or one that readers of URLs would mend, each in its own way.
    #[error("the relay's URL is refused and not mended: {why}")]
    Spelling {
        /// What is wrong with it.
        why: &'static str,
    },
    /// Another scheme.
    #[error("the relay's URL is neither `https` nor, on loopback, `http`")]
    Scheme,
    /// A user name or a password, empty ones included.
    #[error("the relay's URL holds a user name or password, which a base URL has not")]
    Userinfo,
    /// A query, an empty one included.
    #[error("the relay's URL holds a query, which a base URL has not")]
    Query,
    /// A fragment, an empty one included.
    #[error("the relay's URL holds a fragment, which a base URL has not")]
    Fragment,
}

fn spelling(why: &'static str) -> RelayUrlError {
    RelayUrlError::Spelling { why }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let read = RelayUrl::parse(text);
        assert_eq!(read.as_ref().map(RelayUrl::as_str), Ok(expect), "{text}");
    }

    // What is refused is in `tests/hostile_invitations.yaml`, each with the trick it plays.
    #[test]
    fn one_host_has_one_spelling_behind_the_reader() {
        check("https://relay.example", "https://relay.example/");
        check("HTTPS://RELAY.example/Base", "https://relay.example/Base");
        check("https://relay.example./base", "https://relay.example/base");
        check("https://relay.example:443/base", "https://relay.example/base");
        check("https://relay.example.:8443", "https://relay.example:8443/");
        check("https://Bücher.example", "https://xn--bcher-kva.example/");
        check("https://xn--bcher-kva.example", "https://xn--bcher-kva.example/");
        check("https://[2001:DB8:0::1]:8443/x", "https://[2001:db8::1]:8443/x");
        check("http://127.0.0.1/", "http://127.0.0.1/");
        check("https://relay_1.internal/x%20y", "https://relay_1.internal/x%20y");
    }

    #[test]
    fn a_relay_is_shown_without_its_path() {
        for (text, shown) in [
            ("https://relay.example", "https://relay.example/"),
            ("https://relay.example/t/s3cret", "https://relay.example/[redacted]"),
            ("https://Bücher.example:8443/s3cret", "https://xn--bcher-kva.example:8443/[redacted]"),
            ("http://[::1]:9/s3cret", "http://[::1]:9/[redacted]"),
        ] {
            let url = RelayUrl::parse(text).unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), format!("RelayUrl({shown})"));
        }
    }

    #[test]
    fn length_has_a_bound() {
        let of = |bytes: usize| format!("https://relay.example/{}", "a".repeat(bytes - 22));
        assert!(RelayUrl::parse(&of(2048)).is_ok());
        assert!(RelayUrl::parse(&of(2049)).is_err());
        let label = |chars: usize| format!("https://{}.example", "a".repeat(chars));
        assert!(RelayUrl::parse(&label(63)).is_ok());
        assert!(RelayUrl::parse(&label(64)).is_err());
    }

    proptest! {
        #[test]
        fn what_is_admitted_is_read_again_as_itself(text in "https?://[a-zA-Z0-9.:@%/?#\\[\\]_é。-]{0,24}") {
            if let Ok(url) = RelayUrl::parse(&text) {
                prop_assert_eq!(RelayUrl::parse(url.as_str()), Ok(url.clone()), "{}", text);
                let plain = url.as_url();
                prop_assert!(plain.username().is_empty() && plain.password().is_none());
                prop_assert!(plain.query().is_none() && plain.fragment().is_none());
            }
        }

        #[test]
        fn no_text_is_a_panic_and_no_error_repeats_it(text in "\\PC{0,40}") {
            if let Err(error) = RelayUrl::parse(&text) {
                prop_assert!(text.len() < 12 || !error.to_string().contains(&text));
            }
        }
    }
}
