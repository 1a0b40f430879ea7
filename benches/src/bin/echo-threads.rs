//! `echo-threads -t 1 -p PORT`: one blocking thread a connection, whatever `-t` says.
//!
//! Does: a 16 KiB buffer on each stack, `TCP_NODELAY`.
//! Doesn't: timeouts, logging, a bound on its threads.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use ptunnel_benches::peer::serving::Serving;

const BUFFER: usize = 16 * 1024;
/// Enough for the buffer and the calls below it; the default of 2 MiB would only be address space.
const STACK: usize = 64 * 1024;

fn main() -> io::Result<()> {
    let listener = TcpListener::bind(Serving::from_args().listen)?;
    loop {
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let opened = thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || echo(stream));
        if let Err(e) = opened {
            eprintln!("no thread for a client: {e}");
        }
    }
}

fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; BUFFER];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            n => stream.write_all(&buffer[..n])?,
        }
    }
}
