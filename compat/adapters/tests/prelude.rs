//! The extension traits, beside those of both generations.

// All at once: a trait of one name in two of them would not compile, nor would a method.
#![allow(
    unused_imports,
    reason = "that they can be imported together is the test"
)]

use futures01::{Future as _, Sink as _, Stream as _};
use futures_util::compat::{Future01CompatExt as _, Sink01CompatExt as _, Stream01CompatExt as _};
use futures_util::{FutureExt, SinkExt, StreamExt, TryFutureExt, TryStreamExt};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_core_compat::io::ShutdownPolicy;
use tokio_core_compat::prelude::*;

#[tokio::test]
async fn futures_go_both_ways() {
    let old = async { Ok::<_, ()>(41) }.into_01().map(|n| n + 1);
    assert_eq!(old.into_std().await, Ok(42));
}

#[tokio::test]
async fn streams_go_both_ways() {
    let std = futures_util::stream::iter([Ok::<_, ()>(1), Ok(2)]);
    let old = std.into_01_stream().map(|n| n + 1);
    let all: Vec<_> = old.into_std_stream().try_collect().await.unwrap();
    assert_eq!(all, [2, 3]);
}

#[tokio::test]
async fn sinks_go_both_ways() {
    let mut sink = Vec::new().into_01_sink().into_std_sink();
    SinkExt::send(&mut sink, "an item").await.unwrap();
    assert_eq!(sink.into_inner().0.into_inner(), ["an item"]);
}

#[tokio::test]
async fn streams_of_bytes_go_both_ways() {
    let (near, mut far) = tokio::io::duplex(64);
    let old = near.into_io_01(ShutdownPolicy::Fin);
    let (old, _) = tokio_io::io::write_all(old, "over")
        .into_std()
        .await
        .unwrap();
    drop(old);
    let mut read = String::new();
    far.read_to_string(&mut read).await.unwrap();
    assert_eq!(read, "over");
}

#[cfg(unix)]
#[tokio::test]
async fn listeners_and_datagrams_go_to_0_1_code() {
    use tokio::net::{TcpListener, TcpStream, UdpSocket};
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let incoming = listener.into_listener_01(ShutdownPolicy::Fin).incoming();
    let near = TcpStream::connect(addr).await.unwrap();
    let (accepted, _) = incoming.into_future().into_std().await.ok().unwrap();
    assert_eq!(accepted.unwrap().1, near.local_addr().unwrap());

    let near = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let far_addr = far.local_addr().unwrap();
    let sent = near.into_datagram_01().send_dgram("x", far_addr);
    sent.into_std().await.unwrap();
    assert_eq!(far.recv(&mut [0; 2]).await.unwrap(), 1);
}

/// What is in a box of this crate may still go to another thread.
#[test]
fn a_boxed_future_stays_send() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&async { Ok::<_, ()>(()) }.into_01());
}
