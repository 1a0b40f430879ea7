//! `plaintext-core-sockets -t THREADS -p PORT`: the plaintext server with tokio-core's own sockets and its own `spawn`.

use std::io;

use ptunnel_benches_legacy::plaintext::{connection, serve_on_core};
use ptunnel_benches_legacy::serving::Serving;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(|listen| serve_on_core(listen, connection))
}
