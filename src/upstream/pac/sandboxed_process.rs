//! The process that runs a PAC file: this program, started anew by [`Process`](super::process),
//! without its environment, its descriptors or its rights. The engine is C, and the file is somebody
//! else's program: neither passwords nor connections are in its reach here, nor are they by a fault
//! of the engine.
//!
//! It says on stdin, a socket, what the file says, and ends with that socket. What it isn't allowed
//! to do, such as looking up a name, it asks its parent for.

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

/// The name that a process of this kind is started by, in the place of the program's.
pub(super) const NAME: &str = "ptunnel-pac-sandbox";

/// No answer, text of an error or line for the log is longer.
pub(super) const LONGEST_TEXT: usize = 64 * 1024;

/// No file is longer in UTF-8, in which a character of ISO 8859-1 has two bytes at most.
const LONGEST_FILE: usize = 2 * 1024 * 1024;

/// Processor time of one such process, in seconds; its parent starts another one before.
pub(super) const TIME: u64 = 60;

/// The engine has 64 MiB of it; the program itself and its libraries take the rest.
const MEMORY: u64 = 1024 * 1024 * 1024;

/// Whether the program that this is has said that it can be such a process.
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

/// Answers until the parent is gone.
fn serve() -> ! {
    // A relative path holds its folder.
    let _ = env::set_current_dir("/");
    let confined = sys::confine(&sys::SandboxLimits {
        memory: MEMORY,
        time: TIME,
    });
    let parent = Rc::new(sys::stdin_socket());
    let outcome = match confined {
        Ok(()) => answer_all(&parent),
        Err(e) => {
            let why = format!("0 cannot confine the process that runs it: {}", e);
            ipc::write(&*parent, MessageKind::Thrown, &why)
        }
    };
    process::exit(outcome.is_err() as i32)
}

/// With the end of the socket comes an error.
fn answer_all(parent: &Rc<UnixStream>) -> io::Result<()> {
    let mut loaded = None;
    loop {
        let (kind, text) = ipc::read(&**parent, LONGEST_FILE)?;
        // Even if nobody is left to kill this process.
        sys::die_in(LONGEST.as_secs() as u32 + 1);
        let said = match (kind, &mut loaded) {
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
        let (kind, text) = match said {
            Ok(answer) => (MessageKind::Answer, answer),
            Err(Thrown { line, text }) => (MessageKind::Thrown, format!("{} {}", line, text)),
        };
        ipc::write(&**parent, kind, ipc::cut(&text, LONGEST_TEXT))?;
    }
}

/// Has the parent do what only it can. Without a parent there is nothing left to do.
fn ask_parent(parent: &UnixStream, request: MessageKind, text: &str) -> String {
    let sent = ipc::write(parent, request, ipc::cut(text, LONGEST_TEXT));
    let answer = sent.and_then(|()| match request {
        MessageKind::Log => Ok((MessageKind::Reply, String::new())),
        _ => ipc::read(parent, LONGEST_TEXT),
    });
    match answer {
        Ok((MessageKind::Reply, text)) => text,
        _ => process::exit(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How the unit tests' own program becomes such a process: see `command` in `process.rs`.
    #[test]
    #[ignore]
    fn entry() {
        if is_child() {
            serve();
        }
    }
}
