//! `echo-tokio -t THREADS -p PORT`: the echo server that most people write today.
//!
//! Does: tokio 1, a current-thread runtime for each thread with a listener of its own (`SO_REUSEPORT`), a task with a
//! 16 KiB buffer for each connection, `TCP_NODELAY`.
//! Doesn't: timeouts, logging.

use std::io;
use std::net::SocketAddr;

use ptunnel_benches::peer::listener::listener;
use ptunnel_benches::peer::serving::Serving;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const BUFFER: usize = 16 * 1024;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(serve)
}

#[tokio::main(flavor = "current_thread")]
async fn serve(listen: SocketAddr) -> io::Result<()> {
    let listener = listener(listen)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(echo(stream));
    }
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            n => stream.write_all(&buffer[..n]).await?,
        }
    }
}
