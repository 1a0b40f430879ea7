//! Messages over UDP: what a codec may do, what a failure leaves, and backpressure.
#![cfg(unix)]

use std::io;
use std::net::SocketAddr;
use std::panic::{catch_unwind, AssertUnwindSafe};

use futures01::{future, Async, AsyncSink, Sink as _, Stream as _};
use tokio::net::UdpSocket;
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::net::UdpFramed;
use tokio_core_compat::prelude::*;

use crate::common::{block_on, on_each_runtime, watched, Bell};

/// A codec as it was written for tokio-core. "fail" can't be decoded, and a longer word of these
/// panics.
struct Words;

impl tokio_core::net::UdpCodec for Words {
    type In = (String, SocketAddr);
    type Out = (String, SocketAddr);

    fn decode(&mut self, src: &SocketAddr, buf: &[u8]) -> io::Result<Self::In> {
        match String::from_utf8_lossy(buf).into_owned() {
            fail if fail == "fail" => Err(io::ErrorKind::InvalidData.into()),
            word => Ok((word, *src)),
        }
    }

    fn encode(&mut self, (word, target): Self::Out, buf: &mut Vec<u8>) -> SocketAddr {
        assert!(buf.is_empty(), "a buffer of its own for each message");
        buf.extend_from_slice(word.as_bytes());
        assert_ne!(word, "failure");
        target
    }
}

async fn framed() -> (UdpFramed<Words>, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.writable().await.unwrap();
    let addr = socket.local_addr().unwrap();
    (socket.into_datagram_01().framed(Words), addr)
}

#[test]
fn an_echo_runs_on_each_runtime_and_on_a_core() {
    on_each_runtime(|runtime| {
        runtime.block_on(async {
            let core = CoreThread::new("core").unwrap();
            let ((near, _), (far, far_addr)) = (framed().await, framed().await);
            let echo = core.run(move |_| {
                let (sink, stream) = far.split();
                stream.take(2).forward(sink)
            });
            let words = ["one", "two"].map(|word| (word.to_owned(), far_addr));
            let (near, _) = near
                .send_all(futures01::stream::iter_ok::<_, io::Error>(words))
                .into_std()
                .await
                .unwrap();
            let got = near.take(2).collect().into_std().await.unwrap();
            assert_eq!(got, ["one", "two"].map(|word| (word.to_owned(), far_addr)));
            drop(echo.await.unwrap().unwrap());
        });
    });
}

#[test]
fn what_cannot_be_decoded_does_not_end_the_stream() {
    watched(|| {
        block_on(async {
            let (far, far_addr) = framed().await;
            let near = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            for word in ["fail", "word"] {
                near.send_to(word.as_bytes(), far_addr).await.unwrap();
            }
            let (error, far) = far.into_future().into_std().await.err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            let got = far.take(1).collect().into_std().await.unwrap();
            assert_eq!(got[0].0, "word");
        });
    });
}

/// The network refuses the first message; it is not lost silently.
#[test]
fn a_message_that_could_not_be_sent_stays_and_goes_first() {
    watched(|| {
        block_on(async {
            let ((mut near, _), (_far, far_addr)) = (framed().await, framed().await);
            let bell = Bell::new();
            let large = ("x".repeat(1 << 17), far_addr);
            assert_eq!(
                bell.enter_01(|| near.start_send(large)).unwrap(),
                AsyncSink::Ready
            );
            assert!(bell.enter_01(|| near.poll_complete()).is_err());
            assert!(bell
                .enter_01(|| near.start_send(("word".into(), far_addr)))
                .is_err());
            assert!(bell.enter_01(|| near.close()).is_err());
        });
    });
}

/// A codec that panics has left something in the buffer.
#[test]
fn a_panic_of_the_codec_leaves_the_next_message_alone() {
    watched(|| {
        block_on(async {
            let ((mut near, _), (far, far_addr)) = (framed().await, framed().await);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                Bell::new().enter_01(|| near.start_send(("failure".into(), far_addr)))
            }));
            assert!(panicked.is_err());
            let sent = near.send(("word".into(), far_addr)).into_std().await;
            drop(sent.unwrap());
            let got = far.take(1).collect().into_std().await.unwrap();
            assert_eq!(got[0].0, "word");
        });
    });
}

/// What a full socket does too: it takes no message before the last has gone.
#[test]
fn a_sink_whose_budget_is_spent_hands_the_message_back() {
    on_each_runtime(|runtime| {
        let task = async {
            let ((mut near, _), (_far, far_addr)) = (framed().await, framed().await);
            let taken = future::poll_fn(move || {
                for taken in 0..1_000 {
                    let message = (taken.to_string(), far_addr);
                    match near.start_send(message)? {
                        AsyncSink::Ready => {}
                        AsyncSink::NotReady((word, _)) => {
                            assert_eq!(word, taken.to_string());
                            return Ok::<_, io::Error>(Async::Ready(taken));
                        }
                    }
                }
                panic!("it took all")
            });
            taken.into_std().await.unwrap()
        };
        let taken = runtime.block_on(runtime.spawn(task)).unwrap();
        assert!((1..=129).contains(&taken), "{taken}");
    });
}
