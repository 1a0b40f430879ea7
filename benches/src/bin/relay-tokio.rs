//! `relay-tokio LISTEN TARGET [BYTES]`: the relay that most people write today.
//!
//! Does: tokio 1 on its current-thread runtime, a task a tunnel, `copy_bidirectional` with its buffers of 8 KiB or, with
//! BYTES, `copy_bidirectional_with_sizes`, half-close in both directions (it is part of them), `TCP_NODELAY`.
//! Doesn't: timeouts, names, splice, several threads.

use std::io;

use ptunnel_benches::peer::Addresses;
use tokio::io::{copy_bidirectional, copy_bidirectional_with_sizes};
use tokio::net::{TcpListener, TcpStream};

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let Addresses {
        listen,
        target,
        buffer,
    } = Addresses::from_args();
    let listener = TcpListener::bind(listen).await?;
    loop {
        let (mut client, _) = listener.accept().await?;
        tokio::spawn(async move {
            // The end of a tunnel, orderly or not, is no news to a relay that logs nothing.
            let _ = async {
                let mut server = TcpStream::connect(target).await?;
                client.set_nodelay(true)?;
                server.set_nodelay(true)?;
                match buffer {
                    None => copy_bidirectional(&mut client, &mut server).await,
                    Some(bytes) => {
                        copy_bidirectional_with_sizes(&mut client, &mut server, bytes, bytes).await
                    }
                }
            }
            .await;
        });
    }
}
