//! README.md: its length, its commands, and the output that it shows.

use crate::examples::examples;
use crate::names::with_hosts;
use support::program::binary;
use support::repository::text_of;
use support::{parts, Peer, Ptunnel, TempDir};

const MOST_WORDS: usize = 800;

fn readme() -> String {
    text_of("README.md")
}

/// The command line of ptunnel in a command: the command itself, or ssh's ProxyCommand.
fn ptunnel_in(command: &str) -> Option<String> {
    const PROXY_COMMAND: &str = "ProxyCommand='";
    if command.starts_with("ptunnel ") {
        return Some(command.to_string());
    }
    let begin = command.find(PROXY_COMMAND)? + PROXY_COMMAND.len();
    let inner = command[begin..].split('\'').next().unwrap();
    Some(inner.replace("%h", "host.example.org").replace("%p", "22"))
}

#[test]
fn has_at_most_800_words() {
    let text = readme();
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    let words = text.split_whitespace().filter(is_word).count();
    assert!(words <= MOST_WORDS, "{} words", words);
}

#[test]
fn each_command_is_valid() {
    let home = TempDir::new();
    home.file_with_mode(".proxy-password", 0o600, "secret\n");
    let mut checked = 0;
    for example in examples(&readme()) {
        let command = match ptunnel_in(&example.command) {
            Some(command) if !command.contains(" --test ") => command,
            _ => continue,
        };
        let script = format!(
            "ptunnel() {{ \"$PTUNNEL\" \"$@\" --check-config; }}; {}",
            command
        );
        let output = parts::command("sh")
            .args(&["-ec", &script])
            .env("HOME", home.path())
            .env("PTUNNEL", binary())
            .env("https_proxy", "http://joe:secret@proxy.example:3128")
            .output()
            .expect("a shell");
        let described = parts::described(&output);
        assert!(output.status.success(), "{}: {}", command, described);
        assert!(output.stderr.is_empty(), "{}: {}", command, described);
        let summary = String::from_utf8_lossy(&output.stdout);
        for line in &example.output {
            let listener = line.trim_start_matches("listening on ");
            assert!(summary.contains(listener), "{}: {}", line, summary);
        }
        checked += 1;
    }
    assert!(checked >= 8, "{} commands were found", checked);
}

#[test]
fn shows_what_the_test_of_a_forbidden_destination_prints() {
    let text = readme();
    let example = examples(&text)
        .into_iter()
        .find(|example| example.command.contains(" --test "))
        .expect("an example of --test");
    let proxy =
        Peer::replying("HTTP/1.1 403 Forbidden\r\nX-Squid-Error: ERR_ACCESS_DENIED 0\r\n\r\n");
    let port = proxy.address().port().to_string();
    let folder = TempDir::new();
    folder.file("hosts", "127.0.0.1 proxy.example\n");
    let args: Vec<String> = example
        .command
        .split(' ')
        .skip(1)
        .map(|word| word.replace("3128", &port))
        .collect();
    let args: Vec<&str> = args.iter().map(|arg| &arg[..]).collect();
    let finished = with_hosts(Ptunnel::new().args(&args), &folder).run();
    finished.expect_code(3);
    let shown: Vec<String> = example
        .output
        .iter()
        .map(|line| without_numbers(line, "3128"))
        .collect();
    let printed = finished.text();
    let printed: Vec<String> = printed
        .lines()
        .map(|line| without_numbers(line, &port))
        .collect();
    assert_eq!(shown, printed);
}

/// The words of a line without times, IP addresses and the proxy's port.
fn without_numbers(line: &str, port: &str) -> String {
    let line = line.replace(&format!("proxy.example:{}", port), "proxy.example:PORT");
    let words = line.split_whitespace().map(|word| {
        let is_number = !word.contains(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
        if is_number {
            "N"
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
