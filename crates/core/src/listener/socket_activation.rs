//! Socket activation: listening sockets that systemd hands over (sd_listen_fds(3)).

use std::io;
use std::path::Path;

use super::addr::BoundAddr;
use crate::error::Error;
pub use crate::os::sys::InheritedSocket;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::InheritedFd;

/// Duplicates an inherited socket; returns its address, too.
///
/// # Errors
///
/// Any [`io::Error`] of the system when the descriptor is no socket, or can't be duplicated.
pub(crate) fn open(socket: &InheritedFd) -> io::Result<(InheritedSocket, BoundAddr)> {
    let socket = InheritedSocket::duplicate(socket.descriptor)?;
    let address = match &socket {
        InheritedSocket::Tcp(tcp) => BoundAddr::Ip(tcp.local_addr()?),
        InheritedSocket::Unix(unix) => {
            let address = unix.local_addr()?;
            BoundAddr::of_path(address.as_pathname().unwrap_or(Path::new("")))
        }
    };
    Ok((socket, address))
}

/// Returns the error for an inherited socket that doesn't listen, or is for datagrams:
/// [`io::ErrorKind::InvalidInput`].
pub fn not_listening() -> io::Error {
    let why = "not a listening stream socket; use ListenStream= in the socket unit";
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// The inherited sockets, each of which serves one listener.
#[derive(Debug)]
pub struct InheritedFds<'a> {
    all: &'a [InheritedFd],
    taken: Vec<&'a InheritedFd>,
}

impl<'a> InheritedFds<'a> {
    /// Makes the list of `all`, of which none is taken.
    pub fn new(all: &'a [InheritedFd]) -> InheritedFds<'a> {
        InheritedFds {
            all,
            taken: Vec::new(),
        }
    }

    /// Takes the sockets that `name` means: one or more.
    ///
    /// # Errors
    ///
    /// A usage error when `name` means none, or one that is taken.
    pub fn take(&mut self, name: &str) -> Result<Vec<&'a InheritedFd>, Error> {
        let called: Vec<&InheritedFd> = self.all.iter().filter(|one| one.is_called(name)).collect();
        if called.is_empty() {
            return Err(self.missing(name));
        }
        match called.iter().find(|one| self.taken.contains(one)) {
            Some(twice) => Err(Error::usage(format!("{} is given twice", twice))),
            None => {
                self.taken.extend(&called);
                Ok(called)
            }
        }
    }

    /// Returns the sockets that aren't taken.
    pub fn unused(&self) -> impl Iterator<Item = &'a InheritedFd> + '_ {
        self.all.iter().filter(move |one| !self.taken.contains(one))
    }

    fn missing(&self, name: &str) -> Error {
        let there = if self.all.is_empty() {
            "none was passed; start ptunnel from a socket unit, which sets LISTEN_FDS and LISTEN_PID"
                .to_string()
        } else {
            let all: Vec<String> = self.all.iter().map(InheritedFd::to_string).collect();
            format!("the sockets are {}", all.join(", "))
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
        assert_eq!(numbers(sockets.unused().collect()), [4]);
        let complaint = sockets.take("5").unwrap_err().to_string();
        assert_eq!(complaint, "fd:5 ('imap') is given twice");
        assert_eq!(numbers(sockets.take("4").unwrap()), [4]);
        let complaint = sockets.take("web").unwrap_err().to_string();
        assert_eq!(
            complaint,
            "no socket 'fd:web': the sockets are fd:3 ('imap'), fd:4 ('db'), fd:5 ('imap')"
        );
        let complaint = InheritedFds::new(&[]).take("3").unwrap_err().to_string();
        assert!(complaint.contains("LISTEN_FDS"), "{}", complaint);
    }
}
