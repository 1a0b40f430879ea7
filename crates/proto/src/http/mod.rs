//! HTTP/1.1 (RFC 9112): the heads of requests and responses, where their bodies end, forwarded
//! requests with their replies, and a GET of ptunnel's own.
//!
//! Must not hold anything that reads, writes or waits, nor authentication, which is in `auth`.
//! `negotiation` and `refusal` use its files; `ptunnel-core` and the program use the items that the
//! crate exports.

pub(super) mod body;
pub(super) mod download;
mod field;
pub(super) mod forward;
pub(super) mod framing;
pub(super) mod head;
pub(super) mod request;
pub(super) mod response;
