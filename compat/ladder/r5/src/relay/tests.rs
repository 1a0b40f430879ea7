//! The relay over socket pairs, on a separate runtime. Cases that need a network (RST, urgent data,
//! half-closes under load) are in the root's suite and in the parity test.

#![allow(clippy::disallowed_methods)] // the test of a lost task fails

use std::os::unix::net::UnixStream as StdStream;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::{spawn_local, JoinHandle, LocalSet};

use super::splice::close_kept;
use super::*;
use crate::io::{runtime, Socket};
use crate::ticker;

type Ended = JoinHandle<Result<Closed, RelayError>>;

/// The far ends of a relay's two streams, and the relay.
async fn start(splice: Splice, timeouts: Timeouts) -> (UnixStream, UnixStream, Ended) {
    let pair = || {
        let (near, far) = StdStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        let near = Socket::from_unix(near).unwrap();
        (near, UnixStream::from_std(far).unwrap())
    };
    let ((client, far_client), (upstream, far_upstream)) = (pair(), pair());
    let timer = TaskTimer::new(Duration::from_millis(50));
    spawn_local(ticker(timer.clone()));
    let relay = Relay::new(client, upstream)
        .splice(splice)
        .timeouts(&Arc::new(timeouts), &timer);
    (far_client, far_upstream, spawn_local(relay))
}

fn run(test: impl Future<Output = ()>) {
    let runtime = runtime().unwrap();
    LocalSet::new().block_on(&runtime, async {
        tokio::time::timeout(Duration::from_secs(20), test)
            .await
            .expect("it hangs");
    });
}

#[test]
fn one_direction_goes_on_after_the_other_has_ended() {
    run(async {
        let (mut client, mut upstream, relay) = start(Splice::Auto, Timeouts::default()).await;
        client.write_all(b"question").await.unwrap();
        client.shutdown().await.unwrap();
        let mut question = Vec::new();
        upstream.read_to_end(&mut question).await.unwrap();
        assert_eq!(question, b"question");

        upstream.write_all(b"answer").await.unwrap();
        drop(upstream);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"answer");
        let traffic = relay.await.unwrap().unwrap().traffic;
        assert_eq!((traffic.upload, traffic.download), (8, 6));
    });
}

#[test]
fn bulk_arrives_as_it_was_sent_spliced_and_copied() {
    for splice in [Splice::Auto, Splice::Never, Splice::Always] {
        close_kept();
        run(async {
            let (mut client, mut upstream, relay) = start(splice, Timeouts::default()).await;
            let sent: Vec<u8> = (0..4_000_000_u32).map(|n| (n / 7) as u8).collect();
            let copy = sent.clone();
            spawn_local(async move {
                client.write_all(&copy).await.unwrap();
            });
            let mut received = Vec::new();
            upstream.read_to_end(&mut received).await.unwrap();
            assert!(received == sent, "{splice:?}");
            drop(upstream);
            assert_eq!(relay.await.unwrap().unwrap().traffic.upload, 4_000_000);
        });
        // Without an available pipe the same bytes would have been copied.
        let spliced = close_kept() > 0;
        assert_eq!(spliced, splice != Splice::Never, "{splice:?}");
    }
}

#[test]
fn a_tunnel_that_moves_is_not_cut_and_a_silent_one_is() {
    run(async {
        let idle = Some(Duration::from_millis(400));
        let timeouts = Timeouts {
            idle,
            linger: None,
            ..Timeouts::default()
        };
        let (mut client, mut upstream, relay) = start(Splice::Auto, timeouts).await;
        let start = tokio::time::Instant::now();
        while start.elapsed() < Duration::from_millis(900) {
            client.write_all(b".").await.unwrap();
            upstream.read_exact(&mut [0]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(!relay.is_finished());
        let cut = relay.await.unwrap().unwrap_err();
        assert_eq!(cut.to_string(), "no data for 0.4s");
    });
}
