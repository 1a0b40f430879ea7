//! The work by which a chain of combinators, a hand-written future and an async fn are compared: read a message, invert
//! its bytes, write it back, until an empty one has been answered.
//!
//! The other side is a [`Script`] in memory, so neither kernel nor reactor play a part. It gives and takes bytes in
//! pieces and would block after each, so that every step of the program is left and entered again.
//! Also compiled into `legacy/`, so it keeps to edition 2018 and to std.

use std::io::{self, Read, Write};
use std::mem;
use std::ops::Range;

/// Bytes that say how many follow.
const LENGTH: usize = 4;
/// Bytes that follow, in all messages but the last.
const BODY: usize = 100;
/// The most that one read gives.
const PIECE: usize = 32;
/// The most that one write takes.
const ROOM: usize = 64;

/// A message in its own buffer. As a slice it is the part that is to be read or written next.
#[derive(Debug)]
pub struct Message {
    bytes: Vec<u8>,
    part: Range<usize>,
}

impl Default for Message {
    fn default() -> Message {
        Message {
            bytes: vec![0; LENGTH + BODY],
            part: 0..LENGTH,
        }
    }
}

impl Message {
    /// The length comes next.
    pub fn await_length(&mut self) {
        self.part = 0..LENGTH;
    }

    /// The length is there; as many bytes come next, at most those of the buffer.
    pub fn await_body(&mut self) {
        let mut length = [0; LENGTH];
        length.copy_from_slice(&self.bytes[..LENGTH]);
        let length = (u32::from_be_bytes(length) as usize).min(BODY);
        self.part = LENGTH..LENGTH + length;
    }

    /// The message is whole; its answer is to be written.
    pub fn answer(&mut self) {
        let end = self.part.end;
        for byte in &mut self.bytes[LENGTH..end] {
            *byte = !*byte;
        }
        self.part = 0..end;
    }

    /// Whether nothing comes after it.
    pub fn is_last(&self) -> bool {
        self.part.end == LENGTH
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.part.clone()]
    }
}

impl AsMut<[u8]> for Message {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.part.clone()]
    }
}

/// The other side: sends a message, takes its answer and compares it, sends the next.
///
/// Its `read` and `write` are not inlined: a profile shows them apart from what is compared.
#[derive(Debug)]
pub struct Script {
    /// Messages with a body that are still to be sent, the current one included.
    left: u64,
    /// The message, and behind it the right answer, which is as long.
    bytes: Vec<u8>,
    length: usize,
    /// How much of the message was read, and how much of its answer was written.
    sent: usize,
    answered: usize,
    /// The next call would block.
    blocks: bool,
    ended: bool,
}

impl Script {
    /// Sends that many messages, and an empty one.
    pub fn new(messages: u64) -> Script {
        let mut script = Script {
            left: messages,
            bytes: Vec::with_capacity(2 * (LENGTH + BODY)),
            length: 0,
            sent: 0,
            answered: 0,
            blocks: false,
            ended: false,
        };
        script.prepare();
        script
    }

    /// Whether the last answer has come. Wrong ones failed where they were written.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    fn prepare(&mut self) {
        let body = if self.left > 0 { BODY } else { 0 };
        let left = self.left;
        let bytes = (0..body).map(|i| (i as u64 + left) as u8);
        let length = (body as u32).to_be_bytes();
        self.bytes.clear();
        self.bytes.extend_from_slice(&length);
        self.bytes.extend(bytes.clone());
        self.bytes.extend_from_slice(&length);
        self.bytes.extend(bytes.map(|byte| !byte));
        self.length = LENGTH + body;
        self.sent = 0;
        self.answered = 0;
    }
}

impl Read for Script {
    #[inline(never)]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if mem::replace(&mut self.blocks, false) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if self.ended {
            return Ok(0);
        }
        let rest = &self.bytes[self.sent..self.length];
        let count = rest.len().min(PIECE).min(into.len());
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        into[..count].copy_from_slice(&rest[..count]);
        self.sent += count;
        self.blocks = true;
        Ok(count)
    }
}

impl Write for Script {
    #[inline(never)]
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        if mem::replace(&mut self.blocks, false) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let given = &from[..from.len().min(ROOM)];
        let wanted = &self.bytes[self.length + self.answered..];
        if self.sent < self.length || !wanted.starts_with(given) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.answered += given.len();
        self.blocks = true;
        if self.answered == self.length {
            self.ended = self.left == 0;
            if !self.ended {
                self.left -= 1;
                self.prepare();
            }
        }
        Ok(given.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a program is asked for on its command line: `MODE WORK COUNT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub mode: String,
    pub work: Work,
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One connection with so many messages.
    Messages,
    /// So many connections, one after the other, with one message each; each is a boxed task.
    Connections,
    /// So many combinators, in chains of [`DEPTH`].
    Combinators,
    /// So many tasks, one after the other, spawned and awaited.
    Tasks,
    /// One task that waits so often.
    Waits,
}

/// Combinators of a chain.
pub const DEPTH: u64 = 8;

impl Order {
    /// Reads the command line; says how it is used and exits with 2 otherwise.
    pub fn from_args() -> Order {
        let args: Vec<String> = std::env::args().skip(1).collect();
        Order::parse(&args).unwrap_or_else(|| {
            eprintln!("usage: MODE WORK COUNT, as in chain messages 1000");
            std::process::exit(2)
        })
    }

    fn parse(args: &[String]) -> Option<Order> {
        let (mode, work, count) = match args {
            [mode, work, count] => (mode, work, count),
            _ => return None,
        };
        let work = match work.as_str() {
            "messages" => Work::Messages,
            "connections" => Work::Connections,
            "combinators" => Work::Combinators,
            "tasks" => Work::Tasks,
            "waits" => Work::Waits,
            _ => return None,
        };
        let count = count.parse().ok()?;
        Some(Order {
            mode: mode.clone(),
            work,
            count,
        })
    }

    /// The connections that this means, as counts of their messages.
    pub fn connections(&self) -> impl Iterator<Item = u64> {
        let (connections, messages) = match self.work {
            Work::Messages => (1, self.count),
            _ => (self.count, 1),
        };
        (0..connections).map(move |_| messages)
    }

    /// A mode that can't do this work.
    pub fn is_unknown(&self) -> io::Error {
        let text = format!("{} can't be asked for {:?}", self.mode, self.work);
        io::Error::new(io::ErrorKind::InvalidInput, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The work as a loop that tries again at once, with how often it had to; the answer is altered where `wrong` says.
    fn serve(script: &mut Script, wrong: bool) -> io::Result<u32> {
        let mut blocked = 0;
        let mut message = Message::default();
        let mut retry = |blocks: io::Result<usize>| match blocks {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                blocked += 1;
                Ok(0)
            }
            other => other,
        };
        loop {
            message.await_length();
            for step in 0..2 {
                let mut have = 0;
                while have < message.as_ref().len() {
                    have += retry(script.read(&mut message.as_mut()[have..]))?;
                }
                if step == 0 {
                    message.await_body();
                }
            }
            message.answer();
            if wrong {
                message.as_mut()[7] ^= 1;
            }
            let mut written = 0;
            while written < message.as_ref().len() {
                written += retry(script.write(&message.as_ref()[written..]))?;
            }
            if message.is_last() {
                return Ok(blocked);
            }
        }
    }

    #[test]
    fn a_script_ends_with_the_answer_to_its_empty_message() {
        let mut script = Script::new(3);
        let blocked = serve(&mut script, false).unwrap();
        assert!(script.has_ended());
        // Before each of seven pieces a message, and of two of the last; the first of all comes at once.
        assert_eq!(blocked, 3 * 7 + 2 - 1);
    }

    #[test]
    fn a_wrong_answer_is_an_error() {
        let error = serve(&mut Script::new(1), true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let early = Script::new(1).write(&[0; 4]).unwrap_err();
        assert_eq!(early.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn an_order_has_three_words() {
        let parse = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            Order::parse(&words)
        };
        let order = parse("chain messages 7").unwrap();
        assert_eq!((order.work, order.count), (Work::Messages, 7));
        assert_eq!(order.connections().collect::<Vec<_>>(), [7]);
        let order = parse("chain connections 3").unwrap();
        assert_eq!(order.connections().collect::<Vec<_>>(), [1, 1, 1]);
        for wrong in &[
            "",
            "chain messages",
            "chain dances 1",
            "chain tasks x",
            "a tasks 1 2",
        ] {
            assert_eq!(parse(wrong), None, "{}", wrong);
        }
    }
}
