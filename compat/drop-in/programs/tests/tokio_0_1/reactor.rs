//! The event loop by itself, and sources of events that implement mio's trait.

use std::io::{self, Read, Write};
use std::net;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures::executor::{self, Notify};
use futures::{future, Async, Future};
use mio::event::Evented;
use mio::unix::{EventedFd, UnixReady};
use mio::{Poll, PollOpt, Ready, Token};
use programs::within_a_minute;
use tokio::io as tokio_io;
use tokio::net::TcpStream;
use tokio::runtime::current_thread::Runtime;
use tokio_executor::park::{Park, Unpark};
use tokio_reactor::{Handle, PollEvented, Reactor, Registration};

const MOMENT: Duration = Duration::from_millis(20);

/// A source of events as libraries write them.
struct Source(UnixStream);

impl Source {
    fn pair() -> (Source, UnixStream) {
        let (ours, peer) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (Source(ours), peer)
    }

    fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Evented for Source {
    fn register(
        &self,
        poll: &Poll,
        token: Token,
        interest: Ready,
        opts: PollOpt,
    ) -> io::Result<()> {
        EventedFd(&self.fd()).register(poll, token, interest, opts)
    }

    fn reregister(
        &self,
        poll: &Poll,
        token: Token,
        interest: Ready,
        opts: PollOpt,
    ) -> io::Result<()> {
        EventedFd(&self.fd()).reregister(poll, token, interest, opts)
    }

    fn deregister(&self, poll: &Poll) -> io::Result<()> {
        EventedFd(&self.fd()).deregister(poll)
    }
}

impl Read for Source {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl Write for Source {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Notify for Flag {
    fn notify(&self, _: usize) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs `future` by turns of `reactor`.
fn turn_until<F: Future>(reactor: &mut Reactor, future: F) -> Result<F::Item, F::Error> {
    let flag = Arc::new(Flag::default());
    let mut spawn = executor::spawn(future);
    loop {
        if let Async::Ready(item) = spawn.poll_future_notify(&flag, 0)? {
            return Ok(item);
        }
        while !flag.0.swap(false, Ordering::SeqCst) {
            reactor.turn(None).unwrap();
        }
    }
}

#[test]
fn a_turn_waits_no_longer_than_it_may() {
    within_a_minute(|| {
        let mut reactor = Reactor::new().unwrap();
        let begin = Instant::now();
        for _ in 0..100 {
            reactor.turn(Some(Duration::ZERO)).unwrap();
        }
        assert!(begin.elapsed() < Duration::from_secs(1));
        let begin = Instant::now();
        reactor.park_timeout(MOMENT).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(10));
    });
}

#[test]
fn unpark_ends_a_turn_and_one_before_it_counts() {
    within_a_minute(|| {
        let mut reactor = Reactor::new().unwrap();
        let handle = Park::unpark(&reactor);
        handle.unpark();
        reactor.turn(None).unwrap();
        let thread = thread::spawn(move || {
            thread::sleep(MOMENT);
            handle.unpark();
        });
        reactor.park().unwrap();
        thread.join().unwrap();
    });
}

#[test]
fn a_socket_is_served_by_turns() {
    within_a_minute(|| {
        let mut reactor = Reactor::new().unwrap();
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let stream = TcpStream::from_std(ours, &reactor.handle()).unwrap();
        let thread = thread::spawn(move || {
            for byte in b"abc" {
                thread::sleep(MOMENT);
                peer.write_all(&[*byte]).unwrap();
            }
            peer
        });
        let read = turn_until(&mut reactor, tokio_io::read_exact(stream, [0; 3]));
        assert_eq!(&read.unwrap().1, b"abc");
        drop(thread.join().unwrap());
    });
}

#[test]
fn a_reactor_is_idle_without_sockets() {
    let reactor = Reactor::new().unwrap();
    assert!(reactor.is_idle());
    let (source, _peer) = Source::pair();
    let source = PollEvented::new_with_handle(source, &reactor.handle()).unwrap();
    assert!(!reactor.is_idle());
    drop(source);
    assert!(reactor.is_idle());
}

#[test]
fn a_reactor_in_the_background_serves_and_ends() {
    within_a_minute(|| {
        let background = Reactor::new().unwrap().background().unwrap();
        let (source, mut peer) = Source::pair();
        let source = PollEvented::new_with_handle(source, background.handle()).unwrap();
        let thread = thread::spawn(move || {
            thread::sleep(MOMENT);
            peer.write_all(b"a").unwrap();
            peer
        });
        let (source, read) = tokio_io::read_exact(source, [0]).wait().unwrap();
        assert_eq!(&read, b"a");
        drop(thread.join().unwrap());
        drop(source);
        background.shutdown_on_idle().wait().unwrap();
        let background = Reactor::new().unwrap().background().unwrap();
        background.shutdown_now().wait().unwrap();
        drop(Reactor::new().unwrap().background().unwrap());
    });
}

#[test]
fn a_source_whose_reactor_ends_is_woken_and_fails() {
    within_a_minute(|| {
        let background = Reactor::new().unwrap().background().unwrap();
        let (source, _peer) = Source::pair();
        let source = PollEvented::new_with_handle(source, background.handle()).unwrap();
        let waits = thread::spawn(move || tokio_io::read_exact(source, [0]).wait());
        thread::sleep(MOMENT);
        drop(background);
        assert!(waits.join().unwrap().is_err());
    });
}

#[test]
fn the_default_reactor_of_a_thread_is_one_until_its_guard_is_dropped() {
    let reactor = Reactor::new().unwrap();
    let guard = tokio_reactor::set_default(&reactor.handle());
    let second = || tokio_reactor::set_default(&reactor.handle());
    assert!(panic::catch_unwind(AssertUnwindSafe(second)).is_err());
    let (source, _peer) = Source::pair();
    let registration = Registration::new();
    assert!(registration.register(&source).unwrap());
    assert!(!reactor.is_idle());
    drop(guard);
    drop(second());
    let lazy = || tokio_reactor::set_default(&Handle::default());
    assert!(panic::catch_unwind(AssertUnwindSafe(lazy)).is_err());
}

#[test]
fn a_registration_reports_each_event_once_and_the_end_for_ever() {
    within_a_minute(|| {
        let (source, mut peer) = Source::pair();
        let mut registration = Registration::new();
        assert!(registration.take_read_ready().is_err());
        Runtime::new()
            .unwrap()
            .block_on(future::lazy(|| {
                assert!(registration.register(&source)?);
                assert!(!registration.register(&source)?);
                Ok::<_, io::Error>(())
            }))
            .unwrap();
        drop(registration.deregister(&source));

        let background = Reactor::new().unwrap().background().unwrap();
        let registration = Registration::new();
        registration
            .register_with(&source, background.handle())
            .unwrap();
        let next = || {
            let ready = future::poll_fn(|| registration.poll_read_ready())
                .wait()
                .unwrap();
            UnixReady::from(ready)
        };
        let room = future::poll_fn(|| registration.poll_write_ready());
        assert!(room.wait().unwrap().is_writable());
        assert_eq!(registration.take_write_ready().unwrap(), None);
        peer.write_all(b"a").unwrap();
        assert!(next().is_readable());
        assert_eq!(registration.take_read_ready().unwrap(), None);
        drop(peer);
        while !next().is_hup() {}
        assert!(next().is_hup() && next().is_hup());
    });
}

#[test]
fn a_source_of_a_library_is_read_and_written_by_its_own_trait() {
    within_a_minute(|| {
        let (source, mut peer) = Source::pair();
        let thread = thread::spawn(move || {
            let mut word = [0; 5];
            peer.read_exact(&mut word).unwrap();
            thread::sleep(MOMENT);
            peer.write_all(&word).unwrap();
        });
        let source = PollEvented::new(source);
        let echo = tokio_io::write_all(source, "hello")
            .and_then(|(source, _)| tokio_io::read_to_end(source, Vec::new()));
        let (_, read) = Runtime::new().unwrap().block_on(echo).unwrap();
        assert_eq!(read, b"hello");
        thread.join().unwrap();
    });
}

#[test]
fn readiness_that_is_cleared_by_hand_comes_again() {
    within_a_minute(|| {
        let (source, mut peer) = Source::pair();
        let mut source = PollEvented::new(source);
        let mut runtime = Runtime::new().unwrap();
        for word in [b"a", b"b"] {
            peer.write_all(word).unwrap();
            let read = future::poll_fn(|| {
                let readable = Ready::readable();
                if !source.poll_read_ready(readable)?.is_ready() {
                    return Ok(Async::NotReady);
                }
                let mut byte = [0];
                match source.get_mut().read(&mut byte) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        source.clear_read_ready(readable)?;
                        Ok(Async::NotReady)
                    }
                    read => read.map(|_| Async::Ready(byte)),
                }
            });
            assert_eq!(&runtime.block_on(read).unwrap(), word);
        }
    });
}
