//! A Kerberos realm for one test: MIT's KDC, a user, and the service of a proxy on localhost.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::parts::{command, described, find, open_folder, Server, Squid, KNOWN_ONLY};
use super::program::clean_command;
use super::temp::TempDir;
use super::Ptunnel;

const REALM: &str = "TEST.EXAMPLE";
const PASSWORD: &str = "hunter2";

/// A realm with the user joe and the service `HTTP/localhost`. Killed on drop.
pub struct Realm {
    _kdc: Server,
    folder: TempDir,
}

impl Realm {
    pub fn start() -> Realm {
        // Squid's helper reads the keytab after squid has given up being root.
        let folder = open_folder();
        let log = folder.at("log");
        let kdc = Server::start("krb5kdc", &log, |port| {
            folder.file(
                "krb5.conf",
                format!(
                    "[libdefaults]\n\
                     default_realm = {realm}\n\
                     dns_lookup_kdc = false\n\
                     dns_lookup_realm = false\n\
                     dns_canonicalize_hostname = false\n\
                     rdns = false\n\
                     udp_preference_limit = 1\n\
                     [realms]\n\
                     {realm} = {{\n kdc = 127.0.0.1:{port}\n}}\n\
                     [domain_realm]\n\
                     localhost = {realm}\n",
                    realm = REALM,
                    port = port
                ),
            );
            folder.file(
                "kdc.conf",
                format!(
                    "[kdcdefaults]\n\
                     kdc_listen = \"\"\n\
                     kdc_tcp_listen = 127.0.0.1:{port}\n\
                     [realms]\n\
                     {realm} = {{\n\
                     database_name = {folder}/principal\n\
                     key_stash_file = {folder}/stash\n\
                     acl_file = {folder}/acl\n\
                     }}\n",
                    realm = REALM,
                    port = port,
                    folder = folder.path().display()
                ),
            );
            fill(&folder);
            let mut command = clean_command(find("krb5kdc"));
            command.arg("-n");
            for (name, value) in variables(&folder) {
                command.env(name, value);
            }
            command
        });
        Realm { _kdc: kdc, folder }
    }

    /// Gets a ticket for joe into the cache of [`Realm::of_joe`].
    pub fn log_in(&self) {
        run(&self.folder, "kinit", &["joe"], &format!("{}\n", PASSWORD));
    }

    /// The program with joe's cache of tickets, which is empty before [`Realm::log_in`].
    pub fn of_joe(&self, program: Ptunnel) -> Ptunnel {
        let variables = variables(&self.folder).into_iter();
        variables.fold(program, |program, (name, value)| program.env(name, value))
    }

    /// The program with a keytab of joe's, and a separate cache.
    pub fn with_keytab(&self, program: Ptunnel) -> Ptunnel {
        let cache = format!("FILE:{}", self.folder.at("of-keytab"));
        self.of_joe(program)
            .env("KRB5CCNAME", cache)
            .env("KRB5_CLIENT_KTNAME", self.folder.at("joe.keytab"))
    }

    /// Returns a function that accepts a client's token and returns the proxy's, both in base64.
    pub fn acceptor(&self) -> impl Fn(&str) -> String {
        let (config, keytab) = (self.folder.at("krb5.conf"), self.folder.at("http.keytab"));
        move |token| {
            let service = format!("HTTP/localhost@{}", REALM);
            let mut command = command("negotiate_kerberos_auth");
            command.args(&["-k", &keytab, "-s", &service, "-t", "none"]);
            command.env("KRB5_CONFIG", &config);
            let output = fed(command, &format!("YR {}\n", token));
            let said = String::from_utf8(output.stdout).expect("text");
            let mut words = said.split_whitespace();
            let reply = words.find_map(|word| word.strip_prefix("token="));
            reply.unwrap_or_else(|| panic!("{}", said)).to_string()
        }
    }

    /// Squid that wants a ticket.
    pub fn squid(&self) -> Squid {
        Squid::with_rules(|folder| self.rules(folder))
    }

    /// Returns squid's rules that accept only users with a ticket.
    pub fn rules(&self, folder: &TempDir) -> String {
        format!(
            "auth_param negotiate program {} KRB5_CONFIG={} {} -k {} -s HTTP/localhost@{} -c {}\n{}",
            find("env").display(),
            self.folder.at("krb5.conf"),
            find("negotiate_kerberos_auth").display(),
            self.folder.at("http.keytab"),
            REALM,
            folder.path().display(),
            KNOWN_ONLY
        )
    }
}

fn fill(folder: &TempDir) {
    if folder.path().join("principal").exists() {
        // The port was taken, and there is another one now.
        return;
    }
    run(
        folder,
        "kdb5_util",
        &["create", "-s", "-r", REALM, "-P", "master"],
        "",
    );
    let joe = format!("addprinc -pw {} joe", PASSWORD);
    let joes = format!("ktadd -k {} -norandkey joe", folder.at("joe.keytab"));
    let https = format!("ktadd -k {} HTTP/localhost", folder.at("http.keytab"));
    for query in &[&joe[..], "addprinc -randkey HTTP/localhost", &joes, &https] {
        run(folder, "kadmin.local", &["-r", REALM, "-q", query], "");
    }
    super::parts::run("chmod", &["a+r", &folder.at("http.keytab")]);
}

fn variables(folder: &TempDir) -> Vec<(&'static str, String)> {
    vec![
        ("KRB5_CONFIG", folder.at("krb5.conf")),
        ("KRB5_KDC_PROFILE", folder.at("kdc.conf")),
        ("KRB5CCNAME", format!("FILE:{}", folder.at("cache"))),
    ]
}

#[track_caller]
fn run(folder: &TempDir, name: &str, args: &[&str], input: &str) {
    let mut command = command(name);
    command.args(args).envs(variables(folder));
    let output = fed(command, input);
    let said = described(&output);
    // kadmin.local reports a query that failed, and ends as if it hadn't.
    let has_failed = !output.status.success() || said.contains(" while ");
    assert!(!has_failed, "{} {:?}: {}", name, args, said);
}

/// Runs a command to its end; `input` is its whole input.
fn fed(mut command: Command, input: &str) -> Output {
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let written = stdin.write_all(input.as_bytes());
    written.expect("the input is taken");
    drop(stdin);
    child.wait_with_output().expect("an end")
}
