//! Sockets inherited from the process that started this one.

use std::io;
use std::net::TcpListener;
use std::os::unix::io::{FromRawFd, IntoRawFd, RawFd};
use std::os::unix::net::UnixListener;

use super::descriptor::check;

/// A listening socket that this process inherited.
#[derive(Debug)]
pub enum InheritedSocket {
    /// A TCP socket.
    Tcp(TcpListener),
    /// A Unix socket.
    Unix(UnixListener),
}

impl InheritedSocket {
    /// Duplicates the descriptor `number`; the new one is closed on exec. The old one stays open.
    ///
    /// # Errors
    ///
    /// EBADF if `number` isn't open; `InvalidInput` if this process opened it itself; that of
    /// getsockname(2) if it isn't a socket of these kinds.
    pub fn duplicate(number: RawFd) -> io::Result<InheritedSocket> {
        if !is_inherited(number)? {
            let why = "ptunnel opened it itself; LISTEN_FDS counts more sockets than were passed";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        // SAFETY: no pointers; a bad descriptor is an error.
        let own = check(unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) })?;
        // SAFETY: the new descriptor has no other owner.
        let tcp = unsafe { TcpListener::from_raw_fd(own) };
        if tcp.local_addr().is_ok() {
            return Ok(InheritedSocket::Tcp(tcp));
        }
        // SAFETY: the previous owner has just released it.
        let unix = unsafe { UnixListener::from_raw_fd(tcp.into_raw_fd()) };
        unix.local_addr()?;
        Ok(InheritedSocket::Unix(unix))
    }
}

/// Returns whether a descriptor was inherited through exec(2): those that this program opens are
/// closed on exec.
///
/// # Errors
///
/// EBADF if it isn't open.
pub fn is_inherited(number: RawFd) -> io::Result<bool> {
    // SAFETY: no pointers; a bad descriptor is an error.
    let flags = check(unsafe { libc::fcntl(number, libc::F_GETFD) })?;
    Ok(flags & libc::FD_CLOEXEC == 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::io::AsRawFd;

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore)] // which has no network
    fn a_number_becomes_a_socket_of_its_kind() {
        let listening = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = InheritedSocket::duplicate(listening.as_raw_fd()).unwrap_err();
        assert!(own.to_string().contains("opened it itself"), "{}", own);
        // SAFETY: no pointers; only this test has the descriptor.
        unsafe { libc::fcntl(listening.as_raw_fd(), libc::F_SETFD, 0) };
        match InheritedSocket::duplicate(listening.as_raw_fd()).unwrap() {
            InheritedSocket::Tcp(tcp) => {
                assert_eq!(tcp.local_addr().unwrap(), listening.local_addr().unwrap());
                assert_ne!(tcp.as_raw_fd(), listening.as_raw_fd());
            }
            other => panic!("{:?}", other),
        }
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(InheritedSocket::duplicate(file.as_raw_fd()).is_err());
        assert!(InheritedSocket::duplicate(1_000_000).is_err());
    }
}
