//! A guest's descriptor is readable while a turn has something to do, and not otherwise.
#![cfg(all(target_os = "linux", not(loom)))]

mod common;
#[path = "common/futures.rs"]
mod gates;
#[path = "common/watch.rs"]
mod watching;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::timers::{HOUR, MS, Random, elsewhere, notes};
use common::{Kind, Log, Tracker, Variant, must_return, panic_of, wait_until};
use gates::{Gate, SharedGate};
use mainspring::{
    AbortController, AbortSignal, AsyncFd, Cx, Deadline, EntryType, Error, EventLoop, FastPathMode,
    Guest, Handle, Interest, LocalPromise, LoopState, PanicPolicy, Promise, Shutdown, VirtualClock,
    Watch,
};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use watching::{alone, drain, pair, pair_at, ready, says};

suite! {
    a_new_guest_is_readable_until_its_first_turn,
    a_turn_that_finds_nothing_does_no_harm,
    a_loop_that_was_driven_before_becomes_a_guest_with_what_it_has,
    a_loop_that_cannot_be_a_guest_is_refused,
    what_the_host_does_between_turns_makes_it_readable,
    what_another_thread_does_makes_it_readable,
    what_is_done_before_the_first_turn_is_found_by_it,
    what_is_queued_in_a_turn_for_a_later_one_makes_it_readable,
    a_guest_that_is_never_done_is_always_readable,
    a_budget_is_spent_in_each_turn_and_the_rest_makes_it_readable,
    futures_that_are_left_make_it_readable,
    microtasks_that_are_left_make_it_readable,
    a_timer_makes_it_readable_when_it_is_due_and_not_before,
    timers_one_after_another_take_one_turn_each,
    a_timer_that_is_set_between_turns_counts_from_then,
    an_earlier_timer_is_not_waited_through,
    a_timer_that_is_put_off_does_not_make_it_readable,
    a_timer_that_is_cleared_does_not_make_it_readable_for_ever,
    a_deadline_in_the_past_and_one_in_the_far_future_are_kept_apart,
    virtual_time_makes_it_readable_when_it_is_advanced,
    virtual_time_does_not_pass_by_itself,
    a_level_triggered_descriptor_makes_it_readable_for_as_long_as_it_is_ready,
    an_edge_triggered_descriptor_makes_it_readable_once_for_each_edge,
    a_descriptor_that_is_not_watched_any_more_does_not_make_it_readable,
    a_future_waits_for_a_descriptor_through_the_host,
    no_descriptor_is_kept_waiting_by_tasks,
    a_host_that_listens_to_edges_hears_of_descriptors_that_stay_ready,
    a_host_that_listens_to_edges_hears_of_more_descriptors_than_one_turn_finds,
    a_host_that_listens_to_edges_hears_of_everything_else,
    a_host_that_listens_to_edges_hears_of_a_panic_and_of_a_new_poller,
    a_shutdown_by_another_thread_is_carried_out_by_the_next_turn,
    a_close_by_another_thread_is_carried_out_by_the_next_turn,
    the_host_ends_it_between_turns,
    a_callback_ends_it,
    a_guest_that_was_never_given_a_turn_can_be_ended,
    dropping_it_ends_it,
    after_the_end_it_is_not_readable,
    a_panic_that_leaves_a_turn_has_the_host_come_back,
    a_panic_of_each_callback_of_a_batch_loses_none,
    what_another_thread_submits_after_a_panic_is_heard,
    a_turn_inside_a_turn_is_refused_and_changes_nothing,
    the_descriptor_stays_the_same_when_the_poller_is_built_anew,
    a_panic_and_a_new_poller_in_one_turn,
    two_guests_of_one_thread_are_independent,
    a_guest_of_a_guest_wakes_the_host,
    no_submit_of_any_thread_is_lost,
    no_timer_of_any_thread_is_lost,
    the_function_is_called_once_for_each_turn,
    the_function_is_not_called_for_nothing,
    a_timer_calls_the_function,
    a_panic_that_leaves_a_turn_calls_the_function_again,
    a_new_function_replaces_the_one_before,
    a_notifier_can_be_dropped_by_its_own_function,
    a_notifier_that_waits_can_be_dropped,
    dropping_a_notifier_waits_for_its_function,
    a_notifier_that_outlives_the_guest_does_nothing,
    a_function_that_panics_is_called_again,
    a_turn_without_a_call_does_no_harm,
    an_ended_guest_calls_at_most_once_more,
    an_idle_guest_wakes_nobody,
}

/// Whether the host would wake up now.
fn is_readable(guest: &impl AsFd) -> bool {
    waits(guest, Some(Duration::ZERO))
}

/// Waits like a host. False if nothing happened.
fn waits(guest: &impl AsFd, limit: Option<Duration>) -> bool {
    let limit = limit.map(|limit| Timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: limit.subsec_nanos().into(),
    });
    let mut fds = [PollFd::new(guest, PollFlags::IN)];
    let count = rustix::io::retry_on_intr(|| poll(&mut fds, limit.as_ref())).unwrap();
    assert!(count == 0 || fds[0].revents() == PollFlags::IN, "{:?}", fds[0].revents());
    count == 1
}

/// Only a broken guest waits for so long.
#[track_caller]
fn await_readable(guest: &impl AsFd) {
    assert!(waits(guest, Some(Duration::from_secs(20))), "the host sleeps through it");
}

fn host(event_loop: EventLoop) -> Guest {
    let guest = event_loop.into_guest().unwrap();
    settle(&guest);
    guest
}

/// A guest at rest, that lets a failed assertion in a callback leave the turn.
fn guest(variant: Variant) -> Guest {
    host(gates::build(variant))
}

/// Does what a host does until nothing is left. Returns how many turns that took.
#[track_caller]
fn settle(guest: &Guest) -> usize {
    for turns in 0..1_000 {
        if !is_readable(guest) {
            assert_ne!(guest.state(), LoopState::Running, "nobody would wake it");
            return turns;
        }
        guest.turn().unwrap();
    }
    panic!("it does not come to rest");
}

/// Turns, as a host does, until the condition holds.
#[track_caller]
fn turn_until(guest: &Guest, is_done: impl Fn() -> bool) {
    while !is_done() {
        await_readable(guest);
        guest.turn().unwrap();
    }
}

// spec: BX-2
fn a_new_guest_is_readable_until_its_first_turn(variant: Variant) {
    let guest = variant.build().into_guest().unwrap();
    assert!(is_readable(&guest));
    assert_eq!(guest.state(), LoopState::Awake);
    let turn = guest.turn().unwrap();
    assert_eq!((turn.callbacks, turn.ready), (0, false));
    assert!(!is_readable(&guest));
    assert_eq!(guest.state(), LoopState::Sleeping);
}

// spec: BX-2
fn a_turn_that_finds_nothing_does_no_harm(variant: Variant) {
    let guest = guest(variant);
    for _ in 0..100 {
        assert_eq!(guest.turn().unwrap().callbacks, 0);
        assert!(!is_readable(&guest));
        assert_eq!(guest.state(), LoopState::Sleeping);
    }
    let handle = guest.handle();
    elsewhere(move || handle.submit(|_| ()).unwrap());
    assert!(is_readable(&guest));
}

// spec: BX-2
fn a_loop_that_was_driven_before_becomes_a_guest_with_what_it_has(variant: Variant) {
    let event_loop = gates::build(variant);
    let log = Log::new();
    event_loop.cx().submit(log.note("before")).unwrap();
    event_loop.run_until_idle().unwrap();
    event_loop.cx().set_timeout(2 * MS, log.note("timer")).unwrap();
    let (ours, _theirs) = ready();
    let watch = Watch::new().read(says(&log, "descriptor")).one_shot();
    let _watcher = event_loop.cx().watch(ours, watch).unwrap();
    let gate = Gate::new();
    let (pass, noted) = (gate.pass(), log.clone());
    event_loop.cx().spawn_local(async move {
        pass.await;
        noted.push("future");
    });
    event_loop.cx().set_immediate(log.note("immediate"));
    let guest = event_loop.into_guest().unwrap();
    turn_until(&guest, || log.len() == 4);
    settle(&guest);
    assert_eq!(watching::sorted(log.take()), ["before", "descriptor", "immediate", "timer"]);
    gate.open();
    turn_until(&guest, || log.len() == 1);
}

// spec: BX-2
fn a_loop_that_cannot_be_a_guest_is_refused(variant: Variant) {
    let forced = common::builder().fast_path(FastPathMode::Forced).build().unwrap();
    assert!(matches!(forced.into_guest(), Err(Error::FastPathIncompatible)));
    let tracker = Tracker::new();
    for end in [Handle::close, |handle: &Handle| _ = handle.shutdown(Deadline::NEVER)] {
        let event_loop = variant.build();
        event_loop.cx().set_timeout(HOUR, tracker.callback()).unwrap();
        end(&event_loop.handle());
        assert!(matches!(event_loop.into_guest(), Err(Error::Terminated)));
    }
    assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
}

/// A way to have the loop do something, which calls the function when it has done it.
type Way = (&'static str, fn(&Guest, &Rc<Fixture>));

/// What was prepared before the guest came to rest.
struct Fixture {
    log: Log<()>,
    gate: Gate,
    resolver: RefCell<Option<mainspring::LocalResolver<u32>>>,
    shared: RefCell<Option<mainspring::Resolver<u32>>>,
    join: Rc<RefCell<mainspring::JoinHandle<()>>>,
    controller: AbortController,
    clock: VirtualClock,
    watcher: RefCell<Option<mainspring::Watcher<UnixStream>>>,
    stream: RefCell<Option<UnixStream>>,
}

impl Fixture {
    fn note(self: &Rc<Self>) -> impl FnOnce(&Cx) + 'static {
        self.log.note(())
    }
}

fn fixture(variant: Variant) -> (Guest, Rc<Fixture>) {
    let log = Log::new();
    let clock = VirtualClock::new();
    let (unhandled, rejected) = (log.clone(), log.clone());
    let event_loop = variant
        .builder()
        .clock(&clock)
        .panic_policy(PanicPolicy::Propagate)
        .on_unhandled_rejection(move |_, _| unhandled.push(()))
        .on_rejection_handled(move |_, _| rejected.push(()))
        .build()
        .unwrap();
    let cx = event_loop.cx();
    let gate = Gate::new();
    let (pass, noted) = (gate.pass(), log.clone());
    cx.spawn_local(async move {
        pass.await;
        noted.push(());
    });
    let (promise, resolver) = LocalPromise::<u32>::with_resolvers(cx);
    let noted = log.clone();
    promise.then(move |_, _| noted.push(()));
    let (shared, shared_resolver) = Promise::<u32>::with_resolvers(&event_loop.handle());
    let (noted, later) = (log.clone(), cx.clone());
    cx.spawn_local(async move {
        let _ = shared.await;
        later.submit(noted.note(())).unwrap();
    });
    let join = Rc::new(RefCell::new(cx.spawn_local(std::future::pending::<()>())));
    let (joined, noted) = (Rc::clone(&join), log.clone());
    cx.spawn_local(async move {
        let joined = std::future::poll_fn(|cx| Pin::new(&mut *joined.borrow_mut()).poll(cx)).await;
        assert!(joined.is_err());
        noted.push(());
    });
    let controller = AbortController::new();
    let (aborted, noted) = (cx.aborted(&controller.signal()), log.clone());
    cx.spawn_local(async move {
        aborted.await;
        noted.push(());
    });
    let (ours, theirs) = ready();
    let noted = log.clone();
    let watch = Watch::new().read(move |cx: &Cx, stream: &UnixStream| {
        cx.unwatch(stream.as_raw_fd());
        noted.push(());
    });
    let watcher = cx.watch(ours, watch.interest(Interest::NONE)).unwrap();
    let guest = host(event_loop);
    let fixture = Fixture {
        log,
        gate,
        resolver: RefCell::new(Some(resolver)),
        shared: RefCell::new(Some(shared_resolver)),
        join,
        controller,
        clock,
        watcher: RefCell::new(Some(watcher)),
        stream: RefCell::new(Some(theirs)),
    };
    (guest, Rc::new(fixture))
}

const WAYS: [Way; 27] = [
    ("submit", |guest, f| guest.cx().submit(f.note()).unwrap()),
    ("submit_internal", |guest, f| guest.cx().submit_internal(f.note()).unwrap()),
    ("queue_microtask", |guest, f| guest.cx().queue_microtask(f.note())),
    ("next_tick", |guest, f| guest.cx().next_tick(f.note())),
    ("set_immediate", |guest, f| _ = guest.cx().set_immediate(f.note())),
    ("queue_close", |guest, f| guest.cx().queue_close(f.note())),
    ("set_timeout", |guest, f| _ = guest.cx().set_timeout(Duration::ZERO, f.note()).unwrap()),
    ("set_interval", |guest, f| {
        let mut note = notes(&f.log, ());
        let calls = move |cx: &Cx| {
            cx.clear_interval(cx.current_interval().unwrap());
            note(cx);
        };
        guest.cx().set_interval(MS, calls).unwrap();
        f.clock.advance(MS);
    }),
    ("advance", |guest, f| {
        guest.cx().set_timeout(HOUR, f.note()).unwrap();
        settle(guest);
        f.clock.advance(HOUR);
    }),
    ("reset_timeout", |guest, f| {
        let id = guest.cx().set_timeout(HOUR, f.note()).unwrap();
        settle(guest);
        guest.cx().reset_timeout(id, Duration::ZERO).unwrap();
    }),
    ("spawn_local", |guest, f| {
        let log = f.log.clone();
        guest.cx().spawn_local(async move { log.push(()) });
    }),
    ("a wake of a future", |_, f| f.gate.open()),
    ("abort of a future", |_, f| f.join.borrow().abort()),
    ("a promise that is resolved", |_, f| {
        assert!(f.resolver.take().unwrap().resolve(1));
    }),
    ("a promise that is rejected", |_, f| {
        // Its reaction passes the rejection on, and nobody handles that.
        assert!(f.resolver.take().unwrap().reject(std::fmt::Error));
    }),
    ("a shared promise that is resolved", |_, f| {
        assert!(f.shared.take().unwrap().resolve(1));
    }),
    ("a rejection that nobody handles", |guest, _| {
        drop(LocalPromise::<u32>::reject(guest.cx(), std::fmt::Error));
    }),
    ("a shared rejection that nobody handles", |guest, _| {
        drop(Promise::<u32>::reject(&guest.handle(), std::fmt::Error));
    }),
    ("a rejection that is handled late", |guest, f| {
        let promise = LocalPromise::<u32>::reject(guest.cx(), std::fmt::Error);
        settle(guest);
        assert_eq!(f.log.take().len(), 1);
        drop(promise.catch(|_, _| 0));
    }),
    ("a reaction to a promise that is settled", |guest, f| {
        let log = f.log.clone();
        LocalPromise::resolve(guest.cx(), 1).then(move |_, _| log.push(()));
    }),
    ("an abort", |_, f| f.controller.abort()),
    ("a mark that is observed", |guest, f| {
        let log = f.log.clone();
        let performance = guest.cx().performance();
        performance.observe(EntryType::Mark, move |_, _, _| log.push(()));
        settle(guest);
        performance.mark("now");
    }),
    ("interest in what is ready", |_, f| {
        f.watcher.borrow().as_ref().unwrap().modify(Interest::READ).unwrap();
    }),
    ("a watch of what is ready", |guest, f| {
        let (ours, theirs) = ready();
        let log = f.log.clone();
        let watch = Watch::new().read(move |_, _| log.push(())).one_shot();
        f.watcher.replace(Some(guest.cx().watch(ours, watch).unwrap()));
        f.stream.replace(Some(theirs));
    }),
    ("a sleep that is reset", |guest, f| {
        let (sleep, log) = (Rc::new(RefCell::new(guest.cx().sleep(HOUR))), f.log.clone());
        let theirs = Rc::clone(&sleep);
        guest.cx().spawn_local(async move {
            std::future::poll_fn(|cx| Pin::new(&mut *theirs.borrow_mut()).poll(cx)).await;
            log.push(());
        });
        settle(guest);
        let now = guest.cx().now();
        sleep.borrow_mut().reset(now);
    }),
    ("the host's own handle", |guest, f| {
        // What is queued through it on its own thread need not be sent.
        let (gate, log) = (SharedGate::new(), f.log.clone());
        let pass = gate.pass();
        guest.cx().spawn_local(async move {
            pass.await;
            log.push(());
        });
        settle(guest);
        guest.handle().submit(move |_| gate.open()).unwrap();
    }),
    ("wake", |guest, f| {
        guest.handle().wake();
        assert!(is_readable(guest));
        guest.cx().submit(f.note()).unwrap();
    }),
];

// spec: BX-2
fn what_the_host_does_between_turns_makes_it_readable(variant: Variant) {
    for (name, way) in WAYS {
        let (guest, fixture) = fixture(variant);
        assert!(!is_readable(&guest) && fixture.log.len() == 0, "{name}");
        way(&guest, &fixture);
        assert!(is_readable(&guest), "{name}: the host sleeps through it");
        let turns = settle(&guest);
        assert_eq!(fixture.log.take().len(), 1, "{name}");
        assert!(turns <= 3, "{name}: {turns} turns");
        // And the next one is heard as well.
        guest.cx().queue_microtask(fixture.note());
        assert!(is_readable(&guest), "{name}");
        settle(&guest);
        assert_eq!(fixture.log.take().len(), 1, "{name}");
    }
}

// spec: BX-2, WK-1
fn what_another_thread_does_makes_it_readable(variant: Variant) {
    type Way = (&'static str, fn(&Handle, Tracker));
    let ways: [Way; 10] = [
        ("submit", |handle, t| handle.submit(t.callback()).unwrap()),
        ("submit_internal", |handle, t| handle.submit_internal(t.callback()).unwrap()),
        ("queue_microtask", |handle, t| handle.queue_microtask(t.callback()).unwrap()),
        ("set_timeout", |handle, t| {
            _ = handle.set_timeout(Duration::ZERO, t.callback()).unwrap();
        }),
        ("set_timeout, a little later", |handle, t| {
            _ = handle.set_timeout(2 * MS, t.callback()).unwrap();
        }),
        ("spawn", |handle, t| {
            let call = t.callback();
            drop(handle.spawn(move |cx| {
                call(cx);
                async {}
            }));
        }),
        ("a promise that is resolved", |handle, t| {
            let (promise, resolver) = Promise::with_resolvers(handle);
            let call = t.callback();
            promise.then(move |cx: &Cx, ()| call(cx));
            resolver.resolve(());
        }),
        ("promisify", |handle, t| {
            let call = t.callback();
            let promise = handle.promisify(&AbortSignal::never(), |_| Ok::<_, Error>(1));
            promise.then(move |cx: &Cx, _| call(cx));
        }),
        ("a sleep", |handle, t| {
            let (handle, call) = (handle.clone(), t.callback());
            let theirs = handle.clone();
            drop(handle.spawn(move |cx| {
                let cx = cx.clone();
                async move {
                    theirs.sleep(MS).await;
                    call(&cx);
                }
            }));
        }),
        ("wake", |handle, t| {
            handle.wake();
            handle.submit(t.callback()).unwrap();
        }),
    ];
    for (name, way) in ways {
        let guest = guest(variant);
        for _ in 0..3 {
            let (tracker, handle) = (Tracker::new(), guest.handle());
            let theirs = tracker.clone();
            elsewhere(move || way(&handle, theirs));
            await_readable(&guest);
            turn_until(&guest, || tracker.ran() == 1);
            settle(&guest);
            assert_eq!((tracker.ran(), tracker.alive()), (1, 0), "{name}");
        }
    }
    // A future is woken.
    let guest = guest(variant);
    for _ in 0..3 {
        let gate = SharedGate::new();
        let join = guest.cx().spawn_local(gate.pass());
        settle(&guest);
        elsewhere(|| gate.open());
        assert!(is_readable(&guest));
        settle(&guest);
        assert!(join.is_finished());
        // Once more, when there is nothing to be woken.
        elsewhere(|| gate.open());
        assert!(settle(&guest) <= 1);
    }
}

// spec: BX-2
fn what_is_done_before_the_first_turn_is_found_by_it(variant: Variant) {
    let guest = gates::build(variant).into_guest().unwrap();
    let (log, tracker) = (Log::new(), Tracker::new());
    for kind in Kind::ALL {
        kind.queue(guest.cx(), log.note(kind));
    }
    let (handle, call) = (guest.handle(), tracker.callback());
    elsewhere(move || handle.submit(call).unwrap());
    settle(&guest);
    assert_eq!((log.len(), tracker.ran()), (6, 1));
}

// spec: BX-2, TK-5
fn what_is_queued_in_a_turn_for_a_later_one_makes_it_readable(variant: Variant) {
    for kind in [Kind::Immediate, Kind::Close, Kind::External] {
        let guest = guest(variant);
        let left = Rc::new(Cell::new(10));
        let ours = Rc::clone(&left);
        kind.chain(guest.cx(), move || {
            left.set(left.get() - 1);
            left.get() > 0
        });
        let turns = settle(&guest);
        assert_eq!(ours.get(), 0);
        assert!(turns <= 10, "{kind:?}: {turns} turns");
    }
    let guest = guest(variant);
    let cx = guest.cx().clone();
    let join = guest.cx().spawn_local(async move {
        for _ in 0..10 {
            cx.yield_now().await;
        }
    });
    assert!((10..=12).contains(&settle(&guest)));
    assert!(join.is_finished());
}

// spec: BX-2
fn a_guest_that_is_never_done_is_always_readable(variant: Variant) {
    let guest = guest(variant);
    Kind::Immediate.chain(guest.cx(), || true);
    for _ in 0..1_000 {
        assert!(is_readable(&guest));
        let turn = guest.turn().unwrap();
        assert_eq!((turn.callbacks, turn.ready), (1, true));
    }
}

// spec: BX-2, IN-5
fn a_budget_is_spent_in_each_turn_and_the_rest_makes_it_readable(variant: Variant) {
    let event_loop = variant.builder().external_budget(1).build().unwrap();
    let guest = host(event_loop);
    let (handle, tracker) = (guest.handle(), Tracker::new());
    for i in 0..3_000 {
        if i % 2 == 0 {
            guest.cx().submit(tracker.callback()).unwrap();
        } else {
            elsewhere(|| handle.submit(tracker.callback()).unwrap());
        }
    }
    for ran in 0..3_000 {
        assert_eq!(tracker.ran(), ran);
        assert!(is_readable(&guest), "{ran}");
        let turn = guest.turn().unwrap();
        assert_eq!((turn.callbacks, turn.ready), (1, ran < 2_999));
    }
    assert!(!is_readable(&guest));
    assert_eq!(guest.turn().unwrap().callbacks, 0);
}

// spec: BX-2, BX-1
fn futures_that_are_left_make_it_readable(variant: Variant) {
    let guest = host(variant.builder().future_budget(1).build().unwrap());
    let gate = Gate::new();
    for _ in 0..100 {
        guest.cx().spawn_local(gate.pass());
    }
    assert!((100..=101).contains(&settle(&guest)));
    gate.open();
    for _ in 0..100 {
        assert!(is_readable(&guest));
        guest.turn().unwrap();
    }
    assert_eq!(gate.polls(), 200);
    assert!(!is_readable(&guest));
}

// spec: BX-2, MT-5
fn microtasks_that_are_left_make_it_readable(variant: Variant) {
    let event_loop =
        variant.builder().microtask_budget(1).on_diagnostic(|_, _| ()).build().unwrap();
    let guest = host(event_loop);
    let log = Log::new();
    for i in 0..50 {
        guest.cx().queue_microtask(log.note(i));
    }
    assert!((20..=51).contains(&settle(&guest)));
    assert_eq!(log.take(), (0..50).collect::<Vec<_>>());
}

// spec: BX-2, TM-1
fn a_timer_makes_it_readable_when_it_is_due_and_not_before(variant: Variant) {
    let guest = guest(variant);
    let mut random = Random(7);
    for _ in 0..30 {
        let called = Rc::new(Cell::new(false));
        let theirs = Rc::clone(&called);
        let delay = Duration::from_micros(500 + random.below(3_000));
        // The time of the loop, because two clocks are compared to no more than some nanoseconds.
        let before = guest.cx().now();
        guest.cx().set_timeout(delay, move |_| theirs.set(true)).unwrap();
        settle(&guest);
        let Some(deadline) = guest.next_deadline() else {
            // This thread was kept from running for so long.
            assert!(called.get() && before.elapsed() >= delay);
            continue;
        };
        assert!(deadline >= before + delay);
        await_readable(&guest);
        assert!(Instant::now() >= deadline, "early");
        assert_eq!(guest.turn().unwrap().callbacks, 1, "for nothing");
        assert!(called.get());
        assert!(!is_readable(&guest));
        assert_eq!(guest.next_deadline(), None);
    }
}

// spec: BX-2, TM-1
fn timers_one_after_another_take_one_turn_each(variant: Variant) {
    let guest = guest(variant);
    let calls = Rc::new(Cell::new(0));
    let theirs = Rc::clone(&calls);
    guest.cx().set_interval(MS, move |_| theirs.set(theirs.get() + 1)).unwrap();
    guest.turn().unwrap();
    for _ in 0..20 {
        let before = calls.get();
        await_readable(&guest);
        guest.turn().unwrap();
        assert_eq!(calls.get(), before + 1, "a turn is made for a timer that is due");
    }
}

// spec: BX-2, TM-1
fn a_timer_that_is_set_between_turns_counts_from_then(variant: Variant) {
    let guest = guest(variant);
    let last_turn = Instant::now();
    while last_turn.elapsed() < 5 * MS {
        std::hint::spin_loop();
    }
    let set = Instant::now();
    let called = Rc::new(Cell::new(None));
    let theirs = Rc::clone(&called);
    guest.cx().set_timeout(5 * MS, move |_| theirs.set(Some(Instant::now()))).unwrap();
    turn_until(&guest, || called.get().is_some());
    assert!(called.get().unwrap() - set >= 5 * MS);
}

// spec: BX-2
fn an_earlier_timer_is_not_waited_through(variant: Variant) {
    let ways: [fn(&Guest, Log<&'static str>); 4] = [
        |guest, log| _ = guest.cx().set_timeout(2 * MS, log.note("early")).unwrap(),
        |guest, log| {
            let id = guest.cx().set_timeout(2 * HOUR, log.note("early")).unwrap();
            settle(guest);
            guest.cx().reset_timeout(id, 2 * MS).unwrap();
        },
        |guest, log| {
            let (sleep, noted) = (guest.cx().sleep(2 * MS), log.clone());
            guest.cx().spawn_local(async move {
                sleep.await;
                noted.push("early");
            });
        },
        |guest, log| {
            let noted = log.clone();
            guest
                .cx()
                .submit(move |cx| _ = cx.set_timeout(2 * MS, noted.note("early")).unwrap())
                .unwrap();
        },
    ];
    for way in ways {
        let (guest, log) = (guest(variant), Log::new());
        guest.cx().set_timeout(HOUR, log.note("late")).unwrap();
        settle(&guest);
        way(&guest, log.clone());
        turn_until(&guest, || log.len() > 0);
        settle(&guest);
        assert_eq!(log.take(), ["early"]);
        assert!(guest.next_deadline().unwrap() > Instant::now() + HOUR / 2);
    }
    // By another thread.
    let (guest, tracker) = (guest(variant), Tracker::new());
    guest.cx().set_timeout(HOUR, |_| ()).unwrap();
    settle(&guest);
    let (handle, call) = (guest.handle(), tracker.callback());
    elsewhere(move || handle.set_timeout(2 * MS, call).unwrap());
    turn_until(&guest, || tracker.ran() == 1);
}

/// For how long it is observed does not matter for the result.
const A_WHILE: Duration = Duration::from_millis(15);

// spec: BX-2
fn a_timer_that_is_put_off_does_not_make_it_readable(variant: Variant) {
    let (guest, log) = (guest(variant), Log::new());
    let id = guest.cx().set_timeout(100 * MS, log.note(())).unwrap();
    settle(&guest);
    guest.cx().reset_timeout(id, HOUR).unwrap();
    settle(&guest);
    assert!(!waits(&guest, Some(100 * MS + A_WHILE)));
    // In a turn.
    let other = guest.cx().set_timeout(100 * MS, log.note(())).unwrap();
    settle(&guest);
    guest.cx().submit(move |cx| cx.reset_timeout(other, HOUR).unwrap()).unwrap();
    settle(&guest);
    assert!(!waits(&guest, Some(100 * MS + A_WHILE)));
    assert_eq!(log.len(), 0);
}

// spec: BX-2
fn a_timer_that_is_cleared_does_not_make_it_readable_for_ever(variant: Variant) {
    let (guest, log) = (guest(variant), Log::new());
    // In a turn: not at all.
    let id = guest.cx().set_timeout(100 * MS, log.note(())).unwrap();
    settle(&guest);
    guest.cx().submit(move |cx| assert!(cx.clear_timeout(id))).unwrap();
    settle(&guest);
    assert!(!waits(&guest, Some(100 * MS + A_WHILE)));
    // By another thread.
    let id = guest.cx().set_timeout(100 * MS, log.note(())).unwrap();
    settle(&guest);
    let handle = guest.handle();
    elsewhere(|| assert!(handle.clear_timeout(id)));
    settle(&guest);
    waits(&guest, Some(100 * MS + A_WHILE));
    assert!(settle(&guest) <= 1);
    // Between turns.
    let id = guest.cx().set_timeout(100 * MS, log.note(())).unwrap();
    settle(&guest);
    assert!(guest.cx().clear_timeout(id));
    waits(&guest, Some(100 * MS + A_WHILE));
    assert!(settle(&guest) <= 1, "the host comes once, for nothing, and not again");
    assert!(!waits(&guest, Some(A_WHILE)));
    assert_eq!(log.len(), 0);
}

// spec: BX-2, TM-1
fn a_deadline_in_the_past_and_one_in_the_far_future_are_kept_apart(variant: Variant) {
    let (guest, log) = (guest(variant), Log::new());
    let century = HOUR * 24 * 36_525;
    guest.cx().set_timeout(century, log.note("far")).unwrap();
    guest.cx().set_timeout(2 * century, log.note("farther")).unwrap();
    settle(&guest);
    assert!(!waits(&guest, Some(A_WHILE)));
    guest.cx().set_timeout_at(Instant::now() - MS, log.note("past")).unwrap();
    assert!(is_readable(&guest));
    settle(&guest);
    assert_eq!(log.take(), ["past"]);
    assert!(!is_readable(&guest));
}

// spec: BX-2, TM-12
fn virtual_time_makes_it_readable_when_it_is_advanced(variant: Variant) {
    let (clock, event_loop) = common::timers::manual(variant);
    let (guest, log) = (host(event_loop), Log::new());
    guest.cx().set_timeout(HOUR, log.note(1)).unwrap();
    guest.cx().set_timeout(2 * HOUR, log.note(2)).unwrap();
    settle(&guest);
    clock.advance(HOUR / 2);
    settle(&guest);
    assert_eq!(log.len(), 0);
    elsewhere(|| clock.advance(HOUR / 2));
    assert!(is_readable(&guest));
    settle(&guest);
    assert_eq!(log.take(), [1]);
    clock.advance_to_next().unwrap();
    assert!(is_readable(&guest));
    settle(&guest);
    assert_eq!(log.take(), [2]);
}

// spec: BX-2, TM-12
fn virtual_time_does_not_pass_by_itself(variant: Variant) {
    for (clock, event_loop) in [common::timers::manual(variant), common::timers::automatic(variant)]
    {
        let (guest, log) = (host(event_loop), Log::new());
        guest.cx().set_timeout(MS, log.note(())).unwrap();
        settle(&guest);
        assert!(!waits(&guest, Some(A_WHILE)));
        assert_eq!((log.len(), clock.elapsed()), (0, Duration::ZERO));
        clock.advance(MS);
        settle(&guest);
        assert_eq!(log.len(), 1);
    }
}

// spec: BX-2
fn a_level_triggered_descriptor_makes_it_readable_for_as_long_as_it_is_ready(variant: Variant) {
    let (guest, log) = (guest(variant), Log::new());
    let (ours, mut theirs) = pair();
    let watcher = guest.cx().watch(ours, Watch::new().read(says(&log, "read"))).unwrap();
    settle(&guest);
    for _ in 0..3 {
        assert!(!is_readable(&guest));
        theirs.write_all(b"x").unwrap();
        for _ in 0..5 {
            assert!(is_readable(&guest));
            assert_eq!(guest.turn().unwrap().callbacks, 1);
        }
        drain(watcher.source());
        // It may have to come once for nothing: hosts that listen to edges were told of what is left.
        guest.turn().unwrap();
        assert!(!is_readable(&guest));
        assert_eq!(log.take().len(), 5);
    }
}

// spec: BX-2
fn an_edge_triggered_descriptor_makes_it_readable_once_for_each_edge(variant: Variant) {
    let (guest, log) = (guest(variant), Log::new());
    let (ours, mut theirs) = pair();
    let watch = Watch::new().read(says(&log, "read")).edge_triggered();
    let _watcher = guest.cx().watch(ours, watch).unwrap();
    settle(&guest);
    assert_eq!(log.len(), 0);
    for _ in 0..3 {
        theirs.write_all(b"x").unwrap();
        assert!(is_readable(&guest));
        guest.turn().unwrap();
        assert_eq!(log.take().len(), 1);
        assert!(!is_readable(&guest), "though it was not read");
    }
}

// spec: BX-2
fn a_descriptor_that_is_not_watched_any_more_does_not_make_it_readable(variant: Variant) {
    let (guest, log) = (guest(variant), Log::new());
    let watch = || Watch::new().read(says(&log, "read"));
    let ways: [fn(&Guest, mainspring::Watcher<UnixStream>); 4] = [
        |guest, watcher| assert!(guest.cx().unwatch(watcher.fd())),
        |_, watcher| drop(watcher.into_inner().unwrap()),
        |_, watcher| watcher.modify(Interest::NONE).unwrap(),
        |guest, watcher| {
            let (fd, handle) = (watcher.fd(), guest.handle());
            elsewhere(move || handle.unregister_fd(fd).unwrap());
        },
    ];
    for way in ways {
        let (ours, _theirs) = ready();
        let watcher = guest.cx().watch(ours, watch()).unwrap();
        assert!(is_readable(&guest));
        way(&guest, watcher);
        settle(&guest);
        assert_eq!(log.take().len(), 0);
    }
}

// spec: BX-2, BX-1
fn a_future_waits_for_a_descriptor_through_the_host(variant: Variant) {
    let guest = guest(variant);
    let (ours, mut theirs) = pair();
    let fd = AsyncFd::new(guest.cx(), ours).unwrap();
    let log = Log::new();
    let noted = log.clone();
    let join = guest.cx().spawn_local(async move {
        let mut buffer = [0; 8];
        loop {
            let count = fd.read_with(|mut stream| stream.read(&mut buffer)).await.unwrap();
            if count == 0 {
                return;
            }
            noted.push(buffer[..count].to_vec());
        }
    });
    settle(&guest);
    for i in 0..10 {
        assert!(!is_readable(&guest));
        theirs.write_all(&[i]).unwrap();
        assert!(is_readable(&guest));
        settle(&guest);
        assert_eq!(log.take(), [[i]]);
    }
    drop(theirs);
    assert!(is_readable(&guest));
    settle(&guest);
    assert!(join.is_finished());
}

// spec: BX-2, TK-6
fn no_descriptor_is_kept_waiting_by_tasks(variant: Variant) {
    let event_loop = variant.builder().external_budget(1).build().unwrap();
    let (guest, log) = (host(event_loop), Log::new());
    let (ours, _theirs) = ready();
    for _ in 0..10 {
        guest.cx().submit(|_| ()).unwrap();
    }
    let watch = Watch::new().read(says(&log, "read")).one_shot();
    let _watcher = guest.cx().watch(ours, watch).unwrap();
    guest.turn().unwrap();
    assert_eq!(log.take(), ["read"]);
}

/// A host that is told of changes only, and is not told twice.
struct Edges(std::os::fd::OwnedFd);

impl Edges {
    fn new(guest: &Guest) -> Self {
        let host = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&host, guest, epoll::EventData::new_u64(1), flags).unwrap();
        Self(host)
    }

    /// Waits, and consumes the change.
    #[track_caller]
    fn wait(&self) {
        let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
        let mut events = Vec::with_capacity(8);
        let wait = || epoll::wait(&self.0, spare_capacity(&mut events), Some(&limit));
        assert_eq!(rustix::io::retry_on_intr(wait).unwrap(), 1, "the host sleeps through it");
    }

    /// Does what a host does, one turn for each change, until the condition holds.
    #[track_caller]
    fn turn_until(&self, guest: &Guest, is_done: impl Fn() -> bool) {
        while !is_done() {
            self.wait();
            guest.turn().unwrap();
        }
    }
}

// spec: BX-2
fn a_host_that_listens_to_edges_hears_of_descriptors_that_stay_ready(variant: Variant) {
    let guest = guest(variant);
    let edges = Edges::new(&guest);
    let (ours, mut theirs) = pair();
    let left = Rc::new(Cell::new(0));
    let read = Rc::clone(&left);
    let watch = Watch::new().read(move |_, mut stream: &UnixStream| {
        stream.read_exact(&mut [0]).unwrap();
        read.set(read.get() - 1);
    });
    let _watcher = guest.cx().watch(ours, watch).unwrap();
    for _ in 0..3 {
        left.set(100);
        theirs.write_all(&[0; 100]).unwrap();
        edges.turn_until(&guest, || left.get() == 0);
        settle(&guest);
    }
    // Of several one is read to its end before the others.
    let mut pairs = Vec::new();
    let left = Rc::new(Cell::new(0));
    for count in 1..=5 {
        let (ours, mut theirs) = pair();
        theirs.write_all(&vec![0; 10 * count]).unwrap();
        left.set(left.get() + 10 * count);
        let read = Rc::clone(&left);
        let watch = Watch::new().read(move |_, mut stream: &UnixStream| {
            stream.read_exact(&mut [0]).unwrap();
            read.set(read.get() - 1);
        });
        pairs.push((guest.cx().watch(ours, watch).unwrap(), theirs));
    }
    edges.turn_until(&guest, || left.get() == 0);
}

// spec: BX-2
fn a_host_that_listens_to_edges_hears_of_more_descriptors_than_one_turn_finds(variant: Variant) {
    const MANY: usize = 3_000;
    let _alone = alone();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let guest = guest(variant);
    let edges = Edges::new(&guest);
    let calls = Rc::new(Cell::new(0));
    let mut watchers = Vec::new();
    for _ in 0..MANY {
        let calls = Rc::clone(&calls);
        let watch = Watch::new().read(move |_, _| calls.set(calls.get() + 1)).one_shot();
        watchers.push(guest.cx().watch(watching::signalled(), watch).unwrap());
    }
    edges.turn_until(&guest, || calls.get() == MANY);
    settle(&guest);
    assert_eq!(calls.get(), MANY);
}

// spec: BX-2
fn a_host_that_listens_to_edges_hears_of_everything_else(variant: Variant) {
    // What a turn leaves.
    let one_each = host(variant.builder().external_budget(1).build().unwrap());
    let (edges, tracker) = (Edges::new(&one_each), Tracker::new());
    for _ in 0..100 {
        one_each.cx().submit(tracker.callback()).unwrap();
    }
    edges.turn_until(&one_each, || tracker.ran() == 100);
    // Timers, one after another.
    let (guest, log) = (guest(variant), Log::new());
    let edges = Edges::new(&guest);
    let id = guest.cx().set_interval(MS, notes(&log, ())).unwrap();
    edges.turn_until(&guest, || log.len() == 10);
    assert!(guest.cx().clear_interval(id));
    // What comes between two turns.
    for _ in 0..100 {
        let log = Log::new();
        guest.cx().set_immediate(log.note(()));
        edges.turn_until(&guest, || log.len() == 1);
    }
    // Other threads.
    let (handle, ran) = (guest.handle(), Tracker::new());
    let theirs = ran.clone();
    let thread = thread::spawn(move || {
        let (send, receive) = mpsc::channel();
        for _ in 0..1_000 {
            let (send, call) = (send.clone(), theirs.callback());
            let answer = move |cx: &Cx| {
                call(cx);
                send.send(()).unwrap();
            };
            handle.submit(answer).unwrap();
            receive.recv().unwrap();
        }
    });
    edges.turn_until(&guest, || ran.ran() == 1_000);
    thread.join().unwrap();
    // The end.
    settle(&guest);
    let handle = guest.handle();
    elsewhere(move || handle.close());
    edges.turn_until(&guest, || guest.state() == LoopState::Terminated);
}

// spec: BX-2, D10, M1-1.3
fn a_host_that_listens_to_edges_hears_of_a_panic_and_of_a_new_poller(variant: Variant) {
    let _alone = alone();
    let guest = guest(variant);
    let (edges, log) = (Edges::new(&guest), Log::new());
    let (ours, mut theirs) = pair();
    let _watcher = guest.cx().watch(ours, Watch::new().read(says(&log, "read"))).unwrap();
    for _ in 0..10 {
        guest.cx().submit(|_| panic!("task")).unwrap();
    }
    for panics in 0..10 {
        // The portable poller makes no new edge of a wake if nobody has consumed the one before.
        if panics == 0 || !cfg!(mainspring_portable) {
            edges.wait();
        }
        assert_eq!(panic_of(|| guest.turn()).unwrap(), "task");
    }
    settle(&guest);
    for _ in 0..3 {
        let _kept = phantom(&guest);
        // Ready when it is moved from one to the other, and nobody reads it.
        theirs.write_all(b"x").unwrap();
        log.take();
        edges.turn_until(&guest, || log.len() >= 50);
    }
}

// spec: BX-2, SD-1
fn a_shutdown_by_another_thread_is_carried_out_by_the_next_turn(variant: Variant) {
    let (guest, log) = (guest(variant), Log::new());
    guest.cx().set_timeout(HOUR, |_| unreachable!()).unwrap();
    settle(&guest);
    let handle = guest.handle();
    let thread = thread::spawn(move || handle.shutdown(Deadline::NEVER));
    await_readable(&guest);
    Kind::Microtask.queue(guest.cx(), log.note(()));
    guest.turn().unwrap();
    assert_eq!(guest.state(), LoopState::Terminated);
    assert_eq!(log.len(), 1, "accepted, so it runs");
    assert_eq!(thread.join().unwrap().unwrap(), Shutdown::Finished { dropped: 0 });
    assert!(matches!(guest.turn(), Err(Error::Terminated)));
    assert!(matches!(guest.turn(), Err(Error::Terminated)));
}

// spec: BX-2, SD-6
fn a_close_by_another_thread_is_carried_out_by_the_next_turn(variant: Variant) {
    let guest = guest(variant);
    let handle = guest.handle();
    elsewhere(move || handle.close());
    await_readable(&guest);
    guest.turn().unwrap();
    assert_eq!(guest.state(), LoopState::Terminated);
    // In the middle of a batch of tasks.
    let guest = host(variant.builder().external_budget(1).build().unwrap());
    let tracker = Tracker::new();
    for _ in 0..10 {
        guest.cx().submit(tracker.callback()).unwrap();
    }
    guest.turn().unwrap();
    let handle = guest.handle();
    elsewhere(move || handle.close());
    assert!(is_readable(&guest));
    guest.turn().unwrap();
    assert_eq!((guest.state(), tracker.ran(), tracker.alive()), (LoopState::Terminated, 1, 0));
}

// spec: BX-2
fn the_host_ends_it_between_turns(variant: Variant) {
    let ways: [fn(&Guest); 4] = [
        |guest| guest.cx().shutdown(),
        |guest| guest.cx().close(),
        |guest| guest.handle().close(),
        |guest| assert_eq!(guest.handle().shutdown(HOUR).unwrap(), Shutdown::Begun),
    ];
    for way in ways {
        let (guest, tracker) = (guest(variant), Tracker::new());
        guest.cx().set_timeout(HOUR, tracker.callback()).unwrap();
        settle(&guest);
        way(&guest);
        assert!(is_readable(&guest));
        guest.turn().unwrap();
        assert_eq!(guest.state(), LoopState::Terminated);
        assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
    }
}

// spec: BX-2
fn a_callback_ends_it(variant: Variant) {
    for end in [Cx::shutdown, Cx::close] {
        let guest = guest(variant);
        guest.cx().set_timeout(MS, end).unwrap();
        turn_until(&guest, || guest.state() == LoopState::Terminated);
        assert!(matches!(guest.turn(), Err(Error::Terminated)));
    }
}

// spec: BX-2, F-6
fn a_guest_that_was_never_given_a_turn_can_be_ended(variant: Variant) {
    for from_here in [false, true] {
        let tracker = Tracker::new();
        let guest = variant.build().into_guest().unwrap();
        guest.cx().submit(tracker.callback()).unwrap();
        guest.cx().next_tick(tracker.callback());
        let handle = guest.handle();
        let end = move || handle.shutdown(Deadline::NEVER).unwrap();
        let ended = if from_here { end() } else { must_return(end) };
        assert_eq!(ended, Shutdown::Finished { dropped: 2 });
        assert!(matches!(guest.turn(), Err(Error::Terminated)));
        drop(guest);
        assert_eq!((tracker.ran(), tracker.alive()), (0, 0));
    }
}

// spec: BX-2, SD-7
fn dropping_it_ends_it(variant: Variant) {
    let (guest, tracker) = (guest(variant), Tracker::new());
    guest.cx().set_timeout(HOUR, tracker.callback()).unwrap();
    guest.cx().submit(tracker.callback()).unwrap();
    let token = tracker.token();
    guest.cx().spawn_local(async move {
        let _token = token;
        std::future::pending::<()>().await;
    });
    let _notifier = guest.on_ready(|| ()).unwrap();
    let handle = guest.handle();
    let theirs = handle.clone();
    let thread = thread::spawn(move || theirs.shutdown(Deadline::NEVER));
    await_readable(&guest);
    drop(guest);
    let _ = thread.join().unwrap();
    assert_eq!(tracker.alive(), 0);
    assert_eq!(handle.state(), LoopState::Terminated);
    assert!(handle.submit(|_| ()).is_err());
    handle.wake();
}

// spec: BX-2
fn after_the_end_it_is_not_readable(variant: Variant) {
    let ways: [fn(&Guest); 5] = [
        |guest| guest.cx().shutdown(),
        |guest| {
            let handle = guest.handle();
            elsewhere(move || handle.close());
        },
        |guest| guest.cx().submit(|cx| cx.shutdown()).unwrap(),
        |guest| {
            guest.cx().set_timeout(Duration::ZERO, |_| ()).unwrap();
            guest.handle().wake();
            guest.cx().close();
        },
        |guest| {
            let (ours, theirs) = ready();
            drop(guest.cx().watch(ours, Watch::new().read(|_, _| ())).unwrap());
            std::mem::forget(theirs);
            guest.cx().shutdown();
        },
    ];
    for (i, way) in ways.into_iter().enumerate() {
        let guest = guest(variant);
        way(&guest);
        guest.turn().unwrap();
        assert_eq!(guest.state(), LoopState::Terminated);
        // A host that goes on is told, and does not spin for ever.
        for _ in 0..2 {
            if is_readable(&guest) {
                assert!(matches!(guest.turn(), Err(Error::Terminated)));
            }
        }
        assert!(!is_readable(&guest), "way {i}: a host that does not remove it spins");
    }
    // If it never had a turn.
    let guest = variant.build().into_guest().unwrap();
    guest.handle().close();
    assert!(matches!(guest.turn(), Err(Error::Terminated)));
    assert!(!is_readable(&guest));
}

// spec: BX-2, D10
fn a_panic_that_leaves_a_turn_has_the_host_come_back(variant: Variant) {
    for kind in Kind::ALL {
        let (guest, log) = (guest(variant), Log::new());
        kind.queue(guest.cx(), |_| panic!("one"));
        kind.queue(guest.cx(), log.note("two"));
        guest.cx().set_timeout(2 * MS, log.note("timer")).unwrap();
        assert_eq!(panic_of(|| guest.turn()).unwrap(), "one", "{kind:?}");
        assert!(is_readable(&guest), "{kind:?}");
        turn_until(&guest, || log.len() == 2);
        settle(&guest);
        assert_eq!(watching::sorted(log.take()), ["timer", "two"]);
    }
    // In a timer, a callback of a descriptor, a future.
    let (guest, log) = (guest(variant), Log::new());
    guest.cx().set_timeout(Duration::ZERO, |_| panic!("timer")).unwrap();
    let (ours, _theirs) = ready();
    let watch = Watch::new().read(|_, _| panic!("descriptor")).one_shot();
    let _watcher = guest.cx().watch(ours, watch).unwrap();
    guest.cx().spawn_local(async { panic!("future") });
    guest.cx().queue_close(log.note("last"));
    let mut panics = Vec::new();
    while is_readable(&guest) {
        panics.extend(panic_of(|| guest.turn().unwrap()));
        assert!(panics.len() < 10);
    }
    assert_eq!(watching::sorted(panics), ["descriptor", "future", "timer"]);
    assert_eq!(log.take(), ["last"]);
}

// spec: BX-2, D10
fn a_panic_of_each_callback_of_a_batch_loses_none(variant: Variant) {
    let guest = guest(variant);
    let mut pairs = Vec::new();
    for _ in 0..5 {
        let (ours, theirs) = ready();
        let watch = Watch::new().read(|_, _| panic!("descriptor")).one_shot();
        pairs.push((guest.cx().watch(ours, watch).unwrap(), theirs));
    }
    for _ in 0..5 {
        assert!(is_readable(&guest));
        assert_eq!(panic_of(|| guest.turn()).unwrap(), "descriptor");
    }
    settle(&guest);
    assert!(guest.cx().submit(|_| ()).is_ok() && is_readable(&guest));
}

// spec: BX-2, D10
fn what_another_thread_submits_after_a_panic_is_heard(variant: Variant) {
    let (guest, tracker) = (guest(variant), Tracker::new());
    guest.cx().submit(|_| panic!("one")).unwrap();
    panic_of(|| guest.turn()).unwrap();
    let (handle, call) = (guest.handle(), tracker.callback());
    elsewhere(move || handle.submit(call).unwrap());
    assert!(is_readable(&guest));
    settle(&guest);
    assert_eq!(tracker.ran(), 1);
}

// spec: BX-2, SH-5
fn a_turn_inside_a_turn_is_refused_and_changes_nothing(variant: Variant) {
    let (guest, log) = (Rc::new(guest(variant)), Log::new());
    let (ours, noted) = (Rc::downgrade(&guest), log.clone());
    guest
        .cx()
        .submit(move |cx| {
            let guest = ours.upgrade().unwrap();
            assert!(matches!(guest.turn(), Err(Error::ReentrantRun)));
            assert_eq!(cx.state(), LoopState::Running, "it does not sleep in its own turn");
            noted.push("first");
        })
        .unwrap();
    guest.cx().submit(log.note("second")).unwrap();
    guest.cx().set_immediate(log.note("immediate"));
    assert_eq!(guest.turn().unwrap().callbacks, 3);
    assert_eq!(log.take(), ["first", "second", "immediate"]);
    assert!(!is_readable(&*guest));
    // With nothing else to do.
    let ours = Rc::downgrade(&guest);
    let inner = move |cx: &Cx| {
        let guest = ours.upgrade().unwrap();
        assert!(matches!(guest.turn(), Err(Error::ReentrantRun)));
        assert_eq!(cx.state(), LoopState::Running);
        cx.set_immediate(|_| ());
    };
    guest.cx().submit(inner).unwrap();
    assert_eq!(guest.turn().unwrap().callbacks, 2);
    settle(&guest);
    let handle = guest.handle();
    elsewhere(move || handle.submit(|_| ()).unwrap());
    assert!(is_readable(&*guest));
}

/// Numbers that nobody gets by chance.
const A: i32 = 720;

/// Leaves a registration that only the kernel knows, which makes the loop build its poller anew. Returns
/// what keeps it alive.
fn phantom(guest: &Guest) -> (UnixStream, UnixStream) {
    let (ours, mut theirs) = pair_at(A);
    let duplicate = ours.try_clone().unwrap();
    drop(watching::watch_raw(guest.cx(), A, Watch::new().read(|_, _| unreachable!())));
    drop(ours);
    assert!(guest.cx().unwatch(A));
    theirs.write_all(b"x").unwrap();
    (duplicate, theirs)
}

// spec: BX-2, M1-1.3
fn the_descriptor_stays_the_same_when_the_poller_is_built_anew(variant: Variant) {
    let _alone = alone();
    let (guest, log) = (guest(variant), Log::new());
    let (ours, mut theirs) = pair();
    let watcher = guest.cx().watch(ours, Watch::new().read(says(&log, "read"))).unwrap();
    guest.cx().set_timeout(HOUR, |_| ()).unwrap();
    let fd = guest.as_raw_fd();
    // One descriptor of an epoll instance of the host, which is not told of anything.
    let host = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    epoll::add(&host, &guest, epoll::EventData::new_u64(1), epoll::EventFlags::IN).unwrap();
    for _ in 0..3 {
        let _kept = phantom(&guest);
        assert!(is_readable(&host), "the phantom");
        assert!(settle(&guest) <= 4);
        assert!(!is_readable(&host), "it is gone");
        assert_eq!((guest.as_raw_fd(), log.len()), (fd, 0));
        theirs.write_all(b"x").unwrap();
        assert!(is_readable(&host));
        guest.turn().unwrap();
        assert_eq!(log.take(), ["read"]);
        drain(watcher.source());
        let handle = guest.handle();
        elsewhere(move || handle.submit(|_| ()).unwrap());
        assert!(is_readable(&host));
        settle(&guest);
        guest.cx().submit(|_| ()).unwrap();
        assert!(is_readable(&host));
        settle(&guest);
        guest.cx().set_timeout(MS, log.note("timer")).unwrap();
        while log.len() == 0 {
            await_readable(&host);
            guest.turn().unwrap();
        }
        assert_eq!(log.take(), ["timer"]);
    }
}

// spec: BX-2, M1-1.3, D10
fn a_panic_and_a_new_poller_in_one_turn(variant: Variant) {
    let _alone = alone();
    let guest = guest(variant);
    let (ours, mut theirs) = pair();
    let _watcher = guest.cx().watch(ours, Watch::new().read(|_, _| ())).unwrap();
    settle(&guest);
    let _kept = phantom(&guest);
    // After the phase in which it is noticed.
    let panics = Rc::new(Cell::new(0));
    for _ in 0..6 {
        let panics = Rc::clone(&panics);
        guest.cx().set_immediate(move |_| {
            panics.set(panics.get() + 1);
            panic!("immediate");
        });
        assert!(is_readable(&guest));
        assert_eq!(panic_of(|| guest.turn()).unwrap(), "immediate");
        assert!(is_readable(&guest));
    }
    settle(&guest);
    assert_eq!(panics.get(), 6);
    theirs.write_all(b"x").unwrap();
    assert!(is_readable(&guest));
    let handle = guest.handle();
    elsewhere(move || handle.close());
    guest.turn().unwrap();
    assert_eq!(guest.state(), LoopState::Terminated);
}

// spec: BX-2, SH-4
fn two_guests_of_one_thread_are_independent(variant: Variant) {
    let (one, two) = (guest(variant), guest(variant));
    let handle = two.handle();
    // A callback of one queues for the other.
    one.cx().submit(move |_| handle.submit(|_| ()).unwrap()).unwrap();
    assert!(is_readable(&one) && !is_readable(&two));
    one.turn().unwrap();
    assert!(!is_readable(&one) && is_readable(&two));
    two.turn().unwrap();
    assert!(!is_readable(&one) && !is_readable(&two));
    let inner = two.cx().clone();
    one.cx().submit(move |_| _ = inner.set_immediate(|_| ())).unwrap();
    one.turn().unwrap();
    assert!(is_readable(&two));
    drop(one);
    assert_eq!(settle(&two), 1);
}

/// Has a loop drive a guest, as a host.
fn watch_guest(cx: &Cx, guest: Rc<Guest>) {
    let watch = Watch::new().read(|cx: &Cx, guest: &Rc<Guest>| {
        guest.turn().unwrap();
        if guest.state() == LoopState::Terminated {
            cx.unwatch(guest.as_raw_fd());
        }
    });
    drop(cx.watch(guest, watch).unwrap());
}

// spec: BX-2
fn a_guest_of_a_guest_wakes_the_host(variant: Variant) {
    let inner = Rc::new(guest(variant));
    let outer = guest(variant);
    watch_guest(outer.cx(), Rc::clone(&inner));
    settle(&outer);
    let tracker = Tracker::new();
    let (handle, call) = (inner.handle(), tracker.callback());
    elsewhere(move || handle.submit(call).unwrap());
    assert!(is_readable(&outer));
    settle(&outer);
    assert_eq!(tracker.ran(), 1);
    inner.cx().set_timeout(2 * MS, tracker.callback()).unwrap();
    turn_until(&outer, || tracker.ran() == 2);
    assert!(settle(&outer) <= 1);
    inner.cx().shutdown();
    turn_until(&outer, || inner.state() == LoopState::Terminated);
    settle(&outer);
}

// spec: BX-2, WK-2, F-2
fn no_submit_of_any_thread_is_lost(variant: Variant) {
    const EACH: usize = if cfg!(debug_assertions) { 3_000 } else { 20_000 };
    let (guest, ran) = (guest(variant), Arc::new(AtomicUsize::new(0)));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (handle, ran) = (guest.handle(), Arc::clone(&ran));
            thread::spawn(move || {
                let (send, receive) = mpsc::channel();
                for _ in 0..EACH {
                    // Each waits for its answer: if one is not heard, nothing ever comes after it.
                    let (send, ran) = (send.clone(), Arc::clone(&ran));
                    let answer = move |_: &Cx| {
                        ran.fetch_add(1, Ordering::Relaxed);
                        send.send(()).unwrap();
                    };
                    handle.submit(answer).unwrap();
                    receive.recv().unwrap();
                }
            })
        })
        .collect();
    turn_until(&guest, || ran.load(Ordering::Relaxed) == 2 * EACH);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    settle(&guest);
}

// spec: BX-2, WK-2
fn no_timer_of_any_thread_is_lost(variant: Variant) {
    const EACH: u64 = if cfg!(debug_assertions) { 300 } else { 2_000 };
    let (guest, ran) = (guest(variant), Arc::new(AtomicUsize::new(0)));
    // A timer far away, so that the guest's own is armed.
    guest.cx().set_timeout(HOUR, |_| ()).unwrap();
    let (handle, theirs) = (guest.handle(), Arc::clone(&ran));
    let thread = thread::spawn(move || {
        let (send, receive) = mpsc::channel();
        let mut random = Random(11);
        for _ in 0..EACH {
            let (send, ran) = (send.clone(), Arc::clone(&theirs));
            let delay = Duration::from_micros(random.below(200));
            let answer = move |_: &Cx| {
                ran.fetch_add(1, Ordering::Relaxed);
                send.send(()).unwrap();
            };
            handle.set_timeout(delay, answer).unwrap();
            receive.recv().unwrap();
        }
    });
    turn_until(&guest, || ran.load(Ordering::Relaxed) == EACH as usize);
    thread.join().unwrap();
}

/// A host that is called: its queue, and the notifier that sends into it.
struct Called {
    calls: Arc<AtomicUsize>,
    events: mpsc::Receiver<()>,
    notifier: Option<mainspring::ReadyNotifier>,
}

impl Called {
    fn new(guest: &Guest) -> Self {
        let (proxy, events) = mpsc::channel();
        let calls = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&calls);
        let call = move || {
            theirs.fetch_add(1, Ordering::SeqCst);
            let _ = proxy.send(());
        };
        let notifier = Some(guest.on_ready(call).unwrap());
        Self { calls, events, notifier }
    }

    #[track_caller]
    fn await_call(&self) {
        self.events.recv_timeout(Duration::from_secs(20)).expect("the host is not called");
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// What the thread was called for so far is known, and it is not called any more.
    fn end(mut self) -> usize {
        self.notifier.take();
        self.calls()
    }
}

// spec: BX-2
fn the_function_is_called_once_for_each_turn(variant: Variant) {
    let event_loop = variant.builder().external_budget(1).build().unwrap();
    let (guest, tracker) = (host(event_loop), Tracker::new());
    let called = Called::new(&guest);
    for _ in 0..100 {
        guest.cx().submit(tracker.callback()).unwrap();
    }
    for i in 1..=100 {
        called.await_call();
        // More of it does not call the host again before the turn.
        let (handle, call) = (guest.handle(), tracker.token());
        elsewhere(move || {
            handle.wake();
            drop(call);
        });
        assert_eq!(called.calls(), i);
        guest.turn().unwrap();
        assert_eq!(tracker.ran(), i);
    }
    settle(&guest);
    let calls = called.end();
    assert!((100..=102).contains(&calls), "{calls}");
}

// spec: BX-2
fn the_function_is_not_called_for_nothing(variant: Variant) {
    let guest = guest(variant);
    let called = Called::new(&guest);
    for _ in 0..100 {
        guest.turn().unwrap();
    }
    assert_eq!(called.end(), 0);
}

// spec: BX-2, TM-1
fn a_timer_calls_the_function(variant: Variant) {
    let (guest, log) = (guest(variant), Log::new());
    let called = Called::new(&guest);
    guest.cx().set_interval(MS, notes(&log, ())).unwrap();
    called.await_call();
    guest.turn().unwrap();
    log.take();
    for _ in 0..20 {
        let deadline = guest.next_deadline().unwrap();
        called.await_call();
        assert!(Instant::now() >= deadline);
        guest.turn().unwrap();
        assert_eq!(log.take().len(), 1, "it is not called for nothing");
    }
}

// spec: BX-2, D10
fn a_panic_that_leaves_a_turn_calls_the_function_again(variant: Variant) {
    let (guest, log) = (guest(variant), Log::new());
    let called = Called::new(&guest);
    for _ in 0..10 {
        guest.cx().submit(|_| panic!("task")).unwrap();
    }
    guest.cx().submit(log.note(())).unwrap();
    for _ in 0..10 {
        called.await_call();
        assert_eq!(panic_of(|| guest.turn()).unwrap(), "task");
    }
    called.await_call();
    guest.turn().unwrap();
    assert_eq!(log.len(), 1);
}

// spec: BX-2
fn a_new_function_replaces_the_one_before(variant: Variant) {
    let guest = guest(variant);
    let first = Called::new(&guest);
    let second = Called::new(&guest);
    for _ in 0..3 {
        guest.cx().submit(|_| ()).unwrap();
        second.await_call();
        guest.turn().unwrap();
    }
    settle(&guest);
    assert_eq!((first.end(), second.end()), (0, 3));
    // One that replaces a function that has called, and is not answered.
    let first = Called::new(&guest);
    guest.cx().submit(|_| ()).unwrap();
    first.await_call();
    let second = Called::new(&guest);
    second.await_call();
    guest.turn().unwrap();
    assert_eq!((first.end(), second.end()), (1, 1));
    // The old notifier is dropped: that ends the old thread only.
    let mut called = Called::new(&guest);
    for _ in 0..3 {
        called = Called::new(&guest);
        guest.cx().submit(|_| ()).unwrap();
        called.await_call();
        guest.turn().unwrap();
    }
    assert_eq!(called.end(), 1);
}

// spec: BX-2
fn a_notifier_can_be_dropped_by_its_own_function(variant: Variant) {
    let guest = guest(variant);
    let place = Arc::new(std::sync::Mutex::new(None));
    let (theirs, calls) = (Arc::clone(&place), Arc::new(AtomicUsize::new(0)));
    let (counted, (done, is_done)) = (Arc::clone(&calls), mpsc::channel());
    // Dropped with the function, at the end of the thread.
    let token = Tracker::new();
    let alive = token.token();
    let notifier = guest.on_ready(move || {
        let _alive = &alive;
        counted.fetch_add(1, Ordering::SeqCst);
        let notifier = loop {
            if let Some(notifier) = theirs.lock().unwrap().take() {
                break notifier;
            }
            thread::yield_now();
        };
        drop::<mainspring::ReadyNotifier>(notifier);
        done.send(()).unwrap();
    });
    *place.lock().unwrap() = Some(notifier.unwrap());
    guest.cx().submit(|_| ()).unwrap();
    is_done.recv_timeout(Duration::from_secs(20)).unwrap();
    wait_until(|| token.alive() == 0);
    guest.turn().unwrap();
    guest.cx().submit(|_| ()).unwrap();
    guest.turn().unwrap();
    settle(&guest);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

// spec: BX-2
fn a_notifier_that_waits_can_be_dropped(variant: Variant) {
    // Before its thread has begun, when it waits for the descriptor, and when it waits for a turn.
    for wait in 0..3 {
        let (guest, tracker) = (guest(variant), Tracker::new());
        let token = tracker.token();
        let (send, receive) = mpsc::channel();
        let notifier = guest.on_ready(move || {
            let _token = &token;
            send.send(()).unwrap();
        });
        if wait > 0 {
            guest.cx().submit(|_| ()).unwrap();
            receive.recv_timeout(Duration::from_secs(20)).unwrap();
        }
        if wait == 1 {
            guest.turn().unwrap();
        }
        drop(notifier);
        assert_eq!(tracker.alive(), 0, "the thread has ended");
        // The guest itself is as before.
        guest.turn().unwrap();
        settle(&guest);
        guest.cx().submit(|_| ()).unwrap();
        assert!(is_readable(&guest));
        settle(&guest);
    }
}

// spec: BX-2
fn dropping_a_notifier_waits_for_its_function(variant: Variant) {
    let guest = guest(variant);
    let (begun, has_begun) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let ended = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&ended);
    let notifier = guest.on_ready(move || {
        begun.send(()).unwrap();
        wait.recv().unwrap();
        theirs.fetch_add(1, Ordering::SeqCst);
    });
    guest.cx().submit(|_| ()).unwrap();
    has_begun.recv().unwrap();
    let releases = thread::spawn(move || go.send(()).unwrap());
    drop(notifier);
    assert_eq!(ended.load(Ordering::SeqCst), 1);
    releases.join().unwrap();
}

// spec: BX-2
fn a_notifier_that_outlives_the_guest_does_nothing(variant: Variant) {
    let guest = guest(variant);
    let called = Called::new(&guest);
    guest.cx().set_timeout(2 * MS, |_| ()).unwrap();
    called.await_call();
    guest.turn().unwrap();
    let handle = guest.handle();
    drop(guest);
    handle.wake();
    handle.close();
    let calls = called.end();
    assert!(calls <= 2, "{calls}");
}

// spec: BX-2
fn a_function_that_panics_is_called_again(variant: Variant) {
    let (guest, calls) = (guest(variant), Arc::new(AtomicUsize::new(0)));
    let theirs = Arc::clone(&calls);
    let _notifier = guest.on_ready(move || {
        theirs.fetch_add(1, Ordering::SeqCst);
        panic!("the function");
    });
    for i in 1..=3 {
        guest.cx().submit(|_| ()).unwrap();
        let before = Instant::now();
        while calls.load(Ordering::SeqCst) < i {
            assert!(before.elapsed() < Duration::from_secs(20), "nobody waits any more");
            thread::yield_now();
        }
        guest.turn().unwrap();
        settle(&guest);
    }
}

// spec: BX-2
fn a_turn_without_a_call_does_no_harm(variant: Variant) {
    let (guest, tracker) = (guest(variant), Tracker::new());
    let called = Called::new(&guest);
    for i in 1..=100 {
        guest.cx().submit(tracker.callback()).unwrap();
        // The thread may or may not have noticed.
        guest.turn().unwrap();
        assert_eq!(tracker.ran(), i);
    }
    while called.events.try_recv().is_ok() {}
    guest.turn().unwrap();
    while called.events.try_recv().is_ok() {}
    guest.cx().submit(tracker.callback()).unwrap();
    turn_when_called(&guest, &called, || tracker.ran() == 101);
}

fn turn_when_called(guest: &Guest, called: &Called, is_done: impl Fn() -> bool) {
    while !is_done() {
        called.await_call();
        guest.turn().unwrap();
    }
}

// spec: BX-2
fn an_ended_guest_calls_at_most_once_more(variant: Variant) {
    for from_elsewhere in [false, true] {
        let guest = guest(variant);
        let called = Called::new(&guest);
        if from_elsewhere {
            let handle = guest.handle();
            elsewhere(move || handle.close());
        } else {
            guest.cx().set_timeout(MS, |cx| cx.shutdown()).unwrap();
        }
        turn_when_called(&guest, &called, || guest.state() == LoopState::Terminated);
        let mut more = 0;
        while called.events.recv_timeout(A_WHILE).is_ok() {
            assert!(matches!(guest.turn(), Err(Error::Terminated)));
            more += 1;
            assert!(more < 2, "it spins");
        }
    }
}

/// How often a thread of this process gave up its processor, or was made to.
fn switches(thread: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap();
    let counts = text.lines().filter(|line| line.contains("ctxt_switches"));
    counts.map(|line| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()).sum()
}

/// Whether the system says that a thread of this process waits, and not for a processor.
fn is_asleep(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
}

// spec: BX-2, TK-4
fn an_idle_guest_wakes_nobody(variant: Variant) {
    let guest = guest(variant);
    let (send, receive) = mpsc::channel();
    let _notifier = guest.on_ready(move || {
        send.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
    });
    // Not quite without anything: a timer, a descriptor, a future.
    guest.cx().set_timeout(HOUR, |_| ()).unwrap();
    let (ours, _theirs) = pair();
    let _watcher = guest.cx().watch(ours, Watch::new().read(|_, _| ())).unwrap();
    guest.cx().spawn_local(guest.cx().sleep(HOUR));
    let thread = receive.recv().unwrap();
    settle(&guest);
    // It may still be on its way to sleep, and off its processor there.
    let mut before = switches(thread);
    loop {
        thread::sleep(2 * MS);
        let now = switches(thread);
        if now == before && is_asleep(thread) {
            break;
        }
        before = now;
    }
    let calls = receive.try_iter().count();
    // For how long it is observed does not matter for the result.
    assert!(!waits(&guest, Some(Duration::from_millis(300))), "readable");
    assert_eq!(switches(thread), before, "the thread woke up");
    assert_eq!(receive.try_iter().count(), 0, "after {calls}");
}
