//! What this machine itself has run out of: no peer's fault, and no reason to go round one.
//!
//! A connection that can't be begun for want of a descriptor, a port or memory says nothing of
//! whom it was to lead to. What accept(2) fails with is the other way round: most of it is one
//! client's ([`is_client_gone`]), the rest is ours.

use std::fmt;
use std::io;
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};

/// Descriptors that a process may have besides two for each client: pipes for splice, 128 a thread
/// at most, the resolver's sockets, and whatever else is open, with room to spare.
const OTHERS: u64 = 2048;

/// With fewer clients than this, under a limit of so many descriptors, there is one for another
/// without a look.
pub fn plenty(limit: u64) -> usize {
    (limit.saturating_sub(OTHERS) / 2) as usize
}

/// What is lacking; displays as whose it is, and where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exhaustion {
    /// Of this process.
    Descriptors,
    /// Of the whole machine.
    Files,
    /// Of sockets that epoll may watch for this user.
    Watches,
    /// To connect from, towards this one address.
    Ports,
    /// Of the kernel.
    Memory,
}

impl Exhaustion {
    /// The one that `error`, met while connecting or resolving, tells of.
    pub(crate) fn of(error: &io::Error) -> Option<Exhaustion> {
        match error.raw_os_error()? {
            libc::EMFILE => Some(Exhaustion::Descriptors),
            libc::ENFILE => Some(Exhaustion::Files),
            libc::ENOSPC => Some(Exhaustion::Watches),
            libc::EADDRNOTAVAIL => Some(Exhaustion::Ports),
            libc::ENOBUFS | libc::ENOMEM => Some(Exhaustion::Memory),
            _ => None,
        }
    }
}

impl fmt::Display for Exhaustion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Exhaustion::Descriptors => {
                "this process has no descriptor left: raise its limit (ulimit -Hn), or lower --max-connections"
            }
            Exhaustion::Files => "this machine has no descriptor left: see fs.file-max",
            Exhaustion::Watches => {
                "this user has no epoll watch left: see fs.epoll.max_user_watches"
            }
            Exhaustion::Ports => {
                "this machine has no port left to connect from: see net.ipv4.ip_local_port_range"
            }
            Exhaustion::Memory => "this machine's kernel has no memory left for it",
        })
    }
}

/// Why an attempt to connect to `address` failed, given what connect(2) said.
///
/// Without an IPv6 address of its own, a machine says of every other one what it says when it is
/// out of ports. That is no shortage: there is no way.
pub fn connect_error(address: &SocketAddr, error: io::Error) -> io::Error {
    if address.is_ipv6() && is_address_lacking(&error) && !has_source(address) {
        let why = "this machine has no IPv6 address to reach it from";
        return io::Error::new(io::ErrorKind::AddrNotAvailable, why);
    }
    error
}

/// Whether this machine has an address for connections to `address`. To connect a UDP socket looks
/// for one, and sends nothing.
fn has_source(address: &SocketAddr) -> bool {
    let probe = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).and_then(|udp| udp.connect(address));
    !matches!(probe, Err(ref e) if is_address_lacking(e))
}

fn is_address_lacking(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EADDRNOTAVAIL)
}

/// Whether this machine lacked memory or the like: of the connection such an error says nothing, so
/// that it may live on.
pub fn is_shortage(error: &io::Error) -> bool {
    Exhaustion::of(error).is_some()
}

/// Which error of two attempts is told: the later one, unless the earlier one was for want of
/// something of ours. Then nobody knows what that address would have said.
pub fn error_to_report(earlier: io::Error, later: io::Error) -> io::Error {
    match Exhaustion::of(&earlier) {
        Some(_) => earlier,
        None => later,
    }
}

/// Whether an error of accept(2) tells of one client, not of this process or machine: it hands over
/// what had already happened to the connection.
pub fn is_client_gone(error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(code) => CLIENT_GONE.contains(&code),
        None => false,
    }
}

const CLIENT_GONE: [i32; 12] = [
    libc::ECONNABORTED,
    libc::ECONNRESET,
    libc::EPROTO,
    libc::EINTR,
    libc::EPERM, // a firewall's word
    libc::ENETDOWN,
    libc::ENOPROTOOPT,
    libc::EHOSTDOWN,
    libc::ENONET,
    libc::EHOSTUNREACH,
    libc::EOPNOTSUPP,
    libc::ENETUNREACH,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn os(code: i32) -> io::Error {
        io::Error::from_raw_os_error(code)
    }

    #[test]
    fn an_attempt_that_was_none_is_told_whatever_the_others_met() {
        let told = |earlier, later| error_to_report(os(earlier), os(later)).raw_os_error();
        let (ours, theirs) = (libc::EMFILE, libc::ECONNREFUSED);
        assert_eq!(told(ours, theirs), Some(ours));
        assert_eq!(told(theirs, ours), Some(ours));
        assert_eq!(told(libc::EHOSTUNREACH, theirs), Some(theirs));
    }

    #[test]
    fn a_lack_of_ports_stays_one_where_there_is_an_address() {
        let address = "127.0.0.1:9".parse().unwrap();
        let error = connect_error(&address, os(libc::EADDRNOTAVAIL));
        assert_eq!(Exhaustion::of(&error), Some(Exhaustion::Ports));
    }

    #[test]
    fn a_client_that_is_gone_already_is_no_reason_to_wait() {
        assert!(is_client_gone(&io::Error::from_raw_os_error(
            libc::ECONNABORTED
        )));
        assert!(!is_client_gone(&io::Error::from_raw_os_error(libc::EMFILE)));
        assert!(!is_client_gone(&io::ErrorKind::InvalidData.into()));
    }
}
