//! Random traffic through one tunnel after the other: sizes, pieces, stalls, ends and resets.
//!
//! What arrives must be what was sent, and the ends must match. A failure shows its seed:
//! `PTUNNEL_SEED=… cargo test mixture` repeats it.

use std::env;
use std::io::{self, Read};
use std::net::Shutdown;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use crate::ends::{Ends, Gate};
use crate::relay;
use crate::support::{Connection, Pattern};

const TUNNELS: u64 = 60;
/// At once: so that some of them share a turn of the reactor.
const GROUP: u64 = 6;

#[test]
fn auto() {
    mix("auto");
}

#[test]
fn always() {
    mix("always");
}

#[test]
fn never() {
    mix("never");
}

/// xorshift64*: good enough to be surprising, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    /// From 0 to `bound` - 1.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Many small ones, some around the sizes of buffers, few large ones.
    fn size(&mut self) -> usize {
        let size = match self.below(10) {
            0..=3 => 1 + self.below(100),
            4..=6 => 1 + self.below(20_000),
            7 => (16_384 << self.below(4)) - 1 + self.below(3),
            8 => 1 + self.below(200_000),
            _ => 1 + self.below(1_500_000),
        };
        size as usize
    }

    fn stall(&mut self) {
        if self.below(100) < 15 {
            thread::sleep(Duration::from_micros(self.below(4000)));
        }
    }

    /// Dice of their own for another thread.
    fn fork(&mut self) -> Dice {
        Dice(self.next() | 1)
    }
}

fn seed() -> u64 {
    match env::var("PTUNNEL_SEED") {
        Ok(text) => text.parse().expect("PTUNNEL_SEED is a number"),
        Err(_) => {
            let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            time.expect("a clock").as_nanos() as u64 & 0xFFFF_FFFF
        }
    }
}

fn mix(setting: &'static str) {
    let seed = seed();
    println!("PTUNNEL_SEED={}", seed);
    let mut dice = Dice(seed << 1 | 1);
    dice.next();
    let gate = Gate::open();
    let program = relay::start(&gate, setting);
    for first in (0..TUNNELS).step_by(GROUP as usize) {
        let runs: Vec<_> = (first..first + GROUP)
            .map(|number| {
                let (ends, dice) = (gate.join(&program), dice.fork());
                (number, thread::spawn(move || run(number, ends, dice)))
            })
            .collect();
        for (number, run) in runs {
            if run.join().is_err() {
                panic!(
                    "tunnel {} of PTUNNEL_SEED={}, --splice {}",
                    number, seed, setting
                );
            }
        }
    }
}

/// How one side ends what it sends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Orderly,
    Reset,
}

/// How one side's work went: what it sent, what it read (all of it right), and each one's end.
#[derive(Debug)]
struct Outcome {
    sent: u64,
    sending: io::Result<()>,
    seen: u64,
    reading: io::Result<()>,
}

/// One side at work: a thread that writes and one that reads.
struct Side {
    writing: JoinHandle<(Connection, u64, io::Result<()>)>,
    reading: JoinHandle<(u64, io::Result<()>)>,
    end: End,
}

fn run(number: u64, ends: Ends, mut dice: Dice) {
    // At most one side resets: two that do are each free to see anything.
    let resetting = dice.below(10);
    let client_end = if resetting < 2 {
        End::Reset
    } else {
        End::Orderly
    };
    let server_end = if resetting == 2 {
        End::Reset
    } else {
        End::Orderly
    };
    let (up, down) = (number * 2, number * 2 + 1);
    let client = Side::start(ends.client, up, down, client_end, &mut dice);
    let server = Side::start(ends.server, down, up, server_end, &mut dice);
    if client_end == End::Reset {
        let client = client.finish();
        expect_reset(&client, &server.finish());
    } else if server_end == End::Reset {
        let server = server.finish();
        expect_reset(&server, &client.finish());
    } else {
        let (client, server) = (client.finish(), server.finish());
        expect_all(&client, &server);
        expect_all(&server, &client);
    }
}

/// Everything that `from` sent has arrived at `to`, and so has its end.
fn expect_all(from: &Outcome, to: &Outcome) {
    assert!(
        from.sending.is_ok() && to.reading.is_ok(),
        "{:?}\n{:?}",
        from,
        to
    );
    assert_eq!(to.seen, from.sent);
}

/// `other` has read a part of what was sent, and knows that it isn't all.
fn expect_reset(resetting: &Outcome, other: &Outcome) {
    assert!(other.seen <= resetting.sent, "{:?}\n{:?}", resetting, other);
    // A socket tells its error once, to whoever asks first.
    let told = other.reading.is_err() || other.sending.is_err();
    assert!(
        told,
        "a reset became an orderly end: {:?}\n{:?}",
        resetting, other
    );
}

impl Side {
    fn start(connection: Connection, writes: u64, reads: u64, end: End, dice: &mut Dice) -> Side {
        let (writer, reader) = (connection.handle(), connection);
        let (write_dice, read_dice) = (dice.fork(), dice.fork());
        Side {
            writing: thread::spawn(move || write(writer, writes, end, write_dice)),
            reading: thread::spawn(move || read(reader, reads, read_dice)),
            end,
        }
    }

    /// Waits for both threads, then resets the connection if that is its end.
    fn finish(self) -> Outcome {
        let (connection, sent, sending) = self.writing.join().expect("the writer's script");
        let (seen, reading) = self.reading.join().expect("the reader's script");
        if self.end == End::Reset {
            connection.reset();
        }
        Outcome {
            sent,
            sending,
            seen,
            reading,
        }
    }
}

fn write(
    mut to: Connection,
    seed: u64,
    end: End,
    mut dice: Dice,
) -> (Connection, u64, io::Result<()>) {
    let pattern = Pattern::new(seed);
    let mut sent = 0;
    for _ in 0..dice.below(25) {
        let piece = pattern.piece(sent, dice.size());
        if let Err(e) = to.try_send(&piece) {
            return (to, sent, Err(e));
        }
        sent += piece.len() as u64;
        dice.stall();
    }
    match end {
        End::Orderly => to.finish_sending(),
        // Our own reader comes back, so that its handle is gone when the connection is reset.
        End::Reset => drop(to.stream().shutdown(Shutdown::Read)),
    }
    (to, sent, Ok(()))
}

fn read(mut from: Connection, seed: u64, mut dice: Dice) -> (u64, io::Result<()>) {
    let pattern = Pattern::new(seed);
    let mut buffer = vec![0; 100_000];
    let mut seen = 0;
    loop {
        let most = dice.size().min(buffer.len());
        match from.read(&mut buffer[..most]) {
            Ok(0) => return (seen, Ok(())),
            Ok(count) => {
                pattern.check(seen, &buffer[..count]);
                seen += count as u64;
            }
            Err(e) => {
                let is_reset = e.kind() == io::ErrorKind::ConnectionReset;
                assert!(is_reset, "neither an end nor a reset: {}", e);
                return (seen, Err(e));
            }
        }
        dice.stall();
    }
}
