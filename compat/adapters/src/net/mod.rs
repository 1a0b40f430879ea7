//! tokio 1's sockets, as tokio-core's were used: shared, and with readiness by hand. On Unix.
//!
//! | you had | use |
//! |---|---|
//! | `Rc<TcpStream>`, read and written as `&TcpStream` | `Rc<AsIo01<tokio::net::TcpStream>>`: [`io::AsIo01`](crate::io::AsIo01) of a [`SharedStream`] is read and written by reference |
//! | `poll_read`, `need_read`, `poll_write`, `need_write` | the same, on the same wrapper |
//! | `TcpListener`, `accept` and `incoming`, tokio-uds' too | [`AsListener01`] |
//! | `UdpSocket`, `send_dgram` and `recv_dgram`; tokio-uds' `UnixDatagram` | [`AsDatagram01`] |
//! | `try_nb!` around a system call of your own | [`read_with`](crate::io::AsIo01::read_with), [`write_with`](crate::io::AsIo01::write_with) |
//!
//! # Wake-ups
//!
//! A call that returns `WouldBlock` or `NotReady` has registered the current task. As with
//! tokio-core, one task can wait for each direction of a socket: the one that asked last. Two tasks
//! that read one socket must take turns in some other way.
//!
//! # Budget
//!
//! Each call that reads, writes or accepts spends some of the [budget](crate::task#budget). A task
//! whose budget is spent gets `WouldBlock` from a socket that has data, and is polled again after the
//! others.
//!
//! # When the runtime is gone
//!
//! Calls that would wait fail with tokio's `io::Error`, and [`poll_read`](crate::io::AsIo01::poll_read)
//! says `Ready`, so that the call behind it shows the error.

mod datagram;
mod framed;
mod listener;
mod ready;
mod shared;

pub use self::datagram::{AsDatagram01, Datagram, RecvDgram, SendDgram};
pub use self::framed::{UdpCodec, UdpFramed};
pub use self::listener::{Accept, AsListener01, Incoming};
pub(crate) use self::ready::Directions;
pub use self::ready::Readiness;
pub use self::shared::SharedStream;

use std::io;

use futures01::{Async, Poll as Poll01};

/// `WouldBlock`, as a 0.1 poll says it.
fn not_ready<T>(result: io::Result<T>) -> Poll01<T, io::Error> {
    match result {
        Ok(value) => Ok(Async::Ready(value)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Async::NotReady),
        Err(error) => Err(error),
    }
}
