//! Defects of futures that were there once, and must not come back.

mod common;
#[path = "common/counting.rs"]
mod counting;
#[path = "common/futures.rs"]
mod futures;

use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::panic::panic_any;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use common::timers::{elsewhere, tick};
use common::{Log, OnDrop, Tracker, Variant, must_return, panic_of};
use counting::{bytes, counted};
use futures::{Gate, Parts, SharedGate, build, result, spin};
use mainspring::{Deadline, EventLoop, Handle, JoinHandle, PanicPolicy};

/// More often than anything is done that is to have an end.
const FOR_EVER: usize = 100_000;

suite! {
    a_destructor_of_an_aborted_future_may_close_a_loop_that_was_never_driven,
    a_destructor_of_an_aborted_future_may_drop_the_loop,
    a_destructor_of_an_aborted_future_may_drive_the_loop,
    a_waker_of_an_aborted_future_may_drive_or_drop_the_loop,
    a_shutdown_gets_past_a_future_that_wakes_itself,
    threads_that_wake_again_and_again_send_one_entry_for_each_poll,
    threads_that_abort_again_and_again_send_one_entry,
    a_deferred_waker_with_a_bad_destructor_does_not_keep_the_loop_from_its_end,
    two_panics_at_the_end_of_a_future_do_not_keep_the_others,
    the_first_of_two_panics_is_the_one_that_is_reported,
    a_block_on_leaves_no_wake_behind,
    a_burst_of_futures_does_not_cost_memory_for_ever,
}

#[cfg(all(unix, not(loom)))]
mod descriptors {
    use std::future::poll_fn;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use mainspring::{AsyncFd, Cx};

    use super::common::wakers::CountingWaker;
    use super::*;

    suite! {
        a_future_that_selects_between_two_busy_descriptors_lets_others_run,
        a_future_that_selects_between_a_descriptor_and_a_timer_lets_others_run,
        a_waker_that_panics_does_not_lose_those_of_others_at_a_descriptor,
    }

    /// A descriptor that stays readable.
    fn busy(cx: &Cx) -> (AsyncFd<UnixStream>, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"x").unwrap();
        (AsyncFd::new(cx, ours).unwrap(), theirs)
    }

    /// Runs a future that awaits what `select` says, in one poll for as long as it is ready. Says how often that was
    /// before somebody else had a turn.
    fn polled_in_one_tick(
        event_loop: &EventLoop,
        mut select: impl FnMut(&mut Context<'_>) -> bool + 'static,
    ) -> usize {
        let operations = Rc::new(Cell::new(0));
        let count = Rc::clone(&operations);
        let waits = event_loop.cx().spawn_local(poll_fn(move |context| {
            while count.get() < FOR_EVER {
                if !select(context) {
                    return Poll::Pending;
                }
                count.set(count.get() + 1);
            }
            Poll::Ready(())
        }));
        let seen = Rc::new(Cell::new(None));
        let (look, note) = (Rc::clone(&operations), Rc::clone(&seen));
        event_loop.cx().submit(move |_| note.set(Some(look.get()))).unwrap();
        tick(event_loop);
        let seen = seen.get().expect("the others have their turn in the same tick");
        for _ in 0..10 {
            let before = operations.get();
            tick(event_loop);
            assert!(operations.get() > before, "it goes on in each tick");
        }
        waits.abort();
        seen
    }

    // The first one to find the budget spent renewed it for the other.
    // spec: BX-1, TK-7
    fn a_future_that_selects_between_two_busy_descriptors_lets_others_run(variant: Variant) {
        let event_loop = build(variant);
        let ((a, _a), (b, _b)) = (busy(event_loop.cx()), busy(event_loop.cx()));
        let seen = polled_in_one_tick(&event_loop, move |context| {
            a.poll_read_with(context, |_| Ok(())).is_ready()
                || b.poll_read_with(context, |_| Ok(())).is_ready()
        });
        assert!((1..=1_000).contains(&seen), "{seen} operations in one poll");
    }

    // spec: BX-1, TK-7
    fn a_future_that_selects_between_a_descriptor_and_a_timer_lets_others_run(variant: Variant) {
        let event_loop = build(variant);
        let (fd, _theirs) = busy(event_loop.cx());
        let cx = event_loop.cx().clone();
        let seen = polled_in_one_tick(&event_loop, move |context| {
            Pin::new(&mut cx.sleep(Duration::ZERO)).poll(context).is_ready()
                || fd.poll_read_with(context, |_| Ok(())).is_ready()
        });
        assert!((1..=1_000).contains(&seen), "{seen} operations in one poll");
    }

    // Those behind it were dropped, and never woken.
    // spec: BX-1, FA-1
    fn a_waker_that_panics_does_not_lose_those_of_others_at_a_descriptor(variant: Variant) {
        for bad in 0..3 {
            let event_loop = variant.builder().panic_policy(PanicPolicy::Isolate).build().unwrap();
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let fd = AsyncFd::new(event_loop.cx(), ours).unwrap();
            let mut counts = Vec::new();
            for place in 0..3 {
                let waker = if place == bad {
                    Waker::from(Arc::new(WakeBomb))
                } else {
                    let (count, waker) = CountingWaker::new();
                    counts.push(count);
                    waker
                };
                let mut context = Context::from_waker(&waker);
                assert!(fd.poll_readable(&mut context).is_pending());
            }
            theirs.write_all(b"x").unwrap();
            tick(&event_loop);
            tick(&event_loop);
            let woken: Vec<_> = counts.iter().map(|count| count.count()).collect();
            assert_eq!(woken, [1, 1], "the bad one is number {bad}");
        }
    }
}

/// A payload that panics when it is dropped.
struct PayloadBomb;

impl Drop for PayloadBomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("expected of the payload");
        }
    }
}

/// A waker that panics with such a payload.
struct WakeBomb;

impl Wake for WakeBomb {
    fn wake(self: Arc<Self>) {
        panic_any(PayloadBomb);
    }
}

/// A future that waits for ever, and is counted.
fn waits(tracker: &Tracker) -> impl Future<Output = ()> + 'static + use<> {
    let token = tracker.token();
    async move {
        let _token = token;
        pending::<()>().await;
    }
}

/// A loop that may be driven and dropped by whoever has this.
type Shared = Rc<RefCell<Option<EventLoop>>>;

/// In which ways a future is aborted.
const WAYS: [fn(JoinHandle<()>); 3] = [
    |handle| handle.abort(),
    |handle| handle.abort_handle().abort(),
    |handle| drop(handle.abort_on_drop()),
];

/// Aborts a future whose destructor does this to its loop, while nobody drives that. Says how often it was dropped.
fn abort_one(
    variant: Variant,
    is_polled: bool,
    abort: fn(JoinHandle<()>),
    act: fn(&Shared),
) -> usize {
    let event_loop: Shared = Rc::new(RefCell::new(Some(build(variant))));
    let cx = event_loop.borrow().as_ref().unwrap().cx().clone();
    let drops = Rc::new(Cell::new(0));
    let (theirs, count) = (Rc::clone(&event_loop), Rc::clone(&drops));
    let guard = OnDrop(move || {
        count.set(count.get() + 1);
        if count.get() == 1 {
            act(&theirs);
        }
    });
    let handle = cx.spawn_local(async move {
        let _guard = guard;
        pending::<()>().await;
    });
    if is_polled {
        tick(event_loop.borrow().as_ref().unwrap());
    }
    abort(handle);
    drops.get()
}

// The end of the loop found the future in its list, and dropped it once more.
// spec: BX-1, SD-6
fn a_destructor_of_an_aborted_future_may_close_a_loop_that_was_never_driven(variant: Variant) {
    for abort in WAYS {
        let close: fn(&Shared) = |shared| shared.borrow().as_ref().unwrap().cx().close();
        assert_eq!(abort_one(variant, false, abort, close), 1);
        let shutdown: fn(&Shared) = |shared| shared.borrow().as_ref().unwrap().cx().shutdown();
        assert_eq!(abort_one(variant, false, abort, shutdown), 1);
    }
}

// spec: BX-1, SD-6
fn a_destructor_of_an_aborted_future_may_drop_the_loop(variant: Variant) {
    for abort in WAYS {
        for is_polled in [false, true] {
            assert_eq!(abort_one(variant, is_polled, abort, |shared| drop(shared.take())), 1);
        }
    }
}

// The queue and the end of the future both gave the loop's reference back.
// spec: BX-1, SD-6
fn a_destructor_of_an_aborted_future_may_drive_the_loop(variant: Variant) {
    for abort in WAYS {
        for is_polled in [false, true] {
            let drive: fn(&Shared) = |shared| tick(shared.borrow().as_ref().unwrap());
            assert_eq!(abort_one(variant, is_polled, abort, drive), 1);
            let idle: fn(&Shared) =
                |shared| shared.borrow().as_ref().unwrap().run_until_idle().unwrap();
            assert_eq!(abort_one(variant, is_polled, abort, idle), 1);
        }
    }
}

/// The thread's loop, for a waker that must be `Send`.
struct ActingWaker(fn(&Shared));

thread_local!(static LOOP: RefCell<Option<Shared>> = const { RefCell::new(None) });

impl Wake for ActingWaker {
    fn wake(self: Arc<Self>) {
        let shared = LOOP.with_borrow(|shared| shared.clone().unwrap());
        (self.0)(&shared);
    }
}

// spec: BX-1, SD-6
fn a_waker_of_an_aborted_future_may_drive_or_drop_the_loop(variant: Variant) {
    let acts: [fn(&Shared); 2] =
        [|shared| tick(shared.borrow().as_ref().unwrap()), |shared| drop(shared.take())];
    for act in acts {
        let tracker = Tracker::new();
        let shared: Shared = Rc::new(RefCell::new(Some(build(variant))));
        LOOP.set(Some(Rc::clone(&shared)));
        let cx = shared.borrow().as_ref().unwrap().cx().clone();
        // It is in the ready queue.
        let mut handle = cx.spawn_local(waits(&tracker));
        let waker = Waker::from(Arc::new(ActingWaker(act)));
        assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)).is_pending());
        handle.abort();
        assert_eq!(tracker.alive(), 0);
        assert_eq!(result(&mut handle), "aborted");
        LOOP.set(None);
    }
}

// The drain polled for as long as a future was woken, and never got to anything else.
// spec: BX-1, SD-1, SD-5
fn a_shutdown_gets_past_a_future_that_wakes_itself(variant: Variant) {
    for what in ["close", "immediate", "internal", "wake"] {
        let event_loop = build(variant);
        tick(&event_loop);
        let cx = event_loop.cx();
        let is_set = Rc::new(Cell::new(false));
        let gate = SharedGate::new();
        let (seen, own, opened) = (Rc::clone(&is_set), cx.clone(), gate.clone());
        let mut handle = cx.spawn_local(async move {
            match what {
                "internal" => {
                    let set = Rc::clone(&seen);
                    own.submit_internal(move |_| set.set(true)).unwrap();
                }
                "wake" => elsewhere(|| opened.open()),
                _ => {}
            }
            for _ in 0..FOR_EVER {
                if seen.get() {
                    return true;
                }
                spin(1).await;
            }
            false
        });
        match what {
            "close" => cx.queue_close(move |_| is_set.set(true)),
            "immediate" => _ = cx.set_immediate(move |_| is_set.set(true)),
            "wake" => {
                let pass = gate.pass();
                drop(cx.spawn_local(async move {
                    pass.await;
                    is_set.set(true);
                }));
            }
            _ => {}
        }
        cx.shutdown();
        event_loop.run().unwrap();
        assert_eq!(result(&mut handle), "ok true", "{what}");
    }
}

/// An internal task: another thread wakes all of them, and then queues the task again.
fn wake_again(handle: Handle, wakers: Vec<Waker>, left: u64) {
    elsewhere(move || {
        wakers.iter().for_each(Waker::wake_by_ref);
        if left > 1 {
            let again = handle.clone();
            handle.submit_internal(move |_| wake_again(again, wakers, left - 1)).unwrap();
        }
    });
}

// Each wake that arrived let the next one be sent, so the internal lane need not have come to its end.
// spec: BX-1, WK-1, TK-7
fn threads_that_wake_again_and_again_send_one_entry_for_each_poll(variant: Variant) {
    const FUTURES: u64 = 3;
    const ROUNDS: u64 = 20;
    let event_loop = build(variant);
    let gate = SharedGate::new();
    let handles: Vec<_> = (0..FUTURES).map(|_| event_loop.cx().spawn_local(gate.pass())).collect();
    tick(&event_loop);
    for turn in 1..=3 {
        let wakers = gate.wakers();
        assert_eq!(wakers.len() as u64, FUTURES);
        let handle = event_loop.handle();
        event_loop.cx().submit_internal(move |_| wake_again(handle, wakers, ROUNDS)).unwrap();
        let callbacks = event_loop.turn(Duration::ZERO).unwrap().callbacks;
        // The task itself, and for each future its entry and its poll.
        assert_eq!(callbacks, ROUNDS + 2 * FUTURES);
        assert_eq!(gate.polls() as u64, FUTURES * (turn + 1));
    }
    handles.iter().for_each(JoinHandle::abort);
}

// Each call sent an entry, also for a future that was done.
// spec: BX-1, WK-1
fn threads_that_abort_again_and_again_send_one_entry(variant: Variant) {
    let event_loop = build(variant);
    let mut waiting = event_loop.cx().spawn_local(pending::<()>());
    tick(&event_loop);
    let aborts = [waiting.abort_handle(), waiting.abort_handle()];
    let again = || aborts.iter().cycle().take(20).for_each(|abort| elsewhere(|| abort.abort()));
    again();
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
    assert_eq!(result(&mut waiting), "aborted");
    again();
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0, "it is done");
}

/// A waker that does nothing, and panics when it is dropped.
struct DropBomb;

impl Wake for DropBomb {
    fn wake(self: Arc<Self>) {}
}

impl Drop for DropBomb {
    fn drop(&mut self) {
        panic!("expected of the waker");
    }
}

// Futures and queues were not dropped, and who waited for the end was not told.
// spec: BX-1, FA-1, SD-6
fn a_deferred_waker_with_a_bad_destructor_does_not_keep_the_loop_from_its_end(variant: Variant) {
    for is_closed in [false, true] {
        let event_loop = build(variant);
        let tracker = Tracker::new();
        let mut handle = event_loop.cx().spawn_local(waits(&tracker));
        tick(&event_loop);
        event_loop.cx().submit(tracker.callback()).unwrap();
        let mut yielding = event_loop.cx().yield_now();
        let waker = Waker::from(Arc::new(DropBomb));
        assert!(Pin::new(&mut yielding).poll(&mut Context::from_waker(&waker)).is_pending());
        // The loop has the last one.
        drop(waker);
        let outside = event_loop.handle();
        let ended = panic_of(move || {
            if is_closed {
                event_loop.cx().close();
                event_loop.run().unwrap();
            }
            drop(event_loop);
        });
        assert_eq!(ended, None);
        assert_eq!((tracker.alive(), tracker.ran()), (0, 0));
        assert_eq!(result(&mut handle), "terminated");
        must_return(move || drop(outside.shutdown(Deadline::NEVER)));
    }
}

// The second payload was dropped bare, and its panic left the end of the loop.
// spec: BX-1, FA-1, SD-6
fn two_panics_at_the_end_of_a_future_do_not_keep_the_others(variant: Variant) {
    for is_aborted in [false, true] {
        let event_loop = build(variant);
        let tracker = Tracker::new();
        let before = event_loop.cx().spawn_local(waits(&tracker));
        let bad = OnDrop(|| panic!("expected of the future"));
        let token = tracker.token();
        let mut handle = event_loop.cx().spawn_local(async move {
            let _captures = (token, bad);
            pending::<()>().await;
        });
        let after = event_loop.cx().spawn_local(waits(&tracker));
        let waker = Waker::from(Arc::new(WakeBomb));
        assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)).is_pending());
        tick(&event_loop);
        if is_aborted {
            assert_eq!(panic_of(|| handle.abort()), None);
            assert_eq!(tracker.alive(), 2);
            tick(&event_loop);
        }
        let outside = event_loop.handle();
        assert_eq!(panic_of(move || drop(event_loop)), None);
        assert_eq!(tracker.alive(), 0);
        assert!(before.is_finished() && after.is_finished());
        assert_eq!(result(&mut handle), if is_aborted { "aborted" } else { "terminated" });
        must_return(move || drop(outside.shutdown(Deadline::NEVER)));
    }
}

// spec: BX-1, FA-1
fn the_first_of_two_panics_is_the_one_that_is_reported(variant: Variant) {
    let log = Log::new();
    let note = log.clone();
    let event_loop = variant
        .builder()
        .panic_policy(PanicPolicy::Isolate)
        .on_uncaught(move |_, panic| note.push(panic.message().unwrap_or("?").to_owned()))
        .build()
        .unwrap();
    let bad = OnDrop(|| panic_any(PayloadBomb));
    drop(event_loop.cx().spawn_local(Parts {
        poll: |_: &mut Context<'_>| -> Poll<()> { panic!("the first") },
        drop: move || _ = &bad,
    }));
    let note = log.clone();
    drop(event_loop.cx().spawn_local(async move { note.push("another".to_owned()) }));
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["the first", "another"]);
}

// The next turn did not wait for anything.
// spec: BX-1, WK-7
fn a_block_on_leaves_no_wake_behind(variant: Variant) {
    let idles = Rc::new(Cell::new(0));
    let count = Rc::clone(&idles);
    let event_loop = variant
        .builder()
        .on_idle(move |cx| {
            count.set(count.get() + 1);
            cx.handle().wake();
        })
        .build()
        .unwrap();
    let cx = event_loop.cx();
    for what in ["ready", "yields", "woken"] {
        let gate = Gate::new();
        let (pass, opened) = (gate.pass(), gate.clone());
        cx.submit(move |_| opened.open()).unwrap();
        event_loop
            .block_on(async {
                match what {
                    "yields" => cx.yield_now().await,
                    "woken" => pass.await,
                    _ => {}
                }
            })
            .unwrap();
        tick(&event_loop);
        event_loop.block_on(async {}).unwrap();
        idles.set(0);
        event_loop.turn(None).unwrap();
        assert_eq!(idles.get(), 1, "{what}: it waits");
    }
}

// The list of all futures and that of the deferred wakers never shrank.
// spec: BX-1, D14
fn a_burst_of_futures_does_not_cost_memory_for_ever(variant: Variant) {
    const MANY: usize = 20_000;
    counted(|| {
        // All of them yield in the same tick.
        let event_loop = variant.builder().future_budget(2 * MANY).build().unwrap();
        let burst = |yields: bool, count: usize| {
            for _ in 0..count {
                let yielding = event_loop.cx().yield_now();
                drop(event_loop.cx().spawn_local(async move {
                    if yields {
                        yielding.await;
                    }
                }));
            }
            event_loop.run_until_idle().unwrap();
        };
        for yields in [false, true] {
            burst(yields, 100);
            let before = bytes();
            burst(yields, MANY);
            let kept = bytes() - before;
            assert!(kept < 4 * MANY as isize, "{kept} bytes are kept (yields: {yields})");
        }
    });
}
