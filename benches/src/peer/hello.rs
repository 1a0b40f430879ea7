//! The plaintext server on tokio 1, current thread, one async fn a connection; in the clear or over TLS.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{spawn_local, LocalSet};
use tokio::time::interval;

use super::http::{self, Date, Response, Route};
use super::listener::listener;

/// Holds 32 requests of the usual size; a longer head is refused.
const BUFFER: usize = 8 * 1024;

/// Serves on this thread; `secure` makes of a client what its bytes are read from.
///
/// # Errors
/// Those of the listener.
pub fn serve<F, S>(listen: SocketAddr, secure: impl Fn(TcpStream) -> F) -> io::Result<()>
where
    F: Future<Output = io::Result<S>> + 'static,
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let date = Rc::new(Cell::new(Date::now()));
        spawn_local(keep(Rc::clone(&date)));
        let listener = listener(listen)?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let (secured, date) = (secure(stream), Rc::clone(&date));
            // A connection that fails is closed, and nobody else is concerned.
            spawn_local(async move { connection(secured.await?, &date).await });
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
async fn connection<S>(mut stream: S, date: &Cell<Date>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
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
        stream.flush().await?;
        out.clear();
    }
}
