//! A panic of what is inside an adapter, of a task, and of a `Waker`.

use std::future::Future;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

use futures01::sync::oneshot;
use futures01::{executor, Poll as Poll01, Sink as Sink01, StartSend};
use futures_sink::Sink;
use tokio::io::AsyncReadExt as _;
use tokio::runtime::Handle;
use tokio_core_compat::io::{AsIo01, AsTokio, ShutdownPolicy};
use tokio_core_compat::spawn::Spawner;
use tokio_core_compat::task::{As01, As01Sink, AsStd, AsStdSink, InRuntime};

use crate::common::{on_each_runtime, Bell};

fn noop() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Panics whatever is asked of it.
struct Panics;

impl futures01::Future for Panics {
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll01<(), ()> {
        panic!("in there")
    }
}

impl Future for Panics {
    type Output = Result<(), ()>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        panic!("in there")
    }
}

impl Sink01 for Panics {
    type SinkItem = ();
    type SinkError = ();

    fn start_send(&mut self, (): ()) -> StartSend<(), ()> {
        panic!("in there")
    }

    fn poll_complete(&mut self) -> Poll01<(), ()> {
        panic!("in there")
    }
}

impl Sink<()> for Panics {
    type Error = ();

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        panic!("in there")
    }

    fn start_send(self: Pin<&mut Self>, (): ()) -> Result<(), ()> {
        panic!("in there")
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        panic!("in there")
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        panic!("in there")
    }
}

impl io::Read for Panics {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        panic!("in there")
    }
}

impl tokio_io::AsyncRead for Panics {}

impl tokio::io::AsyncRead for Panics {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        panic!("in there")
    }
}

/// In a task of each kind of runtime. Afterwards the variables are as they were: of the 0.1 task, of
/// the adapters, and of tokio's runtime and budget.
#[test]
fn a_panic_leaves_the_next_poll_on_its_thread_alone() {
    fn check(poll: fn()) {
        on_each_runtime(move |runtime| {
            let task = async move {
                assert!(catch_unwind(poll).is_err());
                assert!(!futures01::task::is_in_task());
                AsStd::new(As01::new(std::future::ready(Ok::<_, ()>(1)))).await
            };
            assert_eq!(runtime.block_on(runtime.spawn(task)).unwrap(), Ok(1));
        });
    }
    check(|| {
        let _ = Bell::new().poll(&mut AsStd::new(Panics));
    });
    check(|| {
        let _ = Bell::new().poll_01(&mut executor::spawn(As01::new(Panics)));
    });
    check(|| {
        let mut inside = InRuntime::new(Panics, Handle::current());
        let _ = Bell::new().poll(&mut inside);
    });
    check(|| {
        let mut sink = AsStdSink::new(Panics);
        assert!(Pin::new(&mut sink).poll_ready(&mut noop()).is_ready());
        let _ = Sink::start_send(Pin::new(&mut sink), ());
    });
    check(|| {
        let mut sink = As01Sink::<_, ()>::new(Panics);
        let _ = Bell::new().enter_01(|| Sink01::start_send(&mut sink, ()));
    });
    check(|| {
        let mut io = AsTokio::with_half_close(Panics, |_| Ok(()));
        let _ = Bell::new().poll(&mut std::pin::pin!(io.read(&mut [0])));
    });
    check(|| {
        let mut io = AsIo01::new(Panics, ShutdownPolicy::Fin);
        let _ = Bell::new().enter_01(|| io::Read::read(&mut io, &mut [0]));
    });
}

/// The panic is what the one who awaits gets, and the other tasks of that thread go on.
#[test]
fn a_panic_of_a_spawned_task_ends_that_task_alone() {
    on_each_runtime(|runtime| {
        let spawner = Spawner::new(runtime.handle().clone());
        let (tx, rx) = oneshot::channel();
        let other = spawner.spawn(rx);
        let panicked = runtime.block_on(spawner.spawn(Panics));
        assert!(panicked.unwrap_err().is_panic());
        tx.send(1).unwrap();
        assert_eq!(runtime.block_on(other).unwrap(), Ok(1));
    });
}

/// What a wake-up runs into is another task's business: it does not reach the adapter's lock.
#[test]
fn a_waker_that_panics_leaves_the_adapter_usable() {
    struct Panicking;
    impl Wake for Panicking {
        fn wake(self: std::sync::Arc<Self>) {
            panic!("in wake")
        }
    }
    let (tx, rx) = oneshot::channel();
    let mut rx = AsStd::new(rx);
    let waker = Waker::from(std::sync::Arc::new(Panicking));
    let pending = Pin::new(&mut rx).poll(&mut Context::from_waker(&waker));
    assert!(pending.is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| tx.send(1))).is_err());
    assert_eq!(Bell::new().poll(&mut rx), Poll::Ready(Ok(1)));
}
