//! Certificates from an authority made for one test, and servers that present them.

use std::net::SocketAddr;

use super::parts::{find, run, Server};
use super::program::clean_command;
use super::temp::TempDir;

/// A CA for one test, made with openssl.
pub struct Authority {
    folder: TempDir,
}

/// The paths of a certificate and of its key, in PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

const NEW_KEY: &[&str] = &[
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
];

impl Authority {
    pub fn new() -> Authority {
        let authority = Authority {
            folder: TempDir::new(),
        };
        authority.self_signed("ca", "/CN=Authority of the test", "DNS:ca.test");
        authority
    }

    fn identity(&self, name: &str) -> Identity {
        Identity {
            certificate: self.folder.at(&format!("{}.pem", name)),
            key: self.folder.at(&format!("{}.key", name)),
        }
    }

    /// Returns the path of its certificate, for clients that trust it.
    pub fn certificate(&self) -> String {
        self.identity("ca").certificate
    }

    /// Makes a self-signed certificate for these alternative names.
    pub fn self_signed(&self, name: &str, subject: &str, names: &str) -> Identity {
        let identity = self.identity(name);
        let names = format!("subjectAltName={}", names);
        let mut words = vec!["req", "-x509", "-days", "2", "-subj", subject];
        words.extend_from_slice(NEW_KEY);
        words.extend_from_slice(&["-addext", &names]);
        words.extend_from_slice(&["-keyout", &identity.key, "-out", &identity.certificate]);
        run("openssl", &words);
        identity
    }

    /// Makes a certificate of this authority for these alternative names (none: "").
    pub fn issue(&self, name: &str, names: &str) -> Identity {
        self.issue_for(name, names, 2)
    }

    /// Makes a certificate that expired yesterday.
    pub fn issue_expired(&self, name: &str, names: &str) -> Identity {
        self.issue_for(name, names, -1)
    }

    fn issue_for(&self, name: &str, names: &str, days: i32) -> Identity {
        let identity = self.identity(name);
        let request = self.folder.at(&format!("{}.request", name));
        let mut words = vec!["req", "-new", "-subj", "/CN=proxy.test"];
        words.extend_from_slice(NEW_KEY);
        words.extend_from_slice(&["-keyout", &identity.key, "-out", &request]);
        run("openssl", &words);
        let names = match names {
            "" => String::new(),
            names => format!("subjectAltName={}\n", names),
        };
        let extensions = self.folder.file(&format!("{}.extensions", name), names);
        let (ca, days) = (self.identity("ca"), days.to_string());
        run(
            "openssl",
            &[
                "x509",
                "-req",
                "-in",
                &request,
                "-days",
                &days,
                "-CA",
                &ca.certificate,
                "-CAkey",
                &ca.key,
                "-CAcreateserial",
                "-extfile",
                &extensions,
                "-out",
                &identity.certificate,
            ],
        );
        identity
    }
}

/// stunnel as a server: it accepts TLS, and connects to `behind` over plain TCP.
pub struct Stunnel {
    server: Server,
    _folder: TempDir,
}

impl Stunnel {
    pub fn start(identity: &Identity, behind: SocketAddr) -> Stunnel {
        Stunnel::start_with(identity, behind, "")
    }

    /// Starts one that accepts only clients with a certificate of the authority.
    pub fn asking(identity: &Identity, behind: SocketAddr, authority: &Authority) -> Stunnel {
        let options = format!(
            "CAfile = {}\nverifyChain = yes\nrequireCert = yes\n",
            authority.certificate()
        );
        Stunnel::start_with(identity, behind, &options)
    }

    pub fn start_with(identity: &Identity, behind: SocketAddr, options: &str) -> Stunnel {
        let program = find("stunnel");
        let folder = TempDir::new();
        let log = folder.at("log");
        let server = Server::start("stunnel", &log, |port| {
            let config = format!(
                "foreground = yes\npid =\nsyslog = no\ndebug = 5\n\
                 [proxy]\naccept = 127.0.0.1:{}\nconnect = {}\ncert = {}\nkey = {}\n{}",
                port, behind, identity.certificate, identity.key, options
            );
            let config = folder.file("stunnel.conf", config);
            let mut command = clean_command(&program);
            command.arg(config);
            command
        });
        Stunnel {
            server,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

/// openssl's own server, which sends each line back, reversed.
pub struct Reverser {
    server: Server,
    _folder: TempDir,
}

impl Reverser {
    pub fn start(identity: &Identity) -> Reverser {
        Reverser::start_with(identity, &[])
    }

    pub fn start_with(identity: &Identity, options: &[&str]) -> Reverser {
        let folder = TempDir::new();
        let server = Server::start("openssl", &folder.at("log"), |port| {
            let mut command = clean_command(find("openssl"));
            command.args(&[
                "s_server",
                "-rev",
                "-accept",
                &format!("127.0.0.1:{}", port),
            ]);
            command.args(&["-cert", &identity.certificate, "-key", &identity.key]);
            command.args(options);
            command
        });
        Reverser {
            server,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

/// A server with Python's `ssl`, which never sends close_notify: it ends the connection after its
/// content.
pub struct PythonTls {
    server: Server,
    _folder: TempDir,
}

const PYTHON_TLS: &str = "
import socket, ssl, sys, threading
port, certificate, key, content, is_proxy = sys.argv[1:]
content = open(content, 'rb').read()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
def serve(raw):
    try:
        with context.wrap_socket(raw, server_side=True) as tls:
            head = b'' if is_proxy == 'proxy' else b'\\r\\n\\r\\n'
            while not head.endswith(b'\\r\\n\\r\\n'):
                head += tls.recv(1)
            if is_proxy == 'proxy':
                tls.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\n')
            tls.sendall(content)
    except (OSError, ValueError):
        pass
listener = socket.create_server(('127.0.0.1', int(port)))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
";

impl PythonTls {
    /// Starts a proxy that grants each tunnel, and sends this content as its destination.
    pub fn proxy(identity: &Identity, content: &[u8]) -> PythonTls {
        PythonTls::start(identity, content, "proxy")
    }

    /// Starts a server that sends first.
    pub fn origin(identity: &Identity, content: &[u8]) -> PythonTls {
        PythonTls::start(identity, content, "origin")
    }

    fn start(identity: &Identity, content: &[u8], kind: &str) -> PythonTls {
        let folder = TempDir::new();
        let content = folder.file("content", content);
        let server = Server::start("python3", &folder.at("log"), |port| {
            let mut command = clean_command(find("python3"));
            command.args(&["-c", PYTHON_TLS, &port.to_string()]);
            command.args(&[&identity.certificate, &identity.key, &content]);
            command.args(&[kind]);
            command
        });
        PythonTls {
            server,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

/// nginx as a TLS server in front of another one, with its stream module.
pub struct NginxStream {
    server: Server,
    _folder: TempDir,
}

/// The path in Debian; the file doesn't exist if the module is compiled in.
const STREAM_MODULE: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";

impl NginxStream {
    pub fn start(identity: &Identity, behind: SocketAddr) -> NginxStream {
        let program = find("nginx");
        let folder = TempDir::new();
        let log = folder.at("log");
        let server = Server::start("nginx", &log, |port| {
            let config = format!(
                "load_module {module};\n\
                 daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\n\
                 events {{ worker_connections 1000; }}\n\
                 stream {{\n\
                   server {{\n\
                     listen 127.0.0.1:{port} ssl;\n\
                     ssl_certificate {certificate};\n\
                     ssl_certificate_key {key};\n\
                     proxy_pass {behind};\n\
                   }}\n\
                 }}\n",
                module = STREAM_MODULE,
                folder = folder.path().display(),
                port = port,
                certificate = identity.certificate,
                key = identity.key,
                behind = behind
            );
            let config = folder.file("nginx.conf", config);
            let mut command = clean_command(&program);
            command.args(&["-e", "stderr", "-p", &folder.at(""), "-c", &config]);
            command
        });
        NginxStream {
            server,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}
