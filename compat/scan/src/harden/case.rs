//! An executor whose `Notify` keeps its state in its own fields, in an `Arc`. Prints how many of its
//! tasks were never woken again.

extern crate futures;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::executor::{self, Notify};
use futures::task::{self, Task};
use futures::{Async, Future, Poll};

const TASKS: usize = 1000;

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    running: AtomicBool,
    driver: Mutex<Option<Task>>,
}

#[derive(Default)]
struct Waiting {
    ready: Vec<usize>,
    queued: Vec<bool>,
}

impl Notify for Queue {
    fn notify(&self, id: usize) {
        let mut waiting = self.waiting.lock().unwrap();
        if waiting.queued.len() <= id {
            waiting.queued.resize(id + 1, false);
        }
        if waiting.queued[id] {
            return;
        }
        waiting.queued[id] = true;
        waiting.ready.push(id);
        drop(waiting);
        if !self.running.load(Ordering::SeqCst) {
            if let Some(task) = self.driver.lock().unwrap().take() {
                task.notify();
            }
        }
    }
}

/// Notifies itself so often, then is done.
struct Again(usize);

impl Future for Again {
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll<(), ()> {
        if self.0 == 0 {
            return Ok(Async::Ready(()));
        }
        self.0 -= 1;
        task::current().notify();
        Ok(Async::NotReady)
    }
}

fn main() {
    let queue = Arc::new(Queue::default());
    let mut tasks: Vec<_> = (0..TASKS)
        .map(|i| Some(executor::spawn(Again(i % 7))))
        .collect();
    queue.running.store(true, Ordering::SeqCst);
    let mut finished = 0;
    let mut ready: Vec<usize> = (0..TASKS).collect();
    for _ in 0..100 {
        for id in ready.drain(..) {
            if let Some(task) = tasks[id].as_mut() {
                if let Ok(Async::Ready(())) = task.poll_future_notify(&queue, id) {
                    tasks[id] = None;
                    finished += 1;
                }
            }
        }
        let mut waiting = queue.waiting.lock().unwrap();
        std::mem::swap(&mut waiting.ready, &mut ready);
        for &id in &ready {
            waiting.queued[id] = false;
        }
    }
    println!("{}", TASKS - finished);
}
