//! Descriptors under random programs: callbacks that watch, replace, modify, remove, close, duplicate, write,
//! hang up and panic, whatever comes first. Each program follows from its seed.
#![cfg(target_os = "linux")]

mod common;

use std::cell::{Cell, RefCell};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::{Rc, Weak};
use std::time::Duration;

use common::Variant;
use mainspring::{Cx, EventLoop, Interest, PanicPolicy, Watch, Watcher};

crate::suite! {
    a_random_program_ends_idle_and_leaves_nothing,
}

const PROGRAMS: u64 = 200;
const ROUNDS: usize = 100;
/// More than these of a kind are not kept.
const MANY: usize = 40;
const PLANNED: &str = "planned";

/// What a program has made so far, and where it is.
#[derive(Default)]
struct World {
    state: Cell<u64>,
    peers: RefCell<Vec<UnixStream>>,
    lent: RefCell<Vec<Rc<UnixStream>>>,
    duplicates: RefCell<Vec<UnixStream>>,
    owned: RefCell<Vec<Watcher<UnixStream>>>,
    weak: RefCell<Vec<Watcher<Weak<UnixStream>>>>,
    fds: RefCell<Vec<RawFd>>,
    /// Also of those that are not in the list any more.
    highest: Cell<RawFd>,
}

impl World {
    fn random(&self, below: usize) -> usize {
        let state = self.state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.state.set(state);
        (state >> 33) as usize % below
    }

    fn chance(&self, of: usize) -> bool {
        self.random(of) == 0
    }

    /// Takes one out.
    fn take<T>(&self, from: &RefCell<Vec<T>>) -> Option<T> {
        let len = from.borrow().len();
        (len > 0).then(|| {
            let index = self.random(len);
            from.borrow_mut().swap_remove(index)
        })
    }

    fn fd(&self) -> Option<RawFd> {
        let fds = self.fds.borrow();
        (!fds.is_empty()).then(|| fds[self.random(fds.len())])
    }

    fn interest(&self) -> Interest {
        let options = [Interest::NONE, Interest::READ, Interest::WRITE, Interest::BOTH];
        let interest = options[self.random(options.len())];
        match self.random(4) {
            0 => interest.edge_triggered(),
            1 => interest.one_shot(),
            2 => interest.edge_triggered().one_shot(),
            _ => interest,
        }
    }

    fn pair(&self) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_nonblocking(true).unwrap();
        self.peers.borrow_mut().push(theirs);
        let fd = ours.as_raw_fd();
        self.highest.set(self.highest.get().max(fd));
        self.fds.borrow_mut().push(fd);
        ours
    }

    fn watch(self: &Rc<Self>) -> Watch<UnixStream> {
        let mut watch = Watch::<UnixStream>::new();
        if !self.chance(4) {
            let world = Rc::clone(self);
            watch = watch.read(move |cx, mut stream: &UnixStream| {
                let _ = stream.read(&mut [0; 64]);
                world.step(cx);
            });
        }
        if self.chance(3) {
            let world = Rc::clone(self);
            watch = watch.write(move |cx, _| world.step(cx));
        }
        if self.chance(4) {
            let world = Rc::clone(self);
            watch = watch.error(move |cx, stream| {
                let _ = stream.take_error();
                world.step(cx);
            });
        }
        if self.chance(3) {
            watch = watch.interest(self.interest());
        }
        watch
    }

    fn watch_weakly(self: &Rc<Self>, cx: &Cx, source: &Rc<UnixStream>) {
        let watcher = cx.watch_weak(source, self.watch()).unwrap();
        self.weak.borrow_mut().push(watcher);
    }

    /// Does something.
    fn step(self: &Rc<Self>, cx: &Cx) {
        match self.random(19) {
            0 => {
                let watcher = cx.watch(self.pair(), self.watch()).unwrap();
                self.owned.borrow_mut().push(watcher);
            }
            1 => {
                let source = Rc::new(self.pair());
                if self.chance(3) {
                    self.duplicates.borrow_mut().push(source.try_clone().unwrap());
                }
                self.watch_weakly(cx, &source);
                self.lent.borrow_mut().push(source);
            }
            2 => {
                let world = Rc::clone(self);
                let callback = move |cx: &Cx, mut stream: &UnixStream, _| {
                    let _ = stream.read(&mut [0; 64]);
                    world.step(cx);
                };
                cx.register_fd(self.pair(), self.interest(), callback).unwrap();
            }
            3 => drop(self.take(&self.peers)),
            4 => drop(self.take(&self.lent)),
            5 => drop(self.take(&self.duplicates)),
            6 => drop((self.take(&self.owned), self.take(&self.weak))),
            7 => {
                if let Some(Err(watcher)) = self.take(&self.owned).map(Watcher::into_inner) {
                    assert!(watcher.is_active(), "only its own callback is refused");
                    self.owned.borrow_mut().push(watcher);
                }
            }
            8 => drop(self.take(&self.weak).map(Watcher::into_inner)),
            9 | 10 => {
                if let Some(mut peer) = self.take(&self.peers) {
                    let _ = peer.write(b"x");
                    self.peers.borrow_mut().push(peer);
                }
            }
            11 => {
                if let Some(peer) = self.take(&self.peers) {
                    let how = [Shutdown::Both, Shutdown::Write, Shutdown::Read];
                    let _ = peer.shutdown(how[self.random(how.len())]);
                    self.peers.borrow_mut().push(peer);
                }
            }
            12 => _ = self.fd().map(|fd| cx.unwatch(fd)),
            13 => drop(self.fd().map(|fd| cx.unregister_fd(fd))),
            14 | 15 => drop(self.fd().map(|fd| cx.modify_fd(fd, self.interest()))),
            16 => drop(self.fd().map(|fd| cx.reference_fd(fd, self.chance(2)))),
            17 => {
                // Replaces what there is, which may be running.
                if let Some(source) = self.take(&self.lent) {
                    self.watch_weakly(cx, &source);
                    self.lent.borrow_mut().push(source);
                }
            }
            _ if self.chance(10) => resume_unwind(Box::new(PLANNED)),
            _ => {}
        }
    }

    /// Does not let a program grow for ever.
    fn prune(&self) {
        self.peers.borrow_mut().truncate(MANY);
        self.lent.borrow_mut().truncate(MANY);
        self.duplicates.borrow_mut().truncate(MANY);
        self.fds.borrow_mut().truncate(2 * MANY);
    }
}

/// Lets the planned panics of a program through, and no other.
fn survive(seed: u64, f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        assert_eq!(payload.downcast_ref::<&str>(), Some(&PLANNED), "seed {seed}");
    }
}

/// Returns how many callbacks it ran.
fn run_program(variant: Variant, seed: u64) -> u64 {
    let world = Rc::new(World { state: Cell::new(seed), ..World::default() });
    let strange = Rc::new(Cell::new(0));
    let ticks = Rc::new(Cell::new(0));
    let (strange_seen, ticks_seen) = (Rc::clone(&strange), Rc::clone(&ticks));
    let even = seed.is_multiple_of(2);
    let event_loop: EventLoop = variant
        .builder()
        .panic_policy(if even { PanicPolicy::Propagate } else { PanicPolicy::Isolate })
        .on_prepare(move |_| ticks_seen.set(ticks_seen.get() + 1))
        .on_uncaught(move |_, panic| {
            if panic.message() != Some(PLANNED) {
                strange_seen.set(strange_seen.get() + 1);
            }
        })
        .build()
        .unwrap();
    let mut ran = 0;
    for _ in 0..ROUNDS {
        survive(seed, || world.step(event_loop.cx()));
        survive(seed, || ran += event_loop.turn(Duration::ZERO).unwrap().callbacks);
        world.prune();
    }
    // When everything is taken away, the loop has nothing to wait for, and does not look for it long.
    for fd in 0..=world.highest.get() {
        event_loop.cx().unwatch(fd);
    }
    world.owned.take();
    world.weak.take();
    world.lent.take();
    let before = ticks.get();
    let mut is_idle = false;
    while !is_idle {
        // What a panic left of a batch is still to be delivered.
        survive(seed, || {
            event_loop.run_until_idle().unwrap();
            is_idle = true;
        });
    }
    assert!(ticks.get() - before < 50, "seed {seed}: {} ticks", ticks.get() - before);
    assert_eq!(strange.get(), 0, "seed {seed}");
    drop(event_loop);
    assert_eq!(Rc::strong_count(&world), 1, "seed {seed}: callbacks are left");
    ran
}

// spec: M1-1.3, SD-6
fn a_random_program_ends_idle_and_leaves_nothing(variant: Variant) {
    let ran: u64 = (1..=PROGRAMS).map(|seed| run_program(variant, seed)).sum();
    assert!(ran > 10 * PROGRAMS, "only {ran} callbacks: it shows little");
}
