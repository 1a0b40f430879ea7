//! The machine of a run.

use serde::{Deserialize, Serialize};

/// One core for the peer that is measured and another for the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Cores {
    #[serde(alias = "relay")]
    pub peer: usize,
    pub load: usize,
}

/// What a reader must know to judge the figures; nothing that names the host.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub kernel: String,
    /// None when the machine or the kernel doesn't allow it.
    pub pinned: Option<Cores>,
    pub descriptors: u64,
    /// What runs the machine; absent on bare metal, and in older results.
    #[serde(default)]
    pub hypervisor: Option<String>,
    /// Those of the processor's faults that cost time, as "name: mitigation".
    #[serde(default)]
    pub mitigations: Vec<String>,
}
