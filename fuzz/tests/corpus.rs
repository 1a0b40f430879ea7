//! Gives each target the inputs of its corpus: what a run found doesn't come back.

use std::fs;
use std::panic::catch_unwind;

use ptunnel_fuzz::TARGETS;

#[test]
fn every_input_of_the_corpus_holds() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    let mut broken = Vec::new();
    for (name, check) in TARGETS {
        let inputs = fs::read_dir(format!("{corpus}/{name}")).expect(name);
        for path in inputs.map(|input| input.unwrap().path()) {
            let bytes = fs::read(&path).unwrap();
            if catch_unwind(|| check(&bytes)).is_err() {
                broken.push(path);
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(fs::read_dir(corpus).unwrap().count(), TARGETS.len());
}
