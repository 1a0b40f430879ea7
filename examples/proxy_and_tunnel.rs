//! A proxy and a tunnel through it, in one process and on one thread.
//!
//! An echo server is the destination: what the client receives is what it sent.
//!
//! ```text
//! cargo run --release --locked --example proxy_and_tunnel
//! ```

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use futures::{Future, Stream};
use ptunnel::config::{ProxySpec, ServeSpec};
use ptunnel::io::BoundSocket;
use ptunnel::values::{Bind, HostPort};
use ptunnel::{Engine, Listener, Permits, Policy, Settings, Tunnel};
use tokio_core::reactor::Core;

fn main() -> Result<(), Box<dyn Error>> {
    let mut core = Core::new()?;
    let engine = Engine::new(&core.handle(), Settings::default())?;

    let (proxy_address, clients) = listen(&engine)?;
    let proxy = Policy::new(ServeSpec {
        bind: Bind::Any, // of interest to those who bind by it
        port: 0,
        credentials: None,
        allow: vec!["127.0.0.1".parse()?],
    });
    let serving = engine.clone();
    engine
        .handle()
        .spawn(ignoring(clients.for_each(move |client| {
            let origin = client.origin;
            let session = serving.serve_inbound(client.socket, origin, &proxy);
            serving
                .handle()
                .spawn(session.map_err(|e| eprintln!("proxy: {}", e)));
            Ok(())
        })));

    let (tunnel_address, clients) = listen(&engine)?;
    let tunnel = Tunnel::to(start_echo()?.into())
        .through(ProxySpec::from(HostPort::from(proxy_address)))
        .build();
    println!("{} leads to {}", tunnel_address, tunnel);
    let client = thread::spawn(move || ask(tunnel_address));

    // One client, then the end.
    let first = clients.into_future().map_err(|(e, _)| e.to_string());
    let session = first.and_then(|(client, _)| {
        let client = client.expect("a listener never ends");
        let origin = client.origin;
        let carried = engine.carry(client.socket, origin, &tunnel);
        carried.map_err(|e| e.to_string())
    });
    println!("{}", core.run(session)?);
    client.join().expect("the client panicked")?;
    Ok(())
}

fn listen(engine: &Engine) -> Result<(SocketAddr, Listener), Box<dyn Error>> {
    let listening = BoundSocket::bind(&"127.0.0.1:0".parse()?, false, None)?;
    let address = listening.local_addr()?;
    let clients = Listener::new(listening, &Permits::new(None), engine.handle())?;
    Ok((address, clients))
}

fn ignoring<F: Future>(future: F) -> impl Future<Item = (), Error = ()> {
    future.map(drop).map_err(drop)
}

fn start_echo() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        std::io::copy(&mut stream.try_clone()?, &mut stream)
    });
    Ok(address)
}

fn ask(address: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"there and back")?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    println!("the echo: {}", answer);
    Ok(())
}
