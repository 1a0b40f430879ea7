//! A part of a buffer that owns the whole.

use std::ops::Range;

/// A part of a buffer that owns the whole, e.g. for `write_all`, which gives it back.
pub struct Window<T> {
    inner: T,
    range: Range<usize>,
}

impl<T: AsRef<[u8]>> Window<T> {
    /// Creates a window on all of `t`.
    pub fn new(t: T) -> Window<T> {
        Window {
            range: 0..t.as_ref().len(),
            inner: t,
        }
    }

    /// Returns the buffer.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// Returns the buffer.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Gives the buffer back.
    pub fn into_inner(self) -> T {
        self.inner
    }

    /// Returns where the window begins, in bytes from the start of the buffer.
    pub fn start(&self) -> usize {
        self.range.start
    }

    /// Returns where the window ends, in bytes from the start of the buffer.
    pub fn end(&self) -> usize {
        self.range.end
    }

    /// Sets where the window begins.
    ///
    /// # Panics
    ///
    /// When that is after its end, or after the end of the buffer.
    pub fn set_start(&mut self, start: usize) -> &mut Window<T> {
        assert!(
            start <= self.range.end && start <= self.inner.as_ref().len(),
            "a Window of {:?} was set to start at {start}",
            self.range
        );
        self.range.start = start;
        self
    }

    /// Sets where the window ends.
    ///
    /// # Panics
    ///
    /// When that is before its start, or after the end of the buffer.
    pub fn set_end(&mut self, end: usize) -> &mut Window<T> {
        assert!(
            self.range.start <= end && end <= self.inner.as_ref().len(),
            "a Window of {:?} was set to end at {end}",
            self.range
        );
        self.range.end = end;
        self
    }
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Window<T> {
    fn as_ref(&self) -> &[u8] {
        &self.inner.as_ref()[self.range.clone()]
    }
}

impl<T: AsMut<[u8]>> AsMut<[u8]> for Window<T> {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.inner.as_mut()[self.range.clone()]
    }
}
