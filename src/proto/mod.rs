//! CONNECT as bytes: what is sent, what comes back, and what it means.
//!
//! Nothing here reads or writes, waits or knows of futures: functions from bytes to values and
//! back. That a head is incomplete is an answer ([`Decoded::Partial`]), not an error. Heads are
//! tokenised by httparse; the limits, the verdict and the bytes behind the head are ours. An
//! [`Negotiation`] says what is sent when; [`auth`] says in it who we are. [`Socks5`] and [`Socks4`] are
//! one with a proxy that speaks that instead of HTTP; clients of ours may speak it as well, and
//! [`Socks5Server`] and [`Socks4Server`] hear them. A [`Forward`] is a request of theirs that is
//! sent on, and a [`Reply`] what comes back.
//!
//! ```
//! use ptunnel::proto::{Decoded, Request, Response, StatusClass};
//!
//! let request = Request::connect(&"example.org:22".parse()?);
//! assert_eq!(
//!     request.encode(),
//!     b"CONNECT example.org:22 HTTP/1.1\r\nHost: example.org:22\r\n\r\n"
//! );
//!
//! let reply = b"HTTP/1.1 200 Connection established\r\n\r\nSSH-2.0-";
//! match Response::decode(reply, 16 * 1024)? {
//!     Decoded::Complete(response, length) => {
//!         assert_eq!(response.status_class()?, StatusClass::Granted);
//!         assert_eq!(&reply[length..], b"SSH-2.0-");
//!     }
//!     Decoded::Partial => unreachable!("the blank line has come"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod auth;
mod http;
mod negotiation;
mod refusal;
mod socks;

pub use self::http::forward::{
    BrokenChunk, Forward, ForwardError, Reply, ReplyError, RequestBoundary,
};
pub use self::http::framing::{Framing, FramingError};
pub(crate) use self::http::head::{with_bytes, FIELD_LIMIT};
pub use self::http::head::{Decoded, HeadReader, Malformed, HEAD_LIMIT};
pub use self::http::request::{ConnectHead, Request};
pub use self::http::response::{encode_response, Response, StatusClass};
pub use self::negotiation::{AuthMethod, Negotiation, NegotiationStep, Outcome};
pub use self::refusal::{Hint, HttpRefusal, Refusal, SocksRefusal};
pub use self::socks::{Socks4, Socks5, SocksError};
pub use self::socks::{Socks4Denial, Socks4Reply, Socks4Server};
pub use self::socks::{Socks5Denial, Socks5Reply, Socks5Server, Socks5Step};
pub(crate) use self::socks::{VERSION, VERSION_4};
