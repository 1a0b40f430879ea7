//! Waiting for a descriptor that another process has made non-blocking.

use std::io;
use std::os::unix::io::{AsRawFd, RawFd};

use libc::c_short;

/// Blocks until a read returns at once: bytes, the end or an error.
///
/// # Errors
///
/// Those of poll(2), except `Interrupted`: then this returns early.
pub(crate) fn wait_readable(io: &impl AsRawFd) -> io::Result<()> {
    wait(io.as_raw_fd(), libc::POLLIN)
}

/// Blocks until a write returns at once.
///
/// # Errors
///
/// As for [`wait_readable`].
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
    if unsafe { libc::poll(&mut entry, 1, NO_TIMEOUT) } >= 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        e if e.kind() == io::ErrorKind::Interrupted => Ok(()),
        e => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore)] // which has no network
    fn returns_when_there_is_something_to_read_or_room() {
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
