//! A row with its peers running.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::process::Command;

use super::rows::{Client, Row, Upstream, Way, GREETED, GREETING, THE_END};
use support::{closed_address, eventually};
use support::{Blackhole, Connection, Peer, Ptunnel, Running, TempDir};

/// The names in the rows, for peers without another address.
const PROXY: &str = "proxy.example:3128";
const DESTINATION: &str = "example.org:22";

/// The SOCKS5 request for the destination.
const REQUEST: &[u8] = b"\x05\x01\x00\x03\x0bexample.org\x00\x16";

/// The log has so many lines a minute about the denied clients of an address.
const DENIED_LINES: u32 = 20;

pub struct Stage {
    pub row: Row,
    plays: Cell<u32>,
    folder: TempDir,
    peer: Option<Peer>,
    _hole: Option<Blackhole>,
    proxy: Option<String>,
    pub destination: String,
}

impl Stage {
    pub fn set(row: Row) -> Stage {
        let folder = TempDir::new();
        let (mut peer, mut hole) = (None, None);
        let upstream = match row.upstream {
            Upstream::Does(script) => {
                let started = match row.way {
                    Way::Through | Way::Asked => Peer::proxy(script),
                    _ => Peer::start(script),
                };
                Some(peer.get_or_insert(started).address())
            }
            Upstream::Closed => Some(closed_address()),
            Upstream::Blackhole => Some(hole.get_or_insert(Blackhole::start()).address()),
            Upstream::Named(hosts) => {
                folder.file("hosts", hosts);
                None
            }
            Upstream::Unnamed => {
                let made = Command::new("mkfifo").arg(folder.at("hosts")).status();
                assert!(made.expect("mkfifo").success());
                None
            }
        };
        let upstream = |name: &str| upstream.map_or(name.to_string(), |it| it.to_string());
        Stage {
            row,
            plays: Cell::new(0),
            folder,
            peer,
            _hole: hole,
            proxy: match row.way {
                Way::Through | Way::Asked => Some(upstream(PROXY)),
                Way::Round => Some(closed_address().to_string()),
                Way::Directly | Way::Served => None,
            },
            destination: match row.way {
                Way::Through | Way::Asked => DESTINATION.to_string(),
                Way::Round | Way::Directly | Way::Served => upstream(DESTINATION),
            },
        }
    }

    /// Returns the program, without a tunnel.
    pub fn program(&self) -> Ptunnel {
        let mut program = Ptunnel::new().arg("-v");
        if let Some(proxy) = &self.proxy {
            program = program.proxy(proxy);
        }
        if matches!(self.row.way, Way::Directly | Way::Round) {
            program = program.arg("--direct-fallback");
        }
        let met = self.row.timeout();
        for timeout in &["connect", "handshake", "idle", "linger"] {
            // The other timeouts are too long to expire on a busy machine.
            let is_short = Some(*timeout) == met || *timeout == "linger" && met.is_some();
            program = program.arg(format!("--{}-timeout", timeout));
            program = program.arg(if is_short { "0.4" } else { "30" });
        }
        match self.row.upstream {
            Upstream::Named(_) | Upstream::Unnamed => {
                // The resolver must use only the hosts file.
                let order = self.folder.file("nsswitch.conf", "hosts: files\n");
                let hosts = self.folder.at("hosts");
                program.after_mounting(&format!(
                    "mount --bind {} /etc/hosts; mount --bind {} /etc/nsswitch.conf",
                    hosts, order
                ))
            }
            _ => program,
        }
    }

    /// Starts the program.
    pub fn start(&self) -> Running {
        match self.row.way {
            Way::Served => self.program().serving().start(),
            Way::Asked => self.program().args(&["-D", "0"]).more_lines(1).start(),
            _ => self.program().to(&self.destination).start(),
        }
    }

    /// Returns the row's log text, with this stage's names and times.
    pub fn says(&self) -> String {
        let proxy = self.proxy.as_deref().unwrap_or_default();
        let mut text = self.row.says.replace(PROXY, proxy);
        text = text.replace(DESTINATION, &self.destination);
        for usual in &["10s", "30s", "60s"] {
            text = text.replace(usual, "0.4s");
        }
        text
    }

    fn accepted(&self) -> usize {
        self.peer.as_ref().map_or(0, Peer::accepted)
    }

    /// Lets one client meet the fault.
    pub fn play(&self, program: &Running) {
        let before = self.accepted();
        let mut client = self.enter(program);
        let address = client.local().to_string();
        match self.row.client {
            Client::IsClosed => client.expect_end(),
            Client::IsReset => {
                client.send("?");
                client.expect_reset();
            }
            Client::Ends | Client::Receives(_) => {
                client.expect(self.row.client.receives());
                client.expect_end();
                client.finish_sending();
            }
            Client::IsTold(answer) => match self.row.way {
                Way::Asked => expect_code(client, answer),
                _ => expect_told(client, answer),
            },
            Client::Does(act, seen) => {
                act(&mut client);
                match seen {
                    // If a byte was sent meanwhile, the end is a reset.
                    THE_END => client.expect_nothing(),
                    status => expect_told(client, status),
                }
            }
            Client::ResetsAsking => {
                client.send("CONNECT ");
                client.reset();
            }
            Client::ResetsEarly => {
                match self.row.way {
                    Way::Served => client.wait_until_read(),
                    _ => eventually("the proxy is asked", || self.accepted() > before),
                }
                client.reset();
            }
            Client::ResetsLate => {
                client.send("?");
                client.expect("?");
                client.reset();
            }
        }
        self.plays.set(self.plays.get() + 1);
        let is_denied = self.row.says.starts_with("denied: ");
        if !is_denied || self.plays.get() <= DENIED_LINES {
            program.says(&[&address, &self.says()]);
        }
    }

    /// Connects a client. If the path needs a request, sends it, and reads the reply if that is a
    /// grant.
    fn enter(&self, program: &Running) -> Connection {
        match self.row.way {
            Way::Served => {
                let mut client = Connection::open(program.proxy());
                if self.row.client.asks() {
                    client.send(format!("CONNECT {} HTTP/1.1\r\n\r\n", self.destination));
                }
                if self.row.client.is_granted() {
                    expect_status(&mut client, "200 Connection established");
                }
                client
            }
            Way::Asked => {
                let mut client = program.connect();
                if self.row.client.asks() {
                    client.send([GREETING, REQUEST].concat());
                    client.expect(GREETED);
                }
                if self.row.client.is_granted() {
                    client.expect(reply(0));
                }
                client
            }
            _ => program.connect(),
        }
    }

    /// Ends the lookups that hang.
    pub fn let_lookups_end(&self) {
        if let Upstream::Unnamed = self.row.upstream {
            let _ = OpenOptions::new()
                .read(true)
                .write(true)
                .open(self.folder.at("hosts"));
        }
    }
}

fn expect_status(client: &mut Connection, status: &str) {
    let head = String::from_utf8(client.read_head()).expect("text");
    let line = format!("HTTP/1.1 {}\r\n", status);
    assert!(head.starts_with(&line), "{:?} instead of {:?}", head, line);
}

/// Expects a rejection with its reason; the client sends nothing more.
fn expect_told(mut client: Connection, status: &str) {
    expect_status(&mut client, status);
    assert!(!client.rest().is_empty(), "{} without a reason", status);
}

/// Returns SOCKS5's reply (RFC 1928 §6).
fn reply(code: u8) -> [u8; 10] {
    [5, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

/// Expects a SOCKS5 reply with a code, given with its meaning.
fn expect_code(mut client: Connection, meaning: &str) {
    let code = meaning.split(',').next().and_then(|code| code.parse().ok());
    client.expect(reply(code.expect("a code")));
    client.expect_end();
}
