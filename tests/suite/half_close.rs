//! The end of one direction, which is passed on while the other continues, with copying, with
//! splicing, and with changes between them, as in `relay`. `half_close_delay` has those that are held
//! back.

use support::ends::{Ends, Gate};
use support::{sys, Pattern};

use crate::relay::{check_filled, fill, over_each_setting, start, upload};

const MIB: u64 = 1 << 20;

over_each_setting! {
    the_clients_end_is_passed_on_and_the_download_continues
    the_destinations_end_is_passed_on_and_the_upload_continues
    an_end_that_arrives_with_the_last_bytes_is_noticed
    pending_bytes_are_delivered_before_the_end
}

/// The 2019 ptunnel dropped the other direction at the first end.
fn the_clients_end_is_passed_on_and_the_download_continues(setting: &str) {
    let gate = Gate::open();
    let program = start(&gate, setting);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    client.send("that is all");
    client.finish_sending();
    assert_eq!(server.rest(), b"that is all");
    let sending = upload(&server, 8, 6 * MIB, true);
    Pattern::new(8).read_all(&mut client, 6 * MIB);
    sending.join().unwrap();
}

fn the_destinations_end_is_passed_on_and_the_upload_continues(setting: &str) {
    let gate = Gate::open();
    let program = start(&gate, setting);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    server.send("that is all");
    server.finish_sending();
    assert_eq!(client.rest(), b"that is all");
    let sending = upload(&client, 9, 6 * MIB, true);
    Pattern::new(9).read_all(&mut server, 6 * MIB);
    sending.join().unwrap();
}

/// With edge-triggered readiness such an end causes no second event: a reader that treats a short
/// read as an empty socket would wait for ever.
fn an_end_that_arrives_with_the_last_bytes_is_noticed(setting: &str) {
    let gate = Gate::open();
    let program = start(&gate, setting);
    for size in &[
        1, 100, 1460, 16_384, 32_767, 32_768, 32_769, 65_536, 200_000,
    ] {
        let message = Pattern::new(10).take(*size);
        let Ends {
            mut client,
            mut server,
        } = gate.join(&program);
        sys::set_cork(client.stream(), true);
        client.send(&message);
        client.finish_sending();
        assert!(server.rest() == message, "{} bytes up", size);
        sys::set_cork(server.stream(), true);
        server.send(&message);
        server.finish_sending();
        assert!(client.rest() == message, "{} bytes down", size);
    }
}

fn pending_bytes_are_delivered_before_the_end(setting: &str) {
    let gate = Gate::narrow();
    let program = start(&gate, setting);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    let sent = fill(&mut client, 11);
    client.finish_sending();
    server.finish_sending();
    client.expect_end();
    check_filled(&mut server, 11, sent);
    server.expect_end();
}
