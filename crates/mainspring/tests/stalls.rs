//! Callbacks that run for too long are reported while they do.
//!
//! A callback that is to stall blocks until its stall was reported, so that no test depends on how long
//! something takes.
#![cfg(all(feature = "metrics", target_os = "linux", not(loom)))]

mod common;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::os::unix::net::UnixStream;
use std::panic::resume_unwind;
use std::process::Command;
use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use common::{Hook, Kind, Variant, must_return, panic_of, wait_until, wait_until_sleeping};
use mainspring::{
    Builder, Cx, Deadline, Error, EventLoop, Handle, Interest, LoopGroup, PanicPolicy, Phase,
    Stall, VirtualClock, Watch,
};

suite![
    the_place_is_where_a_callback_was_scheduled,
    the_place_is_where_another_thread_scheduled_a_callback,
    the_place_is_where_a_descriptor_was_registered,
    the_place_is_where_a_future_was_spawned,
    an_interval_has_its_place_in_every_run,
    a_function_that_tracks_its_caller_passes_the_place_on,
    a_stall_of_a_callback_without_a_place_has_none_of_another,
    a_stall_between_callbacks_is_reported_and_is_of_none_of_them,
    a_stall_in_a_hook_is_one_of_the_embedder,
    a_stall_is_listed_while_it_lasts_and_after,
    a_stall_is_reported_once_however_long_it_lasts,
    each_of_several_stalls_is_reported,
    only_the_last_stalls_are_kept,
    a_stall_that_ends_with_a_panic_is_over,
    a_hook_that_panics_is_called_again,
    a_loop_that_slept_is_watched_again,
    many_short_callbacks_are_no_stall,
    a_loop_that_waits_is_no_stall,
    a_loop_that_is_not_driven_is_no_stall,
    time_is_real_also_with_a_virtual_clock,
    a_stall_inside_another_loop_is_one_of_both,
    loops_of_guests_and_groups_are_watched,
    stalls_while_the_loop_ends_are_reported,
    a_hook_without_a_threshold_does_nothing,
    a_threshold_may_be_of_any_size,
    the_loop_goes_on_if_nobody_listens,
];

/// Keeps callbacks busy until their stall was reported, and knows what was.
#[derive(Clone)]
struct Blocker {
    reports: Arc<Mutex<mpsc::Receiver<Stall>>>,
    all: Arc<Mutex<Vec<Stall>>>,
}

impl Blocker {
    /// Returns when a stall was reported.
    fn block(&self) -> Stall {
        let report = self.reports.lock().unwrap().recv_timeout(Duration::from_secs(30));
        let stall = report.expect("a stall is reported while it lasts");
        assert!(!stall.is_over);
        stall
    }

    /// Returns when one of this phase was reported. On a machine with a load others may stall, too.
    fn block_in(&self, phase: Phase) -> Stall {
        loop {
            let stall = self.block();
            if stall.phase == phase {
                return stall;
            }
        }
    }

    fn callback(&self) -> impl FnOnce(&Cx) + Send + 'static {
        let blocker = self.clone();
        move |_| _ = blocker.block()
    }

    /// All reports so far.
    fn all(&self) -> Vec<Stall> {
        self.all.lock().unwrap().clone()
    }

    /// Those of stalls that were over, as soon as there are so many.
    fn over(&self, count: usize) -> Vec<Stall> {
        let over = || self.all().into_iter().filter(|stall| stall.is_over).collect::<Vec<_>>();
        wait_until(|| over().len() >= count);
        over()
    }
}

/// More than a machine with a load usually takes a processor away for.
const THRESHOLD: Duration = Duration::from_millis(25);

fn watched(builder: Builder) -> (Builder, Blocker) {
    watched_at(builder, THRESHOLD)
}

fn watched_at(builder: Builder, threshold: Duration) -> (Builder, Blocker) {
    let (sender, receiver) = mpsc::channel();
    let all = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&all);
    let builder = builder.stall_threshold(threshold).on_stall(move |stall| {
        log.lock().unwrap().push(*stall);
        if !stall.is_over {
            let _ = sender.send(*stall);
        }
    });
    (builder, Blocker { reports: Arc::new(Mutex::new(receiver)), all })
}

/// That the last stall was that of something scheduled here.
#[track_caller]
fn check(blocker: &Blocker, name: &str, phase: Phase, line: u32) {
    let stall = *blocker.all().iter().rev().find(|stall| !stall.is_over).unwrap();
    let place = stall.place.unwrap_or_else(|| panic!("{name}: no place in {stall:?}"));
    assert_eq!((place.file(), place.line()), (file!(), line), "{name}: {stall:?}");
    assert_eq!(stall.phase, phase, "{name}: {stall:?}");
    assert!(stall.duration >= THRESHOLD / 2, "{name}: {stall:?}");
    let text = stall.to_string();
    assert!(text.contains(&format!("{}:{line}", file!())), "{text}");
    assert!(text.contains(&phase.to_string()) && text.contains("has been running"), "{text}");
}

fn quiet(event_loop: &EventLoop) {
    event_loop.run_until_idle().unwrap();
}

// The issue: "reported with its phase, its location and its duration, while it is still running".
fn the_place_is_where_a_callback_was_scheduled(variant: Variant) {
    let (builder, blocker) = watched(variant.builder());
    let event_loop = builder.build().unwrap();
    let cx = event_loop.cx();
    let soon = Duration::ZERO;
    macro_rules! check_each {
        ($($phase:ident $name:literal: $schedule:expr;)*) => { $({
            let schedule: &dyn Fn() -> u32 = &$schedule;
            let line = schedule();
            quiet(&event_loop);
            check(&blocker, $name, Phase::$phase, line);
            // The same from inside a callback, and with some work of the same kind around it.
        })* };
    }
    let block = || blocker.callback();
    check_each! {
        External "submit": || { cx.submit(block()).unwrap(); line!() };
        Internal "submit_internal": || { cx.submit_internal(block()).unwrap(); line!() };
        Microtasks "queue_microtask": || { cx.queue_microtask(block()); line!() };
        Microtasks "try_queue_microtask": || {
            cx.try_queue_microtask(block()).unwrap();
            line!() - 1
        };
        NextTicks "next_tick": || { cx.next_tick(block()); line!() };
        Check "set_immediate": || { cx.set_immediate(block()); line!() };
        Close "queue_close": || { cx.queue_close(block()); line!() };
        Timers "set_timeout": || { cx.set_timeout(soon, block()).unwrap(); line!() };
        Timers "set_timeout_at": || { cx.set_timeout_at(Instant::now(), block()).unwrap(); line!() };
    }
    // The handle of the loop's own thread.
    let handle = event_loop.handle();
    check_each! {
        External "handle.submit": || { handle.submit(block()).unwrap(); line!() };
        Internal "handle.submit_internal": || { handle.submit_internal(block()).unwrap(); line!() };
        Microtasks "handle.queue_microtask": || { handle.queue_microtask(block()).unwrap(); line!() };
        Timers "handle.set_timeout": || { handle.set_timeout(soon, block()).unwrap(); line!() };
    }
    // From callbacks of each kind, with others before and after.
    for kind in Kind::ALL {
        let (callback, line) = (block(), Rc::new(Cell::new(0)));
        let noted = Rc::clone(&line);
        event_loop
            .cx()
            .submit(move |cx| {
                cx.queue_microtask(|_| ());
                kind.queue(cx, |_| ());
                kind.queue(cx, move |cx| {
                    cx.submit_internal(|_| ()).unwrap();
                    noted.set(line!() + 1);
                    cx.submit_internal(callback).unwrap();
                    cx.submit_internal(|_| ()).unwrap();
                });
                kind.queue(cx, |_| ());
            })
            .unwrap();
        quiet(&event_loop);
        check(&blocker, &format!("inside {kind:?}"), Phase::Internal, line.get());
    }
}

fn the_place_is_where_another_thread_scheduled_a_callback(variant: Variant) {
    let (builder, blocker) = watched(variant.builder());
    let event_loop = builder.build().unwrap();
    let soon = Duration::ZERO;
    type Schedule = Box<dyn FnOnce(&Handle) -> u32 + Send>;
    let callback = || blocker.callback();
    let (a, b, c, d, e) = (callback(), callback(), callback(), callback(), callback());
    let ways: [(&str, Phase, Schedule); 5] = [
        (
            "submit",
            Phase::External,
            Box::new(|handle| {
                handle.submit(a).unwrap();
                line!() - 1
            }),
        ),
        (
            "submit_internal",
            Phase::Internal,
            Box::new(|handle| {
                handle.submit_internal(b).unwrap();
                line!() - 1
            }),
        ),
        (
            "queue_microtask",
            Phase::Microtasks,
            Box::new(|handle| {
                handle.queue_microtask(c).unwrap();
                line!() - 1
            }),
        ),
        (
            "set_timeout",
            Phase::Timers,
            Box::new(move |handle| {
                handle.set_timeout(soon, d).unwrap();
                line!() - 1
            }),
        ),
        (
            "set_timeout_at",
            Phase::Timers,
            Box::new(|handle| {
                handle.set_timeout_at(Instant::now(), e).unwrap();
                line!() - 1
            }),
        ),
    ];
    for (name, phase, schedule) in ways {
        let handle = event_loop.handle();
        let line = must_return(move || schedule(&handle));
        quiet(&event_loop);
        check(&blocker, name, phase, line);
    }
}

fn the_place_is_where_a_descriptor_was_registered(variant: Variant) {
    let (builder, blocker) = watched(variant.builder());
    let event_loop = builder.build().unwrap();
    let cx = event_loop.cx();
    // A socket whose peer is gone is readable.
    let ready = || UnixStream::pair().unwrap().0;
    let block = {
        let blocker = blocker.clone();
        move |cx: &Cx, source: &UnixStream| {
            blocker.block();
            use std::os::fd::AsRawFd;
            cx.unwatch(source.as_raw_fd());
        }
    };
    let other = block.clone();
    let watch = Watch::new().read(other);
    let line = line!() + 1;
    let watcher = cx.watch(ready(), watch).unwrap();
    quiet(&event_loop);
    check(&blocker, "watch", Phase::Io, line);
    drop(watcher);

    let source = Rc::new(ready());
    let watch = Watch::new().read(block.clone());
    let line = line!() + 1;
    let watcher = cx.watch_weak(&source, watch).unwrap();
    quiet(&event_loop);
    check(&blocker, "watch_weak", Phase::Io, line);
    drop(watcher);

    let other = block.clone();
    let callback = move |cx: &Cx, source: &UnixStream, _| other(cx, source);
    let line = line!() + 1;
    cx.register_fd(ready(), Interest::READ, callback).unwrap();
    quiet(&event_loop);
    check(&blocker, "register_fd", Phase::Io, line);

    let callback = move |cx: &Cx, source: &UnixStream, _| block(cx, source);
    let handle = event_loop.handle();
    let line = must_return(move || {
        handle.register_fd(ready(), Interest::READ, callback).unwrap();
        line!() - 1
    });
    quiet(&event_loop);
    check(&blocker, "register_fd from another thread", Phase::Io, line);
}

fn the_place_is_where_a_future_was_spawned(variant: Variant) {
    let (builder, blocker) = watched(variant.builder());
    let event_loop = builder.build().unwrap();
    let cx = event_loop.cx();
    // In the first poll, and in a later one.
    for polls in [0, 1, 3] {
        let (inner, callback) = (cx.clone(), blocker.callback());
        let future = async move {
            for _ in 0..polls {
                inner.yield_now().await;
            }
            callback(&inner);
        };
        let line = line!() + 1;
        let joined = cx.spawn_local(future);
        quiet(&event_loop);
        check(&blocker, "spawn_local", Phase::Futures, line);
        drop(joined);
    }
    // Woken by another thread.
    let (waker, woken) = mpsc::channel();
    let (inner, callback) = (cx.clone(), blocker.callback());
    let mut is_second = false;
    let wait = poll_fn(move |context| {
        if std::mem::replace(&mut is_second, true) {
            return Poll::Ready(());
        }
        waker.send(context.waker().clone()).unwrap();
        Poll::Pending
    });
    let future = async move {
        wait.await;
        callback(&inner);
    };
    let line = line!() + 1;
    let joined = cx.spawn_local(future);
    let thread = thread::spawn(move || woken.recv().unwrap().wake());
    quiet(&event_loop);
    thread.join().unwrap();
    check(&blocker, "spawn_local, woken from elsewhere", Phase::Futures, line);
    drop(joined);

    let callback = blocker.callback();
    let handle = event_loop.handle();
    let line = must_return(move || {
        let start = move |cx: &Cx| {
            let cx = cx.clone();
            async move {
                cx.yield_now().await;
                callback(&cx);
            }
        };
        drop(handle.spawn(start));
        line!() - 1
    });
    quiet(&event_loop);
    check(&blocker, "spawn", Phase::Futures, line);

    let (inner, callback) = (cx.clone(), blocker.callback());
    let line = line!() + 1;
    event_loop.block_on(async { callback(&inner) }).unwrap();
    check(&blocker, "block_on", Phase::Futures, line);
}

fn an_interval_has_its_place_in_every_run(variant: Variant) {
    let (builder, blocker) = watched(variant.builder());
    let event_loop = builder.build().unwrap();
    let period = Duration::from_micros(100);
    let callback = || {
        let blocker = blocker.clone();
        let mut runs = 0;
        move |cx: &Cx| {
            runs += 1;
            blocker.block();
            if runs == 3 {
                cx.clear_interval(cx.current_interval().unwrap());
            }
        }
    };
    let cx = event_loop.cx();
    let mut count = 0;
    let mut check_all = |name, line| {
        quiet(&event_loop);
        let all: Vec<_> = blocker.all().into_iter().filter(|stall| !stall.is_over).collect();
        count += 3;
        assert_eq!(all.len(), count, "{name}");
        for stall in &all[count - 3..] {
            let place = stall.place.unwrap_or_else(|| panic!("{name}: no place"));
            assert_eq!((place.file(), place.line()), (file!(), line), "{name}");
            assert_eq!(stall.phase, Phase::Timers);
        }
    };
    let line = line!() + 1;
    cx.set_interval(period, callback()).unwrap();
    check_all("set_interval", line);
    let line = line!() + 1;
    cx.set_interval_fixed_rate(period, callback()).unwrap();
    check_all("set_interval_fixed_rate", line);
    let (handle, sent) = (event_loop.handle(), callback());
    let line = must_return(move || {
        handle.set_interval(period, sent).unwrap();
        line!() - 1
    });
    check_all("set_interval from another thread", line);
    let (handle, sent) = (event_loop.handle(), callback());
    let line = must_return(move || {
        handle.set_interval_fixed_rate(period, sent).unwrap();
        line!() - 1
    });
    check_all("set_interval_fixed_rate from another thread", line);
    // One that is set anew keeps its place.
    let line = line!() + 1;
    let id = cx.set_timeout(Duration::from_secs(60), blocker.callback()).unwrap();
    cx.reset_timeout(id, Duration::ZERO).unwrap();
    quiet(&event_loop);
    check(&blocker, "reset_timeout", Phase::Timers, line);
}

fn a_function_that_tracks_its_caller_passes_the_place_on(variant: Variant) {
    #[track_caller]
    fn schedule(cx: &Cx, callback: impl FnOnce(&Cx) + 'static) {
        cx.set_immediate(callback);
    }
    let (builder, blocker) = watched(variant.builder());
    let event_loop = builder.build().unwrap();
    let line = line!() + 1;
    schedule(event_loop.cx(), blocker.callback());
    quiet(&event_loop);
    check(&blocker, "a function around it", Phase::Check, line);
}

// What has no place must not have that of whatever ran before.
fn a_stall_of_a_callback_without_a_place_has_none_of_another(variant: Variant) {
    let (builder, blocker) = watched(variant.builder());
    let inner = blocker.clone();
    let calls = Cell::new(0);
    let stalled = Rc::new(Cell::new(None));
    let found = Rc::clone(&stalled);
    let event_loop = builder
        .on_check(move |_| {
            calls.set(calls.get() + 1);
            if calls.get() == 2 {
                found.set(Some(inner.block_in(Phase::Hook)));
            }
        })
        .build()
        .unwrap();
    for kind in Kind::ALL {
        kind.queue(event_loop.cx(), |_| ());
    }
    event_loop.cx().set_timeout(Duration::ZERO, |_| ()).unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    for kind in Kind::ALL {
        kind.queue(event_loop.cx(), |_| ());
    }
    event_loop.turn(Duration::ZERO).unwrap();
    let stall = stalled.take().unwrap();
    assert_eq!(stall.place, None, "{stall:?}");

    // A promise's handler is no callback of a timer or a task.
    let (promise, resolver) = mainspring::Promise::with_resolvers(&event_loop.handle());
    let inner = blocker.clone();
    drop(promise.then(move |_, ()| _ = inner.block()));
    event_loop.cx().submit(move |_| assert!(resolver.resolve(()))).unwrap();
    let line = line!() - 1;
    event_loop.turn(Duration::ZERO).unwrap();
    let stall = blocker.all().into_iter().rfind(|stall| !stall.is_over).unwrap();
    assert_eq!(stall.phase, Phase::Microtasks, "{stall:?}");
    assert_ne!(stall.place.map(|place| place.line()), Some(line), "{stall:?}");
}

/// Blocks when it is dropped, until a stall without a place was reported, and notes the phase of that.
struct Blocks(Blocker, Rc<Cell<Option<Phase>>>);

impl Drop for Blocks {
    fn drop(&mut self) {
        // On a machine with a load a callback may take long, too.
        while self.1.get().is_none() {
            let stall = self.0.block();
            self.1.set(stall.place.is_none().then_some(stall.phase));
        }
    }
}

// The loop drops what other threads have cleared or removed, and what is left when it ends.
fn a_stall_between_callbacks_is_reported_and_is_of_none_of_them(variant: Variant) {
    let (builder, blocker) = watched(variant.builder());
    let event_loop = builder.build().unwrap();
    let (cx, handle) = (event_loop.cx(), event_loop.handle());
    let blocks = || {
        let phase = Rc::new(Cell::new(None));
        (Blocks(blocker.clone(), Rc::clone(&phase)), phase)
    };
    let set_timeout = || {
        let (blocks, phase) = blocks();
        let far = Duration::from_secs(3_600);
        (cx.set_timeout(far, move |_| drop(blocks)).unwrap(), phase)
    };

    // Before the first callback of a tick.
    let ((id, phase), other) = (set_timeout(), handle.clone());
    must_return(move || assert!(other.clear_timeout(id)));
    quiet(&event_loop);
    assert_eq!(phase.get(), Some(Phase::Timers));

    // After the last one of a tick.
    let ((id, phase), other) = (set_timeout(), handle.clone());
    cx.set_immediate(move |_| must_return(move || assert!(other.clear_timeout(id))));
    quiet(&event_loop);
    assert!(phase.get().is_some());

    // Between two of them.
    let (source, _peer) = UnixStream::pair().unwrap();
    let (blocks, phase) = blocks();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&source);
    let callback = move |_: &Cx, _: &UnixStream, _| _ = &blocks;
    cx.register_fd(source, Interest::READ, callback).unwrap();
    let other = handle.clone();
    cx.submit(move |_| must_return(move || other.unregister_fd(fd).unwrap())).unwrap();
    quiet(&event_loop);
    assert!(phase.get().is_some());

    let (_, phase) = set_timeout();
    cx.submit(|cx| cx.close()).unwrap();
    event_loop.run().unwrap();
    assert!(phase.get().is_some());
}

fn a_stall_in_a_hook_is_one_of_the_embedder(variant: Variant) {
    for hook in Hook::ALL {
        let (builder, blocker) = watched(variant.builder());
        let stalled = Rc::new(Cell::new(None));
        let found = Rc::clone(&stalled);
        let mut is_first = true;
        let builder = hook.set(builder, move |cx| {
            if std::mem::replace(&mut is_first, false) {
                // That of a panic is called in the phase of the callback.
                let phase = if hook == Hook::Uncaught { Phase::External } else { Phase::Hook };
                found.set(Some(blocker.block_in(phase)));
                cx.close();
            }
        });
        let event_loop = builder.build().unwrap();
        hook.provoke(event_loop.cx());
        match hook {
            Hook::BeforeExit => event_loop.run_until_idle().unwrap(),
            _ => event_loop.run().unwrap(),
        }
        let stall = stalled.take().unwrap();
        assert_eq!(stall.place, None, "{hook:?}: {stall:?}");
    }
    // The condition is one, too.
    let (builder, blocker) = watched(variant.builder());
    let event_loop = builder.build().unwrap();
    let inner = blocker.clone();
    event_loop
        .run_until_aborted(move || {
            inner.block();
            true
        })
        .unwrap();
    assert_eq!(blocker.all()[0].phase, Phase::Hook);
}

fn a_stall_is_listed_while_it_lasts_and_after(variant: Variant) {
    let (builder, blocker) = watched(variant.builder());
    let event_loop = builder.build().unwrap();
    let (handle, inner) = (event_loop.handle(), blocker.clone());
    assert!(handle.stalls().is_empty());
    let begin = Instant::now();
    let long = 10 * THRESHOLD;
    event_loop
        .cx()
        .submit(move |cx| {
            let reported = inner.block();
            let listed = cx.handle().stalls();
            assert_eq!(listed.len(), 1);
            assert!(!listed[0].is_over);
            assert_eq!(listed[0].began, reported.began);
            assert_eq!((listed[0].place, listed[0].phase), (reported.place, reported.phase));
            let elsewhere = cx.handle();
            assert_eq!(must_return(move || elsewhere.stalls().len()), 1);
            while begin.elapsed() < long {
                std::hint::spin_loop();
            }
        })
        .unwrap();
    quiet(&event_loop);
    let end = Instant::now();
    let over = blocker.over(1);
    let listed = handle.stalls();
    assert_eq!(listed.len(), 1, "{listed:?}");
    for stall in [over[0], listed[0]] {
        assert!(stall.is_over, "{stall:?}");
        assert!(stall.began >= begin && stall.began + THRESHOLD <= end, "{stall:?}");
        assert!(stall.duration >= long - 2 * THRESHOLD, "{stall:?}");
        assert!(stall.to_string().contains("ran for"), "{stall}");
    }
    assert_eq!(handle.metrics().unwrap().stalls, 1);
    // It outlives the loop.
    drop(event_loop);
    assert_eq!(handle.stalls().len(), 1);
    assert_eq!(handle.metrics().unwrap().stalls, 1);
}

fn a_stall_is_reported_once_however_long_it_lasts(variant: Variant) {
    let (builder, blocker) = watched(variant.builder());
    let event_loop = builder.build().unwrap();
    let inner = blocker.clone();
    event_loop
        .cx()
        .submit(move |cx| {
            inner.block();
            let begin = Instant::now();
            while begin.elapsed() < 20 * THRESHOLD {
                // It is the same callback, whatever it queues.
                cx.queue_microtask(|_| ());
                cx.submit(|_| ()).unwrap();
                thread::yield_now();
            }
        })
        .unwrap();
    event_loop.turn(Duration::ZERO).unwrap();
    blocker.over(1);
    let first = blocker.all();
    let of_first: Vec<_> = first.iter().filter(|stall| stall.began == first[0].began).collect();
    assert_eq!(of_first.len(), 2, "{first:?}");
    assert!(!of_first[0].is_over && of_first[1].is_over, "{first:?}");
}

fn each_of_several_stalls_is_reported(variant: Variant) {
    let (builder, blocker) = watched(variant.builder());
    let event_loop = builder.build().unwrap();
    let cx = event_loop.cx();
    // Next to each other in one phase, in a checkpoint of it, and in the next phases.
    let (second, third) = (blocker.callback(), blocker.callback());
    cx.submit(blocker.callback()).unwrap();
    let inner = blocker.clone();
    cx.submit(move |cx| {
        inner.block();
        cx.queue_microtask(second);
        cx.next_tick(third);
    })
    .unwrap();
    cx.set_immediate(blocker.callback());
    cx.queue_close(blocker.callback());
    quiet(&event_loop);
    blocker.over(6);
    let begun: Vec<_> = blocker.all().into_iter().filter(|stall| !stall.is_over).collect();
    let phases: Vec<_> = begun.iter().map(|stall| stall.phase).collect();
    let expected = [
        Phase::External,
        Phase::External,
        Phase::NextTicks,
        Phase::Microtasks,
        Phase::Check,
        Phase::Close,
    ];
    assert_eq!(phases, expected);
    let listed: Vec<_> = event_loop.handle().stalls().iter().map(|stall| stall.phase).collect();
    assert_eq!(listed, expected);
    assert!(begun.is_sorted_by_key(|stall| stall.began));
    assert_eq!(cx.metrics().unwrap().stalls, 6);
}

fn only_the_last_stalls_are_kept(variant: Variant) {
    let (builder, blocker) = watched_at(variant.builder(), Duration::from_millis(1));
    let event_loop = builder.build().unwrap();
    for _ in 0..50 {
        event_loop.cx().submit(blocker.callback()).unwrap();
    }
    quiet(&event_loop);
    let over = blocker.over(50);
    assert_eq!(event_loop.cx().metrics().unwrap().stalls, 50);
    let listed = event_loop.handle().stalls();
    assert!(!listed.is_empty() && listed.len() < 50, "{}", listed.len());
    assert_eq!(listed, over[50 - listed.len()..]);
}

fn a_stall_that_ends_with_a_panic_is_over(variant: Variant) {
    for policy in [PanicPolicy::Isolate, PanicPolicy::Propagate] {
        for kind in Kind::ALL {
            let (builder, blocker) = watched(variant.builder());
            let event_loop = builder.panic_policy(policy).build().unwrap();
            let inner = blocker.clone();
            kind.queue(event_loop.cx(), move |_| {
                inner.block();
                resume_unwind(Box::new(()));
            });
            let thrown = panic_of(|| quiet(&event_loop)).is_some();
            assert_eq!(thrown, policy == PanicPolicy::Propagate);
            // Also if the loop is not driven any more.
            let over = blocker.over(1);
            assert_eq!(over.len(), 1);
            // And the next one is seen as well.
            kind.queue(event_loop.cx(), blocker.callback());
            quiet(&event_loop);
            blocker.over(2);
            let metrics = event_loop.cx().metrics().unwrap();
            assert_eq!((metrics.stalls, metrics.panics), (2, 1), "{policy:?} {kind:?}");
        }
    }
}

fn a_hook_that_panics_is_called_again(variant: Variant) {
    let (sender, receiver) = mpsc::channel();
    let event_loop = variant
        .builder()
        .stall_threshold(THRESHOLD)
        .on_stall(move |stall| {
            if !stall.is_over {
                sender.send(()).unwrap();
            }
            panic!("expected by the test");
        })
        .build()
        .unwrap();
    let receiver = Arc::new(Mutex::new(receiver));
    for count in 1..=3 {
        let reports = Arc::clone(&receiver);
        event_loop
            .cx()
            .submit(move |_| {
                let report = reports.lock().unwrap().recv_timeout(Duration::from_secs(30));
                report.expect("the hook is called once more");
            })
            .unwrap();
        quiet(&event_loop);
        assert_eq!(event_loop.cx().metrics().unwrap().stalls, count);
    }
    wait_until(|| event_loop.handle().stalls().iter().all(|stall| stall.is_over));
    assert_eq!(event_loop.cx().metrics().unwrap().panics, 0, "it is no callback of the loop");
}

// The watchdog sleeps while the loop does, and a wake that is lost would leave the next stall unseen.
fn a_loop_that_slept_is_watched_again(variant: Variant) {
    let (sender, receiver) = mpsc::channel();
    let (handle, thread) = variant.spawn(
        move |builder| {
            let (builder, blocker) = watched_at(builder, Duration::from_micros(300));
            sender.send(blocker).unwrap();
            builder
        },
        |event_loop| event_loop.run().unwrap(),
    );
    let blocker = receiver.recv().unwrap();
    for round in 0..200 {
        if round % 2 == 0 {
            wait_until_sleeping(&handle);
        }
        let (done, is_done) = mpsc::channel();
        let inner = blocker.clone();
        let task = move |_: &Cx| {
            inner.block();
            // What is left of an earlier report would not be the one of this round.
            while inner.reports.lock().unwrap().try_recv().is_ok() {}
            done.send(()).unwrap();
        };
        handle.submit(task).unwrap();
        is_done.recv_timeout(Duration::from_secs(40)).unwrap();
    }
    handle.shutdown(Deadline::NEVER).unwrap();
    thread.join().unwrap();
    assert!(handle.metrics().unwrap().stalls >= 200);
}

fn many_short_callbacks_are_no_stall(variant: Variant) {
    let threshold = Duration::from_millis(400);
    let (builder, blocker) = watched_at(variant.builder(), threshold);
    let event_loop = builder.build().unwrap();
    let begins = Rc::new(RefCell::new(vec![Instant::now()]));
    let short = || {
        let begins = Rc::clone(&begins);
        move |_: &Cx| {
            let begin = Instant::now();
            begins.borrow_mut().push(begin);
            while begin.elapsed() < Duration::from_millis(10) {
                std::hint::spin_loop();
            }
        }
    };
    // More than the threshold in one checkpoint, and in one phase.
    let microtasks: Vec<_> = (0..50).map(|_| short()).collect();
    let queue_all = move |cx: &Cx| microtasks.into_iter().for_each(|f| cx.queue_microtask(f));
    event_loop.cx().submit(queue_all).unwrap();
    (0..50).for_each(|_| event_loop.cx().submit(short()).unwrap());
    quiet(&event_loop);
    begins.borrow_mut().push(Instant::now());
    // On a machine with a load, one may not be short at all.
    let is_long = |pair: &&[Instant]| pair[1] - pair[0] >= threshold;
    let long = begins.borrow().windows(2).filter(is_long).count();
    let stalls = blocker.all().iter().filter(|stall| !stall.is_over).count();
    assert!(stalls <= long, "{long} were long: {:?}", blocker.all());
}

fn a_loop_that_waits_is_no_stall(variant: Variant) {
    let (builder, blocker) = watched_at(variant.builder(), Duration::from_millis(100));
    let event_loop = builder.build().unwrap();
    event_loop.cx().submit(|_| ()).unwrap();
    event_loop.cx().set_timeout(Duration::from_millis(400), |_| ()).unwrap();
    quiet(&event_loop);
    // A future that waits does not run.
    let cx = event_loop.cx().clone();
    event_loop.block_on(async { cx.sleep(Duration::from_millis(300)).await }).unwrap();
    assert_eq!(blocker.all(), []);
}

fn a_loop_that_is_not_driven_is_no_stall(variant: Variant) {
    let (builder, blocker) = watched_at(variant.builder(), Duration::from_millis(100));
    let event_loop = builder.panic_policy(PanicPolicy::Propagate).build().unwrap();
    let away = || {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(250) {
            std::hint::spin_loop();
        }
    };
    event_loop.cx().submit(|_| ()).unwrap();
    away();
    event_loop.turn(Duration::ZERO).unwrap();
    away();
    event_loop.cx().submit(|_| resume_unwind(Box::new(()))).unwrap();
    assert!(panic_of(|| event_loop.run_until_idle()).is_some());
    away();
    event_loop.run_microtasks().unwrap();
    away();
    assert_eq!(blocker.all(), []);
}

fn time_is_real_also_with_a_virtual_clock(variant: Variant) {
    let clock = VirtualClock::auto();
    let (builder, blocker) = watched(variant.builder().clock(&clock));
    let event_loop = builder.build().unwrap();
    let inner = clock.clone();
    event_loop
        .cx()
        .set_timeout(Duration::from_secs(3_600), move |_| inner.advance(Duration::from_secs(60)))
        .unwrap();
    quiet(&event_loop);
    let far: Vec<_> = blocker.all();
    assert!(far.iter().all(|stall| stall.duration < Duration::from_secs(60)), "{far:?}");
    event_loop.cx().set_timeout(Duration::from_secs(1), blocker.callback()).unwrap();
    let line = line!() - 1;
    quiet(&event_loop);
    check(&blocker, "virtual", Phase::Timers, line);
}

fn a_stall_inside_another_loop_is_one_of_both(variant: Variant) {
    let (builder, inside) = watched(variant.builder());
    let inner = builder.build().unwrap();
    let (builder, outside) = watched(variant.builder());
    let outer = builder.build().unwrap();
    let (first, second) = (inside.clone(), outside.clone());
    inner
        .cx()
        .submit(move |_| {
            first.block();
            second.block();
        })
        .unwrap();
    let line = line!() + 1;
    outer.cx().set_immediate(move |_| quiet(&inner));
    quiet(&outer);
    assert_eq!(inside.all()[0].phase, Phase::External);
    check(&outside, "the outer one", Phase::Check, line);
}

fn loops_of_guests_and_groups_are_watched(variant: Variant) {
    let (builder, blocker) = watched(variant.builder());
    let guest = builder.build().unwrap().into_guest().unwrap();
    let line = line!() + 1;
    guest.cx().submit(blocker.callback()).unwrap();
    guest.turn().unwrap();
    check(&blocker, "guest", Phase::External, line);

    let group = LoopGroup::builder()
        .loops(2)
        .configure(|_, builder| builder.stall_threshold(THRESHOLD))
        .build()
        .unwrap();
    for handle in group.handles() {
        let is_mine = |stall: &Stall| stall.phase == Phase::External;
        let task = move |cx: &Cx| wait_until(|| cx.handle().stalls().iter().any(is_mine));
        let line = line!() + 1;
        handle.submit(task).unwrap();
        let is_it = |stall: &Stall| stall.place.is_some_and(|place| place.line() == line);
        wait_until(|| handle.stalls().iter().any(is_it));
    }
    group.shutdown(Duration::from_secs(30)).unwrap();
}

fn stalls_while_the_loop_ends_are_reported(variant: Variant) {
    let (builder, blocker) = watched(variant.builder());
    let event_loop = builder.build().unwrap();
    event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
    for kind in Kind::ALL {
        kind.queue(event_loop.cx(), blocker.callback());
    }
    event_loop.run().unwrap();
    let reported = blocker.all().iter().filter(|stall| !stall.is_over).count();
    assert_eq!(reported, Kind::ALL.len());
    // Nobody is told of the end twice, and nothing hangs.
    must_return({
        let handle = event_loop.handle();
        move || assert!(!handle.stalls().is_empty())
    });
}

fn a_hook_without_a_threshold_does_nothing(variant: Variant) {
    let event_loop = variant.builder().on_stall(|_| unreachable!()).build().unwrap();
    assert!(event_loop.cx().metrics().is_none());
    let slow = |_: &Cx| {
        let begin = Instant::now();
        while begin.elapsed() < 4 * THRESHOLD {
            std::hint::spin_loop();
        }
    };
    event_loop.cx().submit(slow).unwrap();
    quiet(&event_loop);
    assert!(event_loop.handle().stalls().is_empty());
    let event_loop = variant
        .builder()
        .metrics(true)
        .stall_threshold(THRESHOLD)
        .stall_threshold(None)
        .on_stall(|_| unreachable!())
        .build()
        .unwrap();
    event_loop.cx().submit(slow).unwrap();
    quiet(&event_loop);
    assert!(event_loop.handle().stalls().is_empty());
    assert_eq!(event_loop.cx().metrics().unwrap().stalls, 0);
}

// spec: ER-2
fn a_threshold_may_be_of_any_size(variant: Variant) {
    for threshold in
        [Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(u64::MAX / 4), Duration::MAX]
    {
        must_return(move || {
            let event_loop = match variant.builder().stall_threshold(threshold).build() {
                Ok(event_loop) => event_loop,
                Err(Error::InvalidOption { option: "stall_threshold", .. }) => return,
                Err(error) => panic!("{threshold:?}: {error}"),
            };
            for _ in 0..100 {
                for kind in Kind::ALL {
                    kind.queue(event_loop.cx(), |_| ());
                }
                quiet(&event_loop);
            }
            event_loop.turn(Duration::from_millis(1)).unwrap();
            if threshold > Duration::from_secs(1) {
                assert!(event_loop.handle().stalls().is_empty());
            }
            let metrics = event_loop.cx().metrics().unwrap();
            assert_eq!((metrics.panics, metrics.callbacks), (0, 600), "{threshold:?}");
        });
    }
}

fn the_loop_goes_on_if_nobody_listens(variant: Variant) {
    // Without a hook it is logged.
    let event_loop = variant.builder().stall_threshold(THRESHOLD).build().unwrap();
    let handle = event_loop.handle();
    let inner = event_loop.handle();
    event_loop.cx().submit(move |_| wait_until(|| !inner.stalls().is_empty())).unwrap();
    quiet(&event_loop);
    assert_eq!(handle.stalls().len(), 1);
    // A hook that blocks keeps neither the loop nor its end.
    let (go, wait) = mpsc::channel::<()>();
    let event_loop = variant
        .builder()
        .stall_threshold(THRESHOLD)
        .on_stall(move |_| _ = wait.recv())
        .build()
        .unwrap();
    let inner = event_loop.handle();
    event_loop.cx().submit(move |_| wait_until(|| !inner.stalls().is_empty())).unwrap();
    quiet(&event_loop);
    drop(event_loop);
    drop(go);
}

const KEY: &str = "MAINSPRING_STALLS_CHILD";

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// In a process of its own, because threads of other tests come and go.
#[test]
fn the_watchdog_ends_with_its_loop() {
    if std::env::var_os(KEY).is_none() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_watchdog_ends_with_its_loop", "--nocapture", "--test-threads=1"])
            .env(KEY, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        return;
    }
    // The first one has a watchdog started.
    drop(common::builder());
    let before = threads();
    {
        // Not without a threshold.
        let _plain = common::builder().metrics(true).on_stall(|_| ()).build().unwrap();
        assert_eq!(threads(), before);
    }
    let ends: [fn(EventLoop); 6] = [
        // Dropped undriven, after a turn, while something is queued, after a close, by an unwinding, and as
        // one that another thread has ended.
        drop,
        |event_loop| _ = event_loop.turn(Duration::ZERO).unwrap(),
        |event_loop| event_loop.cx().submit(|_| ()).unwrap(),
        |event_loop| {
            event_loop.cx().submit(|cx| cx.close()).unwrap();
            event_loop.run().unwrap();
        },
        |event_loop| {
            let thrown = panic_of(move || {
                let _event_loop = event_loop;
                resume_unwind(Box::new(()));
            });
            assert!(thrown.is_some());
        },
        |event_loop| {
            let handle = event_loop.handle();
            thread::spawn(move || handle.close()).join().unwrap();
        },
    ];
    for end in ends {
        let (builder, blocker) = watched(common::builder());
        let event_loop = builder.build().unwrap();
        assert_eq!(threads(), before + 1);
        event_loop.cx().submit(blocker.callback()).unwrap();
        event_loop.run_until_idle().unwrap();
        end(event_loop);
        wait_until(|| threads() == before);
    }
    // A loop that is ended by a handle, and not dropped, is over as well.
    let event_loop = common::builder().stall_threshold(THRESHOLD).build().unwrap();
    event_loop.cx().submit(|cx| cx.shutdown()).unwrap();
    event_loop.run().unwrap();
    drop(event_loop);
    wait_until(|| threads() == before);
    // Many of them leave nothing.
    for _ in 0..200 {
        let event_loop =
            common::builder().stall_threshold(Duration::from_secs(60)).build().unwrap();
        event_loop.cx().submit(|_| ()).unwrap();
        event_loop.run_until_idle().unwrap();
    }
    wait_until(|| threads() == before);
}
