//! The timers of a loop on virtual time, one-shot ones and intervals, set and cleared on its thread and on another.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mainspring::{Cx, Error, EventLoop, Handle, PanicPolicy, TimerId, VirtualClock};

use crate::helper::elsewhere;
use crate::source::Source;

use super::{Key, Sorted, distance};

const STEPS: usize = 400;

/// So many timers, and then no more.
const MOST: usize = 1_000;

/// The clock is not moved beyond this, which is 36 years: far from the end of its range.
const END: i64 = 1 << 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Once,
    /// A period from the end of a callback to the next one.
    Delay(i64),
    /// The period, and the time of its grid that comes next.
    Rate(i64, i64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Set(Key),
    /// Its callback is on the stack, and it is an interval.
    Running,
    Gone,
}

struct Timer {
    id: TimerId,
    kind: Kind,
    state: State,
    is_referenced: bool,
}

struct World {
    source: Source,
    clock: VirtualClock,
    timers: RefCell<Vec<Timer>>,
    sorted: RefCell<Sorted>,
    /// When the tick began.
    tick: Cell<i64>,
    /// Whether something asked for another tick since this one began.
    is_woken: Cell<bool>,
    /// Held by every callback that is alive.
    callbacks: Arc<()>,
}

thread_local! {
    /// What callbacks work on: those that another thread sets cannot hold it.
    static WORLD: RefCell<Option<Rc<World>>> = const { RefCell::new(None) };
}

fn world() -> Rc<World> {
    WORLD.with_borrow(|world| Rc::clone(world.as_ref().expect("a program is running")))
}

fn nanoseconds(time: i64) -> Duration {
    Duration::from_nanos(time as u64)
}

impl World {
    fn now(&self) -> i64 {
        self.clock.elapsed().as_nanos() as i64
    }

    fn pass(&self, time: i64) {
        self.is_woken.set(true);
        self.clock.advance(nanoseconds(time.min(END - self.now()).max(0)));
    }

    /// Lets another thread do something.
    fn elsewhere<R: Send + 'static>(&self, f: impl FnOnce() -> R + Send + 'static) -> R {
        self.is_woken.set(true);
        elsewhere(f)
    }

    /// The callback of a timer.
    fn callback(&self, which: usize) -> impl Fn(&Cx) + Send + 'static {
        let alive = Arc::clone(&self.callbacks);
        move |cx| {
            let _alive = &alive;
            world().fired(cx, which);
        }
    }

    fn set(&self, cx: &Cx) {
        let which = self.timers.borrow().len();
        if which == MOST {
            return;
        }
        let time = distance(&self.source);
        let delay = nanoseconds(time);
        self.source.tell(|| format!("set {which} for {} + {time}", self.now()));
        let (once, again) = (self.callback(which), self.callback(which));
        let handle = cx.handle();
        let kind = match self.source.below(6) {
            0..=3 => Kind::Once,
            4 => Kind::Delay(time),
            _ => Kind::Rate(time, self.now().saturating_add(time)),
        };
        let how = self.source.below(6);
        self.source.tell(|| {
            format!("    {kind:?}, {}", *["elsewhere", "handle", "cx"].get(how).unwrap_or(&"cx"))
        });
        let id = match (kind, how) {
            (Kind::Once, 0) => self.elsewhere(move || handle.set_timeout(delay, once).unwrap()),
            (Kind::Once, 1) => handle.set_timeout(delay, once).unwrap(),
            (Kind::Once, _) => cx.set_timeout(delay, once).unwrap(),
            (Kind::Delay(_), 0) => {
                self.elsewhere(move || handle.set_interval(delay, again).unwrap())
            }
            (Kind::Delay(_), 1) => handle.set_interval(delay, again).unwrap(),
            (Kind::Delay(_), _) => cx.set_interval(delay, again).unwrap(),
            (Kind::Rate(..), 0) => {
                self.elsewhere(move || handle.set_interval_fixed_rate(delay, again).unwrap())
            }
            (Kind::Rate(..), 1) => handle.set_interval_fixed_rate(delay, again).unwrap(),
            (Kind::Rate(..), _) => cx.set_interval_fixed_rate(delay, again).unwrap(),
        };
        let timers = &mut *self.timers.borrow_mut();
        assert!(timers.iter().all(|timer| timer.id != id), "an id is given out once");
        let key = self.sorted.borrow_mut().insert(self.now() + time, which);
        timers.push(Timer { id, kind, state: State::Set(key), is_referenced: true });
    }

    fn clear(&self, cx: &Cx) {
        let Some((which, id)) = self.any() else { return };
        self.source.tell(|| format!("clear {which}"));
        let handle = cx.handle();
        let cleared = match self.source.below(6) {
            0 => self.elsewhere(move || handle.clear_timeout(id)),
            1 => handle.clear_interval(id),
            2 => cx.clear_interval(id),
            _ => cx.clear_timeout(id),
        };
        let timer = &mut self.timers.borrow_mut()[which];
        assert_eq!(cleared, timer.state != State::Gone, "whoever clears is told the truth");
        if let State::Set(key) = timer.state {
            self.sorted.borrow_mut().remove(key);
        }
        timer.state = State::Gone;
    }

    fn reset(&self, cx: &Cx) {
        let Some((which, id)) = self.any() else { return };
        let time = distance(&self.source);
        self.source.tell(|| format!("reset {which} to {} + {time}", self.now()));
        let result = cx.reset_timeout(id, nanoseconds(time));
        let timer = &mut self.timers.borrow_mut()[which];
        let State::Set(key) = timer.state else {
            assert!(matches!(result, Err(Error::TimerNotFound)), "{result:?}");
            return;
        };
        result.expect("it is set");
        let mut sorted = self.sorted.borrow_mut();
        sorted.remove(key);
        timer.state = State::Set(sorted.insert(self.now() + time, which));
    }

    fn reference(&self, cx: &Cx) {
        let Some((which, id)) = self.any() else { return };
        let is_referenced = self.source.below(2) == 0;
        let handle = cx.handle();
        let result = match self.source.below(4) {
            0 => self.elsewhere(move || handle.reference_timer(id, is_referenced).is_ok()),
            1 => handle.reference_timer(id, is_referenced).is_ok(),
            _ => cx.reference_timer(id, is_referenced).is_ok(),
        };
        let timer = &mut self.timers.borrow_mut()[which];
        assert_eq!(result, timer.state != State::Gone);
        timer.is_referenced = is_referenced;
    }

    /// A timer that was ever set, the last ones more often.
    fn any(&self) -> Option<(usize, TimerId)> {
        let timers = self.timers.borrow();
        let last = timers.len().checked_sub(1)?;
        let back = if self.source.below(2) == 0 { last.min(7) } else { last };
        let which = last - self.source.below(back + 1);
        Some((which, timers[which].id))
    }

    fn step(&self, cx: &Cx) {
        match self.source.below(10) {
            0..=4 => self.set(cx),
            5 => self.clear(cx),
            6 => self.reset(cx),
            7 => self.reference(cx),
            8 => self.pass(distance(&self.source) >> 16),
            _ => {
                let never = cx.set_timeout(Duration::MAX, |_| unreachable!()).unwrap_err();
                assert!(matches!(never.into(), Error::DeadlineOutOfRange));
                self.check_next(cx);
            }
        }
    }

    fn check_next(&self, cx: &Cx) {
        let next = cx.next_deadline().map(|next| {
            let past = self.clock.now().saturating_duration_since(next).as_nanos() as i64;
            let ahead = next.saturating_duration_since(self.clock.now()).as_nanos() as i64;
            self.now() + ahead - past
        });
        let sorted = self.sorted.borrow();
        if sorted.len() <= 32 {
            assert_eq!(next, sorted.next(), "the next deadline");
        }
    }

    fn fired(&self, cx: &Cx, which: usize) {
        self.source.tell(|| format!("fired {which} at {}", self.now()));
        let first = self.sorted.borrow_mut().fire(self.tick.get());
        assert_eq!(first.2, which, "the order of firing");
        let kind = {
            let timer = &mut self.timers.borrow_mut()[which];
            assert!(timer.state == State::Set(first), "what was cleared does not fire");
            timer.state = if timer.kind == Kind::Once { State::Gone } else { State::Running };
            timer.kind
        };
        for _ in 0..self.source.below(4) {
            self.step(cx);
        }
        let timer = &mut self.timers.borrow_mut()[which];
        if timer.state == State::Running {
            assert_eq!(cx.current_interval(), Some(timer.id));
            let next = match kind {
                Kind::Once => unreachable!("it is gone"),
                Kind::Delay(period) => self.now() + period,
                Kind::Rate(period, grid) => next_on_grid(grid, period, self.tick.get()),
            };
            if let Kind::Rate(period, _) = kind {
                timer.kind = Kind::Rate(period, next);
            }
            timer.state = State::Set(self.sorted.borrow_mut().insert(next, which));
        }
    }

    fn turn(&self, event_loop: &EventLoop) {
        self.sorted.borrow_mut().begin();
        self.source.tell(|| format!("tick at {}", self.now()));
        self.tick.set(self.now());
        self.is_woken.set(false);
        event_loop.turn(Duration::ZERO).unwrap();
        self.sorted.borrow().assert_nothing_due(self.tick.get());
    }

    fn is_alive(&self) -> bool {
        let timers = self.timers.borrow();
        timers.iter().any(|timer| timer.state != State::Gone && timer.is_referenced)
    }
}

/// The first time after `now` that is a multiple of `period` away from `grid`.
fn next_on_grid(grid: i64, period: i64, now: i64) -> i64 {
    if period == 0 {
        return now;
    }
    let mut next = i128::from(grid) % i128::from(period);
    next += (i128::from(now) - next).div_euclid(i128::from(period)) * i128::from(period);
    while next <= i128::from(now) {
        next += i128::from(period);
    }
    i64::try_from(next).unwrap_or(i64::MAX)
}

pub(super) fn run(source: Source) {
    let clock = VirtualClock::new();
    let event_loop = EventLoop::builder()
        .clock(&clock)
        .panic_policy(PanicPolicy::Propagate)
        .build()
        .expect("a loop");
    let handle: Handle = event_loop.handle();
    let world = Rc::new(World {
        source,
        clock,
        timers: RefCell::default(),
        sorted: RefCell::default(),
        tick: Cell::new(0),
        is_woken: Cell::new(false),
        callbacks: Arc::new(()),
    });
    WORLD.set(Some(Rc::clone(&world)));
    for _ in 0..STEPS {
        if world.source.is_over() {
            break;
        }
        match world.source.below(3) {
            0 => {
                match world.source.below(3) {
                    0 => {}
                    1 => {
                        let next = world.sorted.borrow().next();
                        world.pass(next.map_or(0, |next| next - world.now()));
                    }
                    _ => world.pass(distance(&world.source)),
                }
                world.turn(&event_loop);
            }
            _ => world.step(event_loop.cx()),
        }
        world.check_next(event_loop.cx());
        let is_alive = event_loop.cx().is_alive();
        assert_eq!(is_alive, world.is_alive() || is_alive && world.is_woken.get());
        let set = world.sorted.borrow().len();
        assert!(Arc::strong_count(&world.callbacks) > set, "a callback is lost");
    }
    drop(event_loop);
    assert!(!handle.clear_timeout(TimerId::from_u64(1).expect("an id")), "the loop has ended");
    assert_eq!(Arc::strong_count(&world.callbacks), 1, "callbacks are left");
    WORLD.set(None);
}
