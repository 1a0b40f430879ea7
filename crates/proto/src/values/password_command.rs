//! The command that prints a password, with the password that it printed last: run when one is
//! needed, on a thread, for all tunnels that wait for it.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use log::warn;

use crate::sync::lock;
use crate::text::escape::Escaped;

/// The time that one run may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Time after a failure in which the command isn't run again: not for each tunnel.
const FAILURE: Duration = Duration::from_secs(5);

type WakeFn = Box<dyn FnOnce() + Send>;
/// Runs a program with its arguments, within a time; returns the first line of its output.
pub type RunFn = fn(&[String], Duration) -> Result<String, String>;

/// A program with its arguments, run without a shell. Clones share the password; two are equal if
/// their words are.
#[derive(Clone)]
pub struct PasswordCommand {
    shared: Arc<Shared>,
}

struct Shared {
    words: Vec<String>,
    run: RunFn,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: Option<Run>,
    waiting: Vec<WakeFn>,
    is_running: bool,
}

struct Run {
    begun: Instant,
    ended: Instant,
    /// `None` after a failure, which was logged.
    password: Option<String>,
}

impl PasswordCommand {
    /// Makes a command of a program and its arguments. It isn't run yet: `run` does that, within the
    /// time that it gets, and returns the password, or why there is none.
    pub fn new(words: Vec<String>, run: RunFn) -> PasswordCommand {
        PasswordCommand {
            shared: Arc::new(Shared {
                words,
                run,
                state: Mutex::default(),
            }),
        }
    }

    /// Returns the program, without its arguments.
    pub fn program(&self) -> &str {
        self.shared.words.first().map_or("", String::as_str)
    }

    /// Runs the command now, and waits for its end. Doesn't change the password that is kept.
    ///
    /// # Errors
    ///
    /// Why there is no password, and what to do. It never shows the output.
    pub fn run(&self) -> Result<String, String> {
        (self.shared.run)(&self.shared.words, LIMIT)
    }

    /// Returns the password of the last run; `None` if that failed, or there was none.
    pub fn password(&self) -> Option<String> {
        let state = lock(&self.shared.state);
        state.last.as_ref().and_then(|run| run.password.clone())
    }

    /// Returns whether the password, or its absence, is known from a run that began after `since`.
    pub fn is_known(&self, since: Option<Instant>) -> bool {
        lock(&self.shared.state).is_known(since)
    }

    /// As [`is_known`](PasswordCommand::is_known). If it isn't, the command is run, and the function
    /// that `wake` makes is called when it is time to ask again. Never waits.
    pub fn is_ready(&self, since: Option<Instant>, wake: impl FnOnce() -> WakeFn) -> bool {
        let mut state = lock(&self.shared.state);
        if state.is_known(since) {
            return true;
        }
        if !state.is_running {
            let command = self.clone();
            let thread = thread::Builder::new().name("password".to_string());
            if let Err(e) = thread.spawn(move || command.work()) {
                let now = Instant::now();
                state.last = Some(self.failed(now, &e.to_string()));
                return true;
            }
            state.is_running = true;
        }
        state.waiting.push(wake());
        false
    }

    fn work(&self) {
        let begun = Instant::now();
        let run = match self.run() {
            Ok(password) => Run {
                begun,
                ended: Instant::now(),
                password: Some(password),
            },
            Err(why) => self.failed(begun, &why),
        };
        let mut state = lock(&self.shared.state);
        state.last = Some(run);
        state.is_running = false;
        let waiting: Vec<WakeFn> = state.waiting.drain(..).collect();
        drop(state);
        waiting.into_iter().for_each(|wake| wake());
    }

    fn failed(&self, begun: Instant, why: &str) -> Run {
        let program = Escaped(self.program().as_bytes());
        warn!("cannot get the proxy password from '{}': {}", program, why);
        Run {
            begun,
            ended: Instant::now(),
            password: None,
        }
    }
}

impl State {
    fn is_known(&self, since: Option<Instant>) -> bool {
        self.last.as_ref().map_or(false, |run| match run.password {
            Some(_) => since.map_or(true, |since| run.begun >= since),
            None => run.ended.elapsed() < FAILURE,
        })
    }
}

impl PartialEq for PasswordCommand {
    fn eq(&self, other: &PasswordCommand) -> bool {
        self.shared.words == other.shared.words
    }
}

impl Eq for PasswordCommand {}

impl fmt::Debug for PasswordCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PasswordCommand");
        shown.field("program", &self.program()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn command(run: RunFn) -> PasswordCommand {
        PasswordCommand::new(vec!["pass".to_string()], run)
    }

    /// Returns whether the password is known, and the channel that reports when to ask again.
    fn ask(command: &PasswordCommand, since: Option<Instant>) -> (bool, mpsc::Receiver<()>) {
        let (sender, woken) = mpsc::channel();
        let is_ready = command.is_ready(since, || {
            Box::new(move || {
                let _ = sender.send(());
            })
        });
        (is_ready, woken)
    }

    #[track_caller]
    fn wait(command: &PasswordCommand, since: Option<Instant>) {
        loop {
            let (is_ready, woken) = ask(command, since);
            if is_ready {
                return;
            }
            woken.recv_timeout(Duration::from_secs(20)).expect("woken");
        }
    }

    #[test]
    fn one_run_serves_all_tunnels_that_wait_and_later_ones() {
        let command = command(|words, _| {
            thread::sleep(Duration::from_millis(100));
            Ok(format!("{} {:?}", words[0], Instant::now()))
        });
        assert_eq!(command.password(), None);
        let (first, second) = (ask(&command, None), ask(&command, None));
        assert!(!first.0 && !second.0);
        first.1.recv().unwrap();
        second.1.recv().unwrap();
        let password = command.password().expect("a password");
        wait(&command, None);
        assert_eq!(command.clone().password().as_ref(), Some(&password));
        let now = Instant::now();
        assert!(!command.is_known(Some(now)));
        wait(&command, Some(now));
        assert_ne!(command.password(), Some(password.clone()));
        assert!(!format!("{:?}", command).contains(&password));
    }

    #[test]
    fn a_failed_run_is_repeated_after_a_while() {
        let command = command(|_, _| Err("locked".to_string()));
        wait(&command, None);
        assert_eq!(command.password(), None);
        assert!(command.is_known(Some(Instant::now())));
        let earlier = Instant::now().checked_sub(FAILURE).expect("a time");
        if let Some(run) = &mut lock(&command.shared.state).last {
            run.ended = earlier;
        }
        assert!(!ask(&command, None).0);
    }

    #[test]
    fn equal_words_are_equal_commands() {
        let other = PasswordCommand::new(vec!["pass".to_string()], |_, _| Ok(String::new()));
        assert_eq!(command(|_, _| Ok(String::new())), other);
        assert_ne!(
            other,
            PasswordCommand::new(vec!["vault".to_string()], |_, _| Ok(String::new()))
        );
    }
}
