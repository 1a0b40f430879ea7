//! A program on a stage: its client and its proxy are scripted, what both see is written down.
//!
//! A transcript is what may be compared between two programs. Each line is one act of the script
//! or one thing that was seen after it; what is seen between two acts is sorted by side, since
//! no order is promised across two connections. Ports, times and addresses are taken out.

mod peer;
mod program;

use std::time::{Duration, Instant};

pub use self::peer::{Peer, Proxy};
pub use self::program::{binary, run, Program, PROGRAMS};

/// Nothing new for so long: the act before has had its effect.
const QUIET: Duration = Duration::from_millis(250);

/// A step that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(20);

/// One client, one proxy, and the program between them.
pub struct Stage {
    /// Between the two.
    pub program: Program,
    proxy: Proxy,
    client: Option<Peer>,
    upstream: Option<Peer>,
    transcript: Vec<String>,
    quiet: Duration,
}

/// Whose act it is.
#[derive(Clone, Copy, Debug)]
pub enum Who {
    /// Who connects to the tunnel.
    Client,
    /// The proxy, and the destination behind it.
    Upstream,
}

impl Stage {
    /// The program at `path`, with `arguments` besides the tunnel, and a proxy for it.
    pub fn new(path: &std::path::Path, arguments: &[&str]) -> Stage {
        let proxy = Proxy::new();
        let program = Program::start(path, proxy.address(), arguments);
        Stage {
            program,
            proxy,
            client: None,
            upstream: None,
            transcript: Vec::new(),
            quiet: QUIET,
        }
    }

    /// From now on each act has more time for its effect: the rungs from r3 on look for some
    /// resets only twice a second.
    pub fn unhurried(&mut self) -> &mut Stage {
        self.quiet = 4 * QUIET;
        self
    }

    /// A client comes.
    pub fn connect(&mut self) -> &mut Stage {
        self.note("client connects");
        self.client = Some(Peer::connect(self.program.address()));
        self
    }

    /// The proxy takes the program's connection and reads its request.
    pub fn take(&mut self) -> &mut Stage {
        let mut upstream = self.proxy.accept();
        let request = upstream.read_head();
        self.note(&format!("proxy is asked: {}", request.escape_debug()));
        self.upstream = Some(upstream);
        self
    }

    /// An open tunnel: everything up to the proxy's plain 200.
    pub fn open(&mut self) -> &mut Stage {
        self.connect()
            .take()
            .send(Who::Upstream, b"HTTP/1.1 200 OK\r\n\r\n")
    }

    /// Sends bytes; those that don't fit are sent from a thread, for as long as it takes.
    pub fn send(&mut self, who: Who, bytes: &[u8]) -> &mut Stage {
        self.note(&format!("{who:?} sends {} bytes", bytes.len()));
        self.peer(who).send(bytes);
        self.settle()
    }

    /// Ends one direction.
    pub fn end(&mut self, who: Who) -> &mut Stage {
        self.note(&format!("{who:?} ends"));
        self.peer(who).end();
        self.settle()
    }

    /// Closes with RST.
    pub fn reset(&mut self, who: Who) -> &mut Stage {
        self.note(&format!("{who:?} resets"));
        match who {
            Who::Client => self.client.take(),
            Who::Upstream => self.upstream.take(),
        }
        .expect("there is one")
        .reset();
        self.settle()
    }

    /// Stops reading, or goes on.
    pub fn stall(&mut self, who: Who, stalled: bool) -> &mut Stage {
        self.note(&format!(
            "{who:?} {}",
            if stalled { "stalls" } else { "reads on" }
        ));
        self.peer(who).stall(stalled);
        self.settle()
    }

    /// Writes down what both sides see, until nothing new comes.
    pub fn settle(&mut self) -> &mut Stage {
        let mut last = Instant::now();
        while last.elapsed() < self.quiet {
            std::thread::sleep(Duration::from_millis(2));
            let peers = self.client.iter_mut().chain(self.upstream.iter_mut());
            if peers.map(Peer::look).fold(false, |news, new| news | new) {
                last = Instant::now();
            }
        }
        for (name, peer) in [
            ("client", &mut self.client),
            ("upstream", &mut self.upstream),
        ] {
            let seen = peer.iter_mut().flat_map(Peer::tell);
            self.transcript
                .extend(seen.map(|what| format!("  {name} sees {what}")));
        }
        self
    }

    /// Waits for as long as a timeout of the program takes.
    pub fn wait(&mut self, time: Duration) -> &mut Stage {
        self.note("time passes");
        std::thread::sleep(time);
        self.settle()
    }

    /// Writes down what the program holds by now.
    pub fn count(&mut self) -> &mut Stage {
        let held = self.program.held();
        self.note(&held);
        self
    }

    /// The end of the play: both peers leave, the program is asked to stop.
    pub fn finish(mut self) -> Vec<String> {
        drop(self.client.take());
        drop(self.upstream.take());
        self.settle();
        self.count();
        let end = self.program.stop();
        self.transcript.extend(end);
        self.transcript
    }

    fn peer(&mut self, who: Who) -> &mut Peer {
        let peer = match who {
            Who::Client => &mut self.client,
            Who::Upstream => &mut self.upstream,
        };
        peer.as_mut().expect("there is one")
    }

    fn note(&mut self, what: &str) {
        self.transcript.push(what.to_owned());
    }
}
