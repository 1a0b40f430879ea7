//! Values that live on a Core's thread, and calls that return plain values.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use futures01::{future, Future as _};
use tokio::sync::oneshot;
use tokio_core::reactor::{Core, Timeout};
use tokio_core_compat::core_thread::{CoreThread, Resident};
use tokio_core_compat::spawn::{on_remote_call, Lost};
use tokio_core_compat::task::AsStd;

use crate::common::{block_on, watched};

/// Runs a test with a Core; a hang fails it.
fn with_core<F>(test: impl FnOnce(CoreThread) -> F + Send + 'static)
where
    F: std::future::Future<Output = ()>,
{
    watched(|| block_on(test(CoreThread::new("a core").unwrap())));
}

/// Sends the name of its thread when it is dropped.
struct Dropped(mpsc::Sender<Option<String>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(thread::current().name().map(String::from));
    }
}

const SOON: Duration = Duration::from_secs(20);

/// Neither `Send` nor `Sync`.
type Log = Rc<RefCell<Vec<u32>>>;

async fn log(core: &CoreThread) -> Resident<Log> {
    core.resident(|_| Log::default()).await.unwrap()
}

#[test]
fn a_plain_value_comes_back() {
    with_core(|core| async move {
        let name = core.call(|_| thread::current().name().map(String::from));
        assert_eq!(name.await.unwrap().as_deref(), Some("a core"));
        let name = on_remote_call(core.remote(), |_| thread::current().name().is_some());
        assert!(name.await.unwrap());
        let panicked = core.call(|_| panic!("no value")).await.unwrap_err();
        assert!(panicked.to_string().ends_with("no value"));
        core.shutdown().await.unwrap();
    });
}

#[test]
fn calls_share_one_value_from_any_thread() {
    with_core(|core| async move {
        let log = log(&core).await;
        log.call(|log, _| log.borrow_mut().push(1)).await.unwrap();
        let other = log.clone();
        thread::spawn(move || {
            block_on(other.run(|log, handle| {
                let log = log.clone();
                let timeout = Timeout::new(Duration::from_millis(1), handle).unwrap();
                timeout.map(move |()| log.borrow_mut().push(2))
            }))
            .unwrap()
            .unwrap();
        })
        .join()
        .unwrap();
        let all = log.run_std(|log, handle| {
            let log = log.clone();
            let timeout = Timeout::new(Duration::from_millis(1), handle).unwrap();
            async move {
                AsStd::new(timeout).await.unwrap();
                log.borrow_mut().push(3);
                log.take()
            }
        });
        assert_eq!(all.await.unwrap(), [1, 2, 3]);
    });
}

#[test]
fn the_value_is_dropped_over_there_with_its_last_owner() {
    with_core(|core| async move {
        let (tell, told) = mpsc::channel();
        let resident = core.resident(move |_| Dropped(tell)).await.unwrap();
        let clone = resident.clone();
        drop(resident);
        clone.call(|_, _| ()).await.unwrap();
        assert!(told.try_recv().is_err());
        drop(clone);
        assert_eq!(told.recv_timeout(SOON).unwrap().as_deref(), Some("a core"));
        core.shutdown().await.unwrap();
    });
}

#[test]
fn a_shutdown_waits_for_calls_and_not_for_residents() {
    with_core(|core| async move {
        let (tell, told) = mpsc::channel();
        let resident = core.resident(move |_| Dropped(tell)).await.unwrap();
        let (go, gone) = oneshot::channel::<()>();
        let call = resident.run_std(|_, _| async { gone.await.is_ok() });
        let mut shutdown = Box::pin(core.shutdown());
        let early = tokio::time::timeout(Duration::from_millis(20), &mut shutdown).await;
        assert!(early.is_err(), "a call is under way");
        // Meanwhile the value is there for more.
        resident.call(|_, _| ()).await.unwrap();
        go.send(()).unwrap();
        assert!(call.await.unwrap());
        shutdown.await.unwrap();
        assert_eq!(told.try_recv().unwrap().as_deref(), Some("a core"));
        let lost = resident.call(|_, _| ()).await.unwrap_err();
        assert!(matches!(lost, Lost::Gone));
    });
}

#[test]
fn without_its_core_a_resident_answers_that_it_is_gone() {
    with_core(|core| async move {
        let (tell, told) = mpsc::channel();
        let resident = core.resident(move |_| Dropped(tell)).await.unwrap();
        let call = resident.run(|_, _| future::empty::<(), ()>());
        drop(core);
        assert!(matches!(call.await, Err(Lost::Gone)));
        told.recv_timeout(SOON).unwrap();
        assert!(matches!(resident.call(|_, _| ()).await, Err(Lost::Gone)));
    });
}

#[test]
fn a_panic_of_a_call_leaves_the_value() {
    with_core(|core| async move {
        let cell = core.resident(|_| Cell::new(1)).await.unwrap();
        let panicked = cell.call(|cell, _| {
            cell.set(2);
            panic!("half way")
        });
        let Err(Lost::Panicked(panic)) = panicked.await else {
            panic!("it panicked");
        };
        assert!(panic.to_string().ends_with("half way"));
        assert_eq!(cell.call(|cell, _| cell.get()).await.unwrap(), 2);
        let Err(Lost::Panicked(_)) = core
            .resident(|_| panic!("none"))
            .await
            .map(|_: Resident<()>| ())
        else {
            panic!("it panicked");
        };
        core.shutdown().await.unwrap();
    });
}

#[test]
fn dropping_a_call_drops_its_future_and_not_the_value() {
    with_core(|core| async move {
        let log = log(&core).await;
        let (tell, told) = mpsc::channel();
        let dropped = Dropped(tell);
        let call = log.run(|_, _| future::empty::<(), ()>().map(move |()| drop(dropped)));
        drop(call);
        assert_eq!(told.recv_timeout(SOON).unwrap().as_deref(), Some("a core"));
        log.call(|log, _| log.borrow_mut().push(1)).await.unwrap();
    });
}

/// The handles stay with the caller; a Core on a thread of one's own serves too.
#[test]
fn a_plain_value_comes_from_a_core_that_is_turned_by_hand() {
    watched(|| {
        let mut core = Core::new().unwrap();
        let call = on_remote_call(&core.remote(), |handle| handle.id() == handle.remote().id());
        core.turn(Some(Duration::ZERO));
        core.turn(Some(Duration::ZERO));
        assert!(block_on(call).unwrap());
    });
}
