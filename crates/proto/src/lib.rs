//! Bytes and values without I/O: HTTP/1.1, SOCKS 4 and 5, authentication, the PROXY protocol, and the
//! [`values`] of options.
//!
//! Holds decoders, encoders, state machines and parsers. Must not hold anything that reads, writes,
//! waits or names futures, nor options of the command line, except `--proxy-auth` in the text of a
//! refusal. It uses no other crate of this repository; `ptunnel-core`, `ptunnel-cli`, the program, the
//! rungs of `compat/ladder` and the fuzz targets use it.
//!
//! - With a proxy: a [`Negotiation`] opens a tunnel, over HTTP from a [`Request`], over SOCKS from
//!   [`Socks5`] or [`Socks4`]; [`auth`] has the credentials; a [`Refusal`] says why there is no tunnel,
//!   without the [`Secrets`] that the proxy repeats.
//! - With a destination: [`StartTls`] precedes TLS.
//! - With a client: [`ConnectHead`] and [`SocksServer`] decode its request. A [`Forward`] is its
//!   request for an `http://` URL, and a [`Reply`] the server's reply. A [`ServerNameReader`] finds
//!   the destination's name in what a redirected client sends to it.
//! - To a proxy that is down: a `Ping`.
//! - With a server: a [`Download`] is the reply to ptunnel's own GET.
//! - In front of either: [`proxy_protocol`] has the header with the client's address.
//! - Below them: [`values`] are validated settings, [`text`] escapes and formats, [`sync`] locks.
//!
//! An incomplete message is `None`, not an error; a complete one comes with its length, after which
//! other bytes can follow. httparse tokenizes heads; their limits and their meaning are decided
//! here.
//!
//! ```
//! use ptunnel_proto::{Request, Response, StatusClass};
//!
//! let request = Request::connect(&"example.org:22".parse()?);
//! assert_eq!(
//!     request.encode(),
//!     b"CONNECT example.org:22 HTTP/1.1\r\nHost: example.org:22\r\n\r\n"
//! );
//!
//! let reply = b"HTTP/1.1 200 Connection established\r\n\r\nSSH-2.0-";
//! let (response, length) = Response::decode(reply, 16 * 1024)?.expect("a blank line");
//! assert_eq!(response.status_class(), StatusClass::Granted);
//! assert_eq!(&reply[length..], b"SSH-2.0-");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod auth;
mod http;
mod lines;
mod negotiation;
mod ping;
pub mod proxy_protocol;
mod refusal;
mod secrets;
mod server_name;
mod socks;
mod start_tls;
pub mod sync;
pub mod text;
pub mod values;

pub use self::http::download::{Download, DownloadError};
pub use self::http::forward::{
    BrokenChunk, Forward, ForwardError, Reply, ReplyError, RequestBoundary,
};
pub use self::http::framing::{Framing, FramingError};
pub use self::http::head::{with_bytes, FIELD_LIMIT};
pub use self::http::head::{HeadReader, Malformed, HEAD_LIMIT};
pub use self::http::request::{ConnectHead, Request};
pub use self::http::response::{encode_response, reason_phrase, Response, StatusClass};
pub use self::negotiation::StandingRefusal;
pub use self::negotiation::{AuthMethod, Negotiation, NegotiationStep, Outcome};
pub use self::ping::Ping;
pub use self::refusal::{Hint, HttpRefusal, Refusal, SocksRefusal};
pub use self::secrets::Secrets;
pub use self::server_name::{NoServerName, ServerNameReader};
pub use self::socks::{Socks4, Socks5, SocksError, SocksRejection, SocksReply, SocksServer};
pub use self::socks::{VERSION, VERSION_4};
pub use self::start_tls::{StartTls, StartTlsFault};

/// The next step of the caller of a state machine that ends with a `T`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// Read more bytes, and feed them.
    Read,
    /// Send these bytes, and feed an empty piece.
    Send(Vec<u8>),
    /// The messages are complete, with this result.
    Done(T),
}
