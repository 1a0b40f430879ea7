//! A misbehaving proxy. The destination's name selects what it does to a tunnel.

use std::io::Read;
use std::net::{Shutdown, SocketAddr};
use std::thread;
use std::time::Duration;

use support::{sys, Connection, Peer};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Habit {
    BadGateway,
    Forbidden,
    Challenges,
    CutsItsHead,
    TalksRubbish,
    Resets,
    Ends,
    SaysNothing,
    Trickles,
    ResetsInTheMiddle,
    // The last two are no part of the traffic: they must never happen, and must be detected.
    Alters,
    EndsInTheMiddle,
}

pub const HABITS: &[Habit] = &[
    Habit::BadGateway,
    Habit::Forbidden,
    Habit::Challenges,
    Habit::CutsItsHead,
    Habit::TalksRubbish,
    Habit::Resets,
    Habit::Ends,
    Habit::SaysNothing,
    Habit::Trickles,
    Habit::ResetsInTheMiddle,
    Habit::Alters,
    Habit::EndsInTheMiddle,
];

const GRANT: &str = "HTTP/1.1 200 OK\r\n\r\n";

/// Position of the middle.
const MIDDLE: usize = 300_000;

/// Number of bytes that are carried at once.
const PIECE: usize = 65_536;

/// With at least this many bytes, a direction continues past the middle, in pieces of any size.
pub const PAST_THE_MIDDLE: u64 = (MIDDLE + PIECE) as u64;

impl Habit {
    pub fn destination(self) -> String {
        format!("{:?}.example:1", self)
    }

    pub fn fault(self) -> &'static str {
        match self {
            Habit::BadGateway => "a proxy says 502",
            Habit::Forbidden => "a proxy says 403",
            Habit::Challenges => "a proxy says 407",
            Habit::CutsItsHead => "a proxy ends within its head",
            Habit::TalksRubbish => "a proxy talks rubbish",
            Habit::Resets => "a proxy resets instead of a reply",
            Habit::Ends => "a proxy ends instead of a reply",
            Habit::SaysNothing => "a proxy says nothing",
            Habit::Trickles => "a proxy sends its head byte by byte",
            Habit::ResetsInTheMiddle => "a proxy resets in the middle of bulk",
            Habit::Alters => "a proxy alters a byte",
            Habit::EndsInTheMiddle => "a proxy ends in the middle of bulk",
        }
    }

    /// Returns all faults except those that must never happen.
    pub fn of_traffic() -> &'static [Habit] {
        &HABITS[..HABITS.len() - 2]
    }

    /// Returns whether the tunnel is granted at all.
    pub fn grants(self) -> bool {
        matches!(
            self,
            Habit::Trickles | Habit::ResetsInTheMiddle | Habit::Alters | Habit::EndsInTheMiddle
        )
    }

    fn practise(self, mut client: Connection, origin: SocketAddr) {
        let reply = match self {
            Habit::BadGateway => "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\nsad\n",
            Habit::Forbidden => "HTTP/1.1 403 Forbidden\r\n\r\n",
            Habit::Challenges => {
                "HTTP/1.1 407 Who Are You\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n"
            }
            Habit::CutsItsHead => "HTTP/1.1 200 OK\r\nVia: 1",
            Habit::TalksRubbish => "\u{16}\u{3}\u{1}\0rubbish\r\n\r\n",
            Habit::Resets => return client.reset(),
            Habit::Ends => return,
            Habit::SaysNothing => return client.drain(),
            Habit::Trickles => {
                for byte in GRANT.as_bytes() {
                    let _ = client.try_send([*byte]);
                    // Cheaper than a check whether the byte was read, and usually enough.
                    thread::sleep(Duration::from_millis(2));
                }
                return self.relay(client, origin);
            }
            Habit::ResetsInTheMiddle | Habit::Alters | Habit::EndsInTheMiddle => GRANT,
        };
        let _ = client.try_send(reply);
        if self.grants() {
            self.relay(client, origin);
        }
    }

    fn relay(self, client: Connection, origin: SocketAddr) {
        let server = Connection::open(origin);
        // Only the first handle has the bytes that were read together with the head.
        let (back, forth) = (client.handle(), server.handle());
        let upload = thread::spawn(move || pump(client, forth, |_, _| Step::Carry));
        pump(server, back, |done, piece| match self {
            Habit::ResetsInTheMiddle if done >= MIDDLE => Step::Reset,
            Habit::EndsInTheMiddle if done >= MIDDLE => Step::End,
            Habit::Alters if done == 0 => {
                piece[0] ^= 1;
                Step::Carry
            }
            _ => Step::Carry,
        });
        let _ = upload.join();
    }
}

pub fn start(origin: SocketAddr) -> Peer {
    Peer::start(move |mut connection| {
        let head = connection.read_head();
        let head = String::from_utf8_lossy(&head).into_owned();
        let asked = |habit: &&Habit| head.contains(&habit.destination());
        if let Some(habit) = HABITS.iter().find(asked) {
            habit.practise(connection, origin);
        } else if head.starts_with("OPTIONS ") {
            connection.send("HTTP/1.1 501 Not Implemented\r\n\r\n"); // to a probe
        }
    })
}

/// The treatment of a piece.
enum Step {
    Carry,
    /// Resets both connections.
    Reset,
    /// Sends the end, instead of this piece and all later ones.
    End,
}

/// Carries all bytes, and the end after them, as long as `step` allows it. `step` gets each piece,
/// and the number of bytes before it.
fn pump(mut from: Connection, mut to: Connection, step: impl Fn(usize, &mut [u8]) -> Step) {
    let mut buffer = vec![0; PIECE];
    let mut done = 0;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return to.finish_sending(),
            Ok(count) => count,
            Err(_) => break,
        };
        match step(done, &mut buffer[..count]) {
            Step::Carry => {}
            Step::Reset => break,
            Step::End => {
                to.finish_sending();
                return from.drain();
            }
        }
        if to.try_send(&buffer[..count]).is_err() {
            return;
        }
        done += count;
    }
    for side in &[&from, &to] {
        sys::reset_on_close(side.stream());
        // Wakes the other direction, because its handles would keep the connections open.
        let _ = side.stream().shutdown(Shutdown::Read);
    }
}
