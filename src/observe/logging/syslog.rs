//! Lines to the syslog daemon of this machine, over its Unix datagram socket.
//!
//! The form is that of RFC 3164, as syslog(3) writes it, but without a time: the daemon takes the
//! time at which a line arrives, and one of ours would have to guess its time zone.
//! A daemon that is busy or gone costs lines, never time: what was lost is counted, and told as
//! soon as there is somebody to tell.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process;

use log::Level;

use super::logger::Style;

/// LOG_DAEMON of syslog(3).
const FACILITY: u8 = 3;

/// A way to the daemon, which may come and go.
pub(super) struct Syslog {
    path: PathBuf,
    style: Style,
    socket: Option<UnixDatagram>,
    lost: u64,
}

impl Syslog {
    /// Also when there is no daemon yet; then the second value says why.
    pub(super) fn open(path: PathBuf, style: Style) -> (Syslog, io::Result<()>) {
        let mut syslog = Syslog {
            path,
            style,
            socket: None,
            lost: 0,
        };
        let reached = syslog.connect();
        (syslog, reached)
    }

    /// Sends one line, or counts it as lost.
    pub(super) fn send(&mut self, level: Level, line: &str) {
        if self.lost > 0 {
            let note = self.style.lost(self.lost);
            if !self.deliver(Level::Warn, &note) {
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
        // The second time for a daemon that was started anew.
        (0..2).any(|_| self.connect().is_ok() && self.try_send(&datagram))
    }

    fn connect(&mut self) -> io::Result<()> {
        if self.socket.is_none() {
            let socket = UnixDatagram::unbound()?;
            socket.set_nonblocking(true)?;
            socket.connect(&self.path)?;
            self.socket = Some(socket);
        }
        Ok(())
    }

    fn try_send(&mut self, datagram: &str) -> bool {
        let sent = match &self.socket {
            Some(socket) => socket.send(datagram.as_bytes()),
            None => return false,
        };
        match sent {
            Ok(_) => true,
            Err(e) => {
                if e.kind() != io::ErrorKind::WouldBlock {
                    self.socket = None;
                }
                false
            }
        }
    }
}

/// Those of syslog(3): err, warning, info, debug.
fn severity(level: Level) -> u8 {
    match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}
