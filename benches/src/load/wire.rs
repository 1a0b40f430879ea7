//! What load and server say to each other, as bytes.
//!
//! A connection is a sequence of commands of [`COMMAND`] bytes. After `Echo` the server sends back whatever comes,
//! until the end of file. After `Reply` it sends back that many bytes and closes. After `Transfer` it sends `down` bytes
//! of the pattern while it takes `up` bytes of it, then a verdict of [`VERDICT`] bytes on what it took; then it awaits
//! the next command. What begins as an HTTP reply is the first message of a generator without commands: it is echoed too,
//! and so is everything behind it.

pub const COMMAND: usize = 24;
pub const VERDICT: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Echo,
    /// The command itself is a part of the first message.
    EchoAll,
    Reply {
        bytes: u64,
    },
    Transfer {
        down: u64,
        up: u64,
    },
}

impl Command {
    pub fn encode(self) -> [u8; COMMAND] {
        let (name, down, up) = match self {
            Command::Echo => (*b"echo....", 0, 0),
            Command::EchoAll => return *b"HTTP/1.1 200 OK\r\nContent",
            Command::Reply { bytes } => (*b"reply...", bytes, 0),
            Command::Transfer { down, up } => (*b"transfer", down, up),
        };
        let mut bytes = [0; COMMAND];
        bytes[..8].copy_from_slice(&name);
        bytes[8..16].copy_from_slice(&u64::to_le_bytes(down));
        bytes[16..].copy_from_slice(&u64::to_le_bytes(up));
        bytes
    }

    pub fn decode(bytes: &[u8; COMMAND]) -> Option<Command> {
        let (name, rest) = bytes.split_first_chunk::<8>()?;
        let first = u64::from_le_bytes(*rest.first_chunk()?);
        let second = u64::from_le_bytes(*rest.last_chunk()?);
        match name {
            b"echo...." => Some(Command::Echo),
            _ if *bytes == Command::EchoAll.encode() => Some(Command::EchoAll),
            b"reply..." => Some(Command::Reply { bytes: first }),
            b"transfer" => Some(Command::Transfer {
                down: first,
                up: second,
            }),
            _ => None,
        }
    }
}

/// What the server says about the bytes that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub received: u64,
    pub all_right: bool,
}

impl Verdict {
    pub fn encode(self) -> [u8; VERDICT] {
        let mut bytes = [0; VERDICT];
        bytes[..8].copy_from_slice(&self.received.to_le_bytes());
        bytes[8] = u8::from(self.all_right);
        bytes
    }

    pub fn decode(bytes: &[u8; VERDICT]) -> Verdict {
        let mut received = [0; 8];
        received.copy_from_slice(&bytes[..8]);
        Verdict {
            received: u64::from_le_bytes(received),
            all_right: bytes[8..] == [1, 0, 0, 0, 0, 0, 0, 0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_verdicts_survive_the_wire() {
        for command in [
            Command::Echo,
            Command::EchoAll,
            Command::Reply { bytes: 64 },
            Command::Transfer {
                down: 1 << 30,
                up: 7,
            },
        ] {
            assert_eq!(Command::decode(&command.encode()), Some(command));
        }
        for all_right in [true, false] {
            let verdict = Verdict {
                received: 1 << 40,
                all_right,
            };
            assert_eq!(Verdict::decode(&verdict.encode()), verdict);
        }
    }

    #[test]
    fn damaged_bytes_are_no_command() {
        let mut bytes = Command::Echo.encode();
        bytes[3] ^= 1;
        assert_eq!(Command::decode(&bytes), None);
    }
}
