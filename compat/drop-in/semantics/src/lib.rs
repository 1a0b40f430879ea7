//! Helpers that the tests share. Each test runs against the real tokio-core and the drop-in.

use std::any::Any;
use std::cell::Cell;
use std::env;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::os::unix::io::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{self, Command};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures::executor::{self, Notify};
use futures::{future, task, Async, Future};
use tokio_core::net::TcpStream;
use tokio_core::reactor::Core;

/// Returns whether tokio-core is the real one.
pub fn real() -> bool {
    cfg!(feature = "real")
}

/// Time that a test gets before its watchdog ends the process.
const LIMIT: Duration = Duration::from_secs(60);

/// Time that `within` waits for its condition.
const PATIENCE: Duration = Duration::from_secs(20);

/// A thread that aborts the process if the test still runs after `LIMIT`.
pub struct Watchdog {
    _stop: mpsc::Sender<()>,
}

impl Watchdog {
    pub fn start(test: &'static str) -> Watchdog {
        let (stop, stopped) = mpsc::channel::<()>();
        thread::spawn(move || {
            if let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(LIMIT) {
                // Written past the test harness, which captures what a test prints.
                let _ = writeln!(
                    io::stderr(),
                    "{test}: still running after {LIMIT:?}, so the test hangs; aborting"
                );
                process::abort();
            }
        });
        Watchdog { _stop: stop }
    }
}

/// The name of the test that calls it.
#[macro_export]
macro_rules! test_name {
    () => {{
        fn here() {}
        let name = std::any::type_name_of_val(&here);
        let name = name.strip_suffix("::here").unwrap();
        name.split_once("::").unwrap().1
    }};
}

/// Starts the watchdog of the test that calls it. Each test begins with this line.
#[macro_export]
macro_rules! watchdog {
    () => {
        let _watchdog = $crate::Watchdog::start($crate::test_name!());
    };
}

/// Runs `$body` in a separate process, so that no other test opens or closes descriptors meanwhile.
#[macro_export]
macro_rules! own_process {
    ($body:expr) => {
        $crate::in_own_process($crate::test_name!(), $body)
    };
}

pub fn in_own_process(test: &str, body: impl FnOnce()) {
    const CHILD: &str = "SEMANTICS_CHILD";
    if env::var_os(CHILD).is_some_and(|name| name == *test) {
        return body();
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, test)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{}\n{stdout}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Counts this process's open descriptors.
pub fn descriptors() -> usize {
    // The directory that is being read has one, too.
    fs::read_dir("/proc/self/fd").unwrap().count() - 1
}

/// A task that counts its notifications and is not run by a Core.
#[derive(Default)]
pub struct Bell(AtomicUsize);

impl Bell {
    pub fn new() -> Arc<Bell> {
        Arc::default()
    }

    pub fn rung(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Calls `f` inside of this task.
    pub fn enter<R>(self: &Arc<Self>, f: impl FnOnce() -> R) -> R {
        let mut f = Some(f);
        let poll = future::poll_fn(|| Ok::<_, ()>(Async::Ready(f.take().unwrap()())));
        match executor::spawn(poll).poll_future_notify(self, 0) {
            Ok(Async::Ready(value)) => value,
            _ => unreachable!(),
        }
    }
}

impl Notify for Bell {
    fn notify(&self, _id: usize) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Sets its flag when it is dropped.
pub struct DropFlag(Rc<Cell<bool>>);

impl DropFlag {
    pub fn new() -> (DropFlag, Rc<Cell<bool>>) {
        let flag = Rc::new(Cell::new(false));
        (DropFlag(flag.clone()), flag)
    }
}

impl Drop for DropFlag {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// Waits for `condition`; panics when it does not hold in time.
pub fn within(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "did not happen: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Turns `core` until `condition` holds; panics when it does not in time.
pub fn turn_until(core: &mut Core, what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "did not happen: {what}");
        core.turn(Some(Duration::from_millis(5)));
    }
}

/// Turns `core` for `time`.
pub fn turn_for(core: &mut Core, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        core.turn(Some(Duration::from_millis(5)));
    }
}

/// Gives up the processor `times` times, each time ready to go on at once.
pub fn yields(mut times: usize) -> impl Future<Item = (), Error = ()> {
    future::poll_fn(move || {
        if times == 0 {
            return Ok(Async::Ready(()));
        }
        times -= 1;
        task::current().notify();
        Ok(Async::NotReady)
    })
}

/// An address of this machine that no other test uses, so that none takes a port that was closed.
pub fn own_addr() -> SocketAddr {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let [_, _, high, low] = process::id().to_be_bytes();
    let n = NEXT.fetch_add(1, Ordering::SeqCst);
    SocketAddr::from(([127, 128 + high % 64, low, u8::try_from(n).unwrap()], 0))
}

/// An address that refuses connections.
pub fn closed_addr() -> SocketAddr {
    StdListener::bind(own_addr()).unwrap().local_addr().unwrap()
}

/// A listener outside of tokio-core.
pub fn std_listener() -> (StdListener, SocketAddr) {
    let listener = StdListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    (listener, addr)
}

/// Accepts a connection that is in the listener's backlog, or will be soon.
pub fn accept(listener: &StdListener) -> StdStream {
    listener.set_nonblocking(true).unwrap();
    let mut accepted = None;
    within("a connection in the listener's backlog", || {
        accepted = listener.accept().ok();
        accepted.is_some()
    });
    peer(accepted.unwrap().0)
}

/// Sets up a blocking stream that gives up in time.
pub fn peer(stream: StdStream) -> StdStream {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Connects to a std stream and returns both ends.
pub fn connected(core: &mut Core) -> (TcpStream, StdStream) {
    let (listener, addr) = std_listener();
    let stream = TcpStream::connect(&addr, &core.handle());
    let stream = core.run(stream).unwrap();
    let peer = accept(&listener);
    (stream, peer)
}

/// Whether nothing, not even the end, has arrived at `peer`.
pub fn nothing_arrived(peer: &StdStream) -> bool {
    peer.set_nonblocking(true).unwrap();
    // Loopback delivers at once; the wait gives a wrong FIN time to arrive.
    thread::sleep(Duration::from_millis(20));
    let result = peer.peek(&mut [0]);
    peer.set_nonblocking(false).unwrap();
    matches!(result, Err(ref error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// Writes until the socket takes no more, and returns how much it took.
pub fn fill(stream: &TcpStream) -> usize {
    let mut written = 0;
    let mut stream = stream;
    loop {
        match stream.write(&[7; 65536]) {
            Ok(n) => written += n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return written,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns what a panic said.
pub fn message(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => match payload.downcast::<&str>() {
            Ok(text) => text.to_string(),
            Err(_) => String::from("(a payload that is no text)"),
        },
    }
}

/// One end of a pair of Unix sockets, as a source for `PollEvented`.
#[derive(Debug)]
pub struct Descriptor(UnixStream);

impl Descriptor {
    pub fn pair() -> (Descriptor, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_read_timeout(Some(PATIENCE)).unwrap();
        (Descriptor(ours), theirs)
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Read for Descriptor {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl Write for Descriptor {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Read for &Descriptor {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(buf)
    }
}

impl Write for &Descriptor {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&self.0).write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.0).flush()
    }
}

#[cfg(feature = "real")]
mod source {
    use std::io;
    use std::os::unix::io::AsRawFd;

    use mio::unix::EventedFd;
    use mio::{Evented, Poll, PollOpt, Ready, Token};

    impl Evented for super::Descriptor {
        fn register(&self, poll: &Poll, token: Token, on: Ready, how: PollOpt) -> io::Result<()> {
            EventedFd(&self.as_raw_fd()).register(poll, token, on, how)
        }

        fn reregister(&self, poll: &Poll, token: Token, on: Ready, how: PollOpt) -> io::Result<()> {
            EventedFd(&self.as_raw_fd()).reregister(poll, token, on, how)
        }

        fn deregister(&self, poll: &Poll) -> io::Result<()> {
            EventedFd(&self.as_raw_fd()).deregister(poll)
        }
    }
}

#[cfg(feature = "real")]
pub use mio::Ready;
#[cfg(not(feature = "real"))]
pub use tokio_core::reactor::Ready;
