//! Listeners and datagrams of tokio 1, in 0.1 style.
#![cfg(unix)]

use std::cell::Cell;
use std::io;
use std::path::PathBuf;
use std::task::{Context, Poll};

use futures01::{Async, Future as _, Stream as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream};
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::io::ShutdownPolicy;
use tokio_core_compat::net::{Accept, AsDatagram01, AsListener01};
use tokio_core_compat::prelude::*;
use tokio_io::AsyncRead as _;

use crate::common::{block_on, on_each_runtime, rings, watched, Bell};

/// A path for a socket, in a folder that goes with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let name = format!("tokio-core-compat-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        Place(folder)
    }

    fn socket(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn would_block<T>(result: io::Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

#[tokio::test]
async fn accept_registers_the_task_and_takes_all_that_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let listener = AsListener01::new(listener, ShutdownPolicy::Fin);
    let bell = Bell::new();
    assert!(would_block(bell.enter_01(|| listener.accept())));
    let clients = [
        TcpStream::connect(addr).await.unwrap(),
        TcpStream::connect(addr).await.unwrap(),
    ];
    rings(&bell, 1).await;
    for client in clients {
        let (_, from) = bell.enter_01(|| listener.accept()).unwrap();
        assert_eq!(from, client.local_addr().unwrap());
    }
    assert!(would_block(bell.enter_01(|| listener.accept())));
}

#[tokio::test]
async fn connections_that_were_not_accepted_stay_with_the_listener() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let incoming = AsListener01::new(listener, ShutdownPolicy::Fin).incoming();
    let _first = TcpStream::connect(addr).await.unwrap();
    let second = TcpStream::connect(addr).await.unwrap();
    let (_, incoming) = incoming.into_future().into_std().await.ok().unwrap();
    let listener = incoming.into_inner().into_inner();
    let (_, from) = listener.accept().await.unwrap();
    assert_eq!(from, second.local_addr().unwrap());
}

/// Peers that are always faster must not hold up the other tasks.
#[test]
fn listeners_and_datagrams_that_are_always_ready_spend_the_budget() {
    /// More than a task may do in one poll, and as many datagrams as the system keeps.
    const WAITING: usize = 140;
    struct Busy;
    impl Accept for Busy {
        type Stream = ();
        type Addr = ();

        fn poll_accept(&self, _: &mut Context<'_>) -> Poll<io::Result<((), ())>> {
            Poll::Ready(Ok(((), ())))
        }
    }
    on_each_runtime(|runtime| {
        let task = async {
            let listener = AsListener01::new(Busy, ShutdownPolicy::Fin);
            let (near, far) = (udp().await, udp().await);
            let near_addr = near.get_ref().local_addr().unwrap();
            for _ in 0..WAITING {
                far.get_ref().send_to(b"x", near_addr).await.unwrap();
            }
            let accepted = in_one_poll(move || listener.accept().map(drop)).await;
            let received = in_one_poll(move || near.recv_from(&mut [0]).map(drop)).await;
            [accepted, received]
        };
        for ready in runtime.block_on(runtime.spawn(task)).unwrap() {
            assert!((1..WAITING).contains(&ready), "{ready}");
        }
    });

    /// How often `call` succeeds until it would block, in one poll of a separate task.
    async fn in_one_poll(mut call: impl FnMut() -> io::Result<()> + Send + 'static) -> usize {
        let counted = futures01::future::poll_fn(move || {
            let ready = (0..WAITING).take_while(|_| !would_block(call())).count();
            Ok::<_, ()>(Async::Ready(ready))
        });
        tokio::spawn(counted.into_std()).await.unwrap().unwrap()
    }
}

/// A server as it was written for tokio-core, on a Core, with tokio 1's sockets.
#[test]
fn incoming_serves_on_a_core() {
    watched(|| {
        block_on(async {
            let core = CoreThread::new("core").unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let addr = listener.local_addr().unwrap();
            let served = core.run(move |handle| {
                let handle = handle.clone();
                AsListener01::new(listener, ShutdownPolicy::Fin)
                    .incoming()
                    .take(2)
                    .for_each(move |(stream, _)| {
                        let (read, write) = stream.split();
                        handle.spawn(
                            tokio_io::io::copy(read, write)
                                .and_then(|(_, _, write)| tokio_io::io::shutdown(write))
                                .map(drop)
                                .map_err(drop),
                        );
                        Ok(())
                    })
            });
            for word in ["one", "two"] {
                let mut client = TcpStream::connect(addr).await.unwrap();
                client.write_all(word.as_bytes()).await.unwrap();
                client.shutdown().await.unwrap();
                let mut back = String::new();
                client.read_to_string(&mut back).await.unwrap();
                assert_eq!(back, word);
            }
            served.await.unwrap().unwrap();
        });
    });
}

#[tokio::test]
async fn a_unix_listener_accepts() {
    let place = Place::new("listener");
    let path = place.socket("socket");
    let listener = AsListener01::new(UnixListener::bind(&path).unwrap(), ShutdownPolicy::Fin);
    let mut client = UnixStream::connect(&path).await.unwrap();
    let (accepted, incoming) = listener
        .incoming()
        .into_future()
        .into_std()
        .await
        .ok()
        .unwrap();
    let (stream, _) = accepted.unwrap();
    tokio_io::io::write_all(&stream, "hi")
        .into_std()
        .await
        .unwrap();
    client.read_exact(&mut [0; 2]).await.unwrap();
    drop(incoming.into_inner().into_inner());
    assert!(UnixStream::connect(&path).await.is_err(), "it is closed");
}

#[test]
fn incoming_fails_once_the_runtime_is_gone() {
    let listener = block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let mut incoming = AsListener01::new(listener, ShutdownPolicy::Fin).incoming();
    assert!(Bell::new().enter_01(|| incoming.poll()).is_err());
}

/// Fails at the first call, as a listener does that finds no descriptor left.
#[derive(Default)]
struct Failing(Cell<bool>);

impl Accept for Failing {
    type Stream = ();
    type Addr = ();

    fn poll_accept(&self, _: &mut Context<'_>) -> Poll<io::Result<((), ())>> {
        Poll::Ready(match self.0.replace(true) {
            true => Ok(((), ())),
            false => Err(io::ErrorKind::OutOfMemory.into()),
        })
    }
}

#[test]
fn an_error_does_not_end_incoming() {
    let mut incoming = AsListener01::new(Failing::default(), ShutdownPolicy::Fin).incoming();
    let bell = Bell::new();
    assert!(bell.enter_01(|| incoming.poll()).is_err());
    let next = bell.enter_01(|| incoming.poll());
    assert!(matches!(next, Ok(Async::Ready(Some(_)))));
}

/// A socket that tokio knows to be writable, which takes a turn of its reactor.
async fn udp() -> AsDatagram01<UdpSocket> {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.writable().await.unwrap();
    AsDatagram01::new(socket)
}

#[tokio::test]
async fn datagrams_come_whole_and_register_the_task() {
    let (near, far) = (udp().await, udp().await);
    let near_addr = near.get_ref().local_addr().unwrap();
    let (bell, mut buf) = (Bell::new(), [0; 32]);
    assert!(would_block(bell.enter_01(|| near.recv_from(&mut buf))));
    for word in ["one", "two"] {
        let sent = bell.enter_01(|| far.send_to(word.as_bytes(), &near_addr));
        assert_eq!(sent.unwrap(), 3);
    }
    rings(&bell, 1).await;
    for word in ["one", "two"] {
        let (n, from) = bell.enter_01(|| near.recv_from(&mut buf)).unwrap();
        assert_eq!(&buf[..n], word.as_bytes());
        assert_eq!(from, far.get_ref().local_addr().unwrap());
    }
    assert!(would_block(bell.enter_01(|| near.recv_from(&mut buf))));
}

#[tokio::test]
async fn a_connected_socket_needs_no_address() {
    let (near, far) = (udp().await, udp().await);
    let (near_addr, far_addr) = (near.get_ref().local_addr(), far.get_ref().local_addr());
    near.get_ref().connect(far_addr.unwrap()).await.unwrap();
    far.get_ref().connect(near_addr.unwrap()).await.unwrap();
    let (bell, mut buf) = (Bell::new(), [0; 32]);
    assert!(bell.enter_01(|| near.poll_write()).is_ready());
    assert_eq!(bell.enter_01(|| near.send(b"word")).unwrap(), 4);
    far.get_ref().readable().await.unwrap();
    assert!(bell.enter_01(|| far.poll_read()).is_ready());
    assert_eq!(bell.enter_01(|| far.recv(&mut buf)).unwrap(), 4);
    bell.enter_01(|| far.need_read());
    assert_eq!(bell.rung(), 0);
    bell.enter_01(|| near.send(b"word")).unwrap();
    rings(&bell, 1).await;
}

/// The futures carry the socket along, on a Core too.
#[test]
fn futures_of_datagrams_give_the_socket_back() {
    watched(|| {
        block_on(async {
            let core = CoreThread::new("core").unwrap();
            let (near, far) = (udp().await, udp().await);
            let far_addr = far.get_ref().local_addr().unwrap();
            let echo = core.run(move |_| {
                far.recv_dgram(vec![0; 32])
                    .and_then(|(far, mut buf, n, from)| {
                        buf.truncate(n);
                        far.send_dgram(buf, from)
                    })
            });
            let asked = near.send_dgram("there and back", far_addr);
            let (near, _) = asked.into_std().await.unwrap();
            let (_, buf, n, from) = near.recv_dgram([0; 32]).into_std().await.unwrap();
            assert_eq!((&buf[..n], from), (&b"there and back"[..], far_addr));
            let (_, buf) = echo.await.unwrap().unwrap();
            assert_eq!(buf.len(), 14);
        });
    });
}

#[tokio::test]
async fn unix_datagrams_go_to_a_path() {
    let place = Place::new("datagram");
    let bind = |name| AsDatagram01::new(UnixDatagram::bind(place.socket(name)).unwrap());
    let (near, far) = (bind("near"), bind("far"));
    let sent = near.send_dgram("by path", place.socket("far"));
    let (_near, _) = sent.into_std().await.unwrap();
    let (_, buf, n, from) = far.recv_dgram([0; 32]).into_std().await.unwrap();
    assert_eq!(&buf[..n], b"by path");
    assert_eq!(from.as_pathname(), Some(&*place.socket("near")));
}

#[tokio::test]
#[should_panic(expected = "RecvDgram was polled after it had resolved: make another")]
async fn a_future_that_has_ended_says_so() {
    let (near, far) = (udp().await, udp().await);
    let far_addr = far.get_ref().local_addr().unwrap();
    near.send_dgram("x", far_addr).into_std().await.unwrap();
    let mut recv = far.recv_dgram([0; 1]).into_std();
    (&mut recv).await.unwrap();
    let _ = (&mut recv).await;
}
