use super::*;

/// A proxy that is probed, and the channel of its thread.
fn probed(is_unreachable: bool) -> (Arc<Health>, Receiver<()>) {
    let health = Arc::new(Health::default());
    health.failed(Instant::now(), is_unreachable);
    let mut stopped = None;
    health.probe(|receiver| {
        stopped = Some(receiver);
        true
    });
    health.probe(|_| unreachable!("it is probed"));
    (health, stopped.unwrap())
}

fn find(health: &Health, found: Found) -> bool {
    health.probed(|| found, || false)
}

fn is_ended(stopped: &Receiver<()>) -> bool {
    stopped.try_recv() == Err(TryRecvError::Disconnected)
}

#[test]
fn no_client_tries_a_proxy_that_is_probed_until_the_probe_is_answered() {
    let (health, stopped) = probed(true);
    let later = Instant::now() + PAUSE * 100;
    assert!(!find(&health, Found::Unreachable));
    assert_eq!(health.standing(later), Standing::Unreachable);
    assert!(!find(&health, Found::Silent));
    assert_eq!(health.standing(later), Standing::Avoided);
    assert!(!health.claim(later));
    health.failed(later, true);
    assert!(!find(&health, Found::Nothing));
    assert_eq!(health.standing(later), Standing::Unreachable);
    assert!(!is_ended(&stopped));
    assert!(find(&health, Found::Answering));
    assert_eq!(health.standing(later), Standing::Fit);
    assert!(is_ended(&stopped) && !health.is_down());
}

#[test]
fn after_a_probe_without_a_clear_result_one_client_tries_the_proxy() {
    let (health, _stopped) = probed(false);
    assert!(!find(&health, Found::Unclear));
    let now = Instant::now();
    assert!(health.is_down() && health.claim(now));
    assert!(!health.claim(now), "another client");
}

#[test]
fn an_answer_to_a_client_ends_the_probes() {
    let (health, stopped) = probed(true);
    health.answered();
    assert!(is_ended(&stopped));
    // The last one is under way, and the proxy fails again.
    health.failed(Instant::now(), true);
    let is_up = health.probed(|| Found::Answering, || is_ended(&stopped));
    assert!(!is_up && health.is_down());
}

#[test]
fn without_a_thread_a_client_tries_the_proxy_after_the_pause() {
    let health = Health::default();
    let now = Instant::now();
    health.failed(now, true);
    health.probe(|_| false);
    assert!(!health.claim(now) && health.claim(now + PAUSE));
    let (health, _stopped) = probed(true);
    health.stop_probing(now);
    assert!(!health.claim(now) && health.claim(now + PAUSE));
}

#[test]
fn a_thread_that_ends_early_leaves_the_proxy_to_clients_and_to_another_thread() {
    let (health, stopped) = probed(true);
    drop(health.probing(&stopped));
    let now = Instant::now();
    assert!(!health.claim(now) && health.claim(now + PAUSE));
    let mut next = None;
    health.probe(|receiver| {
        next = Some(receiver);
        true
    });
    // The end of the first one says nothing about the second.
    drop(health.probing(&stopped));
    assert!(!is_ended(&next.unwrap()) && !health.claim(now + PAUSE * 9));
}

/// Otherwise a proxy that answers probes alone would hold up a client each time.
#[test]
fn the_pause_doubles_until_a_client_gets_an_answer() {
    let (health, _stopped) = probed(true);
    let mut pauses = vec![health.pause()];
    for found in &[Found::Unreachable, Found::Answering] {
        find(&health, *found);
        pauses.push(health.pause());
    }
    // Those that wait for it all fail.
    for _ in 0..10 {
        health.failed(Instant::now(), false);
    }
    pauses.push(health.pause());
    let seconds = pauses.iter().map(Duration::as_secs);
    assert_eq!(seconds.collect::<Vec<u64>>(), [30, 60, 60, 120]);
    for _ in 0..100 {
        find(&health, Found::Silent);
    }
    assert_eq!(health.pause(), LONGEST_PAUSE);
    health.answered();
    health.failed(Instant::now(), true);
    assert_eq!(health.pause(), PAUSE);
}

#[test]
fn clients_that_watch_learn_that_another_one_cannot_reach_the_proxy() {
    let health = Arc::new(Health::default());
    let (sender, receiver) = channel();
    let watch = || {
        let sender = sender.clone();
        health.watch(Box::new(move || sender.send(()).unwrap()))
    };
    let (one, _two) = (watch(), watch());
    drop(one);
    health.failed(Instant::now(), false);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    health.failed(Instant::now(), true);
    health.failed(Instant::now(), true);
    assert_eq!(receiver.try_iter().count(), 1);
}
