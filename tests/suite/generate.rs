//! The man page and the completions, checked with the programs that read them, and the option
//! reference.

use support::repository::text_of;
use support::{parts, Ptunnel, TempDir};

fn generated(kind: &str) -> String {
    let finished = Ptunnel::new().args(&["--generate", kind]).run();
    finished.expect_code(0);
    assert_eq!(finished.stderr, "");
    finished.text()
}

/// Runs a script that finds the generated text in the file `$1`; returns what it prints.
fn shell(program: &str, args: &[&str], script: &str, file: &str) -> String {
    let mut words = args.to_vec();
    words.extend(&["-c", script]);
    if program != "fish" {
        words.push(program);
    }
    words.push(file);
    let mut command = parts::command(program);
    let output = command.args(words).env("TERM", "vt100").output();
    let output = output.expect("a shell");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}: {}",
        program,
        parts::described(&output)
    );
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn docs_reference_md_is_what_the_program_prints() {
    let page = text_of("docs/reference.md");
    let is_same = page == generated("reference");
    assert!(
        is_same,
        "run: ptunnel --generate reference >docs/reference.md"
    );
}

/// Returns formatted text without the backspaces with which bold and italics are printed.
fn plain(output: Vec<u8>) -> String {
    let mut plain = String::new();
    for c in String::from_utf8(output).expect("text").chars() {
        if c == '\u{8}' {
            plain.pop();
        } else {
            plain.push(c);
        }
    }
    plain
}

#[test]
fn the_manual_page_is_complete_and_without_errors() {
    let folder = TempDir::new();
    let text = generated("man");
    let file = folder.file("ptunnel.1", &text);
    for (program, args) in &[
        ("groff", &["-man", "-ww", "-z", "-Tutf8", &file][..]),
        ("mandoc", &["-Tlint", "-Wwarning", &file]),
    ] {
        let output = parts::output(program, args);
        let said = parts::described(&output);
        assert!(output.status.success(), "{}: {}", program, said);
        let is_silent = output.stdout.is_empty() && output.stderr.is_empty();
        assert!(is_silent, "{}: {}", program, said);
    }
    // As man does on a terminal of 80 columns.
    let by_groff = parts::run(
        "groff",
        &["-man", "-Tutf8", "-P-cbou", "-rLL=78n", "-rLT=78n", &file],
    );
    let by_mandoc = parts::run("mandoc", &["-Tutf8", "-Owidth=78", &file]);
    let (by_groff, plain) = (plain(by_groff), plain(by_mandoc));
    for line in by_groff.lines().chain(plain.lines()) {
        assert!(line.chars().count() <= 80, "{}", line);
    }
    for words in &[
        "ptunnel - carries",
        "-p, --proxy PROXY ...",
        "-4, --ipv4",
        "EXIT STATUS",
        "CONFIGURATION FILE",
        "tunnels = [\"8993:imap.example.org:993\"]",
        "FILES",
        "/etc/ptunnel/ptunnel.toml",
        "SIGNALS",
        "SIGHUP",
        "PTUNNEL_PASSWORD",
        "PATH:HOST:HOSTPORT",
        "Configuration file: connect-timeout = 5",
        "Requires: --proxy-cert",
        "Conflicts with: --ipv6",
    ] {
        assert!(plain.contains(words), "{:?} is not in {}", words, plain);
    }
}

#[test]
fn bash_completes_flags_values_and_files() {
    let folder = TempDir::new();
    let file = folder.file("ptunnel.bash", generated("complete-bash"));
    folder.file("a password", "");
    let script = r#"
        source "$1"; cd "${1%/*}"; complete -p ptunnel
        compopt() { echo "with $*"; }  # bash's own only works at a prompt
        try() {
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ptunnel
            printf '%s:' "${COMPREPLY[@]}"; echo
        }
        try ptunnel --spl
        try ptunnel -p proxy.example:3128 1:a:1 --direct
        try /usr/bin/ptunnel --splice ne
        try ptunnel --splice =
        try ptunnel --splice = al
        try ptunnel -p ''
        try ptunnel --proxy-auth di
        try ptunnel --log-to ''
        try ptunnel --password-file a
    "#;
    let printed = shell("bash", &["--norc"], script, &file);
    let expected = "complete -F _ptunnel ptunnel\n--splice:\n--direct-fallback:\nnever:\n\
                    auto:never:always:\nalways:\n:\ndigest:\nstderr:syslog:\nwith -o filenames\na password:\n";
    assert_eq!(printed, expected);
}

/// The only way to zsh's completion is a terminal.
#[test]
fn zsh_completes_flags_values_and_files() {
    let folder = TempDir::new();
    let file = folder.file("_ptunnel", generated("complete-zsh"));
    folder.file("a password", "");
    let script = r#"
        zmodload zsh/zpty
        zpty z zsh -f -i
        zpty -w z "cd ${1:h}; fpath=(${1:h} \$fpath); autoload -Uz compinit; compinit -u -d dump"
        zpty -w z 'ptunnel() { for word; do print -rn -- "<$word>"; done; print " done" }'
        zpty -w -n z $'ptunnel --spl\tau\t\n'
        zpty -w -n z $'ptunnel -p p:1 1:a:1 --direct\t\n'
        zpty -w -n z $'ptunnel --password-file a\t\n'
        zpty -w -n z $'ptunnel -p a\t\n'
        zpty -w -n z $'ptunnel --log-to=sy\t\n'
        zpty -w z 'print all " done"'
        zpty -r -m z said '*all  done*'
        print -r -- "$said"
    "#;
    let said = shell("zsh", &["-f"], script, &file);
    for words in &[
        "<--splice=auto>",
        "<-p><p:1><1:a:1><--direct-fallback>",
        "<--password-file><a password>",
        "<-p><a>",
        "<--log-to=syslog>",
    ] {
        assert!(said.contains(words), "{:?} is not in {}", words, said);
    }
}

#[test]
fn fish_completes_flags_values_and_files() {
    let folder = TempDir::new();
    let file = folder.file("ptunnel.fish", generated("complete-fish"));
    folder.file("a password", "");
    let script = r#"
        source $argv[1]; cd (dirname $argv[1])
        for line in '--spl' '-p p:1 1:a:1 --direct' '--splice ne' '-p ' '--proxy-auth n' '--password-file a'
            complete -C "ptunnel $line" | string replace -r '\t.*' ''
            echo .
        end
    "#;
    let home = folder.at("");
    let mut command = parts::command("fish");
    command
        .args(&["--no-config", "-c", script, &file])
        .env("HOME", home);
    let output = command.output().expect("fish");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "--splice\n.\n--direct-fallback\n.\nnever\n.\n.\nnegotiate\nntlm\n.\na password\n.\n",
        "{}",
        parts::described(&output)
    );
}
