//! `plaintext-tokio -t THREADS -p PORT`: a plaintext server on tokio 1.

use std::future::ready;
use std::io;

use ptunnel_benches::peer::hello::serve;
use ptunnel_benches::peer::serving::Serving;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(|listen| serve(listen, |stream| ready(Ok(stream))))
}
