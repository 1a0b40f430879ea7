//! The product beside each rung: the same acts, the same transcript.
//!
//! `cargo test -p ptunnel-parity --features programs`, after the programs were built into the same
//! target folder, or with PTUNNEL and PTUNNEL_R0 … PTUNNEL_R5 naming them.

use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use ptunnel_parity::{binary, run, Stage, Who, PROGRAMS};
use Who::{Client, Upstream};

const SECOND: Duration = Duration::from_secs(1);
const GRANTED: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";

/// Plays `script` with every program, and compares each transcript with the product's, which is
/// returned.
fn compare(arguments: &[&str], script: impl Fn(&mut Stage) + Sync) -> Vec<String> {
    compare_transcripts(|path| {
        let mut stage = Stage::new(path, arguments);
        script(&mut stage);
        stage.finish()
    })
}

fn compare_transcripts(play: impl Fn(&Path) -> Vec<String> + Sync) -> Vec<String> {
    let paths = PROGRAMS.map(|program| binary(program).expect("every program is built"));
    let mut transcripts: Vec<_> = thread::scope(|scope| {
        let plays: Vec<_> = paths
            .iter()
            .map(|path| scope.spawn(|| play(path)))
            .collect();
        plays
            .into_iter()
            .map(|play| play.join().expect("the script is played"))
            .collect()
    });
    for (rung, transcript) in PROGRAMS.iter().zip(&transcripts).skip(1) {
        let (was, is) = (transcripts[0].join("\n"), transcript.join("\n"));
        assert!(was == is, "ptunnel:\n{was}\n\n{rung}:\n{is}");
    }
    transcripts.swap_remove(0)
}

/// A transcript without the line about this machine's limits.
fn portable(transcript: &[String]) -> Vec<&str> {
    let lines = transcript.iter().map(String::as_str);
    lines
        .filter(|line| !line.contains("limit of file descriptors: "))
        .filter(|line| !line.contains("info: confined: "))
        .collect()
}

/// Bytes that no two places of a stream have in common.
fn bulk(count: usize) -> Vec<u8> {
    (0..count as u32 / 4)
        .flat_map(|word| word.wrapping_mul(0x9e37_79b1).to_le_bytes())
        .collect()
}

#[test]
fn early_data_of_both_sides() {
    compare(&[], |stage| {
        stage.connect().send(Client, b"before the reply").take();
        stage.send(Upstream, b"HTTP/1.1 200 OK\r\n\r\nbehind the reply");
        stage.end(Client).end(Upstream);
    });
}

#[test]
fn a_reply_in_pieces_and_the_end_with_the_last_bytes() {
    compare(&[], |stage| {
        stage.connect().take();
        stage.send(Upstream, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2");
        stage
            .send(Upstream, b"00 OK\r\n\r\nall")
            .end(Upstream)
            .end(Client);
    });
}

/// Written out, since a stage that sees nothing finds all programs equal.
#[test]
fn the_client_ends_first() {
    let transcript = compare(&[], |stage| {
        stage.open().send(Client, b"question").end(Client);
        stage.send(Upstream, b"answer").end(Upstream);
    });
    let expected = [
        "client connects",
        "proxy is asked: CONNECT example.org:22 HTTP/1.1\\r\\nHost: example.org:22\\r\\n\\r\\n",
        "Upstream sends 19 bytes",
        "Client sends 8 bytes",
        "  upstream sees 8 bytes in all, sum 2ecba823be6",
        "Client ends",
        "  upstream sees FIN",
        "Upstream sends 6 bytes",
        "  client sees 6 bytes in all, sum abca3fbe",
        "Upstream ends",
        "  client sees FIN",
        "0 sockets more than before, and no pipe too many",
        "exit code Some(0)",
        "log: info: ADDRESS on ADDRESS to example.org:22 through ADDRESS: 8 bytes up, 6 down in TIME, closed by both sides",
        "log: warning: stopping: no connection is open",
    ];
    assert_eq!(portable(&transcript), expected);
}

#[test]
fn the_destination_ends_first() {
    compare(&[], |stage| {
        stage.open().send(Upstream, b"greeting").end(Upstream);
        stage.send(Client, b"late word").end(Client);
    });
}

#[test]
fn a_reset_while_the_proxy_is_silent() {
    compare(&[], |stage| {
        stage.unhurried().connect().send(Client, b"too early");
        stage.take().reset(Client).count();
    });
}

#[test]
fn an_end_while_the_proxy_is_silent() {
    compare(&[], |stage| {
        stage.unhurried().connect().send(Client, b"all of it");
        stage.end(Client).take().settle().count();
        stage.send(Upstream, GRANTED).end(Upstream);
    });
}

#[test]
fn a_reset_by_the_proxy_before_its_reply() {
    compare(&[], |stage| {
        stage.connect().take().reset(Upstream);
    });
}

#[test]
fn a_reset_within_the_reply() {
    compare(&[], |stage| {
        stage
            .connect()
            .take()
            .send(Upstream, b"HTTP/1.1 200 ")
            .reset(Upstream);
    });
}

#[test]
fn a_reset_in_the_middle_by_the_client() {
    compare(&[], |stage| {
        stage.open().send(Client, b"half a sen").reset(Client);
    });
}

#[test]
fn a_reset_in_the_middle_by_the_destination() {
    compare(&[], |stage| {
        stage.open().send(Upstream, b"half a sen").reset(Upstream);
    });
}

#[test]
fn a_reset_after_the_others_end() {
    compare(&[], |stage| {
        stage.open().end(Client).reset(Upstream);
    });
    compare(&[], |stage| {
        stage.open().end(Upstream).reset(Client);
    });
}

/// The other side sees both, and so must the stage.
#[test]
fn a_reset_after_the_own_end() {
    let [by_client, _] = [Client, Upstream].map(|side| {
        compare(&[], |stage| {
            stage.unhurried().open().send(side, b"last words");
            stage.end(side).reset(side).count();
        })
    });
    let expected = [
        "client connects",
        "proxy is asked: CONNECT example.org:22 HTTP/1.1\\r\\nHost: example.org:22\\r\\n\\r\\n",
        "Upstream sends 19 bytes",
        "Client sends 10 bytes",
        "  upstream sees 10 bytes in all, sum a73421cbff89f",
        "Client ends",
        "  upstream sees FIN",
        "Client resets",
        "  upstream sees RST",
        "0 sockets more than before, and no pipe too many",
        "0 sockets more than before, and no pipe too many",
        "exit code Some(0)",
        "log: info: ADDRESS on ADDRESS to example.org:22 through ADDRESS: 10 bytes up, 0 down in TIME, cut: client: Broken pipe (os error 32)",
        "log: warning: stopping: no connection is open",
    ];
    assert_eq!(portable(&by_client), expected);
}

/// What is under way then is in the hands of the kernel's buffers: its bytes are not compared.
#[test]
fn a_reset_while_the_other_side_stalls() {
    for (writer, reader) in [(Client, Upstream), (Upstream, Client)] {
        for splice in ["never", "always"] {
            compare_transcripts(|path| {
                let mut stage = Stage::new(path, &["--splice", splice]);
                stage.unhurried().open().stall(reader, true);
                stage.send(writer, &bulk(32 << 20)).wait(SECOND);
                stage.reset(writer).count();
                stage.finish().iter().map(|line| uncounted(line)).collect()
            });
        }
    }
}

/// A line of the log without the numbers of bytes.
fn uncounted(line: &str) -> String {
    match line.find(" bytes up, ").zip(line.find(" down in ")) {
        Some((_, down)) => {
            let start = line[..down].rfind(": ").expect("bytes follow a colon");
            format!("{}: N bytes up, N{}", &line[..start], &line[down..])
        }
        None => line.to_owned(),
    }
}

#[test]
fn failing_starts() {
    let holder = TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
    let taken = holder.local_addr().expect("it is bound").port();
    let tunnel = format!("{taken}:example.org:22");
    let starts: [&[&str]; 5] = [
        &["-p", "127.0.0.1:9", &tunnel],
        &["-p", "127.0.0.1:9", "--threads", "2", &tunnel],
        &["-p", "ftp://proxy.example", "0:example.org:22"],
        &["-p", "127.0.0.1:9", "--no-such-flag", "0:example.org:22"],
        &["-p", "127.0.0.1:9"],
    ];
    for arguments in starts {
        compare_transcripts(|path| run(path, arguments));
    }
}

#[test]
fn a_slow_reader_on_each_side() {
    for (writer, reader) in [(Client, Upstream), (Upstream, Client)] {
        for splice in ["auto", "never", "always"] {
            compare(&["--splice", splice], |stage| {
                stage
                    .open()
                    .stall(reader, true)
                    .send(writer, &bulk(8 << 20));
                stage.stall(reader, false).end(writer).end(reader);
            });
        }
    }
}

/// One lost by each would soon be more than are kept.
#[test]
fn pipes_of_one_tunnel_after_the_other() {
    compare(&["--splice", "always"], |stage| {
        for _ in 0..4 {
            stage.open().stall(Upstream, true).stall(Client, true);
            stage.send(Client, &bulk(1 << 20));
            stage.send(Upstream, &bulk(1 << 20));
            stage.stall(Upstream, false).stall(Client, false);
            stage.end(Client).end(Upstream).count();
        }
    });
}

#[test]
fn refusals_and_nonsense() {
    let replies: [&[u8]; 5] = [
        b"HTTP/1.1 403 Forbidden\r\n\r\nnot there",
        b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n",
        b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Negotiate\r\n\r\n",
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-nonsense\r\n\r\n",
    ];
    for reply in replies {
        compare(&[], |stage| {
            stage.connect().take().send(Upstream, reply);
        });
    }
}

#[test]
fn the_proxy_leaves_without_a_word() {
    compare(&[], |stage| {
        stage.connect().take().end(Upstream);
    });
}

#[test]
fn silence() {
    compare(&["--handshake-timeout", "1"], |stage| {
        stage.connect().take().wait(Duration::from_secs(2));
    });
    compare(&["--idle-timeout", "1"], |stage| {
        stage
            .open()
            .send(Client, b"one word")
            .wait(Duration::from_secs(3));
    });
    compare(&["--linger-timeout", "1"], |stage| {
        stage.open().end(Client).wait(Duration::from_secs(3));
    });
}
