//! STARTTLS: what precedes TLS with a server of IMAP, SMTP or PostgreSQL.
//!
//! ```text
//!   IMAP       greeting ──▶ STARTTLS ──OK──▶ TLS
//!   SMTP       greeting ──▶ EHLO ──250──▶ STARTTLS ──220──▶ TLS
//!   PostgreSQL              SSLRequest ──S──▶ TLS
//! ```
//!
//! The client speaks the protocol without TLS, and gets the greeting that was read here. Nothing
//! else of the server's plain text reaches it, and nothing at all from behind the server's consent:
//! an attacker on the network could have written that (CVE-2011-0411).

use std::error;
use std::fmt;

use super::lines::Lines;
use super::Step;
use crate::text::escape::{excerpt, Escaped};
use crate::values::TlsStart;

/// Maximum number of bytes that a server sends before TLS.
const LIMIT: usize = 16 * 1024;

/// The length, and the code of SSLRequest (PostgreSQL's documentation, "Message Formats").
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// The exchange that precedes TLS on one connection. It neither reads nor writes.
#[derive(Debug)]
pub struct StartTls {
    start: TlsStart,
    sent: Command,
    received: Vec<u8>,
    lines: Lines,
    greeting: Vec<u8>,
    is_offered: bool,
}

/// The last command that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    Nothing,
    Ehlo,
    StartTls,
}

/// Why TLS doesn't start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartTlsFault {
    /// The server greets in another protocol, whose first line this is.
    Greeting(TlsStart, String),
    /// The server refuses, with this line.
    Refused(String),
    /// An SMTP server doesn't list STARTTLS.
    NotOffered,
    /// Bytes follow the server's consent.
    Ahead,
    /// The server sends too much before TLS.
    TooLong,
    /// The connection ended.
    Ended,
}

impl StartTls {
    /// Begins; `None` if TLS starts at once.
    pub fn new(start: TlsStart) -> Option<StartTls> {
        Some(StartTls {
            start,
            sent: Command::Nothing,
            received: Vec::new(),
            lines: Lines::default(),
            greeting: Vec::new(),
            is_offered: false,
        })
        .filter(|_| start != TlsStart::AtOnce)
    }

    /// Takes bytes of the server, in pieces of any size; the first piece is empty. Ends with the
    /// bytes that the client gets before those from TLS.
    ///
    /// # Errors
    ///
    /// [`StartTlsFault`]; the connection is of no further use.
    pub fn feed(&mut self, piece: &[u8]) -> Result<Step<Vec<u8>>, StartTlsFault> {
        self.received.extend_from_slice(piece);
        if self.received.len() > LIMIT {
            return Err(StartTlsFault::TooLong);
        }
        if self.start == TlsStart::Postgres {
            return self.postgres();
        }
        while let Some(line) = self.lines.next(&self.received) {
            let line = line.to_vec();
            let step = match self.start {
                TlsStart::Smtp => self.smtp(&line)?,
                _ => self.imap(&line)?,
            };
            if step != Step::Read {
                return Ok(step);
            }
        }
        Ok(Step::Read)
    }

    fn postgres(&mut self) -> Result<Step<Vec<u8>>, StartTlsFault> {
        if self.sent == Command::Nothing {
            self.sent = Command::StartTls;
            return Ok(Step::Send(SSL_REQUEST.to_vec()));
        }
        match self.received[..] {
            [] => Ok(Step::Read),
            [b'S', ..] => self.done(1),
            [b'N', ..] | [b'E', ..] => Err(StartTlsFault::Refused(text(&self.received))),
            _ => Err(self.greeting_fault(&self.received)),
        }
    }

    fn imap(&mut self, line: &[u8]) -> Result<Step<Vec<u8>>, StartTlsFault> {
        match self.sent {
            Command::Nothing if starts(line, b"* OK") => {
                self.greeting = without_capabilities(line);
                Ok(self.send(Command::StartTls, b"ptunnel STARTTLS\r\n"))
            }
            Command::Nothing if starts(line, b"* BYE") || starts(line, b"* PREAUTH") => {
                Err(StartTlsFault::Refused(text(line)))
            }
            Command::Nothing => Err(self.greeting_fault(line)),
            _ if starts(line, b"ptunnel OK") => self.done(self.lines.length()),
            _ if line.starts_with(b"* ") => Ok(Step::Read),
            _ => Err(StartTlsFault::Refused(text(line))),
        }
    }

    fn smtp(&mut self, line: &[u8]) -> Result<Step<Vec<u8>>, StartTlsFault> {
        let code = line.get(..3).unwrap_or_default();
        let is_code = code.len() == 3 && code.iter().all(u8::is_ascii_digit);
        let is_last = line.get(3) != Some(&b'-');
        match (self.sent, code) {
            (Command::Nothing, b"220") => {
                self.greeting.extend_from_slice(line);
                Ok(match is_last {
                    true => self.send(Command::Ehlo, b"EHLO localhost\r\n"),
                    false => Step::Read,
                })
            }
            (Command::Nothing, _) if !is_code => Err(self.greeting_fault(line)),
            (Command::Ehlo, b"250") => {
                let keyword = line.get(4..).unwrap_or_default();
                self.is_offered |= text(keyword).eq_ignore_ascii_case("STARTTLS");
                match (is_last, self.is_offered) {
                    (false, _) => Ok(Step::Read),
                    (true, true) => Ok(self.send(Command::StartTls, b"STARTTLS\r\n")),
                    (true, false) => Err(StartTlsFault::NotOffered),
                }
            }
            (Command::StartTls, b"220") if is_last => self.done(self.lines.length()),
            (Command::StartTls, b"220") => Ok(Step::Read),
            _ => Err(StartTlsFault::Refused(text(line))),
        }
    }

    fn send(&mut self, command: Command, line: &[u8]) -> Step<Vec<u8>> {
        self.sent = command;
        Step::Send(line.to_vec())
    }

    /// Ends with the consent, up to this byte.
    fn done(&mut self, end: usize) -> Result<Step<Vec<u8>>, StartTlsFault> {
        if self.received.len() > end {
            return Err(StartTlsFault::Ahead);
        }
        Ok(Step::Done(std::mem::take(&mut self.greeting)))
    }

    fn greeting_fault(&self, line: &[u8]) -> StartTlsFault {
        StartTlsFault::Greeting(self.start, text(line))
    }
}

/// Returns whether a line starts with this text, in upper or lower case, as a word.
fn starts(line: &[u8], text: &[u8]) -> bool {
    let is_word = line.get(text.len()).map_or(true, u8::is_ascii_whitespace);
    let start = line.get(..text.len()).unwrap_or_default();
    start.eq_ignore_ascii_case(text) && is_word
}

/// Returns an IMAP greeting without its capabilities: those in TLS are other ones (RFC 9051
/// §6.2.1).
fn without_capabilities(line: &[u8]) -> Vec<u8> {
    const CODE: &[u8] = b"* OK [CAPABILITY";
    let end = line.iter().position(|byte| *byte == b']');
    match end.filter(|_| starts(line, CODE)) {
        Some(end) => [b"* OK", &line[end + 1..]].concat(),
        None => line.to_vec(),
    }
}

fn text(line: &[u8]) -> String {
    excerpt(&String::from_utf8_lossy(line))
}

impl fmt::Display for StartTlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartTlsFault::Greeting(start, line) => {
                let protocol = match start {
                    TlsStart::Imap => "IMAP",
                    TlsStart::Smtp => "SMTP",
                    TlsStart::Postgres | TlsStart::AtOnce => "PostgreSQL",
                };
                write!(
                    f,
                    "the server doesn't speak {} ('{}'); check the port and the scheme",
                    protocol,
                    Escaped(line.as_bytes())
                )
            }
            StartTlsFault::Refused(line) => write!(
                f,
                "the server refused STARTTLS ('{}'); enable TLS on the server, or use another port",
                Escaped(line.as_bytes())
            ),
            StartTlsFault::NotOffered => f.write_str(
                "the server doesn't offer STARTTLS; enable TLS on the server, or use another port",
            ),
            StartTlsFault::Ahead => f.write_str(
                "bytes in plain text follow the server's consent to STARTTLS; the server is faulty, \
                 or an attacker inserted them",
            ),
            StartTlsFault::TooLong => write!(
                f,
                "the server sent more than {} bytes before STARTTLS; check the port",
                LIMIT
            ),
            StartTlsFault::Ended => f.write_str(
                "the server closed the connection before STARTTLS; check the port and the scheme",
            ),
        }
    }
}

impl error::Error for StartTlsFault {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the pieces; returns the commands and the end.
    fn run(start: TlsStart, pieces: &[&[u8]]) -> (String, Result<Option<String>, StartTlsFault>) {
        let mut exchange = StartTls::new(start).unwrap();
        let mut sent = Vec::new();
        for piece in Some(&&b""[..]).into_iter().chain(pieces) {
            let mut piece: &[u8] = piece;
            loop {
                match exchange.feed(piece) {
                    Ok(Step::Send(bytes)) => sent.extend(bytes),
                    Ok(Step::Read) => break,
                    Ok(Step::Done(greeting)) => {
                        let greeting = String::from_utf8(greeting).unwrap();
                        return (text(&sent), Ok(Some(greeting)));
                    }
                    Err(fault) => return (text(&sent), Err(fault)),
                }
                piece = b"";
            }
        }
        (text(&sent), Ok(None))
    }

    const DIALOGUES: &[(TlsStart, &[&str], &str, &str)] = &[
        (
            TlsStart::Imap,
            &[
                "* OK [CAPABILITY IMAP4rev1 STARTTLS LOGINDISABLED] Dovecot ready.\r\n",
                "* CAPABILITY IMAP4rev1\r\nptunnel OK Begin TLS\r\n",
            ],
            "ptunnel STARTTLS",
            "* OK Dovecot ready.\r\n",
        ),
        (
            TlsStart::Smtp,
            &[
                "220-mx.example\r\n220 ESMTP\r\n",
                "250-mx.example\r\n250-starttls\r\n250 HELP\r\n",
                "220 Go\r\n",
            ],
            "EHLO localhost STARTTLS",
            "220-mx.example\r\n220 ESMTP\r\n",
        ),
        (
            TlsStart::Postgres,
            &["S"],
            "\0\0\0\u{8}\u{4}\u{fffd}\u{16}/",
            "",
        ),
    ];

    #[test]
    fn each_protocol_is_spoken_up_to_tls_in_pieces_of_any_size() {
        for (start, replies, commands, greeting) in DIALOGUES {
            let whole: Vec<&[u8]> = replies.iter().map(|reply| reply.as_bytes()).collect();
            let expected = (commands.to_string(), Ok(Some(greeting.to_string())));
            assert_eq!(run(*start, &whole), expected);
            let all = whole.concat();
            for size in 1..=all.len() {
                let pieces: Vec<&[u8]> = all.chunks(size).collect();
                assert_eq!(run(*start, &pieces), expected, "{}", size);
            }
            for count in 0..all.len() {
                assert_eq!(run(*start, &[&all[..count]]).1, Ok(None), "{} bytes", count);
            }
        }
        assert!(StartTls::new(TlsStart::AtOnce).is_none());
    }

    /// CVE-2011-0411: what follows in plain text must not be taken for the server's in TLS.
    #[test]
    fn bytes_after_the_consent_are_refused() {
        for (start, replies, _, _) in DIALOGUES {
            let mut pieces: Vec<Vec<u8>> =
                replies.iter().map(|it| it.as_bytes().to_vec()).collect();
            pieces.last_mut().unwrap().extend(b"x");
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &piece[..]).collect();
            assert_eq!(run(*start, &pieces).1, Err(StartTlsFault::Ahead));
        }
    }

    #[test]
    fn a_refusal_has_the_servers_words() {
        let fault = |start, pieces: &[&str]| {
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
            run(start, &pieces).1.unwrap_err().to_string()
        };
        for (start, pieces, expected) in &[
            (
                TlsStart::Imap,
                &["* OK hi\r\n", "ptunnel NO off\r\n"][..],
                "'ptunnel NO off'",
            ),
            (
                TlsStart::Imap,
                &["* OK hi\r\n", "ptunnel OKAY\r\n"],
                "refused STARTTLS",
            ),
            (
                TlsStart::Imap,
                &["* PREAUTH hi\r\n"],
                "refused STARTTLS ('* PREAUTH hi')",
            ),
            (
                TlsStart::Imap,
                &["* OKAY\r\n"],
                "doesn't speak IMAP ('* OKAY')",
            ),
            (
                TlsStart::Imap,
                &["SSH-2.0-x\r\n"],
                "doesn't speak IMAP ('SSH-2.0-x')",
            ),
            (
                TlsStart::Smtp,
                &["554 go away\r\n"],
                "refused STARTTLS ('554 go away')",
            ),
            (TlsStart::Smtp, &["+OK POP3\r\n"], "doesn't speak SMTP"),
            (TlsStart::Smtp, &["220 a\r\n", "500 what\r\n"], "'500 what'"),
            (
                TlsStart::Smtp,
                &["220 a\r\n", "250-a\r\n250 NOSTARTTLS\r\n"],
                "doesn't offer",
            ),
            (
                TlsStart::Smtp,
                &["220 a\r\n", "250 STARTTLS\r\n", "454 no\r\n"],
                "'454 no'",
            ),
            (TlsStart::Postgres, &["N"], "refused STARTTLS ('N')"),
            (
                TlsStart::Postgres,
                &["E...FATAL"],
                "refused STARTTLS ('E...FATAL')",
            ),
            (TlsStart::Postgres, &["H"], "doesn't speak PostgreSQL ('H')"),
        ] {
            let fault = fault(*start, pieces);
            assert!(fault.contains(expected), "{}", fault);
        }
        let endless = [b'x'; LIMIT + 1];
        for start in &[TlsStart::Imap, TlsStart::Smtp] {
            assert_eq!(run(*start, &[&endless]).1, Err(StartTlsFault::TooLong));
        }
    }

    #[test]
    fn a_greeting_without_capabilities_stays() {
        for (line, expected) in &[
            ("* OK ready [x]\r\n", "* OK ready [x]\r\n"),
            ("* OK [CAPABILITY A]\r\n", "* OK\r\n"),
            ("* ok [capability A B] x\r\n", "* OK x\r\n"),
            ("* OK [CAPABILITY A", "* OK [CAPABILITY A"),
        ] {
            let without = without_capabilities(line.as_bytes());
            assert_eq!(text(&without), expected.trim_end());
        }
    }
}
