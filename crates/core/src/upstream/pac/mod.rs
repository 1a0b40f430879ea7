//! Proxy auto-configuration (PAC) files: JavaScript that chooses the proxies for each destination.
//!
//! Holds the code that reads such a file ([`read`]) or fetches it (`remote`, `fetch`), calls its
//! FindProxyForURL (`Pac::ask`) and parses the result (`Verdict`). Must not hold proxies or their
//! health: [`upstream`](crate::upstream) turns a verdict into candidates, and is the only user,
//! besides `ptunnel-cli` for [`read`], [`at`], [`check`] and [`enable`].
//!
//! A call blocks, since the file can look up names: the program makes it where it resolves names.
//!
//! The file runs in a child process. `process` is the parent's side of it, `sandboxed_process`
//! the child's main loop, `ipc` their messages, and `interpreter` the JavaScript engine in the child,
//! with the functions of `prelude.js` and `host_functions`. A program calls [`enable`] so that it can
//! be started as that child.

mod answer;
#[cfg(not(feature = "pac"))]
mod disabled;
mod fetch;
#[cfg(feature = "pac")]
mod host_functions;
#[cfg(feature = "pac")]
mod interpreter;
#[cfg(feature = "pac")]
mod ipc;
#[cfg(feature = "pac")]
mod process;
mod remote;
#[cfg(feature = "pac")]
mod sandboxed_process;
#[cfg(feature = "pac")]
mod script;

use std::time::Duration;

pub(super) use self::answer::Verdict;
#[cfg(not(feature = "pac"))]
use self::disabled::Script;
pub(crate) use self::remote::FetchReport;
use self::remote::Remote;
#[cfg(feature = "pac")]
use self::script::Script;

use crate::config::{PacFetch, PacFile, PacSource, ProxyDefaults};
use crate::error::Error;
use crate::upstream::Lookup;
use ptunnel_proto::text::escape::shown;
use ptunnel_proto::text::seconds::Seconds;
use ptunnel_proto::values::HostPort;
use ptunnel_proto::{Download, Secrets};

/// Maximum time of a call; the connect timeout can be shorter.
pub const LONGEST: Duration = Duration::from_secs(5);

/// Maximum size of a file, in bytes: 1 MiB, as in browsers.
const MAX_SIZE: usize = 1024 * 1024;

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
/// A usage error that names the file: it can't be read, has more than 1 MiB, or holds a NUL; the
/// script throws (with the line) or runs too long; the child process can't be started; or ptunnel was
/// built without the feature `pac`.
pub fn read(path: &str, proxy_defaults: ProxyDefaults) -> Result<PacFile, Error> {
    let (name, text) = Script::read(path)?;
    Ok(PacFile {
        name,
        source: PacSource::Text(text.into()),
        proxy_defaults,
    })
}

/// Returns a PAC file by URL. A [`ProxySelector`](crate::upstream::ProxySelector) starts to fetch it.
///
/// # Errors
///
/// A usage error if ptunnel was built without the feature `pac`.
pub fn at(from: PacFetch, proxy_defaults: ProxyDefaults) -> Result<PacFile, Error> {
    Script::available()?;
    Ok(PacFile {
        name: from.url.to_string(),
        source: PacSource::Server(from),
        proxy_defaults,
    })
}

/// Fetches a PAC file that is by URL, and runs it as [`read`] does. Blocks for at most 15 seconds.
///
/// # Errors
///
/// A usage error that names the file.
pub fn check(file: &PacFile) -> Result<(), Error> {
    let from = match &file.source {
        PacSource::Text(_) => return Ok(()),
        PacSource::Server(from) => from,
    };
    let script = fetched(from).and_then(|text| checked(&file.name, text, from));
    script.map(drop).map_err(|why| unloaded(&file.name, &why))
}

/// Returns the text of a file by URL.
fn fetched(from: &PacFetch) -> Result<String, String> {
    let content = fetch::fetch(from, fetch::LIMIT);
    let text = content.and_then(|content| Script::decode(&content));
    text.map_err(|why| format!("{}; check the URL", why))
}

fn checked(name: &str, text: String, from: &PacFetch) -> Result<Script, String> {
    Script::checked(name, text, Download::secrets(&from.url))
}

fn unloaded(name: &str, why: &str) -> Error {
    Error::usage(format!("--pac '{}': cannot load it: {}", name, why))
}

/// A PAC file with the processes that run it, and the thread that fetches it.
#[derive(Debug)]
pub(super) struct Pac {
    script: Source,
    file: PacFile,
}

#[derive(Debug)]
enum Source {
    Local(Script),
    Remote(Remote),
}

impl Pac {
    /// Starts no process: the first call does. Starts the thread that fetches a file by URL; if
    /// `former` has the same URL, its script stays in force until then, and a failure of the first
    /// fetch is logged, as with `logs_first`.
    pub(super) fn new(file: PacFile, former: Option<&Pac>, logs_first: bool) -> Pac {
        let script = match &file.source {
            PacSource::Text(text) => {
                let secrets = Secrets::default();
                Source::Local(Script::new(file.name.clone(), text.clone(), secrets))
            }
            PacSource::Server(from) => {
                let former = former.and_then(|former| former.at(from));
                let logs_first = logs_first || former.is_some();
                Source::Remote(Remote::start(&file.name, from, former, logs_first))
            }
        };
        Pac { script, file }
    }

    /// Returns the file if it is by the same URL.
    fn at(&self, from: &PacFetch) -> Option<&Remote> {
        match (&self.file.source, &self.script) {
            (PacSource::Server(own), Source::Remote(remote)) if own.url == from.url => Some(remote),
            _ => None,
        }
    }

    /// Waits until a file that replaces `former` was fetched.
    ///
    /// # Errors
    ///
    /// A usage error if it couldn't be fetched, unless `former` has the same URL.
    pub(super) fn settle(&self, former: Option<&Pac>) -> Result<(), Error> {
        let (from, remote) = match (&self.file.source, &self.script) {
            (PacSource::Server(from), Source::Remote(remote)) => (from, remote),
            _ => return Ok(()),
        };
        match remote.settle(fetch::LIMIT + LONGEST) {
            Err(why) if former.and_then(|former| former.at(from)).is_none() => {
                Err(unloaded(self.name(), &why))
            }
            _ => Ok(()),
        }
    }

    /// Ends the thread that fetches the file.
    pub(super) fn stop(&self) {
        if let Source::Remote(remote) = &self.script {
            remote.stop();
        }
    }

    /// Returns the fetches so far, if the file is by URL.
    pub(super) fn report(&self) -> Option<FetchReport> {
        match &self.script {
            Source::Local(_) => None,
            Source::Remote(remote) => Some(remote.report()),
        }
    }

    /// Returns the file's path or URL, escaped for messages.
    pub(super) fn name(&self) -> &str {
        &self.file.name
    }

    /// Returns the result of FindProxyForURL for `destination`. Blocks for at most `limit`.
    ///
    /// # Errors
    ///
    /// The script threw, or the limit is over; the error names file and destination.
    pub(super) fn ask(&self, destination: &Lookup<'_>, limit: Duration) -> Result<String, Error> {
        let answer = match &self.script {
            Source::Local(script) => script.ask(destination, limit),
            Source::Remote(remote) => remote.ask(destination, limit),
        };
        answer.map_err(|why| self.undecided(destination.address, why))
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
