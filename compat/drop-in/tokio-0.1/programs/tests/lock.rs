//! What the drop-ins take out of a lock file.

/// Returns name, version and whether it comes from a registry, of each package.
fn packages(lock: &str) -> Vec<(&str, &str, bool)> {
    let packages = lock.split("[[package]]\n").skip(1);
    packages
        .map(|package| {
            let value = |key: &str| {
                let mut lines = package.lines();
                let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
                value.map(|value| value.trim_matches('"'))
            };
            let version = value("version").unwrap();
            (value("name").unwrap(), version, value("source").is_some())
        })
        .collect()
}

/// Whether it is what the drop-ins replace, or below that alone.
fn is_replaced((name, version, is_registered): &(&str, &str, bool)) -> bool {
    let is_old = match *name {
        "mio" => version.starts_with("0.6."),
        "winapi" => version.starts_with("0.2."),
        "tokio-current-thread" | "tokio-executor" | "tokio-reactor" | "tokio-tcp" => true,
        "tokio-threadpool" | "tokio-timer" | "tokio-udp" | "tokio-uds" => true,
        "mio-uds" | "miow" => true,
        "lock_api" | "memoffset" | "parking_lot" => true,
        name => name.starts_with("crossbeam-"),
    };
    is_old && *is_registered
}

#[test]
fn the_drop_ins_leave_nothing_of_what_they_replace() {
    let lock = packages(include_str!("../drop-in/Cargo.lock"));
    let left: Vec<_> = lock.iter().filter(|package| is_replaced(package)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(lock.contains(&("mio", "0.6.23", false)));
    let real = packages(include_str!("../real/Cargo.lock"));
    assert!(real.iter().filter(|package| is_replaced(package)).count() > 15);
}
