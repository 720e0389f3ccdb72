//! When futures are polled: their place in the tick, their budget, and what they cannot hold up.

mod common;
#[path = "common/futures.rs"]
mod futures;

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use common::timers::{MS, elsewhere, manual, notes, tick};
use common::{Kind, Log, Variant, turn_until_quiet, wait_until};
use futures::{Gate, SharedGate, build, result, spin};
use mainspring::{Cx, EventLoop, LocalPromise, PanicPolicy, Watch};

suite! {
    futures_come_after_the_internal_lane_and_before_the_external_one,
    futures_come_after_timers_and_before_io,
    a_checkpoint_follows_each_poll,
    a_handler_of_a_promise_runs_before_the_next_future,
    a_future_woken_during_the_phase_is_polled_in_it,
    a_future_spawned_during_the_phase_is_polled_in_it,
    a_future_woken_by_a_microtask_of_the_phase_is_polled_in_it,
    a_future_woken_after_the_phase_waits_for_the_next_tick,
    a_wake_does_not_overtake,
    the_budget_is_kept,
    the_default_budget_is_256,
    a_budget_spent_exactly_leaves_nothing,
    a_budget_that_is_spent_keeps_the_order,
    a_future_that_wakes_itself_counts_for_the_budget,
    a_loop_that_left_futures_behind_does_not_block,
    a_future_that_wakes_itself_does_not_starve_others,
    a_future_that_wakes_itself_does_not_starve_the_loop,
    futures_that_wake_each_other_do_not_starve_the_loop,
    futures_that_spawn_for_ever_do_not_starve_the_loop,
    a_future_woken_by_another_thread_for_ever_does_not_starve_the_loop,
    yielding_comes_back_in_the_next_tick,
    yielding_comes_back_after_io_was_looked_at,
    yielding_futures_keep_their_order,
    a_loop_with_a_yielding_future_does_not_block,
    a_yield_that_is_dropped_has_no_effect_on_others,
    a_yield_of_one_that_is_woken_anyway,
    a_yield_in_a_future_that_is_aborted,
    a_waker_that_panics_does_not_lose_the_yields_of_others,
    a_turn_counts_polls,
    a_turn_says_whether_a_future_is_woken,
    an_external_flood_does_not_starve_futures,
    an_internal_task_that_wakes_is_followed_by_the_poll_in_the_same_tick,
}

/// A callback that notes, and queues a microtask that notes.
fn noting(log: &Log<String>, name: &'static str) -> impl FnOnce(&Cx) + 'static + use<> {
    let log = log.clone();
    move |cx: &Cx| {
        log.push(name.to_owned());
        cx.queue_microtask(log.note(format!("after {name}")));
    }
}

// spec: BX-1, TK-1
fn futures_come_after_the_internal_lane_and_before_the_external_one(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let cx = event_loop.cx();
    cx.submit(noting(&log, "external")).unwrap();
    let (note, own) = (log.clone(), cx.clone());
    drop(cx.spawn_local(async move { noting(&note, "future")(&own) }));
    let chained = log.clone();
    cx.submit_internal(move |cx| {
        noting(&chained, "internal")(cx);
        cx.submit_internal(noting(&chained, "internal of an internal")).unwrap();
    })
    .unwrap();
    tick(&event_loop);
    assert_eq!(
        log.take(),
        [
            "internal",
            "after internal",
            "internal of an internal",
            "after internal of an internal",
            "future",
            "after future",
            "external",
            "after external",
        ]
    );
}

// spec: BX-1, TK-1, TK-5
fn futures_come_after_timers_and_before_io(variant: Variant) {
    use common::streams::{Stream, pair};
    use std::io::Write;

    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let cx = event_loop.cx();
    let (ours, mut theirs) = pair().unwrap();
    theirs.write_all(b"x").unwrap();
    let note = log.clone();
    let watch = Watch::new().read(move |_, _: &Stream| note.push("io")).one_shot();
    let _watcher = cx.watch(ours, watch).ok().unwrap();
    cx.queue_close(log.note("close"));
    cx.set_immediate(log.note("immediate"));
    cx.submit(log.note("external")).unwrap();
    let note = log.clone();
    drop(cx.spawn_local(async move { note.push("future") }));
    cx.set_timeout(MS, log.note("timer")).unwrap();
    clock.advance(MS);
    tick(&event_loop);
    assert_eq!(log.take(), ["timer", "future", "external", "io", "immediate", "close"]);
}

// spec: BX-1, MT-1, MT-6
fn a_checkpoint_follows_each_poll(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    for name in ["one", "two", "three"] {
        let (note, cx) = (log.clone(), event_loop.cx().clone());
        drop(event_loop.cx().spawn_local(async move {
            for poll in 0..2 {
                note.push(format!("{name} {poll}"));
                let chained = note.clone();
                cx.queue_microtask(move |cx| {
                    chained.push(format!("{name} {poll} microtask"));
                    cx.queue_microtask(chained.note(format!("{name} {poll} microtask of it")));
                });
                cx.next_tick(note.note(format!("{name} {poll} next tick")));
                spin(1).await;
            }
        }));
    }
    tick(&event_loop);
    let mut expected = Vec::new();
    for poll in 0..2 {
        for name in ["one", "two", "three"] {
            for what in ["", " next tick", " microtask", " microtask of it"] {
                expected.push(format!("{name} {poll}{what}"));
            }
        }
    }
    assert_eq!(log.take(), expected);
}

// spec: BX-1, PR-1, MT-1
fn a_handler_of_a_promise_runs_before_the_next_future(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let (note, cx) = (log.clone(), event_loop.cx().clone());
    let (promise, resolver) = LocalPromise::with_resolvers(event_loop.cx());
    let handled = log.clone();
    promise.then(move |_, n: i32| handled.push(if n == 5 { "handler" } else { "wrong" }));
    drop(event_loop.cx().spawn_local(async move {
        note.push("first");
        resolver.resolve(5);
        let _ = &cx;
    }));
    let note = log.clone();
    drop(event_loop.cx().spawn_local(async move { note.push("second") }));
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["first", "handler", "second"]);
}

// spec: BX-1
fn a_future_woken_during_the_phase_is_polled_in_it(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let mut waits = event_loop.cx().spawn_local(gate.pass());
    tick(&event_loop);
    assert_eq!(gate.polls(), 1);
    let opened = gate.clone();
    drop(event_loop.cx().spawn_local(async move { opened.open() }));
    tick(&event_loop);
    assert_eq!(result(&mut waits), "ok ()");
    // Also by another thread, while the phase runs.
    let gate = SharedGate::new();
    let mut waits = event_loop.cx().spawn_local(gate.pass());
    let opened = gate.clone();
    let mut opens = event_loop.cx().spawn_local(async move { elsewhere(|| opened.open()) });
    tick(&event_loop);
    tick(&event_loop);
    assert_eq!(result(&mut opens), "ok ()");
    assert_eq!(result(&mut waits), "ok ()");
}

// spec: BX-1
fn a_future_spawned_during_the_phase_is_polled_in_it(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    let (note, cx) = (log.clone(), event_loop.cx().clone());
    drop(event_loop.cx().spawn_local(async move {
        note.push("first");
        let (inner, own) = (note.clone(), cx.clone());
        drop(cx.spawn_local(async move {
            inner.push("third");
            let inner = inner.clone();
            drop(own.spawn_local(async move { inner.push("fourth") }));
        }));
    }));
    let note = log.clone();
    drop(event_loop.cx().spawn_local(async move { note.push("second") }));
    tick(&event_loop);
    assert_eq!(log.take(), ["first", "second", "third", "fourth"]);
}

// spec: BX-1, MT-1
fn a_future_woken_by_a_microtask_of_the_phase_is_polled_in_it(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let mut waits = event_loop.cx().spawn_local(gate.pass());
    tick(&event_loop);
    let (opened, cx) = (gate.clone(), event_loop.cx().clone());
    drop(event_loop.cx().spawn_local(async move {
        cx.queue_microtask(move |_| opened.open());
    }));
    tick(&event_loop);
    assert_eq!(result(&mut waits), "ok ()");
}

// spec: BX-1, TK-1
fn a_future_woken_after_the_phase_waits_for_the_next_tick(variant: Variant) {
    for kind in [Kind::External, Kind::Immediate, Kind::Close] {
        let event_loop = build(variant);
        let gate = Gate::new();
        drop(event_loop.cx().spawn_local(gate.pass()));
        tick(&event_loop);
        let opened = gate.clone();
        kind.queue(event_loop.cx(), move |_| opened.open());
        let turn = event_loop.turn(Duration::ZERO).unwrap();
        assert_eq!(gate.polls(), 1, "{kind:?}");
        assert!(turn.ready, "{kind:?}");
        tick(&event_loop);
        assert_eq!(gate.polls(), 2, "{kind:?}");
    }
}

// spec: BX-1
fn a_wake_does_not_overtake(variant: Variant) {
    // A future that wakes itself goes to the end of the queue.
    let event_loop = build(variant);
    let log = Log::new();
    for name in ["a", "b", "c"] {
        let note = log.clone();
        drop(event_loop.cx().spawn_local(async move {
            for _ in 0..3 {
                note.push(name);
                spin(1).await;
            }
        }));
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["a", "b", "c", "a", "b", "c", "a", "b", "c"]);
}

// spec: BX-1
fn the_budget_is_kept(variant: Variant) {
    let event_loop = variant.builder().future_budget(3).build().unwrap();
    let log = Log::new();
    for n in 0..8 {
        let note = log.clone();
        drop(event_loop.cx().spawn_local(async move { note.push(n) }));
    }
    let mut ticks = Vec::new();
    loop {
        let turn = event_loop.turn(Duration::ZERO).unwrap();
        ticks.push(log.take());
        if !turn.ready {
            break;
        }
    }
    assert_eq!(ticks, [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7]]);
}

// spec: BX-1
fn the_default_budget_is_256(variant: Variant) {
    let event_loop = build(variant);
    let polls = Rc::new(Cell::new(0));
    for _ in 0..600 {
        let polls = Rc::clone(&polls);
        drop(event_loop.cx().spawn_local(async move { polls.set(polls.get() + 1) }));
    }
    for expected in [256, 512, 600] {
        tick(&event_loop);
        assert_eq!(polls.get(), expected);
    }
}

// spec: BX-1, TK-3
fn a_budget_spent_exactly_leaves_nothing(variant: Variant) {
    let event_loop = variant.builder().future_budget(3).build().unwrap();
    for _ in 0..3 {
        drop(event_loop.cx().spawn_local(async {}));
    }
    assert!(!event_loop.turn(Duration::ZERO).unwrap().ready);
    for _ in 0..4 {
        drop(event_loop.cx().spawn_local(async {}));
    }
    assert!(event_loop.turn(Duration::ZERO).unwrap().ready);
    assert!(!event_loop.turn(Duration::ZERO).unwrap().ready);
}

// spec: BX-1
fn a_budget_that_is_spent_keeps_the_order(variant: Variant) {
    let event_loop = variant.builder().future_budget(2).build().unwrap();
    let log = Log::new();
    for n in 0..5 {
        let note = log.clone();
        drop(event_loop.cx().spawn_local(async move {
            note.push(n);
            spin(1).await;
            note.push(n + 10);
        }));
        if n == 2 {
            tick(&event_loop);
        }
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), [0, 1, 2, 10, 11, 3, 4, 12, 13, 14]);
}

// spec: BX-1
fn a_future_that_wakes_itself_counts_for_the_budget(variant: Variant) {
    let event_loop = variant.builder().future_budget(10).build().unwrap();
    let polls = Rc::new(Cell::new(0));
    let count = Rc::clone(&polls);
    let handle = event_loop.cx().spawn_local(poll_fn(move |cx| -> Poll<()> {
        count.set(count.get() + 1);
        cx.waker().wake_by_ref();
        Poll::Pending
    }));
    for n in 1..5 {
        let turn = event_loop.turn(Duration::ZERO).unwrap();
        assert_eq!(polls.get(), n * 10);
        assert!(turn.ready);
    }
    handle.abort();
    event_loop.run_until_idle().unwrap();
    assert_eq!(polls.get(), 40);
}

// spec: BX-1, TK-3
fn a_loop_that_left_futures_behind_does_not_block(variant: Variant) {
    let event_loop =
        variant.builder().future_budget(1).panic_policy(PanicPolicy::Propagate).build().unwrap();
    let cx = event_loop.cx().clone();
    for n in 0..5 {
        let cx = cx.clone();
        drop(event_loop.cx().spawn_local(async move {
            if n == 4 {
                cx.shutdown();
            }
        }));
    }
    // With all the time of the world: it hangs if one of them is slept through.
    event_loop.run().unwrap();
}

// spec: BX-1
fn a_future_that_wakes_itself_does_not_starve_others(variant: Variant) {
    let event_loop = build(variant);
    let endless = event_loop.cx().spawn_local(spin(usize::MAX));
    let log = Log::new();
    for n in 0..10 {
        let note = log.clone();
        drop(event_loop.cx().spawn_local(async move {
            spin(3).await;
            note.push(n);
        }));
    }
    tick(&event_loop);
    assert_eq!(log.take(), Vec::from_iter(0..10));
    endless.abort();
    event_loop.run_until_idle().unwrap();
}

/// Whether in each of some ticks all the rest of the loop makes progress.
#[track_caller]
fn assert_that_nothing_starves(
    clock: &mainspring::VirtualClock,
    event_loop: &EventLoop,
    polls: Option<&Cell<usize>>,
) {
    use common::streams::{Stream, pair};
    use std::io::{Read, Write};

    let log = Log::new();
    let cx = event_loop.cx();
    let (ours, mut theirs) = pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let note = log.clone();
    let watch = Watch::new().read(move |_, mut stream: &Stream| {
        stream.read_exact(&mut [0]).unwrap();
        note.push("io");
    });
    let watcher = cx.watch(ours, watch).ok().unwrap();
    let interval = cx.set_interval(MS, notes(&log, "timer")).unwrap();
    let handle = event_loop.handle();
    for _ in 0..10 {
        let before = polls.map(Cell::get);
        theirs.write_all(b"x").unwrap();
        clock.advance(MS);
        cx.submit(log.note("local task")).unwrap();
        let shared = Arc::new(AtomicUsize::new(0));
        let sent = Arc::clone(&shared);
        elsewhere(|| handle.submit(move |_| _ = sent.fetch_add(1, Ordering::SeqCst)).unwrap());
        cx.submit_internal(log.note("internal task")).unwrap();
        cx.set_immediate(log.note("immediate"));
        tick(event_loop);
        let mut seen = log.take();
        seen.sort_unstable();
        assert_eq!(seen, ["immediate", "internal task", "io", "local task", "timer"]);
        assert_eq!(shared.load(Ordering::SeqCst), 1);
        assert!(polls.is_none() || polls.map(Cell::get) > before, "nor do the futures");
    }
    watcher.unwatch();
    cx.clear_interval(interval);
}

// spec: BX-1, IO-6, TK-7
fn a_future_that_wakes_itself_does_not_starve_the_loop(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let polls = Rc::new(Cell::new(0));
    let count = Rc::clone(&polls);
    drop(event_loop.cx().spawn_local(poll_fn(move |cx| -> Poll<()> {
        count.set(count.get() + 1);
        cx.waker().wake_by_ref();
        Poll::Pending
    })));
    assert_that_nothing_starves(&clock, &event_loop, Some(&polls));
}

// spec: BX-1, IO-6, TK-7
fn futures_that_wake_each_other_do_not_starve_the_loop(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let polls = Rc::new(Cell::new(0));
    let wakers: Rc<[Cell<Option<std::task::Waker>>; 2]> = Rc::default();
    for player in 0..2 {
        let (count, wakers) = (Rc::clone(&polls), Rc::clone(&wakers));
        drop(event_loop.cx().spawn_local(poll_fn(move |cx| -> Poll<()> {
            count.set(count.get() + 1);
            wakers[player].set(Some(cx.waker().clone()));
            if let Some(other) = wakers[1 - player].take() {
                other.wake();
            }
            Poll::Pending
        })));
    }
    assert_that_nothing_starves(&clock, &event_loop, Some(&polls));
    wakers.iter().for_each(|waker| drop(waker.take()));
}

// spec: BX-1, IO-6, TK-7
fn futures_that_spawn_for_ever_do_not_starve_the_loop(variant: Variant) {
    fn spawn(cx: &Cx, polls: &Rc<Cell<usize>>) {
        let (own, polls) = (cx.clone(), Rc::clone(polls));
        drop(cx.spawn_local(async move {
            polls.set(polls.get() + 1);
            spawn(&own, &polls);
        }));
    }
    let (clock, event_loop) = manual(variant);
    let polls = Rc::new(Cell::new(0));
    spawn(event_loop.cx(), &polls);
    assert_that_nothing_starves(&clock, &event_loop, Some(&polls));
}

// spec: BX-1, IO-6
fn a_future_woken_by_another_thread_for_ever_does_not_starve_the_loop(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (polls, woken) = (Rc::new(Cell::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = Rc::clone(&polls);
    let kept = Rc::new(Cell::new(None));
    let keep = Rc::clone(&kept);
    let waits = event_loop.cx().spawn_local(poll_fn(move |cx| -> Poll<()> {
        count.set(count.get() + 1);
        keep.set(Some(cx.waker().clone()));
        Poll::Pending
    }));
    tick(&event_loop);
    let waker = kept.take().unwrap();
    let counter = Arc::clone(&woken);
    let thread = thread::spawn(move || {
        while counter.load(Ordering::Relaxed) != usize::MAX {
            waker.wake_by_ref();
            let n = counter.load(Ordering::Relaxed);
            if n < 1_000 {
                let _ = counter.compare_exchange(n, n + 1, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    });
    wait_until(|| woken.load(Ordering::Relaxed) > 10);
    // Whether it is polled in each tick is for the other thread to say.
    assert_that_nothing_starves(&clock, &event_loop, None);
    assert!(polls.get() > 1);
    woken.store(usize::MAX, Ordering::Relaxed);
    thread.join().unwrap();
    waits.abort();
    turn_until_quiet(&event_loop);
}

/// A loop that counts its ticks.
fn counting(variant: Variant) -> (EventLoop, Rc<Cell<usize>>) {
    let ticks = Rc::new(Cell::new(0));
    let count = Rc::clone(&ticks);
    let event_loop = variant
        .builder()
        .on_prepare(move |_| count.set(count.get() + 1))
        .panic_policy(PanicPolicy::Propagate)
        .build()
        .unwrap();
    (event_loop, ticks)
}

// spec: BX-1
fn yielding_comes_back_in_the_next_tick(variant: Variant) {
    let (event_loop, ticks) = counting(variant);
    let (cx, count) = (event_loop.cx().clone(), Rc::clone(&ticks));
    let log = Log::new();
    let note = log.clone();
    drop(event_loop.cx().spawn_local(async move {
        for _ in 0..5 {
            note.push(count.get());
            cx.yield_now().await;
        }
        note.push(count.get());
    }));
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), [0, 1, 2, 3, 4, 5]);
    // And within `block_on`.
    ticks.set(0);
    let cx = event_loop.cx();
    let seen = event_loop.block_on(async {
        let mut seen = vec![ticks.get()];
        for _ in 0..3 {
            cx.yield_now().await;
            seen.push(ticks.get());
        }
        seen
    });
    assert_eq!(seen.unwrap(), [0, 1, 2, 3]);
}

// spec: BX-1, IO-6
fn yielding_comes_back_after_io_was_looked_at(variant: Variant) {
    use common::streams::{Stream, pair};
    use std::io::Write;

    let event_loop = build(variant);
    let log = Log::new();
    let (ours, mut theirs) = pair().unwrap();
    theirs.write_all(b"x").unwrap();
    let note = log.clone();
    let watch = Watch::new().read(move |_, _: &Stream| note.push("io"));
    let watcher = event_loop.cx().watch(ours, watch).ok().unwrap();
    let (cx, note) = (event_loop.cx().clone(), log.clone());
    let handle = event_loop.cx().spawn_local(async move {
        for _ in 0..3 {
            note.push("future");
            cx.submit(note.note("external")).unwrap();
            cx.yield_now().await;
        }
        watcher.unwatch();
    });
    event_loop.block_on(handle).unwrap().unwrap();
    assert_eq!(
        log.take(),
        ["future", "external", "io", "future", "external", "io", "future", "external", "io"]
    );
}

// spec: BX-1
fn yielding_futures_keep_their_order(variant: Variant) {
    let event_loop = build(variant);
    let log = Log::new();
    for n in 0..5 {
        let (cx, note) = (event_loop.cx().clone(), log.clone());
        drop(event_loop.cx().spawn_local(async move {
            for _ in 0..3 {
                note.push(n);
                cx.yield_now().await;
            }
        }));
    }
    for _ in 0..3 {
        tick(&event_loop);
        assert_eq!(log.take(), [0, 1, 2, 3, 4]);
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.len(), 0);
}

// spec: BX-1, TK-3
fn a_loop_with_a_yielding_future_does_not_block(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx().clone();
    drop(event_loop.cx().spawn_local(async move {
        for _ in 0..100 {
            cx.yield_now().await;
        }
        cx.shutdown();
    }));
    assert!(event_loop.turn(None).unwrap().ready);
    event_loop.run().unwrap();
    // One that is not referenced does not block it either.
    let event_loop = build(variant);
    let cx = event_loop.cx().clone();
    let handle = event_loop.cx().spawn_local(async move {
        for _ in 0..10 {
            cx.yield_now().await;
        }
        cx.shutdown();
    });
    handle.reference(false);
    event_loop.run().unwrap();
    assert!(handle.is_finished());
}

// spec: BX-1
fn a_yield_that_is_dropped_has_no_effect_on_others(variant: Variant) {
    let (event_loop, ticks) = counting(variant);
    let (cx, count) = (event_loop.cx().clone(), Rc::clone(&ticks));
    let gate = Gate::new();
    let pass = gate.pass();
    let mut handle = event_loop.cx().spawn_local(async move {
        // Made, but not awaited.
        drop(cx.yield_now());
        // Polled once, then given up.
        let mut given_up = Box::pin(cx.yield_now());
        poll_fn(|cx| {
            assert!(given_up.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(given_up);
        let before = count.get();
        pass.await;
        count.get() - before
    });
    turn_until_quiet(&event_loop);
    assert!(!handle.is_finished());
    // At the most it was polled in vain once for what it has given up.
    assert!(gate.polls() <= 2);
    gate.open();
    event_loop.run_until_idle().unwrap();
    assert!(handle.is_finished());
    assert!(result(&mut handle).starts_with("ok "));
}

// spec: BX-1
fn a_yield_of_one_that_is_woken_anyway(variant: Variant) {
    // Two things at once: one yields, one wakes. Neither is lost, and the yield does not come back before its
    // time.
    let (event_loop, ticks) = counting(variant);
    let (cx, count) = (event_loop.cx().clone(), Rc::clone(&ticks));
    let handle = event_loop.cx().spawn_local(async move {
        let mut spins = Box::pin(spin(5));
        let mut yields = Box::pin(async move {
            let before = count.get();
            cx.yield_now().await;
            count.get() - before
        });
        let (mut spun, mut yielded) = (false, None);
        poll_fn(move |cx| {
            spun = spun || spins.as_mut().poll(cx).is_ready();
            if yielded.is_none()
                && let Poll::Ready(ticks) = yields.as_mut().poll(cx)
            {
                yielded = Some(ticks);
            }
            match yielded {
                Some(ticks) if spun => Poll::Ready(ticks),
                _ => Poll::Pending,
            }
        })
        .await
    });
    let passed = event_loop.block_on(handle).unwrap().unwrap();
    assert!(passed >= 1, "{passed}");
}

// spec: BX-1
fn a_yield_in_a_future_that_is_aborted(variant: Variant) {
    let event_loop = build(variant);
    let (cx, polls) = (event_loop.cx().clone(), Rc::new(Cell::new(0)));
    let count = Rc::clone(&polls);
    let mut handle = event_loop.cx().spawn_local(async move {
        loop {
            count.set(count.get() + 1);
            cx.yield_now().await;
        }
    });
    tick(&event_loop);
    assert_eq!(polls.get(), 1);
    handle.abort();
    event_loop.run_until_idle().unwrap();
    assert_eq!(polls.get(), 1);
    assert_eq!(result::<()>(&mut handle), "aborted");
}

/// A waker of a foreign executor.
struct Bomb;

impl std::task::Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic!("expected of the waker");
    }
}

// spec: BX-1, FA-1, FA-3
fn a_waker_that_panics_does_not_lose_the_yields_of_others(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        let event_loop = variant.builder().panic_policy(policy).build().unwrap();
        let log = Log::new();
        for n in 0..3 {
            let (cx, note) = (event_loop.cx().clone(), log.clone());
            drop(event_loop.cx().spawn_local(async move {
                if n == 1 {
                    let waker = std::task::Waker::from(Arc::new(Bomb));
                    let mut context = std::task::Context::from_waker(&waker);
                    let yields = std::pin::pin!(cx.yield_now());
                    assert!(yields.poll(&mut context).is_pending());
                }
                cx.yield_now().await;
                note.push(n);
            }));
        }
        let mut panics = 0;
        while common::panic_of(|| event_loop.run_until_idle().unwrap()).is_some() {
            panics += 1;
        }
        assert!(panics <= 1);
        assert_eq!(log.take(), [0, 1, 2]);
        assert_eq!(event_loop.handle().pending(), 0);
    }
}

// spec: BX-1
fn a_turn_counts_polls(variant: Variant) {
    let event_loop = build(variant);
    for _ in 0..3 {
        drop(event_loop.cx().spawn_local(spin(1)));
    }
    assert_eq!(event_loop.turn(None).unwrap().callbacks, 6);
}

// spec: BX-1, BX-2
fn a_turn_says_whether_a_future_is_woken(variant: Variant) {
    let event_loop = build(variant);
    let gate = Gate::new();
    let handle = event_loop.cx().spawn_local(gate.pass());
    let turn = event_loop.turn(None).unwrap();
    assert!(!turn.ready, "it waits");
    let (cx, opened) = (event_loop.cx().clone(), gate.clone());
    cx.submit(move |_| opened.open()).unwrap();
    assert!(event_loop.turn(None).unwrap().ready, "it is woken");
    assert!(!event_loop.turn(None).unwrap().ready, "it is done");
    assert!(handle.is_finished());
}

// spec: BX-1, IN-5
fn an_external_flood_does_not_starve_futures(variant: Variant) {
    let event_loop = variant.builder().external_budget(4).build().unwrap();
    let polls = Rc::new(Cell::new(0));
    let (cx, count) = (event_loop.cx().clone(), Rc::clone(&polls));
    drop(event_loop.cx().spawn_local(async move {
        loop {
            count.set(count.get() + 1);
            cx.yield_now().await;
        }
    }));
    for _ in 0..400 {
        event_loop.cx().submit(|_| ()).unwrap();
    }
    for n in 1..50 {
        tick(&event_loop);
        assert_eq!(polls.get(), n);
    }
}

// spec: BX-1, TK-1
fn an_internal_task_that_wakes_is_followed_by_the_poll_in_the_same_tick(variant: Variant) {
    let event_loop = build(variant);
    for by_another in [false, true] {
        let gate = SharedGate::new();
        let mut handle = event_loop.cx().spawn_local(gate.pass());
        tick(&event_loop);
        let opened = gate.clone();
        if by_another {
            let other = event_loop.handle();
            elsewhere(move || other.submit_internal(move |_| opened.open()).unwrap());
        } else {
            event_loop.cx().submit_internal(move |_| opened.open()).unwrap();
        }
        tick(&event_loop);
        assert_eq!(result(&mut handle), "ok ()");
    }
}
