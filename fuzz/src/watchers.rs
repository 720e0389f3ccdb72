//! Descriptors that come, go and come back under the same number, while callbacks do the same from inside.
//!
//! * A callback runs only for a registration that is there, with its own source, for what it asks for.
//! * What a callback registers is told nothing before the next turn.
//! * In a turn in which nothing changes, every level-triggered registration hears exactly what `poll(2)` says of its
//!   descriptor, and so does a one-shot one that is armed; one that is not hears nothing. An edge-triggered one hears it
//!   if it was registered or changed since the last turn, and nothing if not even its descriptor was touched.
//! * When nobody was told anything in such a turn, the loop rests after a few more: it does not spin.
//! * In the end nothing is left: no callback, no descriptor, nothing to wait for.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::{Rc, Weak};

use mainspring::{Cx, Error, EventLoop, Guest, Interest, PanicPolicy, Watch, Watcher};
use rustix::event::{PollFd, PollFlags, poll};

use crate::source::Source;

const STEPS: usize = 200;
/// Pairs that are open together.
const MOST: usize = 12;
/// Registrations that were ever made.
const REGISTRATIONS: usize = 300;
/// Numbers of descriptors that a program can come to.
const NUMBERS: RawFd = 256;
/// Turns in which a loop finds out that it has nothing to do.
const QUIET_TURNS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Error,
    Read,
    Write,
    /// Of a strict registration, which has one callback for everything.
    All,
}

/// A file, and its other end. The table holds it as well, if it was registered strictly.
struct Pair {
    ours: Option<Rc<UnixStream>>,
    peer: Option<UnixStream>,
    duplicates: Vec<UnixStream>,
}

struct Registration {
    fd: RawFd,
    source: Weak<UnixStream>,
    interest: Interest,
    hears: BTreeSet<Step>,
    /// It was neither removed nor replaced.
    is_live: bool,
    /// For a one-shot one: whether an event may come, and the turn in which the last one did.
    is_armed: bool,
    fired: usize,
    /// The turn in which a callback made it.
    born: Option<usize>,
    /// For an edge-triggered one: the system reports what there is, as after every registration.
    is_fresh: bool,
    /// For an edge-triggered one: there may have been an edge since the last turn.
    is_touched: bool,
}

impl Registration {
    /// A source that is gone is closed: such a registration hears nothing, and the table may have noticed or not.
    fn is_stale(&self) -> bool {
        self.source.strong_count() == 0
    }

    /// Whether it has to be told exactly what is expected, or may be told a part of it.
    fn is_certain(&self, is_haunted: bool) -> bool {
        !self.interest.is_edge_triggered() || self.is_fresh || !self.is_touched && !is_haunted
    }

    /// Whether an event can come for it.
    fn is_due(&self) -> bool {
        let is_spent = self.interest.is_one_shot() && !self.is_armed;
        let is_old = self.interest.is_edge_triggered() && !self.is_fresh && !self.is_touched;
        !is_spent && !is_old
    }

    /// What it should be told, by the rules for watchers and by what the system says.
    fn expected(&self) -> BTreeSet<Step> {
        // SAFETY: the source is alive, so the number is that of an open descriptor.
        let fd = unsafe { BorrowedFd::borrow_raw(self.fd) };
        let mut asked = [PollFd::from_borrowed_fd(fd, PollFlags::IN | PollFlags::OUT)];
        poll(&mut asked, Some(&rustix::event::Timespec::default())).expect("poll");
        let flags = asked[0].revents();
        let is_error = flags.contains(PollFlags::ERR);
        if is_error && self.hears.contains(&Step::Error) {
            return BTreeSet::from([Step::Error]);
        }
        let is_readable = is_error || flags.intersects(PollFlags::IN | PollFlags::HUP);
        let is_writable = is_error || flags.contains(PollFlags::OUT);
        let read = is_readable && self.interest.is_read();
        let write = is_writable && self.interest.is_write();
        let mut steps = BTreeSet::new();
        for (step, is_heard) in
            [(Step::Read, read), (Step::Write, write), (Step::All, read || write)]
        {
            if is_heard && self.hears.contains(&step) {
                steps.insert(step);
            }
        }
        steps
    }
}

struct World {
    source: Source,
    pairs: RefCell<Vec<Pair>>,
    registrations: RefCell<Vec<Registration>>,
    /// The registration of each number.
    table: RefCell<BTreeMap<RawFd, usize>>,
    watchers: RefCell<Vec<(usize, Watcher<Weak<UnixStream>>)>>,
    turn: Cell<usize>,
    /// The descriptor whose callback runs.
    running: Cell<Option<RawFd>>,
    /// Whether a duplicate was ever made. One that keeps a closed descriptor alive makes the loop build its poller anew,
    /// and that reports edges once more.
    is_haunted: Cell<bool>,
    /// What was told in a turn in which callbacks do nothing else.
    told: RefCell<Option<BTreeSet<(usize, Step)>>>,
}

/// See the [module documentation](self).
// spec: M1-1.1, M1-1.3, M1-1.5, M1-1.6, M1-2.2, M1-2.3, M1-2.4, M1-2.6, M1-3.1, M1-3.2, IO-1, IO-2, F-9, F-11, SD-6
pub fn check(data: &[u8]) {
    let before = open_descriptors();
    run(Source::new(data));
    assert_eq!(open_descriptors(), before, "a descriptor is left");
}

fn open_descriptors() -> usize {
    let is_open = |fd: &RawFd| {
        // SAFETY: it is not -1; if it is not open, the system says so.
        rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(*fd) }).is_ok()
    };
    (0..NUMBERS).filter(is_open).count()
}

impl World {
    fn interest(&self) -> Interest {
        let source = &self.source;
        let options = [Interest::READ, Interest::BOTH, Interest::WRITE, Interest::NONE];
        let interest = *source.pick(&options);
        match source.below(8) {
            0 => interest.edge_triggered(),
            1 => interest.one_shot(),
            _ => interest,
        }
    }

    fn stream(&self) -> Option<Rc<UnixStream>> {
        let pairs = self.pairs.borrow();
        if pairs.is_empty() {
            return None;
        }
        pairs[self.source.below(pairs.len())].ours.clone()
    }

    fn add_pair(&self) {
        if self.pairs.borrow().len() == MOST {
            return;
        }
        let (ours, peer) = UnixStream::pair().expect("descriptors are left");
        ours.set_nonblocking(true).expect("a socket");
        peer.set_nonblocking(true).expect("a socket");
        assert!(peer.as_raw_fd() < NUMBERS);
        let pair = Pair { ours: Some(Rc::new(ours)), peer: Some(peer), duplicates: vec![] };
        self.pairs.borrow_mut().push(pair);
    }

    /// The number of the next registration, if there may be one.
    fn next(&self) -> Option<usize> {
        Some(self.registrations.borrow().len()).filter(|next| *next < REGISTRATIONS)
    }

    fn note(&self, source: &Rc<UnixStream>, interest: Interest, hears: BTreeSet<Step>) {
        let fd = source.as_raw_fd();
        let mut registrations = self.registrations.borrow_mut();
        if let Some(old) = self.table.borrow_mut().insert(fd, registrations.len()) {
            registrations[old].is_live = false;
        }
        let source = Rc::downgrade(source);
        let fired = usize::MAX;
        registrations.push(Registration {
            fd,
            source,
            interest,
            hears,
            is_live: true,
            is_armed: true,
            fired,
            born: self.running.get().map(|_| self.turn.get()),
            is_fresh: true,
            is_touched: true,
        });
    }

    fn watch(self: &Rc<Self>, cx: &Cx) {
        let (Some(stream), Some(which)) = (self.stream(), self.next()) else { return };
        let mut watch = Watch::<UnixStream>::new();
        let mut hears = BTreeSet::new();
        let told = |step| {
            let world = Rc::clone(self);
            move |cx: &Cx, source: &UnixStream| world.called(cx, which, step, source)
        };
        let asked = self.source.below(8);
        if asked & 1 == 0 {
            watch = watch.read(told(Step::Read));
            hears.insert(Step::Read);
        }
        if asked & 2 != 0 {
            watch = watch.write(told(Step::Write));
            hears.insert(Step::Write);
        }
        if asked & 4 != 0 {
            watch = watch.error(told(Step::Error));
            hears.insert(Step::Error);
        }
        let interest = self.interest();
        self.source
            .tell(|| format!("watch {} as {which}, {interest:?} {hears:?}", stream.as_raw_fd()));
        let watcher = cx.watch_weak(&stream, watch.interest(interest)).expect("it is a socket");
        self.note(&stream, interest, hears);
        self.watchers.borrow_mut().push((which, watcher));
    }

    fn register(self: &Rc<Self>, cx: &Cx) {
        let (Some(stream), Some(which)) = (self.stream(), self.next()) else { return };
        let fd = stream.as_raw_fd();
        let interest = self.interest();
        let world = Rc::clone(self);
        let callback = move |cx: &Cx, source: &Rc<UnixStream>, _| {
            world.called(cx, which, Step::All, source);
        };
        self.source.tell(|| format!("register {fd} as {which}, {interest:?}"));
        let result = cx.register_fd(Rc::clone(&stream), interest, callback);
        let old = self.table.borrow().get(&fd).copied();
        let is_taken = old.is_some_and(|old| !self.registrations.borrow()[old].is_stale());
        match result {
            Ok(()) => {
                assert!(!is_taken, "{fd} has a registration already");
                self.note(&stream, interest, BTreeSet::from([Step::All]));
            }
            Err(refused) => {
                let is_known = matches!(refused.error(), Error::FdAlreadyRegistered);
                assert!(is_known && old.is_some(), "{:?}", refused.error());
            }
        }
    }

    /// A number that is or was registered, often the one whose callback runs.
    fn fd(&self) -> Option<RawFd> {
        if let Some(running) = self.running.get()
            && self.source.below(2) == 0
        {
            return Some(running);
        }
        let registrations = self.registrations.borrow();
        let back = registrations.len().min(16);
        (back > 0).then(|| registrations[registrations.len() - 1 - self.source.below(back)].fd)
    }

    /// What the table has under a number, and whether that is certain.
    fn known(&self, fd: RawFd) -> (Option<usize>, bool) {
        let known = self.table.borrow().get(&fd).copied();
        (known, known.is_none_or(|which| !self.registrations.borrow()[which].is_stale()))
    }

    fn modify(&self, cx: &Cx) {
        let Some(fd) = self.fd() else { return };
        let interest = self.interest();
        self.source.tell(|| format!("modify {fd}, {interest:?}"));
        let result = cx.modify_fd(fd, interest);
        let (known, is_certain) = self.known(fd);
        if is_certain {
            assert_eq!(result.is_ok(), known.is_some(), "{result:?}");
        }
        if let Some(which) = known {
            let registration = &mut self.registrations.borrow_mut()[which];
            registration.interest = interest;
            registration.is_armed = true;
            registration.is_fresh = true;
        }
    }

    fn remove(&self, cx: &Cx, is_strict: bool) {
        let Some(fd) = self.fd() else { return };
        self.source.tell(|| format!("remove {fd}"));
        // What is removed is dropped, and with it the source: before that it can be asked about.
        let (known, is_certain) = self.known(fd);
        let removed = if is_strict { cx.unregister_fd(fd).is_ok() } else { cx.unwatch(fd) };
        if is_certain {
            assert_eq!(removed, known.is_some());
        }
        self.forget(fd);
    }

    fn forget(&self, fd: RawFd) {
        if let Some(which) = self.table.borrow_mut().remove(&fd) {
            self.registrations.borrow_mut()[which].is_live = false;
        }
    }

    /// By a handle that may be one of long ago.
    fn unwatch_by_handle(&self) {
        let watchers = self.watchers.take();
        if !watchers.is_empty() {
            let (which, watcher) = &watchers[self.source.below(watchers.len())];
            let (fd, is_live, is_stale) = {
                let registration = &self.registrations.borrow()[*which];
                (registration.fd, registration.is_live, registration.is_stale())
            };
            self.source.tell(|| format!("unwatch {which}"));
            if !is_stale {
                assert_eq!(watcher.is_active(), is_live);
            }
            let removed = watcher.unwatch();
            assert!(removed == is_live || is_stale, "a replacement is not touched");
            if is_live {
                self.forget(fd);
            }
        }
        self.watchers.replace(watchers);
    }

    fn with_pair(&self, f: impl FnOnce(&mut Pair)) {
        let mut pairs = self.pairs.borrow_mut();
        if !pairs.is_empty() {
            let which = self.source.below(pairs.len());
            if let Some(ours) = &pairs[which].ours {
                self.touch(ours.as_raw_fd());
            }
            f(&mut pairs[which]);
        }
    }

    /// Notes that there may be an edge.
    fn touch(&self, fd: RawFd) {
        if let Some(which) = self.table.borrow().get(&fd) {
            self.registrations.borrow_mut()[*which].is_touched = true;
        }
    }

    /// Does something.
    fn step(self: &Rc<Self>, cx: &Cx) {
        let source = &self.source;
        match source.below(20) {
            0 | 1 => self.add_pair(),
            2..=4 => self.watch(cx),
            5 | 6 => self.register(cx),
            7 | 8 => self.modify(cx),
            9 => self.remove(cx, true),
            10 => self.remove(cx, false),
            11 => self.unwatch_by_handle(),
            12 | 13 => self.with_pair(|pair| {
                if let Some(peer) = &mut pair.peer {
                    // One that is full or closed says so.
                    let _ = peer.write(b"x");
                }
            }),
            14 => self.with_pair(|pair| {
                source.tell(|| "hang up".to_owned());
                pair.peer = None;
            }),
            15 => self.with_pair(|pair| {
                let how = *source.pick(&[Shutdown::Write, Shutdown::Read, Shutdown::Both]);
                if let Some(peer) = &pair.peer {
                    let _ = peer.shutdown(how);
                }
            }),
            16 => {
                // Closed without being removed.
                let mut closed = None;
                self.with_pair(|pair| closed = pair.ours.take());
                source.tell(|| format!("close {:?}", closed.as_ref().map(|c| c.as_raw_fd())));
                drop(closed);
                let mut pairs = self.pairs.borrow_mut();
                pairs.retain(|pair| pair.ours.is_some() || !pair.duplicates.is_empty());
            }
            17 => self.with_pair(|pair| match &pair.ours {
                Some(ours) if pair.duplicates.len() < 2 => {
                    self.is_haunted.set(true);
                    pair.duplicates.push(ours.try_clone().expect("descriptors are left"));
                }
                _ => pair.duplicates.clear(),
            }),
            18 => {
                if let Some(stream) = self.stream() {
                    self.touch(stream.as_raw_fd());
                    let _ = (&*stream).read(&mut [0; 64]);
                }
            }
            _ => {
                if let Some(stream) = self.stream() {
                    self.touch(stream.as_raw_fd());
                    // Until nothing more fits, so that it is not writable.
                    while (&*stream).write(&[0; 1 << 14]).is_ok_and(|written| written > 0) {}
                }
            }
        }
    }

    fn called(self: &Rc<Self>, cx: &Cx, which: usize, step: Step, source: &UnixStream) {
        self.source.tell(|| format!("{which} is told {step:?}"));
        {
            let registration = &mut self.registrations.borrow_mut()[which];
            assert!(registration.is_live, "{which} was removed, and is told {step:?}");
            assert_eq!(source.as_raw_fd(), registration.fd, "its own source");
            let own = registration.source.as_ptr();
            assert!(std::ptr::eq(own, source), "its own source");
            assert!(registration.hears.contains(&step));
            let is_early = registration.born == Some(self.turn.get());
            assert!(!is_early, "{which} is told {step:?} in the turn in which it was made");
            let interest = registration.interest;
            assert!(step != Step::Read || interest.is_read(), "{which} does not ask for that");
            assert!(step != Step::Write || interest.is_write(), "{which} does not ask for that");
            assert!(step != Step::All || !interest.is_none(), "{which} does not ask for that");
            if interest.is_one_shot() && registration.fired != self.turn.get() {
                assert!(registration.is_armed, "{which} has had its event");
                registration.is_armed = false;
            }
            registration.fired = self.turn.get();
        }
        if let Some(told) = &mut *self.told.borrow_mut() {
            assert!(told.insert((which, step)), "{which} is told {step:?} twice");
            return;
        }
        if self.source.below(2) == 0 {
            self.touch(source.as_raw_fd());
            let _ = (&*source).read(&mut [0; 8]);
        }
        self.running.set(Some(source.as_raw_fd()));
        for _ in 0..self.source.below(4) {
            self.step(cx);
        }
        self.running.set(None);
    }

    fn turn(&self, guest: &Guest) {
        self.turn.set(self.turn.get() + 1);
        // What callbacks do in this turn is news for the next one.
        for registration in &mut *self.registrations.borrow_mut() {
            registration.is_fresh = false;
            registration.is_touched = false;
        }
        guest.turn().expect("a turn");
    }

    /// A turn in which nothing changes.
    fn check_all(&self, guest: &Guest) {
        let is_haunted = self.is_haunted.get();
        let mut expected = BTreeSet::new();
        let mut uncertain = BTreeSet::new();
        for (which, registration) in self.registrations.borrow().iter().enumerate() {
            if !registration.is_live || registration.is_stale() {
                continue;
            }
            if !registration.is_certain(is_haunted) {
                uncertain.insert(which);
            } else if registration.is_due() {
                expected.extend(registration.expected().into_iter().map(|step| (which, step)));
            }
        }
        self.told.replace(Some(BTreeSet::new()));
        self.turn(guest);
        let mut told = self.told.take().expect("it was set");
        let is_quiet = told.is_empty();
        told.retain(|(which, _)| !uncertain.contains(which));
        assert_eq!(told, expected, "who was told what, and who should be");
        if is_quiet && !is_haunted {
            self.check_rest(guest);
        }
    }

    /// A loop that nobody is to be told anything by has at most a few turns that find nothing.
    fn check_rest(&self, guest: &Guest) {
        self.told.replace(Some(BTreeSet::new()));
        for _ in 0..QUIET_TURNS {
            if !is_ready(guest) {
                break;
            }
            self.turn(guest);
        }
        let told = self.told.take().expect("it was set");
        assert_eq!(told, BTreeSet::new(), "nothing has changed");
        assert!(!is_ready(guest), "the loop has nothing to do, and does not rest");
    }
}

/// Whether a loop asks for a turn.
fn is_ready(guest: &Guest) -> bool {
    let mut asked = [PollFd::new(guest, PollFlags::IN)];
    poll(&mut asked, Some(&rustix::event::Timespec::default())).expect("poll") != 0
}

fn run(source: Source) {
    let guest = EventLoop::builder()
        .panic_policy(PanicPolicy::Propagate)
        .build()
        .and_then(EventLoop::into_guest)
        .expect("a loop");
    let world = Rc::new(World {
        source,
        pairs: RefCell::default(),
        registrations: RefCell::default(),
        table: RefCell::default(),
        watchers: RefCell::default(),
        turn: Cell::new(0),
        running: Cell::new(None),
        is_haunted: Cell::new(false),
        told: RefCell::new(None),
    });
    for _ in 0..STEPS {
        if world.source.is_over() {
            break;
        }
        match world.source.below(5) {
            0 => world.turn(&guest),
            1 => world.check_all(&guest),
            _ => world.step(guest.cx()),
        }
    }
    world.check_all(&guest);
    for fd in 0..NUMBERS {
        guest.cx().unwatch(fd);
    }
    world.pairs.take();
    world.watchers.take();
    guest.turn().expect("a turn");
    assert!(!guest.cx().is_alive(), "nothing is left to wait for");
    drop(guest);
    assert_eq!(Rc::strong_count(&world), 1, "callbacks are left");
}
