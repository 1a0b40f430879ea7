//! System calls of the program that fail on a test's demand; see faults.c.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

use super::parts::preloadable;
use super::program::Ptunnel;
use super::temp::TempDir;

/// Maximum number of rules.
const RULES: usize = 16;
/// Number of words of a rule, of four bytes each.
const WORDS: usize = 8;
/// The word of a rule that counts the failed calls.
const HITS: usize = 7;

/// A kind of system call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Call {
    Read = 1,
    Write,
    Accept,
    Connect,
    Splice,
    Pipe,
    EpollAdd,
    EpollWait,
    Dup,
    Socket,
    Listen,
    Option,
    Shutdown,
    PipeSize,
}

/// A kind of calls that fail, and their error.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    call: Call,
    error: i32,
    every: u32,
    skip: u32,
    limit: u32,
    any: bool,
}

impl Fault {
    /// Makes each call of this kind fail, on sockets with an IP address if it is about a
    /// descriptor.
    pub fn new(call: Call, error: i32) -> Fault {
        let any = matches!(
            call,
            Call::Splice | Call::Pipe | Call::EpollWait | Call::Dup | Call::Socket | Call::PipeSize
        );
        Fault {
            call,
            error,
            every: 1,
            skip: 0,
            limit: 0,
            any,
        }
    }

    /// Makes only each call with this number fail.
    pub fn every(self, every: u32) -> Fault {
        Fault { every, ..self }
    }

    /// Lets this many calls succeed first.
    pub fn after(self, skip: u32) -> Fault {
        Fault { skip, ..self }
    }

    /// Limits the number of failing calls.
    pub fn at_most(self, limit: u32) -> Fault {
        Fault { limit, ..self }
    }

    /// Includes all descriptors except eventfds.
    pub fn on_all(self) -> Fault {
        Fault { any: true, ..self }
    }
}

/// The faults of the programs that were started with them.
pub struct Faults {
    file: File,
    library: String,
    path: String,
    _folder: TempDir,
}

impl Faults {
    /// Returns the shared faults, none of them set.
    pub fn none() -> Faults {
        let folder = TempDir::new();
        let library = preloadable(&folder, include_str!("faults.c"));
        let path = folder.file("faults", [0; RULES * WORDS * 4]);
        let file = OpenOptions::new().read(true).write(true).open(&path);
        Faults {
            file: file.expect("a file of the test"),
            library,
            path,
            _folder: folder,
        }
    }

    /// Returns a program with calls that can fail; it must be the first command of its command
    /// line.
    pub fn of(&self, program: Ptunnel) -> Ptunnel {
        program
            .env("LD_PRELOAD", &self.library)
            .env("PTUNNEL_FAULTS", &self.path)
    }

    /// Replaces the faults by these.
    pub fn set(&self, faults: &[Fault]) {
        self.clear();
        assert!(faults.len() <= RULES);
        for (place, fault) in faults.iter().enumerate() {
            let words = [
                fault.error as u32,
                fault.every,
                fault.skip,
                fault.limit,
                fault.any as u32,
                0,
                0,
            ];
            for (word, value) in words.iter().enumerate() {
                self.write(place, 1 + word, *value);
            }
            // Last, because the rule applies from then on.
            self.write(place, 0, fault.call as u32);
        }
    }

    /// Removes all faults.
    pub fn clear(&self) {
        (0..RULES).for_each(|place| self.write(place, 0, 0));
    }

    /// Returns the number of calls that each fault has hit.
    pub fn hits(&self, count: usize) -> Vec<u32> {
        let hits = |place| {
            let mut word = [0; 4];
            let at = (place * WORDS + HITS) * 4;
            self.file.read_exact_at(&mut word, at as u64).expect("it");
            u32::from_ne_bytes(word)
        };
        (0..count).map(hits).collect()
    }

    fn write(&self, place: usize, word: usize, value: u32) {
        let at = (place * WORDS + word) * 4;
        let written = self.file.write_all_at(&value.to_ne_bytes(), at as u64);
        written.expect("a file of the test");
    }
}
