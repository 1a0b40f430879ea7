//! Threads with an interpreter each: a file nests as deep as it likes, and the interpreter with it,
//! for which the stack of any other thread may be too small.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::interpreter::{Fault, Interpreter};

/// Where the interpreter's own limits come before this one: it is memory only as far as it is used.
const STACK: usize = 16 * 1024 * 1024;

/// A file's name, and what it holds.
#[derive(PartialEq, Eq)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
}

/// One such thread. It ends when this is dropped, or with the first question that was cut short:
/// whatever the file was in, it doesn't go on with.
pub(super) struct Worker {
    questions: Sender<Question>,
}

struct Question {
    url: String,
    host: String,
    until: Instant,
    answer: Sender<Result<String, Fault>>,
}

impl Worker {
    /// One that runs the file with its first question.
    pub(super) fn start(source: &Arc<Source>) -> Result<Worker, Fault> {
        let (questions, receiver) = mpsc::channel();
        let source = source.clone();
        spawn(move || answer_all(&source, &receiver)).map_err(Fault::without_thread)?;
        Ok(Worker { questions })
    }

    /// Asks, and waits; returns who may be asked again, too.
    pub(super) fn ask(
        self,
        url: String,
        host: String,
        until: Instant,
    ) -> (Result<String, Fault>, Option<Worker>) {
        let (answer, answers) = mpsc::channel();
        let question = Question {
            url,
            host,
            until,
            answer,
        };
        // A thread that is gone has dropped the question, and no answer comes.
        let _ = self.questions.send(question);
        match answers.recv() {
            Ok(Err(Fault::Late)) => (Err(Fault::Late), None),
            Ok(answer) => (answer, Some(self)),
            Err(_) => (Err(Fault::gone()), None),
        }
    }

    /// Runs the file as far as it runs before it is asked. Its thread ends with that, be it later
    /// than anybody waits: what can't be cut comes to its own end.
    pub(super) fn try_out(source: &Arc<Source>, until: Instant) -> Result<(), Fault> {
        let source = source.clone();
        let (outcome, outcomes) = mpsc::channel();
        // Nobody may wait any more.
        let run = move || drop(outcome.send(load(&source, until).map(drop)));
        drop(spawn(run).map_err(Fault::without_thread)?);
        let limit = until.saturating_duration_since(Instant::now());
        match outcomes.recv_timeout(limit) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => Err(Fault::Late),
            Err(RecvTimeoutError::Disconnected) => Err(Fault::gone()),
        }
    }
}

pub(super) fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let builder = thread::Builder::new().name("pac".into());
    builder.stack_size(STACK).spawn(work)
}

fn load(source: &Source, until: Instant) -> Result<Interpreter, Fault> {
    Interpreter::load(&source.name, &source.text, until)
}

fn answer_all(source: &Source, questions: &Receiver<Question>) {
    let mut loaded = None;
    for question in questions {
        let Question {
            url, host, until, ..
        } = question;
        let interpreter = match loaded.take() {
            Some(interpreter) => Ok(interpreter),
            None => load(source, until),
        };
        let answer = interpreter.and_then(|interpreter| {
            let answer = interpreter.ask(&url, &host, until);
            loaded = Some(interpreter);
            answer
        });
        let is_late = matches!(answer, Err(Fault::Late));
        // Nobody waits any more.
        let _ = question.answer.send(answer);
        if is_late {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The interpreter looks at the time between two of its steps, and this is one that takes
    /// minutes: the start of the program waited for its end.
    #[test]
    fn what_cannot_be_cut_is_not_waited_for() {
        let source = Arc::new(Source {
            name: "it".into(),
            text: "[].indexOf.call({ length: 2147483647 }, 1);".into(),
        });
        let start = Instant::now();
        let outcome = Worker::try_out(&source, start + Duration::from_millis(50));
        assert!(matches!(outcome, Err(Fault::Late)));
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
