//! `plaintext-core-buffered -t THREADS -p PORT`: the plaintext server with `Stream::buffered`, which queues each future.

use std::io;

use ptunnel_benches_legacy::plaintext::{buffered, serve_on_ptunnel};
use ptunnel_benches_legacy::serving::Serving;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(|listen| serve_on_ptunnel(listen, buffered))
}
