//! `--users`: a file of users with hashed passwords, for `-D` and the embedded proxy.

use std::net::SocketAddr;
use std::time::Duration;

use crate::dynamic::listening;
use crate::reload::Site;
use crate::serve::{echo, request};
use crate::status::evaluated;
use support::parts::{described, output, run, Nginx, SMALL};
use support::temp::free_port;
use support::{Connection, Ptunnel, Running, TempDir};

/// Returns a line for a user, hashed by openssl with the fewest rounds.
pub fn line(user: &str, password: &str) -> String {
    line_with(user, password, "rounds=1000$saltsalt")
}

pub fn line_with(user: &str, password: &str, salt: &str) -> String {
    let hash = run("openssl", &["passwd", "-6", "-salt", salt, password]);
    format!("{}:{}", user, String::from_utf8(hash).unwrap())
}

pub fn file(folder: &TempDir, text: &str) -> String {
    folder.file_with_mode("users", 0o600, text)
}

/// Returns a request with Basic credentials.
pub fn asking_as(login: &str, destination: SocketAddr) -> String {
    let token = base64(login.as_bytes());
    let field = format!("\r\nProxy-Authorization: Basic {}\r\n\r\n", token);
    request(destination).replace("\r\n\r\n", &field)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let byte = |at: usize| u32::from(*three.get(at).unwrap_or(&0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digit = |at: u32| DIGITS[(bits >> (18 - 6 * at) & 63) as usize] as char;
        let digits: String = (0..=three.len() as u32).map(digit).collect();
        format!("{:=<4}", digits)
    };
    bytes.chunks(3).map(group).collect()
}

/// Returns the first line of the reply to a client that connects from this address.
pub fn reply_from(ip: [u8; 4], to: SocketAddr, login: &str, destination: SocketAddr) -> String {
    let mut client = Connection::open_from(ip.into(), to);
    client.send(asking_as(login, destination));
    let head = String::from_utf8(client.read_head()).unwrap();
    head.lines().next().unwrap_or_default().to_string()
}

/// Each writes lines of its own form; the password has a colon, which ends the name in Basic.
#[test]
fn curl_authenticates_as_users_of_htpasswd_mkpasswd_and_openssl() {
    let (nginx, folder) = (Nginx::start(), TempDir::new());
    let path = file(&folder, &format!("# staff\n\n{}", line("ann", "p:w d")));
    run("htpasswd", &["-bBC", "4", &path, "bob", "p:w d"]);
    let yescrypt = run("mkpasswd", &["-m", "yescrypt", "-R", "1", "p:w d"]);
    let yescrypt = String::from_utf8(yescrypt).unwrap();
    let lines = std::fs::read_to_string(&path).unwrap();
    // As in /etc/shadow.
    let text = format!("{}eve:{}:19000:0:99999:7:::\n", lines, yescrypt.trim());
    std::fs::write(&path, text).unwrap();
    let program = listening(Ptunnel::new().arg("--direct-fallback").serving());
    let program = program.args(&["--users", &path, "-v"]).start();
    let url = format!("http://{}/small", nginx.address());
    let socks = format!("socks5h://{}", program.address_of(0));
    let http = format!("http://{}", program.address_of(0));
    let embedded = format!("http://{}", program.proxy());
    let fetch = |proxy: &str, user: &str| {
        let words = [
            "-sSm",
            "60",
            "--noproxy",
            "",
            "-p",
            "-x",
            proxy,
            "-U",
            user,
            &url,
        ];
        output("curl", &words)
    };
    for user in &["ann", "bob", "eve"] {
        for proxy in &[&socks, &http, &embedded] {
            let said = fetch(proxy, &format!("{}:p:w d", user));
            assert_eq!(said.stdout, SMALL.as_bytes(), "{}", described(&said));
        }
        program.says(&["info", &format!("{} at 127.0.0.1:", user), "closed by both"]);
    }
    for user in &["ann:p:w", "ann:", "jim:p:w d", "p:w d:ann"] {
        for (proxy, word) in &[(&socks, "SOCKS5"), (&http, "407"), (&embedded, "407")] {
            let said = fetch(proxy, user);
            assert!(!said.status.success(), "{} at {}", user, proxy);
            let told = String::from_utf8_lossy(&said.stderr).into_owned();
            assert!(told.contains(word) || told.contains("rejected"), "{}", told);
        }
    }
    let mut socks4 = Connection::open(program.address_of(0));
    socks4.send(b"\x04\x01\x00\x50\x7f\x00\x00\x01ann\0");
    socks4.expect([0, 91, 0, 0, 0, 0, 0, 0]);
    let told = program.stderr();
    assert!(!told.contains("p:w"), "{}", told);
}

#[test]
fn the_log_and_the_status_page_show_the_user() {
    let (origin, folder) = (echo(), TempDir::new());
    let path = file(&folder, &line("ann", "x"));
    let program = listening(Ptunnel::new().arg("--direct-fallback")).watched();
    let program = program.args(&["--users", &path, "-v", "--log-format", "json"]);
    let program = program.start();
    let mut client = program.connect();
    client.send(asking_as("ann:x", origin.address()));
    client.read_head();
    client.send("ping");
    client.expect("ping");
    assert_eq!(evaluated(&program, "s['tunnels'][0]['user']"), "ann");
    drop(client);
    program.says(&["\"user\":\"ann\"", "\"end\":"]);
}

/// The state outlives reloads, even of the file itself.
#[test]
fn an_address_that_guesses_is_refused_for_a_while() {
    let (origin, folder, port) = (echo(), TempDir::new(), free_port());
    let path = file(&folder, &line("ann", "x"));
    let text = format!(
        "no-proxy = '*'\ndynamic = {}\ndirect-fallback = true\nusers = '{}'\nverbose = 1\n",
        port, path
    );
    let mut site = Site::start_as(Ptunnel::new(), &text, 1);
    let at = site.program().address();
    let reply = |ip: [u8; 4], login: &str| reply_from(ip, at, login, origin.address());
    let (here, there) = ([127, 0, 0, 1], [127, 0, 0, 9]);
    assert!(reply(here, "ann:x").contains(" 200 "));
    for guess in 0..10 {
        let login = format!("{}:{}", if guess % 2 == 0 { "ann" } else { "jim" }, guess);
        assert!(reply(here, &login).contains(" 407 "));
    }
    for login in &["ann:10", "ann:0", "ann:x"] {
        assert_eq!(reply(here, login), "HTTP/1.1 429 Too Many Requests");
    }
    assert!(reply(there, "ann:x").contains(" 200 "));
    let mut socks = Connection::open(at);
    socks.send(b"\x05\x01\x02\x01\x03ann\x01x");
    socks.expect([5, 2, 1, 1]);
    let line = format!("{}{}", line("ann", "x"), line("bob", "y"));
    std::fs::write(&path, line).unwrap();
    assert!(site.reload(&text).1.starts_with("changed "));
    assert!(reply(here, "bob:y").contains(" 429 "));
    assert!(reply(there, "bob:y").contains(" 200 "));
    let told = site.program().stderr();
    let warned = told.lines().filter(|line| line.starts_with("warning"));
    let throttled: Vec<&str> = warned.filter(|line| line.contains("too many")).collect();
    assert!(throttled.is_empty(), "{:?}", throttled);
    assert_eq!(told.matches("127.0.0.1: 10 wrong passwords").count(), 1);
    assert!(told.contains("info: 127.0.0.1:"), "{}", told);
}

#[test]
fn a_reload_follows_the_file() {
    let (origin, folder, port) = (echo(), TempDir::new(), free_port());
    let path = file(&folder, &line("ann", "x"));
    let text = format!("serve-proxy = {}\nusers = '{}'\n", port, path);
    let mut site = Site::start_as(Ptunnel::new(), &text, 1);
    let at = SocketAddr::from(([127, 0, 0, 1], port));
    let reply = |login: &str| reply_from([127, 0, 0, 1], at, login, origin.address());
    assert!(reply("ann:x").contains(" 200 ") && reply("bob:y").contains(" 407 "));
    assert_eq!(site.reload(&text).1, "kept 1");
    std::fs::write(&path, line("bob", "y")).unwrap();
    assert!(site.reload(&text).1.starts_with("changed "));
    assert!(reply("ann:x").contains(" 407 ") && reply("bob:y").contains(" 200 "));
    std::fs::write(&path, "bob:plain-text\n").unwrap();
    let why = site.refuse(&text);
    let expected = format!(
        "FILE:2: --users {}:1: user 'bob': the password isn't hashed",
        path
    );
    assert!(
        why.contains(&expected) && !why.contains("plain-text"),
        "{}",
        why
    );
    assert!(reply("bob:y").contains(" 200 "));
    let open = format!("serve-proxy = {}\n", port);
    assert!(site.reload(&open).1.starts_with("changed "));
    assert!(reply("jim:").contains(" 200 "));
}

/// crypt(3) takes about half a second here: for each connection, or on the event loop, it would hold
/// up everything else.
#[test]
fn a_slow_hash_is_computed_once_and_holds_up_no_tunnel() {
    let (origin, folder) = (echo(), TempDir::new());
    let path = file(&folder, &line_with("ann", "x", "rounds=999999$saltsalt"));
    let program = listening(Ptunnel::new().arg("--direct-fallback").to(origin.address()));
    let program = program.args(&["--users", &path]).start();
    let dynamic = program.address_of(1);
    let mut tunnel = program.connect();
    let mut clients: Vec<Connection> = (0..30).map(|_| Connection::open(dynamic)).collect();
    for client in &mut clients {
        client.send(asking_as("ann:x", origin.address()));
    }
    for _ in 0..20 {
        tunnel.send("ping");
        tunnel.expect("ping");
    }
    assert!(clients[0].is_quiet(), "the password was checked before");
    for client in &mut clients {
        let head = String::from_utf8(client.read_head()).unwrap();
        assert!(head.contains(" 200 "), "{}", head);
    }
    let cpu = program.process().cpu();
    assert!(cpu < Duration::from_secs(5), "{:?}", cpu);
}

#[test]
fn files_that_cannot_be_used_are_refused() {
    let folder = TempDir::new();
    let refused = |text: &str, words: &[&str]| {
        let path = file(&folder, text);
        let program = Ptunnel::through("a.example:1").args(&["-D", "0", "--users", &path]);
        let finished = program.run();
        finished.expect_code(2);
        for word in words {
            let word = word.replace("FILE", &path);
            assert!(finished.stderr.contains(&word), "{}", finished.stderr);
        }
        assert!(!finished.stderr.contains("hunter"), "{}", finished.stderr);
    };
    let fix = "write the output of 'openssl passwd -6' after the colon";
    refused("# none\n", &["--users FILE:1: the file has no user; add"]);
    refused(
        "\nann:hunter\n",
        &["--users FILE:2: user 'ann': the password isn't hashed", fix],
    );
    refused(
        "ann:$apr1$hunter$Zmv6fGPoQqk1hY6ydOHRs0\n",
        &[
            "--users FILE:1: user 'ann': the hash isn't a whole one of $6$ $5$",
            fix,
        ],
    );
    let missing = Ptunnel::through("a.example:1").args(&["-D", "0", "--users", "/nowhere"]);
    let finished = missing.run();
    finished.expect_code(2);
    assert!(
        finished.stderr.contains("--users '/nowhere': No such file"),
        "{}",
        finished.stderr
    );
}

fn checked(args: &[&str]) -> String {
    let finished = Ptunnel::through("a.example:1")
        .arg("--check-config")
        .args(args)
        .run();
    finished.expect_code(0);
    finished.text()
}

#[test]
fn the_check_and_the_warnings_name_what_clients_meet() {
    let folder = TempDir::new();
    let path = folder.file_with_mode(
        "users",
        0o644,
        format!("{}{}", line("a", "x"), line("b", "y")),
    );
    let told = checked(&["-D", "*:1080", "--users", &path]);
    for words in &[
        "would listen on *:1080 for SOCKS5 and HTTP by 2 users through a.example:1",
        "warning: passwords for *:1080 cross the network unencrypted; add --listen-cert FILE",
        "warning: other users can read the password hashes in ",
        "; run chmod 600 ",
    ] {
        assert!(told.contains(words), "{}", told);
    }
    let told = checked(&["-D", "1080", "--serve-proxy", "3128", "--users", &path]);
    assert!(!told.contains("unencrypted"), "{}", told);
    assert!(
        told.contains("would serve a proxy on 127.0.0.1:3128 for 2 users"),
        "{}",
        told
    );
    let told = checked(&["1:a:1", "--users", &path]);
    assert!(
        told.contains("warning: --users has no effect: no -D or --serve-proxy"),
        "{}",
        told
    );
    let both = ["-D", "1080", "--users", &path, "--dynamic-user", "joe:x"];
    let both = Ptunnel::through("a.example:1").args(&both).run();
    assert!(
        both.stderr.contains("can't be combined with --"),
        "{}",
        both.stderr
    );
}

/// An address beyond loopback needs no other restriction of its clients.
#[test]
fn with_users_it_can_listen_beyond_loopback() {
    let folder = TempDir::new();
    let path = file(&folder, &line("ann", "x"));
    let program: Running = Ptunnel::through("a.example:1")
        .args(&["-D", "*:0", "--users", &path])
        .more_lines(1)
        .start();
    let mut client = Connection::open(([127, 0, 0, 1], program.address().port()).into());
    client.send([5, 1, 0]);
    client.expect([5, 0xff]);
    program.says(&["warning: passwords for *:0 cross the network unencrypted"]);
}
