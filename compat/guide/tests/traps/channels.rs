//! Rows 29 to 35: where an item is while it is being sent, and what a channel reports.

use std::task::Poll;

use futures01::future::{self, Either};
use futures01::sync::{mpsc as mpsc_01, oneshot as oneshot_01};
use futures01::{executor, Future as _, Sink as _, Stream as _};
use tokio::sync::{mpsc, oneshot};

use crate::common::Bell;

#[test]
fn row_29_a_cancelled_send_loses_its_item() {
    let bell = Bell::new();

    // futures 0.1: `Send` owns the item, and whoever raced it gets it back.
    let (mut tx, rx) = mpsc_01::channel(0);
    tx.try_send(1).unwrap();
    let race = tx.send(2).select2(future::ok::<_, ()>(()));
    let Ok(Either::B(((), sending))) = race.wait() else {
        unreachable!("the channel is full")
    };
    let received = rx.wait();
    let sender = std::thread::spawn(|| sending.wait().map(drop).unwrap());
    assert_eq!(received.collect::<Vec<_>>(), [Ok(1), Ok(2)]);
    sender.join().unwrap();

    // Naive: a deadline drops the future, and 2 with it.
    let (tx, mut rx) = mpsc::channel(1);
    tx.try_send(1).unwrap();
    let mut sending = Box::pin(tx.send(2));
    assert!(bell.poll(&mut sending).is_pending());
    drop(sending);
    assert_eq!(rx.try_recv(), Ok(1));
    assert!(rx.try_recv().is_err());

    // Right: wait for room first; nothing is lost by giving that up.
    tx.try_send(1).unwrap();
    let item = 2;
    let mut room = Box::pin(tx.reserve());
    assert!(bell.poll(&mut room).is_pending());
    drop(room);
    assert_eq!(rx.try_recv(), Ok(1));
    tx.try_reserve().unwrap().send(item);
    assert_eq!(rx.try_recv(), Ok(2));
}

#[test]
fn row_33_a_channel_of_tokio_holds_what_it_says() {
    // futures 0.1: a channel of 1 holds 2, one more for each sender.
    let (mut tx, _rx) = mpsc_01::channel(1);
    let taken = (1..=3).take_while(|&n| tx.try_send(n).is_ok()).count();
    assert_eq!(taken, 2);

    // Naive: the same number, and a burst that used to fit is refused.
    let (tx, _rx) = mpsc::channel(1);
    let taken = (1..=3).take_while(|&n| tx.try_send(n).is_ok()).count();
    assert_eq!(taken, 1);
    // What was `channel(0)` is a panic.
    assert!(std::panic::catch_unwind(|| mpsc::channel::<()>(0)).is_err());

    // Right: count the senders in.
    let (tx, _rx) = mpsc::channel(1 + 1);
    let taken = (1..=3).take_while(|&n| tx.try_send(n).is_ok()).count();
    assert_eq!(taken, 2);
}

#[test]
fn row_35_is_closed_wakes_no_task() {
    let bell = Bell::new();

    // futures 0.1: `poll_cancel` registers.
    let (mut tx, rx) = oneshot_01::channel::<()>();
    let mut cancelled = executor::spawn(future::poll_fn(move || tx.poll_cancel()));
    assert!(bell.poll_01(&mut cancelled).unwrap().is_not_ready());
    drop(rx);
    assert_eq!(bell.rung(), 1);

    // Naive: a look is no registration.
    let bell = Bell::new();
    let (tx, rx) = oneshot::channel::<()>();
    let mut naive = std::future::poll_fn(|_| match tx.is_closed() {
        true => Poll::Ready(()),
        false => Poll::Pending,
    });
    assert!(bell.poll(&mut naive).is_pending());
    drop(rx);
    assert_eq!(bell.rung(), 0, "asleep, though it is closed");

    // Right.
    let (mut tx, rx) = oneshot::channel::<()>();
    let mut closed = Box::pin(tx.closed());
    assert!(bell.poll(&mut closed).is_pending());
    drop(rx);
    assert_eq!(bell.rung(), 1);
    assert!(bell.poll(&mut closed).is_ready());
}
