//! Seats for those who ask. There are few, so that they take little from the tunnels, and nobody
//! keeps one for nothing: who comes when all are taken has that of who has his answer already, or
//! else of who has asked nothing for longest.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// All of them.
pub(super) struct Slots {
    count: usize,
    table: Mutex<Table>,
    /// One was given back.
    freed: Condvar,
}

#[derive(Default)]
struct Table {
    taken: usize,
    /// Of these, who may have to go, in that order.
    idle: VecDeque<Arc<TcpStream>>,
}

/// One of them, for somebody as long as he has it.
pub(super) struct Slot {
    seats: Arc<Slots>,
    socket: Arc<TcpStream>,
}

impl Slots {
    pub(super) fn new(count: usize) -> Arc<Slots> {
        Arc::new(Slots {
            count,
            table: Mutex::default(),
            freed: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// A seat for who has come. `None` when all others are being answered.
    ///
    /// Whoever has a seat gives it back as soon as reading from its socket ends: for that it is
    /// waited.
    pub(super) fn take(seats: &Arc<Slots>, socket: TcpStream) -> Option<Slot> {
        let mut table = seats.lock();
        if table.taken == seats.count {
            let first = table.idle.pop_front()?;
            // It never fails on a socket that is connected, and one that isn't ends by itself.
            let _ = first.shutdown(Shutdown::Both);
            while table.taken == seats.count {
                let freed = seats.freed.wait(table);
                table = freed.unwrap_or_else(PoisonError::into_inner);
            }
        }
        let socket = Arc::new(socket);
        table.taken += 1;
        table.idle.push_back(socket.clone());
        let seats = seats.clone();
        Some(Slot { seats, socket })
    }

    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// He has asked, and keeps it. Whether he was in time for that.
    pub(super) fn keep(&self) -> bool {
        self.leave_idle(&mut self.seats.lock())
    }

    /// He has his answer, and would rather be the one to end it.
    pub(super) fn offer(&self) {
        self.seats.lock().idle.push_front(self.socket.clone());
    }

    fn leave_idle(&self, table: &mut Table) -> bool {
        let is_it = |idle: &Arc<TcpStream>| Arc::ptr_eq(idle, &self.socket);
        let place = table.idle.iter().position(is_it);
        place.and_then(|place| table.idle.remove(place)).is_some()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut table = self.seats.lock();
        self.leave_idle(&mut table);
        table.taken -= 1;
        self.seats.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// Reads until its socket ends, and gives its seat back.
    fn sit(seat: Slot) -> JoinHandle<()> {
        thread::spawn(move || {
            let _ = seat.socket().read(&mut [0]);
        })
    }

    #[test]
    fn who_was_answered_or_is_silent_gives_his_seat_and_who_has_asked_keeps_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let seats = Slots::new(3);
        let come = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            // Not for ever, where it is somebody else who has to go.
            client.set_read_timeout(Some(PATIENCE)).unwrap();
            let (socket, _) = listener.accept().unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            (client, Slot::take(&seats, socket))
        };
        let (_first, asked) = come();
        let asked = asked.unwrap();
        assert!(asked.keep());
        let (mut second, seat) = come();
        let second_sits = sit(seat.unwrap());
        let (mut third, seat) = come();
        let third_sits = sit(seat.unwrap());

        let (_fourth, fourth_seat) = come();
        assert_eq!(second.read(&mut [0]).unwrap(), 0);
        second_sits.join().unwrap();
        let (_fifth, fifth_seat) = come();
        assert_eq!(third.read(&mut [0]).unwrap(), 0);
        third_sits.join().unwrap();
        let (fourth_seat, fifth_seat) = (fourth_seat.unwrap(), fifth_seat.unwrap());
        assert!(fourth_seat.keep());
        asked.offer();
        let answered_sits = sit(asked);
        let (_sixth, sixth_seat) = come();
        answered_sits.join().unwrap();
        assert!(fifth_seat.keep() && sixth_seat.as_ref().unwrap().keep());
        assert!(come().1.is_none(), "all are being answered");
        drop(fifth_seat);
        assert!(come().1.is_some());
    }

    /// The question had been read while the seat was taken away.
    #[test]
    fn who_asks_too_late_is_told_so() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let seats = Slots::new(1);
        let come = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        };
        let (_first, socket) = come();
        let late = Slot::take(&seats, socket).unwrap();
        let sits = thread::spawn(move || {
            let _ = late.socket().read(&mut [0]);
            late.keep()
        });
        let (_second, socket) = come();
        assert!(Slot::take(&seats, socket).is_some());
        assert!(!sits.join().unwrap());
    }
}
