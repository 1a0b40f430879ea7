//! A reload for every kind of listener: removed, added again, changed, written in another way, and
//! failing half-way. The line about a reload is printed when it is done: nothing here waits.

use std::fmt::Debug;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::reload::Site;
use crate::serve::{echo, request};
use crate::socket_activation::launched;
use support::process::{listener_at, listeners};
use support::temp::free_port;
use support::{Peer, Ptunnel, TempDir, TIMEOUT};

/// The service of a listener for its clients.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Service {
    Tunnel,
    Dynamic,
    Redirect,
    Proxy,
}

/// The place of a listener.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// At this address, with its own port.
    Port(&'static str),
    /// At a Unix socket.
    Path,
    /// At an inherited socket, on a port or at a path.
    PassedPort,
    PassedPath,
}

use self::Place::*;
use self::Service::*;

/// All kinds. The last text is another form of the place.
const KINDS: &[(Service, Place, &str)] = &[
    (Tunnel, Port("127.0.0.1:PORT"), "localhost:PORT"),
    (Tunnel, Port("localhost:PORT"), "127.0.0.1:PORT"),
    (Tunnel, Port("PORT"), "127.0.0.1:PORT"),
    (Tunnel, Port("[::1]:PORT"), "[0::1]:PORT"),
    (Tunnel, Port("*:PORT"), "[::]:PORT"),
    (Tunnel, Path, "FOLDER/../FOLDER/sock"),
    (Tunnel, PassedPort, "fd:3"),
    (Tunnel, PassedPath, "fd:3"),
    (Dynamic, Port("127.0.0.1:PORT"), "localhost:PORT"),
    (Dynamic, Port("localhost:PORT"), "127.0.0.1:PORT"),
    (Dynamic, PassedPort, "fd:3"),
    (Dynamic, PassedPath, "fd:3"),
    (Redirect, Port("127.0.0.1:PORT"), "localhost:PORT"),
    (Redirect, Port("localhost:PORT"), "127.0.0.1:PORT"),
    (Proxy, Port("127.0.0.1:PORT"), "localhost:PORT"),
    (Proxy, Port("localhost:PORT"), "127.0.0.1:PORT"),
];

/// A running listener of one kind, beside a tunnel that stays.
struct Case {
    service: Service,
    place: Place,
    threads: usize,
    folder: TempDir,
    port: u16,
    kept: u16,
    origins: [Peer; 2],
}

impl Case {
    fn new(service: Service, place: Place, threads: usize) -> Case {
        Case {
            service,
            place,
            threads,
            folder: TempDir::new(),
            port: free_port(),
            kept: free_port(),
            origins: [echo(), echo()],
        }
    }

    /// Returns the place as written in the file.
    fn written(&self) -> String {
        let written = match self.place {
            Port(address) => address,
            Path => "FOLDER/sock",
            PassedPort | PassedPath => "fd:web",
        };
        self.filled_in(written)
    }

    fn filled_in(&self, text: &str) -> String {
        let name = self.folder.path().file_name().unwrap().to_str().unwrap();
        let folder = self.folder.at("");
        text.replace("FOLDER/../FOLDER/", &format!("{}../{}/", folder, name))
            .replace("FOLDER/", &folder)
            .replace("PORT", &self.port.to_string())
    }

    /// Returns the place as the program prints it.
    fn name(&self) -> String {
        let name = match self.place {
            Port("[::1]:PORT") => "[::1]:PORT",
            Port("*:PORT") => "[::]:PORT",
            Port(_) | PassedPort => "127.0.0.1:PORT",
            Path | PassedPath => "FOLDER/sock",
        };
        self.filled_in(name)
    }

    /// Returns the options of this listener in this form, for the first or the other service.
    fn listener(&self, written: &str, other: bool) -> String {
        let destination = self.origins[other as usize].address();
        let user = if other { "joe:x" } else { "ann:x" };
        match self.service {
            Tunnel => format!("'{}:{}'", written, destination),
            Dynamic => format!("dynamic = '{}'\ndynamic-user = '{}'", written, user),
            // Only the proxies can change, and no client of it gets to them here.
            Redirect => format!("redirect = '{}'\nheader = 'X: {}'", written, user),
            Proxy => format!("serve-proxy = '{}'\nserve-user = '{}'", written, user),
        }
    }

    /// Returns a file with the tunnel that stays, and with this listener.
    fn file(&self, listener: &str) -> String {
        let mut tunnels = format!("'{}:{}'", self.kept, self.origins[0].address());
        let mut options = listener;
        if self.service == Tunnel && !listener.is_empty() {
            tunnels = format!("{}, {}", tunnels, listener);
            options = "";
        }
        format!(
            "no-proxy = '*'\nthreads = {}\ntunnels = [{}]\n{}\n",
            self.threads, tunnels, options
        )
    }

    fn start(&self, text: &str, lines: usize) -> Site {
        let program = match self.place {
            PassedPort => launched(Ptunnel::new(), &[&format!("{}=web", self.name())]),
            PassedPath => launched(Ptunnel::new(), &[&format!("{}=web", self.name())]),
            _ => Ptunnel::new(),
        };
        Site::start_as(program, text, lines)
    }

    fn connect(&self) -> std::io::Result<Box<dyn Client>> {
        let address = match self.place {
            Path | PassedPath => {
                let stream = UnixStream::connect(self.folder.at("sock"))?;
                stream.set_read_timeout(Some(TIMEOUT))?;
                return Ok(Box::new(stream));
            }
            Port("[::1]:PORT") => SocketAddr::new("::1".parse().unwrap(), self.port),
            _ => SocketAddr::new("127.0.0.1".parse().unwrap(), self.port),
        };
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Box::new(stream))
    }

    /// Checks that clients are served, by the first or by the other service.
    #[track_caller]
    fn expect_served(&self, other: bool) -> Vec<Box<dyn Client>> {
        let origin = &self.origins[other as usize];
        let all = (0..4).map(|_| {
            let before = origin.accepted();
            let mut client = self.connect().expect("a listener");
            if self.service == Redirect {
                expect_refused(&mut *client);
                return None;
            }
            if self.service != Tunnel {
                let user = if other { "am9lOng=" } else { "YW5uOng=" };
                let request = request(origin.address());
                let login = format!("\r\nProxy-Authorization: Basic {}\r\n\r\n", user);
                let request = request.replace("\r\n\r\n", &login);
                client.write_all(request.as_bytes()).unwrap();
                expect_head(&mut *client, "HTTP/1.1 200 ");
            }
            ping(&mut *client);
            assert!(origin.accepted() > before, "another origin's");
            Some(client)
        });
        all.flatten().collect()
    }

    /// Returns the sockets of the listener, each with its number of descriptors in the program.
    fn sockets(&self, site: &Site) -> Vec<(u64, usize)> {
        let numbers = match self.place {
            Path | PassedPath => vec![listener_at(&self.folder.at("sock"))],
            _ => listeners(self.name().parse().unwrap()),
        };
        let copies = |number| (number, site.program().process().copies_of(number));
        numbers.into_iter().map(copies).collect()
    }

    /// Checks that every thread has its own descriptor for it, and that there is no other one.
    #[track_caller]
    fn expect_open(&self, site: &Site) -> Vec<(u64, usize)> {
        let sockets = self.sockets(site);
        let copies: usize = sockets.iter().map(|(_, copies)| copies).sum();
        let passed = matches!(self.place, PassedPort | PassedPath) as usize;
        assert_eq!(copies, self.threads + passed, "{:?}", sockets);
        sockets
    }

    #[track_caller]
    fn expect_closed(&self, site: &Site) {
        match self.place {
            // The socket continues to listen, but no client is accepted.
            PassedPort | PassedPath => {
                let copies = self.sockets(site)[0].1;
                assert_eq!(copies, 1, "only the one that was passed");
            }
            Path => assert!(!Path::new(&self.folder.at("sock")).exists()),
            Port(_) => assert_eq!(listeners(self.name().parse().unwrap()), []),
        }
    }
}

trait Client: Read + Write {}
impl<S: Read + Write> Client for S {}

#[track_caller]
fn ping(client: &mut dyn Client) {
    client.write_all(b"ping").unwrap();
    let mut answer = [0; 4];
    client.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"ping");
}

/// Nothing redirected this client's connection.
#[track_caller]
fn expect_refused(client: &mut dyn Client) {
    match client.read(&mut [0]) {
        Ok(0) => {}
        Err(e) if e.kind() == ErrorKind::ConnectionReset => {}
        other => panic!("{:?}", other),
    }
}

#[track_caller]
fn expect_head(client: &mut dyn Client, begin: &str) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("text");
    assert!(head.starts_with(begin), "{:?}", head);
}

fn each_kind(test: impl Fn(&Case, &str)) {
    for (service, place, alias) in KINDS {
        for threads in &[1, 2] {
            let case = Case::new(*service, *place, *threads);
            println!("{:?} {:?}, {} threads", service, place, threads);
            test(&case, alias);
        }
    }
}

/// Regression: the second listener on an inherited socket accepted no client. The closed duplicate
/// stayed in the epoll set, since the socket was open elsewhere, and the new one with its number
/// was refused.
#[test]
fn each_kind_can_be_removed_and_added_again() {
    each_kind(|case, _| {
        let (with, without) = (
            case.file(&case.listener(&case.written(), false)),
            case.file(""),
        );
        let mut site = case.start(&with, 2);
        let mut clients = case.expect_served(false);
        for _ in 0..3 {
            let change = site.reload(&without).1;
            assert_eq!(change, format!("closed {}; kept 1", case.name()));
            case.expect_closed(&site);
            let change = site.reload(&with).1;
            assert_eq!(change, format!("opened {}; kept 1", case.name()));
            case.expect_open(&site);
            clients.extend(case.expect_served(false));
        }
        clients.iter_mut().for_each(|client| ping(&mut **client));
    });
}

#[test]
fn each_kind_can_be_added_and_changed_on_the_same_socket() {
    each_kind(|case, _| {
        let of = |other| case.file(&case.listener(&case.written(), other));
        let mut site = case.start(&case.file(""), 1);
        let change = site.reload(&of(false)).1;
        assert_eq!(change, format!("opened {}; kept 1", case.name()));
        let sockets = case.expect_open(&site);
        let mut clients = case.expect_served(false);
        for other in &[true, false] {
            let change = site.reload(&of(*other)).1;
            assert_eq!(change, format!("changed {}; kept 1", case.name()));
            assert_eq!(case.expect_open(&site), sockets);
            clients.extend(case.expect_served(*other));
        }
        assert_eq!(site.reload(&of(false)).1, "kept 2");
        clients.iter_mut().for_each(|client| ping(&mut **client));
    });
}

/// Regression: a change from 127.0.0.1 to localhost failed, because the program's own old socket
/// had the port.
#[test]
fn each_kind_stays_open_when_it_is_written_in_another_form() {
    each_kind(|case, alias| {
        let alias = case.filled_in(alias);
        let mut site = case.start(&case.file(&case.listener(&case.written(), false)), 2);
        let sockets = case.expect_open(&site);
        let change = site.reload(&case.file(&case.listener(&alias, false))).1;
        assert_eq!(change, "kept 2");
        let change = site.reload(&case.file(&case.listener(&alias, true))).1;
        assert_eq!(change, format!("changed {}; kept 1", case.name()));
        assert_eq!(case.expect_open(&site), sockets);
        case.expect_served(true);
        let change = site.reload(&case.file(&case.listener(&case.written(), true)));
        assert_eq!(change.1, "kept 2");
        case.expect_served(true);
    });
}

/// Regression: sockets that the program had opened by then were treated as inherited ones.
#[test]
fn no_reload_treats_own_sockets_as_inherited() {
    let case = Case::new(Tunnel, Port("127.0.0.1:PORT"), 1);
    let text = case.file(&case.listener(&case.written(), false));
    let program = Ptunnel::new().after("export LISTEN_PID=$$ LISTEN_FDS=30");
    let site = Site::start_as(program, &text, 2);
    for number in 3..33 {
        let line = site.refuse(&format!("{}dynamic = 'fd:{}'\n", text, number));
        let told = format!("cannot listen on fd:{} ('')", number);
        assert!(line.contains(&told), "{}", line);
    }
    case.expect_served(false);
}

/// The status page isn't a listener of a tunnel: it stays at its address, whatever the file says.
#[test]
fn the_status_page_stays_until_a_restart() {
    for threads in &[1, 2] {
        let case = Case::new(Tunnel, Port("127.0.0.1:PORT"), *threads);
        let status = |port: u16| format!("{}status = {}\n", case.file(""), port);
        let page = || {
            let mut client = case.connect().expect("the status page");
            let ask = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
            client.write_all(ask.as_bytes()).unwrap();
            expect_head(&mut *client, "HTTP/1.1 200 ");
        };
        let mut site = case.start(&status(case.port), 2);
        let other = free_port();
        for text in &[case.file(""), status(case.port), status(other)] {
            assert_eq!(site.reload(text).1, "kept 1");
            page();
            assert_eq!(listeners(SocketAddr::from(([127, 0, 0, 1], other))), []);
        }
        site.program()
            .says(&["warning: a reload doesn't change status; restart ptunnel"]);
    }
}
