//! The lines of a message that arrives in pieces.

/// Finds the ends of lines in bytes that grow, and looks at each byte once.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::proto) struct Lines {
    /// The number of bytes in the lines so far.
    start: usize,
    searched: usize,
}

impl Lines {
    /// Returns the next line of `bytes` with its LF, once it is complete. The next call must have the
    /// same bytes, or more.
    pub(in crate::proto) fn next<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let length = bytes[self.searched..].iter().position(|b| *b == b'\n');
        let begin = self.start;
        self.searched = length.map_or(bytes.len(), |length| self.searched + length + 1);
        length.map(|_| {
            self.start = self.searched;
            &bytes[begin..self.start]
        })
    }

    /// Returns the number of bytes in the lines so far.
    pub(in crate::proto) fn length(&self) -> usize {
        self.start
    }
}
