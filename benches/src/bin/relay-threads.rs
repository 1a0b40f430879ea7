//! `relay-threads LISTEN TARGET [BYTES]`: two blocking threads a tunnel, as relays were written before readiness APIs.
//!
//! Does: a thread for each direction with a buffer of 16 KiB or of BYTES, half-close in both directions, `TCP_NODELAY`.
//! Doesn't: timeouts, names, splice, a bound on its threads.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use ptunnel_benches::peer::Addresses;

const BUFFER: usize = 16 * 1024;
/// Enough for the calls; the default of 2 MiB would only be address space.
const STACK: usize = 64 * 1024;

fn main() -> io::Result<()> {
    let Addresses {
        listen,
        target,
        buffer,
    } = Addresses::from_args();
    let buffer = buffer.unwrap_or(BUFFER);
    let listener = TcpListener::bind(listen)?;
    loop {
        let (client, _) = listener.accept()?;
        let opened = thread::Builder::new().stack_size(STACK).spawn(move || {
            if let Err(e) =
                TcpStream::connect(target).and_then(|server| tunnel(client, server, buffer))
            {
                eprintln!("no tunnel to {target}: {e}");
            }
        });
        if let Err(e) = opened {
            eprintln!("no thread for a client: {e}");
        }
    }
}

fn tunnel(client: TcpStream, server: TcpStream, buffer: usize) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    // Shared and not cloned: a clone would be a third and a fourth descriptor.
    let (client, server) = (Arc::new(client), Arc::new(server));
    let (back_from, back_to) = (Arc::clone(&server), Arc::clone(&client));
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || half(&back_from, &back_to, buffer))?;
    half(&client, &server, buffer);
    Ok(())
}

/// One direction until its end; an error closes both, so that the other thread ends too.
fn half(mut from: &TcpStream, mut to: &TcpStream, buffer: usize) {
    let mut buffer = vec![0; buffer];
    let outcome = loop {
        match from.read(&mut buffer) {
            Ok(0) => break to.shutdown(Shutdown::Write),
            Ok(n) => {
                if let Err(e) = to.write_all(&buffer[..n]) {
                    break Err(e);
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => break Err(e),
        }
    };
    if outcome.is_err() {
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
