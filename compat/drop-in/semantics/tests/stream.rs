//! Reading, writing and closing a TCP stream.

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream as StdStream};
use std::os::unix::io::AsRawFd;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use bytes::{Buf, BufMut, BytesMut};
use futures::{future, try_ready, Async, Future, Poll};
use iovec::IoVec;
use semantics::{
    accept, connected, fill, nothing_arrived, std_listener, turn_until, watchdog, Bell,
};
use socket2::SockRef;
use tokio_core::net::TcpStream;
use tokio_core::reactor::Core;
use tokio_core::try_nb;
use tokio_io::io::{copy, read_exact, read_to_end, write_all};
use tokio_io::{AsyncRead, AsyncWrite};

/// Reads all of `len` bytes through `&TcpStream`, from a stream that is shared.
struct ReadShared(Rc<TcpStream>, Vec<u8>, usize);

impl Future for ReadShared {
    type Item = Vec<u8>;
    type Error = std::io::Error;

    fn poll(&mut self) -> Poll<Vec<u8>, std::io::Error> {
        while self.1.len() < self.2 {
            let mut buf = [0; 1000];
            let n = try_nb!((&*self.0).read(&mut buf));
            assert!(n > 0);
            self.1.extend_from_slice(&buf[..n]);
        }
        Ok(Async::Ready(std::mem::take(&mut self.1)))
    }
}

#[test]
fn reads_and_writes_through_a_shared_reference() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let (_, _) = core.run(write_all(&stream, b"ping")).unwrap();
    let mut buf = [0; 4];
    peer.read_exact(&mut buf).unwrap();
    peer.write_all(&buf).unwrap();
    let (_, buf) = core.run(read_exact(&stream, [0; 4])).unwrap();
    assert_eq!(&buf, b"ping");
}

#[test]
fn a_stream_in_an_rc_is_read_and_written_by_two_tasks() {
    watchdog!();
    const LEN: usize = 3_000_000;
    let mut core = Core::new().unwrap();
    let (stream, peer) = connected(&mut core);
    let mut echo = (peer.try_clone().unwrap(), peer);
    let echo = thread::spawn(move || std::io::copy(&mut echo.0, &mut echo.1).unwrap());
    let stream = Rc::new(stream);
    let (writes, mut at) = (stream.clone(), 0);
    core.handle().spawn(future::poll_fn(move || {
        let block = [9; 4096];
        while at < LEN {
            let n = match (&*writes).write(&block[..block.len().min(LEN - at)]) {
                Ok(n) => n,
                Err(ref error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(Async::NotReady)
                }
                Err(error) => panic!("{error}"),
            };
            at += n;
        }
        writes.shutdown(Shutdown::Write).unwrap();
        Ok(Async::Ready(()))
    }));
    let read = core.run(ReadShared(stream, Vec::new(), LEN)).unwrap();
    assert_eq!(read.len(), LEN);
    assert!(read.iter().all(|&byte| byte == 9));
    assert_eq!(echo.join().unwrap(), LEN as u64);
}

#[test]
fn a_read_that_would_block_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    let error = bell.enter(|| stream.read(&mut [0])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    peer.write_all(b"x").unwrap();
    turn_until(&mut core, "the reader is notified", || bell.rung() > 0);
    let mut buf = [0];
    assert_eq!(bell.enter(|| stream.read(&mut buf)).unwrap(), 1);
    assert_eq!(&buf, b"x");
    // And again, once all is read.
    let error = bell.enter(|| stream.read(&mut buf)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let rung = bell.rung();
    peer.write_all(b"y").unwrap();
    turn_until(&mut core, "the reader is notified again", || {
        bell.rung() > rung
    });
    assert_eq!(bell.enter(|| stream.read(&mut buf)).unwrap(), 1);
}

#[test]
fn a_write_that_would_block_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    let written = bell.enter(|| fill(&stream));
    let error = bell.enter(|| stream.write(&[0; 65536])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let rung = bell.rung();
    let reads = thread::spawn(move || {
        let mut buf = vec![0; written];
        peer.read_exact(&mut buf).unwrap();
        peer
    });
    turn_until(&mut core, "the writer is notified", || bell.rung() > rung);
    assert!(bell.enter(|| stream.write(b"x")).unwrap() > 0);
    reads.join().unwrap();
}

#[test]
fn a_read_buf_that_would_block_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    let mut buf = BytesMut::with_capacity(10);
    assert!(bell
        .enter(|| AsyncRead::read_buf(&mut stream, &mut buf))
        .unwrap()
        .is_not_ready());
    peer.write_all(b"abc").unwrap();
    turn_until(&mut core, "the reader is notified", || bell.rung() > 0);
    assert_eq!(
        bell.enter(|| AsyncRead::read_buf(&mut stream, &mut buf))
            .unwrap(),
        Async::Ready(3)
    );
    assert_eq!(&buf[..], b"abc");
}

#[test]
fn the_last_task_to_read_is_notified() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let (first, second) = (Bell::new(), Bell::new());
    first.enter(|| stream.read(&mut [0])).unwrap_err();
    second.enter(|| stream.read(&mut [0])).unwrap_err();
    peer.write_all(b"x").unwrap();
    turn_until(&mut core, "the second reader is notified", || {
        second.rung() > 0
    });
}

#[test]
fn a_reader_and_a_writer_wait_at_once() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let (reader, writer) = (Bell::new(), Bell::new());
    reader.enter(|| stream.read(&mut [0])).unwrap_err();
    let written = writer.enter(|| fill(&stream));
    writer.enter(|| stream.write(&[0; 65536])).unwrap_err();
    let rung = writer.rung();
    peer.write_all(b"x").unwrap();
    turn_until(&mut core, "the reader is notified", || reader.rung() > 0);
    let reads = thread::spawn(move || {
        peer.read_exact(&mut vec![0; written]).unwrap();
        peer
    });
    turn_until(&mut core, "the writer is notified", || writer.rung() > rung);
    reads.join().unwrap();
}

#[test]
fn the_end_wakes_a_reader_and_reads_as_zero() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, peer) = connected(&mut core);
    let bell = Bell::new();
    bell.enter(|| stream.read(&mut [0])).unwrap_err();
    drop(peer);
    turn_until(&mut core, "the reader is notified", || bell.rung() > 0);
    for _ in 0..3 {
        assert_eq!(bell.enter(|| stream.read(&mut [0])).unwrap(), 0);
    }
}

#[test]
fn the_end_that_came_with_the_last_bytes_is_read_after_them() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    peer.write_all(b"last").unwrap();
    drop(peer);
    let bell = Bell::new();
    let mut reads = Vec::new();
    turn_until(&mut core, "the end is read", || {
        // Longer than what is there, so that one read takes it all.
        reads.extend(bell.enter(|| stream.read(&mut [0; 100])).ok());
        reads.contains(&0)
    });
    assert_eq!(reads, [4, 0]);
}

#[test]
fn a_task_that_waits_after_a_short_read_is_notified() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    for _ in 0..100 {
        peer.write_all(b"abc").unwrap();
        let mut read = Ok(0);
        turn_until(&mut core, "the bytes are read", || {
            read = bell.enter(|| stream.read(&mut [0; 100]));
            read.is_ok()
        });
        assert_eq!(read.unwrap(), 3);
        let rung = bell.rung();
        let error = bell.enter(|| stream.read(&mut [0; 100])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        peer.write_all(b"d").unwrap();
        turn_until(&mut core, "the reader is notified", || bell.rung() > rung);
        assert_eq!(bell.enter(|| stream.read(&mut [0; 100])).unwrap(), 1);
    }
}

#[test]
fn what_comes_behind_an_urgent_byte_is_read() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    peer.set_nodelay(true).unwrap();
    let bell = Bell::new();
    for _ in 0..10 {
        // A read stops in front of the urgent byte, and all is there when it is made.
        peer.write_all(b"abc").unwrap();
        let sent = SockRef::from(&peer).send_out_of_band(b"!");
        assert_eq!(sent.unwrap(), 1);
        peer.write_all(b"de").unwrap();
        thread::sleep(Duration::from_millis(5));
        let mut bytes = Vec::new();
        turn_until(&mut core, "the bytes are read", || {
            let mut buf = [0; 100];
            match bell.enter(|| stream.read(&mut buf)) {
                Ok(n) => bytes.extend_from_slice(&buf[..n]),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            bytes.len() == 5
        });
        assert_eq!(bytes, b"abcde");
    }
}

#[test]
fn what_comes_behind_an_urgent_byte_is_read_into_a_buf() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    peer.write_all(b"abc").unwrap();
    let sent = SockRef::from(&peer).send_out_of_band(b"!");
    assert_eq!(sent.unwrap(), 1);
    peer.write_all(b"de").unwrap();
    thread::sleep(Duration::from_millis(5));
    let mut bytes = BytesMut::with_capacity(100);
    let read = future::poll_fn(|| {
        while bytes.len() < 5 {
            try_ready!(AsyncRead::read_buf(&mut stream, &mut bytes));
        }
        Ok::<_, std::io::Error>(Async::Ready(()))
    });
    core.run(read).unwrap();
    assert_eq!(&bytes[..], b"abcde");
}

#[test]
fn a_reset_is_connection_reset() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, peer) = connected(&mut core);
    socket2::SockRef::from(&peer)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    drop(peer);
    let error = core.run(read_to_end(stream, Vec::new())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_write_after_a_reset_is_broken_pipe() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, peer) = connected(&mut core);
    socket2::SockRef::from(&peer)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    drop(peer);
    core.run(read_to_end(&stream, Vec::new())).unwrap_err();
    let error = core.run(write_all(&stream, b"x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

#[test]
fn async_shutdown_sends_nothing() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    for _ in 0..2 {
        assert!(AsyncWrite::shutdown(&mut stream).unwrap().is_ready());
        assert!(AsyncWrite::shutdown(&mut &stream).unwrap().is_ready());
    }
    let (stream, ()) = core
        .run(tokio_io::io::shutdown(stream).map(|stream| (stream, ())))
        .unwrap();
    assert!(nothing_arrived(&peer), "a FIN");
    core.run(write_all(&stream, b"x")).unwrap();
    let mut buf = [0];
    peer.read_exact(&mut buf).unwrap();
}

#[test]
fn dropping_a_stream_ends_it_for_the_peer() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    core.run(write_all(&stream, b"last")).unwrap();
    drop(stream);
    // At once: the core does not run.
    let mut read = Vec::new();
    peer.read_to_end(&mut read).unwrap();
    assert_eq!(read, b"last");
}

#[test]
fn a_half_close_leaves_reading_open() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    core.run(write_all(&stream, b"ask")).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut read = Vec::new();
    peer.read_to_end(&mut read).unwrap();
    assert_eq!(read, b"ask");
    peer.write_all(b"answer").unwrap();
    drop(peer);
    let (stream, read) = core.run(read_to_end(stream, Vec::new())).unwrap();
    assert_eq!(read, b"answer");
    let error = core.run(write_all(&stream, b"x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

#[test]
fn a_shutdown_of_reading_wakes_a_reader_with_the_end() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, _peer) = connected(&mut core);
    let bell = Bell::new();
    bell.enter(|| stream.read(&mut [0])).unwrap_err();
    stream.shutdown(Shutdown::Read).unwrap();
    turn_until(&mut core, "the reader is notified", || bell.rung() > 0);
    assert_eq!(bell.enter(|| stream.read(&mut [0])).unwrap(), 0);
}

#[test]
fn a_shutdown_of_both_ends_both() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    stream.shutdown(Shutdown::Both).unwrap();
    assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    let (stream, read) = core.run(read_to_end(stream, Vec::new())).unwrap();
    assert!(read.is_empty());
    let error = core.run(write_all(stream, b"x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

#[test]
fn a_read_of_no_bytes_waits_for_readiness_and_takes_nothing() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    let error = bell.enter(|| stream.read(&mut [])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    peer.write_all(b"x").unwrap();
    turn_until(&mut core, "the reader is notified", || bell.rung() > 0);
    for _ in 0..3 {
        assert_eq!(bell.enter(|| stream.read(&mut [])).unwrap(), 0);
    }
    assert_eq!(bell.enter(|| stream.read(&mut [0])).unwrap(), 1);
}

#[test]
fn a_write_of_no_bytes_writes_nothing() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, peer) = connected(&mut core);
    assert_eq!(Bell::new().enter(|| stream.write(&[])).unwrap(), 0);
    assert!(nothing_arrived(&peer));
}

#[test]
fn every_byte_that_is_there_can_be_read_in_one_poll() {
    watchdog!();
    const LEN: usize = 10_000;
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    peer.write_all(&[1; LEN]).unwrap();
    drop(peer);
    let mut polls = 0;
    let mut read = 0;
    core.run(future::poll_fn(|| {
        polls += 1;
        loop {
            match try_nb!(stream.read(&mut [0])) {
                0 => return Ok::<_, std::io::Error>(Async::Ready(())),
                n => read += n,
            }
        }
    }))
    .unwrap();
    assert_eq!(read, LEN);
    // The first poll may come too early.
    assert!(polls <= 2, "{polls} polls");
}

/// Three slices, and how often they were asked for.
struct Slices<'a>(Vec<&'a [u8]>);

impl Buf for Slices<'_> {
    fn remaining(&self) -> usize {
        self.0.iter().map(|slice| slice.len()).sum()
    }

    fn bytes(&self) -> &[u8] {
        self.0.first().copied().unwrap_or_default()
    }

    fn advance(&mut self, mut n: usize) {
        while n > 0 {
            let step = n.min(self.0[0].len());
            self.0[0] = &self.0[0][step..];
            if self.0[0].is_empty() {
                self.0.remove(0);
            }
            n -= step;
        }
    }

    fn bytes_vec<'a>(&'a self, to: &mut [&'a IoVec]) -> usize {
        let mut filled = 0;
        for (to, slice) in to.iter_mut().zip(&self.0) {
            *to = (*slice).into();
            filled += 1;
        }
        filled
    }
}

#[test]
fn write_buf_writes_all_slices_in_one_call() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let mut slices = Slices(vec![b"one", b"two", b"three"]);
    let bell = Bell::new();
    assert_eq!(
        bell.enter(|| stream.write_buf(&mut slices)).unwrap(),
        Async::Ready(11)
    );
    assert_eq!(slices.remaining(), 0);
    let mut read = [0; 11];
    peer.read_exact(&mut read).unwrap();
    assert_eq!(&read, b"onetwothree");
}

#[test]
fn write_buf_of_a_hundred_slices_takes_at_least_sixteen() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let mut slices = Slices(vec![b"x"; 100]);
    let mut calls = 0;
    core.run(future::poll_fn(|| {
        while slices.remaining() > 0 {
            match stream.write_buf(&mut slices)? {
                Async::Ready(n) => assert!(n >= 16 || slices.remaining() == 0, "{n}"),
                Async::NotReady => return Ok(Async::NotReady),
            }
            calls += 1;
        }
        Ok::<_, std::io::Error>(Async::Ready(()))
    }))
    .unwrap();
    assert!(calls <= 7);
    peer.read_exact(&mut [0; 100]).unwrap();
}

/// Two slices to read into.
struct Halves([u8; 3], [u8; 8], usize);

impl BufMut for Halves {
    fn remaining_mut(&self) -> usize {
        11 - self.2
    }

    unsafe fn advance_mut(&mut self, n: usize) {
        self.2 += n;
    }

    unsafe fn bytes_mut(&mut self) -> &mut [u8] {
        if self.2 < 3 {
            &mut self.0[self.2..]
        } else {
            &mut self.1[self.2 - 3..]
        }
    }

    unsafe fn bytes_vec_mut<'a>(&'a mut self, to: &mut [&'a mut IoVec]) -> usize {
        assert_eq!(self.2, 0, "asked for once");
        to[0] = (&mut self.0[..]).into();
        to[1] = (&mut self.1[..]).into();
        2
    }
}

#[test]
fn read_buf_fills_all_slices_in_one_call() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    peer.write_all(b"onetwothree").unwrap();
    let mut halves = Halves([0; 3], [0; 8], 0);
    let read = future::poll_fn(|| AsyncRead::read_buf(&mut stream, &mut halves));
    assert_eq!(core.run(read).unwrap(), 11);
    assert_eq!(
        (&halves.0[..], &halves.1[..], halves.2),
        (&b"one"[..], &b"twothree"[..], 11)
    );
}

#[test]
fn read_buf_takes_what_there_is_and_reports_the_end_as_zero() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    peer.write_all(b"abc").unwrap();
    drop(peer);
    let mut buf = BytesMut::with_capacity(100);
    assert_eq!(
        core.run(future::poll_fn(|| AsyncRead::read_buf(
            &mut stream,
            &mut buf
        )))
        .unwrap(),
        3
    );
    assert_eq!(
        core.run(future::poll_fn(|| AsyncRead::read_buf(
            &mut stream,
            &mut buf
        )))
        .unwrap(),
        0
    );
    assert_eq!(&buf[..], b"abc");
}

#[test]
fn read_and_read_buf_give_their_buffers_as_they_are() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, _peer) = connected(&mut core);
    // SAFETY: the buffer is initialised.
    assert!(!unsafe { stream.prepare_uninitialized_buffer(&mut [1]) });
    // SAFETY: the same.
    assert!(!unsafe { <&TcpStream>::prepare_uninitialized_buffer(&&stream, &mut [1]) });
}

#[test]
fn flush_does_nothing() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, _peer) = connected(&mut core);
    let bell = Bell::new();
    bell.enter(|| fill(&stream));
    // Although the socket takes no more.
    bell.enter(|| stream.flush()).unwrap();
}

#[test]
fn the_halves_of_split_work_in_two_tasks() {
    watchdog!();
    const LEN: usize = 2_000_000;
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let (reads, writes) = stream.split();
    let echo = copy(reads, writes).map(|(n, _, _)| assert_eq!(n, LEN as u64));
    let mut sends = peer.try_clone().unwrap();
    let sender = thread::spawn(move || {
        sends.write_all(&[3; LEN]).unwrap();
        sends.shutdown(Shutdown::Write).unwrap();
    });
    let reader = thread::spawn(move || {
        let mut read = Vec::new();
        peer.read_to_end(&mut read).unwrap();
        read.len()
    });
    core.run(echo).unwrap();
    sender.join().unwrap();
    assert_eq!(reader.join().unwrap(), LEN);
}

#[test]
fn dropping_one_half_of_split_does_not_close() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let (reads, writes) = stream.split();
    drop(writes);
    assert!(nothing_arrived(&peer), "a FIN");
    peer.write_all(b"x").unwrap();
    let (reads, _) = core.run(read_exact(reads, [0])).unwrap();
    drop(reads);
    assert_eq!(peer.read(&mut [0]).unwrap(), 0);
}

#[test]
fn options_are_set_and_read() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, _peer) = connected(&mut core);
    for on in [true, false] {
        stream.set_nodelay(on).unwrap();
        assert_eq!(stream.nodelay().unwrap(), on);
    }
    stream.set_ttl(42).unwrap();
    assert_eq!(stream.ttl().unwrap(), 42);
    for linger in [Some(Duration::from_secs(7)), None] {
        stream.set_linger(linger).unwrap();
        assert_eq!(stream.linger().unwrap(), linger);
    }
    for idle in [Some(Duration::from_secs(90)), None] {
        stream.set_keepalive(idle).unwrap();
        assert_eq!(stream.keepalive().unwrap(), idle);
    }
    // Linux doubles what is asked for.
    stream.set_recv_buffer_size(20_000).unwrap();
    assert_eq!(stream.recv_buffer_size().unwrap(), 40_000);
    stream.set_send_buffer_size(30_000).unwrap();
    assert_eq!(stream.send_buffer_size().unwrap(), 60_000);
}

#[test]
fn keepalive_in_milliseconds_is_rounded_to_seconds() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, _peer) = connected(&mut core);
    stream.set_keepalive_ms(Some(60_500)).unwrap();
    assert_eq!(stream.keepalive_ms().unwrap(), Some(60_000));
    assert_eq!(stream.keepalive().unwrap(), Some(Duration::from_secs(60)));
    stream.set_keepalive_ms(None).unwrap();
    assert_eq!(stream.keepalive_ms().unwrap(), None);
}

#[test]
fn only_v6_is_read_on_ipv6_and_an_error_on_ipv4() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let listener = std::net::TcpListener::bind("[::1]:0").unwrap();
    let stream = TcpStream::connect(&listener.local_addr().unwrap(), &core.handle());
    let stream = core.run(stream).unwrap();
    stream.only_v6().unwrap();
    // Too late for a socket that has an address.
    assert_eq!(
        stream.set_only_v6(true).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    let (stream, _peer) = connected(&mut core);
    stream.only_v6().unwrap_err();
}

#[test]
fn debug_names_both_addresses() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, peer) = connected(&mut core);
    let text = format!("{stream:?}");
    assert!(
        text.contains(&peer.local_addr().unwrap().to_string()),
        "{text}"
    );
    assert!(
        text.contains(&peer.peer_addr().unwrap().to_string()),
        "{text}"
    );
}

/// The flags of a descriptor: whether it is non-blocking, and closed by exec.
fn flags(socket: &impl AsRawFd) -> (bool, bool) {
    let fd = socket.as_raw_fd();
    // SAFETY: the descriptor is open; the calls take no pointer.
    let (status, own) = unsafe {
        (
            libc::fcntl(fd, libc::F_GETFL),
            libc::fcntl(fd, libc::F_GETFD),
        )
    };
    assert!(status >= 0 && own >= 0);
    (status & libc::O_NONBLOCK != 0, own & libc::FD_CLOEXEC != 0)
}

#[test]
fn sockets_are_non_blocking_and_closed_on_exec() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, _peer) = connected(&mut core);
    assert_eq!(flags(&stream), (true, true));
    let (listener, addr) = std_listener();
    let stream = StdStream::connect(addr).unwrap();
    let stream = TcpStream::from_stream(stream, &core.handle()).unwrap();
    assert_eq!(flags(&stream), (true, true));
    drop(accept(&listener));
    let any = "127.0.0.1:0".parse().unwrap();
    let mut listener = tokio_core::net::TcpListener::bind(&any, &core.handle()).unwrap();
    assert_eq!(flags(&listener), (true, true));
    let addr = listener.local_addr().unwrap();
    let _peers = [
        StdStream::connect(addr).unwrap(),
        StdStream::connect(addr).unwrap(),
    ];
    let accepted = core.run(future::poll_fn(|| {
        Ok::<_, std::io::Error>(Async::Ready(try_nb!(listener.accept())))
    }));
    assert_eq!(flags(&accepted.unwrap().0), (true, true));
    let accepted = core.run(future::poll_fn(|| {
        Ok::<_, std::io::Error>(Async::Ready(try_nb!(listener.accept_std())))
    }));
    assert_eq!(
        flags(&accepted.unwrap().0),
        (false, true),
        "accept_std gives a blocking stream"
    );
    let socket = tokio_core::net::UdpSocket::bind(&any, &core.handle()).unwrap();
    assert_eq!(flags(&socket), (true, true));
}

#[test]
fn streams_move_to_tasks_of_other_threads() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let (done, waits) = futures::sync::oneshot::channel();
    let thread = thread::spawn(move || {
        let (stream, buf) = read_exact(stream, [0; 4]).wait().unwrap();
        write_all(stream, buf).wait().unwrap();
        done.send(()).unwrap();
    });
    let pings = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        peer.write_all(b"ping").unwrap();
        let mut buf = [0; 4];
        peer.read_exact(&mut buf).unwrap();
        buf
    });
    core.run(waits).unwrap();
    thread.join().unwrap();
    assert_eq!(&pings.join().unwrap(), b"ping");
}

#[test]
fn a_task_that_ends_with_its_stream_closes_it() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let kept = Rc::new(RefCell::new(Some(stream)));
    core.handle().spawn_fn(move || {
        kept.borrow_mut().take();
        Ok(())
    });
    core.turn(Some(Duration::ZERO));
    turn_until(&mut core, "the peer sees the end", || {
        peer.set_nonblocking(true).unwrap();
        matches!(peer.read(&mut [0]), Ok(0))
    });
}

#[test]
fn a_read_that_would_block_outside_of_a_task_panics() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, _peer) = connected(&mut core);
    let read = std::panic::AssertUnwindSafe(|| stream.read(&mut [0]));
    assert!(std::panic::catch_unwind(read).is_err());
}

#[test]
fn a_write_outside_of_a_task_works_while_the_socket_takes_it() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    assert_eq!(stream.write(b"x").unwrap(), 1);
    peer.read_exact(&mut [0]).unwrap();
}
