//! One run of the program that prints a password.
//!
//! The program has no terminal, an empty stdin, and no descriptor or variable of ptunnel. Its pipes
//! are read only while it runs: a process that it leaves behind can keep them open.

use std::env;
use std::fmt;
use std::io::{ErrorKind, Read};
use std::os::unix::io::AsRawFd;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::sys;
use ptunnel_proto::text::escape::{excerpt, Escaped};

/// Maximum length of a password, in bytes, as in a password file.
const MAX_LEN: usize = 64 * 1024;

/// Maximum length of stderr that is kept, in bytes.
const MAX_STDERR: usize = 1024;

/// Time between two looks at the program.
const PERIOD: Duration = Duration::from_millis(10);

/// The variables that are for ptunnel alone start with these texts.
const OWN_VARIABLES: &[&str] = &["LISTEN_", "NOTIFY_SOCKET", "PTUNNEL_", "WATCHDOG_"];

/// Runs a program with its arguments for at most `limit`; returns the first line of its output.
/// After the limit, the program and its children are killed.
///
/// # Errors
///
/// Why there is no password, with the start of stderr and what to do. It never shows stdout.
pub fn first_line(words: &[String], limit: Duration) -> Result<String, String> {
    let (program, args) = words.split_first().ok_or("no program")?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if OWN_VARIABLES.iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    sys::isolate(&mut command);
    let until = Instant::now() + limit;
    let mut child = command.spawn().map_err(|e| {
        let hint = match (e.kind(), e.raw_os_error()) {
            (ErrorKind::NotFound, _) => "; write its full path, or add its folder to PATH",
            // By the filter that `cli::run` installs.
            (_, Some(libc::EPERM)) => {
                "; ptunnel was started without such a command, and can't start programs since: \
                 restart it"
            }
            _ => "",
        };
        format!("{}{}", e, hint)
    })?;
    let mut stdout = Output::new(child.stdout.take(), MAX_LEN + 2);
    let mut stderr = Output::new(child.stderr.take(), MAX_STDERR);
    loop {
        // Before the pipes: what it wrote before its end is in them.
        let end = child.try_wait();
        stdout.read();
        stderr.read();
        match end {
            Ok(Some(status)) if status.success() => return password(&stdout.bytes),
            Ok(Some(status)) => return Err(failed(status, &stderr.bytes)),
            Ok(None) if Instant::now() < until => thread::sleep(PERIOD),
            Ok(None) => {
                sys::kill_session(&mut child);
                return Err(format!(
                    "it was killed after {}s{}; it has no terminal and can't prompt",
                    limit.as_secs(),
                    Shown(&stderr.bytes)
                ));
            }
            Err(e) => {
                sys::kill_session(&mut child);
                return Err(e.to_string());
            }
        }
    }
}

/// Returns the password in the output.
fn password(output: &[u8]) -> Result<String, String> {
    let line = output.split(|byte| *byte == b'\n').next();
    let text = String::from_utf8(line.unwrap_or_default().to_vec()).unwrap_or_default();
    let text = text.strip_suffix('\r').unwrap_or(&text);
    if output.is_empty() || output[0] == b'\n' {
        Err("the first line of its output is empty; it must be the password".to_string())
    } else if text.is_empty() || text.len() > MAX_LEN || text.chars().any(char::is_control) {
        Err(format!(
            "the first line of its output isn't a password; it must be UTF-8 text of at most {} \
             bytes without control characters",
            MAX_LEN
        ))
    } else {
        Ok(text.to_string())
    }
}

fn failed(status: ExitStatus, stderr: &[u8]) -> String {
    let status = match status.code() {
        Some(code) => format!("exit status {}", code),
        None => "a signal".to_string(),
    };
    format!(
        "it ended with {}{}; run it by hand to find out why",
        status,
        Shown(stderr)
    )
}

/// What the program wrote to stderr, in brackets.
struct Shown<'a>(&'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = excerpt(&String::from_utf8_lossy(self.0));
        if text.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", Escaped(text.as_bytes()))
    }
}

/// A pipe from the program, and its first bytes.
struct Output<P> {
    pipe: Option<P>,
    bytes: Vec<u8>,
    limit: usize,
}

impl<P: Read + AsRawFd> Output<P> {
    fn new(pipe: Option<P>, limit: usize) -> Output<P> {
        Output {
            // A pipe that could block isn't read.
            pipe: pipe.filter(|pipe| sys::set_nonblocking(pipe).is_ok()),
            bytes: Vec::new(),
            limit,
        }
    }

    /// Reads what is there, but not for ever; drops what is beyond the limit.
    fn read(&mut self) {
        const ROUNDS: usize = 32;
        let mut chunk = [0; 4096];
        for _ in 0..ROUNDS {
            match self.pipe.as_mut().map(|pipe| pipe.read(&mut chunk)) {
                Some(Ok(count)) if count > 0 => {
                    let room = self.limit.saturating_sub(self.bytes.len());
                    self.bytes.extend_from_slice(&chunk[..count.min(room)]);
                }
                _ => return,
            }
        }
    }
}

#[cfg(not(miri))] // which starts no process
#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    fn run(script: &str, limit: Duration) -> Result<String, String> {
        let words = ["sh", "-c", script];
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        first_line(&words, limit)
    }

    #[track_caller]
    fn assert_fails(script: &str, expected: &str) {
        let why = run(script, SOON).unwrap_err();
        assert!(why.contains(expected), "{}", why);
        assert!(!why.contains("hunter2"), "{}", why);
    }

    #[test]
    fn the_first_line_is_the_password() {
        for script in &[
            "echo 'a b\u{e9}'",
            "printf 'a b\u{e9}\\r\\nmore\\n'",
            "printf 'a b\u{e9}'; echo 'a warning' >&2",
        ] {
            assert_eq!(run(script, SOON).as_deref(), Ok("a b\u{e9}"), "{}", script);
        }
        // More than a pipe holds.
        let long = run("echo x; head -c 300000 /dev/zero", SOON);
        assert_eq!(long.as_deref(), Ok("x"));
    }

    #[test]
    fn a_failure_has_its_reason_and_never_the_output() {
        assert_fails(
            "echo hunter2; echo locked >&2; exit 3",
            "exit status 3 (locked);",
        );
        assert_fails("kill -9 $$", "it ended with a signal;");
        assert_fails("printf '\\nhunter2\\n'", "is empty");
        assert_fails("true", "is empty");
        assert_fails("printf 'hunter2\\t\\n'", "isn't a password");
        assert_fails("printf 'hunter2\\377\\n'", "isn't a password");
        assert_fails("head -c 70000 /dev/zero | tr '\\0' a", "isn't a password");
        assert_fails("yes error | head -c 9999 >&2; exit 1", "error error");
        let missing = first_line(&["/nonexistent/pass".to_string()], SOON);
        assert!(missing.unwrap_err().contains("its full path"));
    }

    /// A keyring's daemon outlives the program and has its stdout.
    #[test]
    fn a_process_that_is_left_behind_is_not_waited_for() {
        let begun = Instant::now();
        assert_eq!(run("sleep 30 & echo x", SOON).as_deref(), Ok("x"));
        assert!(begun.elapsed() < SOON);
    }

    #[test]
    fn a_late_program_is_killed_with_its_children() {
        let file = env::temp_dir().join(format!("ptunnel-late-{}", std::process::id()));
        let script = format!("sleep 1000 & echo $! >'{}'; wait", file.display());
        let why = run(&script, Duration::from_millis(500)).unwrap_err();
        assert!(why.contains("killed after 0s"), "{}", why);
        let child = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        // A zombie has no command line.
        let line = || std::fs::read(format!("/proc/{}/cmdline", child.trim()));
        let is_gone = || line().map_or(true, |line| line.is_empty());
        let until = Instant::now() + SOON;
        while !is_gone() {
            assert!(Instant::now() < until, "it runs on");
            thread::sleep(PERIOD);
        }
    }

    #[test]
    fn it_has_no_input() {
        assert_fails("read line && echo got", "exit status 1");
    }
}
