//! `plaintext-core -t THREADS -p PORT`: a plaintext server on futures 0.1 and tokio-core.
//!
//! Connections are tasks of ptunnel's run queue in tokio-core's loop, as ptunnel's tunnels are.

use std::io;
use std::net::SocketAddr;

use futures::Stream;
use ptunnel::engine::io::{BoundSocket, Handle};
use ptunnel::engine::{Listener, Permits};
use ptunnel_benches_legacy::plaintext::{connection, date};
use ptunnel_benches_legacy::serving::Serving;
use tokio_core::reactor::Core;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(serve)
}

fn serve(listen: SocketAddr) -> io::Result<()> {
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
