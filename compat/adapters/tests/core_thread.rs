//! A Core on its own thread: answers, panics and cancellation carried across, orderly shutdown.

use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use futures01::future;
use futures01::sync::oneshot;
use futures01::Future as _;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio_core::reactor::Timeout;
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::io::{AsIo01, ShutdownPolicy};
use tokio_core_compat::spawn::Lost;
use tokio_core_compat::task::AsStd;
use tokio_core_compat::time;

use crate::common::{self, block_on, watched};

fn core() -> CoreThread {
    CoreThread::new("a core").unwrap()
}

/// Sends the name of its thread when it is dropped.
struct Dropped(mpsc::Sender<Option<String>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(thread::current().name().map(String::from));
    }
}

const TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn answers_and_errors_come_back() {
    watched(|| {
        block_on(async {
            let core = core();
            let name = core.run(|_| Ok::<_, ()>(thread::current().name().map(String::from)));
            assert_eq!(name.await.unwrap(), Ok(Some("a core".into())));
            let failed = core.run(|_| future::err::<(), _>("refused"));
            assert_eq!(failed.await.unwrap(), Err("refused"));
            core.shutdown().await.unwrap();
        });
    });
}

#[test]
fn async_code_awaits_tokio_core_timers_where_they_turn() {
    watched(|| {
        block_on(async {
            let core = core();
            let timer = |handle: &tokio_core::reactor::Handle| {
                let timeout = Timeout::new(Duration::from_millis(1), handle).unwrap();
                async move { AsStd::new(timeout).await.is_ok() }
            };
            assert!(core.run_std(timer).await.unwrap());
        });
    });
}

#[test]
fn timers_of_tokio_1_fire_on_a_core_made_inside_its_runtime() {
    const SOON: Duration = Duration::from_millis(1);
    watched(|| {
        block_on(async {
            let core = core();
            // Made over there, both of them.
            core.run_std(|_| async { tokio::time::sleep(SOON).await })
                .await
                .unwrap();
            let ours = |_: &_| time::Timeout::new(SOON, &time::Current).unwrap();
            core.run(ours).await.unwrap().unwrap();
            core.shutdown().await.unwrap();
        });
    });
}

/// Also when the Core was made in a place that merely belongs to a runtime.
#[test]
fn the_guard_of_a_runtime_is_inside_of_it() {
    watched(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .unwrap();
        let core = {
            let _inside = runtime.enter();
            core()
        };
        let sleep = core.run_std(|_| tokio::time::sleep(Duration::from_millis(1)));
        block_on(sleep).unwrap();
    });
}

/// The old engine has timers, and the program doesn't await `shutdown`.
#[test]
fn a_timer_on_a_core_fails_when_its_runtime_ends_and_the_core_goes_on() {
    if common::on_the_drop_in() {
        return; // Its runtime is the Core.
    }
    watched(|| {
        let (core, waiting) = block_on(async {
            let core = core();
            let long = |_: &_| time::Timeout::new(TIMEOUT * 10, &time::Current).unwrap();
            let waiting = core.run(long);
            // Polled before this.
            core.run(|_| Ok::<_, ()>(())).await.unwrap().unwrap();
            (core, waiting)
        });
        let error = block_on(waiting).unwrap().unwrap_err();
        assert!(
            error.to_string().contains("CoreThread::shutdown"),
            "{error}"
        );
        assert_eq!(block_on(core.run(|_| Ok::<_, ()>(1))).unwrap(), Ok(1));
    });
}

#[test]
fn sockets_of_tokio_1_serve_0_1_code_on_a_core_made_inside_its_runtime() {
    /// Connects over there, and hands the socket to 0.1 code.
    async fn greet(addr: std::net::SocketAddr) -> io::Result<()> {
        let stream = AsIo01::new(TcpStream::connect(addr).await?, ShutdownPolicy::Fin);
        let (stream, _) = AsStd::new(tokio_io::io::write_all(stream, "hello")).await?;
        AsStd::new(tokio_io::io::shutdown(stream)).await.map(drop)
    }
    watched(|| {
        block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let addr = listener.local_addr().unwrap();
            let core = core();
            let greeting = core.run_std(move |_| greet(addr));
            let (mut client, _) = listener.accept().await.unwrap();
            let mut heard = String::new();
            client.read_to_string(&mut heard).await.unwrap();
            assert_eq!(heard, "hello");
            greeting.await.unwrap().unwrap();
        });
    });
}

#[test]
fn on_a_core_made_outside_of_any_runtime_a_timer_says_what_to_do() {
    watched(|| {
        let core = core();
        let ours = |_: &_| time::Timeout::new(Duration::from_millis(1), &time::Current).unwrap();
        if common::on_the_drop_in() {
            block_on(core.run(ours)).unwrap().unwrap();
            return;
        }
        let lost = block_on(core.run(ours)).unwrap_err();
        assert!(
            lost.to_string()
                .contains("call CoreThread::new inside of one"),
            "{lost}"
        );
        // The Core goes on.
        assert_eq!(block_on(core.run(|_| Ok::<_, ()>(1))).unwrap(), Ok(1));
    });
}

#[test]
fn what_a_core_drops_at_its_end_is_still_inside_the_runtime() {
    struct Looks(mpsc::Sender<bool>);
    impl Drop for Looks {
        fn drop(&mut self) {
            let found = tokio::runtime::Handle::try_current().is_ok();
            let _ = self.0.send(found);
        }
    }
    let (tx, found) = mpsc::channel();
    watched(|| {
        block_on(async {
            let core = core();
            core.remote().spawn(|_| {
                let looks = Looks(tx);
                future::empty::<(), ()>().map(move |()| drop(looks))
            });
            core.run(|_| Ok::<_, ()>(())).await.unwrap().unwrap();
            core.shutdown().await.unwrap();
        });
    });
    assert_eq!(found.try_recv(), Ok(true));
}

#[test]
fn many_calls_run_side_by_side() {
    watched(|| {
        block_on(async {
            let core = core();
            let (tx, rx) = oneshot::channel();
            let first = core.run(|_| rx);
            let second = core.run(move |_| tx.send("from the second"));
            second.await.unwrap().unwrap();
            assert_eq!(first.await.unwrap(), Ok("from the second"));
        });
    });
}

#[test]
fn a_panic_of_a_call_is_reported_and_the_core_goes_on() {
    watched(|| {
        block_on(async {
            let core = core();
            let make = core
                .run(|_| -> Result<(), ()> { panic!("while making") })
                .await;
            assert!(make.unwrap_err().to_string().contains("while making"));
            let poll = core
                .run(|_| future::lazy(|| -> Result<(), ()> { panic!("in poll") }))
                .await;
            assert!(poll.unwrap_err().to_string().contains("in poll"));
            assert_eq!(core.run(|_| Ok::<_, ()>(1)).await.unwrap(), Ok(1));
            core.shutdown().await.unwrap();
        });
    });
}

#[test]
fn a_panic_of_a_spawned_task_ends_the_core_and_is_reported_at_shutdown() {
    watched(|| {
        block_on(async {
            let core = core();
            let waiting = core.run(|_| future::empty::<(), ()>());
            core.remote()
                .spawn(|_| -> Result<(), ()> { panic!("beside the calls") });
            assert!(matches!(waiting.await, Err(Lost::Gone)));
            let late = core.run(|_| Ok::<_, ()>(1));
            assert!(matches!(late.await, Err(Lost::Gone)));
            let panic = core.shutdown().await.unwrap_err();
            assert!(panic.to_string().contains("beside the calls"), "{panic}");
        });
    });
}

/// Panics when it is dropped, as a payload or as a value.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            std::panic::panic_any(Bomb);
        }
    }
}

/// An answer without a caller is dropped; a panic in that drop must not end the Core.
#[test]
fn an_unwanted_answer_that_panics_when_dropped_leaves_the_core_alone() {
    for panics in [false, true] {
        watched(move || {
            let core = core();
            let (started, start) = mpsc::channel();
            let (left, gone) = mpsc::channel();
            let call = core.run(move |_| {
                future::lazy(move || {
                    started.send(()).unwrap();
                    gone.recv().unwrap();
                    if panics {
                        std::panic::panic_any(Bomb);
                    }
                    Ok::<_, ()>(Bomb)
                })
            });
            start.recv().unwrap();
            drop(call);
            left.send(()).unwrap();
            assert_eq!(block_on(core.run(|_| Ok::<_, ()>(1))).unwrap(), Ok(1));
            block_on(core.shutdown()).unwrap();
        });
    }
}

#[test]
fn so_does_a_destructor_whose_panic_panics() {
    watched(|| {
        let core = core();
        let (started, start) = mpsc::channel();
        let call = core.run(move |_| {
            let bomb = Bomb;
            started.send(()).unwrap();
            future::empty::<(), ()>().map(move |()| drop(bomb))
        });
        start.recv().unwrap();
        drop(call);
        assert_eq!(block_on(core.run(|_| Ok::<_, ()>(1))).unwrap(), Ok(1));
        block_on(core.shutdown()).unwrap();
    });
}

#[test]
fn dropping_a_call_drops_its_future_on_the_core_s_thread() {
    let (tx, dropped) = mpsc::channel();
    let core = core();
    let (started, start) = mpsc::channel();
    let call = core.run(move |_| {
        let guard = Dropped(tx);
        started.send(()).unwrap();
        future::empty::<(), ()>().map(move |()| drop(guard))
    });
    start.recv_timeout(TIMEOUT).unwrap();
    drop(call);
    assert_eq!(dropped.recv_timeout(TIMEOUT), Ok(Some("a core".into())));
}

#[test]
fn shutdown_waits_for_the_calls_under_way() {
    watched(|| {
        block_on(async {
            let core = core();
            let (go, gone) = oneshot::channel::<u32>();
            let call = core.run(|_| gone);
            let mut shutdown = Box::pin(core.shutdown());
            assert!(common::Bell::new().poll(&mut shutdown).is_pending());
            go.send(7).unwrap();
            shutdown.await.unwrap();
            assert_eq!(call.await.unwrap(), Ok(7));
        });
    });
}

/// It would wait for the call, and the call for it.
#[test]
fn a_call_that_awaits_the_shutdown_of_its_own_core_says_what_to_do() {
    watched(|| {
        block_on(async {
            let core = core();
            let shared = std::sync::Arc::new(std::sync::Mutex::new(None));
            let (go, gone) = oneshot::channel::<()>();
            let taken = shared.clone();
            let call = core.run_std(move |_| async move {
                AsStd::new(gone).await.unwrap();
                let core: CoreThread = taken.lock().unwrap().take().unwrap();
                core.shutdown().await.unwrap();
            });
            let beside = core.run(|_| Ok::<_, ()>(1));
            *shared.lock().unwrap() = Some(core);
            go.send(()).unwrap();
            let lost = call.await.unwrap_err();
            assert!(
                lost.to_string().contains("return from the call first"),
                "{lost}"
            );
            assert_eq!(beside.await.unwrap(), Ok(1));
        });
    });
}

#[test]
fn a_call_may_await_the_shutdown_of_another_core() {
    watched(|| {
        block_on(async {
            let (one, other) = (core(), core());
            let call = one.run_std(|_| other.shutdown());
            call.await.unwrap().unwrap();
            one.shutdown().await.unwrap();
        });
    });
}

/// Without awaiting it.
#[test]
fn a_call_may_ask_for_the_end_of_its_own_core() {
    watched(|| {
        block_on(async {
            let core = core();
            let (give, given) = mpsc::channel::<CoreThread>();
            let call = core.run_std(move |_| async move {
                drop(given.recv().unwrap().shutdown());
                7
            });
            let remote = core.remote().clone();
            give.send(core).unwrap();
            assert_eq!(call.await.unwrap(), 7);
            let late = tokio_core_compat::spawn::on_remote(&remote, |_| future::empty::<(), ()>());
            assert!(matches!(late.await, Err(Lost::Gone)));
        });
    });
}

#[test]
fn shutdown_drops_what_was_spawned_beside_the_calls() {
    let (tx, dropped) = mpsc::channel();
    watched(|| {
        block_on(async {
            let core = core();
            core.remote().spawn(|_| {
                let guard = Dropped(tx);
                future::empty::<(), ()>().map(move |()| drop(guard))
            });
            core.run(|_| Ok::<_, ()>(())).await.unwrap().unwrap();
            core.shutdown().await.unwrap();
        });
    });
    // Already so when `shutdown` resolves.
    assert_eq!(dropped.try_recv(), Ok(Some("a core".into())));
}

#[test]
fn a_shutdown_that_no_task_awaits_still_lets_the_calls_finish() {
    for polled in [true, false] {
        watched(move || {
            block_on(async {
                let core = core();
                let (go, gone) = oneshot::channel::<u32>();
                let call = core.run(|_| gone);
                let mut shutdown = Box::pin(core.shutdown());
                if polled {
                    assert!(common::Bell::new().poll(&mut shutdown).is_pending());
                }
                drop(shutdown);
                go.send(7).unwrap();
                assert_eq!(call.await.unwrap(), Ok(7));
            });
        });
    }
}

#[test]
fn dropping_the_core_thread_stops_it() {
    let (tx, dropped) = mpsc::channel();
    watched(move || {
        block_on(async {
            let core = core();
            let call = core.run(|_| {
                let guard = Dropped(tx);
                future::empty::<(), ()>().map(move |()| drop(guard))
            });
            drop(core);
            assert!(matches!(call.await, Err(Lost::Gone)));
        });
    });
    // The call may not have been made; then its closure was dropped.
    let end = dropped.recv_timeout(TIMEOUT);
    assert_ne!(end, Err(mpsc::RecvTimeoutError::Timeout));
}

#[test]
fn a_core_thread_is_used_from_many_threads() {
    watched(|| {
        let core = core();
        let sum: u32 = thread::scope(|scope| {
            let call = |n| {
                let core = &core;
                scope.spawn(move || {
                    block_on(core.run(move |_| Ok::<_, ()>(n)))
                        .unwrap()
                        .unwrap()
                })
            };
            let calls: Vec<_> = (1..=4).map(call).collect();
            calls.into_iter().map(|call| call.join().unwrap()).sum()
        });
        assert_eq!(sum, 10);
    });
}

// On a paused clock, which jumps to the next timer when all tasks wait.

const HOUR: Duration = Duration::from_secs(3600);

fn paused_block_on<F: std::future::Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

/// What `Call` documents.
#[test]
fn on_a_paused_clock_a_timeout_around_a_call_elapses_at_once() {
    watched(|| {
        paused_block_on(async {
            let core = core();
            let call = core.run(|_| future::empty::<(), ()>());
            assert!(tokio::time::timeout(HOUR, call).await.is_err());
        });
    });
}

#[test]
fn a_call_in_real_time_holds_a_paused_clock_until_it_has_ended() {
    watched(|| {
        paused_block_on(async {
            let core = core();
            let timer = |handle: &_| {
                Timeout::new(Duration::from_millis(50), handle)
                    .unwrap()
                    .map(|()| 7)
            };
            let start = tokio::time::Instant::now();
            let call = core.run(timer).in_real_time();
            assert_eq!(
                tokio::time::timeout(HOUR, call)
                    .await
                    .unwrap()
                    .unwrap()
                    .unwrap(),
                7
            );
            assert_eq!(start.elapsed(), Duration::ZERO);
            // It jumps again, and after a call that was dropped too.
            tokio::time::sleep(HOUR).await;
            drop(core.run(|_| future::empty::<(), ()>()).in_real_time());
            tokio::time::sleep(HOUR).await;
            assert_eq!(start.elapsed(), 2 * HOUR);
        });
    });
}

/// So a call can't hold the clock by default.
#[test]
fn a_call_that_waits_for_a_paused_clock_ends_when_that_jumps() {
    if common::on_the_drop_in() {
        return; // Its clock is the Core's, which runs.
    }
    watched(|| {
        paused_block_on(async {
            let core = core();
            core.run_std(|_| tokio::time::sleep(HOUR)).await.unwrap();
        });
    });
}

#[test]
fn a_held_clock_does_not_hold_its_runtime() {
    watched(|| {
        let core = core();
        let call = paused_block_on(async {
            let call = core.run(|_| future::empty::<(), ()>()).in_real_time();
            tokio::task::yield_now().await;
            [call]
        });
        drop(core);
        let [call] = call;
        assert!(matches!(block_on(call), Err(Lost::Gone)));
    });
}

#[test]
fn a_clock_that_runs_is_not_held() {
    watched(|| {
        block_on(async {
            let core = core();
            let call = core.run(|_| future::empty::<(), ()>()).in_real_time();
            let soon = Duration::from_millis(1);
            assert!(tokio::time::timeout(soon, call).await.is_err());
        });
    });
}
