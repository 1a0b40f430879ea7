//! "Get out of a sandbox" in docs/guide.md: its commands, as they are printed, in a network that has
//! nothing but a loopback interface and, there, the port of a proxy that requires credentials.
//!
//! Outside, squid leads the names and ports of the guide to real servers on free ports. The paths of
//! repositories and the users on them are the test's own.

use std::fs;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Output;
use std::thread;

use crate::examples::{examples, Example};
use support::parts::{self, command, described, find, Squid, Sshd};
use support::program::binary;
use support::repository::text_of;
use support::services::{Imap, Postgres, Redis};
use support::sys;
use support::tls::Authority;
use support::TempDir;

/// The proxy of the guide's sandbox.
pub const PROXY: &str = "http://joe:secret@127.0.0.1:41823";

/// The rules of squid's own configuration: CONNECT to port 443 only.
const USUAL_RULES: &str = "acl SSL_ports port 443\nhttp_access deny CONNECT !SSL_ports\n";

/// The section of the guide.
fn section() -> String {
    let text = text_of("docs/guide.md");
    let begin = text.find("\n## Get out of a sandbox\n").expect("a heading");
    let rest = &text[begin + 1..];
    rest[..rest.find("\n## ").expect("another heading")].to_string()
}

/// Returns the text of the section that begins with this and is between backticks.
fn in_backticks(begin: &str) -> String {
    let section = section();
    let mut all = section.split('`');
    let text = all.find(|text| text.starts_with(begin)).expect(begin);
    text.to_string()
}

/// A network without a way out, except to one squid.
struct Sandbox {
    home: TempDir,
    authority: Authority,
    sshd: Sshd,
    _squid: Squid,
}

impl Sandbox {
    /// Starts the proxy with these rules in front of its credentials, and the names that it knows.
    fn start(
        rules: &str,
        authority: Authority,
        sshd: Sshd,
        servers: &[(&str, SocketAddr)],
    ) -> Sandbox {
        let home = TempDir::new();
        let squid = Squid::with_rules(|folder| {
            let cases = servers
                .iter()
                .map(|(name, address)| format!("{}) echo 'OK rewrite-url={}' ;;\n", name, address));
            let script = format!(
                "#!/bin/sh\nwhile read -r url rest; do case $url in\n{}*) echo OK ;;\nesac; done\n",
                cases.collect::<String>()
            );
            let rewriter = folder.file_with_mode("rewriter", 0o755, script);
            format!(
                "url_rewrite_program {}\nurl_rewrite_children 1\n{}{}",
                rewriter,
                rules,
                Squid::basic(folder, "joe", "secret")
            )
        });
        let sandbox = Sandbox {
            home,
            authority,
            sshd,
            _squid: squid,
        };
        sandbox.fill(sandbox._squid.address());
        sandbox
    }

    /// Makes what the sandbox's user has: the programs, their keys, and the way to the proxy, which is
    /// a Unix socket, since that can be reached from another network.
    fn fill(&self, squid: SocketAddr) {
        let home = &self.home;
        let way_out = UnixListener::bind(home.at("way-out")).expect("a socket");
        thread::spawn(move || {
            for client in way_out.incoming() {
                let proxy = TcpStream::connect(squid);
                if let (Ok(client), Ok(proxy)) = (client, proxy) {
                    thread::spawn(move || carry(client, proxy));
                }
            }
        });
        fs::create_dir(home.at("bin")).expect("a folder");
        let program = fs::canonicalize(binary()).expect("the program");
        std::os::unix::fs::symlink(program, home.at("bin/ptunnel")).expect("a link");
        // ssh takes its files from the user's own home directory, whatever HOME is.
        let options = self.sshd.client_options("none");
        let is_ours = |word: &&String| {
            let others = ["Port=", "ProxyCommand=", "HostKeyAlias=", "LogLevel="];
            word.contains('=') && !others.iter().any(|other| word.starts_with(other))
        };
        let config = options.iter().filter(is_ours);
        let config: String = config
            .map(|word| word.replacen('=', " ", 1) + "\n")
            .collect();
        let config = home.file(
            "ssh_config",
            config + "HostKeyAlias target\nRequestTTY no\n",
        );
        let ssh = format!(
            "#!/bin/sh\nexec {} -F {} \"$@\"\n",
            find("ssh").display(),
            config
        );
        home.file_with_mode("bin/ssh", 0o755, ssh);
        let netrc = in_backticks("machine 127.0.0.1 ").replace('…', "secret\n");
        home.file_with_mode(".netrc", 0o600, netrc);
    }

    /// Runs a script of the shell inside.
    fn run(&self, script: &str) -> Output {
        let port = PROXY.rsplit(':').next().unwrap();
        let script = format!(
            "exec 2>&1\n\
             ip link set lo up\n\
             socat TCP-LISTEN:{0},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:way-out &\n\
             until nc.openbsd -z 127.0.0.1 {0}; do sleep 0.02; done\n\
             {1}",
            port, script
        );
        let mut command = command("unshare");
        command.args(&["--net", "--pid", "--fork", "--kill-child"]);
        if !sys::is_root() {
            command.arg("--map-root-user");
        }
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .args(&["sh", "-ec", &script])
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("PATH", format!("{}:{}:/usr/sbin", self.home.at("bin"), path))
            // Stands for the CAs of the sandbox's system.
            .env("SSL_CERT_FILE", self.authority.certificate());
        command.output().expect("a shell")
    }
}

/// Carries both directions.
fn carry(client: UnixStream, proxy: TcpStream) {
    let (mut up, mut into_proxy) = (client.try_clone().unwrap(), proxy.try_clone().unwrap());
    let upload = thread::spawn(move || {
        let _ = io::copy(&mut up, &mut into_proxy);
        let _ = into_proxy.shutdown(Shutdown::Write);
    });
    let (mut down, mut into_client) = (proxy, client);
    let _ = io::copy(&mut down, &mut into_client);
    let _ = into_client.shutdown(Shutdown::Both);
    let _ = upload.join();
}

/// A repository with one file.
fn repository() -> TempDir {
    let folder = TempDir::new();
    let script = "git init -q work; cd work; echo 'a file in git' >file; git add file\n\
                  git -c user.name=a -c user.email=a@example.org commit -qm file\n\
                  git clone -q --bare . ../project.git";
    let mut command = command("sh");
    command.args(&["-ec", script]).current_dir(folder.path());
    let output = command.output().expect("a shell");
    assert!(output.status.success(), "{}", described(&output));
    folder
}

/// Returns the command with something to do, and a line that shows that it did.
fn with_work(example: &Example) -> (String, String) {
    let command = &example.command;
    let (script, shown) = if let Some(background) = command.strip_suffix(" &") {
        let script = format!(
            "rm -f listening; {} >listening & until grep -s listening listening; do sleep 0.02; done",
            background
        );
        (script, &example.output[0][..])
    } else if command.contains("git clone") {
        (
            format!("{}; cat */file; rm -rf project PROJECT", command),
            "a file in git",
        )
    } else {
        let (input, shown) = match command.split(' ').next().unwrap() {
            "ssh" => ("echo $((6 * 7)) here", "42 here"),
            "psql" => ("SELECT 6 * 7 AS product", "      42"),
            "redis-cli" => ("", "PONG"),
            "curl" => ("", "* LIST (\\HasNoChildren) \".\" INBOX"),
            "export" => return (command.clone(), String::new()),
            _ => panic!("{}: nothing to check", command),
        };
        (format!("echo '{}' | {}", input, command), shown)
    };
    (script, shown.to_string())
}

/// Runs commands one after the other, and checks what each prints.
fn check(sandbox: &Sandbox, examples: &[Example], repository: &TempDir) {
    let own = |text: &str| {
        let project = repository.at("project.git");
        let text = text.replace("user@", "").replace("git@", "");
        text.replace("/srv/project.git", &project)
            .replace("/OWNER/PROJECT.git", &project)
    };
    let all: Vec<(String, String)> = examples.iter().map(with_work).collect();
    let scripts = all.iter().map(|(script, _)| own(script));
    let script: Vec<String> = scripts.collect();
    let output = sandbox.run(&script.join("\necho ====\n"));
    let text = String::from_utf8_lossy(&output.stdout);
    let parts: Vec<&str> = text.split("====\n").collect();
    for (index, (script, shown)) in all.iter().enumerate() {
        let part = parts.get(index).copied().unwrap_or("not reached");
        let is_shown = shown.is_empty() || part.lines().any(|line| line.trim_end() == shown);
        assert!(is_shown, "{}: {}\nin {}", script, part, text);
    }
    assert!(output.status.success(), "{}", described(&output));
}

#[test]
fn each_command_works_with_nothing_but_the_variable() {
    let (authority, sshd) = (Authority::new(), Sshd::start());
    let (postgres, redis) = (Postgres::start("joe", "inventory"), Redis::start());
    let imap = Imap::start(&authority, "imap.example.org");
    let servers = [
        ("host.example.org:22", sshd.address()),
        ("git.example.org:22", sshd.address()),
        ("db.example.org:5432", postgres.address()),
        ("cache.example.org:6379", redis.address()),
        ("imap.example.org:993", imap.address()),
    ];
    let sandbox = Sandbox::start("", authority, sshd, &servers);
    let section = section();
    let first = section.split("\n### ").next().unwrap();
    let examples = examples(first);
    assert_eq!(examples[0].command, format!("export https_proxy={}", PROXY));
    assert_eq!(examples.len(), 9);
    check(&sandbox, &examples, &repository());
}

#[test]
fn psql_verifies_the_servers_name_through_the_tunnel() {
    let server = Postgres::start_over_tls("joe", "inventory");
    let servers = [("db.example.org:5432", server.address())];
    let sandbox = Sandbox::start("", Authority::new(), Sshd::start(), &servers);
    fs::copy(server.certificate(), sandbox.home.at("ca.pem")).expect("a certificate");
    let psql = in_backticks("psql ");
    let another = psql.replace("host=db.example.org", "host=127.0.0.1.example.org");
    assert_ne!(psql, another);
    let query = "echo 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()' |";
    let script = format!(
        "export https_proxy={}\n\
         ptunnel 15432:db.example.org:5432 &\n\
         until nc.openbsd -z 127.0.0.1 15432; do sleep 0.02; done\n\
         {query} {}\n! {query} {}\n",
        PROXY,
        psql,
        another,
        query = query
    );
    let output = sandbox.run(&script);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(" t\n(1 row)"), "{}", text);
    let refused = "does not match host name \"127.0.0.1.example.org\"";
    assert!(text.contains(refused), "{}", text);
    assert!(output.status.success(), "{}", described(&output));
}

#[test]
fn a_refusal_of_port_22_is_as_printed_and_port_443_helps() {
    let (authority, sshd) = (Authority::new(), Sshd::start());
    let servers = [("ssh.github.com:443", sshd.address())];
    let sandbox = Sandbox::start(USUAL_RULES, authority, sshd, &servers);
    let section = section();
    let (_, rest) = (
        &section,
        section.split("\n### ").nth(1).expect("a subsection"),
    );
    let block = rest.split("\n```\n").nth(1).expect("a block");
    let (refused, shown) = block.split_at(block.find('\n').expect("two lines"));
    let refused = refused.trim_start_matches("$ ").replace("user@", "");
    let export = format!("export https_proxy={}\n", PROXY);
    let output = sandbox.run(&format!("{}{} || echo code $?", export, refused));
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert_eq!(text, format!("{}\ncode 255\n", shown.trim_start()));

    let mut commands = examples(rest);
    assert_eq!(commands.len(), 2);
    let variable = Example {
        command: export.trim_end().to_string(),
        output: Vec::new(),
    };
    commands.insert(0, variable);
    check(&sandbox, &commands, &repository());
}

/// Otherwise the tests above would prove nothing.
#[test]
fn nothing_else_leads_out_of_the_sandbox() {
    let sshd = Sshd::start();
    let (host, port) = ("127.0.0.1", sshd.address().port().to_string());
    parts::run("nc.openbsd", &["-z", host, &port]);
    let sandbox = Sandbox::start("", Authority::new(), sshd, &[]);
    let script = format!(
        "ip -o link | wc -l; ip route; ! nc.openbsd -z {} {}; ! ssh host.example.org true",
        host, port
    );
    let output = sandbox.run(&script);
    assert!(output.status.success(), "{}", described(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    let resolves = "ssh: Could not resolve hostname host.example.org";
    assert!(text.starts_with("1\n"), "{}", text);
    assert!(text.contains(resolves), "{}", text);
}
