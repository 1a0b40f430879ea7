//! The smallest tunnel: one listener, one proxy, one thread.
//!
//! ```text
//! cargo run --release --locked --example tunnel -- proxy.example:3128 example.org:22
//! ssh -p 2222 user@127.0.0.1
//! ```

use std::env;
use std::error::Error;

use futures::{Future, Stream};
use ptunnel::io::BoundSocket;
use ptunnel::{Engine, Listener, Permits, Settings, Tunnel};
use tokio_core::reactor::Core;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let proxy = args
        .next()
        .ok_or("the first argument is the proxy, HOST:PORT")?;
    let destination = args
        .next()
        .ok_or("the second argument is the destination, HOST:PORT")?;

    let mut core = Core::new()?;
    let engine = Engine::new(&core.handle(), Settings::default())?;
    let tunnel = Tunnel::to(destination.parse()?)
        .through(proxy.parse()?)
        .build();
    let listening = BoundSocket::bind(&"127.0.0.1:2222".parse()?, false, None)?;
    println!("listening on {} for {}", listening.local_addr()?, tunnel);

    let clients = Listener::new(listening, &Permits::new(None), engine.handle())?;
    core.run(clients.for_each(move |client| {
        let origin = client.origin;
        let permit = client.permit;
        let session = engine
            .carry(client.socket, origin, &tunnel)
            .then(move |end| {
                drop(permit);
                match end {
                    Ok(carried) => println!("{}: {}", origin, carried),
                    Err(e) => eprintln!("{}: {}", origin, e),
                }
                Ok(())
            });
        engine.handle().spawn(session);
        Ok(())
    }))?;
    Ok(())
}
