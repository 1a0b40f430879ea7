//! Streams of bytes, codecs and services.

use std::future::Future;
use std::io::{self, Cursor, IoSlice, Write};
use std::pin::Pin;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use futures01::{Async, Future as _, Poll as Poll01};
use futures_util::compat::{AsyncRead01CompatExt, AsyncWrite01CompatExt};
use futures_util::{AsyncReadExt, AsyncWriteExt, StreamExt as _};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio_core_compat::codec::AsTokioCodec;
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::io::{AsIo01, AsTokio, ShutdownPolicy};
use tokio_core_compat::service::AsTower;
use tokio_util::codec::FramedRead;
use tokio_util::compat::{FuturesAsyncReadCompatExt, TokioAsyncReadCompatExt};
use tower_service::Service as _;

use crate::{block_on, yes, Row};

const TEXT: &[u8] = b"across";

pub fn rows() -> Vec<Row> {
    vec![
        Row(
            "reads a tokio-io 0.1 stream with tokio 1's traits",
            [
                Some(|| reads(AsTokio::with_half_close(Cursor::new(TEXT), |_| Ok(())))),
                Some(|| {
                    let std = AsyncRead01CompatExt::compat(Cursor::new(TEXT));
                    reads(FuturesAsyncReadCompatExt::compat(std)) + ", with tokio-util"
                }),
                None,
                Some(|| {
                    let std = AsyncRead01CompatExt::compat(Cursor::new(TEXT));
                    reads(async_compat::Compat::new(std)) + ", with futures-util"
                }),
            ],
        ),
        Row(
            "reads a tokio 1 stream with tokio-io 0.1's traits",
            [
                Some(|| reads_01(AsIo01::new(TEXT, ShutdownPolicy::Fin))),
                Some(|| {
                    let std = TokioAsyncReadCompatExt::compat(TEXT);
                    reads_01(AsyncReadExt::compat(std)) + ", with tokio-util"
                }),
                None,
                Some(|| {
                    let std = async_compat::Compat::new(TEXT);
                    reads_01(AsyncReadExt::compat(std)) + ", with futures-util"
                }),
            ],
        ),
        Row(
            "reads a futures-io stream with tokio 1's traits",
            [
                Some(|| {
                    let old = AsIo01::from_futures_io(TEXT, ShutdownPolicy::Fin);
                    reads(AsTokio::with_half_close(old, |_| Ok(()))) + ", in two hops"
                }),
                None,
                None,
                Some(|| {
                    reads(async_compat::Compat::new(futures_util::io::Cursor::new(
                        TEXT,
                    )))
                }),
            ],
        ),
        Row(
            "slices that a vectored write of 16 carries to a 0.1 stream that takes them all",
            [
                Some(|| {
                    let mut io = AsTokio::with_half_close(Taking, |_| Ok(()));
                    slices(block_on(io.write_vectored(&[IoSlice::new(b"x"); 16])))
                }),
                Some(|| {
                    let mut io = AsyncWrite01CompatExt::compat(Taking);
                    let bufs = [IoSlice::new(b"x"); 16];
                    slices(block_on(AsyncWriteExt::write_vectored(&mut io, &bufs)))
                }),
                None,
                None,
            ],
        ),
        Row(
            "closing it sends FIN on a socket of tokio-core",
            [
                Some(|| {
                    sends_fin(|old| {
                        let mut io = AsTokio::new(old, ShutdownPolicy::Fin);
                        Box::pin(async move {
                            io.shutdown().await.unwrap();
                            Box::new(io) as Open
                        })
                    })
                }),
                Some(|| {
                    sends_fin(|old| {
                        let mut io = AsyncWrite01CompatExt::compat(old);
                        Box::pin(async move {
                            AsyncWriteExt::close(&mut io).await.unwrap();
                            Box::new(io) as Open
                        })
                    })
                }),
                None,
                None,
            ],
        ),
        Row(
            "uses a codec of tokio-io 0.1 in tokio-util's `Framed`",
            [Some(frames), None, None, None],
        ),
        Row(
            "uses a service of tokio-service as tower's",
            [Some(serves), None, None, None],
        ),
    ]
}

fn reads(mut io: impl tokio::io::AsyncRead + Unpin) -> String {
    let mut read = Vec::new();
    let done = block_on(tokio::io::AsyncReadExt::read_to_end(&mut io, &mut read));
    yes(done.is_ok() && read == TEXT)
}

fn reads_01(io: impl tokio_io::AsyncRead) -> String {
    let done = tokio_io::io::read_to_end(io, Vec::new()).wait();
    yes(done.is_ok_and(|(_, read)| read == TEXT))
}

/// A 0.1 stream that takes all slices of a `write_buf` at once.
struct Taking;

impl Write for Taking {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl tokio_io::AsyncWrite for Taking {
    fn shutdown(&mut self) -> Poll01<(), io::Error> {
        Ok(Async::Ready(()))
    }

    fn write_buf<B: Buf>(&mut self, buf: &mut B) -> Poll01<usize, io::Error> {
        let all = buf.remaining();
        buf.advance(all);
        Ok(Async::Ready(all))
    }
}

/// Each of them is a byte.
fn slices(written: io::Result<usize>) -> String {
    written.unwrap().to_string()
}

/// Keeps the other direction of the socket open.
type Open = Box<dyn std::any::Any>;

type Closed = Pin<Box<dyn Future<Output = Open>>>;

fn sends_fin(close: fn(tokio_core::net::TcpStream) -> Closed) -> String {
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let core = CoreThread::new("core").unwrap();
        let connected = core.run(move |handle| tokio_core::net::TcpStream::connect(&addr, handle));
        let old = connected.await.unwrap().unwrap();
        let (mut far, _) = listener.accept().await.unwrap();
        let _open = close(old).await;
        let mut byte = [0];
        let read = tokio::io::AsyncReadExt::read(&mut far, &mut byte);
        let read = tokio::time::timeout(Duration::from_millis(500), read).await;
        yes(matches!(read, Ok(Ok(0))))
    })
}

/// A codec as it was: a frame is a byte.
struct Bytewise;

impl tokio_io::codec::Decoder for Bytewise {
    type Item = u8;
    type Error = io::Error;

    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<u8>> {
        Ok((!src.is_empty()).then(|| src.split_to(1)[0]))
    }
}

fn frames() -> String {
    let frames = FramedRead::new(TEXT, AsTokioCodec::new(Bytewise));
    yes(block_on(frames.count()) == TEXT.len())
}

/// A service as it was.
struct Double;

impl tokio_service::Service for Double {
    type Request = u32;
    type Response = u32;
    type Error = ();
    type Future = futures01::future::FutureResult<u32, ()>;

    fn call(&self, n: u32) -> Self::Future {
        futures01::future::ok(2 * n)
    }
}

fn serves() -> String {
    yes(block_on(AsTower::new(Double).call(21)) == Ok(42))
}
