//! Timers in the order of Node, which is not that of their deadlines.
//!
//! Node has a list for each delay, and times in whole milliseconds. The list that is due first is run as far as it
//! is due, then the next one. So timers that are late run in groups of equal delay.

use std::collections::{BTreeMap, BTreeSet, HashMap};

struct Timer<T> {
    id: u64,
    start: u64,
    is_ref: bool,
    target: T,
}

struct List<T> {
    /// When it is looked at next.
    expiry: u64,
    /// Tells lists of equal expiry apart.
    number: u64,
    /// By their places, in the order in which they were started.
    timers: BTreeMap<u64, Timer<T>>,
}

/// Timers in Node's order. All times are in milliseconds.
pub(crate) struct Lists<T> {
    by_delay: HashMap<u64, List<T>>,
    /// Expiry, number and delay of each list.
    order: BTreeSet<(u64, u64, u64)>,
    /// Delay and place of each timer.
    by_id: HashMap<u64, (u64, u64)>,
    referenced: usize,
    /// The last id, place or number that was given.
    last: u64,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self {
            by_delay: HashMap::new(),
            order: BTreeSet::new(),
            by_id: HashMap::new(),
            referenced: 0,
            last: 0,
        }
    }
}

impl<T> Lists<T> {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Starts a timer, and names it.
    pub(crate) fn start(&mut self, target: T, now: u64, delay: u64, is_ref: bool) -> u64 {
        let id = self.next();
        self.insert(Timer { id, start: now, is_ref, target }, delay);
        id
    }

    fn insert(&mut self, timer: Timer<T>, delay: u64) {
        let (place, number) = (self.next(), self.next());
        self.referenced += usize::from(timer.is_ref);
        self.by_id.insert(timer.id, (delay, place));
        let list = self.by_delay.entry(delay).or_insert_with(|| {
            let expiry = timer.start + delay;
            self.order.insert((expiry, number, delay));
            List { expiry, number, timers: BTreeMap::new() }
        });
        list.timers.insert(place, timer);
    }

    fn remove(&mut self, id: u64) -> Option<Timer<T>> {
        let (delay, place) = self.by_id.remove(&id)?;
        let timer = self.by_delay.get_mut(&delay)?.timers.remove(&place)?;
        self.referenced -= usize::from(timer.is_ref);
        Some(timer)
    }

    /// Clears a timer. What it was for, if it was waiting.
    pub(crate) fn clear(&mut self, id: u64) -> Option<T> {
        let &(delay, _) = self.by_id.get(&id)?;
        let timer = self.remove(id)?;
        self.forget_if_empty(delay);
        Some(timer.target)
    }

    fn forget_if_empty(&mut self, delay: u64) {
        if let Some(list) = self.by_delay.get(&delay)
            && list.timers.is_empty()
        {
            self.order.remove(&(list.expiry, list.number, delay));
            self.by_delay.remove(&delay);
        }
    }

    /// Starts a timer anew. False if it is not waiting.
    pub(crate) fn reset(&mut self, id: u64, now: u64, delay: u64) -> bool {
        let Some(&(before, _)) = self.by_id.get(&id) else { return false };
        let Some(timer) = self.remove(id) else { return false };
        self.forget_if_empty(before);
        self.insert(Timer { start: now, ..timer }, delay);
        true
    }

    /// Says whether a timer keeps the loop alive.
    pub(crate) fn reference(&mut self, id: u64, is_ref: bool) {
        let Some((delay, place)) = self.by_id.get(&id) else { return };
        let list = self.by_delay.get_mut(delay);
        if let Some(timer) = list.and_then(|list| list.timers.get_mut(place)) {
            self.referenced -= usize::from(timer.is_ref);
            self.referenced += usize::from(is_ref);
            timer.is_ref = is_ref;
        }
    }

    /// How many keep the loop alive.
    pub(crate) fn referenced(&self) -> usize {
        self.referenced
    }

    /// When something may be due.
    pub(crate) fn expiry(&self) -> Option<u64> {
        self.order.first().map(|&(expiry, ..)| expiry)
    }

    /// Whether a timer is due, in a phase that began at this time.
    pub(crate) fn has_due(&mut self, now: u64) -> bool {
        while let Some(&(expiry, number, delay)) = self.order.first()
            && expiry <= now
        {
            let first = self.by_delay.get(&delay).and_then(|list| list.timers.first_key_value());
            let Some((_, timer)) = first else {
                self.forget_if_empty(delay);
                continue;
            };
            if timer.start + delay <= now {
                return true;
            }
            // The rest of the list has its turn later.
            let later = ((timer.start + delay).max(now + 1), self.next(), delay);
            self.order.remove(&(expiry, number, delay));
            self.order.insert(later);
            if let Some(list) = self.by_delay.get_mut(&delay) {
                (list.expiry, list.number) = (later.0, later.1);
            }
        }
        false
    }

    /// Takes the next timer out that is due, in a phase that began at this time.
    pub(crate) fn pop_due(&mut self, now: u64) -> Option<T> {
        if !self.has_due(now) {
            return None;
        }
        let &(_, _, delay) = self.order.first()?;
        let id = self.by_delay.get(&delay)?.timers.first_key_value()?.1.id;
        // A list that is empty now stays until the callback has returned, which may start another one.
        self.remove(id).map(|timer| timer.target)
    }
}

#[cfg(test)]
mod tests {
    use super::Lists;

    fn all_due(lists: &mut Lists<&'static str>, now: u64) -> Vec<&'static str> {
        std::iter::from_fn(|| lists.pop_due(now)).collect()
    }

    #[test]
    fn late_timers_run_in_groups_of_equal_delay() {
        let mut lists = Lists::default();
        lists.start("a 10", 0, 10, true);
        lists.start("b 11", 1, 11, true);
        lists.start("c 10", 5, 10, true);
        assert_eq!(lists.expiry(), Some(10));
        assert_eq!(all_due(&mut lists, 40), ["a 10", "c 10", "b 11"]);
        assert_eq!((lists.expiry(), lists.referenced()), (None, 0));
    }

    #[test]
    fn timers_in_time_run_by_their_deadlines() {
        let mut lists = Lists::default();
        lists.start("a 10", 0, 10, true);
        lists.start("b 11", 1, 11, true);
        lists.start("c 10", 5, 10, true);
        for (now, due) in
            [(9, &[][..]), (10, &["a 10"]), (12, &["b 11"]), (14, &[]), (15, &["c 10"])]
        {
            assert_eq!(all_due(&mut lists, now), due, "at {now}");
        }
    }

    #[test]
    fn equal_expiries_run_in_the_order_of_their_lists() {
        let mut lists = Lists::default();
        lists.start("first 3", 0, 3, true);
        lists.start("then 2", 1, 2, true);
        lists.start("then 1", 2, 1, true);
        assert_eq!(all_due(&mut lists, 3), ["first 3", "then 2", "then 1"]);
    }

    #[test]
    fn what_is_started_in_the_phase_waits_for_another() {
        let mut lists = Lists::default();
        lists.start("a", 0, 5, true);
        assert_eq!(lists.pop_due(9), Some("a"));
        lists.start("again", 9, 5, true);
        lists.start("soon", 9, 1, true);
        assert_eq!(lists.pop_due(9), None);
        assert_eq!(lists.expiry(), Some(10));
        assert_eq!(all_due(&mut lists, 20), ["soon", "again"]);
    }

    #[test]
    fn timers_are_cleared_reset_and_referenced() {
        let mut lists = Lists::default();
        let (a, b) = (lists.start("a", 0, 5, true), lists.start("b", 0, 5, false));
        assert_eq!(lists.referenced(), 1);
        lists.reference(b, true);
        lists.reference(a, false);
        lists.reference(a, false);
        assert_eq!(lists.referenced(), 1);
        assert_eq!((lists.clear(a), lists.clear(a)), (Some("a"), None));
        assert!(!lists.reset(a, 1, 5) && lists.reset(b, 3, 7));
        assert_eq!(lists.expiry(), Some(10));
        assert_eq!(lists.clear(b), Some("b"));
        assert_eq!((lists.expiry(), lists.referenced()), (None, 0));
    }
}
