//! Bulk through one tunnel: the pattern in one direction or in both at once, and the server's verdict.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;

use super::client::wrong;
use super::pattern::Pattern;
use super::wire::{Command, Verdict, VERDICT};

/// Moves `down` bytes to the load and `up` bytes to the server, at the same time when both are wanted.
///
/// # Errors
/// A byte that differs, an early end, or a stall of the socket's time limit.
pub fn transfer(mut stream: &TcpStream, [down, up]: [u64; 2], pattern: &Pattern) -> io::Result<()> {
    stream.write_all(&Command::Transfer { down, up }.encode())?;
    pattern.exchange(stream.as_fd(), up, down)??;
    let mut bytes = [0; VERDICT];
    stream.read_exact(&mut bytes)?;
    let wanted = Verdict {
        received: up,
        all_right: true,
    };
    match Verdict::decode(&bytes) == wanted {
        true => Ok(()),
        false => Err(wrong("the server received wrong bytes")),
    }
}
