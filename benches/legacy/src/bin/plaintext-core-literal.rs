//! `plaintext-core-literal -t THREADS -p PORT`: the plaintext server as the articles of the time wrote one: tokio-core's
//! own sockets, its own `spawn`, and `Stream::buffered(32)`.

use std::io;

use ptunnel_benches_legacy::plaintext::{buffered, serve_on_core};
use ptunnel_benches_legacy::serving::Serving;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(|listen| serve_on_core(listen, buffered))
}
