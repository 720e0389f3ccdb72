//! A list of what keeps a loop alive from other threads, for [`Cx::why_alive`](crate::Cx::why_alive).

use slab::Slab;

use crate::place::Origin;
use crate::sync::{Mutex, lock};

/// Where each comes from, by the number that it was given.
#[derive(Debug, Default)]
pub(crate) struct AliveList(Mutex<Slab<Origin>>);

impl AliveList {
    pub(crate) fn add(&self, origin: Origin) -> usize {
        lock(&self.0).insert(origin)
    }

    pub(crate) fn remove(&self, number: usize) {
        let mut all = lock(&self.0);
        all.try_remove(number);
        if all.is_empty() {
            *all = Slab::new();
        }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    pub(crate) fn all(&self) -> Vec<Origin> {
        lock(&self.0).iter().map(|(_, origin)| *origin).collect()
    }
}
