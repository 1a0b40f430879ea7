//! The rules, each tried on a server before anything of it is measured.

use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::load::channel::{Patient, Security};
use crate::load::gets::plaintext as request;
use crate::load::http::{broken, parse, Rule};
use crate::load::sockets::TIMEOUT;
use crate::measure::{certificate, Bench, Taken};
use crate::peers::{Found, Setup, Under};

/// The deepest pipeline of the figures.
const DEEPEST: usize = 32;
/// A date of seconds must have advanced by then.
const LATER: Duration = Duration::from_millis(2_100);
/// Between the pieces of a request, and for an unrequested reply.
const MOMENT: Duration = Duration::from_millis(30);

pub fn in_the_clear(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    sample(bench, peer, &Security::Clear)
}

pub fn over_tls(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    certificate::lay(&bench.folder, "server")?;
    sample(bench, peer, &Security::tls()?)
}

fn sample(bench: &Bench, peer: &Found, security: &Security) -> io::Result<Taken> {
    let server = bench.start(peer, Setup::serving(1), &Under::Nothing)?;
    let verdict = check(server.listen, security, peer.spec.reply_bytes);
    taken(bench, verdict)
}

/// A broken rule is a figure and a note; where samples must not go wrong it is an error.
fn taken(bench: &Bench, verdict: Verdict) -> io::Result<Taken> {
    let broken = verdict
        .broken
        .iter()
        .map(|rule| format!("breaks a rule: {rule}"));
    let broken: Vec<String> = broken.collect();
    if bench.strict && !broken.is_empty() {
        return Err(io::Error::other(broken.join("; ")));
    }
    let count = broken.len() as f64;
    broken.into_iter().for_each(|text| bench.note(text));
    let length = verdict.length.map(|bytes| bytes as f64);
    Ok(Taken::of([Some(count), length]))
}

struct Verdict {
    broken: Vec<Rule>,
    /// Bytes of a reply, if there was one.
    length: Option<usize>,
}

/// Tries every rule on the server at `to`; `bytes` is the length that a reply should have, if that matters.
fn check(to: SocketAddr, security: &Security, bytes: Option<usize>) -> Verdict {
    let one = request(to, "/plaintext");
    let replies = |pieces: &[&[u8]], count| replies(to, security, pieces, count);
    let first = match replies(&[&one], 1) {
        Ok(replies) => replies.concat(),
        Err(rule) => {
            let broken = vec![rule.unwrap_or(Rule::Head)];
            return Verdict {
                broken,
                length: None,
            };
        }
    };
    let right = |answers: Result<Vec<Vec<u8>>, Option<Rule>>| {
        answers.is_ok_and(|replies| replies.iter().all(|r| by_itself(r).is_none()))
    };
    let (head, tail) = one.split_at(one.len() / 2);
    let (line, middle) = head.split_at(7);
    let greeted = |bytes: &[u8]| matches!(parse(bytes), Ok(Some(reply)) if reply.is_ok());
    let elsewhere = replies(&[&request(to, "/elsewhere")], 1);

    let mut broken: Vec<Rule> = by_itself(&first).into_iter().collect();
    let mut demand = |rule, kept: bool| {
        if !kept {
            broken.push(rule);
        }
    };
    demand(Rule::Length, bytes.is_none_or(|bytes| bytes == first.len()));
    demand(Rule::Pieces, right(replies(&[line, middle, tail], 1)));
    demand(
        Rule::Pipelined,
        right(replies(&[&one.repeat(DEEPEST)], DEEPEST)),
    );
    // A connection that is closed instead is no greeting either.
    demand(
        Rule::Routed,
        !elsewhere.is_ok_and(|replies| replies.iter().any(|r| greeted(r))),
    );
    thread::sleep(LATER);
    let second = replies(&[&one], 1).unwrap_or_default().concat();
    demand(Rule::Advances, date(&first) < date(&second));
    Verdict {
        broken,
        length: Some(first.len()),
    }
}

/// The first rule that a whole reply breaks by itself.
fn by_itself(bytes: &[u8]) -> Option<Rule> {
    match parse(bytes) {
        Ok(Some(reply)) => broken(&reply, SystemTime::now()),
        Ok(None) => Some(Rule::Head),
        Err(rule) => Some(rule),
    }
}

fn date(bytes: &[u8]) -> Option<SystemTime> {
    parse(bytes).ok()??.date()
}

/// Sends the pieces on a connection of their own and reads exactly that many replies. An error is the rule that a reply
/// broke so that it can't be read, or none when too few or too many came.
fn replies(
    to: SocketAddr,
    security: &Security,
    pieces: &[&[u8]],
    count: usize,
) -> Result<Vec<Vec<u8>>, Option<Rule>> {
    let mut channel = Patient::open(to, security).map_err(|_| None)?;
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 {
            thread::sleep(MOMENT);
        }
        channel.send(piece).map_err(|_| None)?;
    }
    let (mut bytes, mut replies) = (Vec::new(), Vec::new());
    let mut buffer = [0; 4096];
    while replies.len() < count {
        if let Some(reply) = parse(&bytes)? {
            let rest = bytes.split_off(reply.length);
            replies.push(std::mem::replace(&mut bytes, rest));
            continue;
        }
        match channel.receive(TIMEOUT, &mut buffer) {
            Ok(Some(n @ 1..)) => bytes.extend_from_slice(&buffer[..n]),
            _ => return Err(None),
        }
    }
    match channel.receive(MOMENT, &mut buffer) {
        Ok(Some(1..)) => Err(None),
        _ if !bytes.is_empty() => Err(None),
        _ => Ok(replies),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Options;
    use crate::stop::Stop;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// A server whose replies to the n-th request of its life are what `reply` says; `None` closes.
    fn serve(reply: fn(usize, &str) -> Option<String>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let mut nth = 0;
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut text = String::new();
                let mut buffer = [0; 8192];
                'connection: while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    text.push_str(std::str::from_utf8(&buffer[..n]).unwrap());
                    while let Some(end) = text.find("\r\n\r\n") {
                        let head: String = text.drain(..end + 4).collect();
                        let path = head.split(' ').nth(1).unwrap().to_string();
                        match reply(nth, &path) {
                            Some(reply) => stream.write_all(reply.as_bytes()).unwrap(),
                            None => break 'connection,
                        }
                        nth += 1;
                    }
                }
            }
        });
        address
    }

    fn right(path: &str, date: SystemTime) -> String {
        let (status, body) = match path {
            "/plaintext" => ("200 OK", "Hello, World!"),
            _ => ("404 Not Found", ""),
        };
        let date = httpdate::fmt_http_date(date);
        format!(
            "HTTP/1.1 {status}\r\nServer: M\r\nDate: {date}\r\nContent-Length: {}\r\n\
             Content-Type: text/plain\r\n\r\n{body}",
            body.len()
        )
    }

    #[test]
    fn a_right_server_breaks_nothing() {
        let to = serve(|_, path| Some(right(path, SystemTime::now())));
        let Verdict { broken, length } = check(to, &Security::Clear, Some(126));
        assert_eq!((broken, length), (vec![], Some(126)));
    }

    #[test]
    fn rules_of_several_replies_are_seen_to_be_broken() {
        // Greets everywhere, answers nothing behind its fourth request, and its clock stands still.
        let to = serve(|nth, _| match nth {
            0..4 => Some(right(
                "/plaintext",
                SystemTime::now() - Duration::from_secs(nth as u64),
            )),
            _ => None,
        });
        let Verdict { broken, length } = check(to, &Security::Clear, Some(1));
        let all = [Rule::Length, Rule::Pipelined, Rule::Routed, Rule::Advances];
        assert_eq!((broken, length), (all.to_vec(), Some(126)));
    }

    #[test]
    fn a_broken_rule_is_an_error_where_nothing_may_go_wrong() {
        let found = |strict, broken: &[Rule]| {
            let options = Options {
                strict,
                ..Options::default()
            };
            let bench = Bench::new(&options, None, 9, Default::default(), Stop::default());
            let (bench, broken) = (bench.unwrap(), broken.to_vec());
            let taken = taken(
                &bench,
                Verdict {
                    broken,
                    length: Some(126),
                },
            );
            let values = taken.map(|taken| taken.values).map_err(|e| e.to_string());
            (values, bench.noted().len())
        };
        let broken = [Rule::Length, Rule::Routed];
        assert_eq!(found(false, &broken), (Ok(vec![Some(2.0), Some(126.0)]), 2));
        let e = found(true, &broken).0.unwrap_err();
        assert!(e.contains(&Rule::Routed.to_string()), "{e}");
        assert!(found(true, &[]).0.is_ok());
    }

    #[test]
    fn a_reply_too_many_and_a_server_that_is_mute() {
        let to = serve(|_, path| Some(right(path, SystemTime::now()).repeat(2)));
        let one = request(to, "/plaintext");
        assert_eq!(replies(to, &Security::Clear, &[&one], 1), Err(None));
        let to = serve(|_, _| None);
        assert_eq!(check(to, &Security::Clear, None).broken, [Rule::Head]);
    }
}
