//! Bulk through one tunnel: the pattern in one direction or in both at once, and the server's verdict.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::thread;

use super::pattern::Pattern;
use super::wire::{Command, Verdict, VERDICT};

/// Moves `down` bytes to the load and `up` bytes to the server, at the same time when both are wanted.
///
/// # Errors
/// A byte that differs, an early end, or a stall of the socket's time limit.
pub fn transfer(mut stream: &TcpStream, down: u64, up: u64, pattern: &Pattern) -> io::Result<()> {
    stream.write_all(&Command::Transfer { down, up }.encode())?;
    thread::scope(|s| {
        let sending = (down > 0 && up > 0).then(|| s.spawn(|| pattern.send(stream.as_fd(), up)));
        pattern.receive(stream.as_fd(), down)?;
        match sending {
            Some(thread) => thread
                .join()
                .map_err(|_| io::Error::other("the sender panicked"))?,
            None => pattern.send(stream.as_fd(), up),
        }
    })?;
    let mut bytes = [0; VERDICT];
    stream.read_exact(&mut bytes)?;
    let verdict = Verdict::decode(&bytes);
    if verdict
        == (Verdict {
            received: up,
            all_right: true,
        })
    {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the server received wrong bytes",
        ))
    }
}
