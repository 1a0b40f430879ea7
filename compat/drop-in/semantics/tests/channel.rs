//! The deprecated module `channel`.
//!
//! tokio-core 0.1.12 has it only with a feature that its manifest doesn't declare, so that cargo can't
//! turn it on; README.md has the command that does.
#![cfg(any(not(feature = "real"), feature = "with-deprecated"))]

use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use futures::{stream, Async, Future, Stream};
use semantics::{watchdog, within, Bell};
use tokio_core::channel::{channel, Sender};
use tokio_core::reactor::Core;

#[test]
fn messages_of_one_thread_arrive_in_order_and_then_the_end() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (sender, receiver) = channel(&core.handle()).unwrap();
    let sends = thread::spawn(move || {
        for n in 0..1000 {
            sender.send(n).unwrap();
            if n % 100 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let received = core.run(receiver.collect()).unwrap();
    assert!(received.into_iter().eq(0..1000));
    sends.join().unwrap();
}

#[test]
fn each_clone_of_a_sender_keeps_the_stream_open() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (sender, receiver) = channel(&core.handle()).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let sender = sender.clone();
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(5 * n));
                sender.send(n).unwrap();
            })
        })
        .collect();
    drop(sender);
    let mut received = core.run(receiver.collect()).unwrap();
    received.sort();
    assert_eq!(received, [0, 1, 2, 3]);
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn send_from_another_thread_wakes_a_core_that_waits() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (sender, receiver) = channel(&core.handle()).unwrap();
    let sends = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        sender.send(7).unwrap();
        sender
    });
    let (first, rest) = core.run(receiver.into_future()).ok().unwrap();
    assert_eq!(first, Some(7));
    let sender = sends.join().unwrap();
    // So does the end.
    let leaves = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        drop(sender);
    });
    assert_eq!(core.run(rest.into_future()).ok().unwrap().0, None);
    leaves.join().unwrap();
}

#[test]
fn a_receiver_without_messages_notifies_its_task_each_time() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (sender, mut receiver) = channel(&core.handle()).unwrap();
    let bell = Bell::new();
    for n in 0..3 {
        assert_eq!(bell.enter(|| receiver.poll()).unwrap(), Async::NotReady);
        let rung = bell.rung();
        sender.send(n).unwrap();
        within("a notification", || {
            core.turn(Some(Duration::from_millis(1)));
            bell.rung() > rung
        });
        let polled = bell.enter(|| receiver.poll()).unwrap();
        assert_eq!(polled, Async::Ready(Some(n)));
    }
}

#[test]
fn send_to_a_dropped_receiver_is_an_error_of_kind_other() {
    watchdog!();
    let core = Core::new().unwrap();
    let (sender, receiver) = channel(&core.handle()).unwrap();
    drop(receiver);
    assert_eq!(sender.send(()).unwrap_err().kind(), ErrorKind::Other);
}

#[test]
fn a_sender_is_a_sink_that_is_never_full() {
    watchdog!();
    // Where this is in scope, `sender.send` is the trait's.
    use futures::Sink;
    let mut core = Core::new().unwrap();
    let (sender, receiver) = channel(&core.handle()).unwrap();
    let numbers = stream::iter_ok::<_, std::io::Error>(0..100);
    // send_all closes the sink, which closes nothing as long as the sender is there.
    let (sender, _) = sender.send_all(numbers).wait().unwrap();
    Sender::send(&sender, 100).unwrap();
    drop(sender);
    let received = core.run(receiver.collect()).unwrap();
    assert!(received.into_iter().eq(0..=100));
}
