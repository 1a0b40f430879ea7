//! The commands of docs/guide.md: each is valid, and opens the listeners that the guide shows.

use std::fs;

use crate::examples::{blocks, examples};
use crate::sandbox;
use support::program::binary;
use support::repository::text_of;
use support::tls::Authority;
use support::{parts, Peer, TempDir};

/// Checks a command line instead of running it.
const PTUNNEL: &str = "ptunnel() {
    case \" $* \" in *' --check-config '*) ;; *) set -- \"$@\" --check-config ;; esac
    \"$PTUNNEL\" \"$@\"
}
";

/// The part of a command that runs ptunnel to serve clients: the command itself, or the
/// ProxyCommand of ssh.
fn serving(command: &str) -> Option<String> {
    let inner = match command.split("ProxyCommand='").nth(1) {
        Some(rest) => rest.split('\'').next().unwrap(),
        None => command,
    };
    let has = |word| inner.split(' ').any(|other| other == word);
    if !has("ptunnel") || has("--test") || has("--generate") {
        return None;
    }
    Some(inner.replace("%h", "host.example.org").replace("%p", "22"))
}

#[test]
fn each_command_is_valid() {
    let text = text_of("docs/guide.md");
    let text = text.replace(" \\\n    ", " ");
    let home = TempDir::new();
    let at_home = |text: &str| text.replace("/etc/ptunnel/", &home.at(""));
    for name in &[
        "password",
        ".proxy-password",
        ".dynamic-password",
        ".serve-password",
    ] {
        home.file_with_mode(name, 0o600, "secret\n");
    }
    let netrc = "machine proxy.example login joe password secret\n\
                 machine gateway.example login ann password secret\n";
    home.file_with_mode(".netrc", 0o600, netrc);
    let pac = "function FindProxyForURL(url, host) { return 'DIRECT'; }\n";
    home.file("corp.pac", pac);
    // --check-config fetches the file of a URL.
    let server = Peer::replying(format!("HTTP/1.1 200 OK\r\n\r\n{}", pac));
    let url = format!("http://{}/wpad.dat", server.address());
    let text = text.replace("http://wpad.corp.example/wpad.dat", &url);
    let authority = Authority::new();
    let identity = authority.issue("server", "DNS:gateway.example");
    let (cert, key) = (fs::read(identity.certificate), fs::read(identity.key));
    home.file_with_mode("server.pem", 0o600, [cert.unwrap(), key.unwrap()].concat());
    let hash = "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
    home.file_with_mode("users", 0o600, format!("ann:{}\n", hash));
    let config = blocks(&text, "toml").find(|block| block.starts_with("# ptunnel.toml\n"));
    home.file("ptunnel.toml", at_home(config.expect("a config file")));

    let mut checked = 0;
    for example in examples(&text) {
        let command = match serving(&example.command) {
            Some(command) => at_home(&command),
            None => continue,
        };
        let output = parts::command("sh")
            .args(&["-c", &format!("{}{}", PTUNNEL, command)])
            .current_dir(home.path())
            .env("HOME", home.path())
            .env("https_proxy", sandbox::PROXY)
            .env("PTUNNEL", fs::canonicalize(binary()).expect("the program"))
            .output()
            .expect("a shell");
        let described = parts::described(&output);
        assert!(output.status.success(), "{}: {}", command, described);
        assert!(output.stderr.is_empty(), "{}: {}", command, described);
        let summary = String::from_utf8_lossy(&output.stdout);
        let without_users = summary.replace(" as joe", "").replace(" as ann", "");
        for line in &example.output {
            let listener = line.split("listen on ").last().unwrap();
            let listener = listener.trim_start_matches("listening on ");
            let is_shown = summary.contains(listener) || without_users.contains(listener);
            assert!(is_shown, "{}: {}", line, described);
        }
        checked += 1;
    }
    assert!(checked >= 25, "{} commands", checked);
}
