//! Rows 41 to 62: bytes, and where they are when something ends.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures01::Future as _;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::io::{BufReader, Interest, ReadBuf};
use tokio_io::AsyncRead as AsyncRead01;

use crate::common::{watched, Bell};
use crate::sockets::{tcp_pair, tcp_pair_01};

fn would_block<T>(result: io::Result<T>) -> bool {
    result.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

#[test]
fn row_41_readiness_is_cleared_where_would_block_is_seen() {
    watched(|| {
        // futures 0.1: `poll_read` remembers; a read through the socket finds out and forgets.
        let mut core = tokio_core::reactor::Core::new().unwrap();
        let (near, _far) = tcp_pair_01(&mut core);
        let bell = Bell::new();
        bell.enter_01(|| assert!(would_block((&near).read(&mut [0]))));
        bell.enter_01(|| assert!(near.poll_read().is_not_ready()));

        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (near, mut far) = tcp_pair().await.unwrap();
            far.write_all(b"x").await.unwrap();
            let by_hand = || {
                let fd = near.as_fd().try_clone_to_owned().unwrap();
                std::net::TcpStream::from(fd).read(&mut [0])
            };
            near.readable().await.unwrap();
            assert_eq!(by_hand().unwrap(), 1);

            // Naive: tokio does not see what goes past it. `readable` is ready at once, for ever,
            // and the loop around it spins.
            for _ in 0..100 {
                assert!(bell.poll(&mut Box::pin(near.readable())).is_ready());
                assert!(would_block(by_hand()));
            }

            // Right: would-block passes through `try_io`.
            assert!(would_block(near.try_io(Interest::READABLE, by_hand)));
            assert!(bell.poll(&mut Box::pin(near.readable())).is_pending());
        });
    });
}

#[test]
fn row_53_a_poll_function_remembers_one_waker() {
    watched(|| {
        // futures 0.1: one task for each direction, the last to ask.
        let mut core = tokio_core::reactor::Core::new().unwrap();
        let (near, mut far) = tcp_pair_01(&mut core);
        let (first, second) = (Bell::new(), Bell::new());
        first.enter_01(|| assert!(would_block((&near).read(&mut [0]))));
        second.enter_01(|| assert!(would_block((&near).read(&mut [0]))));
        // The Core hears of both before there is anything to read.
        core.turn(Some(std::time::Duration::ZERO));
        far.write_all(b"x").unwrap();
        while second.rung() == 0 {
            core.turn(Some(std::time::Duration::from_millis(10)));
        }
        assert_eq!(first.rung(), 0);

        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async {
            // Naive: two tasks ask the same socket; the first sleeps on.
            let (near, mut far) = tcp_pair().await.unwrap();
            let first = Bell::new();
            let mut naive = std::future::poll_fn(|cx| near.poll_read_ready(cx));
            assert!(first.poll(&mut naive).is_pending());
            let mut second = Box::pin(std::future::poll_fn(|cx| near.poll_read_ready(cx)));
            assert!(Bell::new().poll(&mut second).is_pending());
            far.write_all(b"x").await.unwrap();
            second.await.unwrap();
            assert_eq!(first.rung(), 0);

            // Right: the async functions keep a list.
            let (near, mut far) = tcp_pair().await.unwrap();
            let first = Bell::new();
            let mut right = Box::pin(near.readable());
            assert!(first.poll(&mut right).is_pending());
            let mut second = Box::pin(near.readable());
            assert!(Bell::new().poll(&mut second).is_pending());
            far.write_all(b"x").await.unwrap();
            second.await.unwrap();
            assert_eq!(first.rung(), 1);
        });
    });
}

/// A source that has one byte, but not yet at the first call.
struct Late {
    called: bool,
}

impl Late {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if !std::mem::replace(&mut self.called, true) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        buf[0] = b'x';
        Ok(1)
    }
}

#[tokio::test]
async fn row_54_would_block_is_no_error_but_pending() {
    struct Old(Late);
    impl io::Read for Old {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.0
                .read(buf)
                .inspect_err(|_| futures01::task::current().notify())
        }
    }
    impl AsyncRead01 for Old {}

    // futures 0.1: would-block means NotReady.
    let read = tokio_io::io::read_exact(Old(Late { called: false }), [0]);
    assert_eq!(read.wait().unwrap().1, *b"x");

    // Naive: the method has the same name, and an error is an error.
    struct Naive(Late);
    impl AsyncRead for Naive {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let n = self.0.read(buf.initialize_unfilled())?;
            buf.advance(n);
            Poll::Ready(Ok(()))
        }
    }
    assert!(would_block(Naive(Late { called: false }).read_u8().await));

    // Right: pending, once a wake-up is arranged.
    struct Right(Late);
    impl AsyncRead for Right {
        fn poll_read(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            match self.0.read(buf.initialize_unfilled()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                read => Poll::Ready(read.map(|n| buf.advance(n))),
            }
        }
    }
    assert_eq!(Right(Late { called: false }).read_u8().await.unwrap(), b'x');
}

#[tokio::test]
async fn row_57_read_exact_loses_what_it_had_when_cancelled() -> io::Result<()> {
    // futures 0.1: the buffer is in the future, and the future comes back from a race.
    let (mut far, near) = tokio::io::duplex(64);
    let near = tokio_core_compat::io::AsIo01::new(near, tokio_core_compat::io::ShutdownPolicy::Fin);
    far.write_all(b"ab").await?;
    let race = tokio_io::io::read_exact(near, [0; 4]).select2(futures01::future::ok::<_, ()>(()));
    let Ok(futures01::future::Either::B(((), reading))) = race.wait() else {
        unreachable!("two of four bytes are there")
    };
    far.write_all(b"cd").await?;
    assert_eq!(reading.wait()?.1, *b"abcd");

    // Naive: each turn of the loop begins anew.
    let (mut far, mut near) = tokio::io::duplex(64);
    far.write_all(b"ab").await?;
    let mut head = [0; 4];
    tokio::select! {
        biased;
        _ = near.read_exact(&mut head) => unreachable!("two of four bytes are there"),
        () = std::future::ready(()) => (),
    }
    far.write_all(b"cdef").await?;
    near.read_exact(&mut head).await?;
    assert_eq!(&head, b"cdef", "ab is lost");

    // Right: one future for all turns. (Or `read_buf`, whose buffer keeps what has come.)
    let (mut far, mut near) = tokio::io::duplex(64);
    far.write_all(b"ab").await?;
    let mut head = [0; 4];
    {
        let mut reading = std::pin::pin!(near.read_exact(&mut head));
        tokio::select! {
            biased;
            _ = &mut reading => unreachable!("two of four bytes are there"),
            () = std::future::ready(()) => (),
        }
        far.write_all(b"cd").await?;
        reading.await?;
    }
    assert_eq!(&head, b"abcd");
    Ok(())
}

#[tokio::test]
async fn row_58_what_was_read_ahead_stays_in_the_buffer() -> io::Result<()> {
    const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\n220 ready\r\n";

    // futures 0.1: the same, and as silent.
    let reader = io::BufReader::new(REPLY);
    let (mut reader, _) = tokio_io::io::read_until(reader, b'\n', Vec::new()).wait()?;
    assert_eq!(reader.fill_buf()?, b"220 ready\r\n");
    assert_eq!(reader.into_inner(), b"");

    // Naive: the head is read by lines, then the socket goes to the relay.
    let (mut far, near) = tokio::io::duplex(64);
    far.write_all(REPLY).await?;
    drop(far);
    let (mut reader, mut line) = (BufReader::new(near), String::new());
    reader.read_line(&mut line).await?;
    let mut payload = String::new();
    reader.into_inner().read_to_string(&mut payload).await?;
    assert_eq!(payload, "", "the greeting is lost");

    // Right: relay from the reader, or take its buffer first.
    let (mut far, near) = tokio::io::duplex(64);
    far.write_all(REPLY).await?;
    drop(far);
    let (mut reader, mut line) = (BufReader::new(near), String::new());
    reader.read_line(&mut line).await?;
    let early = reader.buffer().to_vec();
    reader.into_inner().read_to_string(&mut payload).await?;
    assert_eq!((&early[..], &payload[..]), (&b"220 ready\r\n"[..], ""));
    Ok(())
}

#[test]
fn row_62_a_buffer_no_longer_stops_at_its_capacity() {
    use bytes::BufMut as _;
    use bytes1::BufMut as _;

    // bytes 0.4: what does not fit is a panic, so a capacity was a limit.
    let mut buf = bytes::BytesMut::with_capacity(64);
    let too_much = vec![b'x'; buf.remaining_mut() + 1];
    let put = std::panic::AssertUnwindSafe(|| buf.put_slice(&too_much));
    assert!(std::panic::catch_unwind(put).is_err());

    // Naive: it grows for as long as the peer sends.
    let mut buf = bytes1::BytesMut::with_capacity(64);
    buf.put_slice(&too_much);
    assert_eq!(buf.len(), too_much.len());

    // Right: a limit is said.
    let mut limited = bytes1::BytesMut::with_capacity(64).limit(64);
    assert_eq!(limited.remaining_mut(), 64);
    let put = std::panic::AssertUnwindSafe(|| limited.put_slice(&[0; 65]));
    assert!(std::panic::catch_unwind(put).is_err());
}
