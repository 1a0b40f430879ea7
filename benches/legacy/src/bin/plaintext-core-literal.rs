//! `plaintext-core-literal -t THREADS -p PORT`: the plaintext server as the articles of the time wrote one: tokio-core's
//! own sockets, its own `spawn`, and `Stream::buffered(32)`.

use std::io;
use std::net::SocketAddr;

use futures::Stream;
use ptunnel_benches_legacy::plaintext::{buffered, date, Opaque};
use ptunnel_benches_legacy::serving::Serving;
use tokio_core::net::TcpListener;
use tokio_core::reactor::Core;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(serve)
}

fn serve(listen: SocketAddr) -> io::Result<()> {
    let mut core = Core::new()?;
    let handle = core.handle();
    let date = date(&handle)?;
    let socket = ptunnel_benches_legacy::listen(listen)?;
    let listener = TcpListener::from_listener(socket, &listen, &handle)?;
    core.run(listener.incoming().for_each(|(stream, _)| {
        stream.set_nodelay(true)?;
        handle.spawn(buffered(Opaque(stream), &date));
        Ok(())
    }))
}
