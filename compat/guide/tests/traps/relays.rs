//! Rows 55 and 56: copying, and what the end of one direction does to the other.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures01::Future as _;
use tokio::io::{copy, copy_bidirectional, split, AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::io::{AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::io::{AsIo01, ShutdownPolicy};
use tokio_io::AsyncRead as _;

use crate::sockets::{next, tcp_pair, tcp_pair_apart};

#[tokio::test]
async fn row_55_a_finished_copy_sent_fin_by_being_dropped() -> io::Result<()> {
    let core = CoreThread::new("core")?;
    let payload = || &b"p"[..];

    // futures 0.1: `copy` owns both ends. Nobody kept them, so the end of the copy closed the
    // socket.
    let (near, mut far) = tcp_pair_apart(&core).await;
    let copied = core.run(move |_| tokio_io::io::copy(payload(), near).map(|(n, _, _)| n));
    assert_eq!(copied.await.unwrap()?, 1);
    assert_eq!(
        (next(&mut far).await, next(&mut far).await),
        (Some(b'p'), None)
    );

    // Naive: it borrows them now. The peer waits for an end that does not come.
    let (mut near, mut far) = tcp_pair().await?;
    assert_eq!(copy(&mut payload(), &mut near).await?, 1);
    near.write_all(b"x").await?;
    assert_eq!(
        (next(&mut far).await, next(&mut far).await),
        (Some(b'p'), Some(b'x'))
    );

    // Right: say that this direction has ended.
    copy(&mut payload(), &mut near).await?;
    near.shutdown().await?;
    assert_eq!(
        (next(&mut far).await, next(&mut far).await),
        (Some(b'p'), None)
    );
    Ok(())
}

#[tokio::test]
async fn row_56_copy_bidirectional_passes_a_fin_on() -> io::Result<()> {
    /// Asks, says that it has finished, and wants an answer: as ssh, git and old HTTP do.
    async fn ask(mut client: TcpStream) -> io::Result<String> {
        client.write_all(b"question").await?;
        client.shutdown().await?;
        let mut answer = String::new();
        client.read_to_string(&mut answer).await?;
        Ok(answer)
    }
    /// Answers once it has read the whole question.
    async fn answer(mut server: TcpStream) -> io::Result<()> {
        let mut question = Vec::new();
        server.read_to_end(&mut question).await?;
        server.write_all(&question).await
    }
    /// What the client gets with a relay between the two, if it gets it in time.
    async fn relayed<F: Future<Output = ()>>(
        limit: Duration,
        relay: impl FnOnce(TcpStream, TcpStream) -> F,
    ) -> Option<String> {
        let (client, near) = tcp_pair().await.unwrap();
        let (far, server) = tcp_pair().await.unwrap();
        let (asked, answered) = (tokio::spawn(ask(client)), tokio::spawn(answer(server)));
        let relay = relay(near, far);
        let answer = tokio::time::timeout(limit, async { tokio::join!(relay, asked).1 }).await;
        answered.abort();
        Some(answer.ok()?.unwrap().unwrap())
    }
    /// For relays whose ends wait for each other, which no limit ends.
    const SHORT: Duration = Duration::from_millis(300);
    const LONG: Duration = Duration::from_secs(20);

    // futures 0.1: two copies and a join. A FIN went no further, on tokio-core; the answer came
    // only if the server did not wait for the end of the question.
    let core = CoreThread::new("core")?;
    let ((near, client), (far, server)) =
        (tcp_pair_apart(&core).await, tcp_pair_apart(&core).await);
    let (asked, answered) = (tokio::spawn(ask(client)), tokio::spawn(answer(server)));
    let relay = core.run(move |_| {
        let ((near_read, near_write), (far_read, far_write)) = (near.split(), far.split());
        let there = tokio_io::io::copy(near_read, far_write);
        there
            .join(tokio_io::io::copy(far_read, near_write))
            .map(drop)
    });
    assert!(
        tokio::time::timeout(SHORT, relay).await.is_err(),
        "each waits for the other"
    );
    // Dropping the relay has closed both sockets.
    assert_eq!(
        (answered.await.unwrap().is_ok(), asked.await.unwrap()?),
        (true, String::new())
    );

    // Naive: the same, to the word.
    let naive = relayed(SHORT, |near, far| async move {
        let ((mut near_read, mut near_write), (mut far_read, mut far_write)) =
            (split(near), split(far));
        let there = copy(&mut near_read, &mut far_write);
        tokio::try_join!(there, copy(&mut far_read, &mut near_write))
            .map(drop)
            .unwrap();
    });
    assert_eq!(naive.await, None);

    // Right.
    let right = relayed(LONG, |mut near, mut far| async move {
        copy_bidirectional(&mut near, &mut far).await.unwrap();
    });
    assert_eq!(right.await.as_deref(), Some("question"));
    Ok(())
}

/// An end of a relay: reads as configured, and takes a byte at a time, every other poll.
struct Slow {
    read: Option<io::Result<&'static [u8]>>,
    wrote: Arc<Mutex<Vec<u8>>>,
    busy: bool,
}

impl Slow {
    fn new(read: io::Result<&'static [u8]>) -> Slow {
        Slow {
            read: Some(read),
            wrote: Arc::default(),
            busy: false,
        }
    }
}

impl AsyncRead for Slow {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(
            self.read
                .take()
                .unwrap_or(Ok(b""))
                .map(|bytes| buf.put_slice(bytes)),
        )
    }
}

impl AsyncWrite for Slow {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.busy = !self.busy;
        if self.busy {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.wrote.lock().unwrap().push(buf[0]);
        Poll::Ready(Ok(1))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn row_56_its_first_error_loses_what_the_other_way_had_read() {
    const LAST_WORDS: &[u8] = b"the last words";

    // A client whose upload is reset while the server's reply is on its way to it, and what it
    // gets.
    let tunnel = || {
        let client = Slow::new(Err(io::ErrorKind::ConnectionReset.into()));
        let got = client.wrote.clone();
        (client, Slow::new(Ok(LAST_WORDS)), move || {
            got.lock().unwrap().clone()
        })
    };

    // futures 0.1: `join` fails at the first error, and drops the other copy with its buffer.
    let (client, server, got) = tunnel();
    let client = AsIo01::new(client, ShutdownPolicy::Ignore);
    let server = AsIo01::new(server, ShutdownPolicy::Ignore);
    let ((client_read, client_write), (server_read, server_write)) =
        (client.split(), server.split());
    let download = tokio_io::io::copy(server_read, client_write);
    assert!(download
        .join(tokio_io::io::copy(client_read, server_write))
        .wait()
        .is_err());
    assert_eq!(got(), b"");

    // Naive: as before.
    let (mut client, mut server, got) = tunnel();
    assert!(copy_bidirectional(&mut client, &mut server).await.is_err());
    assert_eq!(got(), b"");

    // Right, where the reply matters: each direction comes to its own end.
    let (client, server, got) = tunnel();
    let ((mut client_read, mut client_write), (mut server_read, mut server_write)) =
        (split(client), split(server));
    let (download, upload) = tokio::join!(
        copy(&mut server_read, &mut client_write),
        copy(&mut client_read, &mut server_write)
    );
    assert_eq!((download.unwrap(), upload.is_err()), (14, true));
    assert_eq!(got(), LAST_WORDS);
}
