//! Rows 21 to 28: what an error does to a stream.

use std::cell::Cell;

use futures01::stream::FuturesUnordered;
use futures01::{executor, future, stream as stream_01, task, Async, Future as _, Stream as _};
use futures_util::{stream, StreamExt as _, TryStreamExt as _};

use crate::common::{watched, Bell};

/// What a listener yields: one client of three could not be accepted.
fn incoming() -> [Result<u32, &'static str>; 3] {
    [Ok(1), Err("too many open files"), Ok(3)]
}

#[tokio::test]
async fn row_21_an_accept_error_ends_the_listener() {
    // futures 0.1: `for_each` stops at the first error, and the server with it.
    let mut served = Vec::new();
    let ended = stream_01::iter_result(incoming())
        .for_each(|client| {
            served.push(client);
            Ok(())
        })
        .wait();
    assert_eq!((ended, &served[..]), (Err("too many open files"), &[1][..]));

    // Naive: true to the letter, and to the fault.
    let mut served = Vec::new();
    let naive = async {
        let mut clients = stream::iter(incoming());
        while let Some(client) = clients.try_next().await? {
            served.push(client);
        }
        Ok(())
    };
    assert_eq!(naive.await, Err("too many open files"));
    assert_eq!(served, [1]);

    // Right: an error is about one client. (A real listener waits before it tries again.)
    let mut served = Vec::new();
    let mut clients = stream::iter(incoming());
    while let Some(client) = clients.next().await {
        match client {
            Ok(client) => served.push(client),
            Err(error) => assert_eq!(error, "too many open files"),
        }
    }
    assert_eq!(served, [1, 3]);
}

#[tokio::test]
async fn row_22_an_error_does_not_end_a_stream() {
    // futures 0.1: a stream may go on after an error, and `then` makes use of it.
    let good = stream_01::iter_result(incoming())
        .then(|client| Ok::<_, ()>(client.ok()))
        .filter_map(|client| client)
        .collect()
        .wait();
    assert_eq!(good, Ok(vec![1, 3]));

    // Naive: the pattern reads well, and takes an error for the end.
    let mut clients = stream::iter(incoming());
    let mut good = Vec::new();
    while let Some(Ok(client)) = clients.next().await {
        good.push(client);
    }
    assert_eq!(good, [1]);

    // Right.
    let good = stream::iter(incoming()).filter_map(|client| async move { client.ok() });
    assert_eq!(good.collect::<Vec<_>>().await, [1, 3]);
}

#[tokio::test]
async fn row_23_collect_keeps_errors_as_items() {
    // futures 0.1: all, or the error.
    let all = stream_01::iter_result(incoming()).collect().wait();
    assert_eq!(all, Err("too many open files"));

    // Naive: three "clients".
    let naive: Vec<_> = stream::iter(incoming()).collect().await;
    assert_eq!(naive.len(), 3);

    // Right.
    let right = stream::iter(incoming()).try_collect::<Vec<_>>().await;
    assert_eq!(right, Err("too many open files"));
}

#[tokio::test]
async fn row_25_the_last_chunk_is_inside_the_error() {
    // futures 0.1: the items before an error are a chunk of their own, and come first.
    let mut chunks = stream_01::iter_result(incoming()).chunks(2).wait();
    assert_eq!(chunks.next(), Some(Ok(vec![1])));
    assert_eq!(chunks.next(), Some(Err("too many open files")));

    // Naive: the error is all one looks at.
    let mut saved = Vec::new();
    let naive = stream::iter(incoming())
        .try_chunks(2)
        .map_err(|error| error.1);
    let naive = naive.try_for_each(|chunk| {
        saved.extend(chunk);
        std::future::ready(Ok(()))
    });
    assert_eq!(naive.await, Err("too many open files"));
    assert!(saved.is_empty(), "1 is lost");

    // Right: it holds the items, too.
    let mut chunks = stream::iter(incoming()).try_chunks(2);
    let error = chunks.try_next().await.unwrap_err();
    saved.extend(error.0);
    assert_eq!((saved, error.1), (vec![1], "too many open files"));
}

#[tokio::test]
async fn row_28_zip_pairs_results() {
    let names = || ["a", "b", "c"];

    // futures 0.1: an error comes out as one, and takes no partner with it.
    let named = stream_01::iter_ok(names());
    let mut pairs = stream_01::iter_result(incoming()).zip(named).wait();
    assert_eq!(pairs.next(), Some(Ok((1, "a"))));
    assert_eq!(pairs.next(), Some(Err("too many open files")));
    assert_eq!(pairs.next(), Some(Ok((3, "b"))));

    // Naive: the error is an item, and uses up a name.
    let pairs = stream::iter(incoming()).zip(stream::iter(names()));
    let naive = pairs.filter_map(|(client, name)| async move { Some((client.ok()?, name)) });
    assert_eq!(naive.collect::<Vec<_>>().await, [(1, "a"), (3, "c")]);

    // Right: errors go first.
    let clients = stream::iter(incoming()).filter_map(|client| async move { client.ok() });
    let pairs = clients.zip(stream::iter(names()));
    assert_eq!(pairs.collect::<Vec<_>>().await, [(1, "a"), (3, "b")]);
}

/// Not the fault of row 24, which `guide/faults` shows with old versions: since futures 0.1.30, a set
/// that has polled as many futures as it holds returns, and so gets a new budget.
#[test]
fn a_set_of_futures_0_1_31_returns_for_its_budget() {
    watched(|| {
        let budget = &Cell::new(0);
        // As the receivers of tokio 1.16: without budget they are pending, and ring at once.
        let receiver = |n| {
            future::poll_fn(move || {
                let left = budget.get();
                if left == 0 {
                    task::current().notify();
                    return Ok::<_, ()>(Async::NotReady);
                }
                budget.set(left - 1);
                Ok(Async::Ready(n))
            })
        };
        let all: FuturesUnordered<_> = (0..200).map(receiver).collect();
        let mut all = executor::spawn(all);
        let bell = Bell::new();
        let mut next = || bell.poll_stream_01(&mut all);
        budget.set(128);
        assert!((0..128).all(|_| matches!(next(), Ok(Async::Ready(Some(_))))));
        assert_eq!(next(), Ok(Async::NotReady));
        assert!(bell.rung() > 0);
        budget.set(128);
        assert!((128..200).all(|_| matches!(next(), Ok(Async::Ready(Some(_))))));
        assert_eq!(next(), Ok(Async::Ready(None)));
    });
}
