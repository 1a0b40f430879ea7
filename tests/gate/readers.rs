//! The readers of heads, each fed a head in small pieces: the gate runs itself under callgrind for
//! that. The instructions must grow with the head, so twice the pieces may cost little more than twice
//! as much.

use std::env;
use std::process::Command;

use ptunnel_core::inbound::InboundHandshake;
use ptunnel_proto::values::TlsStart;
use ptunnel_proto::{Download, Forward, Negotiation, NegotiationStep, Reply, Request};
use ptunnel_proto::{Secrets, ServerNameReader, StartTls, Step};
use support::TempDir;

use super::counted;

/// The word in front of a reader's name and its number of pieces.
pub const WORD: &str = "--read";

/// The number of pieces; twice as many of the longest have 61 KiB.
const PIECES: usize = 1_500;

/// What twice the pieces may cost; 4 if each piece costs as much as all before it.
const MOST: f64 = 2.2;

/// A name, and a function that feeds a beginning and this number of pieces. It panics unless the reader
/// needs all of them and more.
type Reader = (&'static str, fn(usize));

const READERS: [Reader; 8] = [
    ("forwarded reply", |count| {
        let mut reply = begun_reply();
        for piece in pieces(
            b"HTTP/1.1 200 OK\r\nA: b",
            b"\n 123456789012345678\r",
            count,
        ) {
            assert_eq!((reply.feed(piece), reply.is_ready()), (0, false));
        }
    }),
    ("interim replies", |count| {
        let all = b"HTTP/1.1 103 \r\n\r\n".repeat(count);
        let mut reply = begun_reply();
        assert_eq!((reply.feed(&all), reply.has_ended()), (0, false));
    }),
    ("reply of a proxy", |count| {
        let request = Request::connect(&"a:1".parse().expect("a destination"));
        let mut negotiation = Negotiation::from(request);
        negotiation.begin();
        for piece in pieces(b"HTTP/1.1 200 OK\r\nA: b", b"\n 12\r", count) {
            let step = negotiation.feed(piece);
            assert!(matches!(step, Ok(NegotiationStep::Read)));
        }
    }),
    ("reply with a PAC file", |count| {
        let mut download = Download::new(1, Secrets::default());
        for piece in pieces(b"HTTP/1.1 200 OK\r\nA: b", b"\n 12\r", count) {
            assert!(matches!(download.feed(piece), Ok(false)));
        }
    }),
    ("request of a client", |count| {
        let mut handshake = InboundHandshake::default();
        for piece in pieces(b"\n", b"\r\n\n\r\n", count) {
            assert!(matches!(handshake.feed(piece), Ok(Step::Read)));
        }
    }),
    ("request of a redirected client", |count| {
        let mut reader = ServerNameReader::default();
        for piece in pieces(b"GET / HTTP/1.1\r\nA: ", b"12345", count) {
            assert_eq!(reader.extend(piece), Ok(None));
        }
    }),
    ("records of a redirected client", |count| {
        let mut reader = ServerNameReader::default();
        let (first, next) = ([22, 3, 1, 0, 4, 1, 0, 64, 0], [22, 3, 1, 0, 1, 0]);
        let records = pieces(&first, &next, count / 2);
        for piece in records.flat_map(|record| record.chunks(3)) {
            assert_eq!(reader.extend(piece), Ok(None));
        }
    }),
    ("reply to STARTTLS", |count| {
        let mut exchange = StartTls::new(TlsStart::Imap).expect("an exchange");
        for piece in pieces(b"* OK ", b"12345", count) {
            assert_eq!(exchange.feed(piece), Ok(Step::Read));
        }
    }),
];

fn begun_reply() -> Reply {
    let request = Forward::rewrite(b"GET http://a/ HTTP/1.1\r\n\r\n");
    request.expect("a request").boundary.reply()
}

fn pieces<'a>(first: &'a [u8], next: &'a [u8], count: usize) -> impl Iterator<Item = &'a [u8]> {
    Some(first).into_iter().chain((0..count).map(move |_| next))
}

/// Feeds the reader that the words after [`WORD`] name.
pub fn run(words: &[String]) {
    let reader = READERS.iter().find(|(name, _)| *name == words[0]);
    reader.expect("a reader").1(words[1].parse().expect("a number"));
}

/// Prints what twice the pieces cost each reader; returns whether that is too much for one.
pub fn check() -> bool {
    let mut failed = false;
    for (name, _) in &READERS {
        let cost = |count| instructions(name, count) as f64;
        let none = cost(0);
        let growth = (cost(2 * PIECES) - none) / (cost(PIECES) - none);
        let complaint = if growth <= MOST {
            "as expected"
        } else {
            "not linear"
        };
        failed |= growth > MOST;
        println!(
            "{:<31} | {:>4.2} times for twice the pieces | {}",
            name, growth, complaint
        );
    }
    failed
}

fn instructions(name: &str, count: usize) -> u64 {
    let folder = TempDir::new();
    let out = folder.at("out");
    let this = env::current_exe().expect("this program");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(&["--quiet", "--tool=callgrind"]);
    valgrind
        .arg(format!("--callgrind-out-file={}", out))
        .arg(this);
    let status = valgrind.args(&[WORD, name, &count.to_string()]).status();
    assert!(
        status.expect("valgrind").success(),
        "{} with {} pieces",
        name,
        count
    );
    counted(&out).costs.values().sum()
}
