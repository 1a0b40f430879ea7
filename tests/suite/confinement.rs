//! System calls that the running program can no longer make.

use crate::reload::Site;
use support::parts::preloadable;
use support::process::Process;
use support::{Peer, Ptunnel, TempDir};

/// Makes two calls in the place of listen(2), when the program has started up, and writes their errors.
const ATTEMPTS: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int listen(int socket, int backlog)
{
    char *none[] = { 0 };
    FILE *file = fopen(getenv("ATTEMPTS"), "w");
    execve("/nonexistent", none, none);
    fprintf(file, "execve %d\n", errno);
    syscall(SYS_setns, -1, 0);
    fprintf(file, "setns %d\n", errno);
    fclose(file);
    return syscall(SYS_listen, socket, backlog);
}
"#;

/// Starts a tunnel with these options; returns the errors of the calls, and the process.
fn attempts(args: &[&str]) -> (String, Vec<(String, String)>) {
    let folder = TempDir::new();
    let (library, results) = (preloadable(&folder, ATTEMPTS), folder.at("results"));
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .to("a.example:1")
        .env("LD_PRELOAD", library)
        .env("ATTEMPTS", results.clone())
        .args(args)
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    let bits = |thread: Process| (thread.status("NoNewPrivs"), thread.status("Seccomp"));
    let bits = program
        .process()
        .thread_ids()
        .into_iter()
        .map(bits)
        .collect();
    (std::fs::read_to_string(results).expect("results"), bits)
}

fn errors(execve: i32, setns: i32) -> String {
    format!("execve {}\nsetns {}\n", execve, setns)
}

#[test]
fn a_running_program_can_start_no_other_and_change_no_namespace() {
    let (errors_seen, bits) = attempts(&["-v", "--threads", "2"]);
    assert_eq!(errors_seen, errors(libc::EPERM, libc::EPERM));
    // Each thread, also those of the log and of the second reactor.
    assert!(bits.len() >= 3, "{:?}", bits);
    let all = bits.iter().all(|bits| *bits == ("1".into(), "2".into()));
    assert!(all, "{:?}", bits);
}

#[test]
fn unconfined_takes_nothing_away() {
    let (errors_seen, bits) = attempts(&["--unconfined"]);
    assert_eq!(errors_seen, errors(libc::ENOENT, libc::EBADF));
    assert!(bits.contains(&("0".into(), "0".into())), "{:?}", bits);
}

/// The process of a PAC file is another program.
#[test]
fn a_pac_file_that_a_reload_adds_needs_a_restart() {
    let proxy = Peer::echoing();
    let text = format!("proxy = '{}'\ntunnels = '0:a.example:1'\n", proxy.address());
    let site = Site::start_as(Ptunnel::new(), &text, 1);
    let folder = TempDir::new();
    let script = "function FindProxyForURL(url, host) { return 'DIRECT'; }";
    let pac = folder.file("proxy.pac", script);
    site.signal_with(&format!("pac = '{}'\ntunnels = '0:a.example:1'\n", pac));
    site.program().says(&[
        "reload failed, nothing is changed",
        "ptunnel was started without a PAC file",
        "restart it",
    ]);
}
