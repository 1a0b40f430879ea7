//! More tunnels than a test has threads and descriptors for: the proxy is a separate process.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use support::program::clean_command;
use support::{Connection, Ptunnel, Running};

/// Grants each tunnel and echoes, on one thread, with as many connections as the machine allows.
const PROXY: &str = r#"
import resource, select, socket
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
listener.setblocking(False)
print("listening on 127.0.0.1:%d" % listener.getsockname()[1], flush=True)
poll = select.epoll()
poll.register(listener, select.EPOLLIN)
asking, granted = {}, {}
while True:
    for number, _ in poll.poll():
        if number == listener.fileno():
            try:
                peer, _ = listener.accept()
            except BlockingIOError:
                continue
            asking[peer.fileno()] = peer, b""
            poll.register(peer, select.EPOLLIN)
            continue
        peer = granted[number] if number in granted else asking[number][0]
        try:
            data = peer.recv(65536)
            if number in granted:
                peer.sendall(data)
            elif data:
                head = asking[number][1] + data
                asking[number] = peer, head
                if head.endswith(b"\r\n\r\n"):
                    granted[number] = asking.pop(number)[0]
                    peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        except OSError:
            data = b""
        if not data:
            poll.unregister(number)
            (granted if number in granted else asking).pop(number)
            peer.close()
"#;

/// The program and its proxy.
pub struct Crowd {
    pub program: Running,
    _proxy: Running,
    _alone: Alone,
}

impl Crowd {
    /// Starts both once every other crowd of this process has ended.
    pub fn start(args: &[&str]) -> Crowd {
        let alone = Alone::wait();
        let mut command = clean_command("python3");
        command.args(&["-c", PROXY]);
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped());
        let mut proxy = Running::spawn(command);
        proxy.read_lines(1);
        let program = Ptunnel::through(proxy.address()).to("a.example:1");
        Crowd {
            program: program.args(args).start(),
            _proxy: proxy,
            _alone: alone,
        }
    }

    /// Opens `count` tunnels and checks each; a hundred at once, which any backlog can hold.
    pub fn join(&self, count: usize) -> Vec<Connection> {
        let mut clients = Vec::with_capacity(count);
        while clients.len() < count {
            let first = clients.len();
            clients.extend((first..count.min(first + 100)).map(|_| self.program.connect()));
            echo(&mut clients[first..]);
        }
        clients
    }
}

/// Makes a second crowd of this process wait: two would need more descriptors than allowed.
struct Alone;

static TAKEN: AtomicBool = AtomicBool::new(false);

impl Alone {
    fn wait() -> Alone {
        while TAKEN.swap(true, Ordering::AcqRel) {
            thread::sleep(Duration::from_millis(20));
        }
        Alone
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::Release);
    }
}

/// Sends on all connections, then receives on all of them.
pub fn echo(clients: &mut [Connection]) {
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(number.to_le_bytes());
    }
    for (number, client) in clients.iter_mut().enumerate() {
        client.expect(number.to_le_bytes());
    }
}
