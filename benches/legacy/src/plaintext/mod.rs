//! A plaintext server of combinators, on futures 0.1.
//!
//! ```text
//! bytes ─▶ Requests ─▶ map(service) ─▶ at most 32 at once, in order ─▶ forward ─▶ Responses ─▶ bytes
//! ```
//!
//! The programs differ in what a connection's bytes are read from, and in what keeps the order.

mod in_order;
mod requests;
mod responses;
mod shared;

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use futures::future::{self, FutureResult};
use futures::{Async, Future, Poll, Stream};
use ptunnel::engine::io::Transport;
use tokio_core::reactor::{Handle, Interval};

use crate::http::{self, Date, Response, Route};

pub use self::in_order::{in_order, InOrder};
pub use self::requests::Requests;
pub use self::responses::Responses;
pub use self::shared::{Opaque, Shared};

/// Requests of one connection that are answered at once.
const PIPELINED: usize = 32;

/// Serves one connection until its end. One that fails is closed; the others continue.
pub fn connection<S: Transport>(
    stream: S,
    date: &Rc<Cell<Date>>,
) -> impl Future<Item = (), Error = ()> {
    let io = Shared::new(stream);
    let responses = Responses::new(io.clone(), date.clone());
    let answers = in_order(Requests::new(io.clone()).map(service), PIPELINED);
    Connection {
        io,
        answering: answers.forward(responses),
    }
}

/// The same with `Stream::buffered`.
pub fn buffered<S: Transport>(
    stream: S,
    date: &Rc<Cell<Date>>,
) -> impl Future<Item = (), Error = ()> {
    let io = Shared::new(stream);
    let responses = Responses::new(io.clone(), date.clone());
    let answers = Requests::new(io.clone()).map(service).buffered(PIPELINED);
    Connection {
        io,
        answering: answers.forward(responses),
    }
}

/// One connection; never fails, since its errors concern no other connection.
#[must_use = "futures do nothing unless polled"]
struct Connection<S, F> {
    io: Shared<S>,
    answering: F,
}

impl<S, F: Future> Future for Connection<S, F> {
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll<(), ()> {
        self.io.begin_turn();
        match self.answering.poll() {
            Ok(Async::NotReady) => Ok(Async::NotReady),
            Ok(Async::Ready(_)) | Err(_) => Ok(Async::Ready(())),
        }
    }
}

/// A future for each answer, though here it is known at once.
fn service(route: Route) -> FutureResult<Response, io::Error> {
    future::ok(http::answer(route))
}

/// A date that a timer of the loop keeps.
///
/// # Errors
/// When the loop is gone.
pub fn date(handle: &Handle) -> io::Result<Rc<Cell<Date>>> {
    let date = Rc::new(Cell::new(Date::now()));
    let kept = date.clone();
    let ticks = Interval::new(Duration::from_millis(500), handle)?;
    let keep = ticks.for_each(move |()| {
        kept.set(Date::now());
        Ok(())
    });
    handle.spawn(keep.map_err(|e| panic!("the loop's timer: {}", e)));
    Ok(date)
}
