//! Threads for work that blocks, such as name lookups.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use ptunnel_proto::sync::lock;

/// Work for a thread of the pool; it must not panic.
type Job = Box<dyn FnOnce() + Send>;

/// A pool of threads, which start with the first job. Cheap to clone, also for other threads.
#[derive(Clone)]
pub struct ThreadPool {
    most: usize,
    jobs: Arc<Mutex<Option<Sender<Job>>>>,
}

impl ThreadPool {
    /// Returns a pool of up to `most` threads.
    pub fn new(most: usize) -> ThreadPool {
        ThreadPool {
            most,
            jobs: Arc::default(),
        }
    }

    /// Runs `job` on a thread of the pool, when one is free.
    ///
    /// # Errors
    ///
    /// The errors of pthread_create(3), such as `EAGAIN`, if no thread can be started.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut jobs = lock(&self.jobs);
        let queue = match jobs.take() {
            Some(queue) => queue,
            None => start(self.most)?,
        };
        queue
            .send(Box::new(job))
            .expect("the threads live as long as this sender");
        *jobs = Some(queue);
        Ok(())
    }

    /// Returns whether it has threads.
    pub fn has_started(&self) -> bool {
        lock(&self.jobs).is_some()
    }
}

/// Starts the threads, each of which ends when the sender is dropped. One is enough.
fn start(most: usize) -> io::Result<Sender<Job>> {
    let (sender, jobs) = mpsc::channel();
    let jobs = Arc::new(Mutex::new(jobs));
    for index in 0..most {
        let jobs = jobs.clone();
        let started = thread::Builder::new()
            .name(format!("resolver-{}", index))
            .spawn(move || while next(&jobs).map(|job| job()).is_some() {});
        match started {
            Err(e) if index == 0 => return Err(e),
            _ => {}
        }
    }
    Ok(sender)
}

/// Waits for a job; `None` once the sender is dropped.
fn next(jobs: &Mutex<Receiver<Job>>) -> Option<Job> {
    lock(jobs).recv().ok()
}
