//! An epoll set that reports a half-close: `EPOLLRDHUP`, which mio 0.6 doesn't request.

use std::fs::File;
use std::io;
use std::os::unix::io::{AsRawFd, FromRawFd, RawFd};

use libc::c_int;

use super::descriptor::{check, ReservedFd};

/// An edge-triggered epoll set.
#[derive(Debug)]
pub struct Epoll(File);

/// The events of one call of [`Epoll::poll`]. Created once and reused.
pub struct Events {
    ready: Vec<libc::epoll_event>,
}

/// One event: the token of the source, and its readiness.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The token of the source.
    pub token: u64,
    /// It can be read.
    pub readable: bool,
    /// It can be written to.
    pub writable: bool,
    /// A short read can leave something that no further event reports: an end, an error, or data
    /// after urgent data.
    pub more: bool,
    /// The socket has an error (SO_ERROR).
    pub failed: bool,
}

impl Epoll {
    /// Creates an empty set, closed on exec.
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: no pointers; the result is checked, and the new descriptor has no other owner.
        unsafe {
            let set = check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?;
            Ok(Epoll(File::from_raw_fd(set)))
        }
    }

    /// Duplicates the set's descriptor.
    pub fn reserve(&self) -> io::Result<ReservedFd> {
        ReservedFd::of(&self.0)
    }

    /// Adds `source`: each change of its readiness is one event, until it is
    /// [removed](Epoll::remove).
    pub fn add(&self, source: &impl AsRawFd, token: u64) -> io::Result<()> {
        let interest =
            libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLPRI | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event {
            events: interest as u32,
            u64: token,
        };
        let (set, fd) = (self.as_raw_fd(), source.as_raw_fd());
        // SAFETY: `event` lives through the call, which copies it; a bad descriptor is an error.
        check(unsafe { libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &mut event) }).map(drop)
    }

    /// Sets whether an event of this set ends the waits in `outer`, another epoll set, of which it is
    /// part with this token. To remove this set and add it again would take longer the more it holds,
    /// since the kernel then looks for a circle.
    ///
    /// # Errors
    ///
    /// `ENOENT` if it isn't part of `outer`.
    pub fn set_wakes(&self, outer: RawFd, token: u64, wakes: bool) -> io::Result<()> {
        let interest = if wakes { libc::EPOLLIN } else { 0 };
        let mut event = libc::epoll_event {
            events: (interest | libc::EPOLLET) as u32,
            u64: token,
        };
        let set = self.as_raw_fd();
        // SAFETY: as in `add`.
        check(unsafe { libc::epoll_ctl(outer, libc::EPOLL_CTL_MOD, set, &mut event) }).map(drop)
    }

    /// Removes a descriptor that was added. Must be called before the descriptor is closed: the set
    /// keeps a socket that another descriptor, also of another process, has open.
    pub fn remove(&self, fd: RawFd) -> io::Result<()> {
        let none = std::ptr::null_mut();
        // SAFETY: EPOLL_CTL_DEL reads no event; a bad descriptor is an error.
        check(unsafe { libc::epoll_ctl(self.as_raw_fd(), libc::EPOLL_CTL_DEL, fd, none) }).map(drop)
    }

    /// Fetches the events that are ready now, without waiting, and returns their number.
    pub fn poll(&self, events: &mut Events) -> io::Result<usize> {
        self.take(events, 0)
    }

    /// Like [`poll`](Epoll::poll), but waits until there is an event.
    pub fn wait(&self, events: &mut Events) -> io::Result<usize> {
        self.take(events, -1)
    }

    fn take(&self, events: &mut Events, timeout: c_int) -> io::Result<usize> {
        let room = events.ready.capacity() as c_int;
        let set = self.as_raw_fd();
        // SAFETY: the kernel writes at most `room` events into memory of that capacity, and
        // returns how many it wrote; only those become part of the vector.
        unsafe {
            let count = libc::epoll_wait(set, events.ready.as_mut_ptr(), room, timeout);
            events.ready.set_len(count.max(0) as usize);
            check(count).map(|count| count as usize)
        }
    }
}

impl AsRawFd for Epoll {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Events {
    /// Allocates room for `capacity` events per call.
    pub fn with_capacity(capacity: usize) -> Events {
        Events {
            ready: Vec::with_capacity(capacity),
        }
    }

    /// Returns the event at `index`.
    ///
    /// # Panics
    ///
    /// `index` isn't below the number that [`Epoll::poll`] returned.
    #[cfg(test)]
    fn at(&self, index: usize) -> Event {
        Event::from(self.ready[index])
    }

    /// Returns the events that were fetched.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.ready.iter().copied().map(Event::from)
    }
}

impl From<libc::epoll_event> for Event {
    fn from(event: libc::epoll_event) -> Event {
        let has = |bits: c_int| event.events & bits as u32 != 0;
        Event {
            token: event.u64,
            // A read or a write returns an error: both directions must try.
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn an_event_distinguishes_data_from_a_half_close() {
        let epoll = Epoll::new().unwrap();
        let mut events = Events::with_capacity(4);
        let (socket, mut peer) = UnixStream::pair().unwrap();
        epoll.add(&socket, 7).unwrap();

        peer.write_all(b"x").unwrap();
        assert_eq!(epoll.poll(&mut events).unwrap(), 1);
        let event = events.at(0);
        assert_eq!(event.token, 7);
        assert!(event.readable && event.writable && !event.more);

        peer.shutdown(Shutdown::Write).unwrap();
        assert_eq!(epoll.poll(&mut events).unwrap(), 1);
        assert!(events.at(0).more);
        assert_eq!(epoll.poll(&mut events).unwrap(), 0, "each change once");
    }

    #[test]
    fn a_nested_set_can_be_muted() {
        let (outer, inner) = (Epoll::new().unwrap(), Epoll::new().unwrap());
        let mut events = Events::with_capacity(4);
        let (socket, mut peer) = UnixStream::pair().unwrap();
        outer.add(&inner, 7).unwrap();
        inner.add(&socket, 8).unwrap();
        inner.set_wakes(outer.as_raw_fd(), 7, true).unwrap();
        assert_eq!(outer.poll(&mut events).unwrap(), 1, "it can be written");
        inner.set_wakes(outer.as_raw_fd(), 7, false).unwrap();
        peer.write_all(b"x").unwrap();
        assert_eq!(outer.poll(&mut events).unwrap(), 0);
        inner.set_wakes(outer.as_raw_fd(), 7, true).unwrap();
        assert_eq!(outer.poll(&mut events).unwrap(), 1);
        assert_eq!(events.at(0).token, 7);
        assert_eq!(outer.poll(&mut events).unwrap(), 0);
    }

    /// Regression: the kernel continued to report it, and refused another descriptor with its
    /// number.
    #[test]
    fn a_removed_descriptor_is_not_reported_while_its_socket_is_open_elsewhere() {
        let epoll = Epoll::new().unwrap();
        let mut events = Events::with_capacity(4);
        let (socket, mut peer) = UnixStream::pair().unwrap();
        let same = socket.try_clone().unwrap();
        epoll.add(&same, 7).unwrap();
        epoll.remove(same.as_raw_fd()).unwrap();
        peer.write_all(b"x").unwrap();
        assert_eq!(epoll.poll(&mut events).unwrap(), 0);
        epoll.add(&same, 8).unwrap();
        assert_eq!(epoll.poll(&mut events).unwrap(), 1);
        assert_eq!(events.at(0).token, 8);
    }
}
