//! Proxies that know the user, and refuse a destination with the status of a wrong password, 407.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::dynamic::listening;
use crate::reload::Site;
use crate::serve::{echo, granted, request};
use support::kerberos::Realm;
use support::parts::{find, Squid};
use support::{eventually, Connection, Peer, Ptunnel, Running, TempDir};

/// Squid's reason, and what ptunnel found out.
const RULES: &str =
    "the proxy's rules forbid the request (squid reports ERR_CACHE_ACCESS_DENIED 0)";
const OF_PASSWORD: &str = "the proxy rejected the username or the password";
pub const OF_DESTINATION: &str = "the proxy accepted the credentials for other destinations";

/// Returns the reply to a client of `-D`.
#[track_caller]
fn reply(program: &Running, destination: &str) -> String {
    let mut client = program.connect();
    client.send(request(destination));
    String::from_utf8(client.rest()).unwrap()
}

#[track_caller]
pub fn assert_refused(program: &Running, destination: &str, words: &[&str]) {
    let said = reply(program, destination);
    assert!(said.starts_with("HTTP/1.1 502 "), "{}", said);
    let logged = format!("refused {}: 40", destination);
    let mut all = vec![logged.as_str()];
    all.extend(words);
    program.says(&all);
}

#[track_caller]
pub fn assert_open(program: &Running, destination: impl std::fmt::Display) {
    let mut client = granted(program.connect(), destination);
    client.send("hello");
    client.expect("hello");
}

/// Starts squid with rules that deny `.vip.test` to all but a group without members: once as a
/// list of users, and once as an external ACL, by squid's helper for the groups of this machine.
fn squids(rules: impl Fn(&TempDir) -> String) -> Vec<Squid> {
    let helper = find("ext_unix_group_acl");
    let external = format!(
        "external_acl_type groups %LOGIN {}\nacl member external groups vip\n",
        helper.display()
    );
    let start = |member: &str| {
        let denial = format!(
            "{}acl vip dstdomain .vip.test\nhttp_access deny vip !member\nhttp_access allow known\n",
            member
        );
        Squid::with_rules(|folder| rules(folder).replace("http_access allow known\n", &denial))
    };
    vec![start("acl member proxy_auth nobody\n"), start(&external)]
}

/// Regression: one such refusal kept all destinations from the password, and any client of `-D` could
/// cause it.
fn assert_serves_the_others(program: Running) {
    let (servers, first) = ([echo(), echo()], "first.vip.test:443");
    assert!(reply(&program, first).starts_with("HTTP/1.1 502 "));
    for server in &servers {
        assert_open(&program, server.address());
    }
    assert_refused(&program, first, &[RULES, OF_DESTINATION]);
    // Without a ticket at hand, there is no check, and nothing to remember.
    eventually("the refusal is remembered", || {
        assert_refused(&program, first, &[OF_DESTINATION]);
        program.stderr().contains("for this one again in ")
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let program = Arc::new(program);
    let denied = {
        let (program, is_over) = (program.clone(), is_over.clone());
        thread::spawn(move || {
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                let name = format!("d{}.vip.test:443", count);
                assert_refused(&program, &name, &[RULES, OF_DESTINATION]);
                count += 1;
            }
            count
        })
    };
    for _ in 0..20 {
        let mut clients: Vec<Connection> = (0..3)
            .map(|index| granted(program.connect(), servers[index % 2].address()))
            .collect();
        clients.iter_mut().for_each(|client| client.send("hello"));
        clients.iter_mut().for_each(|client| client.expect("hello"));
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(denied.join().unwrap() > 0);
}

fn as_joe(squid: &Squid) -> Ptunnel {
    listening(Ptunnel::through(squid.address()))
        .args(&["-U", "joe", "--threads", "2"])
        .env("PTUNNEL_PASSWORD", "hunter2")
}

#[test]
fn squid_denies_a_destination_with_basic() {
    for squid in squids(|folder| Squid::basic(folder, "joe", "hunter2")) {
        assert_serves_the_others(as_joe(&squid).start());
    }
}

/// Nonces expire meanwhile.
#[test]
fn squid_denies_a_destination_with_digest() {
    for squid in squids(|folder| Squid::digest(folder, "joe", "hunter2", 7)) {
        assert_serves_the_others(as_joe(&squid).start());
    }
}

#[test]
fn squid_denies_a_destination_with_ntlm() {
    for squid in squids(|_| Squid::ntlm("hunter2")) {
        assert_serves_the_others(as_joe(&squid).start());
    }
}

#[test]
fn squid_denies_a_destination_with_negotiate() {
    let realm = Realm::start();
    realm.log_in();
    for squid in squids(|folder| realm.rules(folder)) {
        let program = Ptunnel::through(format!("localhost:{}", squid.address().port()));
        let program = listening(program).args(&["--proxy-auth", "negotiate"]);
        assert_serves_the_others(realm.of_joe(program).start());
    }
}

/// A proxy that knows joe's password, as long as it is valid, denies `x….test` with 407, and requires
/// no password for `open….test`.
pub struct Group {
    pub peer: Peer,
    /// The right credential.
    pub valid: Arc<Mutex<&'static str>>,
    /// It doesn't reply to requests with the password for this destination yet.
    pub stuck: Arc<Mutex<&'static str>>,
    /// It denies these, too.
    denied: Arc<Mutex<Vec<&'static str>>>,
    /// The time that it takes to refuse a password, in seconds.
    pub delay: Arc<AtomicU64>,
    /// The destination of each request, with a `+` for a password.
    pub asked: Arc<Mutex<Vec<String>>>,
}

/// Joe's passwords: `hunter2`, and the one after it, `hunter3`.
pub const BASIC: &str = "Basic am9lOmh1bnRlcjI=";
pub const NEXT: &str = "Basic am9lOmh1bnRlcjM=";
const ASKS: &str = "Proxy-Authenticate: Basic realm=x\r\n";

impl Group {
    pub fn start() -> Group {
        Group::denying(ASKS)
    }

    /// Denies a destination with these fields.
    fn denying(fields: &'static str) -> Group {
        let valid = Arc::new(Mutex::new(BASIC));
        let stuck = Arc::new(Mutex::new(""));
        let denied = Arc::new(Mutex::new(Vec::new()));
        let delay = Arc::new(AtomicU64::new(0));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (right, held, seen) = (valid.clone(), stuck.clone(), asked.clone());
        let (also, late) = (denied.clone(), delay.clone());
        let peer = Peer::start(move |mut connection: Connection| {
            let head = String::from_utf8(connection.read_head()).unwrap();
            let target = match head.split(' ').nth(1) {
                Some(target) => target,
                None => return,
            };
            let has_password = head.contains("Proxy-Authorization: Basic ");
            let plus = if has_password { "+" } else { "" };
            seen.lock().unwrap().push(format!("{}{}", target, plus));
            if has_password && target == *held.lock().unwrap() {
                eventually("the proxy goes on, or the client leaves", || {
                    target != *held.lock().unwrap() || !connection.is_quiet()
                });
            }
            let is_denied = target.starts_with('x') || also.lock().unwrap().contains(&target);
            let is_granted = head.contains(*right.lock().unwrap()) && !is_denied;
            if is_granted || target.starts_with("open") {
                connection.send("HTTP/1.1 200 OK\r\n\r\n");
                return connection.echo();
            }
            if has_password {
                thread::sleep(Duration::from_secs(late.load(Ordering::Relaxed)));
            }
            let fields = if is_denied && has_password {
                fields
            } else {
                ASKS
            };
            let body = "Connection: close\r\n\r\nrule 7";
            connection.send(format!("HTTP/1.1 407 Denied\r\n{}{}", fields, body));
        });
        Group {
            peer,
            valid,
            stuck,
            denied,
            delay,
            asked,
        }
    }

    pub fn program(&self) -> Ptunnel {
        let url = format!("http://joe:hunter2@{}", self.peer.address());
        listening(Ptunnel::through(url))
    }

    /// Returns the requests since the last call.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().drain(..).collect()
    }
}

pub fn ask_at_once(program: &Running) -> Vec<Connection> {
    let mut clients: Vec<Connection> = (0..10).map(|_| program.connect()).collect();
    for (index, client) in clients.iter_mut().enumerate() {
        client.send(request(format!("n{}.test:1", index)));
    }
    clients
}

pub fn passwords(asked: &[String]) -> usize {
    asked.iter().filter(|one| one.ends_with('+')).count()
}

#[test]
fn a_denied_destination_costs_one_check_in_half_a_minute() {
    let proxy = Group::start();
    let program = proxy.program().start();
    assert_open(&program, "a.test:1");
    proxy.asked();
    let reason = ["407 Denied (rule 7); ", OF_DESTINATION];
    assert_refused(&program, "x.test:1", &reason);
    assert_eq!(proxy.asked(), ["x.test:1+", "a.test:1", "a.test:1+"]);
    for _ in 0..5 {
        assert_refused(&program, "x.test:1", &[OF_DESTINATION, "again in "]);
    }
    assert_eq!(proxy.asked(), ["x.test:1"; 5]);
    assert_open(&program, "b.test:1");
    // A URL's destination is asked for with CONNECT, too.
    let mut client = program.connect();
    client.send("GET http://x2.test/ HTTP/1.1\r\nHost: x2.test\r\n\r\n");
    let said = String::from_utf8(client.rest()).unwrap();
    assert!(said.starts_with("HTTP/1.1 502 "), "{}", said);
    assert!(said.contains("407 Denied (rule 7); the proxy"), "{}", said);
    assert_open(&program, "c.test:1");
}

#[test]
fn a_denial_without_a_challenge_blocks_no_others() {
    let proxy = Group::denying("");
    let program = proxy.program().start();
    for name in &["x.test:1", "x2.test:1", "x3.test:1"] {
        assert_refused(&program, name, &["407 Denied (rule 7)"]);
    }
    assert_eq!(passwords(&proxy.asked()), 3);
    assert_open(&program, "a.test:1");
    let reason = ["407 Denied (rule 7); ", OF_DESTINATION];
    assert_refused(&program, "x.test:1", &reason);
    assert_open(&program, "b.test:1");
}

#[test]
fn a_password_that_expires_is_sent_twice_and_withheld() {
    let proxy = Group::start();
    let program = proxy.program().start();
    for name in &["a.test:1", "b.test:1"] {
        assert_open(&program, name);
    }
    *proxy.valid.lock().unwrap() = NEXT;
    proxy.asked();
    assert_refused(&program, "b.test:1", &[OF_PASSWORD]);
    // Then, others at once and one after the other, to known and to new destinations.
    for mut client in ask_at_once(&program) {
        assert!(client.read_head().starts_with(b"HTTP/1.1 502 "));
    }
    for name in &["a.test:1", "b.test:1", "c.test:1", "x.test:1"] {
        assert_refused(&program, name, &["rejected the password before"]);
    }
    let asked = proxy.asked();
    assert_eq!(passwords(&asked), 2, "{:?}", asked);
}

/// Nothing shows yet that the password isn't wrong.
#[test]
fn a_password_that_was_never_accepted_is_sent_for_two_destinations() {
    let proxy = Group::start();
    *proxy.valid.lock().unwrap() = NEXT;
    let program = proxy.program().start();
    for index in 0..10 {
        assert_refused(&program, "a.test:1", &["the password"]);
        assert_refused(&program, &format!("n{}.test:1", index), &["the password"]);
    }
    let asked = proxy.asked();
    assert_eq!(passwords(&asked), 2, "{:?}", asked);
}

#[test]
fn clients_wait_for_the_next_destination_to_decide() {
    let proxy = Group::start();
    let program = proxy.program().start();
    assert_refused(&program, "x.test:1", &[OF_PASSWORD]);
    for mut client in ask_at_once(&program) {
        assert!(client.read_head().starts_with(b"HTTP/1.1 200 "));
    }
}

/// Regression: no tunnel was opened any more, for as long as a client asked for a denied one.
#[test]
fn destinations_that_are_denied_later_block_no_others() {
    let proxy = Group::start();
    let program = proxy.program().start();
    for name in &["a.test:1", "b.test:1", "c.test:1"] {
        assert_open(&program, name);
    }
    *proxy.denied.lock().unwrap() = vec!["a.test:1", "c.test:1"];
    proxy.asked();
    assert_refused(&program, "x.test:1", &[OF_PASSWORD]);
    assert_eq!(proxy.asked(), ["x.test:1+", "c.test:1", "c.test:1+"]);
    for name in &["x1.test:1", "x2.test:1", "a.test:1", "c.test:1"] {
        assert_open(&program, "b.test:1");
        assert_refused(&program, name, &[OF_DESTINATION]);
        assert_open(&program, "new.test:1");
    }
}

/// Regression: sixteen of them took all places, and two denied ones then kept all tunnels from
/// the password.
#[test]
fn destinations_that_need_no_password_prove_nothing() {
    let proxy = Group::start();
    let program = proxy.program().start();
    for index in 0..20 {
        assert_open(&program, format!("open{}.test:1", index));
    }
    let asked = proxy.asked();
    assert_eq!(passwords(&asked), 16, "{:?}", asked);
    for name in &["a.test:1", "b.test:1"] {
        assert_open(&program, name);
    }
    assert_eq!(proxy.asked(), ["a.test:1", "a.test:1+", "b.test:1+"]);
    for name in &["x1.test:1", "x2.test:1", "x3.test:1"] {
        assert_refused(&program, name, &[OF_DESTINATION]);
        assert_open(&program, "b.test:1");
    }
}

#[test]
fn each_proxy_of_a_chain_has_its_own_destinations() {
    let (first, second) = (Squid::start(Some(("ann", "secret"))), Group::start());
    let program = Ptunnel::through(format!("http://ann:secret@{}", first.address()));
    let via = format!("http://joe:hunter2@{}", second.peer.address());
    let program = listening(program.args(&["--via", &via])).start();
    assert_refused(&program, "x.test:1", &[OF_PASSWORD]);
    assert_open(&program, "a.test:1");
    assert_refused(&program, "x.test:1", &[OF_DESTINATION]);
    assert_open(&program, "b.test:1");
}

#[test]
fn a_reload_forgets_what_was_denied() {
    let proxy = Group::start();
    let text = format!(
        "dynamic = [\"0\"]\nproxy = \"http://joe:hunter2@{}\"\n",
        proxy.peer.address()
    );
    let mut site = Site::start_as(Ptunnel::new(), &text, 1);
    assert_open(site.program(), "a.test:1");
    assert_refused(site.program(), "x.test:1", &[OF_DESTINATION]);
    proxy.asked();
    assert_refused(site.program(), "x.test:1", &["again in "]);
    site.reload(&text);
    assert_refused(site.program(), "x.test:1", &[OF_PASSWORD]);
    assert_eq!(proxy.asked(), ["x.test:1", "x.test:1+"]);
    assert_open(site.program(), "a.test:1");
}

/// The proxy refuses the old one in a check, and a denied destination is the first to get the new
/// one.
#[test]
fn a_changed_password_is_checked_with_the_destinations_of_the_old_one() {
    let proxy = Group::start();
    let folder = TempDir::new();
    let command = folder.file_with_mode("keyring", 0o700, "#!/bin/sh\ncat \"$0.password\"\n");
    folder.file("keyring.password", "hunter2\n");
    let program = Ptunnel::through(proxy.peer.address());
    let program = program.args(&["-U", "joe", "--password-command", &command]);
    let program = listening(program).start();
    assert_open(&program, "a.test:1");
    *proxy.valid.lock().unwrap() = NEXT;
    assert_refused(&program, "c.test:1", &[OF_PASSWORD]);
    folder.file("keyring.password", "hunter3\n");
    assert_refused(&program, "x.test:1", &[OF_DESTINATION]);
    assert_open(&program, "b.test:1");
}

/// Regression: the transcript said that the proxy required another connection.
#[test]
fn a_test_shows_the_check() {
    let proxy = Group::start();
    let program = Ptunnel::through(format!("http://joe:hunter2@{}", proxy.peer.address()));
    let finished = program.arg("--test").to("a.test:1").to("x.test:1").run();
    finished.expect_code(3);
    let text = finished.text();
    for words in &[
        "refused; asking for a.test:1, which the proxy granted before",
        OF_DESTINATION,
        "try: ask the proxy's operator to allow CONNECT to this host and port",
    ] {
        assert!(text.contains(words), "{:?} in {}", words, text);
    }
}
