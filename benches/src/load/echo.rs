//! A message, and the same one back.

use std::io;

use super::client::{wrong, Client, Judged};
use super::wire::Command;

/// Bytes of a request through a relay and of its reply.
pub const THROUGH_RELAY: usize = 128;
/// Bytes of the one exchange of a new tunnel.
const ONCE: usize = 64;

#[derive(Clone, Debug)]
pub struct Echo {
    /// What the client sends to the server before the first message.
    greeting: Vec<u8>,
    message: Vec<u8>,
    /// Bytes of the reply that came and were right.
    have: usize,
    sequence: u64,
    once: bool,
}

impl Echo {
    /// To a server that echoes; a message has `size` bytes, at least one.
    pub fn to_server(size: usize) -> Echo {
        Echo {
            greeting: Vec::new(),
            message: vec![0; size],
            have: 0,
            sequence: 0,
            once: false,
        }
    }

    /// Through a relay to the rig's own server, which echoes on a command.
    pub fn through_relay(size: usize) -> Echo {
        Echo {
            greeting: Command::Echo.encode().to_vec(),
            ..Echo::to_server(size)
        }
    }

    /// New tunnels: one message each, then the server closes and after it the client. So the closing states that
    /// linger belong to ports of the server and the relay, which are new with each sample, and the search for a free
    /// port is as quick in the last as in the first.
    pub fn once() -> Echo {
        Echo {
            greeting: Command::Reply { bytes: ONCE as u64 }.encode().to_vec(),
            once: true,
            ..Echo::to_server(ONCE)
        }
    }
}

impl Client for Echo {
    fn open(&self, nth: usize) -> Echo {
        let size = self.message.len();
        Echo {
            message: (0..size).map(|i| (i * 7 + nth) as u8).collect(),
            sequence: (nth as u64) << 32,
            ..self.clone()
        }
    }

    fn ask(&mut self, _most: u64, out: &mut Vec<u8>) -> u64 {
        self.sequence += 1;
        for (byte, new) in self.message.iter_mut().zip(self.sequence.to_le_bytes()) {
            *byte = new;
        }
        self.have = 0;
        out.append(&mut self.greeting);
        out.extend_from_slice(&self.message);
        1
    }

    fn judge(&mut self, bytes: &[u8], _out: &mut Vec<u8>) -> io::Result<Judged> {
        if !self.message[self.have..].starts_with(bytes) {
            return Err(wrong("a reply differs from its request"));
        }
        self.have += bytes.len();
        let is_whole = self.have == self.message.len();
        Ok(Judged {
            used: bytes.len(),
            replies: u64::from(is_whole),
            last: is_whole && self.once,
        })
    }
}
