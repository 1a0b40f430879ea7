//! Proxy auto-configuration (PAC) files: JavaScript that chooses the proxies for each destination.
//!
//! Holds the code that reads such a file ([`read`]), calls its FindProxyForURL (`Pac::ask`) and parses
//! the result (`Verdict`). Must not hold proxies or their health: [`upstream`](crate::upstream) turns a
//! verdict into candidates, and is the only user, besides `cli` for [`read`] and [`enable`].
//!
//! A call blocks, since the file can look up names: engines make it where they resolve names.
//!
//! The file runs in a child process. `process` is the parent's side of it, `sandboxed_process`
//! the child's main loop, `ipc` their messages, and `interpreter` the JavaScript engine in the child,
//! with the functions of `prelude.js` and `host_functions`. A program calls [`enable`] so that it can
//! be started as that child.

mod answer;
#[cfg(not(feature = "pac"))]
mod disabled;
#[cfg(feature = "pac")]
mod host_functions;
#[cfg(feature = "pac")]
mod interpreter;
#[cfg(feature = "pac")]
mod ipc;
#[cfg(feature = "pac")]
mod process;
#[cfg(feature = "pac")]
mod sandboxed_process;
#[cfg(feature = "pac")]
mod script;

use std::time::Duration;

pub(super) use self::answer::Verdict;
#[cfg(not(feature = "pac"))]
use self::disabled::Script;
#[cfg(feature = "pac")]
use self::script::Script;

use crate::config::{HostPort, PacFile, ProxyDefaults};
use crate::error::Error;
use crate::text::escape::shown;
use crate::text::seconds::Seconds;

/// Maximum time of a call; the connect timeout can be shorter.
pub const LONGEST: Duration = Duration::from_secs(5);

/// Makes PAC files usable in this program; without it [`read`] fails. Call it first in `main`.
///
/// A PAC file runs in a child process, which is this program started again under another name, with
/// nothing but a socket to its parent. In that process this function serves the parent and doesn't
/// return; otherwise it returns at once.
pub fn enable() {
    #[cfg(feature = "pac")]
    sandboxed_process::enable();
}

/// Reads a PAC file, and runs it up to the first call of FindProxyForURL. Blocks for at most
/// [`LONGEST`].
///
/// # Errors
///
/// A usage error that names the file: it is a URL, can't be read, has more than 1 MiB, or holds a
/// NUL; the script throws (with the line) or runs too long; the child process can't be started; or
/// ptunnel was built without the feature `pac`.
pub fn read(path: &str, proxy_defaults: ProxyDefaults) -> Result<PacFile, Error> {
    let (name, text) = Script::read(path)?;
    Ok(PacFile {
        name,
        text: text.into(),
        proxy_defaults,
    })
}

/// A PAC file with the processes that run it.
#[derive(Debug)]
pub(super) struct Pac {
    script: Script,
    file: PacFile,
}

impl Pac {
    /// Starts no process: the first call does.
    pub(super) fn new(file: PacFile) -> Pac {
        let script = Script::new(file.name.clone(), file.text.clone());
        Pac { script, file }
    }

    /// Returns the file's path, escaped for messages.
    pub(super) fn name(&self) -> &str {
        &self.file.name
    }

    /// Returns the result of FindProxyForURL for `destination`. Blocks for at most `limit`.
    ///
    /// # Errors
    ///
    /// The script threw, or the limit is over; the error names file and destination.
    pub(super) fn ask(&self, destination: &HostPort, limit: Duration) -> Result<String, Error> {
        let answer = self.script.ask(destination, limit);
        answer.map_err(|why| self.undecided(destination, why))
    }

    /// Makes the error of a file that names no proxy for `destination`.
    fn undecided(&self, destination: &HostPort, why: String) -> Error {
        Error::undecided(self.name(), destination.clone(), why)
    }

    /// Makes the error of a file that didn't answer within the limit.
    pub(super) fn late(&self, destination: &HostPort, limit: Duration) -> Error {
        self.undecided(destination, late(limit))
    }

    /// Parses an answer, and completes its proxies with the file's proxy defaults.
    ///
    /// # Errors
    ///
    /// The answer is too long, or names only proxies that ptunnel can't use.
    pub(super) fn verdict(&self, destination: &HostPort, answer: &str) -> Result<Verdict, Error> {
        let verdict = Verdict::read(answer, &self.file.proxy_defaults);
        verdict.map_err(|why| self.undecided(destination, why))
    }
}

fn late(limit: Duration) -> String {
    format!("no answer within {}", Seconds(limit))
}
