//! The addresses that are tried.

use crate::os::own_sockets::OwnSockets;

/// Which addresses of a proxy, or of a destination reached directly, are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// The IP version.
    pub version: Version,
    /// Whether addresses of this machine and its link are left out: loopback, unspecified, link-local
    /// and those of its interfaces.
    pub exclude_local: bool,
    /// The sockets of this process: no connection to one of its listeners is made.
    pub own: OwnSockets,
}

/// A version of IP, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Both, alternating in the resolver's order, with staggered attempts (RFC 8305).
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

impl Family {
    /// Every address.
    pub const ANY: Family = Family::of(Version::Any);
    /// IPv4 only.
    pub const V4: Family = Family::of(Version::V4);
    /// IPv6 only.
    pub const V6: Family = Family::of(Version::V6);

    const fn of(version: Version) -> Family {
        Family {
            version,
            exclude_local: false,
            own: OwnSockets::NONE,
        }
    }

    /// Leaves out the addresses of this machine and its link.
    pub fn elsewhere(self) -> Family {
        Family {
            exclude_local: true,
            ..self
        }
    }
}

impl Default for Family {
    fn default() -> Family {
        Family::ANY
    }
}
