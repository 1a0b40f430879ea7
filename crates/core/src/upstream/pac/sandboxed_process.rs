//! The process that runs a PAC file: this program, started again by [`Process`](super::process),
//! without its environment, descriptors and permissions. The engine is written in C, and the file
//! is a foreign program: in this process neither can reach passwords or connections, even through a
//! fault of the engine.
//!
//! The process sends the file's answers on stdin, a socket, and ends when that is closed. It requests
//! from its parent what it isn't allowed to do, such as looking up a name.

use std::env;
use std::io;
use std::os::unix::net::UnixStream;
use std::process;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::interpreter::{Interpreter, Thrown};
use super::ipc::{self, MessageKind};
use super::LONGEST;
use crate::os::sys;

/// `argv[0]` of the process.
pub(super) const NAME: &str = "ptunnel-pac-sandbox";

/// Maximum length of an answer, an error or a line for the log, in bytes.
pub(super) const MAX_TEXT: usize = 64 * 1024;

/// Maximum length of a file in UTF-8, in bytes: characters of ISO 8859-1 have at most two.
const MAX_FILE: usize = 2 * 1024 * 1024;

/// Maximum processor time of a process, in seconds; its parent replaces it before.
pub(super) const TIME: u64 = 60;

/// Maximum address space, in bytes: 64 MiB for the engine, the rest for the program and its libraries.
const MEMORY: u64 = 1024 * 1024 * 1024;

/// Whether this program has called [`enable`].
static IS_ENABLED: AtomicBool = AtomicBool::new(false);

pub(super) fn enable() {
    if is_child() {
        serve();
    }
    IS_ENABLED.store(true, Ordering::SeqCst);
}

pub(super) fn is_enabled() -> bool {
    IS_ENABLED.load(Ordering::SeqCst)
}

fn is_child() -> bool {
    env::args_os().next().map_or(false, |name| name == NAME)
}

/// Serves the parent until it ends.
fn serve() -> ! {
    // A process keeps its current folder in use.
    let _ = env::set_current_dir("/");
    let confined = sys::confine(&sys::SandboxLimits {
        memory: MEMORY,
        time: TIME,
    });
    let parent = Rc::new(sys::stdin_socket());
    let outcome = match confined {
        Ok(()) => answer_all(&parent),
        Err(e) => {
            let why = format!("0 cannot sandbox the PAC process: {}", e);
            ipc::write(&*parent, MessageKind::Thrown, &why)
        }
    };
    process::exit(outcome.is_err() as i32)
}

/// Serves requests; returns an error at the end of the socket.
fn answer_all(parent: &Rc<UnixStream>) -> io::Result<()> {
    let mut loaded = None;
    loop {
        let (kind, text) = ipc::read(&**parent, MAX_FILE)?;
        // In case no parent is left to kill this process.
        sys::die_in(LONGEST.as_secs() as u32 + 1);
        let result = match (kind, &mut loaded) {
            (MessageKind::Load, _) => {
                let parent = parent.clone();
                let outside = move |request, text: &str| ask_parent(&parent, request, text);
                Interpreter::load(&text, outside).map(|interpreter| {
                    loaded = Some(interpreter);
                    String::new()
                })
            }
            (MessageKind::Ask, Some(interpreter)) => {
                let mut parts = text.splitn(2, ' ');
                let mut part = || parts.next().unwrap_or_default();
                interpreter.ask(part(), part())
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        sys::die_in(0);
        let (kind, text) = match result {
            Ok(answer) => (MessageKind::Answer, answer),
            Err(Thrown { line, text }) => (MessageKind::Thrown, format!("{} {}", line, text)),
        };
        ipc::write(&**parent, kind, ipc::cut(&text, MAX_TEXT))?;
    }
}

/// Sends a request to the parent, and returns the response. Exits without a parent.
fn ask_parent(parent: &UnixStream, request: MessageKind, text: &str) -> String {
    let sent = ipc::write(parent, request, ipc::cut(text, MAX_TEXT));
    let answer = sent.and_then(|()| match request {
        MessageKind::Log => Ok((MessageKind::Reply, String::new())),
        _ => ipc::read(parent, MAX_TEXT),
    });
    match answer {
        Ok((MessageKind::Reply, text)) => text,
        _ => process::exit(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entry of the process in unit tests: see `command` in `process.rs`.
    #[test]
    #[ignore]
    fn entry() {
        if is_child() {
            serve();
        }
    }
}
