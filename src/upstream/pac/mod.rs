//! Proxy auto-configuration (PAC) files: JavaScript that says, for each destination, through which
//! proxies.
//!
//! A [`Pac`] is a file that was read and found to run; [`ask`](Pac::ask) calls its FindProxyForURL,
//! and a `Verdict` is what that said. `prelude.js` is what the file may call. Asking takes its
//! time, since the file may look names up: engines do it where they resolve names. Whether a proxy
//! that was named can be used, and which one is next, is [`upstream`](crate::upstream)'s.
//!
//! The file runs in a child process: `process` is what its parent sees of it, `child` what it is, and
//! `interpreter` what it does. A program says with [`enable`] that it can be started as one.

mod answer;
#[cfg(feature = "pac")]
mod child;
#[cfg(not(feature = "pac"))]
mod disabled;
#[cfg(feature = "pac")]
mod frame;
#[cfg(feature = "pac")]
mod host_functions;
#[cfg(feature = "pac")]
mod interpreter;
#[cfg(feature = "pac")]
mod process;
#[cfg(feature = "pac")]
mod script;

use std::time::Duration;

pub(crate) use self::answer::Verdict;
#[cfg(not(feature = "pac"))]
use self::disabled::Script;
#[cfg(feature = "pac")]
use self::script::Script;

use crate::config::{HostPort, ProxyDefaults};
use crate::error::{Error, Seconds};
use crate::text::escape::shown;

/// No answer takes longer, however much time there is for connecting.
pub const LONGEST: Duration = Duration::from_secs(5);

/// Makes PAC files usable in this program; without it [`Pac::read`] fails. Call it first in `main`.
///
/// A PAC file runs in a child process, which is this program started again under another name, with
/// nothing but a socket to its parent. In that process this function serves the parent and doesn't
/// return; otherwise it returns at once.
pub fn enable() {
    #[cfg(feature = "pac")]
    child::enable();
}

/// A file, and what the proxies that it names are spoken to with. Cheap to clone, and to send to
/// another thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pac {
    script: Script,
    outfit: ProxyDefaults,
}

impl Pac {
    /// Reads the file, and runs it as far as it runs before it is asked.
    ///
    /// # Errors
    ///
    /// Why it can't be used, with the line.
    pub fn read(path: &str, outfit: ProxyDefaults) -> Result<Pac, Error> {
        let script = Script::read(path)?;
        Ok(Pac { script, outfit })
    }

    /// The file's name, fit to be shown.
    pub fn name(&self) -> &str {
        self.script.name()
    }

    /// What the file says of a destination; blocks, until the limit at most.
    ///
    /// # Errors
    ///
    /// What it threw; that there was no answer within the limit.
    pub fn ask(&self, destination: &HostPort, limit: Duration) -> Result<String, Error> {
        let answer = self.script.ask(destination, limit);
        answer.map_err(|why| self.undecided(destination, why))
    }

    /// Why the file is of no help with a destination.
    pub(crate) fn undecided(&self, destination: &HostPort, why: String) -> Error {
        Error::undecided(self.name(), destination.clone(), why)
    }

    /// The same, when there was no answer within the limit.
    pub(crate) fn late(&self, destination: &HostPort, limit: Duration) -> Error {
        self.undecided(destination, late(limit))
    }

    /// What an answer of it says, its proxies with our credentials and TLS.
    ///
    /// # Errors
    ///
    /// Why it isn't an answer.
    pub(crate) fn read_answer(&self, said: &str) -> Result<Verdict, String> {
        Verdict::read(said, &self.outfit)
    }

    /// Whether there is a password or a key in it.
    pub fn has_credentials(&self) -> bool {
        self.outfit.has_credentials()
    }
}

fn late(limit: Duration) -> String {
    format!("no answer within {}", Seconds(limit))
}
