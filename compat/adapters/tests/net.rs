//! tokio 1's sockets by reference: who is woken, what is lost, and when a task gives way.
#![cfg(unix)]

use std::io::{self, Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use bytes::{Buf, Bytes, IntoBuf};
use futures01::{future, Async, Future as _, Poll as Poll01, Stream as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::io::{AsIo01, ShutdownPolicy};
use tokio_core_compat::prelude::*;
use tokio_core_compat::spawn::Local;
use tokio_io::AsyncWrite as _;

use crate::common::{block_on, on_each_runtime, rings, watched, Bell};

/// Two ends of a TCP connection, the near one shared.
async fn tcp_pair(policy: ShutdownPolicy) -> (AsIo01<TcpStream>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (far, _) = listener.accept().await.unwrap();
    (near.into_io_01(policy), far)
}

fn unix_pair() -> (AsIo01<UnixStream>, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    (near.into_io_01(ShutdownPolicy::Fin), far)
}

fn would_block<T: std::fmt::Debug>(result: io::Result<T>) {
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

/// One owner of a connection, as two of three programs on tokio-core wrote it.
#[derive(Clone)]
struct Shared(Rc<AsIo01<TcpStream>>);

impl Read for Shared {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buf)
    }
}

impl Write for Shared {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&*self.0).write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}

impl tokio_io::AsyncRead for Shared {}

impl tokio_io::AsyncWrite for Shared {
    fn shutdown(&mut self) -> Poll01<(), io::Error> {
        (&*self.0).shutdown()
    }
}

/// Echoes what comes, through two owners of the stream.
fn echo(near: AsIo01<TcpStream>) -> impl futures01::Future<Item = u64, Error = io::Error> {
    let near = Shared(Rc::new(near));
    tokio_io::io::copy(near.clone(), near)
        .and_then(|(n, _, near)| tokio_io::io::shutdown(near).map(move |_| n))
}

/// More than the buffers of both sockets hold, so that each direction blocks.
async fn is_echoed(mut far: TcpStream) {
    let sent: Vec<u8> = (0..8_000_000_u32).map(|n| n as u8).collect();
    let (mut read, mut write) = far.split();
    let mut got = Vec::new();
    let write = async {
        write.write_all(&sent).await?;
        write.shutdown().await
    };
    let (wrote, read) = tokio::join!(write, read.read_to_end(&mut got));
    wrote.unwrap();
    read.unwrap();
    assert!(got == sent);
}

#[test]
fn a_shared_stream_echoes_awaited() {
    watched(|| {
        block_on(async {
            let (near, far) = tcp_pair(ShutdownPolicy::Fin).await;
            let (echoed, ()) = tokio::join!(echo(near).into_std(), is_echoed(far));
            assert_eq!(echoed.unwrap(), 8_000_000);
        });
    });
}

#[test]
fn a_shared_stream_echoes_in_a_task_of_a_local() {
    watched(|| {
        block_on(async {
            let (near, far) = tcp_pair(ShutdownPolicy::Fin).await;
            let local = Local::new(&tokio::runtime::Handle::current());
            local.handle().spawn(echo(near).map(drop).map_err(drop));
            local.run_until(is_echoed(far)).await;
        });
    });
}

#[test]
fn a_shared_stream_echoes_on_a_core() {
    watched(|| {
        block_on(async {
            let core = CoreThread::new("core").unwrap();
            let (near, far) = tcp_pair(ShutdownPolicy::Fin).await;
            let echoed = core.run(move |_| echo(near));
            is_echoed(far).await;
            assert_eq!(echoed.await.unwrap().unwrap(), 8_000_000);
            core.shutdown().await.unwrap();
        });
    });
}

/// What hung every tunnel of a port that called `try_read` alone.
#[tokio::test]
async fn a_read_that_would_block_leaves_the_task_registered() {
    let (near, mut far) = tcp_pair(ShutdownPolicy::Fin).await;
    let (bell, mut buf) = (Bell::new(), [0; 8]);
    would_block(bell.enter_01(|| (&near).read(&mut buf)));
    far.write_all(b"x").await.unwrap();
    rings(&bell, 1).await;
    assert_eq!(bell.enter_01(|| (&near).read(&mut buf)).unwrap(), 1);
    // Also after a read that has emptied it.
    would_block(bell.enter_01(|| (&near).read(&mut buf)));
    far.write_all(b"y").await.unwrap();
    rings(&bell, 2).await;
}

#[tokio::test]
async fn the_directions_wake_tasks_of_their_own() {
    let (near, mut far) = unix_pair();
    let (reader, writer) = (Bell::new(), Bell::new());
    let mut buf = vec![0; 1 << 16];
    would_block(reader.enter_01(|| (&near).read(&mut buf)));
    while writer.enter_01(|| (&near).write(&buf)).is_ok() {}
    far.write_all(b"x").await.unwrap();
    rings(&reader, 1).await;
    assert_eq!(writer.rung(), 0);
    while far.try_read(&mut buf).is_ok() {}
    rings(&writer, 1).await;
    assert!(writer.enter_01(|| (&near).write(b"x")).is_ok());
}

#[tokio::test]
async fn need_read_wakes_for_what_came_before_it() {
    let (near, mut far) = tcp_pair(ShutdownPolicy::Fin).await;
    let bell = Bell::new();
    assert!(bell.enter_01(|| near.poll_read()).is_not_ready());
    bell.enter_01(|| near.need_read());
    assert_eq!(bell.rung(), 0, "there is nothing");
    far.write_all(b"x").await.unwrap();
    rings(&bell, 1).await;
    assert!(bell.enter_01(|| near.poll_read()).is_ready());
    // It came between a call that would block and this one, or so the caller says.
    bell.enter_01(|| near.need_read());
    assert_eq!(bell.rung(), 2);
    assert!(bell.enter_01(|| near.poll_read()).is_ready());
    assert_eq!(near.get_ref().try_read(&mut [0; 8]).unwrap(), 1);
    bell.enter_01(|| near.need_read());
    assert_eq!(bell.rung(), 2);
    far.write_all(b"x").await.unwrap();
    rings(&bell, 3).await;
}

#[tokio::test]
async fn need_write_wakes_when_there_is_room() {
    let (near, far) = unix_pair();
    let (bell, mut buf) = (Bell::new(), vec![0; 1 << 16]);
    assert!(bell.enter_01(|| near.poll_write()).is_ready());
    bell.enter_01(|| near.need_write());
    assert_eq!(bell.rung(), 1, "there is room");
    // Past tokio: the descriptor is written as splice(2) would.
    while rustix::io::write(near.get_ref(), &buf).is_ok() {}
    bell.enter_01(|| near.need_write());
    assert_eq!(bell.rung(), 1);
    assert!(bell.enter_01(|| near.poll_write()).is_not_ready());
    while far.try_read(&mut buf).is_ok() || bell.rung() == 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bell.rung(), 2);
}

/// The way without a call to forget.
#[tokio::test]
async fn calls_of_ones_own_register_the_task() {
    let (near, mut far) = tcp_pair(ShutdownPolicy::Fin).await;
    let bell = Bell::new();
    let read = |io: &TcpStream| Ok(rustix::io::read(io, &mut [0; 8][..])?);
    would_block(bell.enter_01(|| near.read_with(read)));
    far.write_all(b"four").await.unwrap();
    rings(&bell, 1).await;
    assert_eq!(bell.enter_01(|| near.read_with(read)).unwrap(), 4);
    let write = |io: &TcpStream| Ok(rustix::io::write(io, b"three")?);
    assert_eq!(bell.enter_01(|| near.write_with(write)).unwrap(), 5);
    far.read_exact(&mut [0; 5]).await.unwrap();
}

/// A peer that always has more must not hold up the other tasks.
#[test]
fn a_stream_that_is_always_ready_spends_the_budget() {
    on_each_runtime(|runtime| {
        let task = async {
            let (near, mut far) = unix_pair();
            far.write_all(&[0; 4096]).await.unwrap();
            let mut reads = 0;
            let once = future::poll_fn(move || loop {
                match (&near).read(&mut [0]) {
                    Ok(n) => reads += n,
                    Err(error) => return Ok::<_, ()>(Async::Ready((error.kind(), reads))),
                }
            });
            once.into_std().await.unwrap()
        };
        let (stopped, reads) = runtime.block_on(runtime.spawn(task)).unwrap();
        assert_eq!(stopped, io::ErrorKind::WouldBlock);
        assert!(reads < 4096, "{reads}");
    });
}

#[tokio::test]
async fn shutdown_by_reference_sends_fin_only_if_asked_to() {
    for (policy, fin) in [(ShutdownPolicy::Fin, true), (ShutdownPolicy::Ignore, false)] {
        let (near, mut far) = tcp_pair(policy).await;
        let bell = Bell::new();
        for _ in 0..2 {
            assert!((&near).shutdown().unwrap().is_ready());
        }
        let more = bell.enter_01(|| (&near).write(b"x"));
        assert_eq!(more.is_err(), fin, "{policy:?}");
        assert_eq!(far.read(&mut [0]).await.unwrap() == 0, fin, "{policy:?}");
    }
}

#[tokio::test]
async fn vectored_writes_by_reference_go_out_whole() {
    let (near, mut far) = tcp_pair(ShutdownPolicy::Fin).await;
    let mut buf = Buf::chain(Bytes::from("one ").into_buf(), Bytes::from("call"));
    let wrote = Bell::new().enter_01(|| (&near).write_buf(&mut buf));
    assert_eq!(wrote.unwrap(), Async::Ready(8));
    assert!(!buf.has_remaining());
    let mut got = [0; 8];
    far.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"one call");
}

#[test]
fn one_thread_reads_while_another_writes() {
    watched(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (near, far) = runtime.block_on(async { tcp_pair(ShutdownPolicy::Fin).await });
        let near = Arc::new(near);
        let served = runtime.spawn(is_echoed(far));
        let (given, taken) = futures01::sync::mpsc::unbounded::<Vec<u8>>();
        let reader = near.clone();
        // `wait` drives each as a 0.1 task on a thread of its own.
        let reads = thread::spawn(move || loop {
            let mut buf = vec![0; 4096];
            let n = future::poll_fn(|| try_nb(|| (&*reader).read(&mut buf)))
                .wait()
                .unwrap();
            if n == 0 {
                return;
            }
            buf.truncate(n);
            given.unbounded_send(buf).unwrap();
        });
        let writes = thread::spawn(move || {
            for buf in taken.wait().map(Result::unwrap) {
                let mut sent = 0;
                while sent < buf.len() {
                    sent += future::poll_fn(|| try_nb(|| (&*near).write(&buf[sent..])))
                        .wait()
                        .unwrap();
                }
            }
            (&*near).shutdown().unwrap();
        });
        reads.join().unwrap();
        writes.join().unwrap();
        runtime.block_on(served).unwrap();
    });
}

fn try_nb<T>(f: impl FnOnce() -> io::Result<T>) -> Poll01<T, io::Error> {
    match f() {
        Ok(value) => Ok(Async::Ready(value)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Async::NotReady),
        Err(error) => Err(error),
    }
}

#[test]
fn once_the_runtime_is_gone_calls_fail() {
    let near = block_on(async { tcp_pair(ShutdownPolicy::Fin).await.0 });
    let bell = Bell::new();
    assert!(bell.enter_01(|| near.poll_read()).is_ready());
    let error = bell.enter_01(|| (&near).read(&mut [0])).unwrap_err();
    assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "{error}");
    bell.enter_01(|| near.need_read());
    assert_eq!(bell.rung(), 1, "so that the task sees the error");
}

#[tokio::test]
#[should_panic(expected = "a read on a socket of tokio 1 was polled outside a futures 0.1 task")]
async fn reading_outside_a_task_says_what_to_do() {
    let (near, _far) = unix_pair();
    let _ = (&near).read(&mut [0; 4]);
}
