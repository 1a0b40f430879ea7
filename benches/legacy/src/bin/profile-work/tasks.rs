//! Tasks of futures 0.1, one after the other, on whatever runs them. Each waits once, and is notified by itself.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures::executor;
use futures::stream::FuturesUnordered;
use futures::{task, Async, Future, Poll};
use ptunnel::io::Handle;
use tokio_core::reactor::Core;

use crate::NoNotify;

/// Counts its end.
struct Once {
    ended: Rc<Cell<u64>>,
    was_polled: bool,
}

impl Once {
    fn new(ended: &Rc<Cell<u64>>) -> Once {
        Once {
            ended: ended.clone(),
            was_polled: false,
        }
    }
}

impl Future for Once {
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll<(), ()> {
        if self.was_polled {
            self.ended.set(self.ended.get() + 1);
            return Ok(Async::Ready(()));
        }
        self.was_polled = true;
        task::current().notify();
        Ok(Async::NotReady)
    }
}

/// In futures 0.1's own set of tasks.
pub fn in_a_set(count: u64) {
    let ended = Rc::new(Cell::new(0));
    let mut set = executor::spawn(FuturesUnordered::new());
    let no_notify = Arc::new(NoNotify);
    while ended.get() < count {
        let before = ended.get();
        set.get_mut().push(Once::new(&ended));
        while ended.get() == before {
            // Its item is (): the count says the same.
            let _ = set.poll_stream_notify(&no_notify, 0);
        }
    }
}

pub fn on_core(count: u64) -> io::Result<()> {
    let core = Core::new()?;
    let handle = core.handle();
    in_loop(core, count, |task| handle.spawn(task));
    Ok(())
}

pub fn on_ptunnel(count: u64) -> io::Result<()> {
    let core = Core::new()?;
    let handle = Handle::new(&core.handle())?;
    in_loop(core, count, |task| handle.spawn(task));
    Ok(())
}

fn in_loop(mut core: Core, count: u64, spawn: impl Fn(Once)) {
    let ended = Rc::new(Cell::new(0));
    while ended.get() < count {
        let before = ended.get();
        spawn(Once::new(&ended));
        while ended.get() == before {
            core.turn(Some(Duration::from_secs(0)));
        }
    }
}
