//! The bound on the lines about denied clients: an address that guesses passwords doesn't fill the log.
//!
//! The lines that are left out are counted. A thread that runs only while there are any reports them
//! at the end of the address's period, and the logger at the end of the program.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use log::Level::Warn;

use super::field::{self, FieldValue};
use super::line_limit::{LeftOut, LineLimit, Note, PERIOD};
use ptunnel_proto::sync::lock;
use ptunnel_proto::values::ClientNetwork;

/// Maximum number of lines about an address in its period.
const LINES: u64 = 20;

/// The lines about denied clients. Clones share their state.
#[derive(Clone)]
pub(super) struct Denials {
    state: Arc<Mutex<DenialsState>>,
    report: Arc<dyn Fn(&LeftOut) + Send + Sync>,
}

struct DenialsState {
    limit: LineLimit,
    /// What ended with a line before the thread has seen it.
    ended: Vec<LeftOut>,
    has_thread: bool,
}

impl Default for Denials {
    fn default() -> Denials {
        Denials::new(PERIOD, report)
    }
}

impl Denials {
    fn new(period: Duration, report: impl Fn(&LeftOut) + Send + Sync + 'static) -> Denials {
        let state = DenialsState {
            limit: LineLimit::new(LINES, period),
            ended: Vec::new(),
            has_thread: false,
        };
        Denials {
            state: Arc::new(Mutex::new(state)),
            report: Arc::new(report),
        }
    }

    /// Counts a line about a client; returns whether it is logged. It isn't if its level isn't shown.
    pub(super) fn admit(&self, client: ClientNetwork, is_shown: bool) -> bool {
        let now = Instant::now();
        let mut state = lock(&self.state);
        let ended = state.limit.end(now);
        state.ended.extend(ended);
        if state.limit.note(client, is_shown, now) == Note::Line {
            return true;
        }
        if !state.has_thread {
            let denials = self.clone();
            let thread = thread::Builder::new().name("denials".into());
            // If it can't be started, the next line tries again.
            state.has_thread = thread.spawn(move || denials.report_each()).is_ok();
        }
        false
    }

    /// Reports what is left out at the end of each period, until there is nothing.
    fn report_each(&self) {
        // Not in the condition, where the lock would be held for the whole round.
        let pause = || lock(&self.state).pause();
        while let Some(pause) = pause() {
            thread::sleep(pause);
            self.report(LineLimit::end);
        }
    }

    /// Reports what is left out so far, at the end of the program.
    pub(super) fn report_all(&self) {
        self.report(LineLimit::end_all);
    }

    fn report(&self, end: fn(&mut LineLimit, Instant) -> Vec<LeftOut>) {
        let mut state = lock(&self.state);
        let now = end(&mut state.limit, Instant::now());
        let ended: Vec<LeftOut> = state.ended.drain(..).chain(now).collect();
        drop(state);
        ended.iter().for_each(|it| (self.report)(it));
    }
}

impl DenialsState {
    /// Returns the time until the next report; `None` ends the thread.
    fn pause(&mut self) -> Option<Duration> {
        let pause = self.limit.next_end(Instant::now());
        if !self.ended.is_empty() {
            return Some(Duration::default());
        }
        self.has_thread = pause.is_some();
        pause
    }
}

fn report(left_out: &LeftOut) {
    let fields = || {
        vec![
            ("client", FieldValue::Text(left_out.to_string())),
            ("denials", FieldValue::Number(left_out.count)),
            ("seconds", FieldValue::Duration(left_out.period)),
            ("cause", FieldValue::Text("denied".into())),
        ]
    };
    field::log(
        Warn,
        format_args!(
            "{}: denied {} more connections in {}s; only the first {} of a minute have a line",
            left_out,
            left_out.count,
            left_out.period.as_secs().max(1),
            LINES
        ),
        fields,
    );
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{channel, Receiver};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn denials(period: Duration) -> (Denials, Receiver<u64>) {
        let (sender, reports) = channel();
        let sender = Mutex::new(sender);
        let report = move |it: &LeftOut| lock(&sender).send(it.count).unwrap();
        (Denials::new(period, report), reports)
    }

    fn client(number: u8) -> ClientNetwork {
        Some([192, 0, 2, number].into()).into()
    }

    /// An address that stops is reported, too, and one that continues once a period.
    #[test]
    fn each_denial_has_a_line_or_is_in_a_report() {
        let (denials, reports) = denials(Duration::from_millis(20));
        for total in &[100, 25, 1000] {
            let lines = (0..*total)
                .filter(|_| denials.admit(client(1), true))
                .count() as u64;
            let mut left = total - lines;
            while left > 0 {
                left -= reports.recv_timeout(TIMEOUT).expect("a report");
            }
        }
        assert!(reports.try_recv().is_err());
    }

    #[test]
    fn the_end_reports_what_is_left() {
        let (denials, reports) = denials(TIMEOUT);
        let lines = (0..100).filter(|_| denials.admit(client(1), true)).count();
        assert_eq!(lines, 20);
        assert!(denials.admit(client(2), true));
        assert!(!denials.admit(client(2), false));
        assert!(reports.try_recv().is_err());
        denials.report_all();
        let mut both = [reports.try_recv(), reports.try_recv()];
        both.sort_by_key(|count| count.unwrap_or_default());
        assert_eq!(both, [Ok(1), Ok(80)]);
        assert!(reports.try_recv().is_err());
    }
}
