//! `plaintext-core-tls -t THREADS -p PORT -c CERTIFICATE -k KEY`: `plaintext-core` over TLS.

use std::io;
use std::net::SocketAddr;

use futures::{Future, Stream};
use openssl::ssl::SslAcceptor;
use ptunnel::engine::io::{BoundSocket, Handle};
use ptunnel::engine::{Listener, Permits};
use ptunnel_benches_legacy::plaintext::{connection, date, Opaque};
use ptunnel_benches_legacy::serving::Serving;
use ptunnel_benches_legacy::tls::acceptor;
use tokio_core::reactor::Core;
use tokio_openssl::SslAcceptorExt;

fn main() -> io::Result<()> {
    let serving = Serving::from_args();
    let acceptor = acceptor(&serving)?;
    serving.on_each_thread(move |listen| serve(listen, &acceptor))
}

fn serve(listen: SocketAddr, acceptor: &SslAcceptor) -> io::Result<()> {
    let mut core = Core::new()?;
    let date = date(&core.handle())?;
    let handle = Handle::new(&core.handle())?;
    let listening = BoundSocket::bind(&listen, true, None)?;
    let clients = Listener::new(listening, &Permits::new(None), &handle)?;
    let (tasks, acceptor) = (handle.clone(), acceptor.clone());
    let serve = clients.for_each(move |client| {
        let date = date.clone();
        // A handshake that fails ends its connection, as every other error does.
        let accepted = acceptor.accept_async(client.socket).map_err(drop);
        tasks.spawn(accepted.and_then(move |stream| connection(Opaque(stream), &date)));
        Ok(())
    });
    handle.run(&mut core, serve)
}
