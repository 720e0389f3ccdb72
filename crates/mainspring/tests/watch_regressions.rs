//! Defects that watchers have had.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/logs.rs"]
mod logs;
#[path = "common/watch.rs"]
mod watching;

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::Write;
use std::net::{Shutdown, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use common::timers::{HOUR, Slot, elsewhere, tick};
use common::{Log, OnDrop, Tracker, Variant, panic_of};
use mainspring::{
    Builder, Cx, EventLoop, Handle, Interest, LoopState, PanicPolicy, Watch, Watcher,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use watching::*;

suite! {
    a_phantom_is_silenced_although_the_new_poller_gets_the_number_of_a_closed_watcher,
    a_phantom_is_silenced_although_a_closed_watchers_number_is_a_regular_file_now,
    a_phantom_that_cannot_be_silenced_is_not_complained_about_in_every_tick,
    a_hang_up_of_a_phantom_that_nobody_listens_to_does_not_spin,
    a_hang_up_of_a_phantom_whose_watcher_is_not_purged_yet_does_not_spin,
    an_edge_after_a_masked_hang_up_is_dispatched_once,
    an_idle_hook_that_ends_the_last_watch_ends_run_until_idle,
    an_idle_hook_that_clears_the_last_timer_ends_run_until_idle,
    an_idle_hook_that_drops_the_last_weakly_watched_source_ends_run_until_idle,
    a_destructor_that_panics_while_a_phantom_is_silenced_stays_inside,
    a_one_shot_whose_error_was_taken_by_another_callback_is_still_delivered_once,
    a_source_cannot_be_taken_back_while_it_tells_its_descriptor,
    a_source_that_ends_its_watch_when_it_is_looked_at_calls_nothing,
    a_first_registration_that_is_refused_opens_nothing,
    a_busy_run_until_idle_does_not_look_at_every_weakly_watched_source,
    what_a_panic_left_uncounted_is_not_taken_for_a_phantom,
}

/// Numbers that nobody gets by chance.
const A: RawFd = 700;
const B: RawFd = 701;

/// A loop with a watcher, without which it would park and hear of no phantom.
struct Inhabited {
    event_loop: EventLoop,
    peer: UnixStream,
    log: Log<&'static str>,
}

impl Inhabited {
    fn new(builder: Builder) -> Self {
        let event_loop = builder.build().unwrap();
        let (ours, peer) = pair();
        let log = Log::new();
        let noted = log.clone();
        let watch = Watch::new().read(move |_, stream: &UnixStream| {
            drain(stream);
            noted.push("bystander");
        });
        drop(event_loop.cx().watch(ours, watch).unwrap());
        Self { event_loop, peer, log }
    }

    /// A descriptor that the system reports as readable for ever, although it is closed. It lives for as long
    /// as what is returned.
    fn haunt(&self) -> [UnixStream; 2] {
        let (ours, mut theirs) = pair_at(A);
        let duplicate = ours.try_clone().unwrap();
        theirs.write_all(b"x").unwrap();
        drop(watch_raw(self.event_loop.cx(), A, Watch::new().read(says(&self.log, "phantom"))));
        drop(ours);
        assert!(self.event_loop.cx().unwatch(A));
        [duplicate, theirs]
    }

    /// It sleeps, it has called nobody so far, and it still serves its watcher.
    #[track_caller]
    fn assert_well(&self) {
        assert_at_rest(&self.event_loop);
        assert_eq!(self.log.take(), [""; 0]);
        (&self.peer).write_all(b"x").unwrap();
        tick(&self.event_loop);
        assert_eq!(self.log.take(), ["bystander"]);
        assert_at_rest(&self.event_loop);
        assert_eq!(self.log.take(), [""; 0]);
    }
}

fn inhabited(variant: Variant) -> Inhabited {
    Inhabited::new(variant.builder().panic_policy(PanicPolicy::Propagate))
}

// To silence a phantom a new poller is opened, which cannot watch itself, nor what it consists of twice.
// spec: M1-1.3, M1-1.4
fn a_phantom_is_silenced_although_the_new_poller_gets_the_number_of_a_closed_watcher(
    variant: Variant,
) {
    let _alone = alone();
    let inhabited = inhabited(variant);
    // The lowest numbers that are free: as many as a poller has descriptors.
    let pairs = [pair(), pair(), pair()];
    let _phantom = inhabited.haunt();
    let mut peers = Vec::new();
    let watched = pairs.map(|(ours, theirs)| {
        peers.push(theirs);
        let ours = Rc::new(ours);
        let watch = Watch::new().read(says(&inhabited.log, "closed"));
        let watcher = inhabited.event_loop.cx().watch_weak(&ours, watch).unwrap();
        (ours, watcher)
    });
    // Nothing keeps these files, so that no event will ever tell the loop.
    let watchers = watched.map(|(_ours, watcher)| watcher);
    inhabited.assert_well();
    assert!(watchers.iter().all(|watcher| !watcher.is_active()));
}

// A poller takes no regular files, and refusing one was the end of the attempt, each time anew.
// spec: M1-1.3, M1-1.4
fn a_phantom_is_silenced_although_a_closed_watchers_number_is_a_regular_file_now(variant: Variant) {
    let _alone = alone();
    for is_weak in [true, false] {
        let inhabited = inhabited(variant);
        let cx = inhabited.event_loop.cx();
        let (ours, _theirs) = pair_at(B);
        let ours = Rc::new(ours);
        if is_weak {
            drop(cx.watch_weak(&ours, Watch::new().read(says(&inhabited.log, "weak"))).unwrap());
        } else {
            drop(watch_raw(cx, B, Watch::new().read(says(&inhabited.log, "raw"))));
        }
        drop(ours);
        let _file = numbered(File::open(std::env::current_exe().unwrap()).unwrap(), B);
        let _phantom = inhabited.haunt();
        inhabited.assert_well();
        assert!(!cx.unwatch(B), "removed");
    }
}

/// Counts what is logged.
struct Counter(Arc<AtomicUsize>);

impl Subscriber for Counter {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

// Without descriptors no new poller can be opened. It was tried, and logged, in every tick.
// spec: M1-1.3
fn a_phantom_that_cannot_be_silenced_is_not_complained_about_in_every_tick(variant: Variant) {
    let _alone = alone();
    let inhabited = inhabited(variant);
    let _phantom = inhabited.haunt();
    let logged = Arc::new(AtomicUsize::new(0));
    let limit = getrlimit(Resource::Nofile);
    let none = Rlimit { current: Some(0), ..limit };
    let restore = OnDrop(move || setrlimit(Resource::Nofile, limit).unwrap());
    setrlimit(Resource::Nofile, none).unwrap();
    logs::prepare();
    tracing::subscriber::with_default(Counter(Arc::clone(&logged)), || {
        for _ in 0..200 {
            tick(&inhabited.event_loop);
        }
    });
    drop(restore);
    assert!((1..20).contains(&logged.load(Ordering::Relaxed)), "{logged:?}");
    assert_eq!(inhabited.log.take(), [""; 0]);
    // How many ticks pass before it is tried again does not matter, as long as it is.
    for _ in 0..1_000 {
        tick(&inhabited.event_loop);
    }
    inhabited.assert_well();
}

// It was masked, which the system refuses for what is closed, and that was not noticed.
// spec: M1-2.4, M1-1.3, F-12
fn a_hang_up_of_a_phantom_that_nobody_listens_to_does_not_spin(variant: Variant) {
    let _alone = alone();
    for is_weak in [true, false] {
        let inhabited = inhabited(variant);
        let cx = inhabited.event_loop.cx();
        let (ours, theirs) = pair_at(B);
        fill(&ours);
        let _duplicate = ours.try_clone().unwrap();
        let ours = Rc::new(ours);
        if is_weak {
            drop(cx.watch_weak(&ours, Watch::new().write(says(&inhabited.log, "weak"))).unwrap());
        } else {
            drop(watch_raw(cx, B, Watch::new().write(says(&inhabited.log, "raw"))));
        }
        drop(ours);
        // Hung up, and not writable.
        theirs.shutdown(Shutdown::Both).unwrap();
        inhabited.assert_well();
        assert!(!cx.unwatch(B), "removed");
    }
}

// The portable poller asks what a hang-up means. It asked the closed number, which answered nothing.
// spec: M1-2.1, M1-1.3, IO-7
fn a_hang_up_of_a_phantom_whose_watcher_is_not_purged_yet_does_not_spin(variant: Variant) {
    let _alone = alone();
    for is_reused in [false, true] {
        let inhabited = inhabited(variant);
        let (ours, theirs) = pair_at(B);
        let _duplicate = ours.try_clone().unwrap();
        let ours = Rc::new(ours);
        let watch = Watch::new().read(says(&inhabited.log, "read"));
        let watcher = inhabited.event_loop.cx().watch_weak(&ours, watch).unwrap();
        drop(ours);
        // Nor has the answer of a stranger anything to do with it.
        let stranger = is_reused.then(|| pair_at(B));
        drop(theirs);
        inhabited.assert_well();
        assert!(!watcher.is_active());
        drop(stranger);
    }
}

// To end the masking the system was told the same interest again, and repeated the edge for that.
// spec: M1-2.5, M1-2.4
fn an_edge_after_a_masked_hang_up_is_dispatched_once(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let (ours, theirs) = pair();
    fill(&ours);
    let log = Log::new();
    let watch = Watch::new().write(says(&log, "write")).edge_triggered();
    drop(event_loop.cx().watch(ours, watch).unwrap());
    theirs.shutdown(Shutdown::Both).unwrap();
    for _ in 0..3 {
        tick(&event_loop);
        assert_eq!(log.len(), 0, "hung up, and not writable");
    }
    drain(&theirs);
    for _ in 0..5 {
        tick(&event_loop);
    }
    assert_eq!(log.take(), ["write"]);
}

/// Whether `run_until_idle` falls asleep, which it would not awake from.
fn falls_asleep(event_loop: &EventLoop) -> bool {
    let (handle, is_over) = (event_loop.handle(), AtomicBool::new(false));
    thread::scope(|scope| {
        let observer = scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                if handle.state() == LoopState::Sleeping {
                    handle.close();
                    return true;
                }
                thread::yield_now();
            }
            false
        });
        let result = event_loop.run_until_idle();
        is_over.store(true, Ordering::Release);
        let is_seen = observer.join().unwrap();
        result.unwrap();
        is_seen
    })
}

// The hook is called after the loop has found a reason to wait, and may remove it.
// spec: R9, F-24
fn an_idle_hook_that_ends_the_last_watch_ends_run_until_idle(variant: Variant) {
    let _alone = alone();
    let ways: [fn(&Cx, &Watcher<UnixStream>); 5] = [
        |cx, watcher| assert!(cx.unwatch(watcher.fd())),
        |cx, watcher| cx.unregister_fd(watcher.fd()).unwrap(),
        |_, watcher| assert!(watcher.unwatch()),
        |_, watcher| watcher.reference(false).unwrap(),
        |_, watcher| watcher.modify(Interest::NONE).unwrap(),
    ];
    for way in ways {
        let (slot, log) = (Rc::new(RefCell::new(None)), Log::new());
        let (last, noted) = (Rc::clone(&slot), log.clone());
        let idle = move |cx: &Cx| {
            way(cx, &last.take().unwrap());
            noted.push("idle");
        };
        let event_loop = variant.builder().on_idle(idle).build().unwrap();
        let (ours, _theirs) = pair();
        let watch = Watch::new().read(says(&log, "read"));
        slot.replace(Some(event_loop.cx().watch(ours, watch).unwrap()));
        assert!(!falls_asleep(&event_loop));
        assert_eq!(log.take(), ["idle"]);
    }
}

// As for watchers.
// spec: R9, TM-11, F-24
fn an_idle_hook_that_clears_the_last_timer_ends_run_until_idle(variant: Variant) {
    let _alone = alone();
    let ways: [fn(&Cx, &Slot); 2] = [
        |cx, slot| assert!(cx.clear_timeout(slot.get())),
        |cx, slot| cx.reference_timer(slot.get(), false).unwrap(),
    ];
    for way in ways {
        let (slot, log) = (Slot::default(), Log::new());
        let (last, noted) = (slot.clone(), log.clone());
        let idle = move |cx: &Cx| {
            way(cx, &last);
            noted.push("idle");
        };
        let event_loop = variant.builder().on_idle(idle).build().unwrap();
        slot.set(event_loop.cx().set_timeout(HOUR, log.note("timer")).unwrap());
        assert!(!falls_asleep(&event_loop));
        assert_eq!(log.take(), ["idle"]);
    }
}

// As above, and nothing tells the loop that a source was dropped: it has to look again.
// spec: R9, M1-1.2, F-24
fn an_idle_hook_that_drops_the_last_weakly_watched_source_ends_run_until_idle(variant: Variant) {
    let _alone = alone();
    let (slot, log) = (Rc::new(RefCell::new(None)), Log::new());
    let (last, noted) = (Rc::clone(&slot), log.clone());
    let idle = move |_: &Cx| {
        drop(last.take().unwrap());
        noted.push("idle");
    };
    let event_loop = variant.builder().on_idle(idle).build().unwrap();
    let (ours, _theirs) = pair();
    let ours = Rc::new(ours);
    let watch = Watch::new().read(says(&log, "read"));
    drop(event_loop.cx().watch_weak(&ours, watch).unwrap());
    slot.replace(Some(ours));
    assert!(!falls_asleep(&event_loop));
    assert_eq!(log.take(), ["idle"]);
}

// It left the turn, although panics were to be isolated.
// spec: FA-1
fn a_destructor_that_panics_while_a_phantom_is_silenced_stays_inside(variant: Variant) {
    let _alone = alone();
    let inhabited = Inhabited::new(variant.builder().panic_policy(PanicPolicy::Isolate));
    let tracker = Tracker::new();
    let mut peers = Vec::new();
    // Both are found to be closed when everything is registered anew.
    for number in [B, B + 1] {
        let (ours, theirs) = pair_at(number);
        peers.push(theirs);
        let (ours, token) = (Rc::new(ours), tracker.token());
        // A panic while another one leaves would end the process instead of the test.
        let guard = OnDrop(|| assert!(thread::panicking(), "expected by the test"));
        let watch = Watch::new().read(move |_, _| _ = (&guard, &token));
        drop(inhabited.event_loop.cx().watch_weak(&ours, watch).unwrap());
    }
    let _phantom = inhabited.haunt();
    for _ in 0..10 {
        assert_eq!(panic_of(|| tick(&inhabited.event_loop)), None);
    }
    assert_eq!(tracker.alive(), 0, "both are removed");
    inhabited.assert_well();
}

/// Waits until this is the case with the socket.
#[track_caller]
fn await_events(socket: &UdpSocket, events: i16) {
    let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events, revents: 0 };
    // SAFETY: one entry, which outlives the call.
    assert_eq!(unsafe { libc::poll(&raw mut poll, 1, 10_000) }, 1);
    assert_eq!(poll.revents, if events == 0 { libc::POLLERR } else { events });
}

// The system had disarmed it for the error, which the portable poller did not find any more when it asked.
// spec: M1-2.6, M1-2.7, IO-7
fn a_one_shot_whose_error_was_taken_by_another_callback_is_still_delivered_once(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let log = Log::new();
    let socket = Rc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
    socket.set_nonblocking(true).unwrap();
    socket.connect(UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()).unwrap();
    socket.send(b"nobody receives this").unwrap();
    await_events(&socket, 0);
    // The first of the batch.
    let (ours, _theirs) = ready();
    let (other, noted) = (Rc::clone(&socket), log.clone());
    let watch = Watch::new().read(move |_, stream: &UnixStream| {
        drain(stream);
        noted.push(if other.take_error().unwrap().is_some() { "taken" } else { "too late" });
    });
    drop(event_loop.cx().watch(ours, watch).unwrap());
    let watch = Watch::new().read(says(&log, "read")).one_shot();
    let watcher = event_loop.cx().watch(Rc::clone(&socket), watch).unwrap();
    tick(&event_loop);
    assert_eq!(log.take(), ["taken", "read"], "what is over by now counts all the same");
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(sender.local_addr().unwrap()).unwrap();
    sender.send_to(b"x", socket.local_addr().unwrap()).unwrap();
    await_events(&socket, libc::POLLIN);
    for _ in 0..3 {
        tick(&event_loop);
    }
    assert_eq!(log.len(), 0, "once for having been armed");
    watcher.modify(Interest::READ.one_shot()).unwrap();
    for _ in 0..3 {
        tick(&event_loop);
    }
    assert_eq!(log.take(), ["read"]);
}

/// A source that asks to be taken back whenever it is looked at.
struct Homesick {
    stream: UnixStream,
    watcher: Rc<RefCell<Option<Watcher<Self>>>>,
    log: Log<&'static str>,
}

impl AsFd for Homesick {
    fn as_fd(&self) -> BorrowedFd<'_> {
        let watcher = self.watcher.take();
        if let Some(watcher) = watcher {
            let watcher = watcher.into_inner().err().expect("the source is in use");
            self.log.push(if watcher.is_active() { "refused" } else { "ended" });
            self.watcher.replace(Some(watcher));
        }
        self.stream.as_fd()
    }
}

// The watcher came back, which says that nothing has changed; but the watch was over.
// spec: WA-1
fn a_source_cannot_be_taken_back_while_it_tells_its_descriptor(variant: Variant) {
    let _alone = alone();
    let event_loop = build(variant);
    let (stream, _theirs) = ready();
    let (slot, log) = (Rc::new(RefCell::new(None)), Log::new());
    let source = Homesick { stream, watcher: Rc::clone(&slot), log: log.clone() };
    let watch = Watch::new().read(says(&log, "read"));
    let watcher = event_loop.cx().watch(source, watch).unwrap();
    slot.replace(Some(watcher));
    tick(&event_loop);
    let called = log.take();
    assert_eq!(called.last(), Some(&"read"), "{called:?}");
    assert!(called.len() > 1, "it was looked at");
    assert!(called[..called.len() - 1].iter().all(|entry| *entry == "refused"), "{called:?}");
    let watcher = slot.take().unwrap();
    assert!(watcher.is_active());
    assert!(watcher.into_inner().is_ok(), "nobody looks at it now");
}

/// A source that does something to its own watch when it is looked at.
struct Fickle {
    stream: UnixStream,
    handle: Handle,
    watcher: Rc<RefCell<Option<Watcher<Self>>>>,
    way: fn(&Self, &Watcher<Self>),
}

impl AsFd for Fickle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        let watcher = self.watcher.take();
        if let Some(watcher) = watcher {
            (self.way)(self, &watcher);
        }
        self.stream.as_fd()
    }
}

// The loop looked at the source last of all, and went on with what it knew from before.
// spec: M1-3.1, M1-2.1
fn a_source_that_ends_its_watch_when_it_is_looked_at_calls_nothing(variant: Variant) {
    let _alone = alone();
    let ways: [fn(&Fickle, &Watcher<Fickle>); 3] = [
        |_, watcher| assert!(watcher.unwatch()),
        |_, watcher| watcher.modify(Interest::NONE).unwrap(),
        // This is over when the loop looks again, whoever has done it.
        |source, watcher| {
            let (handle, fd) = (&source.handle, watcher.fd());
            elsewhere(move || handle.unregister_fd(fd).unwrap());
        },
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let event_loop = build(variant);
        let (stream, _theirs) = ready();
        let (slot, log) = (Rc::new(RefCell::new(None)), Log::new());
        let handle = event_loop.handle();
        let source = Fickle { stream, handle, watcher: Rc::clone(&slot), way };
        let watch = watch(&log, "read write");
        slot.replace(Some(event_loop.cx().watch(source, watch).unwrap()));
        for _ in 0..3 {
            tick(&event_loop);
        }
        assert!(slot.take().is_none(), "it was looked at");
        assert_eq!(log.take(), [""; 0], "{number}");
    }
}

// The poller was opened for it, and stayed.
// spec: IO-1, F-19
fn a_first_registration_that_is_refused_opens_nothing(variant: Variant) {
    let _alone = alone();
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let file = Rc::new(File::open(std::env::current_exe().unwrap()).unwrap());
    let ways: [fn(&Cx, &Rc<File>); 4] = [
        |cx, file| drop(cx.watch(Rc::clone(file), Watch::new().read(|_, _| ())).unwrap_err()),
        |cx, file| drop(cx.watch_weak(file, Watch::new().read(|_, _| ())).unwrap_err()),
        |cx, file| {
            let file = Rc::clone(file);
            drop(cx.register_fd(file, Interest::READ, |_, _, _| ()).unwrap_err());
        },
        |cx, file| {
            let file = file.try_clone().unwrap();
            drop(cx.handle().register_fd(file, Interest::READ, |_, _, _| ()).unwrap_err());
        },
    ];
    for way in ways {
        let event_loop = build(variant);
        let before = open();
        way(event_loop.cx(), &file);
        assert_eq!(open(), before);
        // What can be watched is watched all the same.
        let (ours, _theirs) = ready();
        let log = Log::new();
        drop(event_loop.cx().watch(ours, Watch::new().read(says(&log, "read"))).unwrap());
        tick(&event_loop);
        assert_eq!(log.take(), ["read"]);
    }
}

/// A source that counts how often it is looked at.
struct Looked(UnixStream, Rc<Cell<usize>>);

impl AsFd for Looked {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.1.set(self.1.get() + 1);
        self.0.as_fd()
    }
}

// In every tick it looked whether one of them was gone: a tick took as long as there were watchers.
// spec: R9
fn a_busy_run_until_idle_does_not_look_at_every_weakly_watched_source(variant: Variant) {
    const QUIET: usize = 100;
    const TICKS: usize = 100;
    let _alone = alone();
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (busy, _theirs) = pair();
    let busy = Rc::new(busy);
    let mut ticks = 0;
    let watch = Watch::new().write(move |cx, _| {
        ticks += 1;
        if ticks == TICKS {
            cx.close();
        }
    });
    drop(cx.watch_weak(&busy, watch).unwrap());
    let looks = Rc::new(Cell::new(0));
    let mut kept = Vec::new();
    for _ in 0..QUIET {
        let (ours, theirs) = pair();
        let ours = Rc::new(Looked(ours, Rc::clone(&looks)));
        drop(cx.watch_weak(&ours, Watch::new().read(|_, _| unreachable!())).unwrap());
        kept.push((ours, theirs));
    }
    looks.set(0);
    event_loop.run_until_idle().unwrap();
    // One of them in each tick would do, and all of them now and then.
    assert!(looks.get() < QUIET * TICKS / 10, "{looks:?}");
}

// A stale event of a batch whose end was cut off by a panic was counted for the next batch: the poller was built
// anew for nothing, and told of an edge a second time.
// spec: M1-2.5, FA-3
fn what_a_panic_left_uncounted_is_not_taken_for_a_phantom(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let log = Log::new();
    // Delivered in the order in which they become ready.
    let (edge, mut edge_peer) = pair();
    let (remover, mut remover_peer) = pair();
    let (removed, mut removed_peer) = pair();
    let (last, mut last_peer) = pair();
    let noted = log.clone();
    let watch = Watch::new().read(move |_, _: &UnixStream| noted.push("edge")).edge_triggered();
    drop(cx.watch(edge, watch).unwrap());
    let victim = removed.as_raw_fd();
    let watch = Watch::new().read(move |cx, stream: &UnixStream| {
        drain(stream);
        cx.unwatch(victim);
    });
    drop(cx.watch(remover, watch).unwrap());
    drop(cx.watch(removed, Watch::new().read(|_, _: &UnixStream| panic!("removed"))).unwrap());
    let watch = Watch::new().read(|_, stream: &UnixStream| {
        drain(stream);
        panic!("expected by the test");
    });
    drop(cx.watch(last, watch).unwrap());
    for peer in [&mut edge_peer, &mut remover_peer, &mut removed_peer, &mut last_peer] {
        peer.write_all(b"x").unwrap();
    }
    let panic = panic_of(|| tick(&event_loop));
    assert_eq!(panic.as_deref(), Some("expected by the test"));
    assert_eq!(log.take(), ["edge"]);
    for _ in 0..3 {
        tick(&event_loop);
    }
    assert_eq!(log.len(), 0, "nothing new has come");
}
