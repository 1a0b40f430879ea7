//! The replies of SOCKS to a client with an unreachable destination.

use crate::error::Error;
use ptunnel_proto::{Refusal, SocksRefusal, SocksReply};

/// Returns the nearest reply that RFC 1928 §6 defines. The reply is about the destination alone:
/// the client isn't informed which proxy failed.
pub(super) fn reply(error: &Error) -> SocksReply {
    match error.refusal() {
        Some(Refusal::Http(refusal)) => {
            return match refusal.status() {
                403 => SocksReply::NotAllowed,
                502 | 503 => SocksReply::HostUnreachable,
                504 => SocksReply::TimedOut,
                _ => SocksReply::Failed,
            }
        }
        Some(Refusal::Socks(SocksRefusal::Reply { code, .. })) => {
            return SocksReply::passed_on(*code)
        }
        Some(Refusal::Socks(_)) => return SocksReply::Failed,
        None => {}
    }
    if error.is_timeout() {
        return SocksReply::TimedOut;
    }
    if error.is_forbidden() {
        return SocksReply::NotAllowed;
    }
    match error.direct_failure() {
        Some(cause) => match cause.raw_os_error() {
            Some(libc::ECONNREFUSED) => SocksReply::Refused,
            Some(libc::ENETUNREACH) => SocksReply::NetworkUnreachable,
            _ => SocksReply::HostUnreachable,
        },
        None => SocksReply::Failed,
    }
}
