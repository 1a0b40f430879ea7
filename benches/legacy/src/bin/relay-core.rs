//! `relay-core LISTEN TARGET`: the relay of 2017's articles on futures 0.1 and tokio-core.
//!
//! Does: a task a tunnel, two copies and a join (`two_copies`), half-close in both directions, `TCP_NODELAY`.
//! Doesn't: timeouts, names, splice, a limit.

use std::io;

use futures::{Future, Stream};
use ptunnel_benches_legacy::addresses::Addresses;
use ptunnel_benches_legacy::listen;
use ptunnel_benches_legacy::two_copies::both_ways;
use tokio_core::net::{TcpListener, TcpStream};
use tokio_core::reactor::Core;

fn main() -> io::Result<()> {
    let addresses = Addresses::from_args();
    let mut core = Core::new()?;
    let handle = core.handle();
    let listener = listen(addresses.listen)?;
    let listener = TcpListener::from_listener(listener, &addresses.listen, &handle)?;
    core.run(listener.incoming().for_each(|(client, _)| {
        let relayed = TcpStream::connect(&addresses.target, &handle).and_then(|server| {
            client.set_nodelay(true)?;
            server.set_nodelay(true)?;
            Ok((client, server))
        });
        let relayed = relayed.and_then(|(client, server)| both_ways(client, server));
        // The end of a tunnel, orderly or not, is no news to a relay that logs nothing.
        handle.spawn(relayed.then(|_| Ok(())));
        Ok(())
    }))
}
