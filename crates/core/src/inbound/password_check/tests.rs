use std::sync::mpsc::channel;

use super::*;
use ptunnel_proto::values::Secret;

/// Returns a file in which these users have these passwords, hashed with the fewest rounds.
fn users(all: &[(&str, &str)]) -> Accounts {
    let crypt = Crypt::load().unwrap();
    let line = |(user, password): &(&str, &str)| {
        let hash = crypt.hash(password.as_bytes(), "$5$rounds=1000$saltsalt$");
        format!("{}:{}\n", user, hash.unwrap())
    };
    Accounts::File(Users::read(&all.iter().map(line).collect::<String>()).unwrap())
}

fn client(number: u8) -> Option<IpAddr> {
    Some([192, 0, 2, number].into())
}

/// Returns the verdict, and whether the thread was asked.
fn login(
    logins: &Logins,
    users: &Accounts,
    client: Option<IpAddr>,
    (user, password): (&str, &str),
) -> (Verdict, bool) {
    let ticket = match logins.ask(users, client, user.as_bytes(), password.as_bytes()) {
        Ok(verdict) => return (verdict, false),
        Err(ticket) => ticket,
    };
    let (sender, woken) = channel();
    let wake = move || -> Box<dyn FnOnce() + Send> { Box::new(move || sender.send(()).unwrap()) };
    if ticket.is_pending(wake) {
        woken.recv_timeout(Duration::from_secs(20)).expect("woken");
    }
    (ticket.verdict(), true)
}

fn logins_of(logins: &Logins, accounts: &Accounts, number: u8, login_of: (&str, &str)) -> Verdict {
    login(logins, accounts, client(number), login_of).0
}

const WRONG: Verdict = Verdict::Refused(LoginFault::Wrong);
const THROTTLED: Verdict = Verdict::Refused(LoginFault::Throttled);

#[test]
fn a_password_is_checked_once() {
    let (logins, users) = (Logins::default(), users(&[("ann", "x"), ("joe", "y")]));
    for asked in &[true, false, false] {
        let each = |one| login(&logins, &users, client(1), one);
        assert_eq!(each(("ann", "x")), (Verdict::Accepted, *asked));
        assert_eq!(each(("joe", "y")), (Verdict::Accepted, *asked));
        assert_eq!(each(("joe", "x")), (WRONG, *asked));
        assert_eq!(each(("jim", "x")), (WRONG, *asked));
        assert_eq!(each(("", "")), (WRONG, *asked));
        assert_eq!(each(("ann\0", "x")), (WRONG, *asked));
    }
}

/// As after a reload: the state stays, and only the user with another hash is checked again.
#[test]
fn a_changed_hash_is_checked_again() {
    let (logins, before) = (Logins::default(), users(&[("ann", "x"), ("joe", "y")]));
    let after = users(&[("ann", "z"), ("joe", "y")]);
    for one in &[("ann", "x"), ("joe", "y")] {
        let first = login(&logins, &before, client(1), *one);
        assert_eq!(first, (Verdict::Accepted, true));
    }
    let each = |one| login(&logins, &after, client(1), one);
    assert_eq!(each(("ann", "x")), (WRONG, true));
    assert_eq!(each(("ann", "z")), (Verdict::Accepted, true));
    assert_eq!(each(("joe", "y")), (Verdict::Accepted, false));
    let gone = users(&[("joe", "y")]);
    assert_eq!(
        login(&logins, &gone, client(1), ("ann", "z")),
        (WRONG, true)
    );
}

#[test]
fn an_address_with_wrong_guesses_is_refused_and_others_are_not() {
    let (logins, users) = (Logins::default(), users(&[("ann", "x")]));
    let guess = |number: u8| login(&logins, &users, client(1), ("ann", &number.to_string()));
    assert_eq!(
        login(&logins, &users, client(1), ("ann", "x")).0,
        Verdict::Accepted
    );
    (0..10).for_each(|number| assert_eq!(guess(number), (WRONG, true)));
    assert_eq!(guess(0), (THROTTLED, false));
    assert_eq!(guess(10), (THROTTLED, false));
    // Even what is right: a remembered password could be guessed without crypt(3).
    assert_eq!(
        login(&logins, &users, client(1), ("ann", "x")),
        (THROTTLED, false)
    );
    assert_eq!(
        login(&logins, &users, client(2), ("ann", "x")),
        (Verdict::Accepted, false)
    );
}

/// The same wrong password of a program that repeats it is one guess.
#[test]
fn repeating_a_wrong_password_is_one_guess() {
    let (logins, users) = (Logins::default(), users(&[("ann", "x")]));
    for _ in 0..100 {
        assert_eq!(login(&logins, &users, client(1), ("ann", "old")).0, WRONG);
    }
    assert_eq!(
        login(&logins, &users, client(1), ("ann", "x")).0,
        Verdict::Accepted
    );
}

/// Regression: they had no limit.
#[test]
fn guesses_about_one_user_count_with_those_about_a_file() {
    let joe = Credentials::new("joe", Secret::new("y")).unwrap();
    let one = Accounts::One(Arc::new(joe));
    let (logins, file) = (Logins::default(), users(&[("ann", "x")]));
    let each = |number, accounts, login| logins_of(&logins, accounts, number, login);
    for guess in &["0", "1", "2", "3", "4"] {
        assert_eq!(each(1, &one, ("joe", "0")), WRONG, "one guess in all");
        assert_eq!(each(1, &one, ("joe", guess)), WRONG);
        assert_eq!(each(1, &file, ("ann", guess)), WRONG);
    }
    for number in &[1, 2] {
        let (one_verdict, file_verdict) = match number {
            1 => (THROTTLED, THROTTLED),
            _ => (Verdict::Accepted, Verdict::Accepted),
        };
        assert_eq!(each(*number, &one, ("joe", "y")), one_verdict);
        assert_eq!(each(*number, &file, ("ann", "x")), file_verdict);
    }
}

/// As after a reload.
#[test]
fn what_is_remembered_about_one_user_ends_with_its_password() {
    let account = |user, password| {
        let credentials = Credentials::new(user, Secret::new(password)).unwrap();
        Accounts::One(Arc::new(credentials))
    };
    let logins = Logins::default();
    let verdict = |user, password| {
        let account = account(user, password);
        logins_of(&logins, &account, 1, ("ann", "x"))
    };
    assert_eq!(verdict("ann", "x"), Verdict::Accepted);
    assert_eq!(verdict("ann", "y"), WRONG);
    assert_eq!(verdict("joe", "x"), WRONG);
    assert_eq!(verdict("ann", "x"), Verdict::Accepted);
}

#[test]
fn what_is_remembered_has_an_end_and_a_limit() {
    let (mut memory, start) = (Memory::default(), Instant::now());
    let mark = |number: usize| {
        let mut mark = [0; 32];
        mark[..8].copy_from_slice(&(number as u64).to_be_bytes());
        Some(mark)
    };
    memory.remember(mark(0), true, start);
    memory.remember(mark(1), false, start);
    assert_eq!(
        memory.judge(None.into(), mark(0), start + super::WRONG),
        Some(Verdict::Accepted)
    );
    assert_eq!(memory.judge(None.into(), mark(1), start), Some(WRONG));
    assert_eq!(
        memory.judge(None.into(), mark(1), start + super::WRONG),
        None
    );
    assert_eq!(memory.judge(None.into(), mark(0), start + RIGHT), None);
    (0..2 * MOST).for_each(|number| memory.remember(mark(number), false, start));
    assert!(memory.known.len() <= MOST / 2);
    (0..2 * MOST).for_each(|number| memory.remember(mark(number), true, start));
    assert_eq!(memory.known.len(), MOST);
}
