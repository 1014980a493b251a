//! Recently seen ids.

use std::collections::VecDeque;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

/// The ids of the last `width` steps.
///
/// # Privacy
/// When an id is forgotten depends only on steps, never on the number of ids: see [`Definition`](crate::Definition).
#[derive(Debug)]
pub(super) struct Window {
    /// For how many steps an id is remembered, including the one in which it arrived.
    width: u64,
    known: HashSet<u128, RandomState>,
    by_step: VecDeque<(u64, Vec<u128>)>,
    /// How many of the newest step's ids are on the disk.
    written: usize,
}

impl Window {
    pub fn new(width: u64) -> Self {
        Self { width, known: HashSet::with_hasher(RandomState::default()), by_step: VecDeque::new(), written: 0 }
    }

    /// Remembers an id that arrived in a step; false if it is already known.
    pub fn insert(&mut self, step: u64, id: u128) -> bool {
        if !self.known.insert(id) {
            return false;
        }
        match self.by_step.back_mut() {
            Some((last, ids)) if *last == step => ids.push(id),
            _ => {
                self.by_step.push_back((step, vec![id]));
                self.written = 0;
            }
        }
        true
    }

    /// The newest step whose ids are no longer needed.
    pub fn forgotten(&self, open: u64) -> Option<u64> {
        open.checked_sub(self.width)
    }

    /// Forgets ids that are too old now that this step is open. Take unwritten ids with `unwritten` first.
    pub fn forget(&mut self, open: u64) {
        let Some(last) = self.forgotten(open) else { return };
        while self.by_step.front().is_some_and(|(step, _)| *step <= last) {
            let (_, ids) = self.by_step.pop_front().expect("just seen");
            for id in &ids {
                self.known.remove(id);
            }
            if self.by_step.is_empty() {
                self.written = 0;
            }
        }
    }

    /// The ids of a step that are not on the disk yet; from now on they count as written.
    pub fn unwritten(&mut self, step: u64) -> &[u128] {
        match self.by_step.back() {
            Some((last, ids)) if *last == step => &ids[std::mem::replace(&mut self.written, ids.len())..],
            _ => &[],
        }
    }

    /// Restores ids from the disk after a restart.
    pub fn restore(&mut self, step: u64, ids: impl Iterator<Item = u128>) {
        for id in ids {
            self.insert(step, id);
        }
        self.written = self.by_step.back().map_or(0, |(_, ids)| ids.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_known_for_so_many_steps_however_many_there_are() {
        for others in [0, 10_000] {
            let mut window = Window::new(3);
            assert!(window.insert(5, 1));
            (2..2 + others).for_each(|id| assert!(window.insert(5, id)));
            for open in [6, 7] {
                window.forget(open);
                assert!(!window.insert(open, 1));
            }
            window.forget(8);
            assert!(window.insert(8, 1));
            assert_eq!(window.known.len(), 1, "the others are gone, too");
        }
    }

    #[test]
    fn what_was_written_is_not_written_again() {
        let mut window = Window::new(2);
        window.insert(1, 10);
        assert_eq!(window.unwritten(1), [10]);
        window.insert(1, 11);
        window.insert(1, 10);
        assert_eq!(window.unwritten(1), [11]);
        window.insert(2, 12);
        assert_eq!(window.unwritten(2), [12]);
        let mut again = Window::new(2);
        again.restore(1, [10, 11].into_iter());
        assert!(!again.insert(2, 11) && again.insert(2, 12));
        assert_eq!(again.unwritten(2), [12]);
    }
}
