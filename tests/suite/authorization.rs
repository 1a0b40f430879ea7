//! Proxies that know the user, and refuse a destination with the status of a wrong password, 407.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::dynamic::listening;
use crate::reload::Site;
use crate::serve::{echo, granted, request};
use crate::support::kerberos::Realm;
use crate::support::parts::{find, Squid};
use crate::support::{eventually, Connection, Peer, Ptunnel, Running, TempDir};

/// Squid's reason, and what ptunnel found out.
const RULES: &str =
    "the proxy's rules forbid the request (squid reports ERR_CACHE_ACCESS_DENIED 0)";
const OF_PASSWORD: &str = "the proxy rejected the username or the password";
const OF_DESTINATION: &str = "the proxy accepted the credentials for other destinations";

/// Returns the reply to a client of `-D`.
#[track_caller]
fn reply(program: &Running, destination: &str) -> String {
    let mut client = program.connect();
    client.send(request(destination));
    String::from_utf8(client.rest()).unwrap()
}

#[track_caller]
fn assert_refused(program: &Running, destination: &str, words: &[&str]) {
    let said = reply(program, destination);
    assert!(said.starts_with("HTTP/1.1 502 "), "{}", said);
    let logged = format!("refused {}: 40", destination);
    let mut all = vec![logged.as_str()];
    all.extend(words);
    program.says(&all);
}

#[track_caller]
fn assert_open(program: &Running, destination: impl std::fmt::Display) {
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

/// A proxy that knows joe's password, as long as it is valid, and denies `x….test` with 407.
struct Group {
    peer: Peer,
    /// The right credential.
    valid: Arc<Mutex<&'static str>>,
    /// It doesn't reply to requests with the password for `slow.test` yet.
    is_stuck: Arc<AtomicBool>,
    /// The destination of each request, with a `+` for a password.
    asked: Arc<Mutex<Vec<String>>>,
}

/// Joe's passwords: `hunter2`, and the one after it, `hunter3`.
const BASIC: &str = "Basic am9lOmh1bnRlcjI=";
const NEXT: &str = "Basic am9lOmh1bnRlcjM=";
const ASKS: &str = "Proxy-Authenticate: Basic realm=x\r\n";

impl Group {
    fn start() -> Group {
        Group::denying(ASKS)
    }

    /// Denies a destination with these fields.
    fn denying(fields: &'static str) -> Group {
        let valid = Arc::new(Mutex::new(BASIC));
        let is_stuck = Arc::new(AtomicBool::new(false));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (right, stuck, seen) = (valid.clone(), is_stuck.clone(), asked.clone());
        let peer = Peer::start(move |mut connection: Connection| {
            let head = String::from_utf8(connection.read_head()).unwrap();
            let target = match head.split(' ').nth(1) {
                Some(target) => target,
                None => return,
            };
            let has_password = head.contains("Proxy-Authorization: Basic ");
            let plus = if has_password { "+" } else { "" };
            seen.lock().unwrap().push(format!("{}{}", target, plus));
            if has_password && target.starts_with("slow") {
                eventually("the proxy goes on, or the client leaves", || {
                    !stuck.load(Ordering::Relaxed) || !connection.is_quiet()
                });
            }
            let is_denied = target.starts_with('x');
            if head.contains(*right.lock().unwrap()) && !is_denied {
                connection.send("HTTP/1.1 200 OK\r\n\r\n");
                return connection.echo();
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
            is_stuck,
            asked,
        }
    }

    fn program(&self) -> Ptunnel {
        let url = format!("http://joe:hunter2@{}", self.peer.address());
        listening(Ptunnel::through(url))
    }

    /// Returns the requests since the last call.
    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().drain(..).collect()
    }
}

fn passwords(asked: &[String]) -> usize {
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
    assert_refused(&program, "x.test:1", &["407 Denied (rule 7)"]);
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
    let mut clients: Vec<Connection> = (0..10).map(|_| program.connect()).collect();
    for (index, client) in clients.iter_mut().enumerate() {
        client.send(request(format!("n{}.test:1", index)));
    }
    for mut client in clients {
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
    let mut clients: Vec<Connection> = (0..10).map(|_| program.connect()).collect();
    for (index, client) in clients.iter_mut().enumerate() {
        client.send(request(format!("n{}.test:1", index)));
    }
    for mut client in clients {
        assert!(client.read_head().starts_with(b"HTTP/1.1 200 "));
    }
}

/// Regression: each of them sent the password meanwhile.
#[test]
fn others_wait_for_the_reply_to_a_check() {
    let proxy = Group::start();
    let program = proxy.program().start();
    assert_open(&program, "slow.test:1");
    proxy.is_stuck.store(true, Ordering::Relaxed);
    *proxy.valid.lock().unwrap() = NEXT;
    proxy.asked();
    let mut all = vec![program.connect()];
    all[0].send(request("a.test:1"));
    eventually("the check", || proxy.asked.lock().unwrap().len() == 3);
    for index in 0..5 {
        let mut client = program.connect();
        client.send(request(format!("n{}.test:1", index)));
        all.push(client);
    }
    eventually("their connections", || proxy.peer.accepted() == 4 + 5);
    proxy.is_stuck.store(false, Ordering::Relaxed);
    for client in &mut all {
        assert!(client.read_head().starts_with(b"HTTP/1.1 502 "));
    }
    let asked = proxy.asked();
    assert_eq!(passwords(&asked), 2, "{:?}", asked);
}

/// Regression: any client of `-D` could keep all others from the password, for an hour.
#[test]
fn a_client_that_leaves_during_its_check_keeps_nobody_waiting() {
    let proxy = Group::start();
    let program = proxy.program().start();
    assert_open(&program, "slow.test:1");
    proxy.is_stuck.store(true, Ordering::Relaxed);
    for name in &["a.test:1", "b.test:1"] {
        proxy.asked();
        let mut client = program.connect();
        client.send(request("x.test:1"));
        let check = ["x.test:1+", "slow.test:1", "slow.test:1+"];
        eventually("the check", || *proxy.asked.lock().unwrap() == check);
        client.reset();
        assert_open(&program, name);
    }
    // The next one is with another destination.
    assert_refused(&program, "x.test:1", &[OF_DESTINATION]);
}

/// The destination of the check answers no more; the proxy is still connecting to it.
#[test]
fn a_check_without_a_reply_delays_others_briefly_and_leaves_the_refusal() {
    let proxy = Group::start();
    let other = Peer::echoing();
    let program = proxy.program().proxy(other.address());
    let program = program.args(&["--handshake-timeout", "7"]).start();
    assert_open(&program, "slow.test:1");
    proxy.is_stuck.store(true, Ordering::Relaxed);
    let mut denied = program.connect();
    denied.send(request("x.test:1"));
    eventually("the check", || {
        proxy
            .asked
            .lock()
            .unwrap()
            .ends_with(&["slow.test:1+".into()])
    });
    assert_open(&program, "a.test:1");
    assert!(denied.is_quiet(), "the check goes on");
    let said = String::from_utf8(denied.rest()).unwrap();
    assert!(said.contains("407 Denied (offers Basic): "), "{}", said);
    assert_eq!(other.accepted(), 0, "the refusal is final");
    // The next check is with another destination.
    assert_refused(&program, "x.test:1", &[OF_DESTINATION]);
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
