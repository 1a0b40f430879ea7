//! TCP, UDP and Unix sockets.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::{self, Shutdown, SocketAddr};
use std::os::unix::net as unix;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{future, Async, Future, Sink, Stream};
use mio::Ready;
use programs::within_a_minute;
use tokio::codec::BytesCodec;
use tokio::io::{self as tokio_io, AsyncRead, AsyncWrite};
use tokio::net::{
    TcpListener, TcpStream, UdpFramed, UdpSocket, UnixDatagram, UnixListener, UnixStream,
};
use tokio::reactor::Handle;
use tokio::runtime::current_thread::Runtime;
use tokio::timer::Delay;

fn local() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// Runs `future` with a runtime on this thread.
fn block_on<F: Future>(future: F) -> Result<F::Item, F::Error> {
    Runtime::new().unwrap().block_on(future)
}

/// A path for a socket, in a folder that is removed on drop.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        Place(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A stream and its std peer.
fn pair() -> (TcpStream, net::TcpStream) {
    let listener = net::TcpListener::bind(local()).unwrap();
    let ours = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let stream = TcpStream::from_std(ours, &Handle::default()).unwrap();
    (stream, listener.accept().unwrap().0)
}

#[test]
fn connect_begins_at_the_call() {
    within_a_minute(|| {
        let listener = net::TcpListener::bind(local()).unwrap();
        let connecting = TcpStream::connect(&listener.local_addr().unwrap());
        let (mut peer, _) = listener.accept().unwrap();
        drop(connecting);
        assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn a_mebibyte_is_echoed_by_halves_in_two_tasks() {
    within_a_minute(|| {
        let listener = TcpListener::bind(&local()).unwrap();
        let addr = listener.local_addr().unwrap();
        let mut runtime = Runtime::new().unwrap();
        let server = listener.incoming().take(1).for_each(|stream| {
            let (reader, writer) = stream.split();
            tokio_io::copy(reader, writer).map(drop)
        });
        runtime.spawn(server.map_err(|error| panic!("{error}")));
        let sent: Vec<u8> = (0..1 << 20).map(|at| (at % 251) as u8).collect();
        let expected = sent.clone();
        let echo = TcpStream::connect(&addr).and_then(|stream| {
            let (reader, writer) = stream.split();
            let write = tokio_io::write_all(writer, sent);
            write.join(tokio_io::read_exact(reader, vec![0; 1 << 20]))
        });
        let (_, (_, echoed)) = runtime.block_on(echo).unwrap();
        assert!(echoed == expected);
    });
}

#[test]
fn async_shutdown_sends_nothing_and_shutdown_sends_the_end() {
    within_a_minute(|| {
        let (mut stream, mut peer) = pair();
        let wait = Some(Duration::from_millis(50));
        peer.set_read_timeout(wait).unwrap();
        assert!(AsyncWrite::shutdown(&mut stream).unwrap().is_ready());
        let error = peer.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        TcpStream::shutdown(&stream, Shutdown::Write).unwrap();
        assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn a_peek_waits_and_leaves_the_bytes() {
    within_a_minute(|| {
        let (mut stream, mut peer) = pair();
        let thread = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            peer.write_all(b"ab").unwrap();
            peer
        });
        let mut seen = [0; 2];
        let mut runtime = Runtime::new().unwrap();
        let peek = future::poll_fn(|| stream.poll_peek(&mut seen));
        assert!(runtime.block_on(peek).unwrap() > 0 && seen[0] == b'a');
        let read = runtime.block_on(tokio_io::read_exact(stream, [0; 2]));
        assert_eq!(&read.unwrap().1, b"ab");
        drop(thread.join().unwrap());
    });
}

#[test]
fn a_socket_whose_runtime_is_gone_fails() {
    within_a_minute(|| {
        let (mut stream, _peer) = pair();
        let mut runtime = Runtime::new().unwrap();
        let first =
            future::poll_fn(|| Ok::<_, io::Error>(stream.poll_read(&mut [0])?.is_ready().into()));
        assert!(!runtime.block_on(first).unwrap());
        drop(runtime);
        block_on(future::poll_fn(|| stream.poll_read(&mut [0]))).unwrap_err();
    });
}

#[test]
fn a_socket_outside_of_a_runtime_waits_for_a_reactor_in_the_background() {
    within_a_minute(|| {
        let listener = TcpListener::bind(&local()).unwrap();
        let addr = listener.local_addr().unwrap();
        let client = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            let connect = TcpStream::connect(&addr);
            connect
                .and_then(|stream| tokio_io::write_all(stream, "hello"))
                .wait()
        });
        let (stream, _) = listener.incoming().into_future().wait().ok().unwrap();
        let read = tokio_io::read_to_end(stream.unwrap(), Vec::new());
        drop(client.join().unwrap());
        assert_eq!(read.wait().unwrap().1, b"hello");
    });
}

#[test]
fn readiness_by_hand_shows_the_end() {
    within_a_minute(|| {
        let (stream, peer) = pair();
        let mut runtime = Runtime::new().unwrap();
        let room = future::poll_fn(|| {
            let nothing = stream.poll_read_ready(Ready::readable())?;
            assert!(!nothing.is_ready());
            stream.poll_write_ready()
        });
        assert!(runtime.block_on(room).unwrap().is_writable());
        drop(peer);
        let end = future::poll_fn(|| stream.poll_read_ready(Ready::readable()));
        assert!(runtime.block_on(end).unwrap().is_readable());
    });
}

#[test]
fn a_dropped_socket_is_closed_at_once() {
    within_a_minute(|| {
        let (mut stream, mut peer) = pair();
        block_on(future::lazy(|| {
            assert!(!stream.poll_read(&mut [0])?.is_ready());
            drop(stream);
            assert_eq!(peer.read(&mut [0]).unwrap(), 0);
            Ok::<_, io::Error>(())
        }))
        .unwrap();
    });
}

#[test]
fn a_socket_is_served_beside_a_task_that_is_always_ready() {
    within_a_minute(|| {
        let (stream, mut peer) = pair();
        let mut runtime = Runtime::new().unwrap();
        let is_over = Rc::new(Cell::new(false));
        let sees = is_over.clone();
        runtime.spawn(future::poll_fn(move || {
            futures::task::current().notify();
            Ok(sees
                .get()
                .then_some(())
                .map_or(Async::NotReady, Async::Ready))
        }));
        let thread = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            peer.write_all(b"a").unwrap();
            peer
        });
        runtime.block_on(tokio_io::read_exact(stream, [0])).unwrap();
        let moment = Instant::now() + Duration::from_millis(20);
        runtime.block_on(Delay::new(moment)).unwrap();
        is_over.set(true);
        runtime.run().unwrap();
        drop(thread.join().unwrap());
    });
}

#[test]
fn options_of_tcp_are_set() {
    let (stream, _peer) = pair();
    stream.set_nodelay(true).unwrap();
    assert!(stream.nodelay().unwrap());
    let minute = Some(Duration::from_secs(60));
    stream.set_keepalive(minute).unwrap();
    assert_eq!(stream.keepalive().unwrap(), minute);
    stream.set_linger(minute).unwrap();
    assert_eq!(stream.linger().unwrap(), minute);
    stream.set_ttl(9).unwrap();
    assert_eq!(stream.ttl().unwrap(), 9);
    stream.set_recv_buffer_size(16_384).unwrap();
    assert!(stream.recv_buffer_size().unwrap() >= 16_384);
}

#[test]
fn datagrams_come_by_futures_and_frames() {
    within_a_minute(|| {
        let (a, b) = (
            UdpSocket::bind(&local()).unwrap(),
            UdpSocket::bind(&local()).unwrap(),
        );
        let (at_a, at_b) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        let mut runtime = Runtime::new().unwrap();
        let exchange = b.recv_dgram([0; 16]).join(a.send_dgram("one", &at_b));
        let ((b, buf, n, from), (a, _)) = runtime.block_on(exchange).unwrap();
        assert_eq!((&buf[..n], from), (&b"one"[..], at_a));

        let a = UdpFramed::new(a, BytesCodec::new());
        let b = UdpFramed::new(b, BytesCodec::new());
        let both = a
            .send((Bytes::from("two"), at_b))
            .and_then(|a| a.send((Bytes::from("three"), at_b)))
            .join(b.take(2).collect());
        let (_, received) = runtime.block_on(both).unwrap();
        let received: Vec<_> = received
            .iter()
            .map(|(bytes, from)| (&bytes[..], *from))
            .collect();
        assert_eq!(received, [(&b"two"[..], at_a), (b"three", at_a)]);
    });
}

#[test]
fn connected_datagrams_wait_for_each_other() {
    within_a_minute(|| {
        let (mut a, mut b) = (
            UdpSocket::bind(&local()).unwrap(),
            UdpSocket::bind(&local()).unwrap(),
        );
        a.connect(&b.local_addr().unwrap()).unwrap();
        b.connect(&a.local_addr().unwrap()).unwrap();
        let mut runtime = Runtime::new().unwrap();
        runtime.spawn(
            Delay::new(Instant::now() + Duration::from_millis(20))
                .map_err(|error| panic!("{error}"))
                .and_then(move |_| future::poll_fn(move || a.poll_send(b"late")).map(drop))
                .map_err(|error| panic!("{error}")),
        );
        let mut buf = [0; 16];
        let n = runtime
            .block_on(future::poll_fn(|| b.poll_recv(&mut buf)))
            .unwrap();
        assert_eq!(&buf[..n], b"late");
    });
}

#[test]
fn unix_streams_are_accepted_and_know_their_peer() {
    within_a_minute(|| {
        let place = Place::new("unix-streams");
        let path = place.path("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let mut runtime = Runtime::new().unwrap();
        let server = listener.incoming().take(1).for_each(|stream| {
            let (reader, writer) = stream.split();
            tokio_io::copy(reader, writer).map(drop)
        });
        runtime.spawn(server.map_err(|error| panic!("{error}")));
        let connect = UnixStream::connect(&path);
        let echo = connect.and_then(|stream| {
            let mine = unix::UnixStream::pair().unwrap().0;
            let mine = UnixStream::from_std(mine, &Handle::default()).unwrap();
            assert_eq!(stream.peer_cred().unwrap(), mine.peer_cred().unwrap());
            tokio_io::write_all(stream, "hello")
        });
        let echo = echo.and_then(|(stream, _)| tokio_io::read_exact(stream, [0; 5]));
        assert_eq!(&runtime.block_on(echo).unwrap().1, b"hello");
        let missing = runtime.block_on(UnixStream::connect(place.path("none")));
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    });
}

/// A read of a Unix socket ends before a message with a descriptor, which no event announces: it was
/// never read.
#[test]
fn a_short_read_of_a_unix_stream_leaves_the_readiness() {
    within_a_minute(|| {
        let (mut peer, mine) = unix::UnixStream::pair().unwrap();
        peer.write_all(b"a").unwrap();
        let mut runtime = Runtime::new().unwrap();
        let read = future::lazy(|| {
            let mine = UnixStream::from_std(mine, &Handle::default()).unwrap();
            tokio_io::read(mine, [0; 2])
        });
        let (stream, _, n) = runtime.block_on(read).unwrap();
        assert_eq!(n, 1);
        let readable = Ready::readable();
        let look = future::lazy(move || stream.poll_read_ready(readable));
        assert!(runtime.block_on(look).unwrap().is_ready());
    });
}

#[test]
fn unix_datagrams_come_with_the_path_of_their_sender() {
    within_a_minute(|| {
        let place = Place::new("unix-datagrams");
        let (at_a, at_b) = (place.path("a"), place.path("b"));
        let a = UnixDatagram::bind(&at_a).unwrap();
        let b = UnixDatagram::bind(&at_b).unwrap();
        let exchange = b.recv_dgram([0; 16]).join(a.send_dgram("one", &at_b));
        let ((_, buf, n, from), _) = block_on(exchange).unwrap();
        assert_eq!(
            (&buf[..n], from),
            (&b"one"[..], at_a.to_str().unwrap().to_owned())
        );
    });
}

#[test]
fn fifty_connections_are_echoed_on_a_pool() {
    within_a_minute(|| {
        let (sender, ends) = mpsc::channel();
        let listener = TcpListener::bind(&local()).unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::run(future::lazy(move || {
            let server = listener.incoming().take(50).for_each(|stream| {
                let (reader, writer) = stream.split();
                let echo = tokio_io::copy(reader, writer).map(drop);
                tokio::spawn(echo.map_err(|error| panic!("{error}")));
                Ok(())
            });
            tokio::spawn(server.map_err(|error| panic!("{error}")));
            for number in 0..50_u8 {
                let sender = sender.clone();
                let client = TcpStream::connect(&addr)
                    .and_then(move |stream| tokio_io::write_all(stream, vec![number; 100_000]))
                    .and_then(|(stream, sent)| {
                        TcpStream::shutdown(&stream, Shutdown::Write)?;
                        Ok((stream, sent))
                    })
                    .and_then(|(stream, sent)| {
                        tokio_io::read_to_end(stream, Vec::new()).map(move |(_, got)| got == sent)
                    });
                tokio::spawn(
                    client
                        .map(move |is_same| sender.send(is_same).unwrap())
                        .map_err(|error| panic!("{error}")),
                );
            }
            Ok(())
        }));
        assert_eq!(ends.into_iter().filter(|is_same| *is_same).count(), 50);
    });
}
