//! A ring of slots, one a period: what is due lies in the slots that time has reached.
//!
//! A hashed timing wheel (Varghese and Lauck, 1987) whose entries may move on without telling it:
//! who is found before its time is put back, into the slot that is right by then.

use std::cell::Cell;
use std::mem;
use std::rc::Rc;

/// As many periods ahead are told apart. What is due later is found once in a turn, and put back.
const SLOTS: u64 = 256;

/// Where an entry lies, for its removal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    slot: u32,
    index: u32,
}

/// What knows its position.
pub(super) trait Positioned {
    fn position(&self) -> &Cell<Position>;
}

/// Times are in any unit, and begin with 0.
pub(super) struct Wheel<E> {
    period: u64,
    /// The last slot that time has reached.
    reached: u64,
    slots: Vec<Vec<Rc<E>>>,
    held: usize,
}

impl<E: Positioned> Wheel<E> {
    /// An empty one.
    pub(super) fn new(period: u64) -> Wheel<E> {
        Wheel {
            period,
            reached: 0,
            slots: (0..SLOTS).map(|_| Vec::new()).collect(),
            held: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Adds an entry that [`due`](Wheel::due) finds at the first of its times from `time` on, or
    /// before.
    pub(super) fn put(&mut self, entry: Rc<E>, time: u64) {
        // Never behind: only what lies ahead is reached.
        let slot = (time / self.period).max(self.reached);
        let slot = slot.min(self.reached + SLOTS - 1) % SLOTS;
        let entries = &mut self.slots[slot as usize];
        entry.position().set(Position {
            slot: slot as u32,
            index: entries.len() as u32,
        });
        entries.push(entry);
        self.held += 1;
    }

    pub(super) fn remove(&mut self, position: Position) -> Rc<E> {
        let entries = &mut self.slots[position.slot as usize];
        let removed = entries.swap_remove(position.index as usize);
        if let Some(moved) = entries.get(position.index as usize) {
            moved.position().set(position);
        }
        self.held -= 1;
        removed
    }

    /// Takes out all whose time may have come at `now`. Who isn't gone is to be put back.
    ///
    /// The slot of `now` is reached again by the next call: its time isn't over.
    pub(super) fn due(&mut self, now: u64) -> Vec<Rc<E>> {
        let last = self.reached;
        self.reached = (now / self.period).max(last);
        // Each slot once, however late this is.
        let first = last.max(self.reached.saturating_sub(SLOTS - 1));
        let slots = &mut self.slots;
        let due: Vec<Rc<E>> = (first..=self.reached)
            .flat_map(|slot| mem::take(&mut slots[(slot % SLOTS) as usize]))
            .collect();
        self.held -= due.len();
        due
    }
}
