//! The passwords that wait for the thread that checks them.
//!
//! Each has a rank: the number of guesses of its address, wrong or waiting, that are ahead of it. The
//! lowest rank is checked first. In a full queue the highest rank gives way to a lower one. So an
//! address with many guesses neither holds up the others nor takes their places, but has all places
//! that no other address needs.

use std::sync::{Arc, Mutex};

use ptunnel_proto::auth::Verdict;
use ptunnel_proto::sync::lock;
use ptunnel_proto::values::{ClientNetwork, Secret};

/// Maximum number of passwords that wait.
const PLACES: usize = 128;

type WakeFn = Box<dyn FnOnce() + Send>;

/// A user, the hash of the password in the file and a password, as HMAC-SHA256 with a random key.
pub(super) type Mark = [u8; 32];

/// A password that waits.
pub(super) struct Job {
    /// The clients that sent it.
    pub(super) tickets: Vec<Arc<LoginTicket>>,
    /// Their address.
    pub(super) client: ClientNetwork,
    pub(super) hash: Secret,
    /// Whether the hash is that of the user that the client named; otherwise it is another one, which
    /// takes as long.
    pub(super) is_user: bool,
    pub(super) password: Vec<u8>,
    pub(super) mark: Option<Mark>,
    pub(super) rank: u32,
}

/// The passwords that wait, in the order of their arrival.
#[derive(Default)]
pub(super) struct LoginQueue {
    jobs: Vec<Job>,
    /// The address whose password is being checked.
    checked: Option<ClientNetwork>,
}

impl LoginQueue {
    /// Adds a password; its rank is so far the number of wrong guesses. Returns the clients whose place
    /// it takes. `None` if there is no room for it.
    pub(super) fn add(&mut self, mut job: Job) -> Option<Vec<Arc<LoginTicket>>> {
        self.forget_departed();
        let client = job.client;
        let mut of_client = self.jobs.iter_mut().filter(|it| it.client == client);
        // A browser opens many connections with one password.
        if let Some(same) = of_client.find(|it| it.mark.is_some() && it.mark == job.mark) {
            same.tickets.append(&mut job.tickets);
            return Some(Vec::new());
        }
        let waiting = self.jobs.iter().filter(|it| it.client == client).count();
        job.rank += waiting as u32 + (self.checked == Some(client)) as u32;
        let mut without_place = Vec::new();
        if self.jobs.len() >= PLACES {
            let last = self.jobs.iter().enumerate().max_by_key(|(_, it)| it.rank);
            let (at, _) = last.filter(|(_, last)| last.rank > job.rank)?;
            without_place = self.jobs.remove(at).tickets;
        }
        self.jobs.push(job);
        Some(without_place)
    }

    /// Returns the next password to check.
    pub(super) fn take(&mut self) -> Option<Job> {
        self.forget_departed();
        let next = self.jobs.iter().enumerate().min_by_key(|(_, it)| it.rank);
        let next = next.map(|(at, _)| at);
        let job = next.map(|at| self.jobs.remove(at));
        self.checked = job.as_ref().map(|job| job.client);
        job
    }

    /// Forgets the clients that have left.
    fn forget_departed(&mut self) {
        for job in &mut self.jobs {
            job.tickets.retain(|ticket| Arc::strong_count(ticket) > 1);
        }
        self.jobs.retain(|job| !job.tickets.is_empty());
    }
}

/// The place of a client in the queue.
#[derive(Default)]
pub(super) struct LoginTicket {
    state: Mutex<(Option<Verdict>, Option<WakeFn>)>,
}

impl LoginTicket {
    /// Returns the verdict, as far as there is one.
    pub(super) fn verdict(&self) -> Verdict {
        lock(&self.state).0.unwrap_or(Verdict::Pending)
    }

    /// Returns whether there is no verdict; then the function that `wake` makes is called when there
    /// is one. Of several functions, only the last one is.
    pub(super) fn is_pending(&self, wake: impl FnOnce() -> WakeFn) -> bool {
        let mut state = lock(&self.state);
        if state.0.is_none() {
            state.1 = Some(wake());
        }
        state.0.is_none()
    }

    pub(super) fn answer(&self, verdict: Verdict) {
        let wake = {
            let mut state = lock(&self.state);
            state.0 = Some(verdict);
            state.1.take()
        };
        if let Some(wake) = wake {
            wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds a password of the address with this number, and returns its client and the number that
    /// gave way.
    fn add(
        queue: &mut LoginQueue,
        client: u8,
        password: u8,
        wrong: u32,
    ) -> (Arc<LoginTicket>, Option<usize>) {
        let ticket = Arc::new(LoginTicket::default());
        let added = queue.add(Job {
            tickets: vec![ticket.clone()],
            client: Some([192, 0, 2, client].into()).into(),
            hash: Secret::new(""),
            is_user: true,
            password: vec![client, password],
            mark: Some([password; 32]),
            rank: wrong,
        });
        (ticket, added.map(|gone| gone.len()))
    }

    fn order(queue: &mut LoginQueue) -> Vec<Vec<u8>> {
        let mut order = Vec::new();
        while let Some(job) = queue.take() {
            order.push(job.password);
        }
        order
    }

    #[test]
    fn addresses_take_turns_and_those_with_wrong_guesses_come_last() {
        let mut queue = LoginQueue::default();
        let mut tickets = vec![add(&mut queue, 9, 0, 3)];
        for password in 0..3 {
            tickets.push(add(&mut queue, 1, password, 0));
        }
        tickets.push(add(&mut queue, 2, 0, 0));
        assert!(tickets.iter().all(|(_, added)| *added == Some(0)));
        let expected = [[1, 0], [2, 0], [1, 1], [1, 2], [9, 0]];
        assert_eq!(order(&mut queue), expected);
    }

    /// Regression: the others got no place.
    #[test]
    fn an_address_that_fills_the_queue_gives_way() {
        let mut queue = LoginQueue::default();
        let all: Vec<_> = (0..PLACES as u8 + 1)
            .map(|password| add(&mut queue, 9, password, 0))
            .collect();
        assert_eq!(all[PLACES - 1].1, Some(0));
        assert_eq!(all[PLACES].1, None, "it is full for its address");
        let other = add(&mut queue, 1, 0, 0);
        assert_eq!(other.1, Some(1), "the last one gave way");
        assert_eq!(Arc::strong_count(&all[PLACES - 1].0), 1);
        assert_eq!(queue.jobs.len(), PLACES);
        let order = order(&mut queue);
        assert_eq!(order[..3], [vec![9, 0], vec![1, 0], vec![9, 1]]);
    }

    #[test]
    fn the_password_that_is_being_checked_counts() {
        let mut queue = LoginQueue::default();
        let _first = add(&mut queue, 9, 0, 0);
        assert!(queue.take().is_some());
        let _second = add(&mut queue, 9, 1, 0);
        let _other = add(&mut queue, 1, 0, 0);
        assert_eq!(order(&mut queue), [[1, 0], [9, 1]]);
        let _third = add(&mut queue, 9, 2, 0);
        assert_eq!(queue.take().map(|job| job.rank), Some(0));
    }

    #[test]
    fn connections_with_one_password_take_one_place() {
        let mut queue = LoginQueue::default();
        let mut all: Vec<_> = (0..1000).map(|_| add(&mut queue, 1, 0, 0)).collect();
        assert_eq!(queue.jobs.len(), 1);
        // Others are counted for their own address.
        all.push(add(&mut queue, 2, 0, 0));
        assert_eq!(queue.jobs.len(), 2);
        all.truncate(500);
        assert_eq!(queue.take().map(|job| job.tickets.len()), Some(500));
        assert!(queue.take().is_none(), "its client has left");
    }
}
