//! libFuzzer over the target that FUZZ_TARGET names.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ptunnel_fuzz::{Target, TARGETS};

static CHECK: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET is a target's name");
    let target = TARGETS.iter().find(|target| target.0 == name);
    target
        .unwrap_or_else(|| panic!("there is no target {name}"))
        .1
});

fuzz_target!(|bytes: &[u8]| CHECK(bytes));
