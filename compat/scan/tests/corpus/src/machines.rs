use std::cell::RefCell;
use std::rc::Rc;

use futures::task::{self, AtomicTask, Task};
use futures::{task_local, try_ready, Async, Future, Poll, Stream};
use tokio_core::net::TcpStream;

task_local!(static DEPTH: RefCell<u8> = RefCell::new(0)); //~ 47

struct Yields {
    task: Option<Task>,
    waiter: AtomicTask,
    stream: Rc<TcpStream>, //~ 69
    shared: Rc<RefCell<TcpStream>>, //~ 69
    own: TcpStream,
}

impl Future for Yields { //~ 44
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll<(), ()> {
        if self.task.is_none() {
            self.task = Some(task::current()); //~ 13!
            self.waiter.register(); //~ 46
        }
        if self.task.as_ref().unwrap().will_notify_current() { //~ 45
            task::current().notify(); //~ 37!
            return Ok(Async::NotReady); //~ 39
        }
        self.task.as_ref().unwrap().notify();
        Ok(().into())
    }
}

impl Yields {
    fn wait_for(&mut self, done: bool) -> Poll<(), ()> {
        if done {
            match self.task {
                None => self.task = Some(task::current()), //~ 13!
                Some(_) => self.task = Some(task::current()), //~ 13
            }
            return Ok(().into());
        }
        self.task.get_or_insert_with(task::current); //~ 13!
        self.task = Some(task::current()); //~ 13
        self.waiter.register(); //~ 46!
        Ok(Async::NotReady) //~ 39
    }
}

struct Twice<S>(S);

impl<S: Stream<Item = u8, Error = ()>> Stream for Twice<S> { //~ 44
    type Item = u8;
    type Error = ();

    fn poll(&mut self) -> Poll<Option<u8>, ()> {
        if self.0.poll()?.is_ready() { //~ 39
            return Ok(Async::Ready(None)); //~ 39
        }
        if let Ok(Async::Ready(Some(x))) = self.0.poll() { //~ 39
            std::mem::drop::<Vec<u8>>(vec![x]);
        }
        let x = try_ready!(self.0.poll()); //~ 40
        Ok(Async::Ready(x.map(|x| x * 2))) //~ 39
    }
}
