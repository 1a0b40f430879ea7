//! Both ends of a tunnel, held by one test.

use std::net::{SocketAddr, TcpListener};

use super::{eventually_some, sys, Connection, Running};

/// A proxy with every destination behind it, played by the test itself.
pub struct Gate {
    listener: TcpListener,
}

/// The two ends of one tunnel.
pub struct Ends {
    pub client: Connection,
    pub server: Connection,
}

impl Gate {
    pub fn open() -> Gate {
        Gate::on("127.0.0.1:0")
    }

    pub fn on(address: &str) -> Gate {
        let listener = TcpListener::bind(address).expect("a free port");
        listener.set_nonblocking(true).expect("a mode");
        Gate { listener }
    }

    /// Opens a gate with connections that hold few unread bytes.
    pub fn narrow() -> Gate {
        let gate = Gate::open();
        sys::set_receive_buffer(&gate.listener, 16 * 1024);
        gate
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("an address")
    }

    /// Accepts a connection if one is waiting.
    pub fn try_accept(&self) -> Option<Connection> {
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(false).expect("a mode");
        Some(Connection::new(stream, 0))
    }

    /// Returns the next connection, from which nothing was read yet.
    #[track_caller]
    pub fn accept(&self) -> Connection {
        eventually_some("the program connects to its proxy", || self.try_accept())
    }

    /// Returns the next connection, with its tunnel granted.
    #[track_caller]
    pub fn grant(&self) -> Connection {
        let mut server = self.accept();
        server.grant();
        server
    }

    /// Connects a new client to the program's first tunnel; returns it with its destination.
    #[track_caller]
    pub fn join(&self, program: &Running) -> Ends {
        let client = program.connect();
        let server = self.grant();
        Ends { client, server }
    }
}

impl Ends {
    /// Checks that the tunnel is open, with one byte in each direction.
    #[track_caller]
    pub fn check(&mut self) {
        self.client.send("?");
        self.server.expect("?");
        self.server.send("!");
        self.client.expect("!");
    }
}
