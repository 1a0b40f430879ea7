//! Threads with an interpreter each: a file nests as deep as it likes, and the interpreter with it,
//! for which the stack of any other thread may be too small. And a built-in function can't be cut:
//! who asked waits no longer than he wants, and the thread ends when that does.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::interpreter::{Fault, Interpreter};
use crate::turn::Turn;

/// Where the interpreter's own limits come before this one: it is memory only as far as it is used.
const STACK: usize = 16 * 1024 * 1024;

/// A file's name, and what it holds.
#[derive(PartialEq, Eq)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
}

/// What is run.
pub(super) enum Call {
    /// The file alone, as far as it runs before it is asked.
    Load,
    /// Its FindProxyForURL, with these.
    Ask { url: String, host: String },
}

/// One such thread. It ends when this is dropped, or later, with what it is in then.
pub(super) struct Worker {
    questions: Sender<Question>,
}

struct Question {
    call: Call,
    until: Instant,
    answer: Sender<Result<String, Fault>>,
    turn: Turn,
}

impl Worker {
    /// One that runs the file with its first question.
    pub(super) fn start(source: &Arc<Source>) -> Result<Worker, Fault> {
        let (questions, receiver) = mpsc::channel();
        let source = source.clone();
        spawn(move || answer_all(&source, &receiver)).map_err(Fault::without_thread)?;
        Ok(Worker { questions })
    }

    /// Asks, and waits until then; returns who may be asked again, too. The turn is taken for as long
    /// as the thread is at it.
    pub(super) fn ask(
        self,
        call: Call,
        until: Instant,
        turn: Turn,
    ) -> (Result<String, Fault>, Option<Worker>) {
        let (answer, answers) = mpsc::channel();
        let question = Question {
            call,
            until,
            answer,
            turn,
        };
        // A thread that is gone has dropped the question, and no answer comes.
        let _ = self.questions.send(question);
        let limit = until.saturating_duration_since(Instant::now());
        match answers.recv_timeout(limit) {
            // Whatever the file was in, it doesn't go on with.
            Ok(Err(Fault::Late)) | Err(RecvTimeoutError::Timeout) => (Err(Fault::Late), None),
            Ok(answer) => (answer, Some(self)),
            Err(RecvTimeoutError::Disconnected) => (Err(Fault::gone()), None),
        }
    }
}

pub(super) fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let builder = thread::Builder::new().name("pac".into());
    builder.stack_size(STACK).spawn(work)
}

fn answer_all(source: &Source, questions: &Receiver<Question>) {
    let mut loaded = None;
    for question in questions {
        let Question {
            call,
            until,
            answer,
            turn,
        } = question;
        let interpreter = match loaded.take() {
            Some(interpreter) => Ok(interpreter),
            None => Interpreter::load(&source.name, &source.text, until),
        };
        let outcome = interpreter.and_then(|interpreter| {
            let outcome = match &call {
                Call::Load => Ok(String::new()),
                Call::Ask { url, host } => interpreter.ask(url, host, until),
            };
            loaded = Some(interpreter);
            outcome
        });
        // First: who has the answer may ask again.
        drop(turn);
        // Nobody may wait any more.
        let _ = answer.send(outcome);
    }
}
