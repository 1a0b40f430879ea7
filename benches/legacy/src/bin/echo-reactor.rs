//! `echo-reactor -t THREADS -p PORT`: the echo server on ptunnel's sockets and run queue, in tokio-core's loop.

use std::io;
use std::net::SocketAddr;

use futures::{Future, Stream};
use ptunnel::io::{BoundSocket, Handle, Socket, Transport};
use ptunnel::{Listener, Permits};
use ptunnel_benches_legacy::serving::Serving;
use tokio_core::reactor::Core;

use echo::{scratch, Echo};

#[path = "../echo.rs"]
mod echo;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(serve)
}

fn serve(listen: SocketAddr) -> io::Result<()> {
    let mut core = Core::new()?;
    let handle = Handle::new(&core.handle())?;
    let listening = BoundSocket::bind(&listen, true, None)?;
    let clients = Listener::new(listening, &Permits::new(None), &handle)?;
    let (tasks, scratch) = (handle.clone(), scratch());
    let serve = clients.for_each(move |client| {
        tasks.spawn(Echo::new(client.socket, scratch.clone()).map_err(drop));
        Ok(())
    });
    handle.run(&mut core, serve)
}

impl echo::Stream for Socket {
    fn is_drained(&mut self) -> bool {
        Transport::is_drained(self)
    }
}
