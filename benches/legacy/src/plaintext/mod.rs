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
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use futures::future::{self, FutureResult};
use futures::{Async, Future, Poll, Stream};
use ptunnel::io::{BoundSocket, Handle, Socket, Transport};
use ptunnel::{Listener, Permits};
use tokio_core::net::{TcpListener, TcpStream};
use tokio_core::reactor::{Core, Handle as CoreHandle, Interval};

use crate::http::{self, Date, Response, Route};

pub use self::in_order::{in_order, InOrder};
pub use self::requests::Requests;
pub use self::responses::Responses;
pub use self::shared::{Opaque, Shared};

/// Requests of one connection that are answered at once.
const PIPELINED: usize = 32;

/// The date of all replies of a thread.
pub type SharedDate = Rc<Cell<Date>>;

/// Serves on ptunnel's sockets; connections are tasks of its run queue in tokio-core's loop, as ptunnel's tunnels are.
///
/// # Errors
/// Those of the listener.
pub fn serve_on_ptunnel<F>(
    listen: SocketAddr,
    connection: impl Fn(Socket, &SharedDate) -> F + 'static,
) -> io::Result<()>
where
    F: Future<Item = (), Error = ()> + 'static,
{
    let mut core = Core::new()?;
    let date = date(&core.handle())?;
    let handle = Handle::new(&core.handle())?;
    let listening = BoundSocket::bind(&listen, true, None)?;
    let clients = Listener::new(listening, &Permits::new(None), &handle)?;
    let tasks = handle.clone();
    let serve = clients.for_each(move |client| {
        tasks.spawn(connection(client.socket, &date));
        Ok(())
    });
    handle.run(&mut core, serve)
}

/// Serves on tokio-core's own sockets, with its own `spawn`.
///
/// # Errors
/// Those of the listener.
pub fn serve_on_core<F>(
    listen: SocketAddr,
    connection: impl Fn(Opaque<TcpStream>, &SharedDate) -> F,
) -> io::Result<()>
where
    F: Future<Item = (), Error = ()> + 'static,
{
    let mut core = Core::new()?;
    let handle = core.handle();
    let date = date(&handle)?;
    let listener = TcpListener::from_listener(crate::listen(listen)?, &listen, &handle)?;
    core.run(listener.incoming().for_each(|(stream, _)| {
        stream.set_nodelay(true)?;
        handle.spawn(connection(Opaque(stream), &date));
        Ok(())
    }))
}

/// Serves one connection until its end. One that fails is closed; the others continue.
pub fn connection<S: Transport>(
    stream: S,
    date: &SharedDate,
) -> impl Future<Item = (), Error = ()> {
    let io = Shared::new(stream);
    let answers = in_order(Requests::new(io.clone()).map(service), PIPELINED);
    write(io, answers, date)
}

/// The same with `Stream::buffered`.
pub fn buffered<S: Transport>(stream: S, date: &SharedDate) -> impl Future<Item = (), Error = ()> {
    let io = Shared::new(stream);
    let answers = Requests::new(io.clone()).map(service).buffered(PIPELINED);
    write(io, answers, date)
}

fn write<S: Transport>(
    io: Shared<S>,
    answers: impl Stream<Item = Response, Error = io::Error>,
    date: &SharedDate,
) -> impl Future<Item = (), Error = ()> {
    let responses = Responses::new(io.clone(), date.clone());
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
fn date(handle: &CoreHandle) -> io::Result<SharedDate> {
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
