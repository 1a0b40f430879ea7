//! The lines of a message that arrives in pieces.

/// Finds the ends of lines in bytes that grow, and looks at each byte once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lines {
    /// The number of bytes in the lines so far.
    start: usize,
    searched: usize,
}

impl Lines {
    /// Returns the next line of `bytes` with its LF, once it is complete. The next call must have the
    /// same bytes, or more.
    pub(crate) fn next<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let length = bytes[self.searched..].iter().position(|b| *b == b'\n');
        let begin = self.start;
        self.searched = length.map_or(bytes.len(), |length| self.searched + length + 1);
        length.map(|_| {
            self.start = self.searched;
            &bytes[begin..self.start]
        })
    }

    /// Returns the number of bytes in the lines so far.
    pub(crate) fn length(&self) -> usize {
        self.start
    }
}
