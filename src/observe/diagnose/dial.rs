//! Resolves a name and connects to its addresses, within a limit: as the engines do, but on threads.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::config::{Family, Host, HostPort};
use crate::os::exhaustion;
use crate::os::resolver::look_up;
use crate::upstream::in_order;

/// Delay before the next address joins in (RFC 8305 §8).
const HEAD_START: Duration = Duration::from_millis(250);

/// Returns the addresses in the order in which to try them; `None` without an answer by `until`, when
/// the lookup is abandoned.
///
/// # Errors
///
/// Those of the resolver and of [`in_order`].
pub(super) fn resolve(
    address: &HostPort,
    family: Family,
    until: Instant,
) -> io::Result<Option<Vec<SocketAddr>>> {
    let port = address.port;
    let name = match &address.host {
        Host::Ip(ip) => return in_order(vec![SocketAddr::new(*ip, port)], family).map(Some),
        Host::Name(name) => name.clone(),
    };
    let look_up = move || look_up(&name, port).and_then(|found| in_order(found, family));
    answered_by(until, look_up)?.transpose()
}

/// Runs `work` on a thread of its own; returns `None` at `until`, when the thread is abandoned.
///
/// # Errors
///
/// When the thread can't be started; `Other` when it panicked.
fn answered_by<T: Send + 'static>(
    until: Instant,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let (sender, answers) = mpsc::channel();
    thread::Builder::new()
        .name("resolver".into())
        .spawn(move || {
            // Fails when the caller has given up.
            let _ = sender.send(work());
        })?;
    match answers.recv_timeout(left(until)) {
        Ok(answer) => Ok(Some(answer)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(ErrorKind::Other.into()),
    }
}

/// Connects to the first address that accepts. The next address joins in when the last one has failed
/// or had its head start. Returns `None` when none has accepted by `until`.
///
/// # Errors
///
/// The error of the last attempt, unless an earlier one is a lack of resources on this machine.
pub(super) fn race(addresses: &[SocketAddr], until: Instant) -> io::Result<Option<TcpStream>> {
    let (sender, attempts) = mpsc::channel();
    let mut error: io::Error = ErrorKind::NotFound.into();
    let mut under_way = 0;
    let mut waiting = addresses.iter().copied().peekable();
    loop {
        if let Some(address) = waiting.next() {
            let (sender, limit) = (sender.clone(), left(until));
            thread::Builder::new().name("dial".into()).spawn(move || {
                let attempt = connect(&address, limit);
                let _ = sender.send(attempt);
            })?;
            under_way += 1;
        } else if under_way == 0 {
            return Err(error);
        }
        let pause = match waiting.peek() {
            Some(_) => HEAD_START.min(left(until)),
            None => left(until),
        };
        match attempts.recv_timeout(pause) {
            Ok(Ok(socket)) => return Ok(Some(socket)),
            // The timeout of the attempt is `until`.
            Ok(Err(ref e)) if e.kind() == ErrorKind::TimedOut && is_over(until) => return Ok(None),
            Ok(Err(e)) => {
                under_way -= 1;
                error = exhaustion::error_to_report(error, e);
            }
            Err(_) if is_over(until) => return Ok(None),
            Err(_) => {}
        }
    }
}

fn connect(address: &SocketAddr, limit: Duration) -> io::Result<TcpStream> {
    // `connect_timeout` rejects zero.
    let limit = limit.max(Duration::from_millis(1));
    TcpStream::connect_timeout(address, limit).map_err(|e| exhaustion::connect_error(address, e))
}

fn is_over(until: Instant) -> bool {
    left(until) == Duration::from_secs(0)
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[test]
    #[cfg_attr(miri, ignore)] // which has no network
    fn an_address_that_answers_wins_over_one_that_refuses() {
        let open = TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let open = open.local_addr().unwrap();
        let socket = race(&[closed, open], soon()).unwrap().unwrap();
        assert_eq!(socket.peer_addr().unwrap(), open);
        let refused = race(&[closed, closed], soon()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    }

    #[test]
    fn a_literal_needs_no_thread_and_no_time() {
        let address = "127.0.0.1:9".parse().unwrap();
        let found = resolve(&address, Family::ANY, Instant::now()).unwrap();
        assert_eq!(found.unwrap(), ["127.0.0.1:9".parse().unwrap()]);
        let none = resolve(&address, Family::V6, Instant::now()).unwrap_err();
        assert_eq!(none.to_string(), "no IPv6 address");
    }
}
