//! Pipelined requests in a closed loop: each connection sends `depth` of them at once, awaits all their replies, sends
//! the next.
//!
//! A reply that equals the last one that kept the rules, byte for byte, keeps them too; any other is read and judged.
//! So each reply's status, fields and body are compared, and a new second costs the load one parse.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Instant, SystemTime};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::Timespec;
use rustix::io::Errno;

use super::channel::{Channel, Security};
use super::http::{broken, parse, Rule};
use super::requests::{Until, LONGEST};
use super::sockets::TIMEOUT;

use crate::stop::Stop;

/// A connection's replies that wait to be judged; 32 of the longest are half of it.
const BUFFER: usize = 16 * 1024;

/// The request that TechEmpower's load sends.
pub fn request(to: SocketAddr, path: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {to}\r\n\
         Accept: text/plain,text/html;q=0.9,application/xhtml+xml;q=0.9,application/xml;q=0.8,*/*;q=0.7\r\n\
         Connection: keep-alive\r\n\r\n"
    )
    .into_bytes()
}

#[derive(Debug)]
struct Connection {
    channel: Channel,
    buffer: Box<[u8]>,
    have: usize,
    /// Replies that are due.
    due: usize,
}

#[derive(Debug)]
pub struct Pipelined {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    depth: usize,
    /// Bytes of one request, and `depth` of them.
    request: usize,
    batch: Vec<u8>,
    known: Known,
}

impl Pipelined {
    pub fn open(
        to: SocketAddr,
        security: &Security,
        connections: usize,
        depth: usize,
    ) -> io::Result<Pipelined> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let request = request(to, "/plaintext");
        let mut open = Vec::with_capacity(connections);
        for index in 0..connections {
            let channel = Channel::open(to, index, security)?;
            epoll::add(
                &epoll,
                &channel,
                EventData::new_u64(index as u64),
                EventFlags::IN,
            )?;
            open.push(Connection {
                channel,
                buffer: vec![0; BUFFER].into(),
                have: 0,
                due: 0,
            });
        }
        Ok(Pipelined {
            epoll,
            connections: open,
            depth,
            request: request.len(),
            batch: request.repeat(depth),
            known: Known::default(),
        })
    }

    /// Runs the loop and returns the number of requests whose replies were right.
    pub fn run(&mut self, until: Until, stop: &Stop) -> io::Result<u64> {
        let begun = Instant::now();
        let (longest, most) = match until {
            Until::Sent(count) => (LONGEST, count),
            Until::Elapsed(time) => (time, u64::MAX),
        };
        let (mut sent, mut answered) = (0, 0);
        for index in 0..self.connections.len() {
            sent += self.send(index, most - sent)?;
        }
        let mut events: Vec<Event> = Vec::with_capacity(self.connections.len().max(1));
        let timeout = Timespec::try_from(TIMEOUT).map_err(io::Error::other)?;
        while answered < sent {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
                Ok(0) => return Err(late("a reply did not come")),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(e) => return Err(e.into()),
            }
            stop.check()?;
            let over = begun.elapsed() >= longest;
            if over && most < u64::MAX {
                return Err(late("the requests took too long"));
            }
            for event in &events {
                let index = event.data.u64() as usize;
                answered += self.receive(index)?;
                if self.connections[index].due == 0 && !over {
                    sent += self.send(index, most - sent)?;
                }
            }
        }
        Ok(answered)
    }

    /// Sends a batch, or what of it may still be sent; returns the number of its requests.
    fn send(&mut self, index: usize, most: u64) -> io::Result<u64> {
        let count = most.min(self.depth as u64);
        let bytes = &self.batch[..count as usize * self.request];
        let connection = &mut self.connections[index];
        if !bytes.is_empty() {
            connection.channel.send(bytes)?;
        }
        connection.due += count as usize;
        Ok(count)
    }

    /// The number of replies that are whole now.
    fn receive(&mut self, index: usize) -> io::Result<u64> {
        let connection = &mut self.connections[index];
        let mut whole = 0;
        loop {
            let free = &mut connection.buffer[connection.have..];
            connection.have += connection.channel.receive(free)?;
            let bytes = &connection.buffer[..connection.have];
            let (count, used) = self.known.judge(bytes).map_err(against)?;
            if count > connection.due {
                return Err(against(Rule::Pipelined));
            }
            connection.due -= count;
            whole += count as u64;
            connection.buffer.copy_within(used..connection.have, 0);
            connection.have -= used;
            if !connection.channel.has_more() {
                return Ok(whole);
            }
        }
    }
}

fn late(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

pub fn against(rule: Rule) -> io::Error {
    let text = format!("a reply breaks a rule: {rule}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// The last reply that kept the rules.
#[derive(Debug, Default)]
struct Known(Vec<u8>);

impl Known {
    /// Judges the whole replies at the front of `bytes`: their number and their length.
    fn judge(&mut self, bytes: &[u8]) -> Result<(usize, usize), Rule> {
        let (mut count, mut used) = (0, 0);
        while used < bytes.len() {
            let rest = &bytes[used..];
            used += match rest.get(..self.0.len()) {
                Some(reply) if !reply.is_empty() && *reply == self.0[..] => reply.len(),
                _ => match parse(rest)? {
                    None => break,
                    Some(reply) => {
                        if let Some(rule) = broken(&reply, SystemTime::now()) {
                            return Err(rule);
                        }
                        self.0 = rest[..reply.length].to_vec();
                        reply.length
                    }
                },
            };
            count += 1;
        }
        Ok((count, used))
    }
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

    #[test]
    fn counts_whole_replies_and_keeps_the_rest() {
        let one = reply(0, "M");
        let mut known = Known::default();
        let bytes = [one.as_str(), &one, &one[..50]].concat();
        assert_eq!(known.judge(bytes.as_bytes()), Ok((2, 2 * one.len())));
        assert_eq!(known.judge(&one.as_bytes()[..one.len() - 1]), Ok((0, 0)));
        assert_eq!(known.judge(b""), Ok((0, 0)));
    }

    #[test]
    fn replies_of_another_second_or_length_are_judged_anew() {
        let mut known = Known::default();
        let bytes = [
            reply(0, "M"),
            reply(1, "M"),
            reply(1, "longer"),
            reply(0, "M"),
        ]
        .concat();
        assert_eq!(known.judge(bytes.as_bytes()), Ok((4, bytes.len())));
    }

    #[test]
    fn one_wrong_byte_after_a_right_reply_is_found() {
        let right = reply(0, "M");
        let mut known = Known::default();
        assert_eq!(known.judge(right.as_bytes()), Ok((1, right.len())));
        let wrong = right.replace("World", "Wor1d");
        assert_eq!(known.judge(wrong.as_bytes()), Err(Rule::Body));
        assert_eq!(known.judge(b"\r\n\r\n"), Err(Rule::Head));
    }
}
