//! A peer that runs: started on its core, awaited until it takes connections, ended with the value.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{kill_process, kill_process_group, Pid, Signal};

use super::find::{project, Found};
use super::spec::{Places, Setup};
use crate::model::Cores;
use crate::sys::dies_with_us;
use crate::tools::machine::{pin, raise_descriptors};

/// callgrind makes a start fifty times longer.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// The limit that a peer is given: two for each of 10,000 tunnels, and some.
const DESCRIPTORS: u64 = 21_000;
const ENDS_WITHIN: Duration = Duration::from_secs(20);
/// A port is chosen before the peer binds it, so another process may be quicker, though seldom twice.
const PORTS: usize = 4;

/// The tool that a peer runs under, with the file that it writes; callgrind adds the process id to the name.
#[derive(Clone, Debug)]
pub enum Under {
    Nothing,
    Callgrind(PathBuf),
    Strace(PathBuf),
}

impl Under {
    /// How to install the tool, for the report of a machine without it.
    fn hint(&self) -> &'static str {
        match self {
            Under::Nothing => "",
            Under::Callgrind(_) => "; apt-get install --no-install-recommends valgrind",
            Under::Strace(_) => "; apt-get install --no-install-recommends strace",
        }
    }
}

#[derive(Debug)]
pub struct Running {
    child: Child,
    /// The peer itself, which under strace is a child of the child.
    pub id: u32,
    pub listen: SocketAddr,
}

impl Running {
    /// Starts `peer`, with another port if the first was taken meanwhile; `folder` takes its configuration and what it
    /// says on standard error.
    pub fn start(
        peer: &Found,
        setup: Setup,
        under: &Under,
        folder: &Path,
        cores: Option<Cores>,
    ) -> io::Result<Running> {
        let mut left = PORTS;
        loop {
            left -= 1;
            match Running::start_on(free_port()?, peer, setup, under, folder, cores) {
                Err(e) if e.kind() == io::ErrorKind::AddrInUse && left > 0 => {}
                result => return result,
            }
        }
    }

    fn start_on(
        listen: SocketAddr,
        peer: &Found,
        setup: Setup,
        under: &Under,
        folder: &Path,
        cores: Option<Cores>,
    ) -> io::Result<Running> {
        let name = &peer.spec.name;
        let config = folder.join(format!("{name}.conf"));
        let complaints = folder.join(format!("{name}.stderr"));
        let project = project()?;
        let places = Places {
            setup,
            listen,
            binary: &peer.binary.to_string_lossy(),
            config: &config.to_string_lossy(),
            folder: &folder.to_string_lossy(),
            project: &project.to_string_lossy(),
            descriptors: raise_descriptors().min(DESCRIPTORS),
        };
        if let Some(text) = &peer.spec.config {
            let text = text.replace("{settings}", &peer.spec.settings);
            fs::write(&config, places.fill(&text))?;
        }
        let words = peer.spec.start.iter().map(|word| places.fill(word));
        let mut command = command(under, words);
        command
            .stdin(Stdio::null())
            .stderr(File::create(&complaints)?);
        command.stdout(match peer.spec.ready_line {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        });
        dies_with_us(&mut command);
        // A group of its own: Ctrl-C is for the rig, which then ends the peer itself.
        command.process_group(0);
        let child = spawn_on(&mut command, cores, setup.threads).map_err(|e| {
            let program = command.get_program().to_string_lossy().into_owned();
            io::Error::new(
                e.kind(),
                format!("{program} can't be started: {e}{}", under.hint()),
            )
        })?;
        let id = child.id();
        let mut running = Running { child, id, listen };
        running.await_ready(peer).map_err(|e| {
            let said = fs::read_to_string(&complaints).unwrap_or_default();
            let last = said.lines().next_back().unwrap_or_default();
            io::Error::new(why(&said), format!("{name} did not start: {e}: {last}"))
        })?;
        if let Under::Strace(_) = under {
            let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"))?;
            let traced = children
                .split_whitespace()
                .next()
                .and_then(|word| word.parse().ok());
            running.id = traced.ok_or_else(|| io::Error::other("strace traces nothing"))?;
        }
        Ok(running)
    }

    fn await_ready(&mut self, peer: &Found) -> io::Result<()> {
        let begun = Instant::now();
        if let (Some(wanted), Some(output)) = (&peer.spec.ready_line, self.child.stdout.take()) {
            let (say, listens) = mpsc::channel();
            let wanted = wanted.clone();
            // It reads on to the end: a full pipe must not stop the peer.
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if line.contains(&wanted) {
                        let _ = say.send(());
                    }
                }
            });
            listens
                .recv_timeout(READY_WITHIN)
                .map_err(|_| io::Error::other("it does not say that it listens"))?;
            return Ok(());
        }
        while TcpStream::connect(self.listen).is_err() {
            if let Some(status) = self.child.try_wait()? {
                return Err(io::Error::other(format!("it ended: {status}")));
            }
            if begun.elapsed() > READY_WITHIN {
                return Err(io::Error::other("it takes no connections"));
            }
            // The time of a start is known to a sixty-fourth. A peer that says when it listens isn't connected to, since the
            // connection would be a tunnel in its counts.
            let pause = (begun.elapsed() / 64).min(Duration::from_millis(5));
            thread::sleep(pause.max(Duration::from_micros(50)));
        }
        Ok(())
    }

    /// Asks the peer to end and awaits it, so that a tool above it writes its file.
    pub fn end(mut self) -> io::Result<()> {
        kill_process(pid(self.id)?, Signal::TERM)?;
        let begun = Instant::now();
        while self.child.try_wait()?.is_none() {
            if begun.elapsed() > ENDS_WITHIN {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the peer did not end",
                ));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The group outlives its first process where a relay forks.
        if let Ok(group) = pid(self.child.id()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pid(id: u32) -> io::Result<Pid> {
    Pid::from_raw(id as i32).ok_or_else(|| io::Error::other("no process"))
}

/// The words of a start command under the tool.
pub fn command(under: &Under, words: impl Iterator<Item = String>) -> Command {
    let tool = match under {
        Under::Nothing => Vec::new(),
        Under::Callgrind(out) => {
            let out = format!("--callgrind-out-file={}.%p", out.display());
            ["valgrind", "--quiet", "--tool=callgrind", &out, "--"]
                .map(String::from)
                .to_vec()
        }
        Under::Strace(out) => {
            let out = out.display().to_string();
            ["strace", "-f", "-c", "-o", &out, "--"]
                .map(String::from)
                .to_vec()
        }
    };
    let mut words = tool.into_iter().chain(words);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// A child inherits the core of the thread that starts it.
fn spawn_on(command: &mut Command, cores: Option<Cores>, threads: usize) -> io::Result<Child> {
    let Some(cores) = cores else {
        return command.spawn();
    };
    let both = [cores.peer, cores.load];
    pin(&both[..threads.min(2)])?;
    let child = command.spawn();
    pin(&[cores.load])?;
    child
}

/// A port that was free a moment ago on every address: some peers take no address and listen on all.
fn free_port() -> io::Result<SocketAddr> {
    let everywhere = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    Ok((Ipv4Addr::LOCALHOST, everywhere.local_addr()?.port()).into())
}

/// The kind of error that a peer complained of, whatever its language.
fn why(said: &str) -> io::ErrorKind {
    match said.to_lowercase().contains("address already in use") {
        true => io::ErrorKind::AddrInUse,
        false => io::ErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::spec;
    use rustix::thread::sched_getaffinity;

    /// Starts a peer whose first `failing` starts say `complaint`; returns its port, and those that it was given.
    fn start(name: &str, failing: usize, complaint: &str) -> (io::Result<u16>, Vec<u16>) {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let script = format!(
            "echo $1 >> $2/ports; test $(wc -l < $2/ports) -gt {failing} || {{ echo {complaint} >&2; exit 1; }}; \
             echo listens; exec sleep 9"
        );
        let words = ["sh", "-c", &script, "sh", "{listen_port}", "{folder}"];
        let entry = format!(
            "[[relay]]\nname = 'it'\nkind = 'program'\nabout = ''\ninstall = 'x'\nready_line = 'listens'\n\
             start = {words:?}"
        );
        let peer = Found::of_package(spec::parse(&entry, &[], "relay").unwrap().remove(0));
        let (nobody, nothing) = (Setup::serving(1), Under::Nothing);
        let port =
            Running::start(&peer, nobody, &nothing, &folder, None).map(|peer| peer.listen.port());
        let ports = fs::read_to_string(folder.join("ports")).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        (
            port,
            ports.lines().map(|port| port.parse().unwrap()).collect(),
        )
    }

    #[test]
    fn one_thread_has_a_core_of_its_own_and_two_have_both() {
        let Some(cores) = crate::tools::machine::pick_cores() else {
            return; // one core
        };
        let allowed = |threads| {
            let mut command = Command::new("sleep");
            let mut child = spawn_on(command.arg("9"), Some(cores), threads).unwrap();
            let set = sched_getaffinity(Some(pid(child.id()).unwrap())).unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            [cores.peer, cores.load].map(|core| set.is_set(core))
        };
        assert_eq!(allowed(1), [true, false]);
        assert_eq!(allowed(2), [true, true]);
    }

    #[test]
    fn a_port_that_was_taken_meanwhile_is_exchanged() {
        let (port, ports) = start("taken-once", 1, "bind: [98] Address already in use");
        assert_eq!(ports.len(), 2);
        assert_eq!(port.unwrap(), ports[1]);
    }

    #[test]
    fn no_peer_is_started_for_ever_nor_again_for_another_reason() {
        let (port, ports) = start("always-taken", 99, "Address already in use");
        assert_eq!(port.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(ports.len(), PORTS);
        let (port, ports) = start("another-reason", 1, "no such file");
        assert!(port.unwrap_err().to_string().contains("no such file"));
        assert_eq!(ports.len(), 1);
    }
}
