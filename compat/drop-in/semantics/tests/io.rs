//! The deprecated module `tokio_core::io`.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::{self, BufReader, Cursor, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;

use futures::{future, Async, AsyncSink, Future, Poll, Sink, Stream};
use iovec::IoVec;
use semantics::{connected, fill, turn_until, watchdog, Bell};
use tokio_core::io::{
    copy, flush, read, read_exact, read_to_end, read_until, write_all, Codec, EasyBuf, Framed, Io,
    IoFuture, IoStream, Window,
};
use tokio_core::net::TcpStream;
use tokio_core::reactor::Core;

#[test]
fn copy_counts_the_bytes_to_the_end() {
    watchdog!();
    const LEN: usize = 1_000_000;
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let mut sends = peer.try_clone().unwrap();
    let sender = thread::spawn(move || {
        sends.write_all(&[6; LEN]).unwrap();
        sends.shutdown(Shutdown::Write).unwrap();
    });
    let reader = thread::spawn(move || peer.read_exact(&mut [0; LEN]).unwrap());
    let (reads, writes) = Io::split(stream);
    assert_eq!(core.run(copy(reads, writes)).unwrap(), LEN as u64);
    sender.join().unwrap();
    reader.join().unwrap();
}

#[test]
fn copy_stops_at_an_error() {
    watchdog!();
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(ErrorKind::InvalidData.into())
        }
    }
    let error = copy(Broken, Vec::new()).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}

#[test]
fn read_exact_gives_the_buffer_or_an_early_end() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    peer.write_all(b"pingpo").unwrap();
    drop(peer);
    let (stream, buf) = core.run(read_exact(stream, [0; 4])).unwrap();
    assert_eq!(&buf, b"ping");
    let error = core
        .run(read_exact(stream, vec![0; 4]))
        .map(drop)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn read_gives_what_there_is() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    peer.write_all(b"abc").unwrap();
    drop(peer);
    let (stream, buf, n) = core.run(read(stream, [0; 10])).unwrap();
    assert_eq!(&buf[..n], b"abc");
    let (_, _, n) = core.run(read(stream, [0; 10])).unwrap();
    assert_eq!(n, 0);
}

#[test]
fn read_to_end_adds_to_the_buffer() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let sender = thread::spawn(move || {
        for _ in 0..100 {
            peer.write_all(&[1; 1000]).unwrap();
            thread::yield_now();
        }
    });
    let (_, buf) = core.run(read_to_end(stream, b"head".to_vec())).unwrap();
    assert_eq!(buf.len(), 100_004);
    assert!(buf.starts_with(b"head\x01"));
    sender.join().unwrap();
}

#[test]
fn read_until_stops_after_the_byte_or_at_the_end() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let sender = thread::spawn(move || {
        for part in ["one ", "line\ntwo", "\nrest"] {
            peer.write_all(part.as_bytes()).unwrap();
            thread::yield_now();
        }
    });
    let stream = BufReader::new(stream);
    let (stream, line) = core.run(read_until(stream, b'\n', Vec::new())).unwrap();
    assert_eq!(line, b"one line\n");
    let (stream, line) = core.run(read_until(stream, b'\n', Vec::new())).unwrap();
    assert_eq!(line, b"two\n");
    let (_, line) = core.run(read_until(stream, b'\n', Vec::new())).unwrap();
    assert_eq!(line, b"rest");
    sender.join().unwrap();
}

#[test]
fn write_all_and_flush_give_their_parts_back() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    const LEN: usize = 5_000_000;
    let reader = thread::spawn(move || peer.read_exact(&mut vec![0; LEN]).unwrap());
    let (stream, buf) = core.run(write_all(stream, vec![2; LEN])).unwrap();
    assert_eq!(buf.len(), LEN);
    let _stream: TcpStream = core.run(flush(stream)).unwrap();
    reader.join().unwrap();
}

#[test]
fn write_all_into_a_full_sink_is_write_zero() {
    watchdog!();
    let sink = Cursor::new([0; 3]);
    let error = write_all(sink, b"four").wait().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
}

#[test]
fn polling_a_finished_io_future_panics() {
    watchdog!();
    let mut write = write_all(Cursor::new([0; 4]), b"four");
    assert!(write.poll().unwrap().is_ready());
    let again = std::panic::AssertUnwindSafe(|| write.poll().map(drop));
    assert!(std::panic::catch_unwind(again).is_err());
}

#[test]
fn io_poll_read_and_poll_write_notify_their_tasks() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    assert!(bell.enter(|| Io::poll_read(&mut stream)).is_not_ready());
    assert!(bell.enter(|| Io::poll_write(&mut stream)).is_ready());
    peer.write_all(b"x").unwrap();
    turn_until(&mut core, "the task is notified", || bell.rung() > 0);
    assert!(bell.enter(|| Io::poll_read(&mut &stream)).is_ready());
    let (mut reads, mut writes) = Io::split(stream);
    assert!(bell.enter(|| reads.poll_read()).is_ready());
    assert!(bell.enter(|| writes.poll_write()).is_ready());
}

#[test]
fn read_vec_and_write_vec_take_all_slices_in_one_call() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    let slices: [&IoVec; 2] = [b"one"[..].into(), b"two"[..].into()];
    assert_eq!(bell.enter(|| stream.write_vec(&slices)).unwrap(), 6);
    let mut buf = [0; 6];
    peer.read_exact(&mut buf).unwrap();
    let (mut one, mut two) = ([0; 2], [0; 9]);
    let error = bell.enter(|| {
        let slices: &mut [&mut IoVec] = &mut [(&mut one[..]).into(), (&mut two[..]).into()];
        stream.read_vec(slices).unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    peer.write_all(&buf).unwrap();
    turn_until(&mut core, "the task is notified", || bell.rung() > 0);
    let n = bell.enter(|| {
        let slices: &mut [&mut IoVec] = &mut [(&mut one[..]).into(), (&mut two[..]).into()];
        stream.read_vec(slices).unwrap()
    });
    assert_eq!((n, &one, &two[..4]), (6, b"on", &b"etwo"[..]));
}

#[test]
fn write_vec_that_would_block_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    let written = bell.enter(|| fill(&stream));
    let error = bell
        .enter(|| stream.write_vec(&[b"x"[..].into()]))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let rung = bell.rung();
    let reader = thread::spawn(move || {
        peer.read_exact(&mut vec![0; written]).unwrap();
        peer
    });
    turn_until(&mut core, "the task is notified", || bell.rung() > rung);
    reader.join().unwrap();
}

#[test]
fn io_of_a_type_that_only_reads_and_writes_is_always_ready() {
    watchdog!();
    struct Plain(Cursor<Vec<u8>>);
    impl Read for Plain {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.0.read(buf)
        }
    }
    impl Write for Plain {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            self.0.write(buf)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl Io for Plain {}
    let mut plain = Plain(Cursor::new(b"abcd".to_vec()));
    assert!(plain.poll_read().is_ready() && plain.poll_write().is_ready());
    let (mut one, mut two) = ([0; 2], [0; 2]);
    // The first slice alone.
    let slices: &mut [&mut IoVec] = &mut [(&mut one[..]).into(), (&mut two[..]).into()];
    assert_eq!(plain.read_vec(slices).unwrap(), 2);
    assert_eq!((&one, &two), (b"ab", &[0; 2]));
    assert_eq!(
        plain
            .write_vec(&[b"x"[..].into(), b"y"[..].into()])
            .unwrap(),
        1
    );
    assert_eq!(plain.read_vec(&mut []).unwrap(), 0);
    assert_eq!(plain.write_vec(&[]).unwrap(), 0);
}

/// Lines of text.
struct Lines;

impl Codec for Lines {
    type In = String;
    type Out = String;

    fn decode(&mut self, buf: &mut EasyBuf) -> io::Result<Option<String>> {
        let Some(end) = buf.as_slice().iter().position(|&byte| byte == b'\n') else {
            return Ok(None);
        };
        let line = buf.drain_to(end);
        buf.drain_to(1);
        match String::from_utf8(line.as_slice().to_vec()) {
            Ok(line) if line == "bad" => Err(ErrorKind::InvalidData.into()),
            Ok(line) => Ok(Some(line)),
            Err(_) => Err(ErrorKind::InvalidData.into()),
        }
    }

    fn encode(&mut self, line: String, buf: &mut Vec<u8>) -> io::Result<()> {
        buf.extend_from_slice(line.as_bytes());
        buf.push(b'\n');
        Ok(())
    }
}

#[test]
fn framed_by_a_codec_of_easy_buf() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let framed = Io::framed(stream, Lines);
    let framed = core
        .run(framed.send("one".into()).and_then(|f| f.send("two".into())))
        .unwrap();
    let mut buf = [0; 8];
    peer.read_exact(&mut buf).unwrap();
    assert_eq!(&buf, b"one\ntwo\n");
    let sender = thread::spawn(move || {
        for part in ["thr", "ee\nfour\n", "five\n"] {
            peer.write_all(part.as_bytes()).unwrap();
            thread::yield_now();
        }
    });
    assert_eq!(
        core.run(framed.collect()).unwrap(),
        ["three", "four", "five"]
    );
    sender.join().unwrap();
}

#[test]
fn framed_reports_bytes_that_are_left_at_the_end() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    peer.write_all(b"one\nrest").unwrap();
    drop(peer);
    let mut framed = Io::framed(stream, Lines);
    assert_eq!(
        core.run(future::poll_fn(|| framed.poll())).unwrap(),
        Some("one".into())
    );
    let error = core.run(future::poll_fn(|| framed.poll())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
}

#[test]
fn framed_goes_on_after_a_frame_that_does_not_decode() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    peer.write_all(b"bad\ngood\n").unwrap();
    let mut framed = Io::framed(stream, Lines);
    let error = core.run(future::poll_fn(|| framed.poll())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!(
        core.run(future::poll_fn(|| framed.poll())).unwrap(),
        Some("good".into())
    );
}

#[test]
fn framed_takes_no_more_once_8_kib_wait() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    let written = bell.enter(|| fill(&stream));
    let mut framed = Io::framed(stream, Lines);
    let send = |framed: &mut Framed<TcpStream, Lines>| {
        bell.enter(|| framed.start_send("x".repeat(8192))).unwrap()
    };
    assert!(send(&mut framed).is_ready());
    assert!(matches!(send(&mut framed), AsyncSink::NotReady(line) if line.len() == 8192));
    let reader = thread::spawn(move || {
        peer.read_exact(&mut vec![0; written + 8193]).unwrap();
        peer
    });
    core.run(future::poll_fn(|| framed.poll_complete()))
        .unwrap();
    reader.join().unwrap();
    assert!(send(&mut framed).is_ready());
}

#[test]
fn framed_gives_its_stream() {
    watchdog!();
    let mut framed = framed_cursor(b"");
    framed.get_mut().set_position(0);
    assert_eq!(framed.get_ref().position(), 0);
    assert!(framed.into_inner().into_inner().is_empty());
}

/// A cursor as `Io`, which only types of one's own can be.
struct Bytes(Cursor<Vec<u8>>);

impl std::ops::Deref for Bytes {
    type Target = Cursor<Vec<u8>>;
    fn deref(&self) -> &Cursor<Vec<u8>> {
        &self.0
    }
}

impl std::ops::DerefMut for Bytes {
    fn deref_mut(&mut self) -> &mut Cursor<Vec<u8>> {
        &mut self.0
    }
}

impl Bytes {
    fn into_inner(self) -> Vec<u8> {
        self.0.into_inner()
    }
}

impl Read for Bytes {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl Write for Bytes {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Io for Bytes {}

fn framed_cursor(bytes: &[u8]) -> Framed<Bytes, Lines> {
    Bytes(Cursor::new(bytes.to_vec())).framed(Lines)
}

#[test]
fn easy_buf_splits_and_shares() {
    watchdog!();
    let mut buf: EasyBuf = b"hello world".to_vec().into();
    let tail = buf.split_off(6);
    let head = buf.drain_to(2);
    assert_eq!(
        (head.as_slice(), buf.as_slice(), tail.as_slice()),
        (&b"he"[..], &b"llo "[..], &b"world"[..])
    );
    assert_eq!((head.len(), buf.len(), tail.len()), (2, 4, 5));
    // A write to one leaves the others.
    buf.get_mut().extend_from_slice(b"there");
    assert_eq!(buf.as_slice(), b"llo there");
    assert_eq!(tail.as_slice(), b"world");
    let bytes: Vec<u8> = buf.into();
    assert_eq!(bytes, b"llo there");
    assert_eq!(EasyBuf::new().len(), 0);
    assert_eq!(EasyBuf::with_capacity(5).len(), 0);
}

#[test]
fn easy_buf_past_its_end_panics() {
    watchdog!();
    let mut buf: EasyBuf = b"abc".to_vec().into();
    let split = std::panic::AssertUnwindSafe(|| drop(buf.split_off(4)));
    assert!(std::panic::catch_unwind(split).is_err());
}

#[test]
fn easy_bufs_compare_by_their_bytes() {
    watchdog!();
    let mut whole: EasyBuf = b"xabc".to_vec().into();
    let abc = {
        whole.drain_to(1);
        whole
    };
    let same: EasyBuf = b"abc".to_vec().into();
    let more: EasyBuf = b"abd".to_vec().into();
    assert!(abc == same && abc != more && abc < more);
    assert_eq!(abc.cmp(&more), std::cmp::Ordering::Less);
    assert!(abc == b"abc" && abc == "abc");
    let hash = |buf: &EasyBuf| {
        let mut hasher = DefaultHasher::new();
        buf.hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash(&abc), hash(&same));
    assert_eq!(abc.clone().as_ref(), b"abc");
    let text = format!("{same:?}");
    assert!(text.contains("[97, 98, 99]"), "{text}");
}

#[test]
fn a_window_narrows_its_buffer() {
    watchdog!();
    let mut window = Window::new(b"hello world".to_vec());
    assert_eq!((window.start(), window.end()), (0, 11));
    window.set_start(2).set_end(5);
    assert_eq!(window.as_ref(), b"llo");
    window.as_mut()[0] = b'L';
    assert_eq!(window.get_ref(), b"heLlo world");
    window.get_mut()[0] = b'H';
    let wrong = std::panic::AssertUnwindSafe(|| window.set_start(6).start());
    assert!(std::panic::catch_unwind(wrong).is_err());
    assert_eq!(window.into_inner(), b"HeLlo world");
}

#[test]
fn boxed_aliases_take_what_is_send() {
    watchdog!();
    let future: IoFuture<u8> = Box::new(future::ok(1));
    assert_eq!(future.wait().unwrap(), 1);
    let stream: IoStream<u8> = Box::new(futures::stream::once(Ok(2)));
    assert_eq!(stream.wait().next().unwrap().unwrap(), 2);
}

#[test]
fn a_macro_of_the_crate_root_returns_not_ready() {
    watchdog!();
    fn step(mut stream: &TcpStream) -> Poll<usize, io::Error> {
        Ok(Async::Ready(tokio_core::try_nb!(stream.read(&mut [0]))))
    }
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    assert!(Bell::new().enter(|| step(&stream)).unwrap().is_not_ready());
    peer.write_all(b"x").unwrap();
    assert_eq!(core.run(future::poll_fn(|| step(&stream))).unwrap(), 1);
}
