//! Pipes that splice(2) fills from a socket and drains into another one.
//!
//! Policy belongs to the callers: nothing here retries, waits or logs.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::io::{AsRawFd, FromRawFd, RawFd};

use libc::c_int;

use super::descriptor::check;

/// A kernel buffer, filled and drained by splice(2).
#[derive(Debug)]
pub struct Pipe {
    reader: File,
    writer: File,
}

impl Pipe {
    /// Creates a pipe that doesn't block and holds `capacity` bytes.
    ///
    /// # Errors
    ///
    /// EMFILE or ENFILE without descriptors; EPERM when the user's pipe memory
    /// (`pipe-user-pages-soft`) is used up: the pipe would hold two pages, and copying is faster.
    pub fn new(capacity: usize) -> io::Result<Pipe> {
        let mut ends = [0; 2];
        // SAFETY: the kernel writes two descriptors into an array of two.
        check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK | libc::O_CLOEXEC) })?;
        // SAFETY: the new descriptors have no other owner.
        let (reader, writer) = unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
        // SAFETY: no pointers.
        check(unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, capacity as c_int) })?;
        Ok(Pipe { reader, writer })
    }

    /// Moves up to `most` bytes from the socket into the pipe, without copying them.
    ///
    /// Returns 0 at the end of the stream. `WouldBlock` means that the socket is empty or that the
    /// pipe is full: only a caller that knows the pipe to be empty can tell which.
    ///
    /// # Errors
    ///
    /// The errors of splice(2).
    pub fn fill(&self, from: &impl AsRawFd, most: usize) -> io::Result<usize> {
        splice(from.as_raw_fd(), self.writer.as_raw_fd(), most)
    }

    /// Moves up to `most` bytes from the pipe into the socket.
    ///
    /// # Errors
    ///
    /// The errors of splice(2).
    pub fn drain(&self, to: &impl AsRawFd, most: usize) -> io::Result<usize> {
        splice(self.reader.as_raw_fd(), to.as_raw_fd(), most)
    }

    /// Fills `bytes` from the pipe, which must contain as many.
    ///
    /// # Errors
    ///
    /// The errors of read(2).
    pub fn read_exact(&self, bytes: &mut [u8]) -> io::Result<()> {
        (&self.reader).read_exact(bytes)
    }
}

fn splice(from: RawFd, to: RawFd, most: usize) -> io::Result<usize> {
    let flags = libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK;
    let none = std::ptr::null_mut();
    // SAFETY: null offsets are allowed; pipes and sockets have none.
    check(unsafe { libc::splice(from, none, to, none, most, flags) }).map(|count| count as usize)
}

#[cfg(all(test, not(miri)))] // Miri has none of these calls
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn bytes_pass_through_a_pipe_unchanged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let pipe = Pipe::new(65_536).unwrap();
        let (out, mut seen) = UnixStream::pair().unwrap();
        client.write_all(b"hello").unwrap();
        assert_eq!(pipe.fill(&server, 65_536).unwrap(), 5);
        assert_eq!(pipe.drain(&out, 5).unwrap(), 5);
        let mut buffer = [0; 8];
        assert_eq!(seen.read(&mut buffer).unwrap(), 5);
        assert_eq!(&buffer[..5], b"hello");
        drop(client);
        assert_eq!(pipe.fill(&server, 1).unwrap(), 0, "the end is the end");
    }
}
