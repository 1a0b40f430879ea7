//! Payload that shows each lost, doubled, moved or altered byte.
//!
//! A pattern repeats a block whose length is a prime above any buffer of the program, so a piece at
//! the wrong place never fits. The check compares slices, which is quick without optimisation too.

use std::io::{self, Read, Write};
use std::sync::Arc;

const BLOCK: usize = 1_048_583;

/// An endless stream of bytes, the same for the same seed.
#[derive(Clone)]
pub struct Pattern {
    block: Arc<Vec<u8>>,
    /// Position in the block at which the stream begins.
    start: u64,
}

impl Pattern {
    pub fn new(seed: u64) -> Pattern {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut block = Vec::with_capacity(BLOCK + 8);
        while block.len() < BLOCK {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            block.extend_from_slice(&state.to_le_bytes());
        }
        block.truncate(BLOCK);
        Pattern {
            block: Arc::new(block),
            start: 0,
        }
    }

    /// Returns another stream on the same block, without further memory: since the length of the
    /// block is a prime, each number below it begins elsewhere.
    pub fn variant(&self, number: u64) -> Pattern {
        let length = BLOCK as u64;
        Pattern {
            block: self.block.clone(),
            start: number % length * 648_391 % length,
        }
    }

    /// Returns the bytes from `offset` to the end of the block.
    fn from(&self, offset: u64) -> &[u8] {
        &self.block[((self.start + offset) % BLOCK as u64) as usize..]
    }

    /// Returns the first `count` bytes.
    pub fn take(&self, count: usize) -> Vec<u8> {
        let mut all = Vec::with_capacity(count);
        self.write(&mut all, count as u64).expect("memory");
        all
    }

    /// Returns `count` bytes from `offset` on.
    pub fn piece(&self, offset: u64, count: usize) -> Vec<u8> {
        let mut all = Vec::with_capacity(count);
        while all.len() < count {
            let rest = self.from(offset + all.len() as u64);
            all.extend_from_slice(&rest[..rest.len().min(count - all.len())]);
        }
        all
    }

    /// Writes the first `count` bytes.
    pub fn write(&self, out: &mut impl Write, count: u64) -> io::Result<()> {
        let mut offset = 0;
        while offset < count {
            let piece = self.from(offset);
            let wanted = (count - offset).min(65_536).min(piece.len() as u64) as usize;
            out.write_all(&piece[..wanted])?;
            offset += wanted as u64;
        }
        Ok(())
    }

    /// Panics unless `bytes` are those of the pattern from `offset` on.
    pub fn check(&self, offset: u64, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let expected = self.from(at);
            let count = expected.len().min(bytes.len() - done);
            let (got, expected) = (&bytes[done..done + count], &expected[..count]);
            if got != expected {
                let first = (0..count).find(|&i| got[i] != expected[i]).unwrap();
                panic!("byte {} is not the one that was sent", at + first as u64);
            }
            done += count;
        }
    }

    /// Reads exactly `count` bytes and checks each; panics if the end comes first.
    pub fn read(&self, from: &mut impl Read, count: u64) {
        let mut buffer = vec![0; 65_536];
        let mut offset = 0;
        while offset < count {
            let wanted = (count - offset).min(buffer.len() as u64) as usize;
            match from.read(&mut buffer[..wanted]) {
                Ok(0) => panic!("the end came after {} of {} bytes", offset, count),
                Ok(n) => {
                    self.check(offset, &buffer[..n]);
                    offset += n as u64;
                }
                Err(e) => panic!("after {} of {} bytes: {}", offset, count, e),
            }
        }
    }

    /// Reads exactly `count` bytes, checks each, and then reads the end.
    pub fn read_all(&self, from: &mut impl Read, count: u64) {
        self.read(from, count);
        let mut more = [0; 1];
        let end = from.read(&mut more);
        assert!(
            matches!(end, Ok(0)),
            "{:?} instead of the end after {} bytes",
            end,
            count
        );
    }
}
