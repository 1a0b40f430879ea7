//! A file's text, and the threads that run it.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::interpreter::Fault;
use super::worker::{Call, Source, Worker};
use super::{late, shown, LONGEST};
use crate::config::{Host, HostPort};
use crate::error::Error;
use crate::escape::Escaped;
use crate::turn::Turn;

/// No file is longer: 1 MiB, as for browsers.
const MOST: u64 = 1024 * 1024;

/// So many questions are under way at once, of which those that can't be cut take longer than anybody
/// waits: more would be threads without end.
const AT_ONCE: usize = 64;

/// A file that was read, and ran.
#[derive(Clone)]
pub(super) struct Script {
    source: Arc<Source>,
    /// Who have answered, and wait for the next question: as many as were asked at once.
    idle: Arc<Mutex<Vec<Worker>>>,
    under_way: Arc<AtomicUsize>,
}

/// As a text: who runs it is no part of it.
impl PartialEq for Script {
    fn eq(&self, other: &Script) -> bool {
        self.source == other.source
    }
}

impl Eq for Script {}

impl Script {
    pub(super) fn read(path: &str) -> Result<Script, Error> {
        let name = Escaped(path.as_bytes()).to_string();
        let fail = |why: String| Error::usage(format!("--pac '{}': {}", name, why));
        if path.contains("://") {
            return Err(fail(format!(
                "it is read from a file: fetch it first, with curl -o proxy.pac {}, and again when \
                 it changes; SIGHUP has a configuration file's pac read again",
                name
            )));
        }
        let text = read_text(path).map_err(fail)?;
        let script = Script::of(name.clone(), text);
        script.call(Call::Load, LONGEST).map_err(fail)?;
        // What it found out, such as our address, may have changed when it is asked.
        script.idle().clear();
        Ok(script)
    }

    /// One that hasn't run.
    fn of(name: String, text: String) -> Script {
        Script {
            source: Arc::new(Source { name, text }),
            idle: Arc::default(),
            under_way: Arc::default(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.source.name
    }

    pub(super) fn ask(&self, destination: &HostPort, limit: Duration) -> Result<String, String> {
        let (url, host) = (url(destination), host(destination));
        self.call(Call::Ask { url, host }, limit)
    }

    fn call(&self, call: Call, limit: Duration) -> Result<String, String> {
        let until = Instant::now() + limit;
        let turn = Turn::take(&self.under_way, AT_ONCE)
            .ok_or_else(|| format!("{} earlier questions have not come to their end", AT_ONCE))?;
        let answer = self.worker().and_then(|worker| {
            let (answer, worker) = worker.ask(call, until, turn);
            self.idle().extend(worker);
            answer
        });
        answer.map_err(|fault| self.told(fault, limit))
    }

    fn worker(&self) -> Result<Worker, Fault> {
        let idle = self.idle().pop();
        idle.map_or_else(|| Worker::start(&self.source), Ok)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A fault in words, with the line as it stands in the file.
    fn told(&self, fault: Fault, limit: Duration) -> String {
        let (line, text) = match fault {
            Fault::Late => return late(limit),
            Fault::Thrown { line, text } => (line, shown(&text)),
        };
        let place = line.checked_sub(1);
        match place.and_then(|place| self.source.text.lines().nth(place)) {
            Some(code) => {
                let language = if text.starts_with("SyntaxError") {
                    " (ECMAScript 5: no let, no =>)"
                } else {
                    ""
                };
                format!("line {}: {}, in '{}'{}", line, text, shown(code), language)
            }
            None => text,
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Script({:?})", self.name())
    }
}

/// As UTF-8, or else as ISO 8859-1: of either it is ASCII that counts.
fn read_text(path: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes))
        .map_err(|e| e.to_string())?;
    if bytes.len() as u64 > MOST {
        return Err(format!("it has more than {} bytes", MOST));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => e.as_bytes().iter().map(|byte| char::from(*byte)).collect(),
    };
    if text.contains('\0') {
        return Err("it holds a NUL, which is no JavaScript".into());
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(text.into())
}

/// As browsers have it: without a path, which a tunnel doesn't see, and without the scheme's own
/// port.
fn url(destination: &HostPort) -> String {
    let HostPort { host, port } = destination;
    let authority = match port {
        443 => host.to_string(),
        _ => format!("{}:{}", host, port),
    };
    format!("https://{}/", authority.to_ascii_lowercase())
}

/// Without brackets.
fn host(destination: &HostPort) -> String {
    match &destination.host {
        Host::Ip(ip) => ip.to_string(),
        Host::Name(name) => name.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    fn script(body: &str) -> Script {
        let text = format!("function FindProxyForURL(url, host) {{ {} }}", body);
        Script::of("it".into(), text)
    }

    /// The interpreter looks at the time between two of its steps, and this is one that takes
    /// seconds: the start of the program waited for its end, and so did a thread of the resolver.
    #[test]
    fn what_cannot_be_cut_is_not_waited_for_and_counts_meanwhile() {
        let long = "[].indexOf.call({ length: 20000000 }, 1);";
        let ask = Call::Ask {
            url: "https://a/".into(),
            host: "a".into(),
        };
        for (script, call) in vec![
            (Script::of("it".into(), long.into()), Call::Load),
            (script(long), ask),
        ] {
            let limit = Duration::from_millis(300);
            assert_eq!(script.call(call, limit), Err(late(limit)));
            assert_eq!(script.under_way.load(Ordering::SeqCst), 1);
            assert!(script.idle().is_empty());
        }
    }

    #[test]
    fn no_more_than_so_many_questions_are_under_way() {
        let script = script("return 'DIRECT'");
        let said = || script.ask(&"a:1".parse().unwrap(), LONGEST);
        let take = |_| Turn::take(&script.under_way, AT_ONCE).unwrap();
        let mut turns: Vec<Turn> = (0..AT_ONCE).map(take).collect();
        let busy = "64 earlier questions have not come to their end";
        assert_eq!(said(), Err(busy.into()));
        turns.pop();
        for _ in 0..3 {
            assert_eq!(said(), Ok("DIRECT".into()));
        }
        assert_eq!(script.idle().len(), 1);
    }

    #[test]
    fn a_destination_is_told_as_browsers_tell_it() {
        for (text, shown, alone) in &[
            ("Example.org:993", "https://example.org:993/", "example.org"),
            ("example.org:443", "https://example.org/", "example.org"),
            ("10.0.0.1:22", "https://10.0.0.1:22/", "10.0.0.1"),
            (
                "[2001:DB8::1]:22",
                "https://[2001:db8::1]:22/",
                "2001:db8::1",
            ),
        ] {
            let destination = text.parse().unwrap();
            assert_eq!(url(&destination), *shown);
            assert_eq!(host(&destination), *alone);
        }
    }
}
