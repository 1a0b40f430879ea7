//! A canary for a password: where it can appear, and where never.
//!
//! `auth` in the suite tests which proxy gets the credentials; here it is where else they could
//! leak.

use std::fs;
use std::io::{BufRead, Write};

use support::program::start_on_terminal;
use support::{closed_address, eventually, sys};
use support::{Connection, Peer, Process, Ptunnel, Running, TempDir};

const CANARY: &str = "kanarienvogel";

/// `joe:kanarienvogel`, encoded as in Basic.
const ENCODED: &str = "am9lOmthbmFyaWVudm9nZWw=";

#[track_caller]
fn assert_hidden(text: &str) {
    for secret in &[CANARY, ENCODED] {
        assert!(!text.contains(secret), "{:?} in {}", secret, text);
    }
}

/// Returns the program with each way to give it the password for this proxy.
fn with_password(proxy: &Peer, folder: &TempDir) -> Vec<Ptunnel> {
    let file = folder.file_with_mode("password", 0o600, format!("{}\n", CANARY));
    let url = format!("http://joe:{}@{}", CANARY, proxy.address());
    let through = || Ptunnel::through(proxy.address());
    let login = format!("joe:{}", CANARY);
    let written = format!("user = \"{}\"\n", login);
    let written = folder.file_with_mode("ptunnel.toml", 0o600, written);
    vec![
        through().args(&["--config", &written]),
        through().args(&["-U", &login]),
        through().arg(format!("-U{}", login)),
        through().arg(format!("--user={}", login)),
        through().args(&["-U", "joe", "-P", CANARY]),
        through().args(&["-U", "joe"]).arg(format!("-P{}", CANARY)),
        through()
            .args(&["-U", "joe"])
            .arg(format!("--password={}", CANARY)),
        through().args(&["-U", "joe", "--password-file", &file]),
        through()
            .args(&["-U", "joe"])
            .env("PTUNNEL_PASSWORD", CANARY),
        Ptunnel::through(&url),
        Ptunnel::new().arg(format!("--proxy={}", url)),
        Ptunnel::new().env("https_proxy", url),
    ]
}

/// Returns the command line, which any user of the machine can read.
fn command_line(process: Process) -> String {
    let bytes = fs::read(format!("/proc/{}/cmdline", process.0)).expect("the process lives");
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// A proxy that replies to each connection differently, in some replies with the request.
fn fickle_proxy() -> Peer {
    Peer::start(|mut connection: Connection| {
        let head = String::from_utf8(connection.read_head()).unwrap();
        if head.is_empty() {
            return; // the peer is being dropped
        }
        assert!(head.contains(ENCODED), "{}", head);
        let (in_line, number) = (head.replace("\r\n", " "), connection.number);
        let reply = match number % ANSWERS {
            0 => "HTTP/1.1 200 OK\r\n\r\n".to_string(),
            1 => format!("HTTP/1.1 403 No\r\n\r\n{}", head),
            2 => format!("HTTP/1.1 403 {}\r\n\r\n", in_line),
            3 => head,
            4 => return connection.reset(),
            // The last one, because the password is withheld for a while after it.
            _ => format!(
                "HTTP/1.1 407 {}\r\nProxy-Authenticate: Basic\r\n\r\n",
                in_line
            ),
        };
        let _ = connection.try_send(reply);
        connection.finish_sending();
        connection.drain();
    })
}

const ANSWERS: usize = 6;

/// Connects one client for each of the proxy's replies.
fn provoke(program: &Running) {
    for _ in 0..ANSWERS {
        let mut client = program.connect();
        client.finish_sending();
        client.rest_or_reset();
    }
}

#[test]
fn no_log_shows_a_password_at_any_verbosity() {
    let folder = TempDir::new();
    for settings in &[
        "-q",
        "-v",
        "-vv",
        "-vvv",
        "-vvvvvv",
        "-vvv --log-format=json",
    ] {
        let settings: Vec<&str> = settings.split(' ').collect();
        let proxy = fickle_proxy();
        for program in with_password(&proxy, &folder) {
            let program = program.to("example.org:22").args(&settings).start();
            provoke(&program);
            program.signal(sys::SIGTERM);
            let finished = program.finish();
            finished.expect_code(0);
            assert_hidden(&finished.stderr);
            let is_quiet = settings == ["-q"];
            assert_eq!(
                finished.stderr.contains("refused"),
                !is_quiet,
                "{}",
                finished.stderr
            );
        }
    }
}

/// A proxy's reply is shown, and one that repeats the request repeats the password.
#[test]
fn no_error_shows_a_password() {
    let folder = TempDir::new();
    let proxy = fickle_proxy();
    for answer in 0..ANSWERS {
        // The proxy continues with its replies, so that each way meets each reply.
        let mut codes = Vec::new();
        for program in with_password(&proxy, &folder) {
            let finished = program.args(&["-W", "example.org:22", "-vvv"]).run();
            assert_hidden(&finished.stderr);
            codes.push(finished.code());
        }
        assert!(
            codes.contains(&3) && codes.contains(&4),
            "{}: {:?}",
            answer,
            codes
        );
    }
}

#[test]
fn no_command_line_shows_a_password_once_the_program_serves() {
    let folder = TempDir::new();
    let proxy = Peer::echoing();
    for program in with_password(&proxy, &folder) {
        let program = program.to("example.org:22").start();
        let shown = command_line(program.process());
        assert_hidden(&shown);
        // Arguments that aren't secret stay visible.
        assert!(shown.contains("0:example.org:22"), "{}", shown);
    }
    let login = format!("joe:{}", CANARY);
    let dynamic = Ptunnel::through(proxy.address()).args(&["-D", "0"]);
    for (option, program) in vec![
        ("--serve-user", Ptunnel::new().serving()),
        ("--dynamic-user", dynamic.more_lines(1)),
    ] {
        let program = program.args(&[option, &login]).start();
        let shown = command_line(program.process());
        assert_hidden(&shown);
        let left = format!("{} joe:***", option);
        assert!(shown.contains(&left), "{}", shown);
        assert_eq!(core_filter(program.process()), "00000000");
    }
}

/// A user can take minutes to type the second password, while the first is on the command line.
#[test]
fn no_command_line_shows_a_password_during_a_prompt_for_another() {
    let program = Ptunnel::through(format!("http://joe:{}@192.0.2.1:1", CANARY))
        .proxy("http://bob@192.0.2.2:1")
        .arg("0:example.org:22");
    let (mut program, mut person) = start_on_terminal(program);
    eventually("the question", || !sys::echoes(&person));
    assert_hidden(&command_line(program.process()));
    person.write_all(b"x\n").unwrap();
    program.read_lines(1);
}

/// Returns which parts of its memory a core dump contains.
fn core_filter(process: Process) -> String {
    let path = format!("/proc/{}/coredump_filter", process.0);
    let text = fs::read_to_string(path).expect("the process lives");
    text.trim().to_string()
}

/// Regression: it was in the core of a program that had not begun to serve.
#[test]
fn a_core_dump_holds_no_password_during_a_prompt_for_another() {
    let program = Ptunnel::through(format!("http://joe:{}@192.0.2.1:1", CANARY))
        .proxy("http://bob@192.0.2.2:1")
        .arg("0:example.org:22");
    let (mut program, mut person) = start_on_terminal(program);
    eventually("the question", || !sys::echoes(&person));
    assert_eq!(core_filter(program.process()), "00000000");
    person.write_all(b"x\n").unwrap();
    program.read_lines(1);
    assert_eq!(core_filter(program.process()), "00000000");
}

/// Without a password there is nothing to hide, and a core dump can be useful.
#[test]
fn a_core_dump_without_a_password_is_unchanged() {
    for filter in &["0x33", "0x7", "0x10"] {
        let program = Ptunnel::through("192.0.2.1:1")
            .to("example.org:22")
            .after(&format!("echo {} > /proc/$$/coredump_filter", filter))
            .start();
        let shown = core_filter(program.process());
        let digits = filter.trim_start_matches("0x");
        assert_eq!(shown.trim_start_matches('0'), digits, "{}", shown);
    }
}

/// A reload can add the first password.
#[test]
fn a_core_dump_holds_no_password_that_a_reload_brings() {
    let folder = TempDir::new();
    let text = "proxy = '192.0.2.1:1'\ntunnels = '0:example.org:22'\n";
    let file = folder.file_with_mode("ptunnel.toml", 0o600, text);
    let program = Ptunnel::new().args(&["--config", &file]).more_lines(1);
    let mut program = program.start();
    assert_ne!(core_filter(program.process()), "00000000");
    let more = format!("{}user = 'joe:{}'\n", text, CANARY);
    fs::write(&file, more).expect("the file");
    program.signal(sys::SIGHUP);
    // Another user means another tunnel, and its line is printed first.
    program.read_lines(1);
    let mut told = String::new();
    program.stdout().read_line(&mut told).expect("text");
    assert!(told.starts_with("reloaded "), "{}", told);
    assert_eq!(core_filter(program.process()), "00000000");
}

/// Regression: there was no warning. A machine can hide /proc from processes that serve others.
#[test]
fn passwords_in_a_possible_core_dump_cause_a_warning() {
    let proxy = Peer::echoing();
    let start = |args: &[&str]| {
        let program = Ptunnel::through(proxy.address()).to("example.org:22");
        let hidden = program.after_mounting("mount -t tmpfs none /proc");
        let program = hidden.args(args).start();
        let mut client = program.connect();
        client.send("x");
        client.expect("x");
        drop(client);
        program.signal(sys::SIGTERM);
        program.finish().stderr
    };
    let login = format!("joe:{}", CANARY);
    let told = start(&["-v", "-U", &login]);
    let line = "info: core dumps may show passwords: coredump_filter: No such file or directory";
    assert!(told.contains(line), "{}", told);
    let told = start(&["-v"]);
    assert!(!told.contains("core dumps"), "{}", told);
}

#[test]
fn no_error_about_the_command_line_shows_a_password() {
    let login = format!("joe:{}", CANARY);
    let url = format!("http://{}@192.0.2.1:1", login);
    let field = format!("Proxy-Authorization: Basic {}", ENCODED);
    let without_colon = format!("proxy-authorization Basic {}", ENCODED);
    let broken = format!("{}\n", CANARY);
    for args in &[
        &["-U", &login, "-P", CANARY, "-w", "x"][..],
        &["-U", &login, "-U", &login],
        &["-P", CANARY, "-P", CANARY],
        &["-P", CANARY, "--password-file", "/dev/null"],
        &["-U", "joe", "-P", &broken],
        &["-U", "j:oe", "-P", &broken],
        &["--password", CANARY, "--no-such-option"],
        &["--pasword", CANARY],
        &["-p", &url.replace("http", "socks4")],
        &["-p", &url.replace(":1", ":port")],
        &["-p", &url, "-p", "nonsense"],
        &[
            "--serve-proxy",
            "127.0.0.1:0",
            "--serve-user",
            &format!(":{}", CANARY),
        ],
        &["--serve-proxy", "nonsense", "--serve-user", &login],
        &["--serve-user", &login],
        &["-D", "0", "--dynamic-user", &format!(":{}", CANARY)],
        &["-D", "nonsense", "--dynamic-user", &login],
        &["--dynamic-user", &login],
        &["-D", "0", "--dynamic-user", &login.repeat(30)],
        &["-H", &field],
        &["-H", &without_colon],
        &["-H", &format!("  {}", field)],
    ] {
        let program = Ptunnel::through("192.0.2.1:1").to("example.org:22");
        // An unknown flag takes no value, so the next argument is a tunnel, which is shown.
        if args[0] == "--pasword" {
            program.arg(format!("{}={}", args[0], args[1])).run()
        } else {
            program.args(args).run()
        }
        .expect_code(2)
        .stderr
        .split('\n')
        .for_each(assert_hidden);
    }
}

#[test]
fn no_error_about_a_file_shows_a_password() {
    let folder = TempDir::new();
    for text in &[
        "password = kanarienvogel",
        "password = \"kanarienvogel",
        "password = 5kanarienvogel",
        "password \"kanarienvogel\"",
        "password = [\"kanarienvogel\"]",
        "password = { is = \"kanarienvogel\" }",
        "passwort = \"kanarienvogel\"",
        "password = \"kanarienvogel\"\npassword = \"kanarienvogel\"",
        "password = \"kanarienvogel\"\npassword-file = \"/dev/null\"",
        "user = \":kanarienvogel\"",
        "proxy = \"joe:kanarienvogel@\"",
        "proxy = [\"a:1\", \"socks4://joe:kanarienvogel@a:1\"]",
        "header = \"Proxy-Authorization: Basic kanarienvogel\"",
    ] {
        let file = folder.file_with_mode("ptunnel.toml", 0o600, text);
        let program = Ptunnel::through("192.0.2.1:1").to("example.org:22");
        // The file's proxies would be overridden by one on the command line.
        let program = if text.starts_with("proxy") {
            Ptunnel::new().to("example.org:22")
        } else {
            program
        };
        let finished = program.args(&["--config", &file]).run();
        finished.expect_code(2);
        assert_hidden(&finished.stderr);
    }
}

/// The remains of an aborted program.
struct Remains {
    /// The parts of its memory that a core dump should contain.
    filter: String,
    /// `None` if the machine passes core dumps to a program, or to another folder.
    core: Option<String>,
}

/// Carries a tunnel and is aborted; panics if there is no core although there should be one.
fn abort(program: Ptunnel) -> Remains {
    let folder = TempDir::new();
    let script = format!("cd {}; ulimit -c unlimited", folder.path().display());
    let program = program.to("example.org:22").after(&script).start();
    let mut client = program.connect();
    client.send("x");
    client.expect("x");
    let filter = core_filter(program.process());
    program.signal(libc::SIGABRT);
    drop(program.finish());
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").expect("the pattern");
    if pattern.starts_with('|') || pattern.contains('/') {
        return Remains { filter, core: None };
    }
    let left = fs::read_dir(folder.path()).expect("the folder").next();
    let core = left.expect("no core in the working folder: it wants `ulimit -Hc unlimited`");
    let bytes = fs::read(core.expect("an entry").path()).expect("the core");
    assert!(bytes.starts_with(b"\x7fELF"), "that is no core");
    Remains {
        filter,
        core: Some(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Every connection needs the password again, so it stays in memory; files that outlive the process
/// must not contain it.
#[test]
fn a_core_dump_holds_no_password() {
    let proxy = Peer::echoing();
    let login = format!("joe:{}", CANARY);
    let Remains { filter, core } = abort(Ptunnel::through(proxy.address()).args(&["-U", &login]));
    assert_eq!(filter, "00000000");
    for secret in &[CANARY, ENCODED] {
        let is_shown = core.as_ref().map_or(false, |core| core.contains(secret));
        assert!(!is_shown, "it is in the core");
    }
    // Without a secret, the same search finds the text, and not only in the 80 bytes of the command
    // line that every core contains.
    let tag = format!("X-Tag: {}{}", "y".repeat(100), CANARY);
    let Remains { filter, core } = abort(Ptunnel::through(proxy.address()).args(&["-H", &tag]));
    assert_ne!(filter, "00000000");
    let is_shown = core.map_or(true, |core| core.contains(CANARY));
    assert!(is_shown, "the core holds no memory");
}

/// Returns the number of instructions that the program takes to compare a client's credentials with
/// the right ones, if it replies with `answer`.
fn cost(program: Ptunnel, said: impl AsRef<[u8]>, answer: impl AsRef<[u8]>) -> u64 {
    const COUNTING: &str = "set -f; set -- valgrind --quiet --tool=callgrind \
        --collect-atstart=no --toggle-collect=*auth::is_same*";
    let folder = TempDir::new();
    let counted = folder.at("counted");
    let script = format!("{} --callgrind-out-file={} \"$@\"", COUNTING, counted);
    let program = program.after(&script).start();
    let mut client = Connection::open(program.listening()[0].address());
    client.send(said);
    client.expect(answer);
    drop(client);
    program.signal(sys::SIGTERM);
    program.finish().expect_code(0);
    let counted = fs::read_to_string(counted).expect("what valgrind counted");
    let mut totals = counted
        .lines()
        .filter_map(|line| line.strip_prefix("totals: "));
    let total = totals.next().and_then(|count| count.trim().parse().ok());
    total.unwrap_or_else(|| panic!("no total: {}", counted))
}

/// If the time shows how much of a guess was right, a client needs few guesses.
#[test]
fn a_wrong_guess_costs_the_same_wherever_it_differs() {
    let right = "am9lOnh4".to_string() + &"eHh4".repeat(100);
    let early = format!("b{}", &right[1..]);
    let late = format!("{}5", &right[..right.len() - 1]);
    let cost = |guess: &str, status: &str| {
        let login = format!("joe:xx{}", "xxx".repeat(100));
        let program = Ptunnel::new().serving().args(&["--serve-user", &login]);
        let request = format!(
            "CONNECT {} HTTP/1.1\r\nProxy-Authorization: Basic {}\r\n\r\n",
            closed_address(),
            guess
        );
        cost(program, request, format!("HTTP/1.1 {} ", status))
    };
    let costs = [cost(&early, "407"), cost(&late, "407"), cost(&right, "502")];
    assert_same(&costs, right.len());
}

#[test]
fn a_wrong_guess_in_socks_costs_the_same_wherever_it_differs() {
    let cost = |user: &str, password: &str, status: u8| {
        let login = format!("joe:{}", "x".repeat(250));
        let program = Ptunnel::through("192.0.2.1:1").args(&["-D", "0"]);
        let program = program.args(&["--dynamic-user", &login]).more_lines(1);
        let guess = format!("\u{5}\u{1}\u{2}\u{1}\u{3}{}{}", user, password);
        let (front, password) = guess.as_bytes().split_at(8);
        let said = [front, &[250], password].concat();
        cost(program, said, [5, 2, 1, status])
    };
    let x = |count| "x".repeat(count);
    let costs = [
        cost("joe", &format!("y{}", x(249)), 1),
        cost("joe", &format!("{}y", x(249)), 1),
        cost("jim", &x(250), 1),
        cost("jim", &format!("y{}", x(249)), 1),
        cost("joe", &x(250), 0),
    ];
    assert_same(&costs, 253);
}

#[track_caller]
fn assert_same(costs: &[u64], least: usize) {
    println!("instructions: {:?}", costs);
    // Otherwise the credentials are compared elsewhere.
    assert!(costs[0] > least as u64, "{:?}", costs);
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{:?}", costs);
}
