//! Streams of bytes across generations: half-close, split halves, who owns the socket.

use std::io::{self, IoSlice, Read as _, Write as _};

use futures01::Future as _;
use tokio::io::{AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::io::{AsIo01, AsTokio, ShutdownPolicy};
use tokio_core_compat::task::AsStd;
use tokio_io::AsyncRead as _;

use crate::common::{self, watched, Bell};

/// Two ends of a TCP connection, both tokio 1's.
async fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let near = TcpStream::connect(listener.local_addr()?).await?;
    Ok((near, listener.accept().await?.0))
}

/// The same, with the near end on a tokio-core Core.
async fn tcp_pair_01(core: &CoreThread) -> io::Result<(tokio_core::net::TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let addr = listener.local_addr()?;
    let near = core
        .run(move |handle| tokio_core::net::TcpStream::connect(&addr, handle))
        .await;
    Ok((near.map_err(io::Error::other)??, listener.accept().await?.0))
}

/// What the peer sees after `shutdown` and one more byte: the end, or the byte.
async fn sees_fin(far: &mut TcpStream) -> io::Result<bool> {
    Ok(far.read(&mut [0]).await? == 0)
}

#[tokio::test]
async fn shutdown_of_a_tokio_stream_sends_fin_only_if_asked_to() -> io::Result<()> {
    for (policy, fin) in [(ShutdownPolicy::Fin, true), (ShutdownPolicy::Ignore, false)] {
        let (near, mut far) = tcp_pair().await?;
        let near = AsStd::new(tokio_io::io::shutdown(AsIo01::new(near, policy))).await?;
        let more = AsStd::new(tokio_io::io::write_all(near, "x")).await;
        assert_eq!(more.is_err(), fin, "{policy:?}");
        assert_eq!(sees_fin(&mut far).await?, fin, "{policy:?}");
    }
    Ok(())
}

#[tokio::test]
async fn shutdown_of_a_tokio_core_stream_sends_fin_only_if_asked_to() -> io::Result<()> {
    let core = CoreThread::new("core")?;
    for (policy, fin) in [(ShutdownPolicy::Fin, true), (ShutdownPolicy::Ignore, false)] {
        let (near, mut far) = tcp_pair_01(&core).await?;
        let mut near = AsTokio::new(near, policy);
        near.shutdown().await?;
        near.shutdown().await?;
        assert_eq!(near.write_all(b"x").await.is_err(), fin, "{policy:?}");
        assert_eq!(sees_fin(&mut far).await?, fin, "{policy:?}");
    }
    Ok(())
}

#[tokio::test]
async fn dropping_a_wrapper_closes_its_socket() -> io::Result<()> {
    let core = CoreThread::new("core")?;
    let (near, mut far) = tcp_pair_01(&core).await?;
    drop(AsTokio::new(near, ShutdownPolicy::Ignore));
    assert!(sees_fin(&mut far).await?);

    let (near, mut far) = tcp_pair().await?;
    drop(AsIo01::new(near, ShutdownPolicy::Ignore));
    assert!(sees_fin(&mut far).await?);
    Ok(())
}

#[tokio::test]
async fn a_stream_of_another_crate_brings_its_own_half_close() -> io::Result<()> {
    let core = CoreThread::new("core")?;
    let (near, mut far) = tcp_pair_01(&core).await?;
    let mut near = AsTokio::with_half_close(near, |io| {
        // By its full name: `io.shutdown(…)` would find tokio-io's method of that name first.
        tokio_core::net::TcpStream::shutdown(io, std::net::Shutdown::Write)
    });
    near.shutdown().await?;
    assert!(sees_fin(&mut far).await?);
    Ok(())
}

/// A reply that comes after the request's end arrives, whichever side is bridged.
#[tokio::test]
async fn a_half_close_does_not_cut_the_other_direction() -> io::Result<()> {
    let core = CoreThread::new("core")?;
    let (near, mut far) = tcp_pair_01(&core).await?;
    let server = tokio::spawn(async move {
        let mut request = Vec::new();
        far.read_to_end(&mut request).await?;
        far.write_all(&request).await
    });
    let mut near = AsTokio::new(near, ShutdownPolicy::Fin);
    near.write_all(b"question").await?;
    near.shutdown().await?;
    let mut reply = String::new();
    near.read_to_string(&mut reply).await?;
    assert_eq!(reply, "question");
    server.await?
}

#[tokio::test]
async fn a_stream_comes_back_with_what_it_has_not_read() -> io::Result<()> {
    let (near, mut far) = tcp_pair().await?;
    far.write_all(b"headbody").await?;
    let near = AsIo01::new(near, ShutdownPolicy::Fin);
    let (near, head) = AsStd::new(tokio_io::io::read_exact(near, [0; 4])).await?;
    assert_eq!(&head, b"head");
    let mut body = [0; 4];
    near.into_inner().read_exact(&mut body).await?;
    assert_eq!(&body, b"body");
    Ok(())
}

#[tokio::test]
async fn both_wrappers_around_a_socket_make_no_difference() -> io::Result<()> {
    let (near, mut far) = tcp_pair().await?;
    let mut near = AsTokio::with_half_close(AsIo01::new(near, ShutdownPolicy::Fin), |_| Ok(()));
    let sent: Vec<u8> = (0..1_000_000_u32).map(|n| n as u8).collect();
    let copy = sent.clone();
    let sender = tokio::spawn(async move {
        near.write_all(&copy).await?;
        near.shutdown().await
    });
    let mut got = Vec::new();
    far.read_to_end(&mut got).await?;
    assert!(got == sent);
    sender.await?
}

#[test]
fn the_halves_of_a_split_stream_live_in_two_tasks() {
    let (near, far) = tokio::io::duplex(4);
    let mut far = AsIo01::new(far, ShutdownPolicy::Fin);
    let (mut read, mut write) = AsIo01::new(near, ShutdownPolicy::Fin).split();
    let (reader, writer) = (Bell::new(), Bell::new());
    let (mut reading, mut writing) = (
        futures01::executor::spawn(()),
        futures01::executor::spawn(()),
    );

    let mut buf = [0; 8];
    let polled = reading.poll_fn_notify(&reader, 0, |()| read.read(&mut buf));
    assert_eq!(polled.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    let polled = writing.poll_fn_notify(&writer, 0, |()| write.write(b"12345"));
    assert_eq!(polled.unwrap(), 4);
    let polled = writing.poll_fn_notify(&writer, 0, |()| write.write(b"5"));
    assert_eq!(polled.unwrap_err().kind(), io::ErrorKind::WouldBlock);

    let peer = Bell::new();
    peer.enter_01(|| far.write(b"x")).unwrap();
    assert_eq!((reader.rung(), writer.rung()), (1, 0));
    peer.enter_01(|| far.read(&mut buf)).unwrap();
    assert_eq!((reader.rung(), writer.rung()), (1, 1));
}

#[tokio::test]
async fn vectored_writes_reach_a_tokio_core_socket_whole() -> io::Result<()> {
    let core = CoreThread::new("core")?;
    let (near, mut far) = tcp_pair_01(&core).await?;
    let mut near = AsTokio::new(near, ShutdownPolicy::Fin);
    assert!(near.is_write_vectored());
    let bufs = [&b"one "[..], b"system ", b"", b"call"].map(IoSlice::new);
    assert_eq!(near.write_vectored(&bufs).await?, 15);
    let mut got = [0; 15];
    far.read_exact(&mut got).await?;
    assert_eq!(&got, b"one system call");
    Ok(())
}

/// What `AsTokio` documents: a socket belongs to its Core for life.
#[test]
fn once_the_core_is_gone_a_socket_sleeps_for_ever_on_0_1_12() {
    watched(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let core = CoreThread::new("core").unwrap();
            let (near, mut far) = tcp_pair_01(&core).await.unwrap();
            let mut near = AsTokio::new(near, ShutdownPolicy::Fin);
            // Learns that there is nothing to read.
            let mut byte = [0];
            let bell = Bell::new();
            assert!(bell.poll(&mut Box::pin(near.read(&mut byte))).is_pending());
            core.shutdown().await.unwrap();
            let before = bell.rung();
            far.write_all(b"x").await.unwrap();
            if common::tokio_core_patch() <= 12 {
                assert!(bell.poll(&mut Box::pin(near.read(&mut byte))).is_pending());
                assert_eq!(bell.rung(), before, "and nobody is left to ring");
            } else {
                // Its reactor has a thread of its own, which nothing ever ends.
                assert_eq!(near.read(&mut byte).await.unwrap(), 1);
            }
        });
    });
}

#[test]
fn a_0_1_copy_runs_over_tokio_streams_without_a_runtime() {
    let (a, mut b) = tokio::io::duplex(64);
    let (mut c, d) = tokio::io::duplex(64);
    let copied = watched(move || {
        let bell = Bell::new();
        let mut write = Box::pin(async move {
            b.write_all(b"payload").await.unwrap();
            b.shutdown().await.unwrap();
        });
        assert!(bell.poll(&mut write).is_ready());
        let from = AsIo01::new(a, ShutdownPolicy::Fin);
        let to = AsIo01::new(d, ShutdownPolicy::Fin);
        tokio_io::io::copy(from, to)
            .map(|(n, _, _)| n)
            .wait()
            .unwrap()
    });
    assert_eq!(copied, 7);
    let mut got = String::new();
    let mut read = Box::pin(c.read_to_string(&mut got));
    assert!(Bell::new().poll(&mut read).is_ready());
    drop(read);
    assert_eq!(got, "payload");
}

/// Step 3 of a migration, half way: the socket has moved, the task has not.
#[tokio::test]
async fn a_tokio_socket_serves_a_task_on_a_core() -> io::Result<()> {
    let core = CoreThread::new("core")?;
    let (near, mut far) = tcp_pair().await?;
    let echo = core.run(move |_| {
        let (read, write) = AsIo01::new(near, ShutdownPolicy::Fin).split();
        tokio_io::io::copy(read, write)
            .and_then(|(n, _, write)| tokio_io::io::shutdown(write).map(move |_| n))
    });
    far.write_all(b"there and back").await?;
    far.shutdown().await?;
    let mut back = String::new();
    far.read_to_string(&mut back).await?;
    assert_eq!(back, "there and back");
    assert_eq!(echo.await.unwrap()?, 14);
    core.shutdown().await.map_err(io::Error::other)
}
