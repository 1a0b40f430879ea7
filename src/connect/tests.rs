//! The negotiation over scripted streams: replies in pieces of any size, and replies that fail.

use super::*;
use crate::io::tests::mock_io::{drive, Action, MockStream};
use ptunnel_proto::{Request, HEAD_LIMIT};

const REQUEST: &[u8] = b"CONNECT example.org:22 HTTP/1.1\r\nHost: example.org:22\r\n\r\n";
const GRANTED: &[u8] = b"HTTP/1.1 200 Connection established\r\nX-Tag: a\r\n\r\n";

fn connect(stream: MockStream) -> Connect<MockStream> {
    Connect::new(stream, Request::connect(&"example.org:22".parse().unwrap()))
}

/// Returns what the client would read first, or why there is no tunnel.
fn reply<P: AsRef<[u8]>>(pieces: impl IntoIterator<Item = P>) -> Result<Vec<u8>, String> {
    let outcome =
        drive(connect(MockStream::saying(pieces))).map_err(|failure| failure.to_string())?;
    match outcome {
        Outcome::Granted(opened) => Ok(opened.into_parts().1),
        Outcome::Redial(negotiation) => panic!("{:?}", negotiation),
    }
}

fn bytes(text: &[u8]) -> Vec<[u8; 1]> {
    text.iter().map(|byte| [*byte]).collect()
}

#[test]
fn a_reply_can_be_split_at_any_byte() {
    let all = [GRANTED, b"SSH-2.0-x\r\n"].concat();
    for cut in 1..all.len() {
        let rest = reply(vec![&all[..cut], &all[cut..]]).unwrap();
        // A second piece that the head didn't need stays in the stream.
        let read = if cut < GRANTED.len() { all.len() } else { cut };
        assert_eq!(rest, &all[GRANTED.len()..read], "cut at {}", cut);
    }
    assert_eq!(reply(bytes(GRANTED)).unwrap(), b"");
}

#[test]
fn a_reply_in_one_piece_costs_two_reads() {
    let stream = MockStream::new(
        vec![Action::Wait, Action::Bytes(GRANTED.to_vec())],
        Vec::new(),
    );
    let seen = stream.seen();
    drive(connect(stream)).map(drop).unwrap();
    assert_eq!(seen.borrow().reads, 2);
}

#[test]
fn a_partial_write_of_the_request_is_resumed() {
    let writes = vec![
        Action::Take(1),
        Action::Wait,
        Action::Take(7),
        Action::Wait,
        Action::Wait,
        Action::Take(20),
    ];
    let stream = MockStream::new(vec![Action::Bytes(GRANTED.to_vec())], writes);
    let seen = stream.seen();
    drive(connect(stream)).map(drop).unwrap();
    assert_eq!(seen.borrow().written, REQUEST);
}

#[test]
fn interim_replies_are_skipped_up_to_a_cap() {
    let interim = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".to_vec();
    let with = |count| [interim.repeat(count), GRANTED.to_vec(), b"hi".to_vec()].concat();
    assert_eq!(reply(vec![with(8)]).unwrap(), b"hi");
    assert_eq!(reply(bytes(&with(8)[..with(8).len() - 2])).unwrap(), b"");
    assert_eq!(reply(vec![with(9)]).unwrap_err(), "103 Early Hints");
}

#[test]
fn an_end_before_the_blank_line_is_an_error() {
    for end in 0..GRANTED.len() {
        let failure = drive(connect(MockStream::saying(vec![&GRANTED[..end]])))
            .map(drop)
            .unwrap_err();
        assert!(
            matches!(failure, ConnectFailure::Ended),
            "{}: {:?}",
            end,
            failure
        );
    }
}

#[test]
fn an_endless_head_fails_at_the_limit() {
    let stream = MockStream::new(
        vec![
            Action::Bytes(b"HTTP/1.1 200 OK\r\nX: ".to_vec()),
            Action::Bytes(vec![b'x'; 1 << 20]),
        ],
        Vec::new(),
    );
    let seen = stream.seen();
    let failure = drive(connect(stream)).map(drop).unwrap_err();
    assert!(
        failure.to_string().contains("more than 16384 bytes"),
        "{}",
        failure
    );
    assert!(seen.borrow().reads <= 2 + HEAD_LIMIT / CHUNK);
}

#[test]
fn a_refusal_keeps_the_body_that_came_with_it() {
    let refused = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nnot today";
    match drive(connect(MockStream::saying(vec![refused])))
        .map(drop)
        .unwrap_err()
    {
        ConnectFailure::Refused(refusal) => {
            assert_eq!(refusal.to_string(), "403 Forbidden (not today)")
        }
        other => panic!("{:?}", other),
    }
}

/// Regression: a refusal whose head ended early was no answer, and the next proxy was asked.
#[test]
fn a_refusal_can_break_anywhere_after_its_status() {
    let refused = b"HTTP/1.1 403 Forbidden\r\nX-Blocked By: x\r\n\r\n";
    for cut in 1..refused.len() {
        for is_reset in &[false, true] {
            let mut reads = vec![Action::Bytes(refused[..cut].to_vec())];
            if *is_reset {
                reads.push(Action::Fail(io::ErrorKind::ConnectionReset));
            }
            let stream = MockStream::new(reads, Vec::new());
            let failure = drive(connect(stream)).map(drop).unwrap_err();
            match (cut >= b"HTTP/1.1 403".len(), is_reset, &failure) {
                (true, _, ConnectFailure::Refused(refusal)) => assert_eq!(refusal.status(), 403),
                (false, false, ConnectFailure::Ended) | (false, true, ConnectFailure::Io(_)) => {}
                _ => panic!("{}: {:?}", cut, failure),
            }
        }
    }
}

#[test]
fn an_io_error_is_reported() {
    let stream = MockStream::new(
        vec![Action::Fail(io::ErrorKind::ConnectionReset)],
        Vec::new(),
    );
    assert!(matches!(
        drive(connect(stream)).map(drop).unwrap_err(),
        ConnectFailure::Io(_)
    ));
    let stream = MockStream::new(Vec::new(), vec![Action::Fail(io::ErrorKind::BrokenPipe)]);
    assert!(matches!(
        drive(connect(stream)).map(drop).unwrap_err(),
        ConnectFailure::Io(_)
    ));
}

#[test]
#[should_panic(expected = "Connect polled after it was done")]
fn a_poll_after_the_end_panics() {
    let mut connect = connect(MockStream::saying(vec![GRANTED]));
    let _ = drive(
        futures::future::poll_fn(|| connect.poll())
            .map(drop)
            .map_err(drop),
    );
    let _ = connect.poll();
}

#[test]
fn debug_text_holds_no_credentials() {
    let proxy: ptunnel_core::config::ProxySpec = "http://joe:hunter2@h".parse().unwrap();
    let value = ptunnel_proto::auth::basic(&proxy.credentials.unwrap());
    let request = Request::connect(&"a:1".parse().unwrap()).authorization(value.clone());
    let connect = Connect::new(MockStream::saying(vec![GRANTED]), request);
    let token = value.reveal().trim_start_matches("Basic ").to_string();
    assert!(!format!("{:?}", connect).contains(&token));
    assert_eq!(format!("{:?}", connect), "Connect { .. }");
}
