//! Rows 6 to 9: several futures at once, and what becomes of those that did not end.

use std::cell::Cell;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use futures01::future::{self, Either as Either01};
use futures01::{executor, Async, Future as _, Stream as _};
use futures_util::future as std_future;
use tokio::sync::{mpsc, oneshot};

use crate::common::Bell;

/// Holds something and never ends.
async fn hold(_resource: Rc<()>) -> Result<(), &'static str> {
    std::future::pending().await
}

#[test]
fn row_06_the_first_error_drops_the_rest() {
    let (bell, resource) = (Bell::new(), Rc::new(()));
    let is_held = || Rc::strong_count(&resource) > 1;

    // futures 0.1: `join` fails at once, and drops the other side as it does.
    let held = resource.clone();
    let other = future::empty().map(move |()| drop(held));
    let mut join = executor::spawn(future::err::<(), _>("refused").join(other));
    assert_eq!(bell.poll_01(&mut join), Err("refused"));
    assert!(!is_held());

    // Naive: `join!` waits for all, and an error for as long as the slowest.
    let mut naive =
        Box::pin(async { tokio::join!(async { Err::<(), _>("refused") }, hold(resource.clone())) });
    assert!(bell.poll(&mut naive).is_pending());
    assert_eq!(bell.rung(), 0, "nobody will ever poll it again");
    drop(naive);

    // Right.
    let mut right = Box::pin(async {
        tokio::try_join!(async { Err::<(), _>("refused") }, hold(resource.clone()))
    });
    assert_eq!(bell.poll(&mut right), Poll::Ready(Err("refused")));
    assert!(!is_held());
}

#[test]
fn row_07_a_long_join_all_polls_only_the_futures_that_were_woken() {
    const MANY: usize = 31;
    let bell = Bell::new();

    // futures 0.1: each wake-up polls all. A future that waits for its neighbour without telling
    // gets away with it.
    let (tx, rx) = futures01::sync::oneshot::channel();
    let flag = Rc::new(Cell::new(false));
    let mut all: Vec<Box<dyn futures01::Future<Item = (), Error = ()>>> = Vec::new();
    let (set, look) = (flag.clone(), flag.clone());
    all.push(Box::new(rx.map(move |()| set.set(true)).map_err(drop)));
    all.push(Box::new(future::poll_fn(move || {
        Ok(if look.get() {
            Async::Ready(())
        } else {
            Async::NotReady
        })
    })));
    all.extend((2..MANY).map(|_| Box::new(future::ok(())) as Box<_>));
    let mut all = executor::spawn(future::join_all(all));
    assert!(bell.poll_01(&mut all).unwrap().is_not_ready());
    tx.send(()).unwrap();
    assert!(bell.poll_01(&mut all).unwrap().is_ready());

    type Boxed = Pin<Box<dyn Future<Output = Result<(), ()>>>>;

    /// The same on std; `tell` decides whether the second is woken when the flag is set.
    fn ends_with(count: usize, tell: bool) -> bool {
        let bell = Bell::new();
        let (tx, rx) = oneshot::channel::<()>();
        let (told, mut telling) = mpsc::unbounded_channel();
        let flag = Rc::new(Cell::new(false));
        let (set, look) = (flag.clone(), flag);
        let mut all: Vec<Boxed> = Vec::new();
        all.push(Box::pin(async move {
            rx.await.unwrap();
            set.set(true);
            told.send(()).map_err(drop)
        }));
        all.push(Box::pin(poll_fn(move |cx| {
            if look.get() {
                return Poll::Ready(Ok(()));
            }
            if tell {
                let _ = telling.poll_recv(cx);
            }
            Poll::Pending
        })));
        all.extend((2..count).map(|_| Box::pin(std::future::ready(Ok(()))) as Boxed));
        let mut all = std_future::try_join_all(all);
        assert!(bell.poll(&mut all).is_pending());
        tx.send(()).unwrap();
        // Polled for as long as somebody asks for it.
        let mut rung = 0;
        while bell.rung() > rung {
            rung = bell.rung();
            if bell.poll(&mut all).is_ready() {
                return true;
            }
        }
        false
    }

    // Naive: passes the tests with few futures, hangs with many.
    assert!(ends_with(30, false));
    assert!(!ends_with(MANY, false));

    // Right: who waits says so.
    assert!(ends_with(MANY, true));
}

/// Two values that come one after the other: there is a middle to be lost.
async fn pair(values: &mut mpsc::UnboundedReceiver<u32>) -> (u32, u32) {
    let first = values.recv().await.unwrap();
    (first, values.recv().await.unwrap())
}

#[tokio::test]
async fn row_08_select_macro_drops_the_loser() {
    // futures 0.1: the loser comes back with its progress.
    let (tx, rx) = futures01::sync::mpsc::unbounded();
    let pair_01 = rx.take(2).collect().map(|values| (values[0], values[1]));
    tx.unbounded_send(1).unwrap();
    let ticked = future::ok::<_, ()>((0, 0));
    let (_, loser) = pair_01.select(ticked).wait().map_err(drop).unwrap();
    tx.unbounded_send(2).unwrap();
    assert_eq!(loser.wait(), Ok((1, 2)));

    // Naive: `select!` owns the loser and drops it, with the value that it has taken.
    let (tx, mut rx) = mpsc::unbounded_channel();
    tx.send(1).unwrap();
    tokio::select! {
        biased;
        _ = pair(&mut rx) => unreachable!("half of it is there"),
        () = std::future::ready(()) => (),
    }
    tx.send(2).unwrap();
    tx.send(3).unwrap();
    assert_eq!(pair(&mut rx).await, (2, 3), "1 is lost");

    // Right: `select` hands it back. (Or `select!` over `&mut` of a pinned future.)
    tx.send(1).unwrap();
    let (both, tick) = (Box::pin(pair(&mut rx)), std::future::ready(()));
    let std_future::Either::Right(((), loser)) = std_future::select(both, tick).await else {
        unreachable!("half of it is there")
    };
    tx.send(2).unwrap();
    assert_eq!(loser.await, (1, 2));
}

#[tokio::test]
async fn row_09_an_error_ends_select2_as_an_error() {
    // futures 0.1: the first to end decides, and says on which side.
    let refused = future::err::<(), _>("refused");
    let error = refused
        .select2(future::empty::<(), ()>())
        .wait()
        .unwrap_err();
    assert!(matches!(error, Either01::A(("refused", _))));

    let refused = || std_future::err::<(), _>("refused");
    let never = std_future::pending::<Result<(), &str>>;

    // Naive: to 0.3's `select` a failure is an end like any other; `?` has nothing to see.
    let won = std_future::select(refused(), never()).await;
    assert!(matches!(won, std_future::Either::Left(_)));

    // Right.
    let error = std_future::try_select(refused(), never())
        .await
        .unwrap_err();
    assert!(matches!(error, std_future::Either::Left(("refused", _))));
}
