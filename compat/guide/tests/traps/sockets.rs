//! Rows 59 to 67: when and by which call a FIN is sent, which clients are accepted, and which
//! address is connected to.

use std::fs::File;
use std::future::poll_fn;
use std::process::Command;
use std::task::{ready, Poll};
use std::time::Duration;
use std::{env, io, iter, thread};

use futures01::Stream as _;
use tokio::io::{split, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::sleep;
use tokio_core::reactor::Core;
use tokio_core_compat::core_thread::CoreThread;
use tokio_io::AsyncRead as _;

/// Two ends of a TCP connection.
pub async fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let near = TcpStream::connect(listener.local_addr()?).await?;
    Ok((near, listener.accept().await?.0))
}

/// The same, with the near end on a Core and the far one on none.
pub fn tcp_pair_01(core: &mut Core) -> (tokio_core::net::TcpStream, std::net::TcpStream) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let near = tokio_core::net::TcpStream::connect(&listener.local_addr().unwrap(), &core.handle());
    (core.run(near).unwrap(), listener.accept().unwrap().0)
}

/// The same, with the near end on the Core of a thread.
pub async fn tcp_pair_apart(core: &CoreThread) -> (tokio_core::net::TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let near = core.run(move |handle| tokio_core::net::TcpStream::connect(&addr, handle));
    (
        near.await.unwrap().unwrap(),
        listener.accept().await.unwrap().0,
    )
}

/// What comes next at the peer: a byte, or `None` for a FIN. A test that expects no FIN sends a
/// byte after what might have sent one.
pub async fn next(far: &mut TcpStream) -> Option<u8> {
    match far.read_u8().await {
        Ok(byte) => Some(byte),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
        Err(error) => panic!("neither a byte nor a FIN: {error}"),
    }
}

#[tokio::test]
async fn row_59_shutdown_has_become_a_fin() -> io::Result<()> {
    // futures 0.1: on tokio-core's stream it does nothing; code calls it out of habit.
    let core = CoreThread::new("core")?;
    let (near, mut far) = tcp_pair_apart(&core).await;
    let habit = core.run(|_| tokio_io::io::shutdown(near)).await.unwrap()?;
    core.run(|_| tokio_io::io::write_all(habit, "x"))
        .await
        .unwrap()?;
    assert_eq!(next(&mut far).await, Some(b'x'));

    // Naive: the same word ends the stream.
    let (mut near, mut far) = tcp_pair().await?;
    near.shutdown().await?;
    assert!(near.write_all(b"x").await.is_err());
    assert_eq!(next(&mut far).await, None);

    // Right: what did nothing is left out; what meant to flush says so.
    let (mut near, mut far) = tcp_pair().await?;
    near.flush().await?;
    near.write_all(b"x").await?;
    assert_eq!(next(&mut far).await, Some(b'x'));
    Ok(())
}

#[tokio::test]
async fn row_60_an_owned_write_half_sends_fin_when_dropped() -> io::Result<()> {
    // futures 0.1: a half is a handle; the socket goes with the last.
    let core = CoreThread::new("core")?;
    let (near, mut far) = tcp_pair_apart(&core).await;
    let (read, write) = near.split();
    drop(write);
    assert!(is_open(&mut far).await);
    drop(read);
    assert_eq!(next(&mut far).await, None);

    // Naive: `into_split` for `split`. A writer that is done ends the stream.
    let (near, mut far) = tcp_pair().await?;
    let (_read, write) = near.into_split();
    drop(write);
    assert_eq!(next(&mut far).await, None);

    // Right, if no FIN is meant: `forget` it, or `io::split`.
    let (near, mut far) = tcp_pair().await?;
    let (read, write) = near.into_split();
    write.forget();
    assert_eq!(read.as_ref().try_write(b"x")?, 1);
    assert_eq!(next(&mut far).await, Some(b'x'));

    let (near, mut far) = tcp_pair().await?;
    let (_read, write) = split(near);
    drop(write);
    assert!(is_open(&mut far).await);
    Ok(())
}

/// Whether no FIN has come, and none comes for a while.
async fn is_open(far: &mut TcpStream) -> bool {
    tokio::time::timeout(Duration::from_millis(50), next(far))
        .await
        .is_err()
}

#[test]
fn row_66_accept_spins_while_descriptors_are_short() {
    if in_a_process_of_few_descriptors() {
        accept_without_descriptors();
    }
}

/// Runs the calling test in a separate process, because a limit is the whole process's, and says
/// whether this is it.
fn in_a_process_of_few_descriptors() -> bool {
    const MARK: &str = "PTUNNEL_FEW_DESCRIPTORS";
    if env::var_os(MARK).is_some() {
        return true;
    }
    let name = thread::current().name().expect("the test's").to_owned();
    let limited = Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$@\"", "sh"])
        .arg(env::current_exe().unwrap())
        .args(["--exact", &name])
        .env(MARK, "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&limited.stdout);
    assert!(
        limited.status.success() && said.contains("1 passed"),
        "{said}"
    );
    false
}

fn accept_without_descriptors() {
    /// Too many open files.
    const EMFILE: i32 = 24;
    /// In one poll; tokio lets a task have its way 128 times.
    const ATTEMPTS: usize = 100;

    /// Every available descriptor, returned by the drop.
    fn exhaust() -> Vec<File> {
        iter::from_fn(|| File::open("/dev/null").ok()).collect()
    }
    fn is_short<T>(accepted: &io::Result<T>) -> bool {
        let error = accepted.as_ref().err();
        error.and_then(io::Error::raw_os_error) == Some(EMFILE)
    }

    // futures 0.1: a listener that outlives errors asks again at once, and is never told to wait.
    let mut core = Core::new().unwrap();
    let any = ([127, 0, 0, 1], 0).into();
    let listener = tokio_core::net::TcpListener::bind(&any, &core.handle()).unwrap();
    let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let taken = exhaust();
    let mut clients = listener.incoming();
    let asking = futures01::future::poll_fn(|| {
        if let Ok(futures01::Async::NotReady) = clients.poll() {
            return Ok::<_, ()>(futures01::Async::NotReady);
        }
        let short = (0..ATTEMPTS).take_while(|_| is_short(&clients.poll()));
        Ok(futures01::Async::Ready(short.count()))
    });
    assert_eq!(core.run(asking), Ok(ATTEMPTS));
    drop(taken);

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind(any).await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = TcpStream::connect(address).await.unwrap();

        // Naive: so does the loop, as fast as it can, and those who could give one back wait.
        let taken = exhaust();
        let short = poll_fn(|cx| {
            let first = ready!(listener.poll_accept(cx));
            assert!(is_short(&first));
            let asked = (0..ATTEMPTS).map(|_| listener.poll_accept(cx));
            let short = asked.take_while(|answer| matches!(answer, Poll::Ready(a) if is_short(a)));
            Poll::Ready(short.count())
        });
        assert_eq!(short.await, ATTEMPTS);

        // Right: wait before the next. Meanwhile a descriptor comes back.
        let giving_back = async {
            sleep(Duration::from_millis(50)).await;
            drop(taken);
        };
        let accepting = async {
            let mut attempts = 1;
            loop {
                match listener.accept().await {
                    Ok((_, address)) => return (attempts, address),
                    Err(_) => sleep(Duration::from_millis(20)).await,
                }
                attempts += 1;
            }
        };
        let ((attempts, accepted), ()) = tokio::join!(accepting, giving_back);
        assert!((2..10).contains(&attempts), "{attempts}");
        assert_eq!(accepted, client.local_addr().unwrap());
    });
}

#[tokio::test]
async fn row_67_connect_tries_every_address() -> io::Result<()> {
    // Bound, and not listening.
    let refusing = TcpSocket::new_v4()?;
    refusing.bind(([127, 0, 0, 1], 0).into())?;
    let allowed = refusing.local_addr()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let forbidden = listener.local_addr()?;

    // futures 0.1: one address, the one that was looked at.
    let core = CoreThread::new("core")?;
    let refused = core.run(move |handle| tokio_core::net::TcpStream::connect(&allowed, handle));
    assert!(refused.await.unwrap().is_err());

    // Naive: the first of a name's addresses was looked at; the connection goes to the second.
    let naive = TcpStream::connect(&[allowed, forbidden][..]).await?;
    assert_eq!(naive.peer_addr()?, forbidden);

    // Right: look at each address, and connect to it alone.
    assert!(TcpStream::connect(allowed).await.is_err());
    Ok(())
}
