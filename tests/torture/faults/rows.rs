//! The rows of the guide's tables of messages: the cause, what ptunnel logs, and what the client sees.

use std::thread;
use std::time::Duration;

use support::{eventually, Connection};

/// One row of a table. Rows with the same message, cause and effect are one row of the guide.
#[derive(Clone, Copy)]
pub struct Row {
    pub cause: &'static str,
    pub client: Client,
    /// Part of the line in the log and, with `-W`, of the error that ends the program.
    pub says: &'static str,
    /// The exit code with `-W`.
    pub code: Option<i32>,
    pub way: Way,
    pub upstream: Upstream,
}

/// The path of a client to its destination, `example.org:22`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// A tunnel; the fault is the proxy's.
    Through,
    /// A tunnel without a proxy.
    Directly,
    /// A tunnel with a proxy that refuses connections and is bypassed.
    Round,
    /// The program is the client's proxy.
    Served,
    /// The client names its destination to `-D`, in SOCKS5; the fault is the proxy's.
    Asked,
}

/// The client's behaviour, or the result that it sees.
#[derive(Clone, Copy)]
pub enum Client {
    IsClosed,
    IsReset,
    Ends,
    /// Receives these bytes, and the end.
    Receives(&'static str),
    /// Gets this status and the reason, or this SOCKS5 code; then the end.
    IsTold(&'static str),
    /// Does this instead of sending a request, and sees this.
    Does(fn(&mut Connection), &'static str),
    ResetsAsking,
    ResetsEarly,
    ResetsLate,
}

/// The peer that the program connects to, and its behaviour.
#[derive(Clone, Copy)]
pub enum Upstream {
    /// Does this; a proxy has read the request.
    Does(fn(Connection)),
    Closed,
    Blackhole,
    /// Has a name, which this hosts file contains.
    Named(&'static str),
    /// The same, where the lookup never ends.
    Unnamed,
}

const GRANT: &str = "HTTP/1.1 200 OK\r\n\r\n";

const CHALLENGE: &str = "HTTP/1.1 407 Proxy Authentication Required\r\n\
    Proxy-Authenticate: Basic\r\n\r\n";

/// Faults of tunnels.
pub const ROWS: &[Row] = &[
    Row {
        cause: "the proxy's name has no address",
        client: Client::IsClosed,
        says: "cannot resolve proxy proxy.example:3128: failed to lookup address information",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Named(NOBODY),
    },
    Row {
        cause: "the lookup of the proxy's name doesn't end",
        client: Client::IsClosed,
        says: "connection to proxy proxy.example:3128 timed out after 10s",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Unnamed,
    },
    Row {
        cause: "this machine has no route to the proxy's address",
        client: Client::IsClosed,
        says: "cannot connect to proxy proxy.example:3128: Network is unreachable (os error 101)",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Named("224.0.0.9 proxy.example\n"),
    },
    Row {
        cause: "the proxy's host refuses the connection",
        client: Client::IsClosed,
        says: "cannot connect to proxy proxy.example:3128: Connection refused (os error 111)",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the proxy neither accepts nor refuses the connection",
        client: Client::IsClosed,
        says: "connection to proxy proxy.example:3128 timed out after 10s",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Blackhole,
    },
    Row {
        cause: "the proxy accepts the connection and sends nothing",
        client: Client::IsClosed,
        says: "no reply from proxy proxy.example:3128 within 30s",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Does(|mut proxy| proxy.drain()),
    },
    Row {
        cause: "the proxy stops within its reply",
        client: Client::IsClosed,
        says: "no reply from proxy proxy.example:3128 within 30s",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Does(|mut proxy| {
            proxy.send("HTTP/1.1 200 OK\r\nVia: ");
            proxy.drain();
        }),
    },
    Row {
        cause: "the proxy resets the connection",
        client: Client::IsClosed,
        says: "lost the connection to proxy proxy.example:3128 before it replied: \
               Connection reset by peer (os error 104)",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Does(|proxy| proxy.reset()),
    },
    Row {
        cause: "the proxy closes the connection",
        client: Client::IsClosed,
        says: "proxy proxy.example:3128 closed the connection before it replied",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Does(drop),
    },
    Row {
        cause: "the reply isn't HTTP",
        client: Client::IsClosed,
        says: "proxy proxy.example:3128 sent an invalid reply: not HTTP/1",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Does(talk_rubbish),
    },
    Row {
        cause: "the reply is too long",
        client: Client::IsClosed,
        says: "proxy proxy.example:3128 sent an invalid reply: the head has more than 16384 bytes",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Does(|mut proxy| {
            let field = format!("Via: {}\r\n", "y".repeat(1000));
            let _ = proxy.try_send(format!("HTTP/1.1 200 OK\r\n{}", field.repeat(20)));
            proxy.drain();
        }),
    },
    Row {
        cause: "the proxy refuses the destination",
        client: Client::IsClosed,
        says: "proxy proxy.example:3128 refused example.org:22: 503 Service Unavailable",
        code: Some(3),
        way: Way::Through,
        upstream: Upstream::Does(|mut proxy| {
            let _ = proxy.try_send("HTTP/1.1 503 Service Unavailable\r\n\r\n");
        }),
    },
    Row {
        cause: "the proxy requires other credentials",
        client: Client::IsClosed,
        says: "proxy proxy.example:3128 refused example.org:22: 407 Proxy Authentication Required (offers Basic): \
               the proxy requires authentication; set --user and the password",
        code: Some(4),
        way: Way::Through,
        upstream: Upstream::Does(|mut proxy| {
            let _ = proxy.try_send(CHALLENGE);
        }),
    },
    Row {
        cause: "without a proxy: the destination's name has no address",
        client: Client::IsClosed,
        says: "cannot resolve example.org:22: failed to lookup address information",
        code: Some(1),
        way: Way::Directly,
        upstream: Upstream::Named(NOBODY),
    },
    Row {
        cause: "without a proxy: the lookup of the destination's name doesn't end",
        client: Client::IsClosed,
        says: "connection to example.org:22 timed out after 10s",
        code: Some(1),
        way: Way::Directly,
        upstream: Upstream::Unnamed,
    },
    Row {
        cause: "without a proxy: this machine has no route to the destination",
        client: Client::IsClosed,
        says: "cannot connect to example.org:22: Network is unreachable (os error 101)",
        code: Some(1),
        way: Way::Directly,
        upstream: Upstream::Named("224.0.0.9 example.org\n"),
    },
    Row {
        cause: "without a proxy: the destination's host refuses the connection",
        client: Client::IsClosed,
        says: "cannot connect to example.org:22: Connection refused (os error 111)",
        code: Some(1),
        way: Way::Directly,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "without a proxy: the destination neither accepts nor refuses the connection",
        client: Client::IsClosed,
        says: "connection to example.org:22 timed out after 10s",
        code: Some(1),
        way: Way::Directly,
        upstream: Upstream::Blackhole,
    },
    Row {
        cause: "nothing moves for `--idle-timeout`",
        client: Client::IsReset,
        says: "cut: no data for 60s",
        code: Some(1),
        way: Way::Directly,
        upstream: Upstream::Does(say_nothing),
    },
    Row {
        cause: "the destination or the proxy resets the open tunnel",
        client: Client::IsReset,
        says: "cut: upstream: Connection reset by peer (os error 104)",
        code: Some(1),
        way: Way::Directly,
        upstream: Upstream::Does(reset_soon),
    },
    Row {
        cause: "the destination or the proxy sends something and ends the open tunnel",
        client: Client::Receives(RUBBISH),
        says: "closed by both sides",
        code: Some(0),
        way: Way::Directly,
        upstream: Upstream::Does(talk_rubbish),
    },
    Row {
        cause: "no proxy can be reached, and `--direct-fallback` connects directly",
        client: Client::Receives(RUBBISH),
        says: "to example.org:22 directly: 0 bytes up, 15 down",
        code: Some(0),
        way: Way::Round,
        upstream: Upstream::Does(talk_rubbish),
    },
    Row {
        cause: "without a proxy: the destination's host refuses the connection",
        client: Client::IsClosed,
        says: "cannot connect to example.org:22: Connection refused (os error 111)",
        code: Some(1),
        way: Way::Round,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the destination or the proxy resets the open tunnel",
        client: Client::IsReset,
        says: "cut: upstream: Connection reset by peer (os error 104)",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Does(|mut proxy| {
            proxy.send(GRANT);
            reset_soon(proxy);
        }),
    },
    Row {
        cause: "the destination or the proxy ends the open tunnel",
        client: Client::Ends,
        says: "closed by both sides",
        code: Some(0),
        way: Way::Through,
        upstream: Upstream::Does(|mut proxy| {
            let _ = proxy.try_send(GRANT);
            end(proxy);
        }),
    },
    Row {
        cause: "nothing moves for `--idle-timeout`",
        client: Client::IsReset,
        says: "cut: no data for 60s",
        code: Some(1),
        way: Way::Through,
        upstream: Upstream::Does(|mut proxy| {
            let _ = proxy.try_send(GRANT);
            say_nothing(proxy);
        }),
    },
    Row {
        cause: "the client resets its connection",
        client: Client::ResetsEarly,
        says: "cut: client: Connection reset by peer (os error 104)",
        code: None,
        way: Way::Through,
        upstream: Upstream::Does(|mut proxy| proxy.drain()),
    },
    Row {
        cause: "the client resets its connection",
        client: Client::ResetsLate,
        says: "cut: client: Connection reset by peer (os error 104)",
        code: None,
        way: Way::Through,
        upstream: Upstream::Does(|mut proxy| {
            proxy.send(GRANT);
            proxy.echo();
        }),
    },
];

/// Faults of the embedded proxy's clients.
pub const PROXY_ROWS: &[Row] = &[
    Row {
        cause: "the client sends no complete request within `--handshake-timeout`",
        client: Client::Does(|_| {}, THE_END),
        says: "denied: no request within the handshake timeout",
        code: None,
        way: Way::Served,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the client sends no complete request within `--handshake-timeout`",
        client: Client::Does(trickle, THE_END),
        says: "denied: no request within the handshake timeout",
        code: None,
        way: Way::Served,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the client ends the connection without a request",
        client: Client::Does(|client| client.finish_sending(), THE_END),
        says: "client disconnected without a request",
        code: None,
        way: Way::Served,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the client resets the connection without a request",
        client: Client::ResetsAsking,
        says: "client disconnected without a request: Connection reset by peer (os error 104)",
        code: None,
        way: Way::Served,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the request isn't HTTP",
        client: Client::Does(|client| client.send(RUBBISH), "400 Bad Request"),
        says: "denied: 400 Bad Request (not HTTP/1",
        code: None,
        way: Way::Served,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the request is too long",
        client: Client::Does(send_too_much, "400 Bad Request"),
        says: "denied: 400 Bad Request (the head has more than 16384 bytes)",
        code: None,
        way: Way::Served,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the client resets its connection",
        client: Client::ResetsEarly,
        says: "cut: client: Connection reset by peer (os error 104)",
        code: None,
        way: Way::Served,
        upstream: Upstream::Blackhole,
    },
    Row {
        cause: "the client resets its connection",
        client: Client::ResetsLate,
        says: "cut: client: Connection reset by peer (os error 104)",
        code: None,
        way: Way::Served,
        upstream: Upstream::Does(|mut destination| destination.echo()),
    },
    Row {
        cause: "the destination's name has no address",
        client: Client::IsTold("502 Bad Gateway"),
        says: "denied: 502 Bad Gateway (cannot resolve example.org:22: \
               failed to lookup address information",
        code: None,
        way: Way::Served,
        upstream: Upstream::Named(NOBODY),
    },
    Row {
        cause: "the lookup of the destination's name doesn't end",
        client: Client::IsTold("504 Gateway Timeout"),
        says: "denied: 504 Gateway Timeout (connection to example.org:22 timed out after 10s)",
        code: None,
        way: Way::Served,
        upstream: Upstream::Unnamed,
    },
    Row {
        cause: "this machine has no route to the destination",
        client: Client::IsTold("502 Bad Gateway"),
        says: "denied: 502 Bad Gateway (cannot connect to example.org:22: \
               Network is unreachable (os error 101))",
        code: None,
        way: Way::Served,
        upstream: Upstream::Named("224.0.0.9 example.org\n"),
    },
    Row {
        cause: "the destination's host refuses the connection",
        client: Client::IsTold("502 Bad Gateway"),
        says: "denied: 502 Bad Gateway (cannot connect to example.org:22: \
               Connection refused (os error 111))",
        code: None,
        way: Way::Served,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the destination neither accepts nor refuses the connection",
        client: Client::IsTold("504 Gateway Timeout"),
        says: "denied: 504 Gateway Timeout (connection to example.org:22 timed out after 10s)",
        code: None,
        way: Way::Served,
        upstream: Upstream::Blackhole,
    },
    Row {
        cause: "nothing moves for `--idle-timeout`",
        client: Client::IsReset,
        says: "cut: no data for 60s",
        code: None,
        way: Way::Served,
        upstream: Upstream::Does(say_nothing),
    },
    Row {
        cause: "the destination or the proxy resets the open tunnel",
        client: Client::IsReset,
        says: "cut: upstream: Connection reset by peer (os error 104)",
        code: None,
        way: Way::Served,
        upstream: Upstream::Does(reset_soon),
    },
    Row {
        cause: "the destination or the proxy ends the open tunnel",
        client: Client::Ends,
        says: "closed by both sides",
        code: None,
        way: Way::Served,
        upstream: Upstream::Does(end),
    },
    Row {
        cause: "the destination or the proxy sends something and ends the open tunnel",
        client: Client::Receives(RUBBISH),
        says: "closed by both sides",
        code: None,
        way: Way::Served,
        upstream: Upstream::Does(talk_rubbish),
    },
];

/// Faults of the clients of `-D`.
pub const DYNAMIC_ROWS: &[Row] = &[
    Row {
        cause: "the client sends no complete request within `--handshake-timeout`",
        client: Client::Does(|_| {}, THE_END),
        says: "denied: no request within the handshake timeout",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the client sends no complete request within `--handshake-timeout`",
        client: Client::Does(greet, THE_END),
        says: "denied: no request within the handshake timeout",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the client sends no complete request within `--handshake-timeout`",
        client: Client::Does(trickle, THE_END),
        says: "denied: no request within the handshake timeout",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the client ends the connection without a request",
        client: Client::Does(|client| client.finish_sending(), THE_END),
        says: "client disconnected without a request",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the client resets the connection without a request",
        client: Client::ResetsAsking,
        says: "client disconnected without a request: Connection reset by peer (os error 104)",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the request isn't HTTP",
        client: Client::Does(|client| client.send(RUBBISH), "400 Bad Request"),
        says: "denied: 400 Bad Request (not HTTP/1",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the request is too long",
        client: Client::Does(send_too_much, "400 Bad Request"),
        says: "denied: 400 Bad Request (the head has more than 16384 bytes)",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the client resets its connection",
        client: Client::ResetsEarly,
        says: "cut: client: Connection reset by peer (os error 104)",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Does(|mut proxy| proxy.drain()),
    },
    Row {
        cause: "the client resets its connection",
        client: Client::ResetsLate,
        says: "cut: client: Connection reset by peer (os error 104)",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Does(|mut proxy| {
            proxy.send(GRANT);
            proxy.echo();
        }),
    },
    Row {
        cause: "the proxy's host refuses the connection",
        client: Client::IsTold("1, general failure"),
        says: "cannot connect to proxy proxy.example:3128: Connection refused (os error 111)",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Closed,
    },
    Row {
        cause: "the proxy neither accepts nor refuses the connection",
        client: Client::IsTold("6, TTL expired"),
        says: "connection to proxy proxy.example:3128 timed out after 10s",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Blackhole,
    },
    Row {
        cause: "the proxy accepts the connection and sends nothing",
        client: Client::IsTold("6, TTL expired"),
        says: "no reply from proxy proxy.example:3128 within 30s",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Does(|mut proxy| proxy.drain()),
    },
    Row {
        cause: "the proxy closes the connection",
        client: Client::IsTold("1, general failure"),
        says: "proxy proxy.example:3128 closed the connection before it replied",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Does(drop),
    },
    Row {
        cause: "the reply isn't HTTP",
        client: Client::IsTold("1, general failure"),
        says: "proxy proxy.example:3128 sent an invalid reply: not HTTP/1",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Does(talk_rubbish),
    },
    Row {
        cause: "the proxy refuses the destination",
        client: Client::IsTold("4, host unreachable"),
        says: "proxy proxy.example:3128 refused example.org:22: 503 Service Unavailable",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Does(|mut proxy| {
            let _ = proxy.try_send("HTTP/1.1 503 Service Unavailable\r\n\r\n");
        }),
    },
    Row {
        cause: "the destination or the proxy resets the open tunnel",
        client: Client::IsReset,
        says: "cut: upstream: Connection reset by peer (os error 104)",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Does(|mut proxy| {
            proxy.send(GRANT);
            reset_soon(proxy);
        }),
    },
    Row {
        cause: "the destination or the proxy ends the open tunnel",
        client: Client::Ends,
        says: "closed by both sides",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Does(|mut proxy| {
            let _ = proxy.try_send(GRANT);
            end(proxy);
        }),
    },
    Row {
        cause: "nothing moves for `--idle-timeout`",
        client: Client::IsReset,
        says: "cut: no data for 60s",
        code: None,
        way: Way::Asked,
        upstream: Upstream::Does(|mut proxy| {
            let _ = proxy.try_send(GRANT);
            say_nothing(proxy);
        }),
    },
];

/// The result for a client that gets no reply.
pub const THE_END: &str = "the end";

/// The beginning of a TLS handshake.
const RUBBISH: &str = "\u{16}\u{3}\u{1}\0rubbish\r\n\r\n";

/// SOCKS5's greeting without authentication, and the reply.
pub const GREETING: &[u8] = &[5, 1, 0];
pub const GREETED: &[u8] = &[5, 0];

/// A hosts file without the requested name.
const NOBODY: &str = "127.0.0.1 localhost\n";

fn reset_soon(mut connection: Connection) {
    // A byte, or the end.
    let _ = std::io::Read::read(&mut connection, &mut [0]);
    connection.reset();
}

fn end(mut connection: Connection) {
    connection.finish_sending();
    connection.drain();
}

fn talk_rubbish(mut connection: Connection) {
    let _ = connection.try_send(RUBBISH);
    end(connection);
}

fn say_nothing(mut connection: Connection) {
    connection.drain();
    // Until the program cuts it: the end of stdin isn't the end of the connection.
    eventually("the connection is cut", || {
        connection.stream().peer_addr().is_err()
    });
}

fn greet(client: &mut Connection) {
    client.send(GREETING);
    client.expect(GREETED);
}

fn trickle(client: &mut Connection) {
    for byte in b"CONNECT example.org:22 HTTP/1.1\r\n" {
        if !client.is_quiet() || client.try_send([*byte]).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn send_too_much(client: &mut Connection) {
    let field = format!("Via: {}\r\n", "y".repeat(1000));
    let request = "CONNECT example.org:22 HTTP/1.1\r\n";
    let _ = client.try_send(format!("{}{}", request, field.repeat(20)));
}

impl Client {
    fn sees(&self) -> &'static str {
        match self {
            Client::IsClosed | Client::Ends => THE_END,
            Client::IsReset => "a reset",
            Client::Receives(_) => "what was sent, and the end",
            Client::IsTold(status) | Client::Does(_, status) => status,
            Client::ResetsAsking | Client::ResetsEarly | Client::ResetsLate => "",
        }
    }

    /// Returns the bytes that the client reads before the end, except for a reply to its request.
    pub fn receives(&self) -> &'static str {
        match self {
            Client::Receives(text) => text,
            _ => "",
        }
    }

    /// Returns whether the client sends its request, if the path needs one.
    pub fn asks(&self) -> bool {
        !matches!(self, Client::Does(..) | Client::ResetsAsking)
    }

    /// Returns whether the request is granted.
    pub fn is_granted(&self) -> bool {
        match self {
            Client::IsReset | Client::Ends | Client::Receives(_) | Client::ResetsLate => true,
            Client::IsClosed | Client::ResetsEarly | Client::IsTold(_) => false,
            Client::Does(..) | Client::ResetsAsking => false,
        }
    }
}

impl Way {
    /// Returns whether clients on this path send a request for their destination.
    pub fn is_asked_for(self) -> bool {
        matches!(self, Way::Served | Way::Asked)
    }
}

impl Row {
    /// The row in docs/guide.md. Only a client that doesn't ask for its destination can be that of
    /// `-W`, which has an exit code.
    pub fn line(&self) -> String {
        let code = self.code.map_or(String::new(), |code| code.to_string());
        let says = format!("`{}`", self.says);
        let mut cells = vec![&says[..], self.cause, self.client.sees()];
        if !self.way.is_asked_for() {
            cells.push(&code);
        }
        format!("| {} |", cells.join(" | "))
    }

    /// Returns whether the fault occurs at once, without waiting for a time limit, a resolver, or
    /// the kernel's table of sockets.
    pub fn is_quick(&self) -> bool {
        let is_at_once = matches!(self.upstream, Upstream::Does(_) | Upstream::Closed);
        is_at_once && self.timeout().is_none()
    }

    /// Returns the timeout that the fault triggers, by the name of its option.
    pub fn timeout(&self) -> Option<&'static str> {
        if self.says.contains("timed out after ") {
            Some("connect")
        } else if self.says.contains(" within ") {
            Some("handshake")
        } else if self.says.contains("no data for ") {
            Some("idle")
        } else {
            None
        }
    }
}
