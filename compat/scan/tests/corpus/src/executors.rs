use std::net::SocketAddr;
use std::time::Duration;

use futures::{future, Future, IntoFuture, Stream};
use futures_cpupool::CpuPool;
use tokio_core::net::{TcpListener, TcpStream};
use tokio_core::reactor::{Core, Handle, Interval, Remote, Timeout};

fn run(mut core: Core, handle: Handle, remote: Remote) -> std::io::Result<()> {
    handle.spawn(Ok(()).into_future()); //~ 38 49
    handle.spawn_fn(|| Ok(())); //~ 38 49
    remote.spawn(|_| Ok(())); //~ 50
    core.run(Timeout::new(Duration::from_secs(1), &handle)?)?; //~ 48 51
    core.turn(None); //~ 48
    Interval::new(Duration::from_secs(1), &handle)?; //~ 52
    CpuPool::new(1).spawn_fn(|| Ok::<u8, ()>(1)); //~ 64
    tokio_signal::ctrl_c(&handle); //~ 65
    Ok(())
}

fn sockets(address: &SocketAddr, handle: &Handle) -> std::io::Result<()> {
    TcpListener::bind(address, handle)?.incoming().for_each(|_| Ok(())); //~ 66 21
    TcpStream::connect(address, handle); //~ 67
    Ok(())
}

#[test]
fn a_test_with_a_core() {
    Core::new().unwrap(); //~ 73
    future::ok::<u8, ()>(1).wait().unwrap(); //~ 19 20
}

fn no_test_with_a_core() {
    Core::new().unwrap();
}
