//! `echo-core -t THREADS -p PORT`: an echo server on futures 0.1 and tokio-core.
//!
//! Does: a `Core` for each thread with a listener of its own (`SO_REUSEPORT`), a future for each connection,
//! `TCP_NODELAY`.

use std::io;
use std::net::SocketAddr;

use futures::{Future, Stream};
use net2::unix::UnixTcpBuilderExt;
use net2::TcpBuilder;
use tokio_core::net::{TcpListener, TcpStream};
use tokio_core::reactor::Core;

use echo::{scratch, Echo};
use serving::Serving;

// Compiled into two packages, so it takes its parts as files.
#[path = "../echo.rs"]
mod echo;
#[path = "../../../src/peer/serving.rs"]
mod serving;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(serve)
}

fn serve(listen: SocketAddr) -> io::Result<()> {
    let mut core = Core::new()?;
    let handle = core.handle();
    let listener = TcpBuilder::new_v4()?
        .reuse_address(true)?
        .reuse_port(true)?
        .bind(listen)?
        .listen(4096)?;
    let listener = TcpListener::from_listener(listener, &listen, &handle)?;
    let scratch = scratch();
    core.run(listener.incoming().for_each(|(stream, _)| {
        stream.set_nodelay(true)?;
        handle.spawn(Echo::new(stream, scratch.clone()).map_err(drop));
        Ok(())
    }))
}

impl echo::Stream for TcpStream {
    /// Only a read that would block can tell.
    fn is_drained(&mut self) -> bool {
        false
    }
}
