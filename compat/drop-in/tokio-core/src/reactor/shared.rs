//! The part of a Core that every thread may use.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use drop_in_io::gone;
use futures::Future;
use tokio::runtime;

use super::pool::Pool;
use super::queue::{lock, Queue, INBOX};
use super::timers::Timers;
use super::Handle;

/// A closure that another thread wants to run on the Core's.
pub(super) type Job = Box<dyn FnOnce(&Handle) + Send>;

pub(super) struct Shared {
    pub(super) id: usize,
    /// `None` once the Core is gone: it holds descriptors.
    runtime: RwLock<Option<runtime::Handle>>,
    pub(super) timers: Timers,
    pool: Mutex<Option<Pool>>,
    queue: &'static Queue,
    jobs: Mutex<VecDeque<Job>>,
    closed: AtomicBool,
}

impl Shared {
    pub(super) fn new(runtime: &runtime::Handle, queue: &'static Queue) -> Shared {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        Shared {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            runtime: RwLock::new(Some(runtime.clone())),
            timers: Timers::default(),
            pool: Mutex::new(None),
            queue,
            jobs: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// Queues a job; drops it when the Core is gone.
    pub(super) fn send(&self, job: Job) {
        let mut jobs = lock(&self.jobs);
        // Under the lock, so that `close` finds the job.
        if self.is_closed() {
            drop(jobs);
            drop(job);
            return;
        }
        jobs.push_back(job);
        drop(jobs);
        self.ring();
    }

    /// Makes the Core look at its jobs.
    pub(super) fn ring(&self) {
        // A closed Core's queue may be another's by now.
        if !self.is_closed() {
            self.queue.push(INBOX);
        }
    }

    /// Makes the Core look at its timers.
    pub(super) fn rouse(&self) {
        if !self.is_closed() {
            self.queue.rouse();
        }
    }

    /// Spawns onto the threads of the pool; drops the future when the Core is gone.
    pub(super) fn spawn_send(&self, future: impl Future<Item = (), Error = ()> + Send + 'static) {
        let mut pool = lock(&self.pool);
        if !self.is_closed() {
            pool.get_or_insert_with(Pool::start).spawn(future);
        }
    }

    pub(super) fn next_job(&self) -> Option<Job> {
        lock(&self.jobs).pop_front()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Returns the Core's runtime.
    ///
    /// # Errors
    ///
    /// When the Core is gone.
    pub(super) fn runtime(&self) -> io::Result<runtime::Handle> {
        let runtime = self.runtime.read().unwrap_or_else(PoisonError::into_inner);
        runtime.clone().ok_or_else(gone)
    }

    /// Drops what is queued, and from here on what is sent.
    pub(super) fn close(&self) {
        let mut jobs = lock(&self.jobs);
        self.closed.store(true, Ordering::SeqCst);
        let dropped = mem::take(&mut *jobs);
        drop(jobs);
        // Outside of the lock: what a closure holds may spawn while it is dropped.
        drop(dropped);
        let pool = lock(&self.pool).take();
        drop(pool);
        let mut runtime = self.runtime.write().unwrap_or_else(PoisonError::into_inner);
        *runtime = None;
    }
}
