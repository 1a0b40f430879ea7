//! The one epoll loop of every load of small messages. A [`Driver`] owns connections, pace and clock; a [`Client`]
//! owns the bytes: what it sends, how it recognises a whole reply, and that each byte of it is right.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::thread::set_current_timer_slack;

use super::channel::{Channel, Security};
use super::client::{early, Client, Connection};
use super::pace::{Pace, Until};
use super::sockets::{client, connecting, TIMEOUT};
use crate::stop::Stop;

/// What is received at once.
const RECEIVE: usize = 64 * 1024;
/// The most that a run may take.
const LONGEST_RUN: Duration = Duration::from_secs(180);
/// Latencies that the histogram distinguishes, in nanoseconds; a longer one counts as the longest.
const LONGEST_LATENCY: u64 = 100_000_000_000;

/// What a run measured.
#[derive(Debug)]
pub struct Ran {
    /// Requests whose replies were right.
    pub count: u64,
    /// From the first request to the last reply.
    pub elapsed: Duration,
    /// Nanoseconds from the time at which a request was to be sent to the end of its reply.
    latencies: Histogram<u64>,
}

impl Ran {
    /// Returns replies per second.
    pub fn rate(&self) -> f64 {
        self.count as f64 / self.elapsed.as_secs_f64()
    }

    /// Returns the latency in microseconds that a share of `quantile` of the requests did not exceed.
    pub fn latency(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1e3
    }
}

pub struct Driver<C> {
    epoll: OwnedFd,
    to: SocketAddr,
    security: Security,
    client: C,
    slots: Vec<Slot<C>>,
    /// Connections so far.
    opened: usize,
    buffer: Vec<u8>,
}

/// A place for a connection, and for one batch of requests in flight.
struct Slot<C> {
    connection: Option<Connection<C>>,
    /// When the batch was to be sent, and the number of its requests.
    batch: (Instant, u64),
}

impl<C: Client> Driver<C> {
    /// `count` connections to `to`, which speak as `client` does. Each opens when it has something to ask.
    ///
    /// # Errors
    /// Those of epoll_create(2).
    pub fn new(to: SocketAddr, count: usize, client: C) -> io::Result<Driver<C>> {
        let empty = || Slot {
            connection: None,
            batch: (Instant::now(), 0),
        };
        Ok(Driver {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            to,
            security: Security::Clear,
            client,
            slots: (0..count).map(|_| empty()).collect(),
            opened: 0,
            buffer: vec![0; RECEIVE],
        })
    }

    /// The same over what `security` says.
    pub fn over(self, security: &Security) -> Driver<C> {
        Driver {
            security: security.clone(),
            ..self
        }
    }

    /// Opens all connections now, one after the other, so that no server's queue overflows.
    ///
    /// # Errors
    /// Those of connect(2).
    pub fn connect(mut self) -> io::Result<Driver<C>> {
        for slot in 0..self.slots.len() {
            let socket = client(self.to, self.opened + 1)?.into();
            self.open(slot, socket)?;
        }
        Ok(self)
    }

    fn open(&mut self, slot: usize, socket: OwnedFd) -> io::Result<()> {
        self.opened += 1;
        let channel = Channel::new(socket, &self.security)?;
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(
            &self.epoll,
            &channel,
            EventData::new_u64(slot as u64),
            flags,
        )?;
        let client = self.client.open(self.opened);
        self.slots[slot].connection = Some(Connection::new(channel, client));
        Ok(())
    }

    /// Sends requests at that pace, awaits the replies to all of them, and returns what it measured. In a closed loop
    /// each connection sends its next batch when the last one is answered. In an open loop a request that is due while
    /// no connection is free waits, and its latency counts from when it was due: what a stall holds up is in the
    /// figures, which is what coordinated omission leaves out.
    ///
    /// # Errors
    /// `InvalidData` for a wrong byte, `UnexpectedEof` for an early end, `TimedOut` after 20 s of silence or 180 s in
    /// all, and those of the sockets.
    pub fn run(&mut self, pace: Pace, until: Until, stop: &Stop) -> io::Result<Ran> {
        // By default a sleep may be 50 µs too long, more than the time between two requests.
        set_current_timer_slack(NonZeroU64::new(1))?;
        let mut run = Run {
            pace,
            until,
            begun: Instant::now(),
            idle: (0..self.slots.len()).collect(),
            sent: 0,
            answered: 0,
            latencies: Histogram::new_with_bounds(1, LONGEST_LATENCY, 3)
                .map_err(io::Error::other)?,
        };
        let mut events: Vec<Event> = Vec::with_capacity(self.slots.len().max(1));
        let mut next = self.ask(&mut run)?;
        while next.is_some() || run.idle.len() < self.slots.len() {
            events.clear();
            match wait(&self.epoll, &mut events, next) {
                Ok(0) if next.is_none() => {
                    return Err(late("a reply, or the end of its connection, did not come"))
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            stop.check()?;
            if run.begun.elapsed() > LONGEST_RUN {
                return Err(late("the requests took too long"));
            }
            for event in &events {
                self.advance(event, &mut run)?;
            }
            next = self.ask(&mut run)?;
        }
        Ok(Ran {
            count: run.answered,
            elapsed: run.begun.elapsed(),
            latencies: run.latencies,
        })
    }

    /// Sends what is due while there are idle connections; returns when the next request is, if one waits for its time.
    fn ask(&mut self, run: &mut Run) -> io::Result<Option<Instant>> {
        while let Some(&slot) = run.idle.front() {
            let now = Instant::now();
            match run.pace.next(run.until, run.begun, run.sent, now) {
                Some((due, most)) if due <= now => {
                    run.idle.pop_front();
                    if self.slots[slot].connection.is_none() {
                        let socket = connecting(self.to, self.opened + 1)?;
                        self.open(slot, socket)?;
                    }
                    let Slot { connection, batch } = &mut self.slots[slot];
                    let connection = connection.as_mut().expect("it was opened");
                    let count = connection.ask(most)?;
                    *batch = (due, count);
                    run.sent += count;
                }
                next => return Ok(next.map(|(due, _)| due)),
            }
        }
        Ok(None)
    }

    fn advance(&mut self, event: &Event, run: &mut Run) -> io::Result<()> {
        let slot = event.data.u64() as usize;
        let Slot { connection, batch } = &mut self.slots[slot];
        let Some(open) = connection else {
            return Ok(());
        };
        let ended = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        if open.is_idle() {
            let flags = event.flags;
            return match flags.intersects(ended) {
                true => Err(early("a connection ended between two requests")),
                false => Ok(()),
            };
        }
        if !open.advance(&mut self.buffer)? {
            return Ok(());
        }
        if open.ends() {
            *connection = None;
        }
        let (due, count) = *batch;
        run.answered += count;
        run.latencies
            .saturating_record_n(due.elapsed().as_nanos() as u64, count);
        run.idle.push_back(slot);
        self.ask(run).map(drop)
    }
}

struct Run {
    pace: Pace,
    until: Until,
    begun: Instant,
    /// Slots without a batch in flight; the one that has rested longest comes first.
    idle: VecDeque<usize>,
    sent: u64,
    answered: u64,
    latencies: Histogram<u64>,
}

fn late(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, text)
}

/// Waits for events until `until`, or for [`TIMEOUT`]; returns their number.
///
/// A request is due at a microsecond, and epoll_wait(2) waits for milliseconds. epoll_pwait2(2) would do, but valgrind
/// doesn't know it, and rustix has one choice for all programs, those that callgrind counts among them.
fn wait(
    epoll: &OwnedFd,
    events: &mut Vec<Event>,
    until: Option<Instant>,
) -> rustix::io::Result<usize> {
    let timespec = |time: Duration| Timespec::try_from(time).map_err(|_| Errno::INVAL);
    let Some(until) = until else {
        return epoll::wait(epoll, spare_capacity(events), Some(&timespec(TIMEOUT)?));
    };
    let left = timespec(until.saturating_duration_since(Instant::now()))?;
    match poll(&mut [PollFd::new(epoll, PollFlags::IN)], Some(&left))? {
        0 => Ok(0),
        _ => epoll::wait(epoll, spare_capacity(events), Some(&Timespec::default())),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::super::echo::Echo;
    use super::super::gets::Gets;
    use super::*;

    const CLOSING: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    const KEPT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

    /// A server of one connection at a time, which answers each of so many pieces on it and ends it `pause` later.
    fn server(
        pieces: usize,
        pause: Duration,
        answer: impl Fn(usize, &[u8]) -> Vec<u8> + Send + 'static,
    ) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, mut buffer) = (stream.unwrap(), [0; 4096]);
                for nth in 0..pieces {
                    let Ok(n @ 1..) = stream.read(&mut buffer) else {
                        break;
                    };
                    if stream.write_all(&answer(nth, &buffer[..n])).is_err() {
                        break;
                    }
                }
                thread::sleep(pause);
            }
        });
        address
    }

    fn echoes(answer: impl Fn(usize, &[u8]) -> Vec<u8> + Send + 'static) -> SocketAddr {
        server(usize::MAX, Duration::ZERO, answer)
    }

    fn http(replies: &'static [&'static str], pause: Duration) -> SocketAddr {
        server(replies.len(), pause, |nth, _| replies[nth].into())
    }

    fn run(to: SocketAddr, client: impl Client, count: u64) -> io::Result<u64> {
        let mut driver = Driver::new(to, 1, client)?;
        let ran = driver.run(Pace::Closed, Until::Sent(count), &Stop::default())?;
        Ok(ran.count)
    }

    fn page(to: SocketAddr, body: &str) -> Gets {
        Gets::page(to, "/", false, body.as_bytes())
    }

    #[test]
    fn counts_the_requests_that_came_back() {
        for size in [1, 100, 10_000] {
            let to = echoes(|_, piece| piece.to_vec());
            assert_eq!(run(to, Echo::to_server(size), 20).unwrap(), 20);
        }
    }

    #[test]
    fn a_wrong_byte_and_a_byte_too_many_fail_the_run() {
        let changed = |_: usize, piece: &[u8]| [&piece[..99], &[piece[99] ^ 1]].concat();
        let longer = |_: usize, piece: &[u8]| [piece, b"."].concat();
        for to in [echoes(changed), echoes(longer)] {
            let e = run(to, Echo::to_server(100), 1).unwrap_err();
            assert_eq!(e.kind(), io::ErrorKind::InvalidData, "{e}");
        }
        let to = http(&[KEPT], Duration::ZERO);
        let e = run(to, page(to, "ho"), 1).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::InvalidData, "{e}");
    }

    #[test]
    fn an_early_end_fails_the_run() {
        let cut = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh";
        let to = server(1, Duration::ZERO, |_, _| cut.into());
        let e = run(to, page(to, "hi"), 1).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::UnexpectedEof, "{e}");
    }

    #[test]
    fn a_last_reply_counts_at_the_end_of_file_and_the_next_request_has_a_new_connection() {
        let pause = Duration::from_millis(50);
        let to = http(&[KEPT, CLOSING], pause);
        let begun = Instant::now();
        assert_eq!(run(to, page(to, "hi"), 4).unwrap(), 4);
        assert!(begun.elapsed() >= 2 * pause, "{:?}", begun.elapsed());
    }

    #[test]
    fn a_proxy_is_asked_first() {
        let to = http(&["HTTP/1.1 200 Fine\r\n\r\n", CLOSING], Duration::ZERO);
        assert_eq!(run(to, page(to, "hi").asking_for(to), 2).unwrap(), 2);
    }

    /// A server that stalls for [`STALL`] before its tenth reply, and never again.
    fn stalls_once() -> SocketAddr {
        echoes(|nth, piece| {
            if nth == 10 {
                thread::sleep(STALL);
            }
            piece.to_vec()
        })
    }

    const STALL: Duration = Duration::from_millis(100);

    /// Of 1,000 requests in a second some 100 are due within the stall, and they wait 50 ms on average. A closed loop
    /// holds them back, and the stall is one request of a thousand.
    #[test]
    fn a_stall_is_in_the_percentiles_of_an_open_loop_and_in_the_maximum_alone_of_a_closed_one() {
        let stop = Stop::default();
        let run = |pace| {
            let mut driver = Driver::new(stalls_once(), 1, Echo::to_server(100)).unwrap();
            let ran = driver.run(pace, Until::Sent(1_000), &stop).unwrap();
            [0.5, 0.95, 0.99, 1.0]
                .map(|quantile| Duration::from_secs_f64(ran.latency(quantile) / 1e6))
        };
        let [open, closed] = [Pace::Open { rate: 1_000.0 }, Pace::Closed].map(run);
        assert!(open[1] > STALL / 4 && open[2] > STALL * 3 / 4, "{open:?}");
        assert!(closed[2] < STALL / 2 && closed[3] >= STALL, "{closed:?}");
    }

    #[test]
    fn an_open_loop_keeps_its_rate() {
        let to = echoes(|_, piece| piece.to_vec());
        let mut driver = Driver::new(to, 1, Echo::to_server(100)).unwrap();
        let time = Duration::from_millis(200);
        let pace = Pace::Open { rate: 500.0 };
        let ran = driver
            .run(pace, Until::Elapsed(time), &Stop::default())
            .unwrap();
        assert_eq!(ran.count, 100);
        assert!(ran.elapsed >= time.mul_f64(0.98), "{:?}", ran.elapsed);
    }
}
