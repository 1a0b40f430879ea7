//! The options that are times, in seconds.

use std::time::Duration;

use super::options::Options;
use ptunnel_core::config::{Keepalive, Timeouts};
use ptunnel_core::error::Error;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::ParseError;

/// The longest time that an option takes: a year, in seconds.
const MAX_SECONDS: f64 = 31_536_000.0;

/// Returns the timeouts of the options, and the defaults of those that aren't given.
pub(super) fn timeouts(options: &Options) -> Result<Timeouts, Error> {
    let time = |name| options.one_or_default_with(name, seconds);
    let positive = |name| match time(name)? {
        limit if limit == Duration::from_secs(0) => {
            let why = format!("--{} 0 would make every connection fail; e.g. 10", name);
            Err(options.blame(name, Error::usage(why)))
        }
        limit => Ok(limit),
    };
    // 0 means no limit.
    let optional = |name| -> Result<_, Error> {
        Ok(Some(time(name)?).filter(|limit| *limit > Duration::from_secs(0)))
    };
    Ok(Timeouts {
        connect: positive("connect-timeout")?,
        handshake: positive("handshake-timeout")?,
        idle: optional("idle-timeout")?,
        linger: optional("linger-timeout")?,
        half_close_delay: options.one_or_default_with("half-close-delay", seconds_or_never)?,
        drain: time("drain-timeout")?,
        tcp_keepalive: options.one_or_default_with("tcp-keepalive", keepalive)?,
    })
}

/// Returns the time between two fetches of the PAC file; `None` for 0.
pub(super) fn pac_interval(options: &Options) -> Result<Option<Duration>, Error> {
    let interval = options.one_or_default_with("pac-interval", seconds)?;
    Ok(Some(interval).filter(|interval| *interval > Duration::from_secs(0)))
}

/// Parses seconds. Fractions are allowed; a positive time is at least a millisecond, as 0 has a
/// separate meaning.
fn seconds(text: &str) -> Result<Duration, ParseError> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=MAX_SECONDS).contains(&seconds) => {
            let least = Duration::from_millis((seconds > 0.0) as u64);
            Ok(Duration::from_secs_f64(seconds).max(least))
        }
        _ => Err(invalid(
            text,
            format!("a number of seconds up to {}", MAX_SECONDS),
        )),
    }
}

/// Parses seconds, or `never`, which is `None`.
fn seconds_or_never(text: &str) -> Result<Option<Duration>, ParseError> {
    if text == "never" {
        return Ok(None);
    }
    seconds(text).map(Some).map_err(|_| {
        let expected = format!("a number of seconds up to {}, or never", MAX_SECONDS);
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
                "a whole number of seconds up to {}, or 0 for no keepalive",
                MAX
            ),
        )),
    }
}

fn invalid(text: &str, expected: String) -> ParseError {
    let text = Escaped(text.as_bytes());
    ParseError::new(format!("invalid time '{}': it must be {}", text, expected))
}
