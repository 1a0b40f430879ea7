//! `plaintext-tokio -t THREADS -p PORT`: the plaintext server on tokio 1, current thread, one async fn a connection.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ptunnel_benches::peer::http::{self, Date, Response, Route};
use ptunnel_benches::peer::serving::Serving;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::{spawn_local, LocalSet};
use tokio::time::interval;

/// Holds 32 requests of the usual size; a longer head is refused.
const BUFFER: usize = 8 * 1024;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(serve)
}

fn serve(listen: SocketAddr) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let date = Rc::new(Cell::new(Date::now()));
        spawn_local(keep(Rc::clone(&date)));
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.set_reuseport(true)?;
        socket.bind(listen)?;
        let listener = socket.listen(4096)?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let date = Rc::clone(&date);
            // A connection that fails is closed, and nobody else is concerned.
            spawn_local(async move { connection(stream, &date).await });
        }
    })
}

async fn keep(date: Rc<Cell<Date>>) {
    let mut ticks = interval(Duration::from_millis(500));
    loop {
        ticks.tick().await;
        date.set(Date::now());
    }
}

async fn service(route: Route) -> Response {
    http::answer(route)
}

/// Reads, answers all that is whole, writes the replies at once.
async fn connection(mut stream: TcpStream, date: &Cell<Date>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let mut have = 0;
    let mut out = Vec::new();
    loop {
        match stream.read(&mut buffer[have..]).await? {
            0 => return Ok(()),
            n => have += n,
        }
        let mut start = 0;
        while start < have {
            let Some((route, length)) = http::parse(&buffer[start..have])? else {
                break;
            };
            start += length;
            service(route).await.write(&date.get(), &mut out);
        }
        if start == 0 && have == buffer.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        buffer.copy_within(start..have, 0);
        have -= start;
        stream.write_all(&out).await?;
        out.clear();
    }
}
