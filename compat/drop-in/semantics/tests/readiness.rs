//! Readiness by hand: `poll_read`, `need_read`, `peek`, `try_nb!` and `PollEvented`.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::io::AsRawFd;
use std::thread;

use futures::{future, Async, Future};
use semantics::{connected, fill, turn_until, watchdog, Bell, Descriptor, Ready};
use tokio_core::net::TcpStream;
use tokio_core::reactor::{Core, PollEvented};
use tokio_core::try_nb;
use tokio_io::io::{read_exact, write_all};
use tokio_io::{AsyncRead, AsyncWrite};

#[test]
fn poll_read_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    assert!(bell.enter(|| stream.poll_read()).is_not_ready());
    peer.write_all(b"x").unwrap();
    turn_until(&mut core, "the task is notified", || bell.rung() > 0);
    assert!(bell.enter(|| stream.poll_read()).is_ready());
    assert_eq!(bell.enter(|| stream.read(&mut [0])).unwrap(), 1);
}

#[test]
fn poll_read_says_not_ready_after_a_read_that_would_block() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    peer.write_all(b"x").unwrap();
    let (_, _) = core.run(read_exact(&stream, [0])).unwrap();
    let bell = Bell::new();
    bell.enter(|| stream.read(&mut [0])).unwrap_err();
    assert!(bell.enter(|| stream.poll_read()).is_not_ready());
    peer.write_all(b"y").unwrap();
    turn_until(&mut core, "the task is notified", || bell.rung() > 0);
    assert!(bell.enter(|| stream.poll_read()).is_ready());
}

#[test]
fn poll_read_stays_ready_until_a_read_would_block() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    peer.write_all(b"abc").unwrap();
    let bell = Bell::new();
    let mut ready = || bell.enter(|| stream.poll_read()).is_ready();
    turn_until(&mut core, "the stream is readable", &mut ready);
    for _ in 0..3 {
        assert!(bell.enter(|| stream.poll_read()).is_ready());
        assert_eq!(bell.enter(|| stream.read(&mut [0])).unwrap(), 1);
    }
}

#[test]
fn poll_write_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    assert!(bell.enter(|| stream.poll_write()).is_ready());
    let written = bell.enter(|| fill(&stream));
    assert!(bell.enter(|| stream.poll_write()).is_not_ready());
    let rung = bell.rung();
    let reads = thread::spawn(move || {
        peer.read_exact(&mut vec![0; written]).unwrap();
        peer
    });
    turn_until(&mut core, "the task is notified", || bell.rung() > rung);
    assert!(bell.enter(|| stream.poll_write()).is_ready());
    reads.join().unwrap();
}

#[test]
fn peek_leaves_the_bytes_and_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    let error = bell.enter(|| stream.peek(&mut [0])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    peer.write_all(b"abc").unwrap();
    turn_until(&mut core, "the task is notified", || bell.rung() > 0);
    let mut buf = [0; 2];
    for _ in 0..2 {
        assert_eq!(bell.enter(|| stream.peek(&mut buf)).unwrap(), 2);
        assert_eq!(&buf, b"ab");
    }
    let mut buf = [0; 3];
    assert_eq!(bell.enter(|| stream.read(&mut buf)).unwrap(), 3);
    assert_eq!(&buf, b"abc");
}

#[test]
fn peek_that_would_block_waits_again_after_reads_past_the_stream() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    peer.write_all(b"abc").unwrap();
    let mut ready = || bell.enter(|| stream.poll_read()).is_ready();
    turn_until(&mut core, "the stream is readable", &mut ready);
    // As splice does, which the stream does not know of.
    let fd = stream.as_raw_fd();
    let mut buf = [0; 10];
    // SAFETY: the buffer has the length that is given.
    let n = unsafe { libc::recv(fd, buf.as_mut_ptr().cast(), buf.len(), 0) };
    assert_eq!(n, 3);
    let error = bell.enter(|| stream.peek(&mut [0])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let rung = bell.rung();
    peer.write_all(b"d").unwrap();
    turn_until(&mut core, "the task is notified", || bell.rung() > rung);
    assert!(bell.enter(|| stream.poll_read()).is_ready());
}

#[test]
fn peek_reports_the_end_as_zero() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, peer) = connected(&mut core);
    drop(peer);
    let peek = future::poll_fn(|| Ok(Async::Ready(try_nb!(stream.peek(&mut [0])))));
    let peek: Result<usize, std::io::Error> = core.run(peek);
    assert_eq!(peek.unwrap(), 0);
}

#[test]
fn try_nb_returns_not_ready_or_the_error_or_the_value() {
    watchdog!();
    fn step(result: std::io::Result<u8>) -> futures::Poll<u8, std::io::Error> {
        Ok(Async::Ready(try_nb!(result) + 1))
    }
    assert_eq!(step(Ok(1)).unwrap(), Async::Ready(2));
    assert_eq!(
        step(Err(ErrorKind::WouldBlock.into())).unwrap(),
        Async::NotReady
    );
    let error = step(Err(ErrorKind::NotFound.into())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn the_end_makes_poll_read_ready() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, peer) = connected(&mut core);
    let bell = Bell::new();
    assert!(bell.enter(|| stream.poll_read()).is_not_ready());
    drop(peer);
    turn_until(&mut core, "the task is notified", || bell.rung() > 0);
    assert!(bell.enter(|| stream.poll_read()).is_ready());
}

#[test]
fn a_task_of_the_core_waits_by_poll_read_and_a_read_of_the_descriptor() {
    watchdog!();
    const LEN: usize = 500_000;
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let sender = thread::spawn(move || {
        for chunk in [5; LEN].chunks(50_000) {
            peer.write_all(chunk).unwrap();
            thread::yield_now();
        }
    });
    let mut read = 0;
    core.run(future::poll_fn(|| loop {
        if stream.poll_read().is_not_ready() {
            return Ok::<_, std::io::Error>(Async::NotReady);
        }
        let mut buf = [0; 8192];
        // SAFETY: the buffer has the length that is given.
        match unsafe { libc::recv(stream.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len(), 0) } {
            0 => return Ok(Async::Ready(())),
            n if n > 0 => read += n as usize,
            // Empty: a peek that would block waits for more.
            _ => {
                try_nb!(stream.peek(&mut [0]));
            }
        }
    }))
    .unwrap();
    assert_eq!(read, LEN);
    sender.join().unwrap();
}

#[test]
fn poll_evented_reads_and_writes_a_descriptor() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (ours, mut theirs) = Descriptor::pair();
    let source = PollEvented::new(ours, &core.handle()).unwrap();
    let (source, _) = core.run(write_all(source, b"ping")).unwrap();
    let mut buf = [0; 4];
    theirs.read_exact(&mut buf).unwrap();
    theirs.write_all(&buf).unwrap();
    let (_, buf) = core.run(read_exact(source, [0; 4])).unwrap();
    assert_eq!(&buf, b"ping");
}

#[test]
fn poll_evented_reads_and_writes_through_a_shared_reference() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (ours, mut theirs) = Descriptor::pair();
    let source = PollEvented::new(ours, &core.handle()).unwrap();
    core.run(write_all(&source, b"ping")).unwrap();
    let mut buf = [0; 4];
    theirs.read_exact(&mut buf).unwrap();
    theirs.write_all(&buf).unwrap();
    let (_, buf) = core.run(read_exact(&source, [0; 4])).unwrap();
    assert_eq!(&buf, b"ping");
}

#[test]
fn poll_evented_would_block_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (ours, mut theirs) = Descriptor::pair();
    let mut source = PollEvented::new(ours, &core.handle()).unwrap();
    let bell = Bell::new();
    let error = bell.enter(|| source.read(&mut [0])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    theirs.write_all(b"x").unwrap();
    turn_until(&mut core, "the task is notified", || bell.rung() > 0);
    assert_eq!(bell.enter(|| source.read(&mut [0])).unwrap(), 1);
}

#[test]
fn poll_evented_need_read_waits_again() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (ours, mut theirs) = Descriptor::pair();
    let source = PollEvented::new(ours, &core.handle()).unwrap();
    theirs.write_all(b"x").unwrap();
    let bell = Bell::new();
    let mut ready = || bell.enter(|| source.poll_read()).is_ready();
    turn_until(&mut core, "the source is readable", &mut ready);
    // By hand, past PollEvented.
    let mut io = source.get_ref();
    assert_eq!(io.read(&mut [0]).unwrap(), 1);
    assert_eq!(io.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    bell.enter(|| source.need_read());
    assert!(bell.enter(|| source.poll_read()).is_not_ready());
    let rung = bell.rung();
    theirs.write_all(b"y").unwrap();
    turn_until(&mut core, "the task is notified", || bell.rung() > rung);
    assert!(bell.enter(|| source.poll_read()).is_ready());
}

#[test]
fn poll_evented_need_write_waits_again() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (ours, mut theirs) = Descriptor::pair();
    let source = PollEvented::new(ours, &core.handle()).unwrap();
    let bell = Bell::new();
    let mut ready = || bell.enter(|| source.poll_write()).is_ready();
    turn_until(&mut core, "the source is writable", &mut ready);
    let mut written = 0;
    let mut io = source.get_ref();
    let error = loop {
        match io.write(&[0; 4096]) {
            Ok(n) => written += n,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    bell.enter(|| source.need_write());
    assert!(bell.enter(|| source.poll_write()).is_not_ready());
    let rung = bell.rung();
    theirs.read_exact(&mut vec![0; written]).unwrap();
    turn_until(&mut core, "the task is notified", || bell.rung() > rung);
    assert!(bell.enter(|| source.poll_write()).is_ready());
}

#[test]
fn poll_evented_poll_ready_says_which_of_the_asked_is_ready() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (ours, mut theirs) = Descriptor::pair();
    let source = PollEvented::new(ours, &core.handle()).unwrap();
    let bell = Bell::new();
    assert!(bell
        .enter(|| source.poll_ready(Ready::readable()))
        .is_not_ready());
    theirs.write_all(b"x").unwrap();
    turn_until(&mut core, "the task is notified", || bell.rung() > 0);
    let ready = match bell.enter(|| source.poll_ready(Ready::readable())) {
        Async::Ready(ready) => ready,
        Async::NotReady => panic!("not ready"),
    };
    assert!(ready.is_readable() && !ready.is_writable());
    let mut both = None;
    turn_until(&mut core, "the source is writable", || {
        match bell.enter(|| source.poll_ready(Ready::writable())) {
            Async::Ready(ready) => both = Some(ready),
            Async::NotReady => {}
        }
        both.is_some()
    });
    assert!(both.unwrap().is_writable() && !both.unwrap().is_readable());
}

#[test]
fn poll_evented_sees_the_end() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (ours, theirs) = Descriptor::pair();
    let mut source = PollEvented::new(ours, &core.handle()).unwrap();
    let bell = Bell::new();
    assert!(bell.enter(|| source.poll_read()).is_not_ready());
    drop(theirs);
    turn_until(&mut core, "the task is notified", || bell.rung() > 0);
    assert!(bell.enter(|| source.poll_read()).is_ready());
    assert_eq!(bell.enter(|| source.read(&mut [0])).unwrap(), 0);
}

#[test]
fn poll_evented_gives_its_source_and_its_remote() {
    watchdog!();
    let core = Core::new().unwrap();
    let (ours, _theirs) = Descriptor::pair();
    let fd = ours.as_raw_fd();
    let mut source = PollEvented::new(ours, &core.handle()).unwrap();
    assert_eq!(source.get_ref().as_raw_fd(), fd);
    assert_eq!(source.get_mut().as_raw_fd(), fd);
    assert_eq!(source.remote().id(), core.id());
    assert!(format!("{source:?}").contains("Descriptor"));
}

#[test]
fn poll_evented_deregister_closes_the_source() {
    watchdog!();
    let core = Core::new().unwrap();
    let (ours, mut theirs) = Descriptor::pair();
    let source = PollEvented::new(ours, &core.handle()).unwrap();
    source.deregister(&core.handle()).unwrap();
    assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
}

#[test]
fn poll_evented_shutdown_sends_nothing() {
    watchdog!();
    let core = Core::new().unwrap();
    let (ours, mut theirs) = Descriptor::pair();
    let mut source = PollEvented::new(ours, &core.handle()).unwrap();
    assert!(AsyncWrite::shutdown(&mut source).unwrap().is_ready());
    theirs.set_nonblocking(true).unwrap();
    assert_eq!(
        theirs.read(&mut [0]).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
}

#[test]
fn poll_evented_on_a_handle_of_a_dropped_core_fails() {
    watchdog!();
    let core = Core::new().unwrap();
    let handle = core.handle();
    drop(core);
    let (ours, _theirs) = Descriptor::pair();
    let error = PollEvented::new(ours, &handle).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
}

#[test]
fn poll_evented_works_in_codecs_and_split() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (ours, mut theirs) = Descriptor::pair();
    let (reads, writes) = PollEvented::new(ours, &core.handle()).unwrap().split();
    theirs.write_all(b"ping").unwrap();
    let echo = read_exact(reads, [0; 4]).and_then(|(_, buf)| write_all(writes, buf));
    core.run(echo).unwrap();
    let mut buf = [0; 4];
    theirs.read_exact(&mut buf).unwrap();
    assert_eq!(&buf, b"ping");
}

#[test]
fn readiness_of_one_stream_does_not_leak_to_the_next() {
    watchdog!();
    let mut core = Core::new().unwrap();
    for _ in 0..100 {
        let (mut stream, mut peer): (TcpStream, _) = connected(&mut core);
        let bell = Bell::new();
        // Of a new stream, although the one before it was readable.
        let error = bell.enter(|| stream.read(&mut [0])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        peer.write_all(b"x").unwrap();
        turn_until(&mut core, "the task is notified", || bell.rung() > 0);
    }
}
