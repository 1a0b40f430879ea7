//! Streams of bytes, call by call: what reaches the stream inside, on the buffer of the caller.

use std::io::{self, IoSlice, Read as _, Write as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, IntoBuf};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio_core_compat::io::{AsIo01, AsTokio, HalfClose, ShutdownPolicy};
use tokio_io::AsyncWrite as _;

use crate::common::Bell;

/// Remembers the sizes of the slices that it was given.
#[derive(Default)]
struct Scripted {
    writes: Arc<Mutex<Vec<Vec<usize>>>>,
    vectored: bool,
    odd: bool,
}

impl AsyncWrite for Scripted {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.odd {
            return Poll::Ready(Err(io::ErrorKind::WouldBlock.into()));
        }
        self.writes.lock().unwrap().push(vec![buf.len()]);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sizes: Vec<usize> = bufs.iter().map(|buf| buf.len()).collect();
        let sum = sizes.iter().sum();
        self.writes.lock().unwrap().push(sizes);
        Poll::Ready(Ok(sum))
    }

    fn is_write_vectored(&self) -> bool {
        self.vectored
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Scripted {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buf.put_slice(b"read");
        Poll::Ready(Ok(()))
    }
}

#[test]
fn write_buf_is_vectored_when_the_stream_is() {
    for (vectored, want) in [(true, vec![3, 5]), (false, vec![3])] {
        let scripted = Scripted {
            vectored,
            ..Scripted::default()
        };
        let writes = scripted.writes.clone();
        let mut io = AsIo01::new(scripted, ShutdownPolicy::Fin);
        let mut buf = Buf::chain(Bytes::from("abc").into_buf(), Bytes::from("defgh"));
        let wrote = Bell::new().enter_01(|| io.write_buf(&mut buf)).unwrap();
        let total = want.iter().sum();
        assert_eq!(wrote, futures01::Async::Ready(total));
        assert_eq!(buf.remaining(), 8 - total);
        assert_eq!(*writes.lock().unwrap(), [want]);
    }
}

#[test]
fn vectored_writes_survive_both_wrappers() {
    let scripted = Scripted {
        vectored: true,
        ..Scripted::default()
    };
    let writes = scripted.writes.clone();
    let io = AsIo01::new(scripted, ShutdownPolicy::Fin);
    let mut io = AsTokio::with_half_close(io, |_| Ok(()));
    let bufs = [&b"ab"[..], b"", b"cde"].map(IoSlice::new);
    let mut write = std::pin::pin!(io.write_vectored(&bufs));
    let polled = Bell::new().poll(&mut write);
    assert!(matches!(polled, Poll::Ready(Ok(5))));
    assert_eq!(*writes.lock().unwrap(), [[2, 3]]);
}

#[test]
fn an_empty_buffer_is_not_written() {
    let scripted = Scripted::default();
    let writes = scripted.writes.clone();
    let mut io = AsIo01::new(scripted, ShutdownPolicy::Fin);
    let wrote = Bell::new()
        .enter_01(|| io.write_buf(&mut Bytes::new().into_buf()))
        .unwrap();
    assert_eq!(wrote, futures01::Async::Ready(0));
    assert!(writes.lock().unwrap().is_empty());
}

/// To 0.1 it would mean "wait", and no wake-up would come.
#[test]
fn would_block_as_an_error_is_an_error() {
    let mut io = AsIo01::new(
        Scripted {
            odd: true,
            ..Scripted::default()
        },
        ShutdownPolicy::Fin,
    );
    let error = Bell::new().enter_01(|| io.write(b"x")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Other);
}

#[test]
#[should_panic(expected = "a read on io::AsIo01 was polled outside a futures 0.1 task")]
fn reading_outside_a_task_says_what_to_do() {
    let _ = AsIo01::new(Scripted::default(), ShutdownPolicy::Fin).read(&mut [0; 4]);
}

/// A 0.1 stream whose half-close fails so many times.
struct Stubborn {
    refusals: u32,
    closed: u32,
}

impl io::Write for Stubborn {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl tokio_io::AsyncWrite for Stubborn {
    fn shutdown(&mut self) -> futures01::Poll<(), io::Error> {
        Ok(futures01::Async::Ready(()))
    }
}

impl HalfClose for Stubborn {
    fn half_close(&mut self) -> io::Result<()> {
        if self.refusals > 0 {
            self.refusals -= 1;
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.closed += 1;
        Ok(())
    }
}

#[test]
fn a_half_close_that_failed_is_done_at_the_next_shutdown_and_once() {
    let stream = Stubborn {
        refusals: 2,
        closed: 0,
    };
    let mut io = AsTokio::new(stream, ShutdownPolicy::Fin);
    let cx = &mut Context::from_waker(std::task::Waker::noop());
    let mut shutdown = || match Pin::new(&mut io).poll_shutdown(cx) {
        Poll::Ready(result) => result.map_err(|error| error.kind()),
        Poll::Pending => unreachable!("the stream never is"),
    };
    assert_eq!(shutdown(), Err(io::ErrorKind::Interrupted));
    assert_eq!(shutdown(), Err(io::ErrorKind::Interrupted));
    assert_eq!(shutdown(), Ok(()));
    assert_eq!(shutdown(), Ok(()));
    assert_eq!(io.get_ref().closed, 1, "FIN was sent once");
}

#[test]
fn a_method_of_the_stream_finds_the_task_and_wakes_it_later() {
    let mut io = AsTokio::with_half_close(Vec::new(), |_| Ok(()));
    let bell = Bell::new();
    let waker = std::task::Waker::from(bell.clone());
    let cx = &mut Context::from_waker(&waker);
    io.poll_with(cx, |tasks| tasks.push(futures01::task::current()));
    assert_eq!(bell.rung(), 0);
    io.get_ref()[0].notify();
    assert_eq!(bell.rung(), 1);
}

/// hyper 1 chooses by this between one write of all slices and a copy into one buffer.
#[test]
fn vectored_writes_are_announced_only_where_a_type_vouches_for_them() {
    let stubborn = || Stubborn {
        refusals: 0,
        closed: 0,
    };
    // With the default `write_buf` the first slice is all that is written.
    let mut io = AsTokio::new(stubborn(), ShutdownPolicy::Fin);
    assert!(!io.is_write_vectored());
    let bufs = [&b"ab"[..], b"cde"].map(IoSlice::new);
    let polled = Bell::new().poll(&mut std::pin::pin!(io.write_vectored(&bufs)));
    assert!(matches!(polled, Poll::Ready(Ok(2))));

    let io = AsTokio::new(Box::new(stubborn()), ShutdownPolicy::Fin);
    assert!(!io.is_write_vectored());
    let vectored = AsIo01::new(Scripted::default(), ShutdownPolicy::Fin);
    let io = AsTokio::with_half_close(vectored, |_| Ok(()));
    assert!(!io.is_write_vectored());
    assert!(io.with_vectored_writes().is_write_vectored());
}
