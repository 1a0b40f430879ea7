//! Random traffic through a tunnel: sizes, pieces, stalls, ends and resets.
//!
//! What arrives must be what was sent, and the ends must match. Everything random comes from one
//! seed, which the test prints: `PTUNNEL_SEED=…` repeats it.

use std::env;
use std::io::{self, Read};
use std::net::Shutdown;
use std::panic;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use super::bytes::Pattern;
use super::peer::Connection;

/// xorshift64*: random enough, and the same everywhere.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        let mut dice = Dice(seed << 1 | 1);
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    /// Returns a number from 0 to `bound` - 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Returns the size of a piece: usually small, sometimes about the size of a buffer, rarely
    /// large.
    pub fn size(&mut self) -> usize {
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

    /// Returns separate dice for another thread.
    pub fn fork(&mut self) -> Dice {
        Dice(self.next() | 1)
    }
}

/// Returns the seed of PTUNNEL_SEED, or a new one. Prints it, for a test that fails.
pub fn seed() -> u64 {
    let seed = match env::var("PTUNNEL_SEED") {
        Ok(text) => text.parse().expect("PTUNNEL_SEED is a number"),
        Err(_) => {
            let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            time.expect("a clock").as_nanos() as u64 & 0xFFFF_FFFF
        }
    };
    println!("PTUNNEL_SEED={}", seed);
    seed
}

/// The end of one side's direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Orderly,
    Reset,
}

/// The number of bytes that one side sends, and their end.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub bytes: u64,
    pub end: End,
}

/// The result of one side: the bytes sent, the bytes read (all of them right), and the end of each
/// direction.
#[derive(Debug)]
pub struct Outcome {
    pub sent: u64,
    pub sending: io::Result<()>,
    pub seen: u64,
    pub reading: io::Result<()>,
}

/// One running side: a thread that writes and one that reads.
struct Side {
    writing: JoinHandle<(Connection, u64, io::Result<()>)>,
    reading: JoinHandle<(u64, io::Result<()>)>,
    end: End,
}

/// Runs both sides of a tunnel, each with its plan, until both have seen the end. Panics if a byte
/// or an end isn't the one that the other side sent.
///
/// At most one side can reset: if both do, each can see anything. Tunnels with different numbers
/// carry different bytes.
pub fn exchange(
    number: u64,
    sides: (Connection, Connection),
    plans: (Plan, Plan),
    dice: &mut Dice,
) {
    let streams = (Pattern::new(number * 2), Pattern::new(number * 2 + 1));
    let (client, server) = play(streams, sides, plans, dice);
    expect_ends(plans, &client, &server);
}

/// Runs both sides until both have seen an end, of any kind. Panics if a byte isn't the one that
/// the other side sent; `streams` are the client's and the server's.
pub fn play(
    streams: (Pattern, Pattern),
    sides: (Connection, Connection),
    plans: (Plan, Plan),
    dice: &mut Dice,
) -> (Outcome, Outcome) {
    let (up, down) = streams;
    let client = Side::start(sides.0, up.clone(), down.clone(), plans.0, dice);
    let server = Side::start(sides.1, down, up, plans.1, dice);
    // A side that resets does so when its own work is done: the other side waits for that.
    if plans.1.end == End::Reset {
        let server = server.finish();
        return (client.finish(), server);
    }
    let client = client.finish();
    (client, server.finish())
}

/// Panics unless each side has read everything in the other side's plan, and its end.
pub fn expect_ends(plans: (Plan, Plan), client: &Outcome, server: &Outcome) {
    match (plans.0.end, plans.1.end) {
        (End::Reset, _) => expect_reset(client, server),
        (_, End::Reset) => expect_reset(server, client),
        _ => {
            expect_all(client, server);
            expect_all(server, client);
        }
    }
}

/// Checks that all bytes from `from` have arrived at `to`, and the end, too.
fn expect_all(from: &Outcome, to: &Outcome) {
    assert!(
        from.sending.is_ok() && to.reading.is_ok(),
        "{:?}\n{:?}",
        from,
        to
    );
    assert_eq!(to.seen, from.sent);
}

/// Checks that `other` has read a part of the bytes, and noticed that it is incomplete.
fn expect_reset(resetting: &Outcome, other: &Outcome) {
    assert!(other.seen <= resetting.sent, "{:?}\n{:?}", resetting, other);
    expect_told(other);
}

/// Checks that this side noticed that the bytes are incomplete.
pub fn expect_told(outcome: &Outcome) {
    // A socket returns its error once, to the first call.
    let is_told = outcome.reading.is_err() || outcome.sending.is_err();
    assert!(is_told, "a reset became an orderly end: {:?}", outcome);
}

impl Side {
    fn start(
        connection: Connection,
        writes: Pattern,
        reads: Pattern,
        plan: Plan,
        dice: &mut Dice,
    ) -> Side {
        let (writer, reader) = (connection.handle(), connection);
        let (write_dice, read_dice) = (dice.fork(), dice.fork());
        Side {
            writing: thread::spawn(move || write(writer, writes, plan, write_dice)),
            reading: thread::spawn(move || read(reader, reads, read_dice)),
            end: plan.end,
        }
    }

    /// Waits for both threads, then resets the connection if that is its end.
    fn finish(self) -> Outcome {
        let (connection, sent, sending) = joined(self.writing);
        let (seen, reading) = joined(self.reading);
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

/// Returns the result of a thread, or continues its panic.
pub fn joined<T>(thread: JoinHandle<T>) -> T {
    thread
        .join()
        .unwrap_or_else(|cause| panic::resume_unwind(cause))
}

fn write(
    mut to: Connection,
    pattern: Pattern,
    plan: Plan,
    mut dice: Dice,
) -> (Connection, u64, io::Result<()>) {
    let mut sent = 0;
    while sent < plan.bytes {
        let most = (plan.bytes - sent).min(dice.size() as u64);
        let piece = pattern.piece(sent, most as usize);
        if let Err(e) = to.try_send(&piece) {
            return (to, sent, Err(e));
        }
        sent += most;
        dice.stall();
    }
    match plan.end {
        End::Orderly => to.finish_sending(),
        // The reader on this side returns, so its handle is dropped before the connection is reset.
        End::Reset => drop(to.stream().shutdown(Shutdown::Read)),
    }
    (to, sent, Ok(()))
}

fn read(mut from: Connection, pattern: Pattern, mut dice: Dice) -> (u64, io::Result<()>) {
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
