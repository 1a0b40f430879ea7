//! What the engine asks of Linux: a thin, safe face over it. That is an epoll set whose events tell a
//! half-close (`EPOLLRDHUP`, which mio 0.6 doesn't ask for), `accept4`, `splice` between a socket and
//! a pipe, the limit on descriptors, and the clock that a service manager goes by. Policy is left to
//! the callers: nothing here retries, waits or logs.

use std::io;
use std::mem;
use std::os::unix::io::{AsRawFd, FromRawFd, RawFd};
use std::time::Duration;

use libc::c_int;
use socket2::{SockAddr, Socket};

/// A descriptor that this value owns; closed on drop.
#[derive(Debug)]
struct Descriptor(RawFd);

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours alone, from the call that made it to this one.
        unsafe { libc::close(self.0) };
    }
}

fn check(answer: c_int) -> io::Result<c_int> {
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(answer)
    }
}

fn check_size(answer: libc::ssize_t) -> io::Result<usize> {
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(answer as usize)
    }
}

/// A descriptor that stands for nothing, but takes a place.
#[derive(Debug)]
pub(crate) struct ReservedFd {
    _taken: Descriptor,
}

/// An edge-triggered epoll set.
#[derive(Debug)]
pub(crate) struct Epoll(Descriptor);

/// What one wait brought, read by index. Made once and reused.
pub(crate) struct Events {
    ready: Vec<libc::epoll_event>,
}

/// One event: the token of the source, and what is ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) token: u64,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// A short read may leave something behind that no further event tells of: an end, an
    /// error, or what follows urgent data.
    pub(crate) more: bool,
    /// There is an error to be taken.
    pub(crate) failed: bool,
}

impl Epoll {
    /// A new, empty set, closed on exec.
    pub(crate) fn new() -> io::Result<Epoll> {
        // SAFETY: no pointers; the result is checked, then owned.
        check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(|fd| Epoll(Descriptor(fd)))
    }

    /// Another descriptor for the set, which is of no use but to be closed.
    pub(crate) fn spare(&self) -> io::Result<ReservedFd> {
        // SAFETY: takes no memory of ours; what it returns is ours alone.
        check(unsafe { libc::fcntl((self.0).0, libc::F_DUPFD_CLOEXEC, 0) }).map(|fd| ReservedFd {
            _taken: Descriptor(fd),
        })
    }

    /// Reports on `source` from now on, each change once, until it is [removed](Epoll::remove).
    pub(crate) fn add(&self, source: &impl AsRawFd, token: u64) -> io::Result<()> {
        let interest =
            libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLPRI | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event {
            events: interest as u32,
            u64: token,
        };
        let (set, fd) = ((self.0).0, source.as_raw_fd());
        // SAFETY: `event` lives through the call, which copies it; a bad descriptor is an error.
        check(unsafe { libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &mut event) }).map(drop)
    }

    /// Reports no more on a descriptor that was added. Call it before the descriptor is closed:
    /// the set keeps what another descriptor, of this process or another, still has open.
    pub(crate) fn remove(&self, fd: RawFd) -> io::Result<()> {
        let none = std::ptr::null_mut();
        // SAFETY: EPOLL_CTL_DEL reads no event; a bad descriptor is an error.
        check(unsafe { libc::epoll_ctl((self.0).0, libc::EPOLL_CTL_DEL, fd, none) }).map(drop)
    }

    /// Takes what is ready now, without waiting, and returns how many there are.
    pub(crate) fn poll(&self, events: &mut Events) -> io::Result<usize> {
        let room = events.ready.capacity() as c_int;
        // SAFETY: the kernel writes at most `room` events into memory of that capacity, and
        // says how many of them it wrote; only those become part of the vector.
        unsafe {
            let count = libc::epoll_wait((self.0).0, events.ready.as_mut_ptr(), room, 0);
            events.ready.set_len(count.max(0) as usize);
            check(count).map(|count| count as usize)
        }
    }
}

impl AsRawFd for Epoll {
    fn as_raw_fd(&self) -> RawFd {
        (self.0).0
    }
}

impl Events {
    /// Room for `capacity` events a wait.
    pub(crate) fn with_capacity(capacity: usize) -> Events {
        Events {
            ready: Vec::with_capacity(capacity),
        }
    }

    /// The event at `index`, below what [`Epoll::poll`] returned.
    pub(crate) fn at(&self, index: usize) -> Event {
        let event = self.ready[index];
        let has = |bits: c_int| event.events & bits as u32 != 0;
        Event {
            token: event.u64,
            // An error is read or written out of the socket: both directions must try.
            readable: has(libc::EPOLLIN
                | libc::EPOLLPRI
                | libc::EPOLLRDHUP
                | libc::EPOLLHUP
                | libc::EPOLLERR),
            writable: has(libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR),
            failed: has(libc::EPOLLERR),
            more: has(libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR | libc::EPOLLPRI),
        }
    }
}

/// Sets which permissions the file of a Unix socket will have that isn't bound yet, less the umask's.
pub(crate) fn set_mode(socket: &Socket, mode: libc::mode_t) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::fchmod(socket.as_raw_fd(), mode) }).map(drop)
}

/// Takes one client from `listener`: a socket that doesn't block, closed on exec.
pub(crate) fn accept(listener: &Socket) -> io::Result<(Socket, SockAddr)> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: `init` hands in storage and a length that fit each other, and the kernel fills in
    // both. The new descriptor is owned by the `Socket` before anything else can fail.
    unsafe {
        SockAddr::init(|storage, length| {
            let fd = libc::accept4(listener.as_raw_fd(), storage as *mut _, length, flags);
            check(fd).map(|fd| Socket::from_raw_fd(fd))
        })
    }
}

/// A kernel buffer, filled and drained by splice(2).
#[derive(Debug)]
pub struct Pipe {
    reader: Descriptor,
    writer: Descriptor,
}

impl Pipe {
    /// A pipe that doesn't block and holds `capacity` bytes.
    ///
    /// # Errors
    ///
    /// Without descriptors, and when the user's share of pipe memory (`pipe-user-pages-soft`) is
    /// used up: what is left then is two pages, and copying is quicker.
    pub fn new(capacity: usize) -> io::Result<Pipe> {
        let mut ends = [0; 2];
        // SAFETY: the kernel writes two descriptors into an array of two.
        check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK | libc::O_CLOEXEC) })?;
        let pipe = Pipe {
            reader: Descriptor(ends[0]),
            writer: Descriptor(ends[1]),
        };
        // SAFETY: no pointers.
        check(unsafe { libc::fcntl(pipe.writer.0, libc::F_SETPIPE_SZ, capacity as c_int) })?;
        Ok(pipe)
    }

    /// Moves up to `most` bytes from the socket into the pipe, without copying them.
    ///
    /// 0 is the end of the stream; `WouldBlock` means that the socket is empty *or* that the
    /// pipe is full: only who knows the pipe to be empty can tell.
    pub fn fill(&self, from: &impl AsRawFd, most: usize) -> io::Result<usize> {
        splice(from.as_raw_fd(), self.writer.0, most)
    }

    /// Moves up to `most` bytes from the pipe into the socket.
    pub fn drain(&self, to: &impl AsRawFd, most: usize) -> io::Result<usize> {
        splice(self.reader.0, to.as_raw_fd(), most)
    }

    /// Reads so many bytes, which are in the pipe.
    pub(crate) fn read_exact(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let left = &mut bytes[done..];
            // SAFETY: the kernel writes at most as many bytes as `left` has, which lives through the
            // call.
            let count =
                unsafe { libc::read(self.reader.0, left.as_mut_ptr() as *mut _, left.len()) };
            match check_size(count) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => done += count,
                Err(ref e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

fn splice(from: RawFd, to: RawFd, most: usize) -> io::Result<usize> {
    let flags = libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK;
    let none = std::ptr::null_mut();
    // SAFETY: null offsets are allowed; pipes and sockets have none.
    check_size(unsafe { libc::splice(from, none, to, none, most, flags) })
}

/// Descriptors that this process may have: the limit now, and how far it may be raised.
fn descriptor_limits() -> io::Result<libc::rlimit> {
    // SAFETY: all zeroes are a limit, and the kernel fills in the struct that it is handed.
    unsafe {
        let mut limit: libc::rlimit = mem::zeroed();
        check(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit))?;
        Ok(limit)
    }
}

/// How many descriptors this process may have now.
pub(crate) fn descriptor_limit() -> io::Result<u64> {
    descriptor_limits().map(|limit| limit.rlim_cur)
}

/// Raises the limit on descriptors to its hard limit; returns what it is now.
pub(crate) fn raise_descriptor_limit() -> io::Result<u64> {
    let mut limit = descriptor_limits()?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the kernel reads the struct that it is handed.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    Ok(limit.rlim_cur)
}

/// CLOCK_MONOTONIC, which `Instant` keeps to itself.
pub(crate) fn monotonic() -> Duration {
    // SAFETY: all zeroes are a time, and the kernel fills in the struct that it is handed; it fails
    // for clocks alone that it doesn't have.
    unsafe {
        let mut now: libc::timespec = mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }
}

/// Makes the reader of our stdout see its end; what is written there afterwards is lost. The end of
/// a socket that others keep open has to be sent.
pub(crate) fn close_stdout(is_shared_socket: bool) {
    if is_shared_socket {
        // SAFETY: no pointers; what isn't connected any more is an error, and has its end.
        unsafe { libc::shutdown(libc::STDOUT_FILENO, libc::SHUT_WR) };
    }
    // SAFETY: descriptor 1 stays valid throughout: dup2 replaces it in one step, so that no
    // descriptor opened meanwhile can become stdout.
    unsafe {
        let null = libc::open(
            b"/dev/null\0".as_ptr() as *const _,
            libc::O_WRONLY | libc::O_CLOEXEC,
        );
        if null >= 0 {
            libc::dup2(null, libc::STDOUT_FILENO);
            libc::close(null);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::thread;
    use std::time::Instant;

    #[test]
    fn an_event_tells_data_from_a_half_close() {
        let epoll = Epoll::new().unwrap();
        let mut events = Events::with_capacity(4);
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        epoll.add(&ours, 7).unwrap();

        theirs.write_all(b"x").unwrap();
        assert_eq!(epoll.poll(&mut events).unwrap(), 1);
        let event = events.at(0);
        assert_eq!(event.token, 7);
        assert!(event.readable && event.writable && !event.more);

        theirs.shutdown(Shutdown::Write).unwrap();
        assert_eq!(epoll.poll(&mut events).unwrap(), 1);
        assert!(events.at(0).more);
        assert_eq!(epoll.poll(&mut events).unwrap(), 0, "each change once");
    }

    /// The kernel went on to report on it, and refused another one with its number.
    #[test]
    fn a_descriptor_that_is_removed_is_not_reported_on_though_its_socket_is_open_elsewhere() {
        let epoll = Epoll::new().unwrap();
        let mut events = Events::with_capacity(4);
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let same = ours.try_clone().unwrap();
        epoll.add(&same, 7).unwrap();
        epoll.remove(same.as_raw_fd()).unwrap();
        theirs.write_all(b"x").unwrap();
        assert_eq!(epoll.poll(&mut events).unwrap(), 0);
        epoll.add(&same, 8).unwrap();
        assert_eq!(epoll.poll(&mut events).unwrap(), 1);
        assert_eq!(events.at(0).token, 8);
    }

    #[test]
    fn bytes_go_through_a_pipe_unharmed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let pipe = Pipe::new(65_536).unwrap();
        let (out, mut seen) = UnixStream::pair().unwrap();
        client.write_all(b"hello").unwrap();
        assert_eq!(pipe.fill(&server, 65_536).unwrap(), 5);
        assert_eq!(pipe.drain(&out, 5).unwrap(), 5);
        let mut buffer = [0; 8];
        assert_eq!(seen.read(&mut buffer).unwrap(), 5);
        assert_eq!(&buffer[..5], b"hello");
        drop(client);
        assert_eq!(pipe.fill(&server, 1).unwrap(), 0, "the end is the end");
    }

    #[test]
    fn the_clock_goes_as_an_instant_does() {
        let (instant, begin) = (Instant::now(), monotonic());
        thread::sleep(Duration::from_millis(20));
        let passed = monotonic() - begin;
        assert!(passed >= Duration::from_millis(20) && passed <= instant.elapsed());
    }

    #[test]
    fn the_limit_on_descriptors_is_at_its_hard_limit_afterwards() {
        let now = raise_descriptor_limit().unwrap();
        assert_eq!(raise_descriptor_limit().unwrap(), now);
        assert_eq!(descriptor_limit().unwrap(), now);
    }
}
