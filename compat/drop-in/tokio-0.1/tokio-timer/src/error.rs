use std::{error, fmt};

/// The reason why a timer can't be waited for.
#[derive(Debug)]
pub struct Error(Kind);

#[derive(Debug, PartialEq)]
enum Kind {
    Shutdown,
    AtCapacity,
}

impl Error {
    /// Returns the error of a timer that has ended, or that there is none.
    pub fn shutdown() -> Error {
        Error(Kind::Shutdown)
    }

    /// Returns whether the timer has ended, or whether there is none.
    pub fn is_shutdown(&self) -> bool {
        self.0 == Kind::Shutdown
    }

    /// Returns the error of a timer that has no room. The timers of this crate always have.
    pub fn at_capacity() -> Error {
        Error(Kind::AtCapacity)
    }

    /// Returns whether the timer has no room.
    pub fn is_at_capacity(&self) -> bool {
        self.0 == Kind::AtCapacity
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[allow(deprecated)]
        f.write_str(error::Error::description(self))
    }
}

impl error::Error for Error {
    fn description(&self) -> &str {
        match self.0 {
            Kind::Shutdown => "timer is shutdown, or the thread is in no runtime",
            Kind::AtCapacity => "timer is at capacity and cannot create a new entry",
        }
    }
}
