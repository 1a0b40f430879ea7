//! What a connection says, and how its bytes get to it and back.

use std::io;

use super::channel::Channel;

/// A client that keeps more bytes than this of a reply isn't going to recognise it.
const LONGEST_REPLY: usize = 1 << 20;

/// One side of a connection.
pub trait Client {
    /// Returns the client of a new connection, the `nth` of its driver.
    fn open(&self, nth: usize) -> Self;

    /// Appends the next requests, `most` or fewer, to `out`, and returns how many they are.
    fn ask(&mut self, most: u64, out: &mut Vec<u8>) -> u64;

    /// Judges bytes that came; those that it doesn't use come again with more behind them. What it appends to `out` is
    /// sent at once.
    ///
    /// # Errors
    /// `InvalidData` for a byte that is not as it must be.
    fn judge(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<Judged>;
}

/// What a client found in the bytes that came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Bytes that it is done with.
    pub used: usize,
    /// Replies that are whole now.
    pub replies: u64,
    /// The server ends the connection behind them: they count at the end of file.
    pub last: bool,
}

/// A connection with a batch of requests in flight, or none.
pub struct Connection<C> {
    channel: Channel,
    client: C,
    /// What the socket did not take yet: all of it while it connects.
    unsent: Vec<u8>,
    /// What the client did not use yet.
    kept: Vec<u8>,
    /// Replies that are to come.
    due: u64,
    /// The last reply is there, and the end of file is to come.
    ends: bool,
}

impl<C: Client> Connection<C> {
    pub fn new(channel: Channel, client: C) -> Connection<C> {
        Connection {
            channel,
            client,
            unsent: Vec::new(),
            kept: Vec::new(),
            due: 0,
            ends: false,
        }
    }

    /// Sends a batch of at most `most` requests, or begins to; returns how many they are.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn ask(&mut self, most: u64) -> io::Result<u64> {
        self.due = self.client.ask(most, &mut self.unsent);
        self.flush()?;
        Ok(self.due)
    }

    /// Whether nothing is to come.
    pub fn is_idle(&self) -> bool {
        self.due == 0 && !self.ends
    }

    /// Whether the last batch was the last of the connection.
    pub fn ends(&self) -> bool {
        self.ends
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match self.channel.send(&self.unsent)? {
                None => return Ok(()),
                Some(n) if n == self.unsent.len() => self.unsent.clear(),
                Some(n) => drop(self.unsent.drain(..n)),
            }
        }
        Ok(())
    }

    /// Goes as far as the socket allows; true when the batch is answered, and the connection over if that ends it.
    ///
    /// # Errors
    /// `InvalidData` for a wrong byte, `UnexpectedEof` for an early end, and those of the socket.
    pub fn advance(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        loop {
            self.flush()?;
            let new = match self.channel.receive(buffer)? {
                None => return Ok(false),
                Some(0) if self.ends && self.due == 0 => return Ok(true),
                Some(0) => return Err(early("end of file before the end of a reply")),
                Some(n) => &buffer[..n],
            };
            let is_first = self.kept.is_empty();
            if !is_first {
                self.kept.extend_from_slice(new);
            }
            let bytes = if is_first { new } else { &self.kept };
            let judged = self.client.judge(bytes, &mut self.unsent)?;
            let rest = bytes.len() - judged.used;
            self.due = match self.due.checked_sub(judged.replies) {
                Some(due) if !self.ends && (due > 0 || rest == 0) => due,
                _ => return Err(wrong("bytes behind the last reply")),
            };
            match rest {
                LONGEST_REPLY.. => return Err(wrong("a reply is too long")),
                _ if is_first => self.kept.extend_from_slice(&new[judged.used..]),
                _ => drop(self.kept.drain(..judged.used)),
            }
            self.ends = judged.last;
            if self.is_idle() {
                return Ok(true);
            }
        }
    }
}

/// The error of bytes that are not as they must be.
pub fn wrong(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// The error of an end that comes too soon.
pub fn early(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use super::super::channel::Security;
    use super::*;

    /// Asks for two, and takes each byte for a reply that says it is the last.
    struct Closing;

    impl Client for Closing {
        fn open(&self, _: usize) -> Closing {
            Closing
        }

        fn ask(&mut self, _: u64, out: &mut Vec<u8>) -> u64 {
            out.extend(b"??");
            2
        }

        fn judge(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> io::Result<Judged> {
            Ok(Judged {
                used: bytes.len(),
                replies: bytes.len() as u64,
                last: true,
            })
        }
    }

    #[test]
    fn a_batch_that_is_cut_by_the_end_of_its_connection_is_not_answered() {
        for (replies, expected) in [("!", Err(io::ErrorKind::UnexpectedEof)), ("!!", Ok(true))] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let mut server = listener.accept().unwrap().0;
            let channel = Channel::new(socket.into(), &Security::Clear).unwrap();
            let mut connection = Connection::new(channel, Closing);
            assert_eq!(connection.ask(2).unwrap(), 2);
            server.write_all(replies.as_bytes()).unwrap();
            server.shutdown(std::net::Shutdown::Write).unwrap();
            let answered = connection.advance(&mut [0; 64]).map_err(|e| e.kind());
            assert_eq!(answered, expected);
        }
    }
}
