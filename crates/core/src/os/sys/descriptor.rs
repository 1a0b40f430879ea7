//! Calls on a descriptor that std lacks: poll(2), the bytes that a socket's peer hasn't
//! acknowledged, and descriptors in reserve.

use std::fs::File;
use std::io;
use std::os::unix::io::{AsRawFd, FromRawFd, RawFd};

use libc::{c_int, c_short};

/// Converts the result of a system call.
///
/// # Errors
///
/// errno, for a negative result.
pub(super) fn check<T: Default + PartialOrd>(result: T) -> io::Result<T> {
    if result < T::default() {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Returns how many bytes written to the socket its peer hasn't acknowledged yet (SIOCOUTQ, tcp(7)).
///
/// # Errors
///
/// The errors of ioctl(2).
pub fn unacknowledged(socket: &impl AsRawFd) -> io::Result<usize> {
    let mut count: c_int = 0;
    // SAFETY: TIOCOUTQ, which is SIOCOUTQ for sockets, writes one int through the pointer, which
    // points to one that lives through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &mut count) })?;
    Ok(count.max(0) as usize)
}

/// A descriptor that is kept only to be closed when another one is needed.
#[derive(Debug)]
pub struct ReservedFd {
    _reserved: File,
}

impl ReservedFd {
    /// Duplicates `fd`.
    ///
    /// # Errors
    ///
    /// `EMFILE` or `ENFILE` if there is no descriptor.
    pub fn of(fd: &impl AsRawFd) -> io::Result<ReservedFd> {
        // SAFETY: no pointers; the result is checked, and the new descriptor has no other owner.
        let _reserved = unsafe {
            let fd = check(libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 0))?;
            File::from_raw_fd(fd)
        };
        Ok(ReservedFd { _reserved })
    }
}

/// Blocks until a read returns at once, also where another process has made the descriptor
/// non-blocking: bytes, the end or an error.
///
/// # Errors
///
/// The errors of poll(2), except `Interrupted`: then this returns early.
pub(crate) fn wait_readable(io: &impl AsRawFd) -> io::Result<()> {
    wait(io.as_raw_fd(), libc::POLLIN)
}

/// Blocks until a write returns at once.
///
/// # Errors
///
/// The same as for [`wait_readable`].
pub(crate) fn wait_writable(io: &impl AsRawFd) -> io::Result<()> {
    wait(io.as_raw_fd(), libc::POLLOUT)
}

fn wait(fd: RawFd, events: c_short) -> io::Result<()> {
    const NO_TIMEOUT: libc::c_int = -1;
    let mut entry = libc::pollfd {
        fd,
        events,
        revents: 0,
    };
    // SAFETY: one entry, which lives through the call; poll(2) reports a bad descriptor in it.
    match check(unsafe { libc::poll(&mut entry, 1, NO_TIMEOUT) }) {
        Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore)] // which has no network
    fn bytes_that_the_peer_has_no_room_for_are_unacknowledged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut reader, _) = listener.accept().unwrap();
        assert_eq!(unacknowledged(&writer).unwrap(), 0);
        writer.set_nonblocking(true).unwrap();
        let mut written = 0;
        while let Ok(count) = writer.write(&[7; 65_536]) {
            written += count;
        }
        assert!(unacknowledged(&writer).unwrap() > 0);
        reader.read_exact(&mut vec![0; written]).unwrap();
        for _ in 0..1000 {
            if unacknowledged(&writer).unwrap() == 0 {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("never acknowledged");
    }

    #[test]
    #[cfg_attr(miri, ignore)] // which has no network
    fn waits_until_the_socket_is_readable_or_writable() {
        let (mut reader, mut writer) = UnixStream::pair().unwrap();
        reader.set_nonblocking(true).unwrap();
        writer.set_nonblocking(true).unwrap();
        while writer.write(&[0; 4096]).is_ok() {}
        let mut far = reader.try_clone().unwrap();
        let reading = thread::spawn(move || {
            wait_readable(&far).unwrap();
            while far.read(&mut [0; 65_536]).is_ok() {}
        });
        wait_writable(&writer).unwrap();
        writer.write_all(b"x").unwrap();
        reading.join().unwrap();
        drop(writer);
        wait_readable(&reader).unwrap();
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
    }
}
