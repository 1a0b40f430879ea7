//! A cable between two networks, with the faults that a test sets.
//!
//! It does what `tc netem` would do, since many kernels are built without that, and it makes the
//! same faults everywhere from the test's own seed. Packets move from one TUN interface to the
//! other, one thread for each direction, and wait in a queue until they are due.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use support::sys;
use support::traffic::Dice;

/// The faults of each direction.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// Time until a packet arrives.
    pub delay: Duration,
    /// Percentage of packets that are lost; of those that arrive twice and those that are overtaken
    /// below.
    pub lost: u64,
    pub doubled: u64,
    pub overtaken: u64,
    pub bits_per_second: Option<u64>,
}

impl Weather {
    pub fn fair() -> Weather {
        Weather {
            delay: Duration::from_millis(0),
            lost: 0,
            doubled: 0,
            overtaken: 0,
            bits_per_second: None,
        }
    }
}

/// How far an overtaken packet falls behind: more than three packets, after which TCP assumes a
/// loss.
const BEHIND: Duration = Duration::from_millis(8);

/// A packet that would wait longer in front of a slow line is dropped.
const QUEUE: Duration = Duration::from_millis(500);

/// Connects two interfaces until it is dropped.
pub struct Cable {
    shared: Arc<Shared>,
    carrying: Vec<JoinHandle<()>>,
}

struct Shared {
    weather: Weather,
    stop: AtomicBool,
    cut: AtomicBool,
    bytes: AtomicU64,
    lost: AtomicU64,
    doubled: AtomicU64,
    overtaken: AtomicU64,
}

impl Cable {
    pub fn lay(one: File, other: File, weather: Weather, dice: &mut Dice) -> Cable {
        let shared = Arc::new(Shared {
            weather,
            stop: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            doubled: AtomicU64::new(0),
            overtaken: AtomicU64::new(0),
        });
        let again = |file: &File| file.try_clone().expect("a descriptor");
        let carrying = vec![(again(&one), again(&other)), (other, one)];
        let carry = |(from, to)| {
            let direction = Direction {
                from,
                to,
                shared: shared.clone(),
                dice: dice.fork(),
                queue: BTreeMap::new(),
                taken: 0,
                line_free: Instant::now(),
            };
            thread::spawn(move || direction.carry())
        };
        Cable {
            carrying: carrying.into_iter().map(carry).collect(),
            shared,
        }
    }

    /// Drops all further packets silently.
    pub fn cut(&self) {
        self.shared.cut.store(true, Ordering::SeqCst);
    }

    pub fn mend(&self) {
        self.shared.cut.store(false, Ordering::SeqCst);
    }

    /// Returns the number of bytes that arrived at an end of the cable so far.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::SeqCst)
    }

    /// Returns the number of packets that were lost, doubled and overtaken.
    pub fn faults(&self) -> [u64; 3] {
        let shared = &self.shared;
        let count = |count: &AtomicU64| count.load(Ordering::SeqCst);
        [
            count(&shared.lost),
            count(&shared.doubled),
            count(&shared.overtaken),
        ]
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for thread in self.carrying.drain(..) {
            let _ = thread.join();
        }
    }
}

struct Direction {
    from: File,
    to: File,
    shared: Arc<Shared>,
    dice: Dice,
    /// By the time at which they are due, then by number.
    queue: BTreeMap<(Instant, u64), Vec<u8>>,
    taken: u64,
    line_free: Instant,
}

impl Direction {
    fn carry(mut self) {
        let mut buffer = vec![0; 65_536];
        while !self.shared.stop.load(Ordering::SeqCst) {
            // Rounded up, otherwise the last millisecond would be spent polling.
            let due = self.queue.keys().next().map(|key| key.0);
            let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
            let wait = wait.unwrap_or(BEHIND * 4).min(BEHIND * 4);
            let arrives = sys::wait_readable(&self.from, wait + Duration::from_millis(1));
            while arrives.is_ok() {
                match self.from.read(&mut buffer) {
                    Ok(count) => self.take(&buffer[..count]),
                    Err(_) => break,
                }
            }
            self.deliver();
        }
    }

    fn take(&mut self, packet: &[u8]) {
        let weather = self.shared.weather;
        self.shared
            .bytes
            .fetch_add(packet.len() as u64, Ordering::SeqCst);
        if self.shared.cut.load(Ordering::SeqCst) || self.happens(weather.lost) {
            self.shared.lost.fetch_add(1, Ordering::SeqCst);
            return;
        }
        let now = Instant::now();
        let mut due = now + weather.delay;
        if let Some(rate) = weather.bits_per_second {
            if self.line_free > now + QUEUE {
                self.shared.lost.fetch_add(1, Ordering::SeqCst);
                return;
            }
            let takes = Duration::from_nanos(packet.len() as u64 * 8 * 1_000_000_000 / rate);
            self.line_free = self.line_free.max(now) + takes;
            due = self.line_free + weather.delay;
        }
        if self.happens(weather.overtaken) {
            self.shared.overtaken.fetch_add(1, Ordering::SeqCst);
            due += BEHIND;
        }
        if self.happens(weather.doubled) {
            self.shared.doubled.fetch_add(1, Ordering::SeqCst);
            self.keep(due, packet);
        }
        self.keep(due, packet);
    }

    fn happens(&mut self, of_a_hundred: u64) -> bool {
        self.dice.below(100) < of_a_hundred
    }

    fn keep(&mut self, due: Instant, packet: &[u8]) {
        self.taken += 1;
        self.queue.insert((due, self.taken), packet.to_vec());
    }

    fn deliver(&mut self) {
        let now = Instant::now();
        while let Some(&key) = self.queue.keys().next() {
            if key.0 > now {
                return;
            }
            let packet = self.queue.remove(&key).expect("the first one");
            // A full interface loses packets, as at the end of any cable.
            let _ = self.to.write(&packet);
        }
    }
}
