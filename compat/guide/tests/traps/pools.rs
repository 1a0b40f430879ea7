//! Row 64: blocking work whose result is no longer awaited.

use std::sync::mpsc;

use futures_cpupool::CpuPool;
use tokio::runtime::Builder;

use crate::common::watched;

#[test]
fn row_64_dropping_a_join_handle_cancels_nothing() {
    watched(|| {
        // futures 0.1: a job that has not begun is never begun.
        let pool = CpuPool::new(1);
        let (release, blocked) = mpsc::channel::<()>();
        let first = pool.spawn_fn(move || blocked.recv().map_err(drop));
        let (ran, runs) = mpsc::channel();
        drop(pool.spawn_fn(move || ran.send("resolved").map_err(drop)));
        release.send(()).unwrap();
        futures01::Future::wait(first).unwrap();
        assert_eq!(runs.recv(), Err(mpsc::RecvError));

        let pool = Builder::new_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let busy = || {
            let (release, blocked) = mpsc::channel::<()>();
            pool.spawn_blocking(move || blocked.recv());
            release
        };

        // Naive: the job is detached, and takes its turn in the pool.
        let release = busy();
        let (ran, runs) = mpsc::channel();
        drop(pool.spawn_blocking(move || ran.send("resolved")));
        release.send(()).unwrap();
        assert_eq!(runs.recv(), Ok("resolved"));

        // Right: abort it; a job that has begun runs on, as it did in a CpuPool.
        let release = busy();
        let (ran, runs) = mpsc::channel();
        pool.spawn_blocking(move || ran.send("resolved")).abort();
        release.send(()).unwrap();
        assert_eq!(runs.recv(), Err(mpsc::RecvError));
    });
}
