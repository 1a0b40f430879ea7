use std::error::Error;
use std::io;

use futures::future::{self, Future, Loop};
use futures::{Async, Poll};

type Failure = Box<dyn Error>;

fn chain(f: impl Future<Item = u8, Error = ()>) -> impl Future<Item = u8, Error = ()> { //~ 43
    f.and_then(|x| Ok(x + 1)) //~ 1
        .then(|x| x) //~ 2
        .map(|x| x + 1) //~ 3
        .map_err(|e| e) //~ 4
        .or_else(|()| Err(())) //~ 5
}

fn by_path<F: Future<Item = u8>>(f: F) -> Result<u8, F::Error> {
    Future::wait(Future::from_err::<F::Error>(f)) //~ 20! 4
}

macro_rules! waited {
    ($future:expr) => {
        $future.wait() //~ 20!
    };
}

fn by_macro() {
    waited!(future::ok::<u8, ()>(1)); //~ 19
    assert_eq!(future::err::<(), u8>(1).wait(), Err(1)); //~ 19 20!
}

fn several(fs: Vec<future::FutureResult<u8, ()>>) {
    let a = || future::ok::<u8, ()>(1); //~ 19
    a().join(a()); //~ 6
    a().join3(a(), a()); //~ 6
    future::join_all(fs.clone()); //~ 7
    a().select(a()); //~ 8
    a().select2(a()); //~ 9
    future::select_all(fs.clone()); //~ 10
    future::select_ok(fs); //~ 10
}

fn looped() {
    future::loop_fn(0, |n| { //~ 11
        if n > 3 {
            Ok::<_, ()>(Loop::Break(n))
        } else {
            Ok(Loop::Continue(n + 1))
        }
    });
    future::lazy(|| Ok::<u8, ()>(1)); //~ 12
    future::poll_fn(|| -> Poll<u8, ()> { Ok(Async::Ready(1)) }); //~ 13 39
    future::lazy(|| future::ok::<u8, ()>(1)).map(|x| future::ok::<u8, ()>(x)).flatten(); //~ 12 19 3 19 14
    future::empty::<u8, ()>().fuse(); //~ 19 15
    future::ok::<u8, ()>(1).shared(); //~ 19 16
    future::ok::<u8, ()>(1).catch_unwind(); //~ 19 17
    future::ok::<u8, ()>(1).into_stream(); //~ 19 18
}

fn boxed() -> Box<dyn Future<Item = u8, Error = io::Error>> { //~ 42
    Box::new(future::ok(1)) //~ 19
}

fn boxed_error() -> Box<dyn Future<Item = u8, Error = Failure>> { //~ 42
    Box::new(future::ok(1)) //~ 19
}

fn error_in_a_box() -> Box<dyn Future<Item = u8, Error = Box<dyn Error>> + Send> { //~ 42 75
    unimplemented!()
}

trait Store {
    fn get(&self) -> Box<dyn Future<Item = u8, Error = io::Error>>; //~ 74
}
