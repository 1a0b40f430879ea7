//! The options that are times, in seconds.

use std::str::FromStr;
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
    let usual = Timeouts::default();
    let limit = |name| {
        options
            .one::<Span>(name)
            .map(|span| span.map(|span| span.0))
    };
    let some = |name, usual: Duration| match limit(name)? {
        Some(limit) if limit == Duration::from_secs(0) => {
            let why = format!("--{} 0 would fail every connection; e.g. 10", name);
            Err(options.blame(name, Error::usage(why)))
        }
        given => Ok(given.unwrap_or(usual)),
    };
    // 0 means no limit.
    let maybe = |name, usual: Option<Duration>| -> Result<_, Error> {
        let given = limit(name)?;
        Ok(given.map_or(usual, |limit| {
            Some(limit).filter(|limit| *limit > Duration::from_secs(0))
        }))
    };
    Ok(Timeouts {
        connect: some("connect-timeout", usual.connect)?,
        handshake: some("handshake-timeout", usual.handshake)?,
        idle: maybe("idle-timeout", usual.idle)?,
        linger: maybe("linger-timeout", usual.linger)?,
        half_close_delay: match options.one::<Delay>("half-close-delay")? {
            Some(delay) => delay.0,
            None if options.is_present("stdio") => Some(STDIO_HALF_CLOSE_DELAY),
            None => usual.half_close_delay,
        },
        drain: limit("drain-timeout")?.unwrap_or(usual.drain),
        tcp_keepalive: match options.one::<KeepaliveSeconds>("tcp-keepalive")? {
            Some(keepalive) => keepalive.0,
            None => usual.tcp_keepalive,
        },
    })
}

/// Seconds, fractions allowed, not finer than a millisecond.
struct Span(Duration);

impl FromStr for Span {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Span, ParseError> {
        match text.parse::<f64>() {
            Ok(seconds) if (0.0..=MAX_SECONDS).contains(&seconds) => {
                let span = Duration::from_secs_f64(seconds);
                // 0 has a meaning of its own, so that nothing may be rounded to it.
                let least = Duration::from_millis((seconds > 0.0) as u64);
                Ok(Span(span.max(least)))
            }
            _ => Err(ParseError::new(format!(
                "invalid time '{}': it is a number of seconds up to {}; e.g. 2.5",
                Escaped(text.as_bytes()),
                MAX_SECONDS
            ))),
        }
    }
}

/// Seconds, or `never`, which is `None`.
struct Delay(Option<Duration>);

impl FromStr for Delay {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Delay, ParseError> {
        if text == "never" {
            return Ok(Delay(None));
        }
        match text.parse() {
            Ok(Span(span)) => Ok(Delay(Some(span))),
            Err(_) => Err(ParseError::new(format!(
                "invalid time '{}': it is a number of seconds up to {}, or never; e.g. 2.5",
                Escaped(text.as_bytes()),
                MAX_SECONDS
            ))),
        }
    }
}

/// Whole seconds, as the kernel takes them; 0 is `None`.
struct KeepaliveSeconds(Option<Keepalive>);

impl FromStr for KeepaliveSeconds {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<KeepaliveSeconds, ParseError> {
        /// Linux's MAX_TCP_KEEPIDLE.
        const MOST: u64 = 32_767;
        match text.parse() {
            Ok(0) => Ok(KeepaliveSeconds(None)),
            Ok(seconds) if seconds <= MOST => Ok(KeepaliveSeconds(Some(Keepalive {
                time: Duration::from_secs(seconds),
            }))),
            _ => Err(ParseError::new(format!(
                "invalid time '{}': it is a whole number of seconds up to {}, or 0 for no \
                 keepalive; e.g. 60",
                Escaped(text.as_bytes()),
                MOST
            ))),
        }
    }
}
