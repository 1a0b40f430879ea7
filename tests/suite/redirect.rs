//! `--redirect`: connections that nftables and iptables redirect, each test in a separate network.

use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;

use crate::examples::blocks;
use crate::loops::expect_loop;
use support::namespace::Namespace;
use support::parts::{command, curl, described, output, run, Nginx, Squid, Sshd, SMALL};
use support::program::NOBODY;
use support::{eventually, Connection, Peer, Ptunnel, Running, TempDir};

const GUIDE: &str = include_str!("../../docs/guide.md");

/// A network that has nothing but this machine, and routes to all other ones.
fn network() -> Namespace {
    let network = Namespace::new();
    network.run(|| {
        let v4 = [
            "route",
            "add",
            "198.51.100.0/24",
            "dev",
            "lo",
            "src",
            "127.0.0.1",
        ];
        let v6 = [
            "-6",
            "route",
            "add",
            "2001:db8::/32",
            "dev",
            "lo",
            "src",
            "::1",
        ];
        run("ip", &v4);
        run("ip", &v6);
    });
    network
}

fn load(rules: &str) {
    let folder = TempDir::new();
    run("nft", &["-f", &folder.file("rules", rules)]);
}

/// Redirects the connections of this network that match the text to the port beside it.
fn redirect(matches: &[(&str, u16)]) {
    let rule =
        |(text, port): &(&str, u16)| format!("{} tcp dport != 0 redirect to :{}\n", text, port);
    load(&format!(
        "table inet test {{\nchain output {{\ntype nat hook output priority -100;\n{}}}\n}}\n",
        matches.iter().map(rule).collect::<String>()
    ));
}

/// Returns the first rules of the guide, in which each text of `changes` replaces the one before it.
fn rules_of_the_guide(changes: &[(&str, String)]) -> String {
    let rules = blocks(GUIDE, "nft").next().expect("rules in the guide");
    changes.iter().fold(rules.to_string(), |rules, (old, new)| {
        assert!(rules.contains(old), "{} is not in {}", old, rules);
        rules.replace(old, new)
    })
}

fn start(program: Ptunnel, listeners: &[&str]) -> Running {
    let all = listeners.iter().fold(program, |program, address| {
        program.args(&["--redirect", address]).more_lines(1)
    });
    // The rules leave its connections out.
    all.by_nobody().start()
}

#[test]
fn curl_and_ssh_need_no_configuration() {
    network().run(|| {
        let (nginx, sshd) = (Nginx::start(), Sshd::start());
        let ports = [nginx.address(), nginx.tls(), sshd.address()];
        let [plain, secure, ssh] = [ports[0].port(), ports[1].port(), ports[2].port()];
        // As many proxies, it refuses an address.
        let squid = Squid::with_rules(|_| {
            format!(
                "acl bare url_regex ^[0-9.]+:\nacl ssh port {}\n\
                 http_access deny bare !ssh\nhttp_access allow all\n",
                ssh
            )
        });
        let program = start(Ptunnel::through(squid.address()), &["127.0.0.1:0"]);
        load(&rules_of_the_guide(&[
            ("\"ptunnel\"", NOBODY.to_string()),
            ("22, 80, 443", format!("{}, {}, {}", plain, secure, ssh)),
            (":8443", format!(":{}", program.address().port())),
        ]));
        // What is beyond the proxy.
        load(
            "table ip world {\nchain output {\ntype nat hook output priority -110;\n\
             meta skuid proxy ip daddr 198.51.100.0/24 dnat to 127.0.0.1\n}\n}\n",
        );
        let far = |port| format!("localhost:{0}:198.51.100.7:{0}", port);
        let url = format!("http://localhost:{}/small", plain);
        let fetched = curl(&["--connect-to", &far(plain), &url]);
        assert_eq!(fetched, SMALL.as_bytes());
        let url = format!("https://localhost:{}/big", secure);
        let trust = nginx.certificate();
        let fetched = curl(&["--connect-to", &far(secure), "--cacert", &trust, &url]);
        Nginx::big().check(0, &fetched);

        let mut client = command("ssh");
        client.args(sshd.client_options("none"));
        let output = client.args(&["198.51.100.7", "exit 7"]);
        let output = output.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{}", described(&output));
        assert_eq!(program.stderr(), "");

        let url = format!("https://198.51.100.7:{}/small", secure);
        let refused = self::output("curl", &["--silent", "--insecure", &url]);
        assert!(!refused.status.success());
        program.says(&[&format!("198.51.100.7:{}", secure), "403"]);
    });
}

#[test]
fn the_guides_iptables_rules_redirect_too() {
    network().run(|| {
        let proxy = Peer::echoing();
        let program = Ptunnel::through(proxy.address());
        let program = start(program, &["127.0.0.1:0", "[::1]:0"]);
        let commands = blocks(GUIDE, "console").flat_map(str::lines);
        let rules: Vec<&str> = commands
            .filter_map(|line| line.strip_prefix("# iptables "))
            .collect();
        assert_eq!(rules.len(), 2);
        for (index, (command, loopback, local, far)) in [
            ("iptables", "127.0.0.0/8", "127.0.0.1:80", "198.51.100.7:22"),
            // As the guide says below the commands.
            ("ip6tables", "::1", "[::1]:80", "[2001:db8::7]:22"),
        ]
        .iter()
        .enumerate()
        {
            let port = program.address_of(index).port().to_string();
            for rule in &rules {
                let rule = rule.replace("127.0.0.0/8", loopback);
                let rule = rule.replace("8443", &port);
                let rule = rule.replace("ptunnel", &NOBODY.to_string());
                run(command, &rule.split(' ').collect::<Vec<_>>());
            }
            // Loopback is left out.
            let local = TcpListener::bind(local).unwrap();
            local.set_nonblocking(true).unwrap();
            let _client = Connection::open(local.local_addr().unwrap());
            local.accept().unwrap();

            Connection::open(far.parse().unwrap()).send("SSH-2.0-x\r\n");
            eventually("a request", || proxy.heads().len() == index + 1);
            let head = proxy.heads().pop().unwrap();
            let expected = format!("CONNECT {} HTTP/1.1\r\n", far);
            assert!(head.starts_with(&expected), "{}", head);
        }
    });
}

#[test]
fn nft_takes_each_block_of_the_guide() {
    network().run(|| {
        let blocks: Vec<&str> = blocks(GUIDE, "nft").collect();
        assert_eq!(blocks.len(), 2);
        for block in blocks {
            load(&block.replace("\"ptunnel\"", &NOBODY.to_string()));
        }
    });
}

#[test]
fn the_proxy_is_asked_for_the_name_or_else_the_address() {
    network().run(|| {
        let proxy = Peer::echoing();
        let program = Ptunnel::through(proxy.address()).args(&["--allow-from", "127.0.0.1,::1"]);
        let program = start(program, &["127.0.0.1:0", "[::1]:0", "*:0"]);
        let port = |index| program.address_of(index).port();
        redirect(&[
            ("ip daddr 198.51.100.7", port(0)),
            ("ip6 daddr 2001:db8::7", port(1)),
            ("ip daddr 198.51.100.8", port(2)),
        ]);
        let mut asked = 0;
        for at in &["198.51.100.7", "[2001:db8::7]", "198.51.100.8"] {
            let open = |port: u16| -> Connection {
                let address: SocketAddr = format!("{}:{}", at, port).parse().unwrap();
                Connection::open(address)
            };
            let mut expect = |destination: &str| {
                asked += 1;
                eventually("a request", || proxy.heads().len() == asked);
                let head = proxy.heads().pop().unwrap();
                let expected = format!("CONNECT {} HTTP/1.1\r\n", destination);
                assert!(head.starts_with(&expected), "{}", head);
            };
            let request = "GET / HTTP/1.1\r\nHost: a.example:1\r\n\r\nbehind";
            let mut client = open(80);
            client.send(request);
            client.expect(request);
            expect("a.example:80");

            let mut client = open(22);
            client.send("SSH-2.0-x\r\n");
            client.expect("SSH-2.0-x\r\n");
            expect(&format!("{}:22", at));

            // The server speaks first.
            let mut client = open(25);
            expect(&format!("{}:25", at));
            client.send("late");
            client.expect("late");

            let mut client = open(80);
            client.send("GE");
            client.finish_sending();
            client.expect("GE");
            client.expect_end();
            expect(&format!("{}:80", at));
        }
        assert_eq!(program.stderr(), "");
    });
}

/// The header has the address that the client connected to, not ptunnel's.
#[test]
fn a_proxy_header_has_the_original_destination() {
    network().run(|| {
        let proxy = Peer::echoing();
        let program = Ptunnel::through(proxy.address()).args(&["--send-proxy-protocol", "v1"]);
        let program = start(program, &["127.0.0.1:0"]);
        redirect(&[("ip daddr 198.51.100.7", program.address().port())]);
        let mut client = Connection::open("198.51.100.7:22".parse().unwrap());
        client.send("SSH-2.0-x\r\n");
        let from = client.local();
        let (ip, port) = (from.ip(), from.port());
        client.expect(format!(
            "PROXY TCP4 {} 198.51.100.7 {} 22\r\nSSH-2.0-x\r\n",
            ip, port
        ));
    });
}

/// It would lead to the listener again.
#[test]
fn a_connection_to_the_listener_itself_is_refused() {
    network().run(|| {
        let proxy = Peer::echoing();
        let program = start(Ptunnel::through(proxy.address()), &["127.0.0.1:0"]);
        redirect(&[("ip daddr 198.51.100.7", program.address().port())]);
        Connection::open(program.address()).expect_end();
        program.says(&["denied: the connection wasn't redirected (the client connected to"]);
        assert!(proxy.heads().is_empty());
    });
}

/// Regression: each connection led to the next one, until no descriptor was left.
#[test]
fn a_rule_that_catches_ptunnels_own_connections_is_no_endless_loop() {
    network().run(|| {
        for (args, threads, destination) in &[
            (["--no-proxy", "*"], "1", "198.51.100.7:443"),
            (["--no-proxy", "*"], "3", "[2001:db8::7]:443"),
            (["-p", "198.51.100.8:3128"], "1", "198.51.100.8:3128"),
            (["-p", "[2001:db8::8]:3128"], "3", "[2001:db8::8]:3128"),
        ] {
            for first in &["GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", ""] {
                let program = Ptunnel::new().args(args).args(&["--threads", threads]);
                let program = start(program, &["127.0.0.1:0", "[::1]:0"]);
                let port = |index| program.address_of(index).port();
                run("nft", &["flush", "ruleset"]);
                redirect(&[
                    ("ip daddr 198.51.100.0/24", port(0)),
                    ("ip6 daddr 2001:db8::/32", port(1)),
                ]);
                let at = match destination.starts_with('[') {
                    true => "[2001:db8::7]:443",
                    false => "198.51.100.7:443",
                };
                let client = Connection::open(at.parse().unwrap());
                let told = format!("loop: ptunnel's own connection to {} was", destination);
                expect_loop(&program, client, first, "");
                program.says(&["denied: ", &told, "leave the user that ptunnel runs as out"]);
            }
        }
    });
}

/// With the rules of the guide, ptunnel's connections have the same destination as their clients'.
#[test]
fn a_client_that_is_led_directly_to_its_address_is_no_loop() {
    network().run(|| {
        let server = Peer::start_on("127.0.0.1:0".parse().unwrap(), |mut it| it.echo());
        let program = Ptunnel::new().args(&["--no-proxy", "*"]);
        let program = start(program, &["127.0.0.1:0"]);
        load(&rules_of_the_guide(&[
            ("\"ptunnel\"", NOBODY.to_string()),
            ("22, 80, 443", "443".into()),
            (":8443", format!(":{}", program.address().port())),
        ]));
        load(&format!(
            "table ip world {{\nchain output {{\ntype nat hook output priority -110;\n\
             meta skuid {} ip daddr 198.51.100.7 tcp dport 443 dnat to {}\n}}\n}}\n",
            NOBODY,
            server.address()
        ));
        for _ in 0..20 {
            let mut client = Connection::open("198.51.100.7:443".parse().unwrap());
            client.send("ping");
            client.expect("ping");
        }
    });
}
