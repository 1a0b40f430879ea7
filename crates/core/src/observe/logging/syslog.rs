//! Sends lines to the local syslog daemon, over its Unix datagram socket.
//!
//! The format is RFC 3164, as syslog(3) writes it, but without a timestamp: it would have to be in
//! the daemon's time zone, which is unknown. The daemon uses the time of arrival.
//!
//! While the daemon is busy or stopped, lines are lost rather than delayed. Their number is
//! reported when the daemon accepts a line again.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process;

use log::Level;

use super::logger::Style;

/// LOG_DAEMON of syslog(3).
const FACILITY: u8 = 3;

/// A connection to the daemon, which can be restarted at any time.
pub(super) struct Syslog {
    path: PathBuf,
    style: Style,
    socket: Option<UnixDatagram>,
    lost: u64,
}

impl Syslog {
    /// Connects to the daemon. Without one, the second value is the error, and
    /// [`send`](Syslog::send) connects later.
    pub(super) fn open(path: PathBuf, style: Style) -> (Syslog, io::Result<()>) {
        let mut syslog = Syslog {
            path,
            style,
            socket: None,
            lost: 0,
        };
        let result = syslog.connected().map(drop);
        (syslog, result)
    }

    /// Sends one line, or counts it as lost.
    pub(super) fn send(&mut self, level: Level, line: &str) {
        if self.lost > 0 {
            let report = self.style.lost(self.lost);
            if !self.deliver(Level::Warn, &report) {
                self.lost += 1;
                return;
            }
            self.lost = 0;
        }
        if !self.deliver(level, line) {
            self.lost += 1;
        }
    }

    fn deliver(&mut self, level: Level, line: &str) -> bool {
        let priority = FACILITY * 8 + severity(level);
        let datagram = format!("<{}>ptunnel[{}]: {}", priority, process::id(), line);
        // The second attempt reaches a daemon that was restarted.
        (0..2).any(|_| self.try_send(&datagram).is_ok())
    }

    /// Returns the socket, and connects it first if necessary.
    fn connected(&mut self) -> io::Result<&UnixDatagram> {
        if self.socket.is_none() {
            let socket = UnixDatagram::unbound()?;
            socket.set_nonblocking(true)?;
            socket.connect(&self.path)?;
            self.socket = Some(socket);
        }
        Ok(self.socket.as_ref().expect("it is connected"))
    }

    fn try_send(&mut self, datagram: &str) -> io::Result<()> {
        let sent = self.connected()?.send(datagram.as_bytes());
        if matches!(&sent, Err(e) if e.kind() != io::ErrorKind::WouldBlock) {
            self.socket = None;
        }
        sent.map(drop)
    }
}

/// Returns the severity of syslog(3): err, warning, info or debug.
fn severity(level: Level) -> u8 {
    match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}
