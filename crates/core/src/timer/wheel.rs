//! A hashed timing wheel (Varghese and Lauck, 1987): a ring of slots, one per period.
//!
//! An entry can be extended without a call of the wheel: an entry that is found before its time is
//! put back, into the slot of its new time. All due entries lie in the slots that time has reached.

use std::cell::Cell;
use std::mem;
use std::rc::Rc;

/// Slots of the ring. An entry that is due later than one turn is found once a turn and put back.
const SLOTS: u64 = 256;

/// The position of an entry in the wheel, for its removal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WheelPosition {
    slot: u32,
    index: u32,
}

/// An entry that keeps its position.
pub(super) trait Positioned {
    fn position(&self) -> &Cell<WheelPosition>;
}

/// The wheel. Times are in any unit and start at 0.
pub(super) struct Wheel<E> {
    period: u64,
    /// The last slot that time has reached.
    reached: u64,
    slots: Vec<Vec<Rc<E>>>,
    held: usize,
}

impl<E: Positioned> Wheel<E> {
    /// Returns an empty wheel with slots of `period`.
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

    /// Adds an entry that is due at `time`. [`due`](Wheel::due) returns it at its first call from
    /// then on, or before.
    pub(super) fn put(&mut self, entry: Rc<E>, time: u64) {
        // Not behind `reached`: that slot would be looked at a turn later.
        let slot = (time / self.period).max(self.reached);
        let slot = slot.min(self.reached + SLOTS - 1) % SLOTS;
        let entries = &mut self.slots[slot as usize];
        entry.position().set(WheelPosition {
            slot: slot as u32,
            index: entries.len() as u32,
        });
        entries.push(entry);
        self.held += 1;
    }

    pub(super) fn remove(&mut self, position: WheelPosition) -> Rc<E> {
        let entries = &mut self.slots[position.slot as usize];
        let removed = entries.swap_remove(position.index as usize);
        if let Some(moved) = entries.get(position.index as usize) {
            moved.position().set(position);
        }
        self.held -= 1;
        removed
    }

    /// Removes and returns all entries that can be due at `now`; the caller puts back those that stay.
    ///
    /// The next call looks at the slot of `now` again, since its time isn't over.
    pub(super) fn due(&mut self, now: u64) -> Vec<Rc<E>> {
        let last = self.reached;
        self.reached = (now / self.period).max(last);
        // Each slot once, even after more than a turn.
        let first = last.max(self.reached.saturating_sub(SLOTS - 1));
        let slots = &mut self.slots;
        let due: Vec<Rc<E>> = (first..=self.reached)
            .flat_map(|slot| mem::take(&mut slots[(slot % SLOTS) as usize]))
            .collect();
        self.held -= due.len();
        due
    }
}
