//! Descriptors, ports and memory that this machine has run out of.
//!
//! An error of connect(2) that reports a lack of them gives no information about the peer, and is
//! no reason to avoid a proxy. Most errors of accept(2) concern a single client
//! ([`is_client_gone`]); the others concern this machine.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use super::source_address::source_address;

/// Upper bound of the descriptors that a process has besides two for each client: pipes for splice
/// (at most 128 a thread), the resolver's sockets, and others.
const OTHERS: u64 = 2048;

/// Returns the number of clients below which a process with this limit on descriptors has some left
/// for another client, without a check.
pub fn plenty(limit: u64) -> usize {
    (limit.saturating_sub(OTHERS) / 2) as usize
}

/// A resource that ran out; displays with its owner and the setting that limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exhaustion {
    /// Descriptors of this process (EMFILE).
    Descriptors,
    /// Open files of the machine (ENFILE).
    Files,
    /// Descriptors that epoll may watch for this user (ENOSPC).
    Watches,
    /// Local ports for connections to one address (EADDRNOTAVAIL).
    Ports,
    /// Memory of the kernel (ENOBUFS, ENOMEM).
    Memory,
}

impl Exhaustion {
    /// Returns the resource that an error of connecting or resolving reports.
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
                "this process has no file descriptor left; raise its limit (ulimit -Hn), or lower --max-connections"
            }
            Exhaustion::Files => "this machine has no file descriptor left; raise fs.file-max",
            Exhaustion::Watches => {
                "this user has no epoll watch left; raise fs.epoll.max_user_watches"
            }
            Exhaustion::Ports => {
                "this machine has no local port left for this address; widen net.ipv4.ip_local_port_range"
            }
            Exhaustion::Memory => {
                "this machine's kernel has no memory left for the connection; free memory, or lower --max-connections"
            }
        })
    }
}

/// Returns the error to report for an error of connect(2) to `address`.
///
/// A machine without an IPv6 address fails every connection to one as if it were out of ports: that
/// becomes `AddrNotAvailable` without an errno, which is no exhaustion.
pub fn connect_error(address: &SocketAddr, error: io::Error) -> io::Error {
    let is_lacking = error.raw_os_error() == Some(libc::EADDRNOTAVAIL);
    if is_lacking && address.is_ipv6() && matches!(source_address(*address), Ok(None)) {
        let why = "this machine has no IPv6 address to connect from";
        return io::Error::new(io::ErrorKind::AddrNotAvailable, why);
    }
    error
}

/// Returns whether this machine lacked a resource: such an error gives no information about the
/// connection, which can continue.
pub fn is_exhaustion(error: &io::Error) -> bool {
    Exhaustion::of(error).is_some()
}

/// Returns which error of two attempts to report: the later one, unless this machine lacked a
/// resource for the earlier one, which might have succeeded.
pub fn error_to_report(earlier: io::Error, later: io::Error) -> io::Error {
    match Exhaustion::of(&earlier) {
        Some(_) => earlier,
        None => later,
    }
}

/// Returns whether an error of accept(2) concerns one client, not this process or machine:
/// accept(2) returns errors that the new connection already has.
pub fn is_client_gone(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    code.map_or(false, |code| CLIENT_GONE.contains(&code))
}

const CLIENT_GONE: [i32; 12] = [
    libc::ECONNABORTED,
    libc::ECONNRESET,
    libc::EPROTO,
    libc::EINTR,
    libc::EPERM, // a firewall refused it
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
    fn an_exhaustion_is_reported_before_other_errors() {
        let reported = |earlier, later| error_to_report(os(earlier), os(later)).raw_os_error();
        let (local, remote) = (libc::EMFILE, libc::ECONNREFUSED);
        assert_eq!(reported(local, remote), Some(local));
        assert_eq!(reported(remote, local), Some(local));
        assert_eq!(reported(libc::EHOSTUNREACH, remote), Some(remote));
    }

    #[test]
    fn a_lack_of_ports_is_reported_if_there_is_an_address() {
        let address = "127.0.0.1:9".parse().unwrap();
        let error = connect_error(&address, os(libc::EADDRNOTAVAIL));
        assert_eq!(Exhaustion::of(&error), Some(Exhaustion::Ports));
    }

    #[test]
    fn a_client_that_has_left_is_no_reason_to_wait() {
        assert!(is_client_gone(&io::Error::from_raw_os_error(
            libc::ECONNABORTED
        )));
        assert!(!is_client_gone(&io::Error::from_raw_os_error(libc::EMFILE)));
        assert!(!is_client_gone(&io::ErrorKind::InvalidData.into()));
    }
}
