//! What a crossing costs: allocations and wake-ups, counted, beside futures-util's `compat`.
//!
//! README.md holds both tables: of the polls, and of what is made once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::io::Read as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures01::task::AtomicTask;
use futures01::{executor, future, Async, Poll as Poll01, Stream as Stream01};
use futures_core::Stream;
use futures_util::compat::{Compat, Compat01As03};
use futures_util::task::AtomicWaker;
use tokio_core::reactor::{Core, Handle};
use tokio_core_compat::io;
use tokio_core_compat::spawn::{on_handle, on_remote, on_remote_std, Local, Spawner};
use tokio_core_compat::task::{As01, As01Sink, AsStd, AsStdSink, InRuntime};
use tokio_core_compat::time::Timeout;

use crate::common::{on_the_drop_in, Bell};

/// Counts what each thread allocates, so that tests may run side by side.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all is passed on to the system's allocator, whose contract this inherits. Counting
// touches a constant-initialized variable without a destructor and does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(f: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    f();
    ALLOCATIONS.get() - before
}

type Std = Pin<Box<dyn Stream<Item = Result<(), ()>>>>;
type Old = Box<dyn Stream01<Item = (), Error = ()>>;

/// The bottom of a chain: always ready, or registering again at each poll and never ready.
#[derive(Clone, Copy, PartialEq)]
enum Leaf {
    Ready,
    Pending,
}

/// Rings whatever the leaf has registered.
#[derive(Clone, Default)]
struct Source {
    task: Arc<AtomicTask>,
    waker: Arc<AtomicWaker>,
}

impl Source {
    fn ring(&self) {
        self.task.notify();
        self.waker.wake();
    }
}

struct StdLeaf(Leaf, Source);

impl Stream for StdLeaf {
    type Item = Result<(), ()>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.0 == Leaf::Ready {
            return Poll::Ready(Some(Ok(())));
        }
        self.1.waker.register(cx.waker());
        Poll::Pending
    }
}

struct OldLeaf(Leaf, Source);

impl Stream01 for OldLeaf {
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll01<Option<()>, ()> {
        if self.0 == Leaf::Ready {
            return Ok(Async::Ready(Some(())));
        }
        self.1.task.register();
        Ok(Async::NotReady)
    }
}

/// A bridge: one wrapper for each direction.
struct Bridge {
    up: fn(Old) -> Std,
    down: fn(Std) -> Old,
}

const OURS: Bridge = Bridge {
    up: |old| Box::pin(AsStd::new(old)),
    down: |std| Box::new(As01::new(std)),
};

const FUTURES_UTIL: Bridge = Bridge {
    up: |old| Box::pin(Compat01As03::new(old)),
    down: |std| Box::new(Compat::new(std)),
};

/// A chain of so many crossings, to be polled with a std waker.
fn chain(bridge: &Bridge, crossings: usize, leaf: Leaf, source: &Source) -> Std {
    fn old(bridge: &Bridge, crossings: usize, leaf: Leaf, source: &Source) -> Old {
        match crossings {
            0 => Box::new(OldLeaf(leaf, source.clone())),
            n => (bridge.down)(chain(bridge, n - 1, leaf, source)),
        }
    }
    match crossings {
        0 => Box::pin(StdLeaf(leaf, source.clone())),
        n => (bridge.up)(old(bridge, n - 1, leaf, source)),
    }
}

const ROUNDS: usize = 1000;

/// Allocations of a ready poll and of a pending one, in steady state, and wake-ups at the top for
/// one ring at the bottom, which allocates nothing.
fn per_poll(bridge: &Bridge, crossings: usize) -> (u64, u64, u64) {
    let source = Source::default();
    let bell = Bell::new();
    let waker = Waker::from(bell.clone());
    let cx = &mut Context::from_waker(&waker);

    let mut ready = chain(bridge, crossings, Leaf::Ready, &source);
    let mut pending = chain(bridge, crossings, Leaf::Pending, &source);
    let mut round = || {
        let cost = (
            allocations(|| assert!(ready.as_mut().poll_next(cx).is_ready())),
            allocations(|| assert!(pending.as_mut().poll_next(cx).is_pending())),
        );
        assert_eq!(allocations(|| source.ring()), 0);
        cost
    };
    let warm = (0..3).map(|_| round()).last().expect("three");
    let before = bell.rung();
    assert!(
        (0..ROUNDS).all(|_| round() == warm),
        "the same in every round"
    );
    let rung = bell.rung() - before;
    assert_eq!(rung % ROUNDS, 0, "the same in every round");
    (warm.0, warm.1, (rung / ROUNDS) as u64)
}

/// For 0 to 4 crossings.
fn table(bridge: &Bridge) -> [(u64, u64, u64); 5] {
    [0, 1, 2, 3, 4].map(|crossings| per_poll(bridge, crossings))
}

#[test]
fn ours_allocates_nothing_in_steady_state() {
    assert_eq!(table(&OURS), [(0, 0, 1); 5]);
}

/// As locked, 0.3.34. Should another version do better, the table in README.md changes with this.
#[test]
fn futures_util_allocates_with_each_layer() {
    assert_eq!(
        table(&FUTURES_UTIL),
        [(0, 0, 1), (0, 2, 1), (1, 3, 1), (1, 5, 1), (4, 6, 1)]
    );
}

#[test]
fn the_readme_holds_these_numbers() {
    let readme = include_str!("../README.md");
    for (crossings, (ours, theirs)) in table(&OURS).iter().zip(table(&FUTURES_UTIL)).enumerate() {
        let row = format!(
            "| {crossings} | {} | {} | {} | {} | {} | {} |",
            ours.0, ours.1, ours.2, theirs.0, theirs.1, theirs.2
        );
        assert!(readme.contains(&row), "README.md lacks {row}");
    }
}

/// What the README's table says that a piece costs when it is made.
fn promised(piece: &str) -> u64 {
    let row = include_str!("../README.md").lines().find_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        cells
            .next()?
            .contains(piece)
            .then_some(cells.next()?)?
            .parse()
            .ok()
    });
    row.unwrap_or_else(|| panic!("README.md has no cost of {piece}"))
}

#[test]
fn making_a_bridge_costs_what_it_says() {
    let (sink, stream) = futures01::sync::mpsc::channel::<()>(1);
    assert_eq!(
        allocations(|| drop(AsStd::new(stream))),
        promised("`task::AsStd`")
    );
    assert_eq!(
        allocations(|| drop(AsStdSink::new(sink))),
        promised("`task::AsStdSink`")
    );
    let pending = std::future::pending::<Result<(), ()>>;
    assert_eq!(
        allocations(|| drop(As01::new(pending()))),
        promised("`task::As01::new`")
    );
    let drain = futures_util::sink::drain::<()>();
    assert_eq!(
        allocations(|| drop(As01Sink::new(drain))),
        promised("`task::As01Sink`")
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    let mut inside = None;
    let make = || inside = Some(InRuntime::new(future::ok::<(), ()>(()), handle));
    assert_eq!(allocations(make), promised("`task::InRuntime`"));
    assert_eq!(
        allocations(|| assert!(futures01::Future::poll(&mut inside).unwrap().is_ready())),
        0
    );
    // Of some size: a box of nothing allocates nothing.
    let unit = black_box(Some(()));
    let block = async move { unit.ok_or(()) };
    assert_eq!(
        allocations(|| drop(As01::pin(block))),
        promised("`task::As01::pin`")
    );

    let (near, _far) = tokio::io::duplex(8);
    let mut old = None;
    let make = || old = Some(io::AsIo01::new(near, io::ShutdownPolicy::Fin));
    assert_eq!(allocations(make), promised("`io::AsIo01`"));
    let old = old.expect("made above");
    assert_eq!(
        allocations(|| drop(io::AsTokio::with_half_close(old, |_| Ok(())))),
        promised("`io::AsTokio`")
    );
}

#[test]
fn timers_and_local_tasks_cost_what_they_say() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let local = Local::new(runtime.handle());
    let handle = local.handle();

    let mut timeout = None;
    let make = || timeout = Some(Timeout::new(Duration::from_secs(9), &handle).unwrap());
    assert_eq!(allocations(make), promised("`time::Timeout`"));
    let (bell, mut timeout) = (Bell::new(), executor::spawn(timeout));
    let mut poll = || assert!(bell.poll_01(&mut timeout).unwrap().is_not_ready());
    poll();
    assert_eq!(allocations(poll), 0);

    let tokio_s_own = 1;
    let never = || future::poll_fn(|| Ok(Async::NotReady));
    assert_eq!(
        allocations(|| handle.spawn(never())),
        tokio_s_own + promised("`spawn::Local`")
    );
    let spawner = Spawner::new(runtime.handle().clone());
    assert_eq!(
        allocations(|| drop(spawner.spawn(future::empty::<(), ()>()))),
        tokio_s_own + promised("`spawn::Spawner`")
    );
}

#[test]
fn in_a_task_of_0_1_the_waker_is_made_once() {
    let leaf = StdLeaf(Leaf::Pending, Source::default());
    let bell = Bell::new();
    let mut task = executor::spawn(As01::new(leaf));
    let mut poll = || assert!(bell.poll_stream_01(&mut task).unwrap().is_not_ready());
    assert_eq!(allocations(&mut poll), 1);
    assert_eq!(allocations(|| (0..1000).for_each(|_| poll())), 0);

    // Another task: one more.
    let other = Bell::new();
    let poll = || assert!(other.poll_stream_01(&mut task).unwrap().is_not_ready());
    assert_eq!(allocations(poll), 1);
}

/// Reads that would block, by reference: below an `AsStd`, and in tasks of 0.1.
#[tokio::test]
async fn a_shared_stream_costs_what_an_owned_one_does() {
    let (near, _far) = tokio::net::UnixStream::pair().unwrap();
    let near = io::AsIo01::new(near, io::ShutdownPolicy::Fin);
    let read = || match (&near).read(&mut [0]) {
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        Ok(n) => unreachable!("{n} bytes were read"),
    };
    let mut task = AsStd::new(future::poll_fn(|| {
        read();
        near.need_read();
        Ok::<Async<()>, ()>(near.poll_read())
    }));
    let bell = Bell::new();
    let mut poll = || assert!(bell.poll(&mut task).is_pending());
    poll();
    assert_eq!(allocations(|| (0..100).for_each(|_| poll())), 0);

    let (bell, mut task) = (Bell::new(), executor::spawn(()));
    let mut poll = || task.poll_fn_notify(&bell, 0, |()| read());
    assert_eq!(allocations(&mut poll), 1);
    assert_eq!(allocations(|| (0..100).for_each(|_| poll())), 0);
}

#[test]
fn a_std_task_of_a_local_costs_tokio_s_allocation_alone() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let (set, local) = (tokio::task::LocalSet::new(), Local::new(runtime.handle()));
    let handle = local.handle();
    let block = || async { black_box(()) };
    set.spawn_local(block());
    handle.spawn_std(block());
    let plain = allocations(|| drop(set.spawn_local(block())));
    assert_eq!(allocations(|| handle.spawn_std(block())), plain);
}

#[test]
fn a_changed_waker_costs_no_allocation() {
    let source = Source::default();
    let wakers = [Waker::from(Bell::new()), Waker::from(Bell::new())];
    let mut pending = chain(&OURS, 3, Leaf::Pending, &source);
    let mut poll = |n: usize| {
        let polled = pending
            .as_mut()
            .poll_next(&mut Context::from_waker(&wakers[n % 2]));
        assert!(polled.is_pending());
    };
    (0..4).for_each(&mut poll);
    assert_eq!(allocations(|| (0..1000).for_each(poll)), 0);
}

#[test]
fn a_call_costs_a_few_allocations_more_than_a_plain_spawn() {
    let mut core = Core::new().unwrap();
    let (handle, remote) = (core.handle(), core.remote());
    let calls = RefCell::new(Vec::with_capacity(100));
    let keep = |call: Box<dyn Any>| calls.borrow_mut().push(call);
    // On one thread, from the call to the answer.
    let mut cost = |spawn: &dyn Fn()| {
        let mut turn = || {
            spawn();
            core.run(future::lazy(|| Ok::<_, ()>(()))).unwrap();
            core.turn(Some(Duration::ZERO));
            core.turn(Some(Duration::ZERO));
        };
        (0..3).for_each(|_| turn());
        allocations(turn)
    };
    // Captured, lest a closure has no size, and its box no allocation.
    let unit = black_box(Some(()));
    let ready = move || future::result(black_box(unit).ok_or(()));
    // What README.md says below its table.
    let saved = u64::from(on_the_drop_in());

    let plain = 1 + cost(&|| handle.spawn(ready()));
    let call = cost(&|| keep(Box::new(on_handle(&handle, async move { black_box(unit) }))));
    assert_eq!(call - plain + saved, promised("`spawn::on_handle`"));

    let plain = 1 + cost(&|| remote.spawn(move |_| ready()));
    let call = cost(&|| keep(Box::new(on_remote(&remote, move |_| ready()))));
    assert_eq!(call - plain + saved, promised("`spawn::on_remote`"));
    let call = move |_: &Handle| async move { black_box(unit) };
    let call = cost(&|| keep(Box::new(on_remote_std(&remote, call))));
    assert_eq!(call - plain + saved, promised("`spawn::on_remote_std`"));
}
