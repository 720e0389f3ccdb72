//! Timers and immediates.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::mem;
use std::rc::Rc;
use std::time::Duration;

use mainspring::{Cx, ImmediateId, TimerId};

use super::Layer;
use crate::engine::{Engine, Entry};

/// Ids are unique already.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("ids are numbers");
    }

    fn write_u64(&mut self, id: u64) {
        // The upper bits choose the group, the lower ones the place.
        self.0 = id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

type Ids = HashSet<u64, BuildHasherDefault<IdHasher>>;

/// The ids of those that wait, so that they can be cleared at the end of the script.
#[derive(Default)]
pub(super) struct Waiters {
    all: RefCell<Ids>,
    /// Those of them that keep nothing alive.
    idle: RefCell<Ids>,
}

impl Waiters {
    fn add(&self, id: u64, is_ref: bool) {
        self.all.borrow_mut().insert(id);
        if !is_ref {
            self.idle.borrow_mut().insert(id);
        }
    }

    /// Whether it waits. The loop takes a call for a fault that is about one which does not.
    fn has(&self, id: u64) -> bool {
        self.all.borrow().contains(&id)
    }

    /// It waits no more.
    fn cross_off(&self, id: u64) {
        self.all.borrow_mut().remove(&id);
        let mut idle = self.idle.borrow_mut();
        if !idle.is_empty() {
            idle.remove(&id);
        }
    }

    fn refer(&self, id: u64, is_ref: bool) {
        if is_ref {
            self.idle.borrow_mut().remove(&id);
        } else {
            self.idle.borrow_mut().insert(id);
        }
    }

    /// How many keep the loop alive.
    pub(super) fn referenced(&self) -> usize {
        self.all.borrow().len().saturating_sub(self.idle.borrow().len())
    }

    /// All of them, which wait no more.
    pub(super) fn take(&self) -> impl Iterator<Item = u64> + use<> {
        self.idle.borrow_mut().clear();
        mem::take(&mut *self.all.borrow_mut()).into_iter()
    }
}

impl<E: Engine> Layer<E> {
    /// Makes a call that crosses itself off those that wait. The loop names it when it is queued, and that is put
    /// into the cell.
    fn named(
        self: &Rc<Self>,
        waiters: impl Fn(&Self) -> &Waiters + 'static,
        call: impl FnOnce(&Self, &Cx) + 'static,
    ) -> (Rc<Cell<u64>>, impl FnOnce(&Cx) + 'static) {
        let layer = Rc::clone(self);
        let name = Rc::new(Cell::new(0));
        let own = Rc::clone(&name);
        let due = move |cx: &Cx| {
            waiters(&layer).cross_off(own.get());
            call(&layer, cx);
        };
        (name, due)
    }

    /// A delay in whole milliseconds, up to 2^31 − 1; everything else is 1. The JavaScript half gives 0 for an
    /// interval whose callback took longer than that.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use closures::Closures;
    /// use mainspring_js::Layer;
    /// use std::time::Duration;
    ///
    /// assert_eq!(Layer::<Closures>::delay(2.9), Duration::from_millis(2));
    /// assert_eq!(Layer::<Closures>::delay(f64::NAN), Duration::from_millis(1));
    /// ```
    #[must_use]
    pub fn delay(ms: f64) -> Duration {
        let is_usable = (0.0..=f64::from(i32::MAX)).contains(&ms);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        Duration::from_millis(if is_usable { ms as u64 } else { 1 })
    }

    /// Has the entry [`Timer`](Entry::Timer) called with `target` after so many milliseconds.
    ///
    /// # Errors
    ///
    /// If the loop is about to end.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// let id = layer.start_timer(Rc::new(|| println!("after 10 ms")), 10.0, true)?;
    /// assert!(layer.clear_timer(id));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn start_timer(
        self: &Rc<Self>,
        target: E::Ref,
        ms: f64,
        is_ref: bool,
    ) -> Result<u64, mainspring::Error> {
        if let Some(strict) = &self.strict {
            return self.start_strict(strict, target, Self::delay(ms), is_ref);
        }
        let (name, due) = self.named(
            |layer| &layer.timers,
            move |layer, cx| {
                layer.host.count(|stats| stats.timers += 1);
                layer.enter(cx, "timer", |engine| engine.call(Entry::Timer, Some(&target)));
            },
        );
        let id = self.cx().set_timeout(Self::delay(ms), due).map_err(mainspring::Error::from)?;
        if !is_ref {
            self.cx().reference_timer(id, false)?;
        }
        name.set(id.get());
        self.timers.add(id.get(), is_ref);
        Ok(id.get())
    }

    /// Clears a timer. Tells whether it was waiting.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// let id = layer.start_timer(Rc::new(|| unreachable!()), 10.0, true)?;
    /// assert!(layer.clear_timer(id));
    /// assert!(!layer.clear_timer(id));
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn clear_timer(&self, id: u64) -> bool {
        if let Some(strict) = &self.strict {
            return self.clear_strict(strict, id);
        }
        self.timers.cross_off(id);
        TimerId::from_u64(id).is_some_and(|id| self.cx().clear_timeout(id))
    }

    /// Lets a timer begin to wait anew. False if it is not waiting.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// let id = layer.start_timer(Rc::new(|| println!("soon")), 60_000.0, true)?;
    /// assert!(layer.reset_timer(id, 1.0));
    /// event_loop.run_until_idle()?;
    /// assert!(!layer.reset_timer(id, 1.0));
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn reset_timer(&self, id: u64, ms: f64) -> bool {
        if let Some(strict) = &self.strict {
            return self.reset_strict(strict, id, Self::delay(ms));
        }
        let reset = |timer| self.cx().reset_timeout(timer, Self::delay(ms)).is_ok();
        self.timers.has(id) && TimerId::from_u64(id).is_some_and(reset)
    }

    /// Says whether a timer keeps the loop alive.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// let id = layer.start_timer(Rc::new(|| unreachable!()), 60_000.0, true)?;
    /// layer.ref_timer(id, false);
    /// event_loop.run_until_idle()?; // returns at once
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn ref_timer(&self, id: u64, is_ref: bool) {
        if let Some(strict) = &self.strict {
            return self.ref_strict(strict, id, is_ref);
        }
        // One that is gone keeps nothing alive.
        if self.timers.has(id)
            && let Some(timer) = TimerId::from_u64(id)
            && self.cx().reference_timer(timer, is_ref).is_ok()
        {
            self.timers.refer(id, is_ref);
        }
    }

    /// Has the entry [`Immediate`](Entry::Immediate) called with `target` in the check phase.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// layer.start_immediate(Rc::new(|| println!("in the check phase")), true);
    /// event_loop.run_until_idle()?;
    /// assert_eq!(layer.host().stats().immediates, 1);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn start_immediate(self: &Rc<Self>, target: E::Ref, is_ref: bool) -> u64 {
        let (name, due) = self.named(
            |layer| &layer.immediates,
            move |layer, cx| {
                layer.host.count(|stats| stats.immediates += 1);
                layer.enter(cx, "immediate", |engine| engine.call(Entry::Immediate, Some(&target)));
            },
        );
        let id = self.cx().set_immediate(due);
        if !is_ref {
            let _ = self.cx().reference_immediate(id, false);
        }
        name.set(id.get());
        self.immediates.add(id.get(), is_ref);
        id.get()
    }

    /// Clears an immediate. Tells whether it was waiting.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// let id = layer.start_immediate(Rc::new(|| unreachable!()), true);
    /// assert!(layer.clear_immediate(id));
    /// event_loop.run_until_idle()?;
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn clear_immediate(&self, id: u64) -> bool {
        self.immediates.cross_off(id);
        self.cx().clear_immediate(ImmediateId::from_u64(id))
    }

    /// Says whether an immediate keeps the loop alive.
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// let id = layer.start_immediate(Rc::new(|| println!("if the loop runs anyway")), true);
    /// layer.ref_immediate(id, false);
    /// assert!(!event_loop.cx().is_alive());
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn ref_immediate(&self, id: u64, is_ref: bool) {
        // One that is gone keeps nothing alive.
        if self.immediates.has(id)
            && self.cx().reference_immediate(ImmediateId::from_u64(id), is_ref).is_ok()
        {
            self.immediates.refer(id, is_ref);
        }
    }
}
