//! One tunnel each: what both ends do, and whether the result was right.

use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

use crate::origin::Ticket;
use crate::site::Site;
use support::traffic::{self, joined, Dice, End, Plan};
use support::{Connection, Pattern, Ptunnel, Running, TIMEOUT};

/// The bytes that both ends send.
#[derive(Clone)]
pub struct Streams {
    pub up: Pattern,
    pub down: Pattern,
}

/// The bytes that arrived, and whether they are complete. A wrong byte causes a panic.
pub struct Passed {
    pub tunnels: u64,
    pub bytes: u64,
    pub is_whole: bool,
}

impl Passed {
    /// Returns the result of a client that got no tunnel, for a valid reason.
    pub fn nothing() -> Passed {
        Passed {
            tunnels: 1,
            bytes: 0,
            is_whole: false,
        }
    }
}

/// The possible effect of a fault on a tunnel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Touch {
    Untouched,
    /// The tunnel may not even have been opened.
    Anything,
    /// The download was interrupted, so it is incomplete, and the client must notice it.
    Torn,
}

/// Runs both directions at once, each with the bytes of its plan; either side ends when it is done,
/// or resets. `touch` is called at the end.
pub fn exchange(
    mut client: Connection,
    ticket: Ticket,
    streams: Streams,
    plans: (Plan, Plan),
    dice: &mut Dice,
    touch: impl Fn() -> Touch,
) -> Passed {
    let server = match meet(&mut client, &ticket) {
        Some(server) => server,
        None => {
            assert_eq!(touch(), Touch::Anything, "a tunnel was not opened");
            return Passed::nothing();
        }
    };
    let (client, server) = traffic::play((streams.up, streams.down), (client, server), plans, dice);
    for (from, to) in &[(plans.0, &server), (plans.1, &client)] {
        assert!(to.seen <= from.bytes, "{:?} of {:?}", to, from);
    }
    match touch() {
        Touch::Untouched => traffic::expect_ends(plans, &client, &server),
        Touch::Anything => {}
        Touch::Torn => {
            assert!(
                client.seen < plans.1.bytes,
                "nothing was torn: {:?}",
                client
            );
            traffic::expect_told(&client);
        }
    }
    Passed {
        tunnels: 1,
        bytes: client.seen + server.seen,
        is_whole: client.seen == plans.1.bytes && server.seen == plans.0.bytes,
    }
}

/// Waits for the other end of a tunnel that must be opened first.
pub fn meet(client: &mut Connection, ticket: &Ticket) -> Option<Connection> {
    if !ticket.show(client) {
        return None;
    }
    ticket.other_end(|| !client.is_quiet())
}

/// A request and its reply, followed by a pause.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    pub ask: usize,
    pub answer: usize,
    pub pause: Duration,
}

/// How a reader reads: everything at once, or in pieces with pauses.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub piece: usize,
    pub pause: Duration,
}

/// Runs the rounds in turn, then the client ends, and so does the server. Any proxy can carry that.
/// An error is returned to the caller, which knows whether a fault explains it.
pub fn converse(
    client: (impl Read, impl Write),
    server: Connection,
    streams: Streams,
    rounds: Vec<Round>,
    pace: Pace,
    rests: impl Fn() -> bool,
) -> (u64, io::Result<()>) {
    let (mut reader, mut writer) = client;
    let pauses = rounds.iter().map(|round| round.pause);
    let timeout = pauses.max().unwrap_or_default() + TIMEOUT;
    let limited = server.stream().set_read_timeout(Some(timeout));
    limited.expect("a limit");
    let all = (streams.clone(), rounds.clone());
    let serving = thread::spawn(move || serve(server, all.0, all.1, pace));
    let (mut sent, mut seen) = (0, 0);
    let mut ask_all = || {
        for round in &rounds {
            writer.write_all(&streams.up.piece(sent, round.ask))?;
            sent += round.ask as u64;
            seen += take(&mut reader, &streams.down, seen, round.answer, pace)?;
            rest(round.pause, &rests);
        }
        Ok(())
    };
    let mut asked = ask_all();
    drop(writer);
    if asked.is_ok() {
        asked = expect_end(&mut reader);
    }
    drop(reader);
    let (served_bytes, served) = joined(serving);
    (seen + served_bytes, asked.and(served))
}

fn serve(
    mut server: Connection,
    streams: Streams,
    rounds: Vec<Round>,
    pace: Pace,
) -> (u64, io::Result<()>) {
    let mut seen = 0;
    let mut sent = 0;
    let mut answer_all = || {
        for round in &rounds {
            seen += take(&mut server, &streams.up, seen, round.ask, pace)?;
            server.try_send(streams.down.piece(sent, round.answer))?;
            sent += round.answer as u64;
        }
        expect_end(&mut server)
    };
    let answered = answer_all();
    (seen, answered)
}

/// A client that ends its direction when its handle is dropped.
pub struct Sending(pub Connection);

impl Write for Sending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.finish_sending();
    }
}

/// Reads `count` bytes of the stream and checks each.
fn take(
    from: &mut impl Read,
    stream: &Pattern,
    offset: u64,
    count: usize,
    pace: Pace,
) -> io::Result<u64> {
    let mut buffer = vec![0; pace.piece.min(count)];
    let mut done = 0;
    while done < count {
        let most = buffer.len().min(count - done);
        match from.read(&mut buffer[..most])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => {
                stream.check(offset + done as u64, &buffer[..more]);
                done += more;
            }
        }
        if done < count {
            thread::sleep(pace.pause);
        }
    }
    Ok(count as u64)
}

fn expect_end(from: &mut impl Read) -> io::Result<()> {
    match from.read(&mut [0])? {
        0 => Ok(()),
        _ => panic!("a byte that nobody sent"),
    }
}

/// Waits, unless the traffic must rest.
pub fn rest(time: Duration, rests: &impl Fn() -> bool) {
    const STEP: Duration = Duration::from_millis(200);
    let mut left = time;
    while left > Duration::from_secs(0) && !rests() {
        thread::sleep(left.min(STEP));
        left = left.checked_sub(STEP).unwrap_or_default();
    }
}

/// Runs a session on a program's own stdin and stdout, which can be killed before its end.
pub fn session(site: &Site, streams: Streams, rounds: Vec<Round>, is_killed: bool) -> Passed {
    let origin = site.origin.address().to_string();
    let mut program = Ptunnel::through(site.proxy.proxy())
        .args(&["-W", &origin])
        .spawn();
    let (mut input, output) = (program.stdin(), program.stdout());
    let ticket = site.origin.ticket();
    assert!(ticket.show(&mut input), "{}", program.stderr());
    let server = ticket.other_end(|| program.has_ended());
    let server = server.expect("a session that was not opened");
    let pace = Pace {
        piece: 65_536,
        pause: Duration::from_secs(0),
    };
    if is_killed {
        return kill_within(program, input, server, streams);
    }
    let (bytes, ended) = converse((output, input), server, streams, rounds, pace, || true);
    if let Err(e) = ended {
        panic!("a session: {}: {}", e, program.stderr());
    }
    program.finish().expect_code(0);
    Passed {
        tunnels: 1,
        bytes,
        is_whole: true,
    }
}

/// Kills it while it is full.
fn kill_within(
    program: Running,
    mut input: impl Write + Send + 'static,
    mut server: Connection,
    streams: Streams,
) -> Passed {
    let up = streams.up.clone();
    let feeding = thread::spawn(move || up.write(&mut input, u64::MAX));
    let mut buffer = vec![0; 65_536];
    let mut seen = 0;
    let mut program = Some(program);
    while let Ok(count) = server.read(&mut buffer) {
        if count == 0 {
            break;
        }
        streams.up.check(seen, &buffer[..count]);
        seen += count as u64;
        if seen > 1_000_000 {
            drop(program.take());
        }
    }
    assert!(program.is_none(), "it ended by itself: {} bytes", seen);
    assert!(joined(feeding).is_err(), "nobody reads any more");
    Passed {
        tunnels: 1,
        bytes: seen,
        is_whole: false,
    }
}

/// Opens many short tunnels at once. One thread serves all, since none carries more than a socket
/// can hold.
pub fn burst(site: &Site, streams: &Streams, count: usize, dice: &mut Dice) -> Passed {
    let mut clients: Vec<_> = (0..count)
        .map(|_| (site.tunnels.connect(), site.origin.ticket()))
        .collect();
    for (client, ticket) in &mut clients {
        assert!(ticket.show(client), "a tunnel of many was not opened");
    }
    let mut bytes = 0;
    for (mut client, ticket) in clients {
        let server = ticket.other_end(|| !client.is_quiet());
        let mut server = server.expect("a tunnel of many that was not opened");
        let size = 1 + dice.below(4000) as usize;
        let ask = streams.up.piece(ticket.number, size);
        client.send(&ask);
        server.expect(&ask);
        let answer = streams.down.piece(ticket.number, size);
        server.send(&answer);
        client.expect(&answer);
        bytes += 2 * size as u64;
        match dice.below(4) {
            0 => client.reset(),
            1 => server.reset(),
            2 => drop(client),
            _ => drop(server),
        }
    }
    Passed {
        tunnels: count as u64,
        bytes,
        is_whole: true,
    }
}

/// Returns plans with up to 64 MiB, half of them small; one side resets two of ten.
pub fn plans(dice: &mut Dice) -> (Plan, Plan) {
    let ends = match dice.below(10) {
        0 => (End::Reset, End::Orderly),
        1 => (End::Orderly, End::Reset),
        _ => (End::Orderly, End::Orderly),
    };
    let mut plan = |end| {
        let bound = (64 << 20) >> dice.below(20);
        let bytes = dice.below(bound);
        Plan { bytes, end }
    };
    (plan(ends.0), plan(ends.1))
}
