//! Servers that the programs of a sandbox connect to: PostgreSQL, Redis, IMAP.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use super::parts::{described, find, open_folder, Server};
use super::program::{clean_command, NOBODY};
use super::sys;
use super::temp::TempDir;
use super::tls::{Authority, Stunnel};

/// Returns a command that doesn't run as root, with which these servers refuse to work.
fn unprivileged(program: PathBuf) -> Command {
    if !sys::is_root() {
        return clean_command(program);
    }
    let mut command = clean_command(find("setpriv"));
    let user = NOBODY.to_string();
    command.args(&["--reuid", &user, "--regid", &user, "--clear-groups"]);
    command.arg(program);
    command
}

/// PostgreSQL with one user, who needs no password, and one database.
pub struct Postgres {
    server: Server,
    data: String,
    _folder: TempDir,
}

impl Postgres {
    pub fn start(user: &str, database: &str) -> Postgres {
        Postgres::start_with(user, database, &[])
    }

    /// With a self-signed certificate for its address and `db.example.org`.
    pub fn start_over_tls(user: &str, database: &str) -> Postgres {
        Postgres::start_with(user, database, &["-c", "ssl=on"])
    }

    fn start_with(user: &str, database: &str, settings: &[&str]) -> Postgres {
        let folder = open_folder();
        let data = folder.at("data");
        let mut initdb = unprivileged(postgres_program("initdb"));
        initdb.args(&["--no-sync", "-A", "trust", "-E", "UTF8", "-U", user]);
        let output = initdb.args(&["-D", &data]).output().expect("initdb");
        assert!(output.status.success(), "{}", described(&output));
        let create = folder.file("create", format!("CREATE DATABASE {}\n", database));
        let mut single = unprivileged(postgres_program("postgres"));
        single.args(&["--single", "-F", "-D", &data, "postgres"]);
        single.stdin(fs::File::open(create).expect("a file"));
        let output = single.output().expect("postgres");
        assert!(output.status.success(), "{}", described(&output));
        if !settings.is_empty() {
            let mut openssl = unprivileged(find("openssl"));
            openssl.args(&["req", "-x509", "-newkey", "ec", "-pkeyopt"]);
            openssl.args(&["ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=postgres"]);
            openssl.args(&["-addext", "subjectAltName=IP:127.0.0.1,DNS:db.example.org"]);
            openssl.args(&["-keyout", "server.key", "-out", "server.crt"]);
            let output = openssl.current_dir(&data).output().expect("openssl");
            assert!(output.status.success(), "{}", described(&output));
        }
        let server = Server::start("postgres", &folder.at("log"), |port| {
            let mut command = unprivileged(postgres_program("postgres"));
            command.args(settings);
            command.args(&["-F", "-D", &data, "-p", &port.to_string()]);
            command.args(&["-h", "127.0.0.1", "-k", ""]);
            command
        });
        Postgres {
            server,
            data,
            _folder: folder,
        }
    }

    /// The certificate of [`start_over_tls`](Postgres::start_over_tls).
    pub fn certificate(&self) -> String {
        format!("{}/server.crt", self.data)
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

/// Removes its shared memory, too, which a killed server would leave behind.
impl Drop for Postgres {
    fn drop(&mut self) {
        self.server.end_with(sys::SIGINT);
    }
}

/// Returns a program of PostgreSQL, which Debian keeps out of the search path.
fn postgres_program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let programs = versions.map(|version| version.expect("an entry").path().join("bin").join(name));
    let mut programs: Vec<PathBuf> = programs.filter(|path| path.is_file()).collect();
    programs.sort();
    programs.pop().unwrap_or_else(|| find(name))
}

/// Redis, without a file.
pub struct Redis {
    server: Server,
    _folder: TempDir,
}

impl Redis {
    pub fn start() -> Redis {
        let folder = open_folder();
        let server = Server::start("redis-server", &folder.at("log"), |port| {
            let mut command = unprivileged(find("redis-server"));
            command.args(&["--port", &port.to_string(), "--bind", "127.0.0.1"]);
            command.args(&["--save", "", "--dir", &folder.at("")]);
            command
        });
        Redis {
            server,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

/// Dovecot's IMAP in TLS, with an empty mailbox that needs no login.
pub struct Imap {
    tls: Stunnel,
    _server: Server,
    _folder: TempDir,
}

impl Imap {
    pub fn start(authority: &Authority, name: &str) -> Imap {
        let folder = open_folder();
        let log = folder.at("log");
        let config = format!(
            "protocols = imap\nssl = no\nmail_location = maildir:{}\nlog_path = {}\nbase_dir = {}\n",
            folder.at("mail"),
            folder.at("imap.log"),
            folder.at("run")
        );
        let config = folder.file("dovecot.conf", config);
        let server = Server::start("imap", &log, |port| {
            let mut command = unprivileged(find("socat"));
            command.arg(format!("TCP-LISTEN:{},bind=127.0.0.1,fork,reuseaddr", port));
            command.arg(format!("EXEC:/usr/lib/dovecot/imap -c {}", config));
            command.env("USER", "joe").env("HOME", folder.path());
            command
        });
        let identity = authority.issue("imap", &format!("DNS:{}", name));
        Imap {
            tls: Stunnel::start(&identity, server.address()),
            _server: server,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.tls.address()
    }
}
