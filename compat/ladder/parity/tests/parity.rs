//! r0 beside every other rung: the same acts, the same transcript.
//!
//! `cargo test -p ptunnel-parity`, after the programs were built into the same target folder, or
//! with PTUNNEL_R0 … PTUNNEL_R5 naming them.

use std::path::Path;
use std::thread;
use std::time::Duration;

use ptunnel_parity::{binary, Stage, Who};
use Who::{Client, Upstream};

const GRANTED: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";

/// Plays `script` with every rung, and compares each transcript with r0's.
fn compare(arguments: &[&str], script: impl Fn(&mut Stage) + Sync) {
    let play = |path: &Path| {
        let mut stage = Stage::new(path, arguments);
        script(&mut stage);
        stage.finish()
    };
    let paths: Vec<_> = (0..=5)
        .map(|rung| binary(rung).expect("every rung is built"))
        .collect();
    let transcripts: Vec<_> = thread::scope(|scope| {
        let plays: Vec<_> = paths
            .iter()
            .map(|path| scope.spawn(|| play(path)))
            .collect();
        plays
            .into_iter()
            .map(|play| play.join().expect("the script is played"))
            .collect()
    });
    for (rung, transcript) in transcripts.iter().enumerate().skip(1) {
        let (was, is) = (transcripts[0].join("\n"), transcript.join("\n"));
        assert!(was == is, "r0:\n{was}\n\nr{rung}:\n{is}");
    }
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

#[test]
fn the_client_ends_first() {
    compare(&[], |stage| {
        stage.open().send(Client, b"question").end(Client);
        stage.send(Upstream, b"answer").end(Upstream);
    });
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
        stage.connect().take().reset(Client).send(Upstream, GRANTED);
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
