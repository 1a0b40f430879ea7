//! GETs over HTTP/1.1, one at a time or pipelined, on connections that last or that the server ends.
//!
//! A reply that equals the last right one, byte for byte, is right too; any other is parsed and judged. So each byte of
//! each reply is compared, and a new second in the date costs a connection one parse.

use std::io;
use std::net::SocketAddr;
use std::time::SystemTime;

use super::client::{wrong, Client, Judged};
use super::http::{broken, granted, parse, Reply, Rule};

/// What a reply must be.
#[derive(Clone, Debug)]
enum Right {
    /// This page.
    Page(Vec<u8>),
    /// What TechEmpower's rules demand.
    Plaintext,
}

#[derive(Clone, Debug)]
pub struct Gets {
    /// Sent first and answered first: the request to a proxy, where the load asks it by itself.
    connect: Vec<u8>,
    /// Requests that wait for the proxy's answer.
    waiting: u64,
    request: Vec<u8>,
    /// Requests that are sent at once.
    depth: u64,
    right: Right,
    /// The last right reply, and whether it announced the end of its connection.
    known: (Vec<u8>, bool),
}

impl Gets {
    /// GETs of `path`, which has this body; with `close` the server ends the connection after each. A reply that
    /// announces the end counts when the end of file is there, as it does in ab: a tunnel that passes it on late is late
    /// with the reply.
    pub fn page(host: SocketAddr, path: &str, close: bool, body: &[u8]) -> Gets {
        let close = if close { "Connection: close\r\n" } else { "" };
        Gets {
            connect: Vec::new(),
            waiting: 0,
            request: format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n").into_bytes(),
            depth: 1,
            right: Right::Page(body.to_vec()),
            known: (Vec::new(), false),
        }
    }

    /// The same through a proxy that the load itself asks for `target`.
    pub fn asking_for(self, target: SocketAddr) -> Gets {
        let connect = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        Gets {
            connect: connect.into_bytes(),
            ..self
        }
    }

    /// Greetings of a plaintext server, `depth` of them at once.
    pub fn plaintext(host: SocketAddr, depth: u64) -> Gets {
        Gets {
            request: plaintext(host, "/plaintext"),
            depth,
            right: Right::Plaintext,
            ..Gets::page(host, "", false, b"")
        }
    }

    /// Whether a reply announces the end of its connection.
    ///
    /// # Errors
    /// When it is not as it must be.
    fn judge_one(&self, reply: &Reply) -> io::Result<bool> {
        match &self.right {
            Right::Plaintext => match broken(reply, SystemTime::now()) {
                Some(rule) => Err(against(rule)),
                None => Ok(false),
            },
            Right::Page(_) if !reply.is_ok() => Err(wrong(&format!("a reply says {}", reply.code))),
            Right::Page(body) if reply.body != body => {
                Err(wrong("a reply has another body than its page"))
            }
            Right::Page(_) => Ok(reply.closes()),
        }
    }
}

impl Client for Gets {
    fn open(&self, _nth: usize) -> Gets {
        self.clone()
    }

    fn ask(&mut self, most: u64, out: &mut Vec<u8>) -> u64 {
        let count = self.depth.min(most);
        if self.connect.is_empty() {
            out.extend(self.request.repeat(count as usize));
        } else {
            out.append(&mut self.connect);
            self.waiting = count;
        }
        count
    }

    fn judge(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<Judged> {
        let mut judged = Judged::default();
        if self.waiting > 0 {
            if let Some(length) = granted(bytes)? {
                judged.used = length;
                out.extend(self.request.repeat(self.waiting as usize));
                self.waiting = 0;
            }
            return Ok(judged);
        }
        while judged.used < bytes.len() && !judged.last {
            let rest = &bytes[judged.used..];
            let (known, _) = &self.known;
            if known.is_empty() || !rest.starts_with(known) {
                let Some(reply) = parse(rest).map_err(against)? else {
                    break;
                };
                let closes = self.judge_one(&reply)?;
                self.known = (rest[..reply.length].to_vec(), closes);
            }
            let (known, closes) = &self.known;
            judged.used += known.len();
            judged.replies += 1;
            judged.last = *closes;
        }
        Ok(judged)
    }
}

/// Returns the request that TechEmpower's load sends.
pub fn plaintext(host: SocketAddr, path: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\n\
         Accept: text/plain,text/html;q=0.9,application/xhtml+xml;q=0.9,application/xml;q=0.8,*/*;q=0.7\r\n\
         Connection: keep-alive\r\n\r\n"
    )
    .into_bytes()
}

fn against(rule: Rule) -> io::Error {
    wrong(&format!("a reply breaks a rule: {rule}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn reply(ago: u64, server: &str) -> String {
        let date = httpdate::fmt_http_date(SystemTime::now() - Duration::from_secs(ago));
        format!(
            "HTTP/1.1 200 OK\r\nServer: {server}\r\nDate: {date}\r\nContent-Length: 13\r\n\
             Content-Type: text/plain\r\n\r\nHello, World!"
        )
    }

    fn client() -> Gets {
        Gets::plaintext("127.0.0.1:1".parse().unwrap(), 16)
    }

    fn judge(client: &mut Gets, bytes: impl AsRef<[u8]>) -> io::Result<(u64, usize)> {
        let judged = client.judge(bytes.as_ref(), &mut Vec::new())?;
        Ok((judged.replies, judged.used))
    }

    #[test]
    fn counts_whole_replies_and_keeps_the_rest() {
        let (one, mut client) = (reply(0, "M"), client());
        let bytes = [one.as_str(), &one, &one[..50]].concat();
        assert_eq!(judge(&mut client, bytes).unwrap(), (2, 2 * one.len()));
        assert_eq!(judge(&mut client, &one[..one.len() - 1]).unwrap(), (0, 0));
        assert_eq!(judge(&mut client, b"").unwrap(), (0, 0));
    }

    #[test]
    fn replies_of_another_second_or_length_are_judged_anew() {
        let all = [(0, "M"), (1, "M"), (1, "longer"), (0, "M")];
        let bytes = all.map(|(ago, server)| reply(ago, server)).concat();
        assert_eq!(judge(&mut client(), &bytes).unwrap(), (4, bytes.len()));
    }

    #[test]
    fn one_wrong_byte_after_a_right_reply_is_found() {
        let (right, mut client) = (reply(0, "M"), client());
        judge(&mut client, &right).unwrap();
        let wrong = right.replace("World", "Wor1d");
        let e = judge(&mut client, wrong).unwrap_err();
        assert!(e.to_string().contains(&Rule::Body.to_string()), "{e}");
        assert!(judge(&mut client, b"\r\n\r\n").is_err());
    }

    #[test]
    fn no_more_is_sent_than_is_asked_for() {
        let (mut client, mut out) = (client(), Vec::new());
        assert_eq!(client.ask(3, &mut out), 3);
        assert_eq!(client.ask(u64::MAX, &mut out), 16);
        assert_eq!(out, client.request.repeat(19));
    }
}
