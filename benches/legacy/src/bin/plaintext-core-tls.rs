//! `plaintext-core-tls -t THREADS -p PORT -c CERTIFICATE -k KEY`: `plaintext-core` over TLS.

use std::io;

use futures::Future;
use ptunnel_benches_legacy::plaintext::{connection, serve_on_ptunnel, Opaque};
use ptunnel_benches_legacy::serving::Serving;
use ptunnel_benches_legacy::tls::acceptor;
use tokio_openssl::SslAcceptorExt;

fn main() -> io::Result<()> {
    let serving = Serving::from_args();
    let acceptor = acceptor(&serving)?;
    serving.on_each_thread(move |listen| {
        let acceptor = acceptor.clone();
        serve_on_ptunnel(listen, move |socket, date| {
            let date = date.clone();
            // A handshake that fails ends its connection, as every other error does.
            let accepted = acceptor.accept_async(socket).map_err(drop);
            accepted.and_then(move |stream| connection(Opaque(stream), &date))
        })
    })
}
