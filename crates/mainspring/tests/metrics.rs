//! What a loop says of itself in numbers, and that saying it changes nothing.
#![cfg(all(feature = "metrics", target_os = "linux", not(loom)))]

mod common;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{
    Hook, Kind, Log, Token, Tracker, Variant, must_return, panic_of, turn_until_quiet, wait_until,
    wait_until_sleeping, watchdog,
};
use mainspring::{
    AbortSignal, Builder, Cx, Deadline, Error, EventLoop, Handle, Interest, Latency, LoopGroup,
    LoopState, Metrics, PanicPolicy, Phase, PromiseState, Queue, Refusal, Tracer, VirtualClock,
    Watch,
};

suite![
    a_loop_is_not_measured_unless_it_is_told_to,
    before_it_is_driven_a_loop_has_done_nothing,
    every_way_to_drive_counts_each_callback_once_in_its_phase,
    a_guest_counts_as_any_other_loop,
    what_is_queued_from_other_threads_counts_in_its_phase,
    descriptors_count_as_io,
    each_poll_of_a_future_counts,
    observed_or_not_callbacks_run_in_the_same_order,
    a_task_that_is_refused_comes_back_and_is_counted,
    tasks_that_are_refused_because_the_loop_ends_are_not_overload,
    captures_of_any_size_survive_every_entrance,
    captures_of_any_size_are_released_by_a_loop_that_is_dropped,
    captures_keep_their_alignment,
    panics_are_counted_in_each_phase_under_both_policies,
    panics_of_hooks_are_counted,
    callbacks_may_read_what_was_counted,
    hooks_may_read_what_was_counted,
    what_a_loop_did_can_be_read_after_it_is_gone,
    a_loop_dropped_undriven_has_run_nothing,
    what_a_shutdown_drains_is_counted,
    lateness_is_in_virtual_time,
    quantiles_of_lateness_are_close_to_the_exact_ones,
    waits_are_in_real_time,
    a_wait_has_the_time_behind_a_slow_callback,
    a_wait_that_began_on_another_thread_has_the_time_behind_a_slow_callback,
    a_wait_before_the_loop_was_driven_is_a_wait,
    a_slow_callback_after_many_fast_ones_is_measured,
    a_slow_callback_is_in_every_figure_that_it_belongs_to,
    waiting_is_not_work,
    the_depth_of_a_queue_is_averaged_as_specified,
    reading_does_not_count_as_a_look,
    every_queue_is_found_deep,
    queues_that_are_emptied_by_checkpoints_are_found_deep,
    timers_descriptors_futures_and_jobs_are_counted_while_they_exist,
    a_wake_is_issued_to_a_loop_that_sleeps_and_elided_otherwise,
    own_submissions_need_no_wake,
    breaches_and_overloads_are_counted_as_often_as_they_are_reported,
    throughput_is_callbacks_by_time,
    snapshots_are_consistent_under_load,
    snapshots_of_a_loop_that_sleeps_are_up_to_date,
    loops_inside_each_other_are_measured_by_themselves,
    a_reentrant_run_changes_no_figure,
    a_checkpoint_by_itself_is_counted_and_is_no_tick,
    turns_count_ticks,
    each_loop_of_a_group_has_figures_of_its_own,
    a_loop_that_is_measured_again_after_a_panic_goes_on_to_count,
    a_promise_and_a_worker_are_counted,
];

fn measured(variant: Variant) -> Builder {
    variant.builder().metrics(true)
}

#[track_caller]
fn figures(cx: &Cx) -> Metrics {
    let metrics = cx.metrics().expect("it is measured");
    check(&metrics);
    metrics
}

/// How many callbacks each phase has run.
fn counts(metrics: &Metrics) -> BTreeMap<String, u64> {
    let count = |phase| (Phase::to_string(&phase), metrics.phase(phase).callbacks);
    Phase::ALL.iter().copied().map(count).filter(|(_, count)| *count > 0).collect()
}

fn table<const N: usize>(entries: [(Phase, u64); N]) -> BTreeMap<String, u64> {
    entries.into_iter().map(|(phase, count)| (phase.to_string(), count)).collect()
}

#[track_caller]
fn check_latency(name: &str, latency: &Latency) {
    let Latency { count, mean, max, p50, p90, p95, p99, .. } = *latency;
    assert!(p50 <= p90 && p90 <= p95 && p95 <= p99 && p99 <= max, "{name}: {latency:?}");
    assert!(mean <= max, "{name}: {latency:?}");
    assert!(count > 0 || max.is_zero(), "{name}: {latency:?}");
}

/// What holds for any snapshot.
#[track_caller]
fn check(metrics: &Metrics) {
    let sum: u64 = Phase::ALL.iter().map(|phase| metrics.phase(*phase).callbacks).sum();
    assert_eq!(sum, metrics.callbacks, "{metrics:?}");
    assert!(metrics.busy + metrics.idle <= metrics.uptime, "{metrics:?}");
    let time: Duration = Phase::ALL.iter().map(|phase| metrics.phase(*phase).time).sum();
    assert!(time <= metrics.busy + Duration::from_micros(1), "{time:?} in {metrics:?}");
    assert!((0.0..=1.0).contains(&metrics.utilisation()), "{metrics:?}");
    assert!(metrics.throughput.is_finite() && metrics.throughput >= 0.0, "{metrics:?}");
    check_latency("tick", &metrics.tick);
    check_latency("run", &metrics.run);
    check_latency("lateness", &metrics.lateness);
    assert!(metrics.run.count <= metrics.callbacks, "{metrics:?}");
    assert!(metrics.tick.count <= metrics.ticks, "{metrics:?}");
    for &queue in Queue::ALL {
        let depth = metrics.queue(queue);
        check_latency(&queue.to_string(), &depth.wait);
        assert!(depth.current <= depth.max && depth.average <= depth.max as f64, "{depth:?}");
        assert!(depth.average >= 0.0, "{depth:?}");
    }
}

/// What never becomes less.
fn monotone(metrics: &Metrics) -> Vec<u64> {
    let mut numbers = vec![
        metrics.uptime.as_nanos() as u64,
        metrics.busy.as_nanos() as u64,
        metrics.idle.as_nanos() as u64,
        metrics.ticks,
        metrics.callbacks,
        metrics.wakes_issued,
        metrics.wakes_elided,
        metrics.budget_breaches,
        metrics.overloads,
        metrics.refusals,
        metrics.panics,
        metrics.stalls,
        metrics.tick.count,
        metrics.run.count,
        metrics.lateness.count,
        metrics.tick.max.as_nanos() as u64,
        metrics.run.max.as_nanos() as u64,
    ];
    for &phase in Phase::ALL {
        numbers.push(metrics.phase(phase).callbacks);
        numbers.push(metrics.phase(phase).time.as_nanos() as u64);
    }
    for &queue in Queue::ALL {
        numbers.push(metrics.queue(queue).max);
        numbers.push(metrics.queue(queue).wait.count);
    }
    numbers
}

#[track_caller]
fn check_order(before: &Metrics, after: &Metrics) {
    let pairs = monotone(before).into_iter().zip(monotone(after));
    for (index, (before, after)) in pairs.enumerate() {
        assert!(before <= after, "number {index}: {before} became {after}");
    }
}

/// Keeps the thread busy for so long.
fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

const SLOW: Duration = Duration::from_millis(20);

// spec: MX-1
fn a_loop_is_not_measured_unless_it_is_told_to(variant: Variant) {
    let event_loop = variant.build();
    assert!(event_loop.cx().metrics().is_none() && event_loop.handle().metrics().is_none());
    let event_loop = measured(variant).metrics(false).build().unwrap();
    assert!(event_loop.cx().metrics().is_none() && event_loop.handle().metrics().is_none());
    event_loop.cx().submit(|cx| assert!(cx.metrics().is_none())).unwrap();
    event_loop.run_until_idle().unwrap();
    assert!(event_loop.handle().stalls().is_empty());

    let event_loop = variant.builder().stall_threshold(Duration::from_secs(60)).build().unwrap();
    assert!(event_loop.cx().metrics().is_some() && event_loop.handle().metrics().is_some());
    let tracer = Tracer::to_writer(std::io::sink()).unwrap();
    let event_loop = variant.builder().tracer(&tracer).build().unwrap();
    assert!(event_loop.cx().metrics().is_some() && event_loop.handle().metrics().is_some());
    // Off is off.
    let event_loop = variant.builder().stall_threshold(SLOW).stall_threshold(None).build().unwrap();
    assert!(event_loop.cx().metrics().is_none());
}

// spec: MX-2, MX-3
fn before_it_is_driven_a_loop_has_done_nothing(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    let handle = event_loop.handle();
    let from_elsewhere = must_return(move || handle.metrics().unwrap());
    for metrics in
        [figures(event_loop.cx()), event_loop.handle().metrics().unwrap(), from_elsewhere]
    {
        check(&metrics);
        assert_eq!((metrics.ticks, metrics.callbacks), (0, 0));
        assert_eq!((metrics.busy, metrics.idle), (Duration::ZERO, Duration::ZERO));
        assert!(metrics.utilisation() == 0.0 && metrics.throughput == 0.0);
        assert_eq!(metrics.tick, Latency::default());
        assert_eq!(metrics.run, Latency::default());
        for &queue in Queue::ALL {
            assert_eq!(metrics.queue(queue).max, 0);
            assert_eq!(metrics.queue(queue).wait, Latency::default());
        }
    }
}

/// Queues a different number of each kind, of which some queue others. The last one calls `done`.
fn program(cx: &Cx, done: impl FnOnce(&Cx) + 'static) {
    for _ in 0..3 {
        cx.submit(|cx| cx.queue_microtask(|_| ())).unwrap();
    }
    for _ in 0..4 {
        cx.submit_internal(|cx| cx.next_tick(|_| ())).unwrap();
    }
    for _ in 0..5 {
        cx.queue_microtask(|_| ());
    }
    for _ in 0..6 {
        cx.next_tick(|_| ());
    }
    for _ in 0..7 {
        cx.set_immediate(|_| ());
    }
    for _ in 0..8 {
        cx.queue_close(|_| ());
    }
    for _ in 0..2 {
        cx.set_timeout(Duration::ZERO, |_| ()).unwrap();
    }
    // One poll, and one after each of two rounds.
    let inner = cx.clone();
    drop(cx.spawn_local(async move {
        inner.yield_now().await;
        inner.yield_now().await;
    }));
    let cleared = cx.set_immediate(|_| unreachable!());
    cx.clear_immediate(cleared);
    let cleared = cx.set_timeout(Duration::ZERO, |_| unreachable!()).unwrap();
    cx.clear_timeout(cleared);
    // Ticks until everything else is over.
    fn later(cx: &Cx, rounds: usize, done: impl FnOnce(&Cx) + 'static) {
        cx.set_immediate(move |cx| match rounds {
            0 => done(cx),
            _ => later(cx, rounds - 1, done),
        });
    }
    later(cx, 9, done);
}

/// What [`program`] does.
fn expected() -> BTreeMap<String, u64> {
    table([
        (Phase::External, 3),
        (Phase::Internal, 4),
        (Phase::Microtasks, 5 + 3),
        (Phase::NextTicks, 6 + 4),
        (Phase::Check, 7 + 10),
        (Phase::Close, 8),
        (Phase::Timers, 2),
        (Phase::Futures, 3),
    ])
}

// spec: MX-2
fn every_way_to_drive_counts_each_callback_once_in_its_phase(variant: Variant) {
    type Drive = fn(&EventLoop);
    let ways: [(&str, Drive); 6] = [
        ("run", |event_loop| {
            program(event_loop.cx(), |cx| cx.close());
            event_loop.run().unwrap();
        }),
        ("run to a shutdown", |event_loop| {
            program(event_loop.cx(), |cx| cx.shutdown());
            event_loop.run().unwrap();
        }),
        ("run_until_idle", |event_loop| {
            program(event_loop.cx(), |_| ());
            event_loop.run_until_idle().unwrap();
        }),
        ("turn", |event_loop| {
            program(event_loop.cx(), |_| ());
            turn_until_quiet(event_loop);
        }),
        ("run_until_aborted", |event_loop| {
            let is_done = Rc::new(Cell::new(false));
            let done = Rc::clone(&is_done);
            program(event_loop.cx(), move |_| done.set(true));
            event_loop.run_until_aborted(move || is_done.get()).unwrap();
        }),
        ("each a bit", |event_loop| {
            program(event_loop.cx(), |_| ());
            event_loop.run_microtasks().unwrap();
            event_loop.turn(Duration::ZERO).unwrap();
            event_loop.turn(None).unwrap();
            event_loop.run_until_idle().unwrap();
        }),
    ];
    for (way, drive) in ways {
        let event_loop = measured(variant).build().unwrap();
        drive(&event_loop);
        let metrics = figures(event_loop.cx());
        assert_eq!(counts(&metrics), expected(), "{way}");
        assert!(metrics.ticks > 0 && metrics.tick.count == metrics.ticks, "{way}: {metrics:?}");
        assert_eq!((metrics.timers, metrics.futures, metrics.fds, metrics.jobs), (0, 0, 0, 0));
        // Nothing was left to publish.
        let handle = event_loop.handle();
        let published = must_return(move || handle.metrics().unwrap());
        check(&published);
        assert_eq!(counts(&published), expected(), "{way}");
        assert_eq!(published.ticks, metrics.ticks, "{way}");
    }
    // The future of `block_on` is polled, too.
    let event_loop = measured(variant).build().unwrap();
    program(event_loop.cx(), |_| ());
    let cx = event_loop.cx().clone();
    event_loop.block_on(async { cx.yield_now().await }).unwrap();
    event_loop.run_until_idle().unwrap();
    let mut expected = expected();
    *expected.get_mut("futures").unwrap() += 2;
    assert_eq!(counts(&figures(event_loop.cx())), expected);
}

// spec: MX-2
fn a_guest_counts_as_any_other_loop(variant: Variant) {
    let guest = measured(variant).build().unwrap().into_guest().unwrap();
    program(guest.cx(), |_| ());
    while guest.turn().unwrap().ready {}
    assert_eq!(counts(&figures(guest.cx())), expected());
}

// spec: MX-2, MX-3
fn what_is_queued_from_other_threads_counts_in_its_phase(variant: Variant) {
    const EACH: u64 = 300;
    let (handle, thread) = variant.spawn(
        |builder| builder.metrics(true),
        |event_loop| {
            event_loop.run().unwrap();
            figures(event_loop.cx())
        },
    );
    let others: Vec<_> = (0..3)
        .map(|_| {
            let handle = handle.clone();
            thread::spawn(move || {
                for _ in 0..EACH {
                    handle.submit(|_| ()).unwrap();
                    handle.submit_internal(|_| ()).unwrap();
                    handle.queue_microtask(|_| ()).unwrap();
                    handle.set_timeout(Duration::ZERO, |_| ()).unwrap();
                }
            })
        })
        .collect();
    others.into_iter().for_each(|thread| thread.join().unwrap());
    wait_until(|| {
        let metrics = handle.metrics().unwrap();
        check(&metrics);
        metrics.callbacks == 3 * 4 * EACH
    });
    handle.shutdown(Deadline::NEVER).unwrap();
    let found = counts(&thread.join().unwrap());
    let all = 3 * EACH;
    let expected = table([
        (Phase::External, all),
        (Phase::Internal, all),
        (Phase::Microtasks, all),
        (Phase::Timers, all),
    ]);
    assert_eq!(found, expected);
}

// spec: MX-2
fn descriptors_count_as_io(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    let cx = event_loop.cx();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let (others, _peer) = UnixStream::pair().unwrap();
    let watch = Watch::new().read(|cx, mut stream: &UnixStream| {
        assert_eq!(stream.read(&mut [0; 1]).unwrap(), 1);
        cx.queue_microtask(|_| ());
    });
    let watcher = cx.watch(ours, watch).unwrap();
    let fd = others.as_raw_fd();
    cx.register_fd(others, Interest::WRITE.one_shot(), |_, _, _| ()).unwrap();
    assert_eq!(figures(cx).fds, 2);
    for _ in 0..3 {
        theirs.write_all(b"x").unwrap();
        event_loop.turn(None).unwrap();
    }
    let metrics = figures(cx);
    assert_eq!(counts(&metrics), table([(Phase::Io, 4), (Phase::Microtasks, 3)]));
    assert_eq!(metrics.fds, 2);
    watcher.unwatch();
    cx.unregister_fd(fd).unwrap();
    assert_eq!(figures(cx).fds, 0);
}

// spec: MX-2
fn each_poll_of_a_future_counts(variant: Variant) {
    let event_loop = measured(variant).future_budget(5).build().unwrap();
    for polls in 0..10 {
        let cx = event_loop.cx().clone();
        drop(event_loop.cx().spawn_local(async move {
            for _ in 0..polls {
                cx.yield_now().await;
            }
        }));
    }
    let aborted = event_loop.cx().spawn_local(std::future::pending::<()>());
    assert_eq!(figures(event_loop.cx()).futures, 11);
    turn_until_quiet(&event_loop);
    assert_eq!(figures(event_loop.cx()).futures, 1);
    aborted.abort();
    event_loop.run_until_idle().unwrap();
    let metrics = figures(event_loop.cx());
    assert_eq!(metrics.futures, 0);
    let polls = metrics.phase(Phase::Futures).callbacks;
    assert!((45 + 10 + 1..=45 + 10 + 2).contains(&polls), "{polls}");
}

/// Numbers that only look like chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A random program, and what it did in which order. Time is virtual, so that nothing depends on it.
fn run_random(builder: Builder, seed: u64) -> Vec<String> {
    struct World {
        chance: RefCell<Chance>,
        log: Log<String>,
        left: Cell<u32>,
        next: Cell<u32>,
        clock: VirtualClock,
    }
    fn grow(world: &Rc<World>, cx: &Cx) {
        let many = world.chance.borrow_mut().below(4);
        for _ in 0..many {
            if world.left.get() == 0 {
                return;
            }
            world.left.set(world.left.get() - 1);
            let number = world.next.replace(world.next.get() + 1);
            let way = world.chance.borrow_mut().below(13);
            let inner = Rc::clone(world);
            let body = move |cx: &Cx| {
                inner.log.push(format!("{number}"));
                grow(&inner, cx);
                if inner.chance.borrow_mut().below(16) == 0 {
                    // Without a message.
                    resume_unwind(Box::new(()));
                }
            };
            match way {
                0..6 => Kind::ALL[way as usize].queue(cx, body),
                6 => _ = cx.set_timeout(Duration::ZERO, body).map_err(drop),
                7 => _ = cx.set_timeout(Duration::from_millis(number.into()), body).map_err(drop),
                8 => {
                    let id = cx.set_immediate(body);
                    if world.chance.borrow_mut().below(2) == 0 {
                        assert!(cx.clear_immediate(id));
                    }
                }
                9 => {
                    let inner = cx.clone();
                    drop(cx.spawn_local(async move {
                        inner.yield_now().await;
                        body(&inner);
                    }));
                }
                10 => {
                    let mut body = Some(body);
                    let id =
                        cx.set_interval(Duration::from_millis(1), move |cx| match body.take() {
                            Some(body) => body(cx),
                            None => assert!(cx.clear_interval(cx.current_interval().unwrap())),
                        });
                    drop(id);
                }
                11 => {
                    world.clock.advance(Duration::from_millis(3));
                    cx.queue_microtask(body);
                    cx.put_off_checkpoint();
                }
                _ => {
                    let (ours, mut theirs) = UnixStream::pair().unwrap();
                    theirs.write_all(b"x").unwrap();
                    let mut body = Some((body, theirs));
                    let fd = ours.as_raw_fd();
                    let registered = cx.register_fd(ours, Interest::READ, move |cx, _, _| {
                        cx.unregister_fd(fd).unwrap();
                        if let Some((body, _theirs)) = body.take() {
                            body(cx);
                        }
                    });
                    drop(registered);
                }
            }
        }
    }
    let clock = VirtualClock::auto();
    let world = Rc::new(World {
        chance: RefCell::new(Chance(seed)),
        log: Log::new(),
        left: Cell::new(2_000),
        next: Cell::new(0),
        clock: clock.clone(),
    });
    let hook = |name: &'static str| {
        let log = world.log.clone();
        move || log.push(name.to_owned())
    };
    let (uncaught, overload, diagnostic) = (hook("uncaught"), hook("overload"), hook("breach"));
    let event_loop = builder
        .clock(&clock)
        .external_budget(5)
        .microtask_budget(20)
        .future_budget(3)
        .on_uncaught(move |_, _| uncaught())
        .on_overload(move |_, _| overload())
        .on_diagnostic(move |_, _| diagnostic())
        .build()
        .unwrap();
    while world.left.get() > 0 {
        grow(&world, event_loop.cx());
        event_loop.run_until_idle().unwrap();
        world.log.push("idle".to_owned());
    }
    world.log.take()
}

// spec: MX-1
fn observed_or_not_callbacks_run_in_the_same_order(variant: Variant) {
    for seed in 1..20 {
        let plain = run_random(variant.builder(), seed);
        assert!(plain.len() > 1_000);
        assert_eq!(run_random(measured(variant), seed), plain, "metrics, seed {seed}");
        let watched = variant.builder().stall_threshold(Duration::from_secs(60));
        assert_eq!(run_random(watched, seed), plain, "watchdog, seed {seed}");
        let tracer = Tracer::to_writer(std::io::sink()).unwrap();
        let traced = variant.builder().tracer(&tracer);
        assert_eq!(run_random(traced, seed), plain, "tracer, seed {seed}");
    }
}

// spec: MX-2, IN-2
fn a_task_that_is_refused_comes_back_and_is_counted(variant: Variant) {
    let event_loop = measured(variant).high_water_mark(2).build().unwrap();
    let tracker = Tracker::new();
    let handle = event_loop.handle();
    event_loop.cx().submit(tracker.callback()).unwrap();
    handle.submit(tracker.callback()).unwrap();
    let mut refused = Vec::new();
    let error = event_loop.cx().submit(tracker.callback()).unwrap_err();
    assert_eq!(error.reason(), Refusal::Overloaded);
    refused.push(Box::new(error.into_task()) as Box<dyn FnOnce(&Cx) + Send>);
    let error = handle.submit(tracker.callback()).unwrap_err();
    assert_eq!(error.reason(), Refusal::Overloaded);
    refused.push(Box::new(error.into_task()));
    let callback = tracker.callback();
    let error = must_return(move || handle.submit(callback).unwrap_err());
    assert_eq!(error.reason(), Refusal::Overloaded);
    refused.push(Box::new(error.into_task()));
    assert_eq!((tracker.alive(), tracker.ran()), (5, 0));
    assert_eq!(figures(event_loop.cx()).refusals, 3);
    event_loop.run_until_idle().unwrap();
    for task in refused {
        event_loop.cx().submit(task).unwrap();
        event_loop.run_until_idle().unwrap();
    }
    assert_eq!((tracker.alive(), tracker.ran()), (0, 5));
    let metrics = figures(event_loop.cx());
    assert_eq!(metrics.refusals, 3);
    assert_eq!(counts(&metrics), table([(Phase::External, 5)]));
}

// spec: MX-2
fn tasks_that_are_refused_because_the_loop_ends_are_not_overload(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    let handle = event_loop.handle();
    event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
    event_loop.run().unwrap();
    let tracker = Tracker::new();
    assert_eq!(handle.submit(tracker.callback()).unwrap_err().reason(), Refusal::Terminated);
    assert!(event_loop.cx().submit_internal(tracker.callback()).is_err());
    assert!(event_loop.cx().try_queue_microtask(tracker.callback()).is_err());
    event_loop.cx().next_tick(tracker.callback());
    event_loop.cx().set_immediate(tracker.callback());
    event_loop.cx().queue_close(tracker.callback());
    assert!(handle.set_timeout(SLOW, tracker.callback()).is_err());
    assert_eq!((tracker.alive(), tracker.ran()), (0, 0));
    let metrics = figures(event_loop.cx());
    assert_eq!((metrics.refusals, metrics.callbacks), (0, 1));
}

/// Sends callbacks with captures of `N` words, and a token, through every entrance. Returns how many.
fn queue_all<const N: usize>(cx: &Cx, tracker: &Tracker, ran: &Arc<AtomicUsize>) -> usize {
    fn callback<const N: usize>(
        tracker: &Tracker,
        ran: &Arc<AtomicUsize>,
    ) -> impl FnOnce(&Cx) + Send + use<N> + 'static {
        let words = black_box(std::array::from_fn::<usize, N, _>(|index| index * 31 + N));
        let token = tracker.token();
        let ran = Arc::clone(ran);
        move |_| {
            let _token: Token = token;
            let expected = std::array::from_fn::<usize, N, _>(|index| index * 31 + N);
            assert_eq!(black_box(words), expected);
            ran.fetch_add(1, Ordering::SeqCst);
        }
    }
    let new = || callback::<N>(tracker, ran);
    let mut sent = 0;
    for kind in Kind::ALL {
        kind.queue(cx, new());
        sent += 1;
    }
    let send = |handle: &Handle| {
        handle.submit(new()).unwrap();
        handle.submit_internal(new()).unwrap();
        handle.queue_microtask(new()).unwrap();
        handle.set_timeout(Duration::ZERO, new()).unwrap();
        4
    };
    sent += send(&cx.handle());
    let handle = cx.handle();
    sent += thread::scope(|scope| scope.spawn(|| send(&handle)).join().unwrap());
    cx.set_timeout(Duration::ZERO, new()).unwrap();
    cx.set_timeout_at(Instant::now(), new()).unwrap();
    sent += 2;
    cx.set_interval(Duration::ZERO, once(new())).unwrap();
    cx.set_interval_fixed_rate(Duration::ZERO, once(new())).unwrap();
    cx.handle().set_interval(Duration::ZERO, once(new())).unwrap();
    sent += 3;
    let (callback, inner) = (new(), cx.clone());
    drop(cx.spawn_local(async move {
        inner.yield_now().await;
        callback(&inner);
    }));
    sent += 1;
    let mut spawned = Some(new());
    drop(cx.handle().spawn(move |cx| {
        spawned.take().unwrap()(cx);
        async {}
    }));
    sent += 1;
    let (ours, _) = UnixStream::pair().unwrap();
    let mut registered = Some(new());
    let fd = ours.as_raw_fd();
    cx.register_fd(ours, Interest::READ, move |cx, _, _| {
        cx.unregister_fd(fd).unwrap();
        registered.take().unwrap()(cx);
    })
    .unwrap();
    sent + 1
}

/// The callback of an interval that calls another one, and ends.
fn once(callback: impl FnOnce(&Cx) + Send + 'static) -> impl FnMut(&Cx) + Send + 'static {
    let mut callback = Some(callback);
    move |cx| {
        callback.take().unwrap()(cx);
        cx.clear_interval(cx.current_interval().unwrap());
    }
}

fn queue_all_sizes(cx: &Cx, tracker: &Tracker, ran: &Arc<AtomicUsize>) -> usize {
    macro_rules! sizes {
        ($($size:literal)*) => { 0 $(+ queue_all::<$size>(cx, tracker, ran))* };
    }
    sizes!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)
}

// spec: MX-1, IN-7
fn captures_of_any_size_survive_every_entrance(variant: Variant) {
    for builder in observers(variant) {
        let event_loop = builder.build().unwrap();
        let (tracker, ran) = (Tracker::new(), Arc::default());
        let sent = queue_all_sizes(event_loop.cx(), &tracker, &ran);
        assert_eq!(tracker.alive(), sent);
        event_loop.run_until_idle().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), sent);
        assert_eq!(tracker.alive(), 0);
        assert_eq!(figures(event_loop.cx()).panics, 0);
    }
}

// spec: MX-1, SD-6
fn captures_of_any_size_are_released_by_a_loop_that_is_dropped(variant: Variant) {
    for builder in observers(variant) {
        let event_loop = builder.build().unwrap();
        let (tracker, ran) = (Tracker::new(), Arc::default());
        let sent = queue_all_sizes(event_loop.cx(), &tracker, &ran);
        assert_eq!(tracker.alive(), sent);
        drop(event_loop);
        assert_eq!((tracker.alive(), ran.load(Ordering::SeqCst)), (0, 0));
    }
    // And by one that is closed by its first callback.
    for builder in observers(variant) {
        let event_loop = builder.build().unwrap();
        let (tracker, ran) = (Tracker::new(), Arc::default());
        event_loop.cx().next_tick(|cx| cx.close());
        queue_all_sizes(event_loop.cx(), &tracker, &ran);
        event_loop.run().unwrap();
        assert_eq!((tracker.alive(), ran.load(Ordering::SeqCst)), (0, 0));
    }
}

/// Loops that are observed in different ways.
fn observers(variant: Variant) -> [Builder; 3] {
    let tracer = Tracer::to_writer(std::io::sink()).unwrap();
    [
        measured(variant),
        variant.builder().stall_threshold(Duration::from_secs(60)),
        variant.builder().tracer(&tracer),
    ]
}

// spec: MX-1
fn captures_keep_their_alignment(variant: Variant) {
    #[repr(align(16))]
    struct Sixteen(u8);
    #[repr(align(64))]
    struct SixtyFour(u8);
    #[repr(align(4096))]
    struct Page(u8);
    for builder in observers(variant) {
        let event_loop = builder.build().unwrap();
        let ran = Rc::new(Cell::new(0));
        for kind in Kind::ALL {
            macro_rules! aligned {
                ($($type:ident)*) => { $(
                    let (value, count) = ($type(7), Rc::clone(&ran));
                    kind.queue(event_loop.cx(), move |_| {
                        let value = black_box(&value);
                        let address = std::ptr::from_ref(value).addr();
                        assert_eq!((value.0, address % align_of::<$type>()), (7, 0));
                        count.set(count.get() + 1);
                    });
                )* };
            }
            aligned!(Sixteen SixtyFour Page);
        }
        event_loop.run_until_idle().unwrap();
        assert_eq!(ran.get(), 3 * Kind::ALL.len());
    }
}

// spec: MX-2, FA-1, FA-3
fn panics_are_counted_in_each_phase_under_both_policies(variant: Variant) {
    let boom = |_: &Cx| panic!("expected by the test");
    type Queueing = fn(&Cx, Box<dyn FnOnce(&Cx)>);
    let ways: [(Phase, Queueing); 9] = [
        (Phase::External, |cx, f| Kind::External.queue(cx, f)),
        (Phase::Internal, |cx, f| Kind::Internal.queue(cx, f)),
        (Phase::Microtasks, |cx, f| Kind::Microtask.queue(cx, f)),
        (Phase::NextTicks, |cx, f| Kind::NextTick.queue(cx, f)),
        (Phase::Check, |cx, f| Kind::Immediate.queue(cx, f)),
        (Phase::Close, |cx, f| Kind::Close.queue(cx, f)),
        (Phase::Timers, |cx, f| _ = cx.set_timeout(Duration::ZERO, f).map_err(drop).unwrap()),
        (Phase::Futures, |cx, f| {
            let inner = cx.clone();
            drop(cx.spawn_local(async move { f(&inner) }));
        }),
        (Phase::Io, |cx, f| {
            let (ours, _) = UnixStream::pair().unwrap();
            let mut f = Some(f);
            let fd = ours.as_raw_fd();
            let callback = move |cx: &Cx, _: &UnixStream, _| {
                cx.unregister_fd(fd).unwrap();
                f.take().unwrap()(cx);
            };
            cx.register_fd(ours, Interest::READ, callback).unwrap();
        }),
    ];
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        for (phase, queue) in ways {
            let event_loop = measured(variant).panic_policy(policy).build().unwrap();
            let log = Log::new();
            queue(event_loop.cx(), Box::new(log.note(1)));
            queue(event_loop.cx(), Box::new(boom));
            queue(event_loop.cx(), Box::new(log.note(2)));
            queue(event_loop.cx(), Box::new(boom));
            queue(event_loop.cx(), Box::new(log.note(3)));
            let mut thrown = 0;
            while panic_of(|| event_loop.run_until_idle().unwrap()).is_some() {
                thrown += 1;
                check(&figures(event_loop.cx()));
            }
            let expected = if policy == PanicPolicy::Propagate { 2 } else { 0 };
            assert_eq!(thrown, expected, "{policy:?} {phase}");
            assert_eq!(log.take(), [1, 2, 3]);
            let metrics = figures(event_loop.cx());
            assert_eq!(counts(&metrics), table([(phase, 5)]), "{policy:?} {phase}");
            assert_eq!(metrics.panics, 2, "{policy:?} {phase}");
            // And it goes on to count.
            queue(event_loop.cx(), Box::new(log.note(4)));
            event_loop.run_until_idle().unwrap();
            let after = figures(event_loop.cx());
            check_order(&metrics, &after);
            assert_eq!(counts(&after), table([(phase, 6)]), "{policy:?} {phase}");
            assert!(
                after.ticks > metrics.ticks
                    || matches!(phase, Phase::Microtasks | Phase::NextTicks)
            );
        }
    }
}

// spec: MX-2, FA-2
fn panics_of_hooks_are_counted(variant: Variant) {
    for hook in [Hook::Prepare, Hook::Check, Hook::Idle, Hook::BeforeExit, Hook::Overload] {
        let mut panicked = false;
        let builder = hook.set(measured(variant), move |_| {
            if !std::mem::replace(&mut panicked, true) {
                panic!("expected by the test");
            }
        });
        let event_loop = builder.build().unwrap();
        hook.provoke(event_loop.cx());
        match hook {
            Hook::Idle => event_loop.turn(SLOW).map(drop).unwrap(),
            Hook::BeforeExit => event_loop.run_until_idle().unwrap(),
            _ => turn_until_quiet(&event_loop),
        }
        assert_eq!(figures(event_loop.cx()).panics, 1, "{hook:?}");
    }
}

// spec: MX-3
fn callbacks_may_read_what_was_counted(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    let before = Rc::new(RefCell::new(figures(event_loop.cx())));
    let ran = Rc::new(Cell::new(0));
    for round in 0..3 {
        for kind in Kind::ALL {
            let (before, ran) = (Rc::clone(&before), Rc::clone(&ran));
            kind.queue(event_loop.cx(), move |cx| {
                let metrics = figures(cx);
                check_order(&before.borrow(), &metrics);
                // The one that runs may count or not.
                let found = metrics.callbacks;
                assert!((ran.get()..=ran.get() + 1).contains(&found), "{round} {kind:?} {found}");
                // Whoever asks after that is not told less, be it here or elsewhere.
                let handle = cx.handle();
                let published = must_return(move || handle.metrics().unwrap());
                check(&published);
                check_order(&metrics, &published);
                assert_eq!(published.callbacks, found);
                before.replace(metrics);
                ran.set(ran.get() + 1);
            });
        }
        event_loop.run_until_idle().unwrap();
    }
    assert_eq!(figures(event_loop.cx()).callbacks, ran.get());
}

// spec: MX-3
fn hooks_may_read_what_was_counted(variant: Variant) {
    for hook in Hook::ALL {
        let called = Rc::new(Cell::new(false));
        let is_called = Rc::clone(&called);
        let builder = hook.set(measured(variant), move |cx| {
            figures(cx);
            check(&cx.handle().metrics().unwrap());
            drop(cx.why_alive());
            if !is_called.replace(true) {
                cx.submit_internal(|cx| cx.close()).unwrap();
            }
        });
        let event_loop = builder.build().unwrap();
        hook.provoke(event_loop.cx());
        match hook {
            Hook::BeforeExit => event_loop.run_until_idle().unwrap(),
            _ => event_loop.run().unwrap(),
        }
        assert!(called.get(), "{hook:?}");
        figures(event_loop.cx());
    }
}

// spec: MX-3
fn what_a_loop_did_can_be_read_after_it_is_gone(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    let (handle, cx) = (event_loop.handle(), event_loop.cx().clone());
    for _ in 0..5 {
        cx.submit(|_| ()).unwrap();
    }
    let id = cx.set_timeout(Duration::from_secs(60), |_| ()).unwrap();
    let (ours, _theirs) = UnixStream::pair().unwrap();
    cx.register_fd(ours, Interest::READ, |_, _, _| ()).unwrap();
    drop(cx.spawn_local(std::future::pending::<()>()));
    event_loop.turn(Duration::ZERO).unwrap();
    let before = figures(&cx);
    assert_eq!((before.timers, before.fds, before.futures), (1, 1, 1));
    drop(event_loop);
    assert!(!cx.clear_timeout(id));
    let published = must_return({
        let handle = handle.clone();
        move || handle.metrics().unwrap()
    });
    for metrics in [published, figures(&cx), handle.metrics().unwrap()] {
        check(&metrics);
        assert_eq!(counts(&metrics), table([(Phase::External, 5), (Phase::Futures, 1)]));
        assert_eq!((metrics.timers, metrics.fds, metrics.futures), (0, 0, 0), "all are gone");
        for &queue in Queue::ALL {
            assert_eq!(metrics.queue(queue).current, 0, "{queue}");
        }
    }
}

// spec: MX-2
fn a_loop_dropped_undriven_has_run_nothing(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    let handle = event_loop.handle();
    let tracker = Tracker::new();
    for kind in Kind::ALL {
        kind.queue(event_loop.cx(), tracker.callback());
    }
    let metrics = figures(event_loop.cx());
    assert_eq!((metrics.ticks, metrics.callbacks), (0, 0));
    drop(event_loop);
    assert_eq!((tracker.alive(), tracker.ran()), (0, 0));
    let metrics = handle.metrics().unwrap();
    check(&metrics);
    assert_eq!((metrics.ticks, metrics.callbacks, metrics.panics), (0, 0, 0));
}

// spec: MX-2, SD-1
fn what_a_shutdown_drains_is_counted(variant: Variant) {
    let (handle, thread) =
        variant.spawn(|builder| builder.metrics(true), |event_loop| event_loop.run().unwrap());
    let (running, is_running) = mpsc::channel();
    let (go, wait) = mpsc::channel();
    handle
        .submit(move |_| {
            running.send(()).unwrap();
            wait.recv().unwrap();
        })
        .unwrap();
    // A loop that has not begun to run would drop everything.
    is_running.recv().unwrap();
    for _ in 0..50 {
        handle
            .submit(|cx| {
                cx.submit_internal(|cx| cx.queue_microtask(|cx| cx.next_tick(|_| ()))).unwrap();
            })
            .unwrap();
    }
    let shutdown = thread::spawn({
        let handle = handle.clone();
        move || handle.shutdown(Deadline::NEVER).map(drop)
    });
    wait_until(|| handle.state().is_ending());
    go.send(()).unwrap();
    shutdown.join().unwrap().unwrap();
    thread.join().unwrap();
    let metrics = handle.metrics().unwrap();
    check(&metrics);
    let expected = table([
        (Phase::External, 51),
        (Phase::Internal, 50),
        (Phase::Microtasks, 50),
        (Phase::NextTicks, 50),
    ]);
    assert_eq!(counts(&metrics), expected);
}

// spec: MX-2
fn lateness_is_in_virtual_time(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = measured(variant).clock(&clock).build().unwrap();
    let second = Duration::from_secs(1);
    event_loop.cx().set_timeout(second, |_| ()).unwrap();
    clock.advance(5 * second);
    event_loop.turn(Duration::ZERO).unwrap();
    let lateness = figures(event_loop.cx()).lateness;
    assert_eq!((lateness.count, lateness.max, lateness.mean), (1, 4 * second, 4 * second));
    assert_eq!((lateness.p50, lateness.p99), (4 * second, 4 * second));
    // In time, and an interval that is late in its second run.
    event_loop.cx().set_interval(second, |_| ()).unwrap();
    clock.advance(second);
    event_loop.turn(Duration::ZERO).unwrap();
    clock.advance(3 * second);
    event_loop.turn(Duration::ZERO).unwrap();
    let lateness = figures(event_loop.cx()).lateness;
    assert_eq!((lateness.count, lateness.max, lateness.mean), (3, 4 * second, 2 * second));
    // One from another thread.
    let handle = event_loop.handle();
    must_return(move || _ = handle.set_timeout(second, |_| ()).unwrap());
    clock.advance(11 * second);
    event_loop.turn(Duration::ZERO).unwrap();
    let lateness = figures(event_loop.cx()).lateness;
    assert_eq!((lateness.count, lateness.max), (5, 10 * second));
    let metrics = figures(event_loop.cx());
    assert!(metrics.uptime < 10 * second, "that is real time: {:?}", metrics.uptime);
}

// spec: MX-2, R3
fn quantiles_of_lateness_are_close_to_the_exact_ones(variant: Variant) {
    const COUNT: u64 = 2_000;
    for stride in [1, 7, 997] {
        let clock = VirtualClock::new();
        let event_loop = measured(variant).clock(&clock).build().unwrap();
        for index in 0..COUNT {
            // All of them once, in an order that has no order if the stride is not 1.
            let late = Duration::from_millis((index * stride) % COUNT + 1);
            event_loop.cx().set_timeout(Duration::from_millis(1), |_| ()).unwrap();
            clock.advance(Duration::from_millis(1) + late);
            event_loop.turn(Duration::ZERO).unwrap();
        }
        let lateness = figures(event_loop.cx()).lateness;
        assert_eq!((lateness.count, lateness.max), (COUNT, Duration::from_millis(COUNT)));
        assert_eq!(lateness.mean, Duration::from_micros(1_000_500), "{stride}");
        for (found, exact) in
            [(lateness.p50, 0.5), (lateness.p90, 0.9), (lateness.p95, 0.95), (lateness.p99, 0.99)]
        {
            let exact = exact * COUNT as f64 / 1_000.0;
            let error = (found.as_secs_f64() - exact).abs() / exact;
            assert!(error < 0.05, "{stride}: {found:?} for {exact}");
        }
    }
}

// spec: MX-2
fn waits_are_in_real_time(variant: Variant) {
    let clock = VirtualClock::new();
    let event_loop = measured(variant).clock(&clock).build().unwrap();
    let begin = Instant::now();
    for kind in Kind::ALL {
        kind.queue(event_loop.cx(), |_| ());
    }
    clock.advance(Duration::from_secs(3_600));
    spin(SLOW);
    event_loop.run_until_idle().unwrap();
    let took = begin.elapsed();
    let metrics = figures(event_loop.cx());
    for queue in Queue::ALL.iter().copied().filter(|queue| *queue != Queue::Futures) {
        let wait = metrics.queue(queue).wait;
        assert_eq!(wait.count, 1, "{queue}");
        assert!(wait.max >= SLOW && wait.max <= took, "{queue}: {:?} of {took:?}", wait.max);
    }
}

fn queue_of(kind: Kind) -> Queue {
    match kind {
        Kind::Internal => Queue::Internal,
        Kind::External => Queue::External,
        Kind::NextTick => Queue::NextTicks,
        Kind::Microtask => Queue::Microtasks,
        Kind::Immediate => Queue::Immediates,
        Kind::Close => Queue::Closes,
    }
}

// spec: MX-2
fn a_wait_has_the_time_behind_a_slow_callback(variant: Variant) {
    for kind in Kind::ALL {
        let event_loop = measured(variant).build().unwrap();
        // Both are queued in a callback, so that nothing but the slow one is waited for.
        event_loop
            .cx()
            .submit(move |cx| {
                kind.queue(cx, |_| spin(SLOW));
                kind.queue(cx, |_| ());
            })
            .unwrap();
        event_loop.run_until_idle().unwrap();
        let metrics = figures(event_loop.cx());
        let wait = metrics.queue(queue_of(kind)).wait;
        let expected = if kind == Kind::External { 3 } else { 2 };
        assert_eq!(wait.count, expected, "{kind:?}: {wait:?}");
        assert!(wait.max >= SLOW && wait.max <= metrics.uptime, "{kind:?}: {wait:?}");
        assert!(wait.mean >= SLOW / 3, "{kind:?}: {wait:?}");
        // Nothing else has waited for that long.
        for queue in Queue::ALL.iter().copied().filter(|queue| *queue != queue_of(kind)) {
            assert!(metrics.queue(queue).wait.count <= 1, "{kind:?} {queue}");
        }
        assert!(metrics.run.max >= SLOW, "{kind:?}");
    }
}

// spec: MX-2
fn a_wait_that_began_on_another_thread_has_the_time_behind_a_slow_callback(variant: Variant) {
    type Send = fn(&Handle, Box<dyn FnOnce(&Cx) + std::marker::Send>);
    let ways: [(Queue, Send); 3] = [
        (Queue::External, |handle, task| handle.submit(task).map_err(drop).unwrap()),
        (Queue::Internal, |handle, task| handle.submit_internal(task).map_err(drop).unwrap()),
        (Queue::Microtasks, |handle, task| handle.queue_microtask(task).map_err(drop).unwrap()),
    ];
    for (queue, send) in ways {
        let (handle, thread) = variant.spawn(
            |builder| builder.metrics(true),
            |event_loop| {
                event_loop.run().unwrap();
                figures(event_loop.cx())
            },
        );
        let (running, is_running) = mpsc::channel();
        let (queued, is_queued) = mpsc::channel();
        handle
            .submit(move |_| {
                running.send(()).unwrap();
                is_queued.recv().unwrap();
                spin(SLOW);
            })
            .unwrap();
        is_running.recv().unwrap();
        send(&handle, Box::new(|cx| cx.shutdown()));
        queued.send(()).unwrap();
        let metrics = thread.join().unwrap();
        let wait = metrics.queue(queue).wait;
        assert!(wait.max >= SLOW && wait.max <= metrics.uptime, "{queue}: {wait:?}");
    }
}

// spec: MX-2
fn a_wait_before_the_loop_was_driven_is_a_wait(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    event_loop.cx().submit(|_| ()).unwrap();
    let handle = event_loop.handle();
    must_return(move || handle.submit_internal(|_| ()).unwrap());
    spin(SLOW);
    event_loop.run_until_idle().unwrap();
    let metrics = figures(event_loop.cx());
    assert!(metrics.queue(Queue::External).wait.max >= SLOW);
    assert!(metrics.queue(Queue::Internal).wait.max >= SLOW);
    assert!(metrics.busy + metrics.idle < metrics.uptime, "it was not driven meanwhile");
}

// spec: MX-2
fn a_slow_callback_after_many_fast_ones_is_measured(variant: Variant) {
    for kind in Kind::ALL {
        let event_loop = measured(variant).microtask_budget(None).build().unwrap();
        for _ in 0..50_000 {
            kind.queue(event_loop.cx(), |_| ());
        }
        kind.queue(event_loop.cx(), |_| spin(SLOW));
        // Of so many some have their waiting measured.
        for _ in 0..20_000 {
            kind.queue(event_loop.cx(), |_| ());
        }
        event_loop.run_until_idle().unwrap();
        let metrics = figures(event_loop.cx());
        assert_eq!(metrics.callbacks, 70_001);
        assert!(metrics.run.max >= SLOW, "{kind:?}: {:?}", metrics.run);
        assert!(metrics.tick.max >= SLOW || metrics.ticks == 0, "{kind:?}: {:?}", metrics.tick);
        assert!(metrics.busy >= SLOW, "{kind:?}: {:?}", metrics.busy);
        // How long all take does not follow from those that were measured.
        assert!(metrics.run.mean < SLOW / 10, "{kind:?}: {:?}", metrics.run);
        assert!(metrics.queue(queue_of(kind)).wait.max >= SLOW, "{kind:?}");
    }
}

// spec: MX-2
fn a_slow_callback_is_in_every_figure_that_it_belongs_to(variant: Variant) {
    for (phase, kind) in [
        (Phase::External, Kind::External),
        (Phase::Internal, Kind::Internal),
        (Phase::Microtasks, Kind::Microtask),
        (Phase::NextTicks, Kind::NextTick),
        (Phase::Check, Kind::Immediate),
        (Phase::Close, Kind::Close),
    ] {
        let event_loop = measured(variant).build().unwrap();
        event_loop.cx().submit(move |cx| kind.queue(cx, |_| spin(SLOW))).unwrap();
        event_loop.run_until_idle().unwrap();
        let metrics = figures(event_loop.cx());
        assert!(metrics.phase(phase).time >= SLOW, "{phase}: {metrics:?}");
        for other in Phase::ALL.iter().copied().filter(|other| *other != phase) {
            let time = metrics.phase(other).time;
            assert!(time < SLOW, "{phase}, but {other} took {time:?}");
        }
        assert!(metrics.tick.max >= SLOW, "{phase}: {:?}", metrics.tick);
        assert!(metrics.run.max >= SLOW, "{phase}: {:?}", metrics.run);
        assert!(metrics.busy >= SLOW, "{phase}");
        assert!(metrics.utilisation() > 0.0);
    }
    // Timers, futures, descriptors.
    let event_loop = measured(variant).build().unwrap();
    let cx = event_loop.cx();
    cx.set_timeout(Duration::ZERO, |_| spin(SLOW)).unwrap();
    event_loop.run_until_idle().unwrap();
    assert!(figures(cx).phase(Phase::Timers).time >= SLOW);
    drop(cx.spawn_local(async { spin(SLOW) }));
    event_loop.run_until_idle().unwrap();
    assert!(figures(cx).phase(Phase::Futures).time >= SLOW);
    let (ours, _) = UnixStream::pair().unwrap();
    let fd = ours.as_raw_fd();
    let slow = move |cx: &Cx, _: &UnixStream, _| {
        spin(SLOW);
        cx.unregister_fd(fd).unwrap();
    };
    cx.register_fd(ours, Interest::READ, slow).unwrap();
    event_loop.run_until_idle().unwrap();
    let metrics = figures(cx);
    assert!(metrics.phase(Phase::Io).time >= SLOW);
    assert!(metrics.busy >= 3 * SLOW);
}

// spec: MX-2
fn waiting_is_not_work(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    event_loop.turn(5 * SLOW).unwrap();
    let metrics = figures(event_loop.cx());
    assert!(metrics.idle >= 4 * SLOW, "{metrics:?}");
    assert!(metrics.tick.max < metrics.idle, "{metrics:?}");
    assert!(metrics.utilisation() < 0.5, "{metrics:?}");
    // A virtual wait takes no time.
    let clock = VirtualClock::auto();
    let event_loop = measured(variant).clock(&clock).build().unwrap();
    event_loop.cx().set_timeout(Duration::from_secs(3_600), |_| ()).unwrap();
    event_loop.run_until_idle().unwrap();
    let metrics = figures(event_loop.cx());
    assert!(metrics.idle < Duration::from_secs(60), "{metrics:?}");
}

// spec: MX-2
fn the_depth_of_a_queue_is_averaged_as_specified(variant: Variant) {
    let event_loop = measured(variant).external_budget(10).build().unwrap();
    for _ in 0..100 {
        event_loop.cx().submit(|_| ()).unwrap();
    }
    let mut average = None;
    let mut max = 0;
    for turn in 0..30 {
        if turn == 12 {
            for _ in 0..500 {
                event_loop.cx().submit(|_| ()).unwrap();
            }
        }
        // The look is taken when the tick begins.
        let found = event_loop.handle().pending() as u64;
        event_loop.turn(Duration::ZERO).unwrap();
        let metrics = event_loop.handle().metrics().unwrap();
        check(&metrics);
        let depth = metrics.queue(Queue::External);
        let latest = found as f64;
        let expected = average.map_or(latest, |average| average + 0.1 * (latest - average));
        assert!((depth.average - expected).abs() < 1e-9, "{turn}: {depth:?}, not {expected}");
        max = max.max(found);
        let left = event_loop.handle().pending() as u64;
        assert_eq!((depth.max, depth.current), (max, left), "{turn}");
        average = Some(expected);
    }
    assert_eq!(max, 500);
}

// Whoever asks changes nothing.
// spec: MX-2
fn reading_does_not_count_as_a_look(variant: Variant) {
    let average = |reads: usize| {
        let event_loop = measured(variant).external_budget(10).build().unwrap();
        for _ in 0..100 {
            event_loop.cx().submit(|_| ()).unwrap();
        }
        for _ in 0..5 {
            event_loop.turn(Duration::ZERO).unwrap();
            for _ in 0..reads {
                figures(event_loop.cx());
                event_loop.handle().metrics().unwrap();
            }
        }
        event_loop.handle().metrics().unwrap().queue(Queue::External).average
    };
    assert!((average(0) - average(7)).abs() < 1e-9, "{} {}", average(0), average(7));
}

// spec: MX-2
fn every_queue_is_found_deep(variant: Variant) {
    for kind in [Kind::External, Kind::Internal, Kind::Immediate, Kind::Close] {
        let event_loop = measured(variant).build().unwrap();
        for _ in 0..40 {
            kind.queue(event_loop.cx(), |_| ());
        }
        event_loop.run_until_idle().unwrap();
        let depth = figures(event_loop.cx()).queue(queue_of(kind));
        assert_eq!((depth.current, depth.max), (0, 40), "{kind:?}: {depth:?}");
    }
    let event_loop = measured(variant).future_budget(1).build().unwrap();
    for _ in 0..10 {
        drop(event_loop.cx().spawn_local(async {}));
    }
    event_loop.run_until_idle().unwrap();
    assert!(figures(event_loop.cx()).queue(Queue::Futures).max >= 8);
}

// They are empty between ticks, so a look that is taken there finds nothing.
// spec: MX-2
fn queues_that_are_emptied_by_checkpoints_are_found_deep(variant: Variant) {
    for kind in [Kind::Microtask, Kind::NextTick] {
        let event_loop = measured(variant).build().unwrap();
        for _ in 0..20 {
            let burst = move |cx: &Cx| (0..40).for_each(|_| kind.queue(cx, |_| ()));
            event_loop.cx().submit(burst).unwrap();
            event_loop.run_until_idle().unwrap();
        }
        let depth = figures(event_loop.cx()).queue(queue_of(kind));
        assert!(depth.max >= 30 && depth.average > 0.0, "{kind:?}: {depth:?}");
        assert_eq!(depth.current, 0, "{kind:?}: {depth:?}");
    }
}

// spec: MX-2
fn timers_descriptors_futures_and_jobs_are_counted_while_they_exist(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    let cx = event_loop.cx();
    let hour = Duration::from_secs(3_600);
    let timers: Vec<_> = (0..10).map(|_| cx.set_timeout(hour, |_| ()).unwrap()).collect();
    let interval = cx.set_interval(hour, |_| ()).unwrap();
    cx.reference_timer(interval, false).unwrap();
    let handle = event_loop.handle();
    let remote = must_return(move || handle.set_timeout(hour, |_| ()).unwrap());
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(figures(cx).timers, 12);
    assert_eq!(event_loop.handle().metrics().unwrap().timers, 12);
    for id in timers {
        cx.clear_timeout(id);
    }
    cx.clear_interval(interval);
    let handle = event_loop.handle();
    must_return(move || assert!(handle.clear_timeout(remote)));
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(figures(cx).timers, 0);
    assert_eq!(event_loop.handle().metrics().unwrap().timers, 0);

    let pairs: Vec<_> = (0..5).map(|_| UnixStream::pair().unwrap()).collect();
    let mut fds = Vec::new();
    let mut peers = Vec::new();
    for (ours, theirs) in pairs {
        fds.push(ours.as_raw_fd());
        peers.push(theirs);
        event_loop.handle().register_fd(ours, Interest::READ, |_, _, _| ()).unwrap();
    }
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(figures(cx).fds, 5);
    assert_eq!(event_loop.handle().metrics().unwrap().fds, 5);
    for fd in fds {
        cx.unregister_fd(fd).unwrap();
    }
    event_loop.turn(Duration::ZERO).unwrap();
    assert_eq!(figures(cx).fds, 0);
    assert_eq!(event_loop.handle().metrics().unwrap().fds, 0);

    let (go, wait) = mpsc::channel::<()>();
    let promise = cx.promisify(&AbortSignal::never(), move |_| {
        wait.recv().map_err(|_| Error::NotRunning).map(drop)
    });
    assert_eq!(figures(cx).jobs, 1);
    go.send(()).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(promise.state(), PromiseState::Fulfilled);
    // The worker may need a moment to see that it is done.
    wait_until(|| figures(cx).jobs == 0);
}

// spec: MX-2, WK-3
fn a_wake_is_issued_to_a_loop_that_sleeps_and_elided_otherwise(variant: Variant) {
    let (handle, thread) = variant.spawn(
        |builder| builder.metrics(true).max_spin(Duration::ZERO),
        |event_loop| {
            event_loop.run().unwrap();
            figures(event_loop.cx())
        },
    );
    for _ in 0..20 {
        wait_until_sleeping(&handle);
        handle.submit(|_| ()).unwrap();
        wait_until(|| handle.pending() == 0);
    }
    wait_until_sleeping(&handle);
    let metrics = handle.metrics().unwrap();
    assert_eq!((metrics.wakes_issued, metrics.wakes_elided), (20, 0));
    let (running, is_running) = mpsc::channel();
    let (queued, is_queued) = mpsc::channel();
    handle
        .submit(move |_| {
            running.send(()).unwrap();
            is_queued.recv().unwrap();
        })
        .unwrap();
    is_running.recv().unwrap();
    for _ in 0..10 {
        handle.submit(|_| ()).unwrap();
        handle.submit_internal(|_| ()).unwrap();
        handle.queue_microtask(|_| ()).unwrap();
    }
    queued.send(()).unwrap();
    wait_until(|| handle.pending() == 0);
    wait_until_sleeping(&handle);
    let metrics = handle.metrics().unwrap();
    assert_eq!((metrics.wakes_issued, metrics.wakes_elided), (21, 30));
    handle.shutdown(Deadline::NEVER).unwrap();
    thread.join().unwrap();
}

// spec: MX-2, IN-9
fn own_submissions_need_no_wake(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    for _ in 0..10 {
        event_loop.handle().submit(|cx| cx.handle().submit_internal(|_| ()).unwrap()).unwrap();
        event_loop.cx().submit(|cx| cx.queue_microtask(|_| ())).unwrap();
    }
    event_loop.run_until_idle().unwrap();
    let metrics = figures(event_loop.cx());
    assert_eq!((metrics.wakes_issued, metrics.wakes_elided), (0, 0));
}

// spec: MX-2, MT-3, IN-5
fn breaches_and_overloads_are_counted_as_often_as_they_are_reported(variant: Variant) {
    let (breaches, overloads) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (on_breach, on_overload) = (Rc::clone(&breaches), Rc::clone(&overloads));
    let event_loop = measured(variant)
        .microtask_budget(10)
        .external_budget(10)
        .on_diagnostic(move |_, _| on_breach.set(on_breach.get() + 1))
        .on_overload(move |_, _| on_overload.set(on_overload.get() + 1))
        .build()
        .unwrap();
    for _ in 0..35 {
        event_loop.cx().submit(|_| ()).unwrap();
    }
    event_loop.run_until_idle().unwrap();
    let metrics = figures(event_loop.cx());
    assert_eq!((metrics.overloads, overloads.get(), metrics.budget_breaches), (3, 3, 0));
    event_loop.cx().submit(|cx| (0..35).for_each(|_| cx.queue_microtask(|_| ()))).unwrap();
    event_loop.run_until_idle().unwrap();
    let metrics = figures(event_loop.cx());
    assert_eq!((metrics.budget_breaches, breaches.get(), metrics.overloads), (3, 3, 3));
    // A budget that is spent exactly is no breach.
    event_loop.cx().submit(|cx| (0..10).for_each(|_| cx.queue_microtask(|_| ()))).unwrap();
    for _ in 0..9 {
        event_loop.cx().submit(|_| ()).unwrap();
    }
    event_loop.run_until_idle().unwrap();
    let metrics = figures(event_loop.cx());
    assert_eq!((metrics.budget_breaches, metrics.overloads), (3, 3));
    // Without hooks, too.
    let event_loop = measured(variant).external_budget(1).build().unwrap();
    for _ in 0..3 {
        event_loop.cx().submit(|_| ()).unwrap();
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(figures(event_loop.cx()).overloads, 2);
}

// spec: MX-2
fn throughput_is_callbacks_by_time(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    for round in 1..=5 {
        for _ in 0..1_000 {
            event_loop.cx().submit(|_| ()).unwrap();
        }
        event_loop.run_until_idle().unwrap();
        // The window is never taken to be younger than a tenth of a second.
        spin(Duration::from_millis(110));
        let metrics = figures(event_loop.cx());
        let exact = metrics.callbacks as f64 / metrics.uptime.as_secs_f64();
        let error = (metrics.throughput - exact).abs() / exact;
        assert!(error < 0.1, "{round}: {} for {exact}", metrics.throughput);
    }
}

/// A window of ten seconds can only be seen by waiting for that long.
// spec: MX-2
#[test]
#[ignore = "takes twelve seconds"]
fn throughput_forgets_what_is_older_than_ten_seconds() {
    let _watchdog = watchdog("throughput_forgets_what_is_older_than_ten_seconds");
    let event_loop = common::builder().metrics(true).build().unwrap();
    for _ in 0..1_000 {
        event_loop.cx().submit(|_| ()).unwrap();
    }
    event_loop.run_until_idle().unwrap();
    event_loop.turn(Duration::from_secs(5)).unwrap();
    let metrics = figures(event_loop.cx());
    let exact = metrics.callbacks as f64 / metrics.uptime.as_secs_f64();
    assert!((metrics.throughput - exact).abs() / exact < 0.1, "{metrics:?}");
    let handle = event_loop.handle();
    let reader = thread::spawn(move || {
        thread::sleep(Duration::from_secs(6));
        // The loop sleeps, and has published nothing since.
        handle.metrics().unwrap()
    });
    event_loop.turn(Duration::from_secs(7)).unwrap();
    let asleep = reader.join().unwrap();
    assert!(asleep.throughput == 0.0, "{asleep:?}");
    assert!(asleep.uptime >= Duration::from_secs(10), "{asleep:?}");
    let metrics = figures(event_loop.cx());
    assert!(metrics.throughput == 0.0 && metrics.callbacks == 1_000, "{metrics:?}");
}

// spec: MX-3
fn snapshots_are_consistent_under_load(variant: Variant) {
    const EACH: u64 = 40_000;
    let (handle, thread) = variant.spawn(
        |builder| builder.metrics(true).high_water_mark(usize::MAX).external_budget(64),
        |event_loop| {
            let cx = event_loop.cx();
            let ticking = cx.set_interval(Duration::ZERO, |_| ()).unwrap();
            cx.reference_timer(ticking, false).unwrap();
            event_loop.run().unwrap();
            figures(event_loop.cx())
        },
    );
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut before = handle.metrics().unwrap();
                    let mut reads = 0_u64;
                    while !is_done.load(Ordering::Acquire) {
                        let metrics = handle.metrics().unwrap();
                        check(&metrics);
                        check_order(&before, &metrics);
                        before = metrics;
                        reads += 1;
                    }
                    reads
                })
            })
            .collect();
        let producers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for index in 0..EACH {
                        handle
                            .submit(|cx| {
                                cx.queue_microtask(|_| ());
                                cx.set_immediate(|_| ());
                            })
                            .unwrap();
                        if index % 64 == 0 {
                            handle.submit_internal(|cx| cx.queue_close(|_| ())).unwrap();
                            thread::yield_now();
                        }
                    }
                })
            })
            .collect();
        producers.into_iter().for_each(|thread| thread.join().unwrap());
        handle.shutdown(Deadline::NEVER).unwrap();
        is_done.store(true, Ordering::Release);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
    let metrics = thread.join().unwrap();
    assert_eq!(metrics.phase(Phase::External).callbacks, 2 * EACH);
    assert_eq!(metrics.phase(Phase::Microtasks).callbacks, 2 * EACH);
    assert_eq!(metrics.phase(Phase::Internal).callbacks, 2 * (EACH / 64));
    assert_eq!(counts(&handle.metrics().unwrap()), counts(&metrics));
}

// spec: MX-3
fn snapshots_of_a_loop_that_sleeps_are_up_to_date(variant: Variant) {
    let (handle, thread) =
        variant.spawn(|builder| builder.metrics(true), |event_loop| event_loop.run());
    for count in 1..200 {
        handle.submit(|_| ()).unwrap();
        wait_until(|| handle.pending() == 0);
        wait_until_sleeping(&handle);
        let metrics = handle.metrics().unwrap();
        check(&metrics);
        assert_eq!(metrics.callbacks, count);
        assert_eq!(metrics.queue(Queue::External).current, 0);
    }
    let uptime = handle.metrics().unwrap().uptime;
    let begin = Instant::now();
    spin(SLOW);
    let later = handle.metrics().unwrap();
    check(&later);
    assert_eq!(handle.state(), LoopState::Sleeping);
    assert!(later.uptime >= uptime + begin.elapsed() / 2, "{:?} after {uptime:?}", later.uptime);
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: MX-2, ST-6
fn loops_inside_each_other_are_measured_by_themselves(variant: Variant) {
    let outer = measured(variant).build().unwrap();
    let inner = measured(variant).build().unwrap();
    let (outer_handle, inner_cx) = (outer.handle(), inner.cx().clone());
    inner
        .cx()
        .submit(move |cx| {
            spin(SLOW);
            outer_handle.submit(|_| ()).unwrap();
            cx.queue_microtask(|_| ());
        })
        .unwrap();
    outer
        .cx()
        .submit(move |cx| {
            inner.run_until_idle().unwrap();
            assert_eq!(figures(inner.cx()).callbacks, 2);
            cx.queue_microtask(|_| ());
            drop(inner);
        })
        .unwrap();
    outer.run_until_idle().unwrap();
    let (metrics, inside) = (figures(outer.cx()), figures(&inner_cx));
    assert_eq!(counts(&inside), table([(Phase::External, 1), (Phase::Microtasks, 1)]));
    assert_eq!(counts(&metrics), table([(Phase::External, 2), (Phase::Microtasks, 1)]));
    assert!(inside.busy >= SLOW && metrics.busy >= inside.busy, "{metrics:?} {inside:?}");
    assert!(metrics.run.max >= inside.run.max);
}

// spec: MX-2, ST-6
fn a_reentrant_run_changes_no_figure(variant: Variant) {
    let event_loop = Rc::new(measured(variant).build().unwrap());
    let weak = Rc::downgrade(&event_loop);
    event_loop
        .cx()
        .submit(move |cx| {
            let event_loop = weak.upgrade().unwrap();
            let before = figures(cx);
            assert!(matches!(event_loop.run(), Err(Error::ReentrantRun)));
            assert!(matches!(event_loop.run_until_idle(), Err(Error::ReentrantRun)));
            assert!(matches!(event_loop.turn(None), Err(Error::ReentrantRun)));
            assert!(matches!(event_loop.run_microtasks(), Err(Error::ReentrantRun)));
            assert!(matches!(event_loop.run_until_aborted(|| true), Err(Error::ReentrantRun)));
            assert!(matches!(event_loop.block_on(async {}), Err(Error::ReentrantRun)));
            let after = figures(cx);
            assert_eq!((before.ticks, counts(&before)), (after.ticks, counts(&after)));
        })
        .unwrap();
    event_loop.run_until_idle().unwrap();
    let metrics = figures(event_loop.cx());
    assert_eq!((metrics.callbacks, metrics.panics, metrics.futures), (1, 0, 0));
}

// spec: MX-2
fn a_checkpoint_by_itself_is_counted_and_is_no_tick(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    event_loop.cx().queue_microtask(|cx| cx.next_tick(|_| ()));
    event_loop.cx().set_immediate(|_| ());
    event_loop.run_microtasks().unwrap();
    let metrics = figures(event_loop.cx());
    assert_eq!(metrics.ticks, 0);
    assert_eq!(counts(&metrics), table([(Phase::Microtasks, 1), (Phase::NextTicks, 1)]));
    assert_eq!(event_loop.handle().metrics().unwrap().callbacks, 2);
    // Slow ones are work as well, wherever they are.
    event_loop.cx().queue_microtask(|_| spin(SLOW));
    event_loop.run_microtasks().unwrap();
    let metrics = figures(event_loop.cx());
    assert!(metrics.busy >= SLOW, "{metrics:?}");
    assert!(metrics.phase(Phase::Microtasks).time >= SLOW, "{metrics:?}");
}

// spec: MX-2
fn turns_count_ticks(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    for tick in 1..=100 {
        event_loop.turn(Duration::ZERO).unwrap();
        let metrics = figures(event_loop.cx());
        assert_eq!((metrics.ticks, metrics.tick.count), (tick, tick));
        assert_eq!(event_loop.handle().metrics().unwrap().ticks, tick);
    }
}

// spec: MX-3, SH-5
fn each_loop_of_a_group_has_figures_of_its_own(_: Variant) {
    let group = LoopGroup::builder()
        .loops(3)
        .configure(|_, builder| builder.metrics(true))
        .build()
        .unwrap();
    let handles = group.handles();
    for (index, handle) in handles.iter().enumerate() {
        for _ in 0..=index {
            handle.submit(|_| ()).unwrap();
        }
    }
    for (index, handle) in handles.iter().enumerate() {
        wait_until(|| {
            let metrics = handle.metrics().unwrap();
            check(&metrics);
            metrics.phase(Phase::External).callbacks == index as u64 + 1
        });
    }
    group.shutdown(Duration::from_secs(20)).unwrap();
    for (index, handle) in handles.iter().enumerate() {
        let metrics = handle.metrics().unwrap();
        check(&metrics);
        assert_eq!(metrics.phase(Phase::External).callbacks, index as u64 + 1);
        assert_eq!(metrics.futures, 0);
    }
}

// spec: MX-2, FA-3
fn a_loop_that_is_measured_again_after_a_panic_goes_on_to_count(variant: Variant) {
    let event_loop = measured(variant).panic_policy(PanicPolicy::Propagate).build().unwrap();
    let mut before = figures(event_loop.cx());
    for round in 1..=20 {
        event_loop.cx().submit(|cx| cx.queue_microtask(|_| ())).unwrap();
        event_loop.cx().submit(|_| panic!("expected by the test")).unwrap();
        event_loop.cx().set_immediate(|_| ());
        assert!(panic_of(|| event_loop.turn(Duration::ZERO)).is_some());
        // Not driven for a while, which is neither work nor waiting.
        spin(Duration::from_millis(1));
        event_loop.run_until_idle().unwrap();
        let metrics = figures(event_loop.cx());
        check_order(&before, &metrics);
        assert_eq!((metrics.panics, metrics.callbacks), (round, 4 * round));
        let apart = metrics.uptime - metrics.busy - metrics.idle;
        assert!(apart >= Duration::from_millis(round), "{apart:?}");
        before = metrics;
    }
}

// spec: MX-2
fn a_promise_and_a_worker_are_counted(variant: Variant) {
    let event_loop = measured(variant).build().unwrap();
    let promise = event_loop.handle().promisify(&AbortSignal::never(), |_| Ok::<_, Error>(7));
    let seen = Arc::new(Mutex::new(0));
    let store = Arc::clone(&seen);
    drop(promise.then(move |_, value| *store.lock().unwrap() = value));
    event_loop.run_until_idle().unwrap();
    assert_eq!(*seen.lock().unwrap(), 7);
    wait_until(|| figures(event_loop.cx()).jobs == 0);
    let metrics = figures(event_loop.cx());
    // The result comes by the internal lane, and the handler is a microtask.
    assert_eq!(metrics.phase(Phase::Internal).callbacks, 1, "{:?}", counts(&metrics));
    assert!(metrics.phase(Phase::Microtasks).callbacks >= 1, "{:?}", counts(&metrics));
}
