//! Which addresses are anywhere but on the public internet (EGRESS-4).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not one to connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Special {
    /// This machine itself.
    Loopback,
    /// No address at all, or "this network".
    Unspecified,
    /// A private network.
    Private,
    /// One link only; cloud metadata lives here.
    LinkLocal,
    /// A carrier's shared space.
    CarrierNat,
    /// Many receivers.
    Multicast,
    /// Examples in documents.
    Documentation,
    /// Benchmarks between routers.
    Benchmarking,
    /// An IPv4 address inside an IPv6 one: two readings of one address.
    EmbeddedIpv4,
    /// Set aside by the registry for other ends.
    Reserved,
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "a loopback address",
            Self::Unspecified => "an unspecified address",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::CarrierNat => "a carrier-NAT address",
            Self::Multicast => "a multicast address",
            Self::Documentation => "a documentation address",
            Self::Benchmarking => "a benchmarking address",
            Self::EmbeddedIpv4 => "an IPv6 address with an IPv4 address inside",
            Self::Reserved => "a reserved address",
        })
    }
}

/// What is special about an address; none when it is an ordinary public one.
#[must_use]
pub fn special(address: IpAddr) -> Option<Special> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

/// The registry of special-purpose IPv4 addresses, and multicast and the old class E.
const V4: &[(Ipv4Addr, u32, Special)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, Special::Unspecified),
    (Ipv4Addr::new(10, 0, 0, 0), 8, Special::Private),
    (Ipv4Addr::new(100, 64, 0, 0), 10, Special::CarrierNat),
    (Ipv4Addr::new(127, 0, 0, 0), 8, Special::Loopback),
    // One cloud's host service, for every guest, behind an address that looks public.
    (Ipv4Addr::new(168, 63, 129, 16), 32, Special::Reserved),
    (Ipv4Addr::new(169, 254, 0, 0), 16, Special::LinkLocal),
    (Ipv4Addr::new(172, 16, 0, 0), 12, Special::Private),
    (Ipv4Addr::new(192, 0, 0, 0), 24, Special::Reserved),
    (Ipv4Addr::new(192, 0, 2, 0), 24, Special::Documentation),
    (Ipv4Addr::new(192, 88, 99, 0), 24, Special::Reserved),
    (Ipv4Addr::new(192, 168, 0, 0), 16, Special::Private),
    (Ipv4Addr::new(198, 18, 0, 0), 15, Special::Benchmarking),
    (Ipv4Addr::new(198, 51, 100, 0), 24, Special::Documentation),
    (Ipv4Addr::new(203, 0, 113, 0), 24, Special::Documentation),
    (Ipv4Addr::new(224, 0, 0, 0), 4, Special::Multicast),
    (Ipv4Addr::new(240, 0, 0, 0), 4, Special::Reserved),
];

fn special_v4(address: Ipv4Addr) -> Option<Special> {
    V4.iter()
        .find(|(network, prefix, _)| {
            let mask = u32::MAX << (32 - prefix);
            address.to_bits() & mask == network.to_bits()
        })
        .map(|(_, _, special)| *special)
}

/// Special ranges of IPv6, first to last: an inner range stands before the one that holds it.
const V6: &[(Ipv6Addr, u32, Special)] = &[
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0, 0), 128, Special::Unspecified),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0, 1), 128, Special::Loopback),
    // IPv4-compatible (long deprecated), IPv4-mapped, IPv4-translated.
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0, 0), 96, Special::EmbeddedIpv4),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, Special::EmbeddedIpv4),
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, Special::EmbeddedIpv4),
    // NAT64, well known and local; Teredo; 6to4.
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, Special::EmbeddedIpv4),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, Special::EmbeddedIpv4),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, Special::EmbeddedIpv4),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, Special::EmbeddedIpv4),
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48, Special::Benchmarking),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, Special::Documentation),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, Special::Documentation),
    // Protocol assignments: a few of them are public, none of them is a relay.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, Special::Reserved),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, Special::Private),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, Special::LinkLocal),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, Special::Private),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, Special::Multicast),
];

/// The only space that public addresses are given out of.
const GLOBAL_UNICAST: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

fn special_v6(address: Ipv6Addr) -> Option<Special> {
    if let Some((_, _, special)) =
        V6.iter().find(|(network, prefix, _)| is_within(address, *network, *prefix))
    {
        return Some(*special);
    }
    if !is_within(address, GLOBAL_UNICAST.0, GLOBAL_UNICAST.1) {
        return Some(Special::Reserved);
    }
    // ISATAP hides an IPv4 address behind any prefix.
    let [_, _, _, _, high, low, _, _] = address.segments();
    if matches!(high, 0 | 0x200) && low == 0x5efe {
        return Some(Special::EmbeddedIpv4);
    }
    None
}

fn is_within(address: Ipv6Addr, network: Ipv6Addr, prefix: u32) -> bool {
    let mask = u128::MAX << (128 - prefix);
    address.to_bits() & mask == network.to_bits()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(address: &str, expect: Option<Special>) {
        assert_eq!(special(address.parse().unwrap()), expect, "{address}");
    }

    #[test]
    fn every_special_range_is_known_from_its_first_to_its_last_address() {
        use Special as S;
        for (first, last, expect) in [
            ("0.0.0.0", "0.255.255.255", S::Unspecified),
            ("10.0.0.0", "10.255.255.255", S::Private),
            ("100.64.0.0", "100.127.255.255", S::CarrierNat),
            ("127.0.0.0", "127.255.255.255", S::Loopback),
            ("168.63.129.16", "168.63.129.16", S::Reserved),
            ("169.254.0.0", "169.254.255.255", S::LinkLocal),
            ("172.16.0.0", "172.31.255.255", S::Private),
            ("192.0.0.0", "192.0.0.255", S::Reserved),
            ("192.0.2.0", "192.0.2.255", S::Documentation),
            ("192.168.0.0", "192.168.255.255", S::Private),
            ("198.18.0.0", "198.19.255.255", S::Benchmarking),
            ("198.51.100.0", "198.51.100.255", S::Documentation),
            ("203.0.113.0", "203.0.113.255", S::Documentation),
            ("224.0.0.0", "239.255.255.255", S::Multicast),
            ("240.0.0.0", "255.255.255.255", S::Reserved),
            ("::", "::", S::Unspecified),
            ("::1", "::1", S::Loopback),
            ("::2", "::127.0.0.1", S::EmbeddedIpv4),
            ("::ffff:127.0.0.1", "::ffff:8.8.8.8", S::EmbeddedIpv4),
            ("64:ff9b::7f00:1", "64:ff9b::808:808", S::EmbeddedIpv4),
            ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", S::EmbeddedIpv4),
            ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", S::EmbeddedIpv4),
            ("2002:7f00:1::", "2002:ffff::1", S::EmbeddedIpv4),
            ("2001:2::", "2001:2:0:ffff::", S::Benchmarking),
            ("2001:db8::", "2001:db8:ffff::1", S::Documentation),
            ("3fff::", "3fff:fff::1", S::Documentation),
            ("2001:10::", "2001:1ff::1", S::Reserved),
            ("fc00::", "fdff::1", S::Private),
            ("fe80::1", "febf::1", S::LinkLocal),
            ("fec0::1", "feff::1", S::Private),
            ("ff00::", "ff02::1", S::Multicast),
            ("100::", "100::1", S::Reserved),
            ("5f00::1", "5fff::1", S::Reserved),
            ("2606:4700::5efe:7f00:1", "2606:4700::200:5efe:7f00:1", S::EmbeddedIpv4),
        ] {
            check(first, Some(expect));
            check(last, Some(expect));
        }
    }

    #[test]
    fn the_neighbours_of_special_ranges_are_ordinary() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "8.8.8.8",
            "2606:4700:4700::1111",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2003::1",
            "2400::1",
            "3ffe::1",
        ] {
            check(address, None);
        }
    }

    proptest! {
        #[test]
        fn no_embedding_of_any_ipv4_address_passes(bits in any::<u32>()) {
            let inner = u128::from(bits);
            let v4 = Ipv4Addr::from_bits(bits);
            let forms = [
                inner,
                0xffff_0000_0000 | inner,
                (0x64_ff9b << 96) | inner,
                (0x2002 << 112) | (inner << 80),
                (0x2606_4700 << 96) | (0x5efe << 32) | inner,
            ];
            for form in forms {
                prop_assert!(special(Ipv6Addr::from_bits(form).into()).is_some(), "{v4} in {form:x}");
            }
        }
    }
}
