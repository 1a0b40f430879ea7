//! Reload: reads the config file of the command line, and all files that it names, again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

use super::argv_scrub;
use super::command_line::{config, CommandLine};
use super::env::Environment;
use super::password::prompting;
use ptunnel_core::config::Config;
use ptunnel_core::listener::reload::ConfigSource;
use ptunnel_proto::values::Secret;

/// Passwords that were typed at the prompt, for reloads, which can't prompt.
#[derive(Default)]
pub(super) struct Answers {
    known: RefCell<HashMap<String, Secret>>,
}

impl Answers {
    /// Prompts with `ask` and keeps the answer.
    pub(super) fn ask(
        &self,
        whose: &str,
        ask: impl FnOnce(&str) -> io::Result<Secret>,
    ) -> io::Result<Secret> {
        let answer = ask(whose)?;
        let mut known = self.known.borrow_mut();
        known.insert(whose.to_string(), answer.clone());
        Ok(answer)
    }

    /// Returns the answer to an earlier prompt.
    fn recall(&self, whose: &str) -> io::Result<Secret> {
        let known = self.known.borrow();
        let answer = known.get(whose).cloned();
        answer.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl CommandLine {
    /// Returns the source of the configuration for reloads, if there is a config file.
    pub(super) fn source(self, answers: Answers) -> Option<ConfigSource> {
        let typed = match self {
            CommandLine::Run(typed) => typed,
            CommandLine::Print(_) => return None,
        };
        let name = typed.value_of("config")?.to_string();
        let read = move || {
            let prompt = |whose: &str| answers.recall(whose);
            let filter = argv_scrub::leave_out_of_core_dumps();
            let missing = prompting(&prompt);
            let result = config(&typed, &Environment::of_process(), &missing);
            let config = result.as_ref().ok().map(|(config, _)| config);
            argv_scrub::settle(filter, config.map_or(false, Config::has_credentials));
            result
        };
        Some(ConfigSource {
            name,
            read: Box::new(read),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_for_reloads() {
        let answers = Answers::default();
        let asked = answers.ask("whose", |_| Ok(Secret::new("x")));
        assert_eq!(asked.unwrap().reveal(), "x");
        assert_eq!(answers.recall("whose").unwrap().reveal(), "x");
        assert!(answers.recall("another").is_err());
        let failed = answers.ask("failed", |_| Err(io::ErrorKind::NotFound.into()));
        assert!(failed.is_err() && answers.recall("failed").is_err());
    }
}
