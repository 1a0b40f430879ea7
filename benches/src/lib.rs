//! Rigs that measure ptunnel beside its peers, in one run on one machine. From the bottom up, each uses those above it:
//!
//! - [`stop`], [`sys`], and [`peer`]: what the peers in `src/bin/` share; nothing else of it runs in the rig itself.
//! - [`model`]: figures, peers, targets, samples, verdicts.
//! - [`tools`]: what the kernel, callgrind and strace say about a process.
//! - [`load`]: the load, and the server behind the relays; both check every byte.
//! - [`peers`]: `peers.toml`, how a peer is built, found, started and stopped.
//! - [`measure`]: how any rig is measured.
//! - [`rigs`]: one module a rig.
//! - [`report`]: targets judged, the page, the documents.
//!
//! `METHODOLOGY.md` says how each figure is taken and where it is biased.

pub mod load;
pub mod measure;
pub mod model;
pub mod peer;
pub mod peers;
pub mod report;
pub mod rigs;
pub mod stop;
pub mod sys;
pub mod tools;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// From the bottom up.
    const LAYERS: [&str; 10] = [
        "stop", "sys", "peer", "model", "tools", "load", "peers", "measure", "rigs", "report",
    ];

    /// What a file names behind `crate::` that is above its own layer, or no layer.
    fn wrong(path: &Path, layer: usize) -> Vec<String> {
        if path.is_dir() {
            let entries = fs::read_dir(path).unwrap();
            return entries
                .flat_map(|entry| wrong(&entry.unwrap().path(), layer))
                .collect();
        }
        let text = fs::read_to_string(path).unwrap();
        let named = text.split("crate::").skip(1);
        let named = named.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
        let is_wrong = |name: &&str| !LAYERS[..=layer].contains(name);
        named
            .filter(is_wrong)
            .map(|name| format!("{}: {name}", path.display()))
            .collect()
    }

    #[test]
    fn a_layer_uses_only_those_below_it() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for (layer, name) in LAYERS.iter().enumerate() {
            let (folder, file) = (source.join(name), source.join(format!("{name}.rs")));
            let path = if folder.exists() { folder } else { file };
            assert_eq!(wrong(&path, layer), Vec::<String>::new());
        }
    }
}
