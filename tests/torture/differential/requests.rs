//! Two requests on one connection to a proxy, for two servers: `-D` compared with squid.
//!
//! squid keeps the connection and sends the second request to its server; `-D` ends it after the
//! first reply. Neither can give one server the other's request, or the client the other's reply.

use std::io::Read;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::{combinations, Comparison, Ours, Row, Theirs};
use crate::scale::scale;
use support::parts::Squid;
use support::{Connection, Peer, Ptunnel};

/// Time that a client waits for a proxy that waits for more bytes of its request.
const TIMEOUT: Duration = Duration::from_secs(4);

/// Bytes that a server sends after its reply, in the form of the next server's reply.
const BEHIND: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen";

/// The first request and its reply, in the parts that can be unusual.
#[derive(Clone)]
struct Case {
    method: &'static str,
    version: &'static str,
    fields: Vec<u8>,
    body: Vec<u8>,
    status: &'static [u8],
    reply_fields: Vec<u8>,
    reply_body: Vec<u8>,
    behind: &'static [u8],
    /// The server ends the connection.
    ends: bool,
}

impl Case {
    fn new() -> Case {
        Case {
            method: "GET",
            version: "HTTP/1.1",
            fields: Vec::new(),
            body: Vec::new(),
            status: b"HTTP/1.1 200 OK",
            reply_fields: b"Content-Length: 5\r\n".to_vec(),
            reply_body: b"first".to_vec(),
            behind: b"",
            ends: false,
        }
    }

    fn says(&mut self, fields: &[u8], body: &[u8]) {
        self.method = "POST";
        self.fields.extend_from_slice(fields);
        self.body = body.to_vec();
    }

    fn replies(&mut self, fields: &[u8], body: &[u8]) {
        self.reply_fields = fields.to_vec();
        self.reply_body = body.to_vec();
    }

    fn request(&self, server: SocketAddr, number: usize) -> Vec<u8> {
        let head = format!(
            "{} http://{}/{} {}\r\nHost: {}\r\n",
            self.method, server, number, self.version, server
        );
        [head.as_bytes(), &self.fields, b"\r\n", &self.body].concat()
    }

    fn reply(&self) -> Vec<u8> {
        let head = [self.status, b"\r\n", &self.reply_fields, b"\r\n"].concat();
        [&head[..], &self.reply_body, self.behind].concat()
    }
}

const CHUNKED: &[u8] = b"Transfer-Encoding: chunked\r\n";
const CHUNKS: &[u8] = b"5\r\nfirst\r\n0\r\n\r\n";

type Oddity = (&'static str, fn(&mut Case));

const ODDITIES: &[Oddity] = &[
    ("nothing", |_| {}),
    ("HEAD", |c| {
        c.method = "HEAD";
        c.reply_body = Vec::new();
    }),
    ("HTTP/1.0", |c| c.version = "HTTP/1.0"),
    ("keep-alive", |c| {
        c.fields
            .extend_from_slice(b"Proxy-Connection: keep-alive\r\nConnection: keep-alive\r\n")
    }),
    ("a body", |c| c.says(b"Content-Length: 5\r\n", b"hello")),
    ("a chunked body", |c| {
        c.says(CHUNKED, b"5;a=b\r\nhello\r\n0\r\n\r\n")
    }),
    ("a body with equal lengths", |c| {
        c.says(b"Content-Length: 5\r\nContent-Length: 5\r\n", b"hello")
    }),
    ("a body with two lengths", |c| {
        c.says(b"Content-Length: 5\r\nContent-Length: 6\r\n", b"hello")
    }),
    ("a body with a signed length", |c| {
        c.says(b"Content-Length: +5\r\n", b"hello")
    }),
    ("a body with a length and chunks", |c| {
        c.says(
            b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            CHUNKS,
        )
    }),
    ("a body with identity and chunks", |c| {
        c.says(b"Transfer-Encoding: identity, chunked\r\n", CHUNKS)
    }),
    ("a body in gzip and chunks", |c| {
        c.says(b"Transfer-Encoding: gzip, chunked\r\n", CHUNKS)
    }),
    ("a body chunked twice", |c| {
        c.says(
            b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            CHUNKS,
        )
    }),
    ("a body with an underscore", |c| {
        c.says(
            b"Transfer_Encoding: chunked\r\nContent-Length: 5\r\n",
            b"hello",
        )
    }),
    ("a body with a size and a word", |c| {
        c.says(CHUNKED, b"5 x\r\nfirst\r\n0\r\n\r\n")
    }),
    ("a body with a padded size", |c| {
        c.says(CHUNKED, b"5  \r\nfirst\r\n0\r\n\r\n")
    }),
    ("a body with a long size", |c| {
        c.says(CHUNKED, b"00000000000000005\r\nfirst\r\n0\r\n\r\n")
    }),
    ("a body with NUL in an extension", |c| {
        c.says(CHUNKED, b"5;a\0\r\nfirst\r\n0\r\n\r\n")
    }),
    ("a body with LF behind a size", |c| {
        c.says(CHUNKED, b"5\nfirst\r\n0\r\n\r\n")
    }),
    ("a body with a space before the colon", |c| {
        c.says(b"Content-Length : 5\r\n", b"hello")
    }),
    ("more behind it", |c| c.behind = BEHIND),
    ("no framing", |c| {
        c.reply_fields = Vec::new();
        c.ends = true;
    }),
    ("chunks", |c| {
        c.replies(CHUNKED, b"5;a=b\r\nfirst\r\n0\r\nA: b\r\n\r\n")
    }),
    ("chunks with a size and a word", |c| {
        c.replies(CHUNKED, b"5 x\r\nfirst\r\n0\r\n\r\n")
    }),
    ("chunks with a padded size", |c| {
        c.replies(CHUNKED, b"5  \r\nfirst\r\n0\r\n\r\n")
    }),
    ("chunks with a long size", |c| {
        c.replies(CHUNKED, b"00000000000000005\r\nfirst\r\n0\r\n\r\n")
    }),
    ("chunks with NUL in an extension", |c| {
        c.replies(CHUNKED, b"5;a\0\r\nfirst\r\n0\r\n\r\n")
    }),
    ("chunks without their end", |c| {
        c.replies(CHUNKED, b"5\r\nfirst\r\n");
        c.ends = true;
    }),
    ("equal lengths", |c| {
        c.replies(b"Content-Length: 5\r\nContent-Length: 5\r\n", b"first")
    }),
    ("two lengths", |c| {
        c.replies(b"Content-Length: 5\r\nContent-Length: 6\r\n", b"first")
    }),
    ("a signed length", |c| {
        c.replies(b"Content-Length: +5\r\n", b"first")
    }),
    ("a length and chunks", |c| {
        c.replies(
            b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            CHUNKS,
        )
    }),
    ("identity and chunks", |c| {
        c.replies(b"Transfer-Encoding: identity, chunked\r\n", CHUNKS)
    }),
    ("gzip and chunks", |c| {
        c.replies(b"Transfer-Encoding: gzip, chunked\r\n", CHUNKS)
    }),
    ("chunks in HTTP/1.0", |c| {
        c.status = b"HTTP/1.0 200 OK";
        c.replies(CHUNKED, CHUNKS);
        c.ends = true;
    }),
    ("a short body", |c| {
        c.reply_fields = b"Content-Length: 9\r\n".to_vec();
        c.ends = true;
    }),
    ("no body", |c| c.replies(b"Content-Length: 0\r\n", b"")),
    ("204", |c| {
        c.status = b"HTTP/1.1 204 No Content";
        c.replies(b"", b"");
    }),
    ("304", |c| {
        c.status = b"HTTP/1.1 304 Not Modified";
        c.reply_body = Vec::new();
    }),
    ("an interim reply", |c| {
        c.status = b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK"
    }),
    ("101", |c| {
        c.status = b"HTTP/1.1 101 Switching\r\nUpgrade: x"
    }),
    ("no HTTP", |c| c.status = b"220 mail.example"),
    ("HTTP/2", |c| c.status = b"HTTP/2 200"),
    ("two spaces", |c| c.status = b"HTTP/1.1  200 OK"),
    ("a blank line in front", |c| {
        c.status = b"\r\nHTTP/1.1 200 OK"
    }),
    ("fields for the next hop", |c| {
        c.reply_fields.extend_from_slice(
            b"Connection: keep-alive, X-A\r\nX-A: b\r\nKeep-Alive: timeout=9\r\n",
        )
    }),
    ("a folded field", |c| {
        c.reply_fields.extend_from_slice(b"X: a\r\n b\r\n")
    }),
    ("no colon", |c| {
        c.reply_fields.extend_from_slice(b"no colon\r\n")
    }),
    ("a space before the colon", |c| {
        c.replies(b"Content-Length : 5\r\n", b"first");
        c.ends = true;
    }),
    ("a NUL in a value", |c| {
        c.reply_fields.extend_from_slice(b"X: a\0b\r\n")
    }),
];

/// Reasons: both programs find one end of each message, and where they differ, `-D` refuses the
/// message.
const ROWS: &[Row] = &[
    Row {
        judge: "squid",
        stricter: Ours,
        traits: &["a body with equal lengths", "equal lengths"],
        why: "it makes one of equal lengths, as RFC 9110 §8.6 allows",
    },
    Row {
        judge: "squid",
        stricter: Ours,
        traits: &[
            "a body with a length and chunks",
            "a body with two lengths",
            "a body with a signed length",
            "a length and chunks",
        ],
        why: "it leaves out a length beside chunks (we: RFC 9112 §6.3, \"ought to be handled as an error\")",
    },
    Row {
        judge: "squid",
        stricter: Ours,
        traits: &["a body with an underscore"],
        why: "the field is one like any other to it",
    },
    Row {
        judge: "squid",
        stricter: Ours,
        traits: &["a body with a long size", "chunks with a long size"],
        why: "it counts no leading zeros",
    },
    Row {
        judge: "squid",
        stricter: Ours,
        traits: &["chunks in HTTP/1.0"],
        why: "it reads chunks in every version (we: RFC 9112 §6.1, a faulty framing)",
    },
    Row {
        judge: "squid",
        stricter: Ours,
        traits: &["HTTP/1.0"],
        why: "it takes chunks from such a client, and takes those of a reply apart, broken ones, too",
    },
    Row {
        judge: "squid",
        stricter: Ours,
        traits: &["204"],
        why: "it doesn't look at the length of a reply that has no body",
    },
    Row {
        judge: "squid",
        stricter: Theirs,
        traits: &["HEAD"],
        why: "it takes no body with HEAD",
    },
    Row {
        judge: "squid",
        stricter: Theirs,
        traits: &["two spaces"],
        why: "to it a line with two spaces is no status line (we: RFC 9112 §4, white space)",
    },
    Row {
        judge: "squid",
        stricter: Theirs,
        traits: &["a blank line in front"],
        why: "to it the blank line is no status line; to httparse it is nothing",
    },
];

/// The client's reply to its first request: a whole reply of the server, or none.
type Answer = Option<(u16, Vec<u8>)>;

/// Reads a reply strictly; returns `None` without a whole reply, or with one of the proxy itself.
fn answer(client: &mut Connection, method: &str) -> Answer {
    let mut head = client.read_head();
    while head.starts_with(b"HTTP/1.1 1") {
        head = client.read_head();
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    if head.contains("\r\nx-transformed-from: http/0.9\r\n") {
        // squid's reply to anything that isn't HTTP/1: a body without a head, if the connection
        // ends with it.
        return None;
    }
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let value = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.strip_prefix(name));
        lines.next().map(|value| value.trim().to_string())
    };
    let mut body = Vec::new();
    let is_empty = method == "HEAD" || matches!(status, 204 | 304);
    if is_empty {
    } else if value("transfer-encoding:").is_some() {
        loop {
            let sized = line(client)?;
            let size = sized.split(|c| matches!(c, ';' | '\r')).next()?;
            let size = usize::from_str_radix(size, 16).ok()?;
            if size == 0 {
                while line(client)? != "\r\n" {}
                break;
            }
            body.extend(exactly(client, size)?);
            exactly(client, 2)?;
        }
    } else if let Some(length) = value("content-length:") {
        body = exactly(client, length.parse().ok()?)?;
    } else {
        client.read_to_end(&mut body).ok()?;
    }
    Some((status, body)).filter(|_| status < 400)
}

fn exactly(client: &mut Connection, count: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; count];
    client.read_exact(&mut bytes).ok().map(|()| bytes)
}

fn line(client: &mut Connection) -> Option<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        line.extend(exactly(client, 1)?);
    }
    String::from_utf8(line).ok()
}

/// Starts a server that replies to each request as in its case, and keeps the first lines of the
/// requests.
fn server(cases: &[Case], asked: &Arc<Mutex<Vec<String>>>) -> Peer {
    let (cases, asked) = (cases.to_vec(), asked.clone());
    Peer::start(move |mut connection| loop {
        let head = connection.read_head();
        let head = String::from_utf8_lossy(&head).into_owned();
        let first = head.lines().next().unwrap_or_default().to_string();
        let number = first.split(|c| matches!(c, '/' | ' ')).nth(2);
        let number = number.and_then(|number| number.parse::<usize>().ok());
        asked.lock().unwrap().push(first);
        let case = match number.and_then(|number| cases.get(number)) {
            Some(case) => case,
            None => return connection.drain(),
        };
        // The rest of the request, if its end is unambiguous.
        let head = head.to_ascii_lowercase();
        if head.contains("\r\ntransfer-encoding: chunked\r\n") {
            let mut body = Vec::new();
            while !body.ends_with(b"0\r\n\r\n") {
                match exactly(&mut connection, 1) {
                    Some(byte) => body.extend(byte),
                    None => return,
                }
            }
        } else if head.contains("\r\ncontent-length: 5\r\n") {
            exactly(&mut connection, 5);
        }
        let _ = connection.try_send(case.reply());
        if case.ends {
            connection.finish_sending();
            return connection.drain();
        }
    })
}

/// Sends both requests on one connection; returns the first reply, and all bytes after it.
fn ask(
    proxy: SocketAddr,
    first: &[u8],
    method: &str,
    second: &[u8],
    at_once: bool,
) -> (Answer, Vec<u8>) {
    let mut client = Connection::open(proxy);
    client.stream().set_read_timeout(Some(TIMEOUT)).unwrap();
    if at_once {
        let _ = client.try_send([first, second].concat());
    } else {
        let _ = client.try_send(first);
    }
    let answer = answer(&mut client, method);
    if !at_once {
        let _ = client.try_send(second);
    }
    let mut rest = Vec::new();
    if answer.is_some() {
        let _ = client.read_to_end(&mut rest);
    }
    (answer, rest)
}

/// Another server's reply, or another reply than squid's, would be the worst case: no row explains
/// it.
#[test]
fn two_requests_on_one_connection_are_answered_as_behind_squid_or_not_at_all() {
    let pairs = combinations(ODDITIES.len(), scale(200, 2_000));
    let cases: Vec<Case> = pairs.iter().map(|&(a, b)| case(a, b)).collect();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let first = server(&cases, &asked);
    let second =
        Peer::replying("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecond");
    let program = Ptunnel::new().args(&["--direct-fallback", "-D", "0"]);
    let program = program.more_lines(1).start();
    let squid = Squid::start(None);
    let next = format!(
        "GET http://{}/next HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        second.address(),
        second.address()
    );
    let judge_all = |proxy: SocketAddr| -> Vec<(Answer, Vec<u8>)> {
        // In parallel, because a proxy that waits for more bytes takes its time.
        let size = (cases.len() + 7) / 8;
        let parts = cases.chunks(size).enumerate().map(|(part, cases)| {
            let (cases, next) = (cases.to_vec(), next.clone());
            let at = first.address();
            thread::spawn(move || {
                let numbered = cases.iter().enumerate();
                let answers = numbered.map(|(index, case)| {
                    let number = part * size + index;
                    let said = case.request(at, number);
                    ask(proxy, &said, case.method, next.as_bytes(), number % 2 == 1)
                });
                answers.collect::<Vec<_>>()
            })
        });
        let parts: Vec<_> = parts.collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect()
    };

    let ours = judge_all(program.address());
    assert_eq!(second.accepted(), 0, "the second request was sent");
    for first in asked.lock().unwrap().drain(..) {
        assert!(!first.contains("next"), "the first server got {}", first);
    }
    let squids = judge_all(squid.address());
    assert!(second.accepted() > 0);

    let mut comparison = Comparison::new(ROWS);
    let mut two = Vec::new();
    for (number, &(a, b)) in pairs.iter().enumerate() {
        let odd = [ODDITIES[a].0, ODDITIES[b].0];
        let ((our, rest), (their, behind)) = (&ours[number], &squids[number]);
        let rest = String::from_utf8_lossy(rest);
        assert!(rest.is_empty(), "{:?}: {:?} behind the reply", odd, rest);
        let behind = String::from_utf8_lossy(behind);
        if behind.contains("stolen") {
            println!("squid passes on what is behind the reply: {:?}", odd);
        }
        let shown = format!("{:?}: ours {:?}, squid's {:?}", odd, our, their);
        match (our, their) {
            (our, their) if our == their => {}
            (None, _) => comparison.differs("squid", Ours, &odd, shown),
            (_, None) => comparison.differs("squid", Theirs, &odd, shown),
            _ => two.push(shown),
        }
    }
    assert!(
        two.is_empty(),
        "two replies to one request:\n{}",
        two.join("\n")
    );
    comparison.finish(cases.len());
}

/// Returns a case with both oddities, the second applied to the first.
fn case(a: usize, b: usize) -> Case {
    let mut case = Case::new();
    (ODDITIES[a].1)(&mut case);
    if a != b {
        (ODDITIES[b].1)(&mut case);
    }
    case
}
