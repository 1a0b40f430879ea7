//! TCP and UDP sockets.

mod connect;
mod tcp_listener;
mod tcp_stream;
mod udp;
mod udp_framed;

pub use self::connect::TcpStreamNew;
pub use self::tcp_listener::{Incoming, TcpListener};
pub use self::tcp_stream::TcpStream;
pub use self::udp::{RecvDgram, SendDgram, UdpSocket};
pub use self::udp_framed::{UdpCodec, UdpFramed};
