//! A proxy of bad habits. The destination's name says which one a tunnel is to meet.

use std::io::Read;
use std::net::{Shutdown, SocketAddr};
use std::thread;
use std::time::Duration;

use crate::support::{sys, Connection, Peer};

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
    CutsInTheMiddle,
    /// The last, and no part of the traffic: what must never be done, and has to be found.
    Alters,
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
    Habit::CutsInTheMiddle,
    Habit::Alters,
];

const GRANT: &str = "HTTP/1.1 200 OK\r\n\r\n";

/// Where the middle is.
const MIDDLE: usize = 300_000;

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
            Habit::CutsInTheMiddle => "a proxy resets in the middle of bulk",
            Habit::Alters => "a proxy alters a byte",
        }
    }

    /// All but the one that must never be met.
    pub fn of_traffic() -> &'static [Habit] {
        &HABITS[..HABITS.len() - 1]
    }

    /// Whether there is a tunnel at all.
    pub fn grants(self) -> bool {
        matches!(
            self,
            Habit::Trickles | Habit::CutsInTheMiddle | Habit::Alters
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
                    // Cheaper than to look whether it was read, and mostly enough for that.
                    thread::sleep(Duration::from_millis(2));
                }
                return self.relay(client, origin);
            }
            Habit::CutsInTheMiddle | Habit::Alters => GRANT,
        };
        let _ = client.try_send(reply);
        if self.grants() {
            self.relay(client, origin);
        }
    }

    fn relay(self, client: Connection, origin: SocketAddr) {
        let server = Connection::open(origin);
        // What was read with the head is known to the first handle alone.
        let (back, forth) = (client.handle(), server.handle());
        let upload = thread::spawn(move || pump(client, forth, |_, _| true));
        pump(server, back, |done, piece| match self {
            Habit::CutsInTheMiddle => done < MIDDLE,
            Habit::Alters if done == 0 => {
                piece[0] ^= 1;
                true
            }
            _ => true,
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
        }
    })
}

/// Carries what comes, and the end after it, until `passes` says no: then both are reset. It is
/// shown each piece, and how much went before.
fn pump(mut from: Connection, mut to: Connection, passes: impl Fn(usize, &mut [u8]) -> bool) {
    let mut buffer = vec![0; 65_536];
    let mut done = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return to.finish_sending(),
            Ok(count) if passes(done, &mut buffer[..count]) => {
                if to.try_send(&buffer[..count]).is_err() {
                    return;
                }
                done += count;
            }
            _ => break,
        }
    }
    for side in &[&from, &to] {
        sys::reset_on_close(side.stream());
        // Wakes the other direction, whose handles would keep them open.
        let _ = side.stream().shutdown(Shutdown::Read);
    }
}
