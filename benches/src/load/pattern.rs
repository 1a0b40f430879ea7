//! The bytes that bulk consists of: sent without a copy, and compared.
//!
//! The byte at offset `o` of a stream is byte `o % PERIOD` of a fixed random block. The period is prime, so that no
//! buffer size divides it: a buffer lost, doubled or swapped shows.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rustix::fs::{memfd_create, sendfile, MemfdFlags};
use rustix::io::Errno;
use rustix::net::{recv, RecvFlags};

const PERIOD: usize = 1_000_003;
/// What one receive asks for.
const RECEIVE: usize = 256 * 1024;
/// Bytes at the beginning of a stream that are all compared.
const WHOLE: u64 = 4 << 20;
/// Bytes that are compared or not together.
const WINDOW: u64 = 128 << 10;

#[derive(Debug)]
pub struct Pattern {
    bytes: Vec<u8>,
    /// The same bytes as a file in memory, for sendfile(2).
    file: OwnedFd,
}

impl Pattern {
    pub fn new() -> io::Result<Pattern> {
        let bytes = block();
        let file = memfd_create("pattern", MemfdFlags::CLOEXEC)?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let n = rustix::io::write(&file, rest)?;
            rest = &rest[n..];
        }
        Ok(Pattern { bytes, file })
    }

    /// Sends the first `count` bytes of the pattern over a blocking socket.
    pub fn send(&self, to: BorrowedFd<'_>, count: u64) -> io::Result<()> {
        let mut sent = 0;
        while sent < count {
            let mut offset = sent % PERIOD as u64;
            let most = (PERIOD as u64 - offset).min(count - sent) as usize;
            match sendfile(to, &self.file, Some(&mut offset), most) {
                Ok(n) => sent += n as u64,
                Err(Errno::INTR) => {}
                Err(e) => return Err(stalled(e, "sending", sent, count)),
            }
        }
        Ok(())
    }

    /// Receives `count` bytes over a blocking socket: the first [`WHOLE`] are compared with the pattern, after that a
    /// random eighth of the windows. The others are counted and dropped unseen, so that the load costs less than the
    /// relay that it measures; a byte that a relay loses or doubles there shifts every later window.
    pub fn receive(&self, from: BorrowedFd<'_>, count: u64) -> io::Result<()> {
        self.receive_counting(from, count, &AtomicU64::new(0))
    }

    /// The same; adds to `arrived` what arrives.
    pub fn receive_counting(
        &self,
        from: BorrowedFd<'_>,
        count: u64,
        arrived: &AtomicU64,
    ) -> io::Result<()> {
        let mut buffer = vec![0; RECEIVE];
        let mut received = 0;
        while received < count {
            let (compared, end) = window(received);
            let most = (end.min(count) - received).min(RECEIVE as u64) as usize;
            let flags = if compared {
                RecvFlags::empty()
            } else {
                RecvFlags::TRUNC
            };
            match recv(from, &mut buffer[..most], flags) {
                Ok((_, 0)) => {
                    let text = format!("end of file after {received} of {count} bytes");
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
                }
                Ok((_, n)) => {
                    if compared {
                        self.compare(received, &buffer[..n])?;
                    }
                    received += n as u64;
                    arrived.fetch_add(n as u64, Ordering::Relaxed);
                }
                Err(Errno::INTR) => {}
                Err(e) => return Err(stalled(e, "receiving", received, count)),
            }
        }
        Ok(())
    }

    /// Sends so many bytes of the pattern and receives so many, at the same time where both are wanted. An error is that of
    /// sending; what was found about the received ones is the value.
    pub fn exchange(
        &self,
        with: BorrowedFd<'_>,
        sent: u64,
        received: u64,
    ) -> io::Result<io::Result<()>> {
        thread::scope(|s| {
            let both = sent > 0 && received > 0;
            let sending = both.then(|| s.spawn(|| self.send(with, sent)));
            let taken = self.receive(with, received);
            let panicked = |_| Err(io::Error::other("the sender panicked"));
            let sent = match sending {
                Some(thread) => thread.join().unwrap_or_else(panicked),
                None => self.send(with, sent),
            };
            match taken {
                Ok(()) => sent.map(Ok),
                wrong => Ok(wrong),
            }
        })
    }

    fn compare(&self, offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        let mut at = (offset % PERIOD as u64) as usize;
        while !bytes.is_empty() {
            let n = bytes.len().min(PERIOD - at);
            if bytes[..n] != self.bytes[at..at + n] {
                let text = format!("wrong bytes after {offset}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            bytes = &bytes[n..];
            at = 0;
        }
        Ok(())
    }
}

/// Whether the byte at this offset is compared, and where that may change.
fn window(offset: u64) -> (bool, u64) {
    if offset < WHOLE {
        return (true, WHOLE);
    }
    let index = offset / WINDOW;
    // Fibonacci hashing: in step with no buffer size.
    let random = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61;
    (random == 0, (index + 1) * WINDOW)
}

fn stalled(e: Errno, act: &str, done: u64, count: u64) -> io::Error {
    let why = match e {
        // The sockets block, so this is their time limit.
        Errno::AGAIN => "nothing moved any more".to_string(),
        e => io::Error::from(e).to_string(),
    };
    let text = format!("{act} stopped after {done} of {count} bytes: {why}");
    io::Error::new(io::Error::from(e).kind(), text)
}

/// xorshift64*: the same bytes in every process.
fn block() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let words = std::iter::from_fn(|| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        Some(state.wrapping_mul(0x2545_f491_4f6c_dd1d))
    });
    words.flat_map(u64::to_le_bytes).take(PERIOD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_is_sent_compares_equal_across_the_period() {
        let pattern = Pattern::new().unwrap();
        let (a, b) = UnixStream::pair().unwrap();
        let count = 2 * PERIOD as u64 + 17;
        assert!(count < WHOLE);
        std::thread::scope(|s| {
            let sending = s.spawn(|| pattern.send(a.as_fd(), count));
            pattern.receive(b.as_fd(), count).unwrap();
            sending.join().unwrap().unwrap();
        });
    }

    #[test]
    fn an_eighth_of_the_windows_is_compared_and_every_one_in_its_turn() {
        let windows = 80_000_u64;
        let compared = (0..windows)
            .filter(|i| window(WHOLE + i * WINDOW).0)
            .count() as f64;
        assert!((0.12..0.13).contains(&(compared / windows as f64)));
        assert_eq!(window(0), (true, WHOLE));
        assert_eq!(window(WHOLE + WINDOW + 1).1, WHOLE + 2 * WINDOW);
    }

    #[test]
    fn bytes_lost_between_windows_are_found() {
        let pattern = Pattern::new().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let to = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (from, _) = listener.accept().unwrap();
        let count = WHOLE + 64 * WINDOW;
        let lost = (WHOLE / WINDOW..).find(|i| !window(i * WINDOW).0).unwrap() * WINDOW;
        std::thread::scope(|s| {
            s.spawn(|| {
                pattern.send(to.as_fd(), lost)?;
                // Where the pattern should go on, it begins anew.
                pattern.send(to.as_fd(), count - lost)
            });
            let e = pattern.receive(from.as_fd(), count).unwrap_err();
            assert_eq!(e.kind(), io::ErrorKind::InvalidData);
            drop(from);
        });
    }

    #[test]
    fn a_wrong_byte_is_found() {
        let pattern = Pattern::new().unwrap();
        let (mut a, b) = UnixStream::pair().unwrap();
        let mut bytes = pattern.bytes[..1000].to_vec();
        bytes[999] ^= 1;
        a.write_all(&bytes).unwrap();
        let e = pattern.receive(b.as_fd(), 1000).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn an_early_end_is_found() {
        let pattern = Pattern::new().unwrap();
        let (mut a, b) = UnixStream::pair().unwrap();
        a.write_all(&pattern.bytes[..10]).unwrap();
        drop(a);
        let e = pattern.receive(b.as_fd(), 11).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::UnexpectedEof);
    }
}
