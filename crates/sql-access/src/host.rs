//! Host patterns of accounts: names and addresses with `%` and `_`, netmasks; which of them fit a client, and which is the most
//! specific.
//!
//! MySQL's rules ("Specifying Account Names", "Access Control, Stage 1: Connection Verification"). Names are looked up nowhere: a client is known
//! by the address it comes from, and by `localhost` where that is this machine.

use std::net::{IpAddr, Ipv4Addr};

/// The host part of an account's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPattern<'a>(&'a str);

impl<'a> HostPattern<'a> {
    /// Of what the account's name says.
    pub fn new(text: &'a str) -> HostPattern<'a> {
        HostPattern(text)
    }

    /// Whether a client of that name or address is meant.
    pub fn matches(self, host: &str) -> bool {
        let pattern = self.0;
        if pattern.is_empty() || pattern.eq_ignore_ascii_case(host) {
            return true;
        }
        if let Some(net) = self.network() {
            return host.parse().is_ok_and(|ip| net.contains(ip));
        }
        // The same address written otherwise (IPv6).
        if let (Ok(a), Ok(b)) = (pattern.parse::<IpAddr>(), host.parse::<IpAddr>())
            && a.to_canonical() == b.to_canonical()
        {
            return true;
        }
        // A pattern of digits must not fit a name that merely begins like an address, such as 198.51.100.example.com.
        let numeric = pattern
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'%' | b'_'))
            && pattern.bytes().any(|b| b.is_ascii_digit());
        if numeric && host.parse::<IpAddr>().is_err() {
            return false;
        }
        types::CollationId::UTF8MB4_GENERAL_CI.like(host.as_bytes(), pattern.as_bytes(), None)
    }

    /// Smaller is more specific. A host without wildcards comes before a netmask, and that before a pattern; of patterns, the one
    /// whose first wildcard stands further behind; `%` and then the empty host come last.
    pub fn rank(self) -> (u8, usize) {
        let pattern = self.0;
        if let Some(net) = self.network() {
            return (1, 32 - net.bits as usize);
        }
        match pattern.find(['%', '_']) {
            _ if pattern.is_empty() => (4, 0),
            None => (0, 0),
            Some(_) if pattern == "%" => (3, 0),
            Some(at) => (2, usize::MAX - at),
        }
    }

    /// `a.b.c.d/m.m.m.m`, and `a.b.c.d/bits`.
    fn network(self) -> Option<Network> {
        let (base, mask) = self.0.split_once('/')?;
        let base: Ipv4Addr = base.parse().ok()?;
        let bits = match mask.parse::<Ipv4Addr>() {
            Ok(mask) => {
                let mask = u32::from(mask);
                // The ones have to stand together.
                (mask.leading_ones() + mask.trailing_zeros() == 32 || mask == u32::MAX)
                    .then(|| mask.leading_ones())?
            }
            Err(_) => mask.parse().ok().filter(|bits| *bits <= 32)?,
        };
        Some(Network {
            base: u32::from(base),
            bits,
        })
    }
}

/// Addresses that agree in their first bits.
#[derive(Clone, Copy)]
struct Network {
    base: u32,
    bits: u32,
}

impl Network {
    fn contains(self, ip: IpAddr) -> bool {
        let IpAddr::V4(ip) = ip.to_canonical() else {
            return false;
        };
        let mask = u32::MAX.checked_shl(32 - self.bits).unwrap_or(0);
        // As MySQL has it: the base must be of the net itself.
        u32::from(ip) & mask == self.base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_match() {
        for (pattern, host, fits) in [
            ("%", "anything", true),
            ("", "anything", true),
            ("LocalHost", "localhost", true),
            ("10.%", "10.1.2.3", true),
            ("10.%", "100.1.2.3", false),
            ("198.51.100.%", "198.51.100.example.com", false),
            ("%.example.org", "a.example.org", true),
            ("127.0.0.1", "127.0.0.1", true),
            ("::1", "0:0:0:0:0:0:0:1", true),
            ("198.51.100.0/255.255.255.0", "198.51.100.77", true),
            ("198.51.100.0/255.255.255.0", "198.51.101.77", false),
            ("198.51.100.0/24", "198.51.100.77", true),
            ("198.51.100.0/255.255.255.0", "::ffff:198.51.100.7", true),
            ("0.0.0.0/0", "9.9.9.9", true),
            ("198.51.100.1/255.0.255.0", "198.51.100.1", false),
            ("h_st", "host", true),
        ] {
            assert_eq!(
                HostPattern::new(pattern).matches(host),
                fits,
                "{pattern} {host}"
            );
        }
    }

    #[test]
    fn the_first_wildcard_decides() {
        let mut hosts = [
            "%",
            "",
            "%.example.org.long.name",
            "h%",
            "198.51.100.0/24",
            "198.51.0.0/255.255.0.0",
            "ho_t.example",
            "host",
        ];
        hosts.sort_by_key(|h| HostPattern::new(h).rank());
        assert_eq!(
            hosts,
            [
                "host",
                "198.51.100.0/24",
                "198.51.0.0/255.255.0.0",
                "ho_t.example",
                "h%",
                "%.example.org.long.name",
                "%",
                ""
            ]
        );
    }
}
