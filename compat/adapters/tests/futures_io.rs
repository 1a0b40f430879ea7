//! Streams of futures-io, both ways: bytes, would-block, half-close.

use std::io::{self, Read as _};

use futures_util::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::io::{AsFuturesIo, AsIo01, ShutdownPolicy};
use tokio_core_compat::prelude::*;
use tokio_util::compat::TokioAsyncReadCompatExt as _;

use crate::common::Bell;

#[tokio::test]
async fn a_tokio_core_socket_serves_code_over_futures_io() {
    let core = CoreThread::new("core").unwrap();
    for (policy, fin) in [(ShutdownPolicy::Fin, true), (ShutdownPolicy::Ignore, false)] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let near = core.run(move |handle| tokio_core::net::TcpStream::connect(&addr, handle));
        let mut near = AsFuturesIo::new(near.await.unwrap().unwrap(), policy);
        let mut far = listener.accept().unwrap().0;
        io::Write::write_all(&mut far, b"there").unwrap();
        let mut there = [0; 5];
        near.read_exact(&mut there).await.unwrap();
        assert_eq!(&there, b"there");
        near.write_all(b"back").await.unwrap();
        near.close().await.unwrap();
        let more = near.write_all(b"x").await;
        assert_eq!(more.is_err(), fin, "{policy:?}");
        drop(near);
        let mut back = String::new();
        far.read_to_string(&mut back).unwrap();
        assert_eq!(back, if fin { "back" } else { "backx" });
    }
}

#[tokio::test]
async fn code_over_tokio_io_0_1_uses_a_stream_of_futures_io() {
    let (near, far) = tokio::io::duplex(8);
    // tokio-util makes streams of futures-io, which stand for any.
    let near = AsIo01::from_futures_io(near.compat(), ShutdownPolicy::Fin);
    let mut far = far.compat();
    let sent = async {
        let (near, _) = tokio_io::io::write_all(near, "longer than the pipe")
            .into_std()
            .await?;
        tokio_io::io::shutdown(near).into_std().await
    };
    let mut got = String::new();
    let (near, read) = tokio::join!(sent, far.read_to_string(&mut got));
    read.unwrap();
    assert_eq!(got, "longer than the pipe");

    // Its other direction is open, and would block.
    let (mut near, bell) = (near.unwrap(), Bell::new());
    let error = bell.enter_01(|| near.read(&mut [0; 8])).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    far.write_all(b"x").await.unwrap();
    assert_eq!(bell.rung(), 1);
    assert_eq!(bell.enter_01(|| near.read(&mut [0; 8])).unwrap(), 1);
}
