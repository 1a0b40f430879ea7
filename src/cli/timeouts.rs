//! The options that are times, in seconds.

use std::time::Duration;

use super::options::Options;
use crate::config::{Keepalive, ParseError, Timeouts};
use crate::error::Error;
use crate::text::escape::Escaped;

/// The longest time that an option takes: a year, in seconds.
const MAX_SECONDS: f64 = 31_536_000.0;

/// Default of --half-close-delay with -W: longer than most proxies and servers take to send the next
/// byte of a reply.
const STDIO_HALF_CLOSE_DELAY: Duration = Duration::from_secs(5);

/// Returns the timeouts of the options, and the defaults of those that aren't given.
pub(super) fn timeouts(options: &Options) -> Result<Timeouts, Error> {
    let default = Timeouts::default();
    let limit = |name| options.one_with(name, seconds);
    let positive = |name, default: Duration| match limit(name)? {
        Some(limit) if limit == Duration::from_secs(0) => {
            let why = format!("--{} 0 would fail every connection; e.g. 10", name);
            Err(options.blame(name, Error::usage(why)))
        }
        given => Ok(given.unwrap_or(default)),
    };
    // 0 means no limit.
    let optional = |name, default: Option<Duration>| -> Result<_, Error> {
        let given = limit(name)?;
        Ok(given.map_or(default, |limit| {
            Some(limit).filter(|limit| *limit > Duration::from_secs(0))
        }))
    };
    Ok(Timeouts {
        connect: positive("connect-timeout", default.connect)?,
        handshake: positive("handshake-timeout", default.handshake)?,
        idle: optional("idle-timeout", default.idle)?,
        linger: optional("linger-timeout", default.linger)?,
        half_close_delay: match options.one_with("half-close-delay", seconds_or_never)? {
            Some(delay) => delay,
            None if options.is_present("stdio") => Some(STDIO_HALF_CLOSE_DELAY),
            None => default.half_close_delay,
        },
        drain: limit("drain-timeout")?.unwrap_or(default.drain),
        tcp_keepalive: options
            .one_with("tcp-keepalive", keepalive)?
            .unwrap_or(default.tcp_keepalive),
    })
}

/// Parses seconds. Fractions are allowed; a positive time is at least a millisecond, as 0 has a
/// meaning of its own.
fn seconds(text: &str) -> Result<Duration, ParseError> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=MAX_SECONDS).contains(&seconds) => {
            let least = Duration::from_millis((seconds > 0.0) as u64);
            Ok(Duration::from_secs_f64(seconds).max(least))
        }
        _ => Err(invalid(
            text,
            format!("a number of seconds up to {}; e.g. 2.5", MAX_SECONDS),
        )),
    }
}

/// Parses seconds, or `never`, which is `None`.
fn seconds_or_never(text: &str) -> Result<Option<Duration>, ParseError> {
    if text == "never" {
        return Ok(None);
    }
    seconds(text).map(Some).map_err(|_| {
        let expected = format!(
            "a number of seconds up to {}, or never; e.g. 2.5",
            MAX_SECONDS
        );
        invalid(text, expected)
    })
}

/// Parses whole seconds, as the kernel takes them; 0 is `None`.
fn keepalive(text: &str) -> Result<Option<Keepalive>, ParseError> {
    /// Linux's MAX_TCP_KEEPIDLE.
    const MAX: u64 = 32_767;
    match text.parse() {
        Ok(0) => Ok(None),
        Ok(seconds) if seconds <= MAX => Ok(Some(Keepalive {
            time: Duration::from_secs(seconds),
        })),
        _ => Err(invalid(
            text,
            format!(
                "a whole number of seconds up to {}, or 0 for no keepalive; e.g. 60",
                MAX
            ),
        )),
    }
}

fn invalid(text: &str, expected: String) -> ParseError {
    let text = Escaped(text.as_bytes());
    ParseError::new(format!("invalid time '{}': it is {}", text, expected))
}
