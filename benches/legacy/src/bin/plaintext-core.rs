//! `plaintext-core -t THREADS -p PORT`: a plaintext server on futures 0.1 and tokio-core, on ptunnel's run queue.

use std::io;

use ptunnel_benches_legacy::plaintext::{connection, serve_on_ptunnel};
use ptunnel_benches_legacy::serving::Serving;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(|listen| serve_on_ptunnel(listen, connection))
}
