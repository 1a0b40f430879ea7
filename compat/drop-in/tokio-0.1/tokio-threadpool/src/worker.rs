use std::convert::Infallible;

/// A worker of a pool. None exists: tokio 1 has its own workers.
#[derive(Debug)]
pub struct Worker {
    id: WorkerId,
    never: Infallible,
}

/// A number of a worker, below the size of its pool.
#[derive(Debug, Clone, Hash, Eq, PartialEq)]
pub struct WorkerId(usize);

impl Worker {
    /// Returns the worker's number.
    pub fn id(&self) -> &WorkerId {
        &self.id
    }

    /// Runs tasks until the pool is shut down.
    pub fn run(&self) {
        match self.never {}
    }
}

impl WorkerId {
    /// Returns the number.
    pub fn to_usize(&self) -> usize {
        self.0
    }
}
