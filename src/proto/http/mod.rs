//! HTTP/1.1 as bytes: requests, replies, their bodies, and requests that are forwarded.
//!
//! Sans-I/O: functions from bytes to values and back.

pub(super) mod body;
pub(super) mod forward;
pub(super) mod framing;
pub(super) mod head;
pub(super) mod request;
pub(super) mod response;
