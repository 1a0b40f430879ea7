//! How near ptunnel is to its limits, and a line in the log before it reaches one.
//!
//! The readings are also those of the status server.

use std::fmt;
use std::time::Duration;

use log::{info, warn};

use crate::os::resources::{self, Usage};

/// A resource with a limit; displays as in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// Clients of all listeners (`--max-connections`).
    Clients,
    /// Descriptors of the process.
    Descriptors,
    /// Bytes of memory of the control group.
    Memory,
}

impl Resource {
    /// Returns the label of metrics and JSON.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Resource::Clients => "clients",
            Resource::Descriptors => "descriptors",
            Resource::Memory => "memory",
        }
    }

    /// Returns what happens at the limit, and what to do before.
    fn advice(self) -> &'static str {
        match self {
            Resource::Clients => "at the limit, clients wait: raise --max-connections",
            Resource::Descriptors => {
                "at the limit, clients wait: raise it (LimitNOFILE=, ulimit -Hn), or lower --max-connections"
            }
            Resource::Memory => {
                "at the limit, the kernel kills ptunnel: raise it (MemoryMax=, the container's limit), or lower --max-connections"
            }
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Resource::Clients => "clients",
            Resource::Descriptors => "file descriptors",
            Resource::Memory => "MiB of memory",
        })
    }
}

/// The use of a resource at a time; displays as `82 of 100 clients`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) resource: Resource,
    pub(crate) usage: Usage,
}

impl Reading {
    /// Whether at least four fifths are in use.
    pub(crate) fn is_near(&self) -> bool {
        u128::from(self.usage.used) * 5 >= u128::from(self.usage.limit) * 4
    }

    /// Whether less than seven tenths are in use. Between both nothing changes, so that a number that
    /// goes up and down doesn't fill the log.
    fn is_far(&self) -> bool {
        u128::from(self.usage.used) * 10 < u128::from(self.usage.limit) * 7
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.resource {
            Resource::Memory => 1 << 20,
            _ => 1,
        };
        let Usage { used, limit } = self.usage;
        write!(f, "{} of {} {}", used / unit, limit / unit, self.resource)
    }
}

/// Returns the use of clients, if they have a limit.
fn of_clients(clients: u64, max_clients: Option<usize>) -> Option<Usage> {
    max_clients.map(|most| Usage {
        used: clients,
        limit: most as u64,
    })
}

/// Returns the reading of each resource that has a limit.
pub(crate) fn readings(clients: u64, max_clients: Option<usize>) -> Vec<Reading> {
    let all = [
        (Resource::Clients, of_clients(clients, max_clients)),
        (Resource::Descriptors, resources::descriptors()),
        (Resource::Memory, resources::memory()),
    ];
    let limited = all.iter().filter_map(|(resource, usage)| {
        let resource = *resource;
        usage.map(|usage| Reading { resource, usage })
    });
    limited.collect()
}

/// The smallest limit that is watched: with fewer clients, most numbers would be near it.
const LEAST: u64 = 5;

/// Pause between two looks.
pub const PAUSE: Duration = Duration::from_secs(1);

/// Number of looks between two readings that take time: memory, if it has a limit, and descriptors
/// on a kernel that doesn't count them.
const SELDOM: u32 = 10;

/// The same for memory, as long as it has no limit.
const RARELY: u32 = 60;

/// Warns when a resource is near its limit, and says when it no longer is. It has no thread: with a
/// second one, glibc makes each system call of the first dearer.
pub struct LimitWatch {
    max_clients: Option<usize>,
    near: Vec<Resource>,
    /// Number of looks until the next reading.
    until_descriptors: u32,
    until_memory: u32,
}

impl LimitWatch {
    /// Returns a watch with this limit of clients.
    pub fn new(max_clients: Option<usize>) -> LimitWatch {
        LimitWatch {
            max_clients,
            near: Vec::new(),
            until_descriptors: 0,
            until_memory: 0,
        }
    }

    /// Reads what is in use, with so many clients; to be called after each [`PAUSE`].
    pub fn look(&mut self, clients: usize) {
        let of_clients = of_clients(clients as u64, self.max_clients);
        self.report_use(Resource::Clients, of_clients);
        if self.until_descriptors == 0 {
            let is_cheap = resources::are_descriptors_counted();
            self.until_descriptors = if is_cheap { 1 } else { SELDOM };
            self.report_use(Resource::Descriptors, resources::descriptors());
        }
        if self.until_memory == 0 {
            let memory = resources::memory();
            self.until_memory = if memory.is_some() { SELDOM } else { RARELY };
            self.report_use(Resource::Memory, memory);
        }
        self.until_descriptors -= 1;
        self.until_memory -= 1;
    }

    fn report_use(&mut self, resource: Resource, usage: Option<Usage>) {
        if let Some(usage) = usage {
            report(&mut self.near, Reading { resource, usage });
        }
    }
}

/// Logs a change; `near` holds the resources that were near their limits.
fn report(near: &mut Vec<Resource>, reading: Reading) {
    let resource = reading.resource;
    let was_near = near.contains(&resource);
    if !was_near && reading.is_near() && reading.usage.limit >= LEAST {
        near.push(resource);
        warn!("near a limit: {}; {}", reading, resource.advice());
    } else if was_near && reading.is_far() {
        near.retain(|one| *one != resource);
        info!("no longer near a limit: {}", reading);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(used: u64, limit: u64) -> Reading {
        Reading {
            resource: Resource::Clients,
            usage: Usage { used, limit },
        }
    }

    #[test]
    fn a_number_that_goes_up_and_down_is_reported_once() {
        let mut near = Vec::new();
        let mut is_near = |used| {
            report(&mut near, clients(used, 100));
            !near.is_empty()
        };
        let all: Vec<bool> = [79, 80, 79, 70, 90, 69, 79]
            .iter()
            .map(|used| is_near(*used))
            .collect();
        assert_eq!(all, [false, true, true, true, true, false, false]);
    }

    #[test]
    fn a_limit_of_few_clients_is_not_watched() {
        let mut near = Vec::new();
        report(&mut near, clients(4, 4));
        assert!(near.is_empty());
        report(&mut near, clients(4, 5));
        assert_eq!(near, [Resource::Clients]);
    }

    #[test]
    fn memory_is_shown_in_mebibytes() {
        let usage = Usage {
            used: 210 << 20,
            limit: 256 << 20,
        };
        let resource = Resource::Memory;
        let text = Reading { resource, usage }.to_string();
        assert_eq!(text, "210 of 256 MiB of memory");
    }
}
