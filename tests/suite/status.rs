//! `--status`: its counters, metrics, JSON, page and probe, and its responses to invalid requests.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::serve::{open, request};
use support::ends::{Ends, Gate};
use support::parts::{command, described};
use support::process::is_listening;
use support::repository::text_of;
use support::sys::{SIGHUP, SIGTERM};
use support::temp::free_port;
use support::tls::{Authority, Stunnel};
use support::{closed_address, eventually, Blackhole, Connection};
use support::{Pattern, Peer, Ptunnel, Running, TempDir};

/// Sends a request; returns the head and the body of the response.
fn ask(address: SocketAddr, question: impl AsRef<[u8]>) -> (String, String) {
    let mut asking = Connection::open(address);
    asking.send(question);
    let answer = String::from_utf8(asking.rest()).expect("text");
    let end = answer.find("\r\n\r\n").expect("a head");
    (answer[..end].to_string(), answer[end + 4..].to_string())
}

fn get(program: &Running, path: &str) -> (String, String) {
    let address = program.status();
    let question = format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", path, address);
    let (head, body) = ask(address, question);
    let length = format!("Content-Length: {}", body.len());
    assert!(head.contains(&length), "{} of {} bytes", head, body.len());
    (head, body)
}

#[track_caller]
pub fn page(program: &Running, path: &str) -> String {
    let (head, body) = get(program, path);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{}", head);
    body
}

/// Returns the sum of a metric's samples that have all of `labels`.
fn metric(program: &Running, name: &str, labels: &[&str]) -> f64 {
    let page = page(program, "/metrics");
    let samples = page.lines().filter(|line| {
        let rest = line.strip_prefix(name).unwrap_or_default();
        let is_it = rest.starts_with('{') || rest.starts_with(' ');
        is_it && labels.iter().all(|label| line.contains(label))
    });
    let values = samples.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().expect(line));
    let values: Vec<f64> = values.collect();
    assert!(!values.is_empty(), "no {} {:?} in {}", name, labels, page);
    values.iter().sum()
}

#[track_caller]
pub fn eventually_is(program: &Running, name: &str, labels: &[&str], value: f64) {
    eventually(&format!("{} {:?} is {}", name, labels, value), || {
        metric(program, name, labels) == value
    });
}

/// Returns the value of a Python expression in which `s` is the parsed /status.json.
pub fn evaluated(program: &Running, expression: &str) -> String {
    let script = "import json, sys; s = json.load(sys.stdin); print(eval(sys.argv[1]))";
    let found = fed(
        "python3",
        &["-c", script, expression],
        &page(program, "/status.json"),
    );
    found.trim_end().to_string()
}

/// Returns the output of an installed program for this input; fails unless its exit code is 0.
fn fed(program: &str, args: &[&str], input: &str) -> String {
    let mut command = command(program);
    command.args(args).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect(program);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("an output");
    assert!(
        output.status.success(),
        "{}: {}\n{}",
        program,
        described(&output),
        input
    );
    String::from_utf8(output.stdout).expect("text") + &String::from_utf8_lossy(&output.stderr)
}

/// Starts a program in which each group of counters has a value.
fn busy(gate: &Gate) -> Running {
    let program = Ptunnel::through(closed_address())
        .proxy(gate.address())
        .to("example.org:22")
        .serving()
        .args(&["--allow-from", "127.0.0.1"])
        .watched()
        .start();
    Connection::open_from([127, 0, 0, 9].into(), program.address()).expect_nothing();
    let mut ends = gate.join(&program);
    ends.check();
    let Ends { client, mut server } = ends;
    client.finish_sending();
    server.expect_end();
    drop(server);
    eventually_is(
        &program,
        "ptunnel_tunnels_ended_total",
        &["end=\"closed\""],
        1.0,
    );
    let denied = ask(program.proxy(), "GET / HTTP/1.1\r\n\r\n");
    assert!(denied.0.contains(" 405 "), "{}", denied.0);
    eventually_is(
        &program,
        "ptunnel_tunnels_failed_total",
        &["cause=\"denied\""],
        1.0,
    );
    program
}

#[test]
fn promtool_accepts_the_metrics() {
    let gate = Gate::open();
    let program = busy(&gate);
    let metrics = page(&program, "/metrics");
    let said = fed("promtool", &["check", "metrics"], &metrics);
    assert_eq!(said, "", "{}", metrics);
    let (head, _) = get(&program, "/metrics");
    assert!(
        head.contains("Content-Type: text/plain; version=0.0.4"),
        "{}",
        head
    );
    // The check rejects wrong metrics.
    let wrong = metrics.replace(
        "# TYPE ptunnel_clients gauge",
        "# TYPE ptunnel_clients guage",
    );
    assert_ne!(wrong, metrics);
    let mut promtool = command("promtool");
    promtool.args(&["check", "metrics"]).stdin(Stdio::piped());
    let mut child = promtool.stderr(Stdio::null()).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(wrong.as_bytes())
        .unwrap();
    assert!(!child.wait().unwrap().success());
}

#[test]
fn the_dashboard_uses_metrics_that_exist() {
    let dashboard = text_of("packaging/grafana/ptunnel.json");
    let metrics = page(&busy(&Gate::open()), "/metrics");
    // Writes the expressions as rules, which promtool can check, and prints the names in them.
    let script = "
import json, re, sys
board = json.load(sys.stdin)
exprs = [t['expr'] for p in board['panels'] for t in p.get('targets', [])]
assert len(exprs) >= 10, exprs
exprs = [re.sub(r'\\$__rate_interval', '5m', re.sub(r'\\$(instance|listen)', '.*', e)) for e in exprs]
for e in exprs:
    for name in re.findall(r'(?:ptunnel|process)_[a-z_]+', e):
        print('name', name)
rules = [{'record': 'a:b%d' % i, 'expr': e} for i, e in enumerate(exprs)]
open(sys.argv[1], 'w').write(json.dumps({'groups': [{'name': 'x', 'rules': rules}]}))
";
    let folder = TempDir::new();
    let rules = folder.at("rules.yml");
    let names = fed("python3", &["-c", script, &rules], &dashboard);
    for name in names.lines().filter_map(|line| line.strip_prefix("name ")) {
        let is_there = metrics.lines().any(|line| {
            line.starts_with(name)
                && [Some(&b'{'), Some(&b' ')].contains(&line.as_bytes().get(name.len()))
        });
        assert!(is_there, "{} is not in {}", name, metrics);
    }
    fed("promtool", &["check", "rules", &rules], "");
}

fn operating_guide() -> String {
    text_of("docs/operating.md")
}

#[test]
fn the_operating_guide_lists_each_metric_with_its_type_and_labels_and_each_cause() {
    let guide = operating_guide();
    let metrics = page(&busy(&Gate::open()), "/metrics");
    let types = metrics.lines().filter_map(|l| l.strip_prefix("# TYPE "));
    let types: Vec<(&str, &str)> = types
        .map(|line| line.split_at(line.find(' ').expect(line)))
        .collect();
    let row = |(name, kind): &(&str, &str)| {
        let starts = [format!("{}{{", name), format!("{}_sum{{", name)];
        let sample = metrics.lines().find_map(|line| {
            let labels = starts.iter().find_map(|s| line.strip_prefix(&s[..]))?;
            labels.split('}').next()
        });
        let labels = sample.into_iter().flat_map(|labels| labels.split(','));
        let names = labels.map(|label| format!("`{}`", label.split('=').next().unwrap()));
        let names = names.collect::<Vec<String>>().join(", ");
        format!("| `{}` |{} | {}", name, kind, names)
            .trim_end()
            .to_string()
    };
    let rows = guide
        .lines()
        .filter(|line| line.starts_with("| `ptunnel_") || line.starts_with("| `process_"));
    let columns = |line: &str| line.split(" | ").take(3).collect::<Vec<&str>>().join(" | ");
    let mut listed: Vec<String> = rows.map(columns).collect();
    // The row of a metric without labels has an empty column.
    for row in &mut listed {
        if let Some(end) = row.find(" | |") {
            row.truncate(end + 2);
        }
    }
    let mut exported: Vec<String> = types.iter().map(row).collect();
    listed.sort();
    exported.sort();
    assert_eq!(listed, exported);

    let causes = metrics.split("cause=\"").skip(1);
    for cause in causes.map(|rest| rest.split('"').next().unwrap()) {
        assert!(guide.contains(&format!("\n| `{}` | ", cause)), "{}", cause);
    }
    // In queries and in the text.
    let words = guide.split(|c: char| !c.is_ascii_lowercase() && c != '_');
    for word in words.filter(|word| word.starts_with("ptunnel_") && *word != "ptunnel_") {
        let suffixes = ["", "_bucket", "_count"];
        let is_exported = |name: &str| suffixes.iter().any(|s| format!("{}{}", name, s) == word);
        assert!(types.iter().any(|(name, _)| is_exported(name)), "{}", word);
    }
}

#[test]
fn promtool_accepts_the_alerts_of_the_operating_guide() {
    let guide = operating_guide();
    let rules = &guide[guide.find("groups:\n").expect("rules")..];
    let rules = &rules[..rules.find("```").expect("their end")];
    let folder = TempDir::new();
    let file = folder.file_with_mode("rules.yml", 0o600, rules);
    fed("promtool", &["check", "rules", &file], "");
}

/// With each way to relay: splice(2), copying, and TLS.
#[test]
fn bytes_are_counted_while_their_tunnel_is_open() {
    let (up, down) = (3 << 20, 1 << 20);
    let authority = Authority::new();
    let identity = authority.issue("proxy", "IP:127.0.0.1");
    for way in &["auto", "always", "never", "tls"] {
        let gate = Gate::open();
        let stunnel;
        let program = if *way == "tls" {
            stunnel = Stunnel::start(&identity, gate.address());
            Ptunnel::through(format!("https://{}", stunnel.address()))
                .args(&["--proxy-cacert", &authority.certificate()])
        } else {
            Ptunnel::through(gate.address()).args(&["--splice", way])
        };
        let program = program.to("example.org:22").watched().start();
        let Ends {
            mut client,
            mut server,
        } = gate.join(&program);
        let sending = {
            let mut client = client.handle();
            std::thread::spawn(move || Pattern::new(1).write(&mut client, up).unwrap())
        };
        Pattern::new(1).read(&mut server, up);
        sending.join().unwrap();
        let sending = {
            let mut server = server.handle();
            std::thread::spawn(move || Pattern::new(2).write(&mut server, down).unwrap())
        };
        Pattern::new(2).read(&mut client, down);
        sending.join().unwrap();
        let name = "ptunnel_carried_bytes_total";
        eventually_is(&program, name, &["direction=\"upload\""], up as f64);
        eventually_is(&program, name, &["direction=\"download\""], down as f64);
        assert_eq!(metric(&program, "ptunnel_clients", &[]), 1.0, "{}", way);
        assert_eq!(
            metric(&program, "ptunnel_tunnel_open_seconds_count", &[]),
            1.0
        );
        client.send("more");
        server.expect("more");
        client.reset();
        eventually_is(&program, "ptunnel_clients", &[], 0.0);
        let total = metric(&program, name, &["direction=\"upload\""]);
        assert_eq!(total, (up + 4) as f64, "{}", way);
    }
}

#[test]
fn each_tunnel_is_counted_by_how_it_ended() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["--idle-timeout", "2", "-v"])
        .watched()
        .start();
    let ended = |end: &str, count: f64| {
        let label = format!("end=\"{}\"", end);
        eventually_is(&program, "ptunnel_tunnels_ended_total", &[&label], count);
    };
    let join = || {
        let mut ends = gate.join(&program);
        ends.check();
        ends
    };
    let Ends { client, mut server } = join();
    client.finish_sending();
    server.expect_end();
    drop(server);
    ended("closed", 1.0);
    join().client.reset();
    ended("client", 1.0);
    let Ends {
        client: kept,
        server,
    } = join();
    server.reset();
    ended("upstream", 1.0);
    let _silent = join();
    ended("silence", 1.0);
    drop(kept);
    // A client that leaves before its tunnel is open.
    let client = program.connect();
    let _asked = gate.accept();
    client.reset();
    eventually_is(&program, "ptunnel_clients_left_total", &[], 1.0);
    eventually_is(&program, "ptunnel_clients", &[], 0.0);
    let sum = metric(&program, "ptunnel_tunnels_ended_total", &[]);
    assert_eq!(
        sum,
        metric(&program, "ptunnel_tunnel_open_seconds_count", &[])
    );
}

#[test]
fn each_failure_is_counted_by_its_cause_and_no_secret_is_shown() {
    let cases: &[(&str, &str)] = &[
        ("refused", "HTTP/1.1 403 Forbidden\r\n\r\n"),
        (
            "credentials",
            "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"r\"\r\n\r\n",
        ),
        ("malformed", "SSH-2.0-hello\r\n\r\n"),
        ("lost", ""),
    ];
    for (cause, reply) in cases {
        let proxy = Peer::replying(*reply);
        let program = Ptunnel::through(format!("http://joe:hunter2@{}", proxy.address()))
            .to("example.org:22")
            .watched()
            .start();
        program.connect().expect_end();
        let label = format!("cause=\"{}\"", cause);
        eventually_is(&program, "ptunnel_tunnels_failed_total", &[&label], 1.0);
        assert_eq!(metric(&program, "ptunnel_tunnels_failed_total", &[]), 1.0);
        let counted = format!(
            "s['errors']['{}'], s['failed'], s['opened'], s['clients']",
            cause
        );
        assert_eq!(evaluated(&program, &counted), "(1, 1, 0, 0)");
        let last = evaluated(&program, "s['listeners'][0]['last_error']['text']");
        program.says(&["warning: ", &format!(": {}", last)]);
        let last = evaluated(&program, "s['listeners'][0]['last_error']['cause']");
        assert_eq!(last, *cause);
        for path in &[
            "/",
            "/metrics",
            "/status.json",
            "/healthz",
            "/healthz/probe",
        ] {
            let (head, body) = get(&program, path);
            for secret in &["hunter2", "joe", "am9lO"] {
                assert!(!head.contains(secret) && !body.contains(secret), "{}", body);
            }
        }
    }
    let hole = Blackhole::start();
    let program = Ptunnel::through(closed_address())
        .proxy(hole.address())
        .args(&["-w", "0.3"])
        .to("example.org:22")
        .watched()
        .start();
    program.connect().expect_end();
    let label = &["cause=\"connect_timeout\""];
    eventually_is(&program, "ptunnel_tunnels_failed_total", label, 1.0);
}

#[test]
fn each_proxy_is_shown_with_its_state() {
    let (closed, gate) = (closed_address(), Gate::open());
    let program = Ptunnel::through(closed)
        .proxy(gate.address())
        .proxy("standby.invalid:1")
        .to("example.org:22")
        .watched()
        .start();
    let states = "[p['state'] for p in s['proxies']]";
    assert_eq!(
        evaluated(&program, states),
        "['standby', 'standby', 'standby']"
    );
    gate.join(&program).check();
    assert_eq!(evaluated(&program, states), "['down', 'in use', 'standby']");
    let of = |name: &str, place: &str| {
        let place = format!("place=\"{}\"", place);
        metric(&program, name, &[&place])
    };
    assert_eq!(of("ptunnel_proxy_failures_total", "1"), 1.0);
    assert_eq!(of("ptunnel_proxy_down", "1"), 1.0);
    assert_eq!(
        of("ptunnel_proxy_down", "2") + of("ptunnel_proxy_down", "3"),
        0.0
    );
    assert_eq!(of("ptunnel_proxy_avoided", "1"), 1.0);
    assert_eq!(of("ptunnel_proxy_answers_total", "2"), 1.0);
    assert_eq!(of("ptunnel_proxy_in_use", "2"), 1.0);
    assert_eq!(
        of("ptunnel_proxy_in_use", "1") + of("ptunnel_proxy_in_use", "3"),
        0.0
    );
    let shown = evaluated(&program, "[p['proxy'] for p in s['proxies']]");
    let expected = format!("['{}', '{}', 'standby.invalid:1']", closed, gate.address());
    assert_eq!(shown, expected);
}

/// Before, it was "standby" after 30 seconds or a reload, and the page was green.
#[test]
fn a_proxy_that_failed_is_down_until_it_answers() {
    let folder = TempDir::new();
    let port = free_port();
    let proxy = SocketAddr::from(([127, 0, 0, 1], port));
    let follow = |more: &str| {
        let text = format!(
            "proxy = '{}'\nstatus = 0\ntunnels = ['0:example.org:22']\n{}",
            proxy, more
        );
        folder.file_with_mode("ptunnel.toml", 0o600, text)
    };
    let program = Ptunnel::new()
        .args(&["--config", &follow("")])
        .more_lines(2)
        .start();
    let is = |state: &str, proxy: &str, listener: &str| {
        let all = "s['state'], s['proxies'][0]['state'], s['listeners'][0]['failing']";
        let expected = format!("('{}', '{}', {})", state, proxy, listener);
        eventually(&expected, || evaluated(&program, all) == expected);
    };
    is("unused", "standby", "False");
    program.connect().expect_nothing();
    is("failing", "down", "True");
    eventually_is(&program, "ptunnel_proxy_down", &[], 1.0);
    // A reload contacts no proxy.
    follow("header = 'X-A: b'\nthreads = 2\n");
    program.signal(SIGHUP);
    program.says(&["a reload doesn't change threads"]); // the last line of a reload
    is("failing", "down", "True");
    let gate = Gate::on(&proxy.to_string());
    gate.join(&program).check();
    is("degraded", "in use", "False"); // a client failed in the last minute
    eventually_is(&program, "ptunnel_proxy_down", &[], 0.0);
}

/// Before, one client of `-D` that asked for an unknown name turned the whole page red.
#[test]
fn an_unreachable_destination_is_no_failure_of_a_dynamic_listener() {
    let proxy = Peer::start(|mut client| {
        client.read_head();
        client.send("HTTP/1.1 503 Service Unavailable\r\n\r\n");
    });
    for (listener, state, failing) in &[("-D", "degraded", "False"), ("-L", "failing", "True")] {
        let at = if *listener == "-D" {
            "0"
        } else {
            "0:nowhere.example:1"
        };
        let program = Ptunnel::through(proxy.address())
            .args(&[listener, at])
            .more_lines(1)
            .watched()
            .start();
        let mut client = program.connect();
        if *listener == "-D" {
            client.send("CONNECT nowhere.example:1 HTTP/1.1\r\n\r\n");
        }
        client.rest_or_reset();
        let all = "s['state'], s['listeners'][0]['failing']";
        let expected = format!("('{}', {})", state, failing);
        eventually(&expected, || evaluated(&program, all) == expected);
    }
}

/// The counters are separate for each listener, and common to all threads.
#[test]
fn each_listener_has_counters_that_its_threads_share() {
    let gate = Gate::open();
    let origin = Peer::start(|mut connection| connection.echo());
    let program = Ptunnel::through(gate.address())
        .to("a.example:1")
        .to("b.example:2")
        .serving()
        .args(&["--threads", "3"])
        .watched()
        .start();
    let mut all: Vec<Ends> = (0..12).map(|_| gate.join(&program)).collect();
    all.iter_mut().for_each(Ends::check);
    let mut client = Connection::open(program.proxy());
    client.send(format!("CONNECT {} HTTP/1.1\r\n\r\n", origin.address()));
    client.read_head();
    client.send("hello");
    client.expect("hello");
    for (destination, clients, bytes) in &[
        ("a.example:1", 12.0, 12.0),
        ("b.example:2", 0.0, 0.0),
        ("*", 1.0, 5.0),
    ] {
        let label = &format!("destination=\"{}\"", destination)[..];
        assert_eq!(metric(&program, "ptunnel_clients", &[label]), *clients);
        let upload = &[label, "direction=\"upload\""];
        eventually_is(&program, "ptunnel_carried_bytes_total", upload, *bytes);
    }
    let listens = evaluated(&program, "[l['listen'] for l in s['listeners']]");
    let expected = format!(
        "['{}', '{}', '{}']",
        program.address(),
        program.address_of(1),
        program.proxy()
    );
    assert_eq!(listens, expected);
}

#[test]
fn clients_of_dynamic_listeners_are_counted() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .args(&["-D", "0", "--threads", "2"])
        .more_lines(1)
        .watched()
        .start();
    let mut client = program.connect();
    client.send(request("a.example:1") + "early");
    let mut server = gate.grant();
    server.expect("early");
    assert!(client.read_head().starts_with(b"HTTP/1.1 200 "));
    server.send("answer");
    client.expect("answer");
    let carried = |direction: &str, count: f64| {
        let labels = ["destination=\"*\"", &format!("direction=\"{}\"", direction)];
        eventually_is(&program, "ptunnel_carried_bytes_total", &labels, count);
    };
    carried("upload", 5.0);
    carried("download", 6.0);
    assert_eq!(metric(&program, "ptunnel_clients", &[]), 1.0);
    client.reset();
    eventually_is(
        &program,
        "ptunnel_tunnels_ended_total",
        &["end=\"client\""],
        1.0,
    );
    carried("upload", 5.0);
    // A client with an invalid request, one that the proxy refuses, and one that leaves early.
    let failed = |cause: &str| {
        let label = format!("cause=\"{}\"", cause);
        eventually_is(&program, "ptunnel_tunnels_failed_total", &[&label], 1.0);
    };
    program.connect().send("rubbish\r\n\r\n");
    failed("denied");
    let mut refused = program.connect();
    refused.send(request("b.example:2"));
    let mut asked = gate.accept();
    asked.read_head();
    asked.send("HTTP/1.1 403 Forbidden\r\n\r\n");
    failed("refused");
    let mut left = program.connect();
    left.send(request("c.example:3"));
    let _asked = gate.accept();
    left.reset();
    eventually_is(&program, "ptunnel_clients_left_total", &[], 1.0);
    eventually_is(&program, "ptunnel_clients", &[], 0.0);
    let path = evaluated(&program, "s['listeners'][0]['path']");
    let expected = format!("what its clients request, through {}", gate.address());
    assert_eq!(path, expected);
}

/// With the log in JSON, whose fields must not appear in /status.json.
#[test]
fn each_live_tunnel_is_shown_with_its_client_and_its_path() {
    let gate = Gate::open();
    let origin = Peer::start(|mut connection| connection.echo());
    let folder = TempDir::new();
    let path = folder.at("socket");
    let program = Ptunnel::through(gate.address())
        .args(&["--via", "second.example:3", "--log-format", "json"])
        .to("example.org:22")
        .arg(format!("{}:b.example:2", path))
        .args(&["-D", "0", "--threads", "2"])
        .more_lines(2)
        .serving()
        .watched()
        .start();
    let tunnels =
        "[(t['client'], t['listen'], t['destination'], t['proxy']) for t in s['tunnels']]";
    assert_eq!(evaluated(&program, tunnels), "[]");
    // Opens a tunnel through both proxies, which the test plays.
    let grant = || {
        let mut server = gate.grant();
        server.grant();
        server
    };
    let client = program.connect();
    let server = grant();
    eventually_is(&program, "ptunnel_tunnel_open_seconds_count", &[], 1.0);
    let unix = UnixStream::connect(&path).expect("a listener");
    let unix_server = grant();
    eventually_is(&program, "ptunnel_tunnel_open_seconds_count", &[], 2.0);
    let mut dynamic = program.connect_to(2);
    dynamic.send(request("c.example:3"));
    let mut dynamic_server = grant();
    dynamic.read_head();
    dynamic.send("12345");
    dynamic_server.expect("12345");
    dynamic_server.send("123");
    dynamic.expect("123");
    let served = open(&program, origin.address());
    let way = format!("{} via second.example:3", gate.address());
    let line = |client: &str, listen: &str, destination: &str, proxy: &str| {
        format!("('{}', '{}', '{}', {})", client, listen, destination, proxy)
    };
    let through = format!("'{}'", way);
    let of = |connection: &Connection| connection.local().to_string();
    let at = |place: usize| program.address_of(place).to_string();
    let first = line(&of(&client), &at(0), "example.org:22", &through);
    let second = line("unix", &path, "b.example:2", &through);
    let third = line(&of(&dynamic), &at(2), "c.example:3", &through);
    let directly = origin.address().to_string();
    let fourth = line(
        &of(&served),
        &program.proxy().to_string(),
        &directly,
        "None",
    );
    let shown = |lines: &[&str]| {
        let expected = format!("[{}]", lines.join(", "));
        eventually(&expected, || evaluated(&program, tunnels) == expected);
    };
    // A client that waits for its tunnel isn't in the list.
    let _waiting = program.connect();
    let _asked = gate.accept();
    shown(&[&first, &second, &third, &fourth]);
    let carried = "s['tunnels'][2]['carried'], s['more_tunnels'], s['clients']";
    let expected = "({'upload': 5, 'download': 3}, 0, 5)";
    eventually(expected, || evaluated(&program, carried) == expected);
    let times = "[t['since'] for t in s['tunnels']]";
    let in_order = format!(
        "{times} == sorted({times}) and 0 <= s['time'] - max({times}) < 60",
        times = times
    );
    assert_eq!(evaluated(&program, &in_order), "True");
    assert!(!page(&program, "/metrics").contains(&of(&client)));
    // A tunnel leaves the list when both sides close it, and when one side breaks it.
    drop((unix, unix_server));
    shown(&[&first, &third, &fourth]);
    served.reset();
    shown(&[&first, &third]);
    dynamic_server.reset();
    shown(&[&first]);
    client.finish_sending();
    shown(&[&first]); // its server can still send
    drop(server);
    shown(&[]);
}

#[test]
fn the_oldest_of_many_tunnels_are_shown() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("a.example:1")
        .to("b.example:2")
        .watched()
        .start();
    let join = |tunnel: usize| {
        let client = program.connect_to(tunnel);
        let mut ends = Ends {
            client,
            server: gate.grant(),
        };
        ends.check();
        ends
    };
    let mut first: Vec<Ends> = (0..3).map(|place| join(place % 2)).collect();
    let _rest: Vec<Ends> = (0..100).map(|place| join(place % 2)).collect();
    let shown = "s['tunnels'][0]['client'], len(s['tunnels']), s['more_tunnels']";
    let expected = |client: &Ends, more: usize| {
        let expected = format!("('{}', 100, {})", client.client.local(), more);
        eventually(&expected, || evaluated(&program, shown) == expected);
    };
    expected(&first[0], 3);
    drop(first.remove(0));
    expected(&first[0], 2);
    assert!(browsed(program.status()).contains("and 2 more"));
}

/// Before, each check of a load balancer logged a warning and counted as a failed tunnel.
#[test]
fn a_client_that_only_checks_the_port_counts_as_left() {
    let program = Ptunnel::through(closed_address())
        .args(&["-D", "0"])
        .more_lines(1)
        .serving()
        .watched()
        .start();
    let mut left = 0.0;
    for address in &[program.address(), program.proxy()] {
        drop(Connection::open(*address));
        Connection::open(*address).reset();
        let mut half = Connection::open(*address);
        half.send("CONNECT ");
        half.finish_sending();
        half.expect_end();
        left += 3.0;
        eventually_is(&program, "ptunnel_clients_left_total", &[], left);
    }
    assert_eq!(metric(&program, "ptunnel_tunnels_failed_total", &[]), 0.0);
    assert_eq!(program.stderr(), "");
}

#[test]
fn a_listener_has_its_name_in_the_log() {
    let gate = Gate::open();
    let folder = TempDir::new();
    let path = folder.at("a \"b\".sock");
    let program = Ptunnel::through(gate.address())
        .args(&["--via", "second.example:3"])
        .arg(format!("{}:example.org:22", path))
        .more_lines(1)
        .watched()
        .start();
    let client = UnixStream::connect(&path).expect("a listener");
    let mut server = gate.grant();
    server.grant();
    let label = format!("listen=\"{}\"", path.replace('"', "\\\""));
    eventually_is(
        &program,
        "ptunnel_tunnel_open_seconds_count",
        &[&label],
        1.0,
    );
    assert_eq!(metric(&program, "ptunnel_clients", &[&label]), 1.0);
    drop(client);
    let listen = evaluated(&program, "s['listeners'][0]['listen']");
    assert_eq!(listen, path);
    // The label has all proxies of the chain, since any of them can fail.
    let way = format!("{} via second.example:3", gate.address());
    let label = format!("proxy=\"{}\"", way);
    assert_eq!(metric(&program, "ptunnel_proxy_in_use", &[&label]), 1.0);
    assert_eq!(evaluated(&program, "s['proxies'][0]['proxy']"), way);
    fed(
        "promtool",
        &["check", "metrics"],
        &page(&program, "/metrics"),
    );
}

#[test]
fn excluded_clients_are_counted_apart() {
    let program = Ptunnel::through("a:1")
        .to("b:2")
        .args(&["--allow-from", "127.0.0.2"])
        .watched()
        .start();
    let name = "ptunnel_clients_turned_away_total";
    assert_eq!(metric(&program, name, &[]), 0.0);
    for _ in 0..3 {
        program.connect().expect_nothing();
    }
    eventually_is(&program, name, &[], 3.0);
    assert_eq!(
        evaluated(&program, "s['turned_away'], s['clients'], s['failed']"),
        "(3, 0, 0)"
    );
}

#[test]
fn a_reload_updates_the_listeners() {
    let gate = Gate::open();
    let (stays, goes, changes) = (free_port(), free_port(), free_port());
    let folder = TempDir::new();
    let follow = |rest: &str, tunnels: &[String]| {
        let proxy = gate.address();
        let text = format!("proxy = '{}'\n{}tunnels = {:?}\n", proxy, rest, tunnels);
        folder.file_with_mode("ptunnel.toml", 0o600, text)
    };
    let tunnel = |port: u16, destination: &str| format!("{}:{}", port, destination);
    let file = follow(
        "status = 0\n",
        &[
            tunnel(stays, "a.example:1"),
            tunnel(goes, "b.example:2"),
            tunnel(changes, "c.example:3"),
        ],
    );
    let program = Ptunnel::new()
        .args(&["--config", &file, "--threads", "2"])
        .more_lines(4)
        .start();
    let client = |port: u16| {
        let local = SocketAddr::from(([127, 0, 0, 1], port));
        let mut ends = Ends {
            client: Connection::open(local),
            server: gate.grant(),
        };
        ends.check();
        ends
    };
    let first: Vec<Ends> = vec![client(stays), client(goes), client(changes)];
    let shown = |expected: &str| {
        let all = "[(l['destination'], l['open'], l['clients']) for l in s['listeners']]";
        eventually(expected, || evaluated(&program, all) == expected);
    };
    shown("[('a.example:1', True, 1), ('b.example:2', True, 1), ('c.example:3', True, 1)]");

    // The status server keeps its address, and a warning reports that.
    follow(
        "via = 'second.example:3'\nstatus = 1\n",
        &[tunnel(stays, "a.example:1"), tunnel(changes, "d.example:4")],
    );
    program.signal(SIGHUP);
    shown(
        "[('a.example:1', True, 1), ('d.example:4', True, 0), ('b.example:2', False, 1), \
         ('c.example:3', False, 1)]",
    );
    program.says(&["warning: a reload doesn't change status; restart ptunnel"]);
    assert!(browsed(program.status()).contains("closed; active connections continue"));
    let way = format!("through {} via second.example:3", gate.address());
    let ways = "{l['path'].split(' ', 1)[1] for l in s['listeners'] if l['open']}";
    assert_eq!(evaluated(&program, ways), format!("{{'{}'}}", way));
    let label = &["destination=\"c.example:3\""];
    assert_eq!(metric(&program, "ptunnel_clients", label), 1.0);

    // A closed listener disappears at the reload after its last client, but its totals stay.
    drop(first);
    eventually_is(&program, "ptunnel_clients", &[], 0.0);
    let ended = |program: &Running| evaluated(program, "sum(s['ends'].values()), s['opened']");
    assert_eq!(ended(&program), "(3, 3)");
    follow("status = 0\n", &[tunnel(stays, "a.example:1")]);
    program.signal(SIGHUP);
    shown("[('a.example:1', True, 0), ('d.example:4', False, 0)]");
    assert_eq!(ended(&program), "(3, 3)");
    let carried = "s['carried']['upload'], s['listeners'][0]['carried']['upload']";
    assert_eq!(evaluated(&program, carried), "(3, 1)");
    let _new = client(stays);
    shown("[('a.example:1', True, 1), ('d.example:4', False, 0)]");
}

#[test]
fn the_history_is_kept_in_steps() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .watched()
        .start();
    let mut ends = gate.join(&program);
    ends.client.send(vec![7; 1000]);
    ends.server.receive(1000);
    eventually("a step that saw it", || {
        evaluated(&program, "max(s['history']['upload'] + [0])") != "0"
    });
    // Bytes per second, over a step of two seconds or, on a busy machine, slightly more.
    let about = evaluated(&program, "100 < sum(s['history']['upload']) <= 500");
    assert_eq!(about, "True");
    assert_eq!(
        evaluated(
            &program,
            "s['history']['clients'][-1], sum(s['history']['opened'])"
        ),
        "(1, 1)"
    );
    let times = "0 < s['open_seconds']['p50'] <= s['open_seconds']['p95'] < 5";
    assert_eq!(evaluated(&program, times), "True");
    let lengths = "len(set(len(v) for v in s['history'].values() if isinstance(v, list)))";
    assert_eq!(evaluated(&program, lengths), "1");
}

#[test]
fn the_result_of_a_probe_is_reused_for_a_while() {
    let gate = Peer::echoing();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .watched()
        .start();
    assert_eq!(page(&program, "/healthz"), "ok\n");
    assert_eq!(gate.accepted(), 0);
    for path in &["/healthz/probe", "/healthz?probe=1", "/healthz/probe"] {
        let told = page(&program, path);
        let expected = format!("ok: example.org:22 through {} in ", gate.address());
        assert!(told.starts_with(&expected), "{}", told);
    }
    assert!(gate.head().starts_with("CONNECT example.org:22 "));
    assert_eq!(
        metric(&program, "ptunnel_tunnel_open_seconds_count", &[]),
        0.0
    );
    let forbids = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let program = Ptunnel::through(forbids.address())
        .to("example.org:22")
        .watched()
        .start();
    let (head, told) = get(&program, "/healthz/probe");
    assert!(head.starts_with("HTTP/1.1 503 "), "{}", head);
    assert!(
        told.ends_with("refused example.org:22: 403 Forbidden\n"),
        "{}",
        told
    );
    assert_eq!(page(&program, "/healthz"), "ok\n");
    assert_eq!(program.stderr(), "");
    let proxy_alone = Ptunnel::new().serving().watched().start();
    let (head, told) = get(&proxy_alone, "/healthz/probe");
    assert!(head.starts_with("HTTP/1.1 404 "), "{}", head);
    assert_eq!(told, "there is no tunnel to probe\n");
}

/// Before, requests that waited for a probe took all threads.
#[test]
fn probes_leave_threads_for_other_requests() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let program = Ptunnel::through(silent.local_addr().unwrap())
        .to("example.org:22")
        .watched()
        .start();
    let ask = || {
        let mut asking = Connection::open(program.status());
        asking.send("GET /healthz/probe HTTP/1.1\r\n\r\n");
        asking
    };
    let asking: Vec<Connection> = (0..12).map(|_| ask()).collect();
    assert_eq!(page(&program, "/healthz"), "ok\n");
    let answers = asking.into_iter().map(|mut asking| asking.rest());
    let answers: Vec<String> = answers
        .map(|text| String::from_utf8(text).unwrap())
        .collect();
    let told = |words: &str| answers.iter().filter(|told| told.contains(words)).count();
    assert_eq!(
        told("too many requests wait for the probe"),
        8,
        "{:?}",
        answers
    );
    assert_eq!(told("no reply"), 4, "{:?}", answers);
}

#[test]
fn invalid_requests_are_rejected() {
    let program = Ptunnel::through("a:1").to("b:2").watched().start();
    let address = program.status();
    let first = |question: &str| ask(address, question).0.lines().next().unwrap().to_string();
    for (question, answer) in &[
        ("GET /nothing HTTP/1.1\r\n\r\n", "404 Not Found"),
        (
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
            "405 Method Not Allowed",
        ),
        (
            "CONNECT example.org:22 HTTP/1.1\r\n\r\n",
            "405 Method Not Allowed",
        ),
        (
            "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            "403 Forbidden",
        ),
        (
            "GET /healthz HTTP/1.1\r\nHost: localhost:1\r\n\r\n",
            "200 OK",
        ),
        ("GET /healthz HTTP/1.0\r\n\r\n", "200 OK"),
        // In absolute form, with which `Host` is ignored.
        (
            "GET http://127.0.0.1:9090/healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            "200 OK",
        ),
        ("GET HTTP://localhost?x HTTP/1.1\r\n\r\n", "200 OK"),
        (
            "GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "403 Forbidden",
        ),
        (
            "GET http://localhost/nothing HTTP/1.1\r\n\r\n",
            "404 Not Found",
        ),
        (
            "GET https://localhost/healthz HTTP/1.1\r\n\r\n",
            "404 Not Found",
        ),
        ("\x16\x03\x01\x02\r\n\r\n", "400 Bad Request"),
        ("nonsense\r\n\r\n", "400 Bad Request"),
    ] {
        assert_eq!(
            first(question),
            format!("HTTP/1.1 {}", answer),
            "{}",
            question
        );
    }
    let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(20_000));
    assert_eq!(first(&long), "HTTP/1.1 400 Bad Request");
}

/// RFC 9110 §9.3.2: the response has the head of a response to GET.
#[test]
fn a_head_request_gets_no_body() {
    let program = Ptunnel::through("a:1").to("b:2").watched().start();
    for path in &["/", "/healthz", "/nothing"] {
        let (head, body) = get(&program, path);
        assert_ne!(body, "");
        let question = format!("HEAD {} HTTP/1.1\r\n\r\n", path);
        assert_eq!(ask(program.status(), question), (head, String::new()));
    }
    let (head, _) = ask(program.status(), "PUT / HTTP/1.1\r\n\r\n");
    assert!(head.contains("\r\nAllow: GET, HEAD\r\n"), "{}", head);
}

#[test]
fn a_limit_of_clients_is_announced_before_it_is_reached() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["-v", "--max-connections", "10"])
        .watched()
        .start();
    let limits = |member: &str| {
        let of_clients = "[l for l in s['limits'] if l['resource'] == 'clients'][0]";
        evaluated(&program, &format!("{}['{}']", of_clients, member))
    };
    let mut clients: Vec<_> = (0..7).map(|_| gate.join(&program)).collect();
    eventually_is(&program, "ptunnel_clients", &[], 7.0);
    assert_eq!(
        (limits("used"), limits("near")),
        ("7".into(), "False".into())
    );
    clients.push(gate.join(&program));
    program.says(&["warning: near a limit: 8 of 10 clients; at the limit, clients wait"]);
    assert_eq!(
        (limits("limit"), limits("near")),
        ("10".into(), "True".into())
    );
    let used = |resource: &str| {
        let label = format!("resource=\"{}\"", resource);
        metric(&program, "ptunnel_limit_used", &[&label])
    };
    assert_eq!(used("clients"), 8.0);
    assert!(used("descriptors") > 16.0);
    drop(clients);
    program.says(&["info: no longer near a limit: ", " of 10 clients"]);
}

#[test]
fn a_limit_of_descriptors_is_announced_before_it_is_reached() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .after("ulimit -n 64")
        .start();
    let _clients: Vec<_> = (0..22).map(|_| gate.join(&program)).collect();
    let line = program.says(&["near a limit", "of 64 file descriptors"]);
    let used = line.split(' ').find_map(|word| word.parse::<usize>().ok());
    assert!(used.map_or(false, |used| used < 64), "{}", line);
    gate.join(&program).check();
}

/// The files of the control group are the test's: not every kernel offers the second version's.
#[test]
fn a_limit_of_memory_is_announced_before_it_is_reached() {
    let group = TempDir::new();
    let set = |name, mebibytes: u64| group.file(name, format!("{}\n", mebibytes << 20));
    set("memory.max", 100);
    set("memory.current", 105);
    group.file("memory.stat", format!("inactive_file {}\n", 20 << 20));
    let program = Ptunnel::through("a:1")
        .to("b:2")
        .arg("-v")
        .watched()
        .after_mounting(&format!("mount --bind {} /sys/fs/cgroup", group.at("")))
        .start();
    program.says(&[
        "warning: near a limit: 85 of 100 MiB of memory; at the limit, the kernel kills ptunnel: raise it (MemoryMax=",
    ]);
    let used = || metric(&program, "ptunnel_limit_used", &["resource=\"memory\""]);
    assert_eq!(used(), f64::from(85 << 20));
    set("memory.current", 60);
    program.says(&["info: no longer near a limit: 40 of 100 MiB of memory"]);
}

/// They take threads for a short time. Before, sixteen of them blocked all other requests.
#[test]
fn silent_clients_delay_no_tunnel_and_are_disconnected() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .watched()
        .start();
    page(&program, "/healthz");
    eventually("no request is being served", || {
        program.process().threads() < 10
    });
    let threads = program.process().threads();
    let mut silent: Vec<Connection> = (0..8).map(|_| Connection::open(program.status())).collect();
    gate.join(&program).check();
    assert_eq!(page(&program, "/healthz"), "ok\n");
    let mut many: Vec<Connection> = (0..40)
        .map(|_| Connection::open(program.status()))
        .collect();
    gate.join(&program).check();
    let start = Instant::now();
    assert_eq!(page(&program, "/healthz"), "ok\n");
    assert!(program.process().threads() <= threads + 16);
    for connection in silent.iter_mut().chain(&mut many) {
        connection.expect_end();
    }
    assert!(
        start.elapsed() < Duration::from_secs(8),
        "a silent client stays connected for too long"
    );
    assert_eq!(page(&program, "/healthz"), "ok\n");
    eventually("their threads are gone", || {
        program.process().threads() <= threads
    });
}

#[test]
fn it_listens_on_loopback_by_default() {
    let program = Ptunnel::through("a:1")
        .to("b:2")
        .args(&["-l", "127.0.0.2"])
        .watched()
        .start();
    assert_eq!(program.status().ip().to_string(), "127.0.0.1");
    assert_eq!(program.stderr(), "");
    let program = Ptunnel::through("a:1")
        .to("b:2")
        .args(&["--status", "*:0"])
        .more_lines(1)
        .start();
    program.says(&["warning: --status *:0: every host that can connect there"]);
    let port = program.status().port();
    let by_name = format!(
        "GET /healthz HTTP/1.1\r\nHost: gateway.example:{}\r\n\r\n",
        port
    );
    let (head, _) = ask(SocketAddr::from(([127, 0, 0, 1], port)), by_name);
    assert!(head.starts_with("HTTP/1.1 200 "), "{}", head);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let finished = Ptunnel::through("a:1")
        .to("b:2")
        .args(&["--status", &address])
        .run();
    finished.expect_code(1);
    assert_eq!(finished.text(), "");
    let told = format!(
        "ptunnel: cannot listen on {} for --status: Address already in use",
        address
    );
    assert!(finished.stderr.starts_with(&told), "{}", finished.stderr);
    let wrong = Ptunnel::through("a:1")
        .to("b:2")
        .args(&["--status", "here"])
        .run();
    wrong.expect_code(2);
    assert!(
        wrong
            .stderr
            .contains("--status: invalid address to listen on 'here'"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_file_can_enable_it_and_stdio_ignores_it() {
    let folder = TempDir::new();
    let proxy = Peer::echoing();
    let text = format!(
        "proxy = '{}'\nstatus = 0\ntunnels = ['0:b:2']\n",
        proxy.address()
    );
    let file = folder.file("file", text);
    let program = Ptunnel::new()
        .args(&["--config", &file])
        .more_lines(2)
        .start();
    assert_eq!(page(&program, "/healthz"), "ok\n");
    let finished = Ptunnel::new()
        .args(&["--config", &file, "-W", "b:2"])
        .run_with(b"hello");
    finished.expect_code(0);
    assert_eq!(finished.text(), "hello");
    let both = Ptunnel::through("a:1")
        .args(&["-W", "b:2", "--status", "0"])
        .run();
    both.expect_code(2);
    let checked = Ptunnel::new()
        .args(&["--config", &file, "--check-config"])
        .run();
    assert!(checked
        .text()
        .contains("would serve the status page on http://127.0.0.1:0/"));
}

/// It serves requests while the last tunnels end, and stops with them.
#[test]
fn it_serves_until_the_last_tunnel_ends() {
    let gate = Gate::open();
    let mut program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .watched()
        .start();
    let mut ends = gate.join(&program);
    ends.check();
    program.signal(SIGTERM);
    eventually("the listener is closed", || {
        !is_listening(program.address())
    });
    assert_eq!(metric(&program, "ptunnel_clients", &[]), 1.0);
    drop(ends);
    eventually("it ends", || program.has_ended());
    program.finish().expect_code(0);
}

/// The option adds two threads.
#[test]
fn it_has_no_threads_without_the_option() {
    let program = Ptunnel::through("a:1").to("b:2").start();
    let watched = Ptunnel::through("a:1").to("b:2").watched().start();
    eventually("two threads more", || {
        program.process().threads() + 2 == watched.process().threads()
    });
}

/// Returns the DOM of the page at `address` after its script has run, and the browser's log.
fn visited(address: SocketAddr) -> (String, String) {
    let folder = TempDir::new();
    let mut chromium = command("chromium");
    chromium.env("HOME", folder.path()).args(&[
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--enable-logging=stderr",
        "--virtual-time-budget=5000",
        "--dump-dom",
    ]);
    chromium.arg(format!("--user-data-dir={}", folder.at("profile")));
    chromium.arg(format!("http://{}/", address));
    let output = chromium.stdin(Stdio::null()).output().expect("chromium");
    assert!(output.status.success(), "{}", described(&output));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (String::from_utf8(output.stdout).expect("text"), said)
}

/// Returns the DOM of the page; fails if the browser logs an error of the page.
fn browsed(address: SocketAddr) -> String {
    let (page, said) = visited(address);
    assert!(!said.contains("CONSOLE"), "the page complains: {}", said);
    page
}

/// Before, the tabs of several machines looked the same.
#[test]
fn title_and_header_name_the_host() {
    let program = Ptunnel::through("a:1").to("b:2").watched().start();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let host = host.trim();
    assert_eq!(evaluated(&program, "s['host']"), host);
    let page = page(&program, "/");
    let title = format!("<title>{} – ptunnel</title>", host);
    assert!(page.contains(&title), "{}", page);
    let header = format!(">on {}</span></h1>", host);
    assert!(page.contains(&header), "{}", page);
}

#[test]
fn before_the_first_connection_the_page_says_what_to_do() {
    let program = Ptunnel::through("a:1").to("b:2").watched().start();
    let dom = browsed(program.status());
    let invitation = format!(
        "No connection yet. Connect to {} to see it here.",
        program.address()
    );
    for part in &[
        "Ready: no connection yet",
        "No failed connection",
        &invitation[..],
    ] {
        assert!(dom.contains(part), "{:?} is not in {}", part, dom);
    }
}

/// Before, times had digits that were never measured, and some were 0.
#[test]
fn times_have_measured_digits_only() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .arg("-v")
        .watched()
        .start();
    for _ in 0..9 {
        let Ends { client, mut server } = gate.join(&program);
        client.finish_sending();
        server.expect_end();
    }
    program.says(&["closed by both sides"]);
    assert!(!program.stderr().contains(" in 0s"), "{}", program.stderr());
    let address = program.status();
    let probing = std::thread::spawn(move || ask(address, "GET /healthz/probe HTTP/1.0\r\n\r\n").1);
    let _server = gate.grant();
    let probe = probing.join().unwrap();
    assert!(
        probe.starts_with("ok: ") && !probe.contains(" in 0s"),
        "{}",
        probe
    );
    eventually("a step", || {
        evaluated(&program, "any(s['history']['p50'])") == "True"
    });
    for path in &["/status.json", "/metrics"] {
        let page = page(&program, path);
        let numbers = page.split(|c: char| !c.is_ascii_digit() && c != '.');
        let long = numbers.clone().find(|number| {
            let digits = number.splitn(2, '.').nth(1).unwrap_or_default();
            digits.len() > 6 && !digits.contains('.')
        });
        assert_eq!(long, None, "{}", page);
    }
}

/// Before, any page in a browser on this machine could make ptunnel connect to the destination.
#[test]
fn a_page_of_another_site_cannot_start_a_probe() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .watched()
        .start();
    let address = program.status();
    let probe = |path: &str, field: &str| {
        let question = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n",
            path, address, field
        );
        ask(address, question).0
    };
    for path in &["/healthz/probe", "/healthz?probe=1"] {
        for field in &[
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-site",
            "Origin: null",
            "Origin: http://evil.example",
            "Origin: http://127.0.0.1:1",
        ] {
            let head = probe(path, field);
            assert!(head.starts_with("HTTP/1.1 403 "), "{}: {}", field, head);
        }
    }
    let evil = Peer::start(move |mut connection| {
        connection.read_head();
        let page = format!(
            "<img src=http://{0}/healthz/probe><script>fetch('http://{0}/healthz/probe', \
             {{ mode: 'no-cors' }})</script>",
            address
        );
        connection.send(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{}",
            page.len(),
            page
        ));
    });
    visited(evil.address());
    assert!(gate.try_accept().is_none(), "it made a probe");
    // The page itself can start a probe, and so can a client that isn't a browser.
    let own = format!("Sec-Fetch-Site: same-origin\r\nOrigin: http://{}", address);
    let asking = std::thread::spawn({
        let question = format!(
            "GET /healthz/probe HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n",
            address, own
        );
        move || ask(address, question).0
    });
    let _server = gate.grant();
    assert!(asking.join().unwrap().starts_with("HTTP/1.1 200 "));
}

#[test]
fn the_page_works_in_a_browser() {
    let gate = Gate::open();
    let program = busy(&gate);
    let mut ends = gate.join(&program);
    ends.check();
    // A line needs two steps.
    eventually("two steps", || {
        evaluated(&program, "len(s['history']['clients']) >= 2") == "True"
    });
    let dom = browsed(program.status());
    for part in &[
        "example.org:22",
        "HTTP proxy",
        "Rejected by ptunnel",
        "not in --allow-from",
        &gate.address().to_string(),
        ">in use<",
        ">down<",
        "1 of 2 proxies down",
        "2 opened since start",
        "<path class=\"one\" d=\"M",
        "only CONNECT is served",
    ] {
        assert!(dom.contains(part), "{:?} is not in {}", part, dom);
    }
}

/// Returns the texts of the page, one line for each place, and the lines of the charts.
fn read_out(dom: &str) -> String {
    let script = "
import sys
from html.parser import HTMLParser

class Page(HTMLParser):
    place, texts = None, []
    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        name, kind = attributes.get('id'), attributes.get('class', '')
        if tag == 'path' and kind in ('one', 'two'):
            print(kind + ':', attributes.get('d'))
        if tag in ('p', 'tr', 'li', 'figcaption') or kind in ('key', 'scale', 'axis'):
            self.end()
            self.place = name or kind or tag
        if kind in ('good', 'warn', 'bad'):
            self.texts.append('(' + kind + ')')
        if attributes.get('style'):
            self.texts.append(attributes['style'])
    def handle_data(self, text):
        if self.place and text.strip():
            self.texts.append(text.strip().replace('\\u00a0', ' '))
    def end(self):
        if self.texts:
            print(self.place + ':', ' | '.join(self.texts))
        self.place, self.texts = None, []
    def handle_endtag(self, tag):
        if tag in ('p', 'tr', 'li', 'figcaption', 'div'):
            self.end()

Page().feed(sys.stdin.read())
";
    fed("python3", &["-c", script], dom)
}

/// The numbers are all different, so that a number in the wrong place fails the test.
#[test]
fn the_page_shows_each_number_in_its_place() {
    let program = Ptunnel::through("a:1").to("b:2").watched().start();
    let frame = page(&program, "/");
    let status = Peer::start(move |mut connection| {
        let head = String::from_utf8(connection.read_head()).unwrap();
        let (kind, body) = match head.split(' ').nth(1) {
            Some("/") => ("text/html", &frame[..]),
            Some("/status.json") => ("application/json", NUMBERS),
            _ => return,
        };
        connection.send(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{}",
            kind,
            body.len(),
            body
        ));
    });
    let shown = read_out(&browsed(status.address()));
    assert_eq!(shown, SHOWN);
}

const NUMBERS: &str = r#"{
    "version": "9.8.7", "state": "degraded", "time": 1000000.5, "uptime": 93784, "clients": 1234, "opened": 56789,
    "left": 7, "failed": 20, "turned_away": 4, "carried": {"upload": 1536, "download": 12345678},
    "open_seconds": {"count": 2, "p50": 0.0205, "p95": 1.5},
    "ends": {"closed": 1, "client": 2, "upstream": 3, "silence": 4},
    "errors": {"name": 0, "denied": 5, "refused": 15},
    "listeners": [
        {"listen": "127.0.0.1:8993", "kind": "tunnel", "destination": "imap.example.org:993",
            "path": "", "open": true, "failing": true, "clients": 2, "opened": 10, "failed": 15,
            "carried": {"upload": 11, "download": 999500},
            "last_error": {"time": 999939.5, "cause": "refused", "text": "refused <b>"}},
        {"listen": "127.0.0.1:1080", "kind": "dynamic", "destination": "*",
            "path": "", "open": false, "failing": true, "clients": 3, "opened": 12, "failed": 0,
            "carried": {"upload": 1000, "download": 12345}, "last_error": null},
        {"listen": "127.0.0.1:3128", "kind": "proxy", "destination": "*",
            "path": "", "open": false, "failing": false, "clients": 0, "opened": 13, "failed": 1,
            "carried": {"upload": 0, "download": 1}, "last_error": null}
    ],
    "tunnels": [
        {"client": "192.0.2.7:50123", "user": "ann", "listen": "127.0.0.1:8993",
            "proxy": "one.example:1 via two:2",
            "destination": "imap.example.org:993", "since": 913600.5,
            "carried": {"upload": 31, "download": 2000}},
        {"client": "unix", "user": null, "listen": "/run/<i>.sock", "proxy": null,
            "destination": "<b onclick='alert(1)'>:1", "since": 999990.5,
            "carried": {"upload": 3000000, "download": 32}}
    ],
    "more_tunnels": 1234,
    "limits": [
        {"resource": "clients", "used": 4321, "limit": 5000, "near": true},
        {"resource": "memory", "used": 41000000, "limit": 268000000, "near": false}
    ],
    "proxies": [
        {"proxy": "one.example:1", "state": "down", "answers": 21, "failures": 22},
        {"proxy": "two.example:2", "state": "in use", "answers": 23, "failures": 24},
        {"proxy": "three.example:3", "state": "standby", "answers": 25, "failures": 26}
    ],
    "history": {"step": 20, "opened": [0, 0, 1, 0, 1, 1],
        "clients": [3, 3, 3, 3, 3, 4], "failed": [0, 5, 0, 0, 0, 3],
        "upload": [0, 0, 0, 0, 0, 1500], "download": [0, 0, 0, 0, 1000000, 2000000],
        "p50": [null, null, 0.01, null, 0.02, 0.03], "p95": [null, null, 0.1, null, 0.2, 1.5]}
}"#;

const SHOWN: &str = "\
state: (warn) | Degraded: last connection to 127.0.0.1:8993 failed, 3 connections failed in the last minute, 1 of 3 proxies down, near a limit: 4,321 of 5,000 connections
p: This page needs JavaScript. The numbers are at | /status.json | and | /metrics | .
clients: 1,234
clients-note: 56,789 opened since start
upload: 1.50 kB/s
upload-note: 1.54 kB since start
download: 2.00 MB/s
download-note: 12.3 MB since start
opening: 21 ms
opening-note: p95: 1.50 s, last 10 min
failed: 8
failed-note: last 10 min; 20 total
uptime: 1 d 2 h
version: ptunnel 9.8.7
limits: In use: | 4,321 of 5,000 connections | , | 41.0 MB of 268 MB memory
figcaption: Throughput
key: bytes in: 1.50 kB/s | bytes out: 2.00 MB/s
scale: 2 MB/s | 0
one: M590.0 100.0h0L592.0 100.0L594.0 100.0L596.0 100.0L598.0 100.0L600.0 99.9
two: M590.0 100.0h0L592.0 100.0L594.0 100.0L596.0 100.0L598.0 50.0L600.0 0.0
axis: 10 min ago | 5 min ago | now
figcaption: Connect time
key: p50: 30 ms | p95: 1.50 s
scale: 2 s | 0
one: M594.0 99.5h0L598.0 99.0L600.0 98.5
two: M594.0 95.0h0L598.0 90.0L600.0 25.0
axis: 10 min ago | 5 min ago | now
figcaption: Connections
key: active: 4 | failed: 3
scale: 5 | 0
one: M590.0 40.0h0L592.0 40.0L594.0 40.0L596.0 40.0L598.0 40.0L600.0 20.0
two: M590.0 100.0h0L592.0 0.0L594.0 100.0L596.0 100.0L598.0 100.0L600.0 40.0
axis: 10 min ago | 5 min ago | now
tr: Listener | Destination | Active | Opened | Failed | Bytes in | Bytes out
tr: 127.0.0.1:8993 | last connection failed | imap.example.org:993 | 2 | 10 | 15 | 11 B | 1.00 MB
tr: 127.0.0.1:1080 | closed; active connections continue | chosen by the client | SOCKS or HTTP | 3 | 12 | 0 | 1.00 kB | 12.3 kB
tr: 127.0.0.1:3128 | closed | chosen by the client | HTTP proxy | 0 | 13 | 1 | 0 B | 1 B
tr: Proxy | State | Replies | Failures
tr: one.example:1 | (bad) | down | 21 | 22
tr: two.example:2 | (good) | in use | 23 | 24
tr: three.example:3 | standby | 25 | 26
cause-refused: Refused by the proxy | width: 100%; | 15 | 403, 407: ask the administrator of the proxy to allow CONNECT to this host and port. 502, 503, 504: the proxy cannot reach the destination. 302, 511: log in to this network with a browser.
cause-denied: Rejected by ptunnel | width: 33.3333%; | 5 | 400, 405: the client sent a request that this listener does not serve. 403: --serve-allow does not list the destination, or its addresses are excluded. 407: wrong username or password. 502, 503, 504: ptunnel cannot reach the destination.
turned-away: 4 connections closed: client not in --allow-from
li: Last error on 127.0.0.1:8993, 1 min 1 s ago | refused <b> | What to do
more: docs/guide.md explains every message under Troubleshooting. ptunnel --test shows the step that fails.
tr: Client | Destination | Path | Duration | Bytes in | Bytes out
tr: ann at 192.0.2.7:50123 | on 127.0.0.1:8993 | imap.example.org:993 | through one.example:1 via two:2 | 1 d | 31 B | 2.00 kB
tr: Unix socket | on /run/<i>.sock | <b onclick='alert(1)'>:1 | direct | 10 s | 3.00 MB | 32 B
tunnels-note: and 1,234 more
";
