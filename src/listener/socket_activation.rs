//! Listening sockets that whoever started us has bound, with their names: systemd's socket
//! activation (sd_listen_fds(3)).

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;

use crate::config::{unmap_ipv4, InheritedFd};
use crate::error::Error;
pub use crate::os::sys::InheritedSocket;
use crate::text::escape::Escaped;

/// A descriptor of our own for one of them, and where it listens.
///
/// # Errors
///
/// When it is no socket.
pub fn open(passed: &InheritedFd) -> io::Result<(InheritedSocket, Address)> {
    let socket = InheritedSocket::duplicate(passed.descriptor)?;
    let address = match &socket {
        InheritedSocket::Tcp(tcp) => Address::Ip(tcp.local_addr()?),
        InheritedSocket::Unix(unix) => {
            let address = unix.local_addr()?;
            let path = address.as_pathname().map(|path| path.as_os_str());
            let path = path.map_or(&b""[..], |path| path.as_bytes());
            Address::Path(Escaped(path).to_string())
        }
    };
    Ok((socket, address))
}

/// Why one of them can't be listened on: it is bound, or for datagrams.
pub fn not_listening() -> io::Error {
    let why = "it is no stream socket that listens, as ListenStream= makes one";
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Where a socket listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// At a port.
    Ip(SocketAddr),
    /// At a path, escaped; an empty one has none.
    Path(String),
}

impl Address {
    /// Whether others than this machine can reach it.
    pub fn is_beyond_loopback(&self) -> bool {
        match self {
            Address::Ip(address) => !unmap_ipv4(address.ip()).is_loopback(),
            Address::Path(_) => false,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ip(address) => address.fmt(f),
            Address::Path(path) if path.is_empty() => f.write_str("a socket without a name"),
            Address::Path(path) => f.write_str(path),
        }
    }
}

/// All of them, each for one service.
#[derive(Debug)]
pub struct InheritedFds<'a> {
    all: &'a [InheritedFd],
    taken: Vec<&'a InheritedFd>,
}

impl<'a> InheritedFds<'a> {
    /// None of them is taken yet.
    pub fn new(all: &'a [InheritedFd]) -> InheritedFds<'a> {
        InheritedFds {
            all,
            taken: Vec::new(),
        }
    }

    /// Those that `name` means; never none of them.
    ///
    /// # Errors
    ///
    /// When it means none, or one that was taken.
    pub fn take(&mut self, name: &str) -> Result<Vec<&'a InheritedFd>, Error> {
        let called: Vec<&InheritedFd> = self.all.iter().filter(|one| one.is_called(name)).collect();
        if called.is_empty() {
            return Err(self.nobody_is(name));
        }
        match called.iter().find(|one| self.taken.contains(one)) {
            Some(twice) => Err(Error::usage(format!("{} is given twice", twice))),
            None => {
                self.taken.extend(&called);
                Ok(called)
            }
        }
    }

    /// Those that nobody took.
    pub fn others(&self) -> impl Iterator<Item = &'a InheritedFd> + '_ {
        self.all.iter().filter(move |one| !self.taken.contains(one))
    }

    fn nobody_is(&self, name: &str) -> Error {
        let there = if self.all.is_empty() {
            "none was passed: a socket unit would, with LISTEN_FDS and LISTEN_PID".to_string()
        } else {
            let all: Vec<String> = self.all.iter().map(InheritedFd::to_string).collect();
            format!("there are {}", all.join(", "))
        };
        let name = Escaped(name.as_bytes());
        Error::usage(format!("no socket 'fd:{}': {}", name, there))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::io::RawFd;

    use super::*;

    #[test]
    fn a_socket_is_known_by_its_name_or_its_number() {
        let passed = |descriptor, name: &str| InheritedFd {
            descriptor,
            name: name.into(),
        };
        let all = [passed(3, "imap"), passed(4, "db"), passed(5, "imap")];
        let numbers = |sockets: Vec<&InheritedFd>| -> Vec<RawFd> {
            sockets.iter().map(|one| one.descriptor).collect()
        };
        let mut sockets = InheritedFds::new(&all);
        assert_eq!(numbers(sockets.take("imap").unwrap()), [3, 5]);
        assert_eq!(numbers(sockets.others().collect()), [4]);
        let complaint = sockets.take("5").unwrap_err().to_string();
        assert_eq!(complaint, "fd:5 ('imap') is given twice");
        assert_eq!(numbers(sockets.take("4").unwrap()), [4]);
        let complaint = sockets.take("web").unwrap_err().to_string();
        assert_eq!(
            complaint,
            "no socket 'fd:web': there are fd:3 ('imap'), fd:4 ('db'), fd:5 ('imap')"
        );
        let complaint = InheritedFds::new(&[]).take("3").unwrap_err().to_string();
        assert!(complaint.contains("LISTEN_FDS"), "{}", complaint);
    }

    #[test]
    fn only_an_address_may_be_beyond_loopback() {
        for (address, beyond) in &[
            ("127.0.0.1:1", false),
            ("[::1]:1", false),
            ("[::ffff:127.0.0.1]:1", false),
            ("0.0.0.0:1", true),
            ("[::]:1", true),
        ] {
            let address = Address::Ip(address.parse().unwrap());
            assert_eq!(address.is_beyond_loopback(), *beyond, "{}", address);
        }
        assert!(!Address::Path(String::new()).is_beyond_loopback());
    }
}
