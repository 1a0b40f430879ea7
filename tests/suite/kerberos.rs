//! Proxies that want a Kerberos ticket (Negotiate): MIT's KDC, and squid with its own helper, which
//! keeps the tokens that it has had.

use support::kerberos::Realm;
use support::{Connection, Finished, Peer, Ptunnel};

/// A server that sends back what it gets.
fn echo() -> Peer {
    Peer::start(|mut connection: Connection| connection.echo())
}

/// The program, through a proxy on localhost: tickets are for its name.
fn through(port: u16) -> Ptunnel {
    Ptunnel::through(format!("localhost:{}", port)).args(&["--proxy-auth", "negotiate", "-vvv"])
}

#[track_caller]
fn assert_fails(finished: &Finished, code: i32, words: &[&str]) {
    finished.expect_code(code);
    let said = &finished.stderr;
    assert!(words.iter().all(|word| said.contains(word)), "{}", said);
}

#[test]
fn each_tunnel_has_a_token_from_the_cached_ticket() {
    let (realm, server) = (Realm::start(), echo());
    realm.log_in();
    let squid = realm.squid();
    let program = realm.of_joe(through(squid.address().port()));
    let program = program.to(server.address()).start();
    for _ in 0..3 {
        let mut client = program.connect();
        client.send("hello");
        client.expect("hello");
    }
    // At once, on as many connections; each token is another one, or squid would refuse it.
    let mut clients: Vec<_> = (0..30).map(|_| program.connect()).collect();
    clients.iter_mut().for_each(|client| client.send("hello"));
    clients.iter_mut().for_each(|client| client.expect("hello"));
    let said = program.stderr();
    assert!(!said.contains("Negotiate YII"), "{}", said);
}

#[test]
fn a_keytab_does_without_a_login() {
    let (realm, server) = (Realm::start(), echo());
    let squid = realm.squid();
    let program = realm.with_keytab(through(squid.address().port()));
    let program = program.to(server.address()).start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
}

#[test]
fn without_a_ticket_the_refusal_says_how_to_get_one() {
    let (realm, server) = (Realm::start(), echo());
    let squid = realm.squid();
    let program = realm.of_joe(through(squid.address().port()));
    let finished = program.args(&["-W", &server.address().to_string()]).run();
    assert_fails(&finished, 4, &["407", "no Kerberos ticket", "kinit"]);
    // It isn't begun unasked.
    let program = realm.of_joe(Ptunnel::through(squid.address()));
    let finished = program.args(&["-W", &server.address().to_string()]).run();
    assert_fails(
        &finished,
        4,
        &["(offers Negotiate)", "--proxy-auth negotiate"],
    );
}

#[test]
fn a_ticket_that_the_proxy_refuses_is_not_sent_again() {
    let realm = Realm::start();
    realm.log_in();
    let refusal = "HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n";
    let proxy = Peer::proxy(move |mut connection| {
        connection.send(refusal);
        connection.drain();
    });
    let program = realm.of_joe(through(proxy.address().port()));
    let finished = program.args(&["-W", "example.org:22"]).run();
    assert_fails(&finished, 4, &["rejected the Kerberos ticket", "klist"]);
    let heads = proxy.heads();
    assert_eq!(heads.len(), 1, "{:?}", heads);
    assert!(heads[0].contains("Proxy-Authorization: Negotiate YII"));
}

#[test]
fn a_proxy_that_proves_to_be_another_one_gets_no_tunnel() {
    let realm = Realm::start();
    realm.log_in();
    let grant = "HTTP/1.1 200 OK\r\nProxy-Authentication-Info: Negotiate oQcwBaADCgEA\r\n\r\n";
    let proxy = Peer::proxy(move |mut connection| {
        connection.send(grant);
        connection.drain();
    });
    let program = realm.of_joe(through(proxy.address().port()));
    let finished = program.args(&["-W", "example.org:22"]).run();
    assert_fails(
        &finished,
        1,
        &["the server isn't the proxy that the ticket is for"],
    );
}

/// The proxy's own token comes from squid's helper, which accepts tickets by itself.
#[test]
fn a_proxy_that_proves_its_identity_gets_the_tunnel() {
    let realm = Realm::start();
    realm.log_in();
    let accept = realm.acceptor();
    let proxy = Peer::start(move |mut connection: Connection| {
        let head = String::from_utf8(connection.read_head()).unwrap();
        let field = "Proxy-Authorization: Negotiate ";
        let token = head.lines().find_map(|line| line.strip_prefix(field));
        let reply = accept(token.expect("a token"));
        let field = "Proxy-Authentication-Info: Negotiate";
        connection.send(format!("HTTP/1.1 200 OK\r\n{} {}\r\n\r\n", field, reply));
        connection.echo();
    });
    let program = realm.of_joe(through(proxy.address().port()));
    let program = program.to("example.org:22").start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
}

#[test]
fn a_test_names_the_scheme() {
    let (realm, server) = (Realm::start(), echo());
    realm.log_in();
    let squid = realm.squid();
    let program = realm.of_joe(through(squid.address().port()));
    let finished = program.arg("--test").to(server.address()).run();
    finished.expect_code(0);
    let text = finished.text();
    let mut steps = text.lines().map(str::trim_start);
    let step = steps.find(|line| line.starts_with("authentication"));
    assert!(
        step.unwrap_or_default().ends_with("(Negotiate)"),
        "{}",
        text
    );
}
