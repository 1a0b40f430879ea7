//! A proxy that repeats the request in its refusal: what ptunnel has sent in confidence is neither
//! logged, nor shown, nor passed on to a client. `tests/torture/secrets.rs` has the other places.

use std::sync::{Arc, Mutex};

use crate::dynamic::listening;
use crate::pac::saying;
use crate::serve::request;
use crate::status::page;
use support::{Connection, Peer, Ptunnel};

const PASSWORD: &str = "hunter2-<canary>";
/// `joe:hunter2-<canary>` and the password alone, in base64.
const BASIC: &str = "am9lOmh1bnRlcjItPGNhbmFyeT4=";
const ENCODED: &str = "aHVudGVyMi08Y2FuYXJ5Pg==";
const COOKIE: &str = "id=c00kie-1";

/// The form in which a gateway repeats a text.
type Form = fn(&str) -> String;

fn in_json(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('/', "\\/").replace('<', "\\u003c")
}

fn in_html(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('"', "&#34;");
    text.replace('<', "&lt;").replace('>', "&#x3e;")
}

fn in_url(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b' ' => "+".into(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{:02x}", byte),
    };
    text.bytes().map(encoded).collect()
}

const FORMS: [Form; 4] = [|text| text.into(), in_json, in_html, in_url];

/// Replies that repeat a text in each place that ptunnel shows.
fn refusals(text: &str) -> Vec<String> {
    let head = |fields: &str| format!("HTTP/1.1 403 Forbidden\r\n{}\r\n", fields);
    let body = |body: &str| head(&format!("Content-Length: {}\r\n", body.len())) + body;
    let chunks: Vec<String> = text
        .as_bytes()
        .chunks(5)
        .map(|it| format!("{:x}\r\n{}\r\n", it.len(), String::from_utf8_lossy(it)))
        .collect();
    vec![
        format!("HTTP/1.1 403 No {}\r\n\r\n", text),
        head(&format!("Location: http://login/?{}\r\n", text)),
        head(&format!("X-Squid-Error: ERR_X {}\r\n", text)),
        body(text),
        body(&format!("<html><title>No {}</title>", text)),
        head("Transfer-Encoding: chunked\r\n") + &chunks.concat() + "0\r\n\r\n",
        // Where ptunnel's excerpt is cut.
        body(&format!("{} {}", "x".repeat(110), text)),
        // Where the body was cut.
        head("Content-Length: 9999\r\n") + &text[..text.len() - 1],
        head("") + &text[..text.len() / 2],
    ]
}

/// Returns the values of Proxy-Authorization without the scheme, and of Digest what isn't known.
fn secrets_of(heads: &[String]) -> Vec<String> {
    let mut secrets: Vec<String> = [PASSWORD, BASIC, ENCODED, COOKIE]
        .iter()
        .map(|it| it.trim_end_matches('=').to_string())
        .collect();
    let lines = heads.iter().flat_map(|head| head.lines());
    for value in lines.filter_map(|line| line.strip_prefix("Proxy-Authorization: ")) {
        let token = value.splitn(2, ' ').nth(1).unwrap();
        if token.contains("response=") {
            let items = token.split(&['"', '='][..]).filter(|it| it.len() >= 32);
            secrets.extend(items.map(String::from));
        } else {
            secrets.push(token.trim_end_matches('=').into());
        }
    }
    secrets
}

/// A proxy that sends these challenges, and then a refusal for each request and form.
struct Repeating {
    peer: Peer,
    heads: Arc<Mutex<Vec<String>>>,
    count: usize,
}

impl Repeating {
    fn start(challenges: Vec<String>) -> Repeating {
        let heads = Arc::new(Mutex::new(Vec::<String>::new()));
        let seen = heads.clone();
        let count = FORMS.len() * refusals("xy").len();
        let peer = Peer::start(move |mut connection: Connection| {
            let mut sent = String::new();
            for reply in challenges.iter().map(Some).chain(Some(None)) {
                let head = String::from_utf8(connection.read_head()).unwrap();
                seen.lock().unwrap().push(head.clone());
                sent += &head.replace("\r\n", "|");
                if let Some(challenge) = reply {
                    connection.send(challenge);
                    continue;
                }
                let texts = [PASSWORD, BASIC, ENCODED, COOKIE, &sent].join(" ");
                let form = FORMS[connection.number % FORMS.len()];
                let replies = refusals(&form(&texts));
                connection.send(&replies[connection.number / FORMS.len() % replies.len()]);
                connection.finish_sending();
                connection.drain();
                return;
            }
        });
        Repeating { peer, heads, count }
    }

    fn through(&self, schemes: &str) -> Ptunnel {
        Ptunnel::through(self.peer.address())
            .args(&["-U", "joe", "--proxy-auth", schemes])
            .args(&["-H", &format!("Cookie: {}", COOKIE)])
            .env("PTUNNEL_PASSWORD", PASSWORD)
    }

    /// Checks that a text shows nothing, however it is written.
    #[track_caller]
    fn assert_hidden(&self, text: &str) {
        for secret in secrets_of(&self.heads.lock().unwrap()) {
            for form in &FORMS {
                assert!(!text.contains(&form(&secret)), "{} in {}", secret, text);
            }
        }
    }
}

const DIGEST: &str = "HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\
    Proxy-Authenticate: Digest realm=\"r\", nonce=\"one\", qop=\"auth\"\r\n\r\n";
const NTLM: &str = "HTTP/1.1 407 Who\r\nContent-Length: 0\r\nProxy-Authenticate: NTLM\r\n\r\n";
const NTLM_CHALLENGE: &str = "HTTP/1.1 407 Who\r\nContent-Length: 0\r\nProxy-Authenticate: NTLM \
    TlRMTVNTUAACAAAAAAAAADAAAAAFAgAAASNFZ4mrze8AAAAAAAAAAAAAAAAwAAAA\r\n\r\n";

/// Regression: credentials reached the log, the status page and clients, unless they followed
/// `Proxy-Authorization: `.
#[test]
fn nothing_that_a_proxy_repeats_is_logged_shown_or_passed_on() {
    let proxy = Repeating::start(Vec::new());
    let program = proxy
        .through("basic")
        .args(&["-vv", "--log-format", "json"]);
    let program = listening(program).watched().start();
    let by_url = "GET http://example.org/ HTTP/1.1\r\n\r\n".to_string();
    for asked in &[request("example.org:22"), by_url] {
        for _ in 0..proxy.count {
            let mut client = program.connect();
            client.send(asked);
            let reply = String::from_utf8(client.rest()).unwrap();
            assert!(reply.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{}", reply);
            proxy.assert_hidden(&reply);
            proxy.assert_hidden(&page(&program, "/status.json"));
        }
    }
    let log = program.stderr();
    assert!(log.matches("***").count() > proxy.count, "{}", log);
    proxy.assert_hidden(&log);
}

#[test]
fn nothing_that_a_proxy_repeats_is_in_the_message_at_the_end() {
    for (scheme, challenges) in vec![
        ("basic", vec![]),
        ("digest", vec![DIGEST.into()]),
        ("ntlm", vec![NTLM.into(), NTLM_CHALLENGE.into()]),
    ] {
        let proxy = Repeating::start(challenges);
        for _ in 0..proxy.count {
            let program = proxy.through(scheme).args(&["-W", "example.org:22"]);
            let finished = program.run();
            finished.expect_code(3);
            proxy.assert_hidden(&finished.stderr);
        }
    }
}

#[test]
fn nothing_that_a_proxy_repeats_is_in_the_output_of_a_test() {
    let proxy = Repeating::start(Vec::new());
    for _ in 0..proxy.count {
        let program = proxy.through("basic").to("example.org:22").arg("--test");
        let finished = program.run();
        finished.expect_code(3);
        assert!(finished.text().contains("403"), "{}", finished.text());
        proxy.assert_hidden(&(finished.text() + &finished.stderr));
    }
}

/// A web server that isn't a proxy can reply with 200 and the request.
#[test]
fn the_first_bytes_of_a_destination_are_shown_without_secrets() {
    let gateway = Peer::proxy(|mut connection| {
        let json = format!("{{\"login\": \"{}\", \"of\": \"{}\"}}\r\n", BASIC, PASSWORD);
        connection.send(format!("HTTP/1.1 200 OK\r\n\r\n{}", json));
        connection.drain();
    });
    let finished = Ptunnel::through(gateway.address())
        .args(&["-U", "joe", "--test"])
        .env("PTUNNEL_PASSWORD", PASSWORD)
        .to("example.org:22")
        .run();
    finished.expect_code(0);
    let told = "{\"login\": \"***=\", \"of\": \"***\"}";
    assert!(finished.text().contains(told), "{}", finished.text());
}

/// The server of a PAC file gets the login of its URL, and can repeat it as well.
#[test]
fn nothing_that_the_server_of_a_pac_file_repeats_is_logged() {
    let login = format!("joe:{}", in_url(PASSWORD));
    let json = format!(
        "{{\"headers\": {{\"Authorization\": \"Basic {}\"}}}}",
        BASIC
    );
    for reply in &[
        format!("HTTP/1.1 403 No {} for {}\r\n\r\n", BASIC, PASSWORD),
        format!("HTTP/1.1 302 No\r\nLocation: /{}\r\n\r\n", BASIC),
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", BASIC),
        format!("HTTP/1.1 200 OK\r\n\r\n{}", json),
        format!(
            "HTTP/1.1 200 OK\r\n\r\n{}",
            saying(&format!("throw '{}'", PASSWORD))
        ),
    ] {
        let server = Peer::replying(reply.as_str());
        let url = format!(
            "http://{}@{}/proxy.pac?key=c00kie-1",
            login,
            server.address()
        );
        let program = Ptunnel::new().args(&["--pac", &url]).to("a.example:1");
        let program = program.watched().start();
        program.connect().expect_nothing();
        program.says(&["PAC file", "***"]);
        for text in &[program.stderr(), page(&program, "/status.json")] {
            for secret in &[PASSWORD, &BASIC[..27], "c00kie-1"] {
                assert!(!text.contains(secret), "{} in {}", secret, text);
            }
        }
    }
}
