//! Real proxies, servers and clients, each with a configuration made for one test.
//!
//! A program that is not installed fails the test: a suite that skips tests would pass for the
//! wrong reason.

use std::env;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use super::bytes::Pattern;
use super::program::clean_command;
use super::repository::text_of;
use super::sys;
use super::temp::{free_port, TempDir};
use super::tls::{Authority, Identity};
use super::wait::eventually;

/// Returns the path of an installed program; panics if it is missing.
pub fn find(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/lib/squid"];
    let folders = env::split_paths(&path).chain(more.iter().map(PathBuf::from));
    let mut places = folders.map(|folder| folder.join(name));
    match places.find(|place| place.is_file()) {
        Some(place) => place,
        None => panic!("{} is missing: run `make test` or tests/setup", name),
    }
}

/// Returns a command of an installed program, without the caller's environment, and with a time
/// limit that only a broken program reaches.
pub fn command(name: &str) -> Command {
    let mut command = clean_command(find("timeout"));
    command.arg("120").arg(find(name));
    command
}

/// Runs an installed program to its end; panics if it fails.
#[track_caller]
pub fn run(name: &str, args: &[&str]) -> Vec<u8> {
    let output = output(name, args);
    if !output.status.success() {
        panic!("{} {:?}: {}", name, args, described(&output));
    }
    output.stdout
}

/// Runs an installed program to its end, with an empty input.
pub fn output(name: &str, args: &[&str]) -> Output {
    let mut command = command(name);
    command.args(args).stdin(Stdio::null());
    command
        .output()
        .unwrap_or_else(|e| panic!("{}: {}", name, e))
}

/// Returns the status and the output as text.
pub fn described(output: &Output) -> String {
    format!(
        "{}\nstdout: {}\nstderr: {}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Compiles functions that `LD_PRELOAD` puts before the C library's; returns the path of the
/// library.
pub fn preloadable(folder: &TempDir, source: &str) -> String {
    let (source, library) = (folder.file("preload.c", source), folder.at("preload.so"));
    run("cc", &["-shared", "-fPIC", "-o", &library, &source]);
    library
}

/// Runs `curl` with limits, silent except for errors; panics if it fails.
#[track_caller]
pub fn curl(args: &[&str]) -> Vec<u8> {
    let mut all = vec!["--silent", "--show-error", "--max-time", "60"];
    all.extend_from_slice(args);
    run("curl", &all)
}

/// A server on a port of 127.0.0.1. Killed on drop.
pub(super) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts the command that `make` returns for a port, with another port if that one is taken.
    pub(super) fn start(name: &str, log: &str, make: impl Fn(u16) -> Command) -> Server {
        for _ in 0..5 {
            let port = free_port();
            let address = SocketAddr::new("127.0.0.1".parse().unwrap(), port);
            let output = fs::File::create(log).expect("a log");
            let mut command = make(port);
            command.stdin(Stdio::null());
            command.stdout(output.try_clone().expect("a descriptor"));
            command.stderr(output);
            let child = command
                .spawn()
                .unwrap_or_else(|e| panic!("{}: {}", name, e));
            let mut server = Server { child, address };
            if server.is_ready() {
                return server;
            }
        }
        let said = fs::read(log).unwrap_or_default();
        panic!(
            "{} does not start: {}",
            name,
            String::from_utf8_lossy(&said)
        )
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a signal, and waits for the server's end.
    pub(super) fn end_with(&mut self, signal: i32) {
        sys::signal(self.child.id(), signal);
        let child = &mut self.child;
        eventually("the server has ended", || {
            child.try_wait().expect("a status").is_some()
        });
    }

    /// Waits until the server accepts connections; returns false if the process ended instead.
    fn is_ready(&mut self) -> bool {
        let mut alive = true;
        eventually("the server takes connections", || {
            alive = self.child.try_wait().expect("a status").is_none();
            let limit = Duration::from_secs(5);
            !alive || TcpStream::connect_timeout(&self.address, limit).is_ok()
        });
        alive
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The user and the password that a proxy requires.
pub type Login<'a> = Option<(&'a str, &'a str)>;

/// Apache as a proxy with TLS.
pub struct Apache {
    server: Server,
    _folder: TempDir,
}

impl Apache {
    pub fn start(identity: &Identity) -> Apache {
        let folder = TempDir::new();
        let server = Server::start("apache2", &folder.at("log"), |port| {
            let modules = [
                "mpm_event",
                "authz_core",
                "proxy",
                "proxy_connect",
                "socache_shmcb",
                "ssl",
            ];
            let modules = modules.iter().map(|name| {
                format!(
                    "LoadModule {0}_module /usr/lib/apache2/modules/mod_{0}.so\n",
                    name
                )
            });
            let config = format!(
                "{modules}ServerName localhost\nServerRoot {folder}\nPidFile {folder}/pid\n\
                 DefaultRuntimeDir {folder}\nMutex posixsem\nErrorLog {folder}/errors\n\
                 Listen 127.0.0.1:{port}\nServerLimit 1\nStartServers 1\nThreadsPerChild 10\n\
                 MaxRequestWorkers 10\nMinSpareThreads 1\nMaxSpareThreads 10\n\
                 SSLEngine on\nSSLCertificateFile {certificate}\nSSLCertificateKeyFile {key}\n\
                 ProxyRequests On\nAllowCONNECT 1-65535\n",
                modules = modules.collect::<String>(),
                folder = folder.path().display(),
                port = port,
                certificate = identity.certificate,
                key = identity.key
            );
            let config = folder.file("apache.conf", config);
            let mut command = clean_command(find("apache2"));
            command.args(&["-D", "FOREGROUND", "-f", &config]);
            command
        });
        Apache {
            server,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

/// Ends its workers, too, which would outlive a killed parent.
impl Drop for Apache {
    fn drop(&mut self) {
        self.server.end_with(sys::SIGTERM);
    }
}

/// Squid, with one of its own helpers if it requires authentication.
pub struct Squid {
    server: Server,
    _folder: TempDir,
}

/// Rules of a squid that requires authentication; they must follow `auth_param`.
pub(super) const KNOWN_ONLY: &str = "acl known proxy_auth REQUIRED\n\
                          http_access allow known\n\
                          http_access deny all\n";

impl Squid {
    /// Starts it, with Basic authentication if there is a login.
    pub fn start(login: Login) -> Squid {
        Squid::with_rules(|folder| match login {
            Some((user, password)) => Squid::basic(folder, user, password),
            None => "http_access allow all\n".to_string(),
        })
    }

    /// Returns rules that accept only this user.
    pub fn basic(folder: &TempDir, user: &str, password: &str) -> String {
        let hash = run("openssl", &["passwd", "-apr1", password]);
        let hash = String::from_utf8(hash).expect("text");
        let users = folder.file("users", format!("{}:{}\n", user, hash.trim()));
        format!(
            "auth_param basic program {} {}\n\
             auth_param basic realm test\n{}",
            find("basic_ncsa_auth").display(),
            users,
            KNOWN_ONLY
        )
    }

    /// Starts it with Digest authentication; a nonce is valid for `uses` requests.
    pub fn with_digest(user: &str, password: &str, uses: usize) -> Squid {
        Squid::with_rules(|folder| Squid::digest(folder, user, password, uses))
    }

    /// Returns rules that accept only this user, in Digest.
    pub fn digest(folder: &TempDir, user: &str, password: &str, uses: usize) -> String {
        let users = folder.file("users", format!("{}:{}\n", user, password));
        format!(
            "auth_param digest program {} {}\n\
             auth_param digest realm test, \"quoted\"\n\
             auth_param digest nonce_max_count {}\n{}",
            find("digest_file_auth").display(),
            users,
            uses,
            KNOWN_ONLY
        )
    }

    /// Starts it with NTLM authentication.
    pub fn with_ntlm(password: &str) -> Squid {
        Squid::with_rules(|_| Squid::ntlm(password))
    }

    /// Returns rules that accept any user with this password, in NTLM: Samba's helper accepts only
    /// NTLMv2, and computes the right answer itself.
    pub fn ntlm(password: &str) -> String {
        format!(
            "auth_param ntlm program {} --configfile=/dev/null \
             --helper-protocol=squid-2.5-ntlmssp --password={}\n{}",
            find("ntlm_auth").display(),
            password,
            KNOWN_ONLY
        )
    }

    /// `rules` returns the lines about clients, given a folder that squid may write to.
    pub fn with_rules(rules: impl FnOnce(&TempDir) -> String) -> Squid {
        let program = find("squid");
        let folder = open_folder();
        let rules = rules(&folder);
        let log = folder.at("log");
        let server = Server::start("squid", &log, |port| {
            let config = format!(
                "http_port 127.0.0.1:{port}\n\
                 {rules}\
                 visible_hostname localhost\n\
                 dns_nameservers 127.0.0.1\n\
                 pid_filename none\n\
                 access_log none\n\
                 cache_log {folder}/cache.log\n\
                 cache_store_log none\n\
                 coredump_dir {folder}\n\
                 netdb_filename none\n\
                 pinger_enable off\n\
                 cache deny all\n\
                 shutdown_lifetime 0 seconds\n",
                port = port,
                rules = rules,
                folder = folder.path().display()
            );
            let config = folder.file("squid.conf", config);
            let mut command = clean_command(&program);
            // Its own name separates its shared memory from that of any other squid.
            command.args(&["-N", "-n", &format!("ptunnel{}", port), "-f", &config]);
            command
        });
        Squid {
            server,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address
    }
}

/// Returns a folder that squid can write to after it has dropped root's privileges.
pub(super) fn open_folder() -> TempDir {
    let folder = TempDir::new();
    let mode = fs::Permissions::from_mode(0o777);
    fs::set_permissions(folder.path(), mode).expect("permissions");
    folder
}

/// tinyproxy, with Basic authentication if there is a login.
pub struct Tinyproxy {
    server: Server,
    _folder: TempDir,
}

impl Tinyproxy {
    pub fn start(login: Login) -> Tinyproxy {
        let program = find("tinyproxy");
        let folder = TempDir::new();
        let log = folder.at("log");
        let login = login.map(|(user, password)| format!("BasicAuth {} {}\n", user, password));
        let server = Server::start("tinyproxy", &log, |port| {
            let config = format!(
                "Port {}\nListen 127.0.0.1\nAllow 127.0.0.1\nTimeout 60\nMaxClients 200\n{}",
                port,
                login.as_deref().unwrap_or("")
            );
            let config = folder.file("tinyproxy.conf", config);
            let mut command = clean_command(&program);
            command.args(&["-d", "-c", &config]);
            command
        });
        Tinyproxy {
            server,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address
    }
}

/// nginx as an origin, over plain HTTP and over TLS, with a certificate for localhost made for the
/// test.
pub struct Nginx {
    plain: Server,
    tls: SocketAddr,
    folder: TempDir,
}

/// A TCP balancer in front of two addresses, as the examples in packaging/ have it.
pub struct Balancer {
    server: Server,
    _folder: TempDir,
}

impl Balancer {
    pub fn haproxy(behind: [SocketAddr; 2]) -> Balancer {
        Balancer::haproxy_with(example("haproxy.cfg", behind))
    }

    pub fn nginx(behind: [SocketAddr; 2]) -> Balancer {
        Balancer::nginx_with(example("nginx.conf", behind))
    }

    /// Starts HAProxy with the configuration that `config` returns for an address.
    pub fn haproxy_with(config: impl Fn(&str) -> String) -> Balancer {
        Balancer::start("haproxy", config, |_| Vec::new())
    }

    /// Starts nginx with the configuration that `config` returns for an address.
    pub fn nginx_with(config: impl Fn(&str) -> String) -> Balancer {
        Balancer::start("nginx", config, |folder| {
            let settings = format!("daemon off; master_process off; pid {};", folder.at("pid"));
            vec!["-e".into(), "stderr".into(), "-g".into(), settings]
        })
    }

    fn start(
        name: &str,
        config: impl Fn(&str) -> String,
        options: impl Fn(&TempDir) -> Vec<String>,
    ) -> Balancer {
        let program = find(name);
        let folder = TempDir::new();
        let log = folder.at("log");
        let server = Server::start(name, &log, |port| {
            let config = config(&format!("127.0.0.1:{}", port));
            let config = folder.file("config", config);
            let flag = if name == "nginx" { "-c" } else { "-f" };
            let mut command = clean_command(&program);
            command.args(options(&folder)).args(&[flag, &config]);
            command
        });
        Balancer {
            server,
            _folder: folder,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address
    }
}

/// Returns the configuration of an example in packaging/ for an address, in front of two others.
fn example(name: &str, behind: [SocketAddr; 2]) -> impl Fn(&str) -> String {
    let example = text_of(&format!("packaging/balancer/{}", name));
    move |address| {
        example
            .replace("192.0.2.1:8993", &behind[0].to_string())
            .replace("192.0.2.2:8993", &behind[1].to_string())
            .replace("127.0.0.1:8993", address)
    }
}

/// The size of the file `/big`.
pub const BIG: u64 = 32 << 20;

/// The content of the file `/small`.
pub const SMALL: &str = "a small file\n";

impl Nginx {
    pub fn start() -> Nginx {
        Nginx::start_with("")
    }

    /// Starts one that requires a client certificate of this authority, over TLS.
    pub fn asking(authority: &Authority) -> Nginx {
        Nginx::start_with(&format!(
            "ssl_client_certificate {};\nssl_verify_client on;\n",
            authority.certificate()
        ))
    }

    /// Starts one that compresses replies if it can.
    pub fn compressing() -> Nginx {
        Nginx::start_with("gzip on;\ngzip_min_length 1;\ngzip_types *;\n")
    }

    fn start_with(options: &str) -> Nginx {
        let program = find("nginx");
        let folder = TempDir::new();
        folder.file("small", SMALL);
        folder.file("big", Nginx::big().take(BIG as usize));
        let (certificate, key) = (folder.at("certificate.pem"), folder.at("key.pem"));
        run(
            "openssl",
            &[
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout",
                &key,
                "-out",
                &certificate,
            ],
        );
        let tls = SocketAddr::new("127.0.0.1".parse().unwrap(), free_port());
        let log = folder.at("log");
        let plain = Server::start("nginx", &log, |port| {
            let config = format!(
                "daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\n\
                 events {{ worker_connections 1000; }}\n\
                 http {{\n\
                   access_log off;\n\
                   client_body_temp_path {folder}/1;\n\
                   proxy_temp_path {folder}/2;\n\
                   fastcgi_temp_path {folder}/3;\n\
                   uwsgi_temp_path {folder}/4;\n\
                   scgi_temp_path {folder}/5;\n\
                   server {{\n\
                     listen 127.0.0.1:{port};\n\
                     listen {tls} ssl;\n\
                     ssl_certificate {certificate};\n\
                     ssl_certificate_key {key};\n\
                     {options}\
                     root {folder};\n\
                   }}\n\
                 }}\n",
                folder = folder.path().display(),
                port = port,
                tls = tls,
                certificate = certificate,
                key = key,
                options = options
            );
            let config = folder.file("nginx.conf", config);
            let mut command = clean_command(&program);
            command.args(&["-e", "stderr", "-p", &folder.at(""), "-c", &config]);
            command
        });
        Nginx { plain, tls, folder }
    }

    /// Writes a file into the folder that it serves.
    pub fn serve(&self, name: &str, content: impl AsRef<[u8]>) {
        // In one step: it reads a file at any time.
        let written = self.folder.file("new", content);
        fs::rename(written, self.folder.at(name)).expect("a file");
    }

    /// Returns the content of the file `/big`.
    pub fn big() -> Pattern {
        Pattern::new(4242)
    }

    /// Returns its address for plain HTTP.
    pub fn address(&self) -> SocketAddr {
        self.plain.address
    }

    /// Returns its address for HTTPS.
    pub fn tls(&self) -> SocketAddr {
        self.tls
    }

    /// Returns the path of the certificate that a client must trust.
    pub fn certificate(&self) -> String {
        self.folder.at("certificate.pem")
    }
}

/// OpenSSH's server for the test's user, with keys made for it, and the options for its clients.
pub struct Sshd {
    server: Server,
    folder: TempDir,
}

impl Sshd {
    pub fn start() -> Sshd {
        let program = find("sshd");
        if sys::is_root() {
            // The empty folder that confines sshd's unprivileged child.
            fs::create_dir_all("/run/sshd").expect("/run/sshd");
        }
        let folder = TempDir::new();
        for name in &["host_key", "user_key"] {
            let path = folder.at(name);
            run(
                "ssh-keygen",
                &["-q", "-t", "ed25519", "-N", "", "-f", &path],
            );
        }
        let log = folder.at("log");
        let server = Server::start("sshd", &log, |port| {
            let config = format!(
                "Port {port}\n\
                 ListenAddress 127.0.0.1\n\
                 HostKey {folder}/host_key\n\
                 AuthorizedKeysFile {folder}/user_key.pub\n\
                 PidFile none\n\
                 StrictModes no\n\
                 UsePAM no\n\
                 PasswordAuthentication no\n\
                 PermitRootLogin yes\n\
                 Subsystem sftp internal-sftp\n",
                port = port,
                folder = folder.path().display()
            );
            let config = folder.file("sshd_config", config);
            let mut command = clean_command(&program);
            command.args(&["-D", "-e", "-f", &config]);
            command
        });
        let host_key = fs::read_to_string(folder.at("host_key.pub")).expect("a key");
        folder.file("known_hosts", format!("target {}", host_key));
        Sshd { server, folder }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Returns the options that ssh, scp and sftp share: the keys, and the proxy command.
    pub fn client_options(&self, proxy_command: &str) -> Vec<String> {
        let port = self.server.address.port();
        let options = [
            format!("IdentityFile={}", self.folder.at("user_key")),
            format!("UserKnownHostsFile={}", self.folder.at("known_hosts")),
            "GlobalKnownHostsFile=/dev/null".to_string(),
            "HostKeyAlias=target".to_string(),
            "StrictHostKeyChecking=yes".to_string(),
            "IdentitiesOnly=yes".to_string(),
            "BatchMode=yes".to_string(),
            "ConnectTimeout=60".to_string(),
            "LogLevel=ERROR".to_string(),
            format!("Port={}", port),
            format!("ProxyCommand={}", proxy_command),
        ];
        let mut words = vec!["-F".to_string(), "/dev/null".to_string()];
        for option in &options {
            words.push("-o".to_string());
            words.push(option.clone());
        }
        words
    }
}
