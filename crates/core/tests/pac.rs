//! PAC files in a program that isn't ptunnel.

#![cfg(feature = "pac")]

use ptunnel_core::config::ProxyDefaults;
use ptunnel_core::upstream::pac;

/// Otherwise its own `main` would run a second time, as the child.
#[test]
fn a_library_user_without_enable_gets_an_error() {
    let file = std::env::temp_dir().join(format!("ptunnel-{}.pac", std::process::id()));
    std::fs::write(&file, "function FindProxyForURL() { return 'DIRECT' }").unwrap();
    let read = pac::read(file.to_str().unwrap(), ProxyDefaults::default());
    std::fs::remove_file(&file).unwrap();
    let why = read.unwrap_err().to_string();
    assert!(why.contains("ptunnel::upstream::pac::enable()"), "{}", why);
}
