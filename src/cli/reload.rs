//! The command line once more, for a reload: its file as it is now, and all files that it names.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;

use super::argv;
use super::command_line::{Given, Words};
use super::env::Environment;
use super::password::Missing;
use crate::config::{Config, Secret};
use crate::listener::reload::Source;

/// What a person has answered: who reloads can't be asked again.
#[derive(Default)]
pub(super) struct Answers {
    known: RefCell<HashMap<String, Secret>>,
}

impl Answers {
    /// Asks with `ask`, and keeps the answer.
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

    /// The same answer to the same question.
    fn again(&self, whose: &str) -> io::Result<Secret> {
        let known = self.known.borrow();
        let answer = known.get(whose).cloned();
        answer.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Words {
    /// Where the configuration can be read again, if it is in a file.
    pub(super) fn source(self, answers: Answers) -> Option<Source> {
        match self {
            Words::Given(given) => given.source(answers),
            Words::Print(_) => None,
        }
    }
}

impl Given {
    fn source(self, answers: Answers) -> Option<Source> {
        let name = self.typed.value_of("config")?.to_string();
        let read = move || {
            let ask = |whose: &str| answers.again(whose);
            let filter = argv::leave_out_of_core_dumps();
            let outcome = self.config(&Environment::of_process(), Missing::Asked(&ask));
            let config = outcome.as_ref().ok().map(|(config, _)| config);
            argv::settle(filter, config.map_or(false, Config::has_credentials));
            outcome
        };
        Some(Source {
            name,
            read: Box::new(read),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_asked_once() {
        let answers = Answers::default();
        let asked = answers.ask("whose", |_| Ok(Secret::new("x")));
        assert_eq!(asked.unwrap().reveal(), "x");
        assert_eq!(answers.again("whose").unwrap().reveal(), "x");
        assert!(answers.again("another's").is_err());
        let failed = answers.ask("no one's", |_| Err(io::ErrorKind::NotFound.into()));
        assert!(failed.is_err() && answers.again("no one's").is_err());
    }
}
