//! The text of a PAC file, and the processes that run it.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::str;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::interpreter::Thrown;
use super::ipc::MessageKind;
use super::process::{CallFault, Process};
use super::{late, shown, LONGEST, MAX_SIZE};
use crate::error::Error;
use crate::semaphore::SlotPermit;
use crate::upstream::{ChosenBy, Lookup};
use ptunnel_proto::sync::lock;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::{file_fault, Host, HostPort};
use ptunnel_proto::Secrets;

/// Maximum number of concurrent calls. A call counts until its last name lookup ends, which can be
/// after its limit: without a bound the number of threads would grow.
const AT_ONCE: usize = 64;

/// How many of these are kept from destinations that clients choose: their lookups can hang.
const KEPT: usize = 8;

/// Maximum number of idle processes that are kept for the next call.
const IDLE: usize = 8;

/// A script, and the idle processes in which it is loaded.
#[derive(Debug)]
pub(super) struct Script {
    name: String,
    text: Arc<str>,
    /// What the file's server has received in confidence, and can have repeated in the text.
    secrets: Secrets,
    /// Each has answered a call, and keeps the script's variables.
    idle: Mutex<Vec<Process>>,
    under_way: Arc<AtomicUsize>,
}

impl Script {
    /// Returns an error in a build without PAC files.
    pub(super) fn available() -> Result<(), Error> {
        Ok(())
    }

    /// Reads a file and runs it once. Returns its name, escaped, and its text.
    pub(super) fn read(path: &str) -> Result<(String, String), Error> {
        let name = Escaped(path.as_bytes()).to_string();
        let fail = |why: String| Error::usage(format!("--pac '{}': {}", name, why));
        let text = read_bytes(path).map_err(|e| fail(file_fault(&e)))?;
        let text = Script::decode(&text);
        let text = text.map_err(|why| fail(format!("{}; check the path", why)))?;
        Script::checked(&name, text.clone(), Secrets::default()).map_err(fail)?;
        Ok((name, text))
    }

    /// Decodes UTF-8, or else ISO 8859-1: only the ASCII in it matters.
    pub(super) fn decode(bytes: &[u8]) -> Result<String, String> {
        if bytes.len() > MAX_SIZE {
            return Err(format!("the file has more than {} bytes", MAX_SIZE));
        }
        let text: Cow<'_, str> = match str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        };
        if text.contains('\0') {
            return Err("the file contains a NUL character, so it isn't JavaScript".into());
        }
        Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).into())
    }

    /// Makes a script after one run of the text, for which it blocks at most [`LONGEST`].
    pub(super) fn checked(name: &str, text: String, secrets: Secrets) -> Result<Script, String> {
        let script = Script::new(name.into(), text.into(), secrets);
        // The process isn't kept: values that the script computed while it loaded, such as this
        // machine's address, can change until the first call.
        let answer = script.load(Instant::now() + LONGEST);
        answer.map_err(|fault| {
            let is_the_scripts = matches!(fault, CallFault::Thrown(_) | CallFault::Late);
            let why = script.explain(fault, LONGEST);
            match is_the_scripts {
                true => format!(
                    "{}; check that it is a PAC file, or have its author fix it",
                    why
                ),
                false => why,
            }
        })?;
        Ok(script)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn new(name: String, text: Arc<str>, secrets: Secrets) -> Script {
        Script {
            name,
            text,
            secrets,
            idle: Mutex::default(),
            under_way: Arc::default(),
        }
    }

    /// Calls FindProxyForURL, in an idle process if there is one.
    pub(super) fn ask(&self, destination: &Lookup<'_>, limit: Duration) -> Result<String, String> {
        let arguments = format!("{} {}", url(destination.address), host(destination.address));
        let until = Instant::now() + limit;
        let answer = self.answer(&arguments, destination.chosen_by, until);
        answer.map_err(|fault| self.explain(fault, limit))
    }

    fn answer(
        &self,
        arguments: &str,
        chosen_by: ChosenBy,
        until: Instant,
    ) -> Result<String, CallFault> {
        let permit = self.permit(chosen_by)?;
        let mut process = match self.idle_process() {
            Some(process) => process,
            None => self.loaded(until, &permit)?,
        };
        let answer = process.request(&self.name, (MessageKind::Ask, arguments), until, &permit);
        // Any other process can still be busy: dropping it kills it.
        if matches!(answer, Ok(_) | Err(CallFault::Thrown(_))) {
            self.keep(process);
        }
        answer
    }

    fn load(&self, until: Instant) -> Result<(), CallFault> {
        let permit = self.permit(ChosenBy::CONFIGURATION)?;
        self.loaded(until, &permit).map(drop)
    }

    /// Starts a process and loads the script in it.
    fn loaded(&self, until: Instant, permit: &Arc<SlotPermit>) -> Result<Process, CallFault> {
        let mut process = Process::start()?;
        process.request(&self.name, (MessageKind::Load, &self.text), until, permit)?;
        Ok(process)
    }

    fn permit(&self, chosen_by: ChosenBy) -> Result<Arc<SlotPermit>, CallFault> {
        let most = match chosen_by.is_client {
            true => AT_ONCE - KEPT,
            false => AT_ONCE,
        };
        let permit = SlotPermit::take(&self.under_way, most).map(Arc::new);
        permit.ok_or(CallFault::Busy(most))
    }

    fn idle_process(&self) -> Option<Process> {
        let mut idle = lock(&self.idle);
        while let Some(mut process) = idle.pop() {
            if process.is_fit() {
                return Some(process);
            }
        }
        None
    }

    fn keep(&self, mut process: Process) {
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE && process.is_fit() {
            idle.push(process);
        }
    }

    /// Describes a fault, with the line of the script.
    fn explain(&self, fault: CallFault, limit: Duration) -> String {
        let Thrown { line, text } = match fault {
            CallFault::Late => return late(limit),
            CallFault::Busy(most) => return format!("{} earlier queries haven't ended yet", most),
            CallFault::Failed(why) => return why,
            CallFault::Thrown(thrown) => thrown,
        };
        let shown = |text: &str| {
            let text = self.secrets.hide(text.as_bytes(), false);
            shown(&String::from_utf8_lossy(&text))
        };
        let text = shown(&text);
        let index = line.checked_sub(1);
        match index.and_then(|index| self.text.lines().nth(index)) {
            Some(code) => format!("line {}: {}, in '{}'", line, text, shown(code)),
            None if line > 0 => format!("line {}: {}, at the end of the file", line, text),
            None => text,
        }
    }
}

/// Returns the content of a file, cut behind the byte that makes it too long.
fn read_bytes(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(MAX_SIZE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the URL that browsers pass for an HTTPS request: without a path, and without port 443.
fn url(destination: &HostPort) -> String {
    let HostPort { host, port } = destination;
    let authority = match port {
        443 => host.to_string(),
        _ => format!("{}:{}", host, port),
    };
    format!("https://{}/", authority.to_ascii_lowercase())
}

/// Returns the host as browsers pass it: in lower case, IPv6 without brackets.
fn host(destination: &HostPort) -> String {
    match &destination.host {
        Host::Ip(ip) => ip.to_string(),
        Host::Name(name) => name.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::thread;

    use super::*;
    use crate::config::Family;

    fn script(body: &str) -> Script {
        let text = format!("function FindProxyForURL(url, host) {{ {} }}", body);
        Script::new("it".into(), text.into(), Secrets::default())
    }

    fn ask(script: &Script, limit: Duration) -> Result<String, String> {
        let destination = "a:1".parse().unwrap();
        script.ask(&Lookup::configured(&destination, Family::ANY), limit)
    }

    /// Ids of the idle processes.
    fn processes(script: &Script) -> Vec<u32> {
        lock(&script.idle).iter().map(Process::id).collect()
    }

    /// Regression: a single call of a built-in function couldn't be interrupted inside the engine,
    /// and held its thread until it ended.
    #[test]
    fn an_endless_script_is_killed() {
        for body in &[
            "for (;;) {}",
            "for (;;) { try { for (;;) {} } catch (e) {} finally {} }",
            "[].indexOf.call({ length: 9e15 }, 1)",
            "/^(a|a)*$/.test('a'.repeat(50) + 'b')",
            "for (;;) alert('x'.repeat(1000))",
            "for (;;) dnsResolve('127.0.0.1')",
        ] {
            let limit = Duration::from_millis(300);
            let script = script(body);
            assert_eq!(ask(&script, limit), Err(late(limit)), "{}", body);
            assert!(lock(&script.idle).is_empty());
            // The last name lookup can still be running.
            let end = Instant::now() + LONGEST;
            while script.under_way.load(Ordering::SeqCst) > 0 {
                assert!(Instant::now() < end, "{}", body);
                thread::yield_now();
            }
            let loaded = Script::new("it".into(), (*body).into(), Secrets::default());
            let fault = loaded.load(Instant::now() + limit);
            assert_eq!(fault, Err(CallFault::Late), "{}", body);
        }
    }

    #[test]
    fn endless_nesting_is_an_error_and_not_a_crash() {
        for source in vec![
            "function f() { return f() + 1 } f()".to_string(),
            "function f() { return [1].map(f) } f()".to_string(),
            "function f() { return 'a'.replace(/a/, f) } f()".to_string(),
            format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000)),
            format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
            format!("{}{}", "function f() {".repeat(10_000), "}".repeat(10_000)),
            "if (1) ".repeat(100_000),
            "new RegExp(new Array(100000).join('('))".to_string(),
            "JSON.parse(new Array(100000).join('['))".to_string(),
        ] {
            let script = Script::new("it".into(), source.into(), Secrets::default());
            let fault = script.load(Instant::now() + LONGEST).unwrap_err();
            let name = &script.text[..30];
            assert!(
                matches!(fault, CallFault::Thrown(_)),
                "{}: {:?}",
                name,
                fault
            );
        }
    }

    /// A process can be killed when memory is short, or crash through a fault of the engine.
    #[test]
    fn a_dead_process_is_replaced() {
        let script = script("return 'PROXY ' + host + ':1'");
        let said = || ask(&script, LONGEST).unwrap();
        assert_eq!((said(), said()), ("PROXY a:1".into(), "PROXY a:1".into()));
        let before = processes(&script);
        assert_eq!(before.len(), 1);
        lock(&script.idle)[0].end();
        assert_eq!(said(), "PROXY a:1");
        let after = processes(&script);
        assert!(after.len() == 1 && after != before);
    }

    #[test]
    fn calls_at_once_are_bounded() {
        let script = script("return 'DIRECT'");
        let said = || ask(&script, LONGEST);
        let take = |_| SlotPermit::take(&script.under_way, AT_ONCE).unwrap();
        let mut permits: Vec<SlotPermit> = (0..AT_ONCE).map(take).collect();
        let busy = |most| Err(format!("{} earlier queries haven't ended yet", most));
        assert_eq!(said(), busy(64));
        permits.pop();
        for _ in 0..3 {
            assert_eq!(said(), Ok("DIRECT".into()));
        }
        assert_eq!(lock(&script.idle).len(), 1);

        // Those of clients leave some for the configuration.
        let destination = "a:1".parse().unwrap();
        let chosen = || Lookup {
            chosen_by: ChosenBy::CLIENT,
            ..Lookup::configured(&destination, Family::ANY)
        };
        assert_eq!(script.ask(&chosen(), LONGEST), busy(56));
        permits.truncate(55);
        assert_eq!(script.ask(&chosen(), LONGEST), Ok("DIRECT".into()));
    }

    #[test]
    fn a_destination_is_passed_as_in_browsers() {
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
