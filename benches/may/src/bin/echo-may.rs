//! `echo-may -t THREADS -p PORT`: May's coroutines, a coroutine a connection.
//!
//! Does: as many workers as threads, not pinned to cores (the rig does that where it wants it), a 16 KiB buffer on the
//! heap for each connection as in May's own example, `TCP_NODELAY`.
//! Doesn't: timeouts, logging.

use std::io::{self, Read, Write};

use may::net::{TcpListener, TcpStream};
use ptunnel_benches_may::serving::Serving;

const BUFFER: usize = 16 * 1024;

fn main() -> io::Result<()> {
    let serving = Serving::from_args();
    may::config()
        .set_workers(serving.threads)
        .set_worker_pin(false);
    let accepting = may::go!(move || -> io::Result<()> {
        let listener = TcpListener::bind(serving.listen)?;
        loop {
            let (stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            may::go!(move || echo(stream));
        }
    });
    accepting
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the accepting coroutine panicked")))
}

fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            n => stream.write_all(&buffer[..n])?,
        }
    }
}
