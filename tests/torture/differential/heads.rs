//! Heads of replies to CONNECT.

use std::sync::Arc;
use std::thread;

use super::{combinations, curl, output, Comparison, Ours, Row, Theirs};
use crate::scale::scale;
use support::program::clean_command;
use support::{Peer, Ptunnel};

/// The origin's reply after the head, with which curl reports that the tunnel works.
const TAIL: &[u8] = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

const PYTHON: &str = "
import http.client, sys
for number in range(int(sys.argv[2])):
    connection = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=30)
    connection.set_tunnel('h%d.example' % number, 22)
    try:
        connection.connect()
        print('granted')
    except http.client.HTTPException:
        print('nothing')
    except TimeoutError:
        print('late')
    except OSError as e:
        words = str(e).split()
        print(words[3] if words[:3] == ['Tunnel', 'connection', 'failed:'] else 'nothing')
    finally:
        connection.close()
";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Granted,
    Refused(i32),
    /// Neither granted nor refused.
    Nothing,
}

use Verdict::{Granted, Nothing, Refused};

impl Verdict {
    /// An invalid status is one of 5xx (RFC 9110 §15), and 101 the reply to no request here (§15.2.2).
    fn of(status: i32) -> Verdict {
        match status {
            99 | 101 | 300..=999 => Refused(status),
            _ => Nothing,
        }
    }
}

/// A head, in the parts that can be unusual.
struct Head {
    before: Vec<u8>,
    version: &'static [u8],
    gap: &'static [u8],
    status: &'static [u8],
    reason: &'static [u8],
    end_of_line: &'static [u8],
    fields: Vec<u8>,
    blank_line: &'static [u8],
    /// Number of bytes that the proxy omits before it ends the connection.
    cut: usize,
}

impl Head {
    fn new(end_of_line: &'static [u8]) -> Head {
        Head {
            before: Vec::new(),
            version: b"HTTP/1.1",
            gap: b" ",
            status: b"200",
            reason: b" OK",
            end_of_line,
            fields: b"Via: 1.1 north\r\n".to_vec(),
            blank_line: end_of_line,
            cut: 0,
        }
    }

    fn field(&mut self, line: impl AsRef<[u8]>) {
        self.fields.extend_from_slice(line.as_ref());
        self.fields.extend_from_slice(b"\r\n");
    }

    /// Returns the head with the origin's reply, unless further bytes would change the head.
    fn bytes(&self) -> Vec<u8> {
        let line = [
            self.version,
            self.gap,
            self.status,
            self.reason,
            self.end_of_line,
        ]
        .concat();
        let mut all = [&self.before[..], &line, &self.fields, self.blank_line].concat();
        all.truncate(all.len() - self.cut);
        if self.is_last() {
            all.extend_from_slice(TAIL);
        }
        all
    }

    fn is_last(&self) -> bool {
        self.cut == 0 && self.status != b"100"
    }
}

type Oddity = (&'static str, fn(&mut Head));

const ODDITIES: &[Oddity] = &[
    ("nothing", |_| {}),
    ("HTTP/1.0", |h| h.version = b"HTTP/1.0"),
    ("HTTP/1.9", |h| h.version = b"HTTP/1.9"),
    ("HTTP/2", |h| h.version = b"HTTP/2"),
    ("http in lower case", |h| h.version = b"http/1.1"),
    ("another protocol", |h| h.version = b"ICY"),
    ("a space in front", |h| h.version = b" HTTP/1.1"),
    ("two spaces", |h| h.gap = b"  "),
    ("a tab", |h| h.gap = b"\t"),
    ("no space", |h| h.gap = b""),
    ("204", |h| h.status = b"204"),
    ("299", |h| h.status = b"299"),
    ("100", |h| h.status = b"100"),
    ("101", |h| h.status = b"101"),
    ("302", |h| h.status = b"302"),
    ("403", |h| h.status = b"403"),
    ("407", |h| h.status = b"407"),
    ("502", |h| h.status = b"502"),
    ("600", |h| h.status = b"600"),
    ("099", |h| h.status = b"099"),
    ("20", |h| h.status = b"20"),
    ("2000", |h| h.status = b"2000"),
    ("2e2", |h| h.status = b"2e2"),
    ("-200", |h| h.status = b"-200"),
    ("+200", |h| h.status = b"+200"),
    ("0200", |h| h.status = b"0200"),
    ("2_00", |h| h.status = b"2_00"),
    ("no reason", |h| h.reason = b""),
    ("an empty reason", |h| h.reason = b" "),
    ("no space before the reason", |h| h.reason = b"OK"),
    ("latin in the reason", |h| h.reason = b" \xfcber"),
    ("an escape in the reason", |h| h.reason = b" \x1b[31mOK"),
    ("a NUL in the reason", |h| h.reason = b" O\0K"),
    ("a reason of spaces", |h| h.reason = &[b' '; 900]),
    ("LF after the status", |h| h.end_of_line = b"\n"),
    ("CR CR LF after the status", |h| h.end_of_line = b"\r\r\n"),
    ("CR after the status", |h| h.end_of_line = b"\r"),
    ("a blank line in front", |h| {
        h.before.extend_from_slice(b"\r\n")
    }),
    ("an interim reply", |h| {
        h.before.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n")
    }),
    ("interim replies", |h| {
        let hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
        h.before.extend_from_slice(&hints.repeat(3))
    }),
    ("no length", |h| h.field("Content-Length: 0")),
    ("a length", |h| h.field("Content-Length: 5")),
    ("two lengths", |h| {
        h.field("Content-Length: 5\r\nContent-Length: 6")
    }),
    ("chunked", |h| h.field("Transfer-Encoding: chunked")),
    ("close", |h| h.field("Connection: close")),
    ("challenges", |h| {
        h.field("Proxy-Authenticate: Basic realm=\"a, b\"\r\nProxy-Authenticate: NTLM")
    }),
    ("latin in a value", |h| h.field(b"X: \xe4")),
    ("a tab in a value", |h| h.field("X: a\tb")),
    ("an empty value", |h| h.field("X:")),
    ("a folded value", |h| h.field("X: a,\r\n b")),
    ("ninety fields", |h| (0..90).for_each(|_| h.field("X: y"))),
    ("three hundred fields", |h| {
        (0..300).for_each(|_| h.field("X: y"))
    }),
    ("more than 16 KiB", |h| {
        (0..5).for_each(|_| h.field([&b"X: "[..], &[b'y'; 4_000]].concat()))
    }),
    ("a fold of nothing", |h| {
        h.fields.splice(..0, b" folded\r\n".iter().copied());
    }),
    ("no colon", |h| h.field("no colon")),
    ("a space before the colon", |h| h.field("X : y")),
    ("an empty name", |h| h.field(": y")),
    ("a control in a value", |h| h.field("X: a\x01b")),
    ("a NUL in a value", |h| h.field("X: a\0b")),
    ("a CR in a value", |h| h.field("X: a\rY: b")),
    ("a second status line", |h| {
        h.field("HTTP/1.1 403 Forbidden")
    }),
    ("LF as the blank line", |h| h.blank_line = b"\n"),
    ("CR CR LF as the blank line", |h| h.blank_line = b"\r\r\n"),
    ("an end before the blank line", |h| {
        h.cut = h.blank_line.len()
    }),
    ("an end within the blank line", |h| {
        h.blank_line = b"\r\n";
        h.cut = 1;
    }),
];

/// Reasons: ptunnel follows RFC 9112 where two programs could see different heads.
const ROWS: &[Row] = &[
    Row {
        judge: "curl",
        stricter: Ours,
        traits: &["+200"],
        why: "it scans the status line for numbers, whatever signs are about them",
    },
    Row {
        judge: "curl",
        stricter: Ours,
        traits: &["no space before the reason"],
        why: "it stops reading the status line where the number ends",
    },
    Row {
        judge: "curl",
        stricter: Ours,
        traits: &["a NUL in the reason"],
        why: "it takes NUL in a reason, which no grammar has (RFC 9112 §4)",
    },
    Row {
        judge: "curl",
        stricter: Ours,
        traits: &["CR CR LF as the blank line"],
        why: "to it only LF ends a line, and a CR is part of it (we: RFC 9112 §2.2, invalid)",
    },
    Row {
        judge: "curl",
        stricter: Ours,
        traits: &["more than 16 KiB"],
        why: "it takes a longer head",
    },
    Row {
        judge: "curl",
        stricter: Theirs,
        traits: &["a blank line in front"],
        why: "to it the blank line ends a head without a status; to httparse it is nothing",
    },
    Row {
        judge: "curl",
        stricter: Theirs,
        traits: &["an interim reply", "interim replies"],
        why: "it takes 1xx for the answer (we: RFC 9110 §15.2, a client skips them)",
    },
    Row {
        judge: "curl",
        stricter: Theirs,
        traits: &["100"],
        why: "it waits for the answer (we: an interim reply that can't be skipped is the answer)",
    },
    Row {
        judge: "curl",
        stricter: Theirs,
        traits: &["20", "2000"],
        why: "a number without three digits is no status to it (we: RFC 9110 §15, one of 5xx)",
    },
    Row {
        judge: "python",
        stricter: Ours,
        traits: &["HTTP/2", "a space in front", "+200", "2_00"],
        why: "it splits at any white space, takes any version, and int() takes signs and _",
    },
    Row {
        judge: "python",
        stricter: Ours,
        traits: &[
            "a NUL in the reason",
            "a NUL in a value",
            "no colon",
            "a fold of nothing",
            "a second status line",
            "more than 16 KiB",
        ],
        why: "it doesn't look at a tunnel's fields at all, only for a line that is blank",
    },
    Row {
        judge: "python",
        stricter: Ours,
        traits: &[
            "an end before the blank line",
            "an end within the blank line",
            "CR CR LF as the blank line",
        ],
        why: "it takes the end of the connection for the end of the head",
    },
    Row {
        judge: "python",
        stricter: Theirs,
        traits: &["204", "299"],
        why: "only 200 is a yes to it (we: RFC 9110 §9.3.6, any 2xx)",
    },
    Row {
        judge: "python",
        stricter: Theirs,
        traits: &["100"],
        why: "it waits for the answer (we: an interim reply that can't be skipped is the answer)",
    },
    Row {
        judge: "python",
        stricter: Theirs,
        traits: &["20", "2000"],
        why: "a number without three digits is no status to it (we: RFC 9110 §15, one of 5xx)",
    },
    Row {
        judge: "python",
        stricter: Theirs,
        traits: &["099"],
        why: "a number below 100 is no status to it (we: RFC 9110 §15, one of 5xx)",
    },
    Row {
        judge: "python",
        stricter: Theirs,
        traits: &["a blank line in front"],
        why: "a blank line is no status line to it",
    },
    Row {
        judge: "python",
        stricter: Theirs,
        traits: &["an interim reply", "interim replies"],
        why: "it takes 1xx for the answer (we: RFC 9110 §15.2, a client skips them)",
    },
];

/// A grant that another program refuses, or a refusal with another status, would be the worst case:
/// no row explains it.
#[test]
fn heads_are_interpreted_as_by_curl_and_python_or_for_a_reason() {
    let pairs = combinations(ODDITIES.len(), scale(300, 2_000));
    let heads: Vec<Head> = pairs.iter().map(|&(a, b)| head(a, b)).collect();
    let count = heads.len();
    let answers: Vec<Vec<u8>> = heads.iter().map(Head::bytes).collect();
    let given = answers.clone();
    let proxy = Peer::start(move |mut connection| {
        if let Some(number) = asked(&connection.read_head()) {
            let _ = connection.try_send(&given[number]);
        }
        connection.finish_sending();
        connection.drain();
    });

    let address = proxy.address().to_string();
    let ours = judge_all(&heads, &address);
    let urls: Vec<String> = (0..count)
        .map(|n| format!("http://h{}.example:22/", n))
        .collect();
    let curls = curl(&["--proxy", &address, "--proxytunnel"], &urls);
    let mut python = clean_command("python3");
    python.args(&["-c", PYTHON, &proxy.port().to_string(), &count.to_string()]);
    let pythons = output(&mut python);
    let pythons: Vec<&str> = pythons.lines().collect();
    assert_eq!(pythons.len(), count);

    let mut comparison = Comparison::new(ROWS);
    for (number, &(a, b)) in pairs.iter().enumerate() {
        let odd = [ODDITIES[a].0, ODDITIES[b].0];
        let by_curl = match curls[number] {
            (_, 204) => Granted,
            (status, _) => Verdict::of(status),
        };
        let by_python = match pythons[number] {
            "granted" => Granted,
            "nothing" => Nothing,
            status => Verdict::of(status.parse().unwrap_or_else(|_| panic!("{}", status))),
        };
        for &(judge, theirs) in &[("curl", by_curl), ("python", by_python)] {
            let shown = format!(
                "{:?}: ours {:?}, {} {:?}: {:?}",
                odd,
                ours[number],
                judge,
                theirs,
                String::from_utf8_lossy(&answers[number][..answers[number].len().min(300)])
            );
            match (ours[number], theirs) {
                (same, other) if same == other => {}
                (Nothing, _) => comparison.differs(judge, Ours, &odd, shown),
                (_, Nothing) => comparison.differs(judge, Theirs, &odd, shown),
                _ => panic!("one takes a no for a yes: {}", shown),
            }
        }
    }
    comparison.finish(count);
}

/// Returns a head with both oddities, the second applied to the first. In one of the two orders,
/// lines end in LF alone.
fn head(a: usize, b: usize) -> Head {
    let mut head = Head::new(if a > b { b"\n" } else { b"\r\n" });
    (ODDITIES[a].1)(&mut head);
    if a != b {
        (ODDITIES[b].1)(&mut head);
    }
    head
}

/// Returns the number of the head that `CONNECT hNUMBER.example:22` requests.
fn asked(request: &[u8]) -> Option<usize> {
    let text = String::from_utf8_lossy(request);
    let name = text.strip_prefix("CONNECT h")?;
    name[..name.find('.')?].parse().ok()
}

/// Returns the program's result for each head; a few of them run at a time.
fn judge_all(heads: &[Head], proxy: &str) -> Vec<Verdict> {
    const AT_ONCE: usize = 4;
    let last: Arc<Vec<bool>> = Arc::new(heads.iter().map(Head::is_last).collect());
    let judging: Vec<_> = (0..AT_ONCE)
        .map(|first| {
            let (last, proxy) = (last.clone(), proxy.to_string());
            thread::spawn(move || {
                let numbers = (first..last.len()).step_by(AT_ONCE);
                numbers
                    .map(|n| judge(n, &proxy, last[n]))
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    let mut verdicts = vec![Nothing; heads.len()];
    for (first, judging) in judging.into_iter().enumerate() {
        let judged = judging.join().expect("a verdict on each");
        for (turn, verdict) in judged.into_iter().enumerate() {
            verdicts[first + turn * AT_ONCE] = verdict;
        }
    }
    verdicts
}

fn judge(number: usize, proxy: &str, is_last: bool) -> Verdict {
    let destination = format!("h{}.example:22", number);
    let finished = Ptunnel::through(proxy).args(&["-W", &destination]).run();
    let tail = if is_last { TAIL } else { b"" };
    match finished.code() {
        0 => {
            let rest = String::from_utf8_lossy(&finished.stdout);
            assert_eq!(
                rest,
                String::from_utf8_lossy(tail),
                "{}: what is behind it",
                number
            );
            Granted
        }
        3 | 4 => {
            let words = format!("refused {}: ", destination);
            let at = finished.stderr.find(&words).map(|at| at + words.len());
            let status = at.and_then(|at| finished.stderr.get(at..at + 3)?.parse().ok());
            Refused(status.unwrap_or_else(|| panic!("no status in {}", finished.stderr)))
        }
        1 => Nothing,
        _ => panic!("{:?}", finished),
    }
}
