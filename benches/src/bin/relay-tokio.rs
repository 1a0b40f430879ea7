//! `relay-tokio LISTEN TARGET`: the relay that most people write today.
//!
//! Does: tokio 1 on its current-thread runtime, a task a tunnel, `copy_bidirectional`, half-close in both directions
//! (it is part of `copy_bidirectional`), `TCP_NODELAY`.
//! Doesn't: timeouts, names, splice, several threads.

use std::io;

use ptunnel_benches::peer::Addresses;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let Addresses { listen, target } = Addresses::from_args();
    let listener = TcpListener::bind(listen).await?;
    loop {
        let (mut client, _) = listener.accept().await?;
        tokio::spawn(async move {
            // The end of a tunnel, orderly or not, is no news to a relay that logs nothing.
            let _ = async {
                let mut server = TcpStream::connect(target).await?;
                client.set_nodelay(true)?;
                server.set_nodelay(true)?;
                copy_bidirectional(&mut client, &mut server).await
            }
            .await;
        });
    }
}
