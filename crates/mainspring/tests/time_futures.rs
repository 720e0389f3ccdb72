//! Waiting for a time, or for an abort, as futures. Most are polled by hand, so that each wake is counted.

mod common;
#[path = "common/counting.rs"]
mod counting;

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use common::timers::{HOUR, MS, YEAR, automatic, elsewhere, manual, tick};
use common::{Log, Tracker, Variant, panic_of, turn_until_quiet, wait_until_sleeping};
use mainspring::{
    AbortController, AbortError, AbortSignal, Aborted, Cx, EventLoop, Interval, JoinError,
    Rejection, Sleep, Timeout, TimeoutError, VirtualClock,
};

suite![
    a_sleep_is_done_at_its_deadline_and_wakes_once,
    a_delay_begins_with_the_call_and_not_with_the_first_poll,
    a_sleep_whose_time_has_come_is_done_at_once_without_a_timer,
    a_sleep_is_done_when_a_tick_has_begun_at_its_deadline_and_not_before,
    a_sleep_that_was_never_polled_sets_no_timer,
    a_dropped_sleep_clears_its_timer_and_lets_go_of_the_waker,
    a_sleep_dropped_on_another_thread_clears_its_timer,
    a_sleep_wakes_whoever_polled_it_last,
    a_second_poll_by_the_same_waker_changes_nothing,
    a_done_sleep_leaves_no_timer_even_if_that_has_not_fired,
    a_sleep_reset_before_it_was_polled,
    a_waiting_sleep_reset_to_an_earlier_time,
    a_waiting_sleep_reset_to_a_later_time,
    a_sleep_reset_after_it_fired_and_before_it_was_polled,
    a_done_sleep_can_be_used_again,
    a_waiting_sleep_reset_to_a_time_that_has_passed_wakes_at_once,
    a_sleep_without_an_end_is_never_done,
    a_sleep_without_an_end_can_be_given_one,
    a_sleep_can_be_polled_on_any_thread,
    a_loop_that_blocks_learns_about_the_sleep_of_another_thread,
    a_sleep_can_be_awaited_on_another_loop,
    sleeps_do_not_keep_the_loop_alive,
    a_sleep_of_a_loop_that_has_ended_is_never_done,
    a_sleep_that_waits_when_the_loop_ends_is_never_woken,
    many_sleeps_wake_in_the_order_of_their_deadlines,
    an_interval_ticks_on_its_grid,
    an_interval_that_missed_ticks_leaves_them_out,
    a_slow_interval_gives_one_tick_in_each_tick_of_the_loop,
    a_tick_that_was_given_up_is_not_lost,
    an_interval_dropped_between_two_ticks_leaves_no_timer,
    an_interval_of_zero_is_one_of_a_millisecond,
    an_interval_without_an_end_never_ticks,
    an_interval_that_is_reset_begins_anew,
    an_interval_ends_with_its_loop,
    a_future_that_is_ready_needs_no_timer,
    a_future_that_is_done_in_time_leaves_no_timer,
    a_future_that_takes_too_long_is_given_up,
    a_future_that_is_ready_at_the_same_moment_wins,
    a_timeout_of_zero_polls_once,
    a_timeout_without_an_end_waits_for_ever,
    a_panic_of_the_future_passes_through_the_timeout,
    a_dropped_timeout_drops_its_future_and_its_timer,
    of_two_timeouts_the_shorter_one_is_first,
    a_future_taken_out_of_its_timeout_goes_on,
    aborted_is_done_with_the_reason_and_wakes_once,
    aborted_is_done_at_once_if_the_signal_is_aborted,
    aborted_wakes_whoever_polled_it_last,
    dropping_aborted_removes_the_listener,
    an_abort_on_another_thread_is_seen_at_once_and_wakes_on_the_loop,
    an_abort_that_was_seen_before_its_listener_was_called_wakes_nobody,
    aborted_waits_in_vain_if_nobody_can_abort,
    aborted_after_the_end_of_the_loop_tells_what_is_known,
    no_abort_is_missed_by_a_poll_at_the_same_moment,
    spawned_sleeps_end_in_order_and_keep_the_loop_alive,
    a_spawned_future_that_is_aborted_leaves_no_timer,
    a_future_that_sleeps_for_no_time_lets_others_run,
    a_shutdown_drops_what_sleeps,
    a_panic_under_a_timeout_reaches_the_handle,
    whatever_comes_first_ends_the_race,
    an_interval_in_a_spawned_future,
];

const _: () = {
    const fn is_shared<T: Send + Sync + Unpin + 'static>() {}
    is_shared::<Sleep>();
    is_shared::<Interval>();
    is_shared::<Timeout<Sleep>>();
};

/// A waker that counts.
#[derive(Clone, Default)]
struct Wakes(Arc<AtomicUsize>);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls, and counts how often it was woken.
struct Poller {
    wakes: Wakes,
    waker: Waker,
    of: Arc<Wakes>,
}

impl Poller {
    fn new() -> Self {
        let wakes = Wakes::default();
        let of = Arc::new(wakes.clone());
        Self { wakes, waker: Waker::from(Arc::clone(&of)), of }
    }

    fn poll<F: Future + Unpin>(&self, future: &mut F) -> Poll<F::Output> {
        Pin::new(future).poll(&mut Context::from_waker(&self.waker))
    }

    fn tick(&self, interval: &mut Interval) -> Poll<Instant> {
        interval.poll_tick(&mut Context::from_waker(&self.waker))
    }

    /// How often it was woken since the last time.
    fn wakes(&self) -> usize {
        self.wakes.0.swap(0, Ordering::SeqCst)
    }

    /// How many copies of the waker others have.
    fn copies(&self) -> usize {
        Arc::strong_count(&self.of) - 2
    }
}

/// Lets time pass, and the loop see it.
fn pass(clock: &VirtualClock, event_loop: &EventLoop, time: Duration) {
    clock.advance(time);
    tick(event_loop);
}

/// Blocks the thread until a future is done, without a loop.
fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

// ---- sleep

// spec: BX-1
fn a_sleep_is_done_at_its_deadline_and_wakes_once(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut sleep = event_loop.cx().sleep(10 * MS);
    assert_eq!(sleep.deadline(), clock.now() + 10 * MS);
    assert!(poller.poll(&mut sleep).is_pending());
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + 10 * MS));
    pass(&clock, &event_loop, 10 * MS - Duration::from_nanos(1));
    assert!(!sleep.is_elapsed() && poller.poll(&mut sleep).is_pending());
    assert_eq!(poller.wakes(), 0);
    pass(&clock, &event_loop, Duration::from_nanos(1));
    assert_eq!(poller.wakes(), 1);
    assert!(sleep.is_elapsed() && poller.poll(&mut sleep).is_ready());
    assert_eq!(event_loop.next_deadline(), None);
    assert_eq!(poller.copies(), 0);
    pass(&clock, &event_loop, HOUR);
    assert!(poller.poll(&mut sleep).is_ready(), "it stays so");
    assert_eq!(poller.wakes(), 0);
}

// spec: BX-1
fn a_delay_begins_with_the_call_and_not_with_the_first_poll(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut sleep = event_loop.cx().sleep(10 * MS);
    let handle = event_loop.handle();
    let mut remote = elsewhere(|| handle.sleep(10 * MS));
    pass(&clock, &event_loop, 9 * MS);
    // In the middle of a tick its beginning is not now.
    clock.advance(MS / 2);
    let mut late = event_loop.cx().sleep(MS);
    assert_eq!(late.deadline(), clock.now() + MS);
    assert!(poller.poll(&mut sleep).is_pending() && poller.poll(&mut late).is_pending());
    assert!(poller.poll(&mut remote).is_pending());
    pass(&clock, &event_loop, MS / 2);
    assert_eq!(poller.wakes(), 2);
    assert!(poller.poll(&mut sleep).is_ready() && poller.poll(&mut remote).is_ready());
    assert!(poller.poll(&mut late).is_pending());
}

// spec: BX-1
fn a_sleep_whose_time_has_come_is_done_at_once_without_a_timer(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (cx, handle, poller) = (event_loop.cx(), event_loop.handle(), Poller::new());
    pass(&clock, &event_loop, HOUR);
    let sleeps = [
        cx.sleep(Duration::ZERO),
        handle.sleep(Duration::ZERO),
        elsewhere(|| handle.sleep(Duration::ZERO)),
        cx.sleep_until(cx.now()),
        cx.sleep_until(cx.now() - HOUR / 2),
    ];
    // Before the system was started, if it has a time for that.
    let long_ago = cx.now().checked_sub(2 * HOUR).map(|deadline| cx.sleep_until(deadline));
    for mut sleep in sleeps.into_iter().chain(long_ago) {
        assert!(poller.poll(&mut sleep).is_ready());
    }
    assert_eq!(event_loop.next_deadline(), None);
    assert_eq!((poller.wakes(), poller.copies()), (0, 0));
    // With a real clock, too.
    let event_loop = variant.build();
    assert!(poller.poll(&mut event_loop.cx().sleep(Duration::ZERO)).is_ready());
}

// spec: BX-1
fn a_sleep_is_done_when_a_tick_has_begun_at_its_deadline_and_not_before(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut sleep = event_loop.cx().sleep(MS);
    clock.advance(MS);
    assert!(!sleep.is_elapsed() && poller.poll(&mut sleep).is_pending());
    tick(&event_loop);
    assert_eq!(poller.wakes(), 1);
    assert!(poller.poll(&mut sleep).is_ready());
}

// spec: BX-1
fn a_sleep_that_was_never_polled_sets_no_timer(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let mut sleep = event_loop.cx().sleep(MS);
    sleep.reset(clock.now() + HOUR);
    assert_eq!(event_loop.next_deadline(), None);
    drop(sleep);
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: BX-1
fn a_dropped_sleep_clears_its_timer_and_lets_go_of_the_waker(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut sleep = event_loop.cx().sleep(MS);
    assert!(poller.poll(&mut sleep).is_pending());
    assert!(event_loop.next_deadline().is_some() && poller.copies() > 0);
    drop(sleep);
    assert_eq!(event_loop.next_deadline(), None);
    assert_eq!(poller.copies(), 0);
    pass(&clock, &event_loop, HOUR);
    assert_eq!(poller.wakes(), 0);
}

// spec: BX-1, TM-7
fn a_sleep_dropped_on_another_thread_clears_its_timer(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut here = event_loop.cx().sleep(MS);
    let mut there = event_loop.cx().sleep(2 * MS);
    assert!(poller.poll(&mut here).is_pending());
    elsewhere(|| {
        assert!(poller.poll(&mut there).is_pending());
        drop((here, there));
    });
    assert_eq!(event_loop.next_deadline(), None);
    pass(&clock, &event_loop, HOUR);
    assert_eq!((poller.wakes(), poller.copies()), (0, 0));
}

// spec: BX-1
fn a_sleep_wakes_whoever_polled_it_last(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (first, second) = (Poller::new(), Poller::new());
    let mut sleep = event_loop.cx().sleep(MS);
    assert!(first.poll(&mut sleep).is_pending());
    assert!(second.poll(&mut sleep).is_pending());
    assert_eq!(first.copies(), 0, "it is forgotten");
    pass(&clock, &event_loop, MS);
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
    assert!(first.poll(&mut sleep).is_ready(), "whoever asks");
    pass(&clock, &event_loop, HOUR);
    assert_eq!((first.wakes(), second.wakes()), (0, 0));
}

// spec: BX-1
fn a_second_poll_by_the_same_waker_changes_nothing(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let log = Log::new();
    let poller = Poller::new();
    let mut sleep = event_loop.cx().sleep(MS);
    assert!(poller.poll(&mut sleep).is_pending());
    let wakes = poller.wakes.clone();
    let noted = log.clone();
    event_loop.cx().set_timeout(MS, move |_| noted.push(wakes.0.load(Ordering::SeqCst))).unwrap();
    let copies = poller.copies();
    for _ in 0..3 {
        assert!(poller.poll(&mut sleep).is_pending());
        tick(&event_loop);
    }
    assert_eq!(poller.copies(), copies);
    pass(&clock, &event_loop, MS);
    assert_eq!(log.take(), [1], "its timer still comes before the one that was set after it");
}

// spec: BX-1
fn a_done_sleep_leaves_no_timer_even_if_that_has_not_fired(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let shared = Rc::new(RefCell::new(event_loop.cx().sleep(MS)));
    // A timer of the same deadline that was set before the sleep's, so it runs first.
    let (inner, deadline) = (Rc::clone(&shared), shared.borrow().deadline());
    let seen = Rc::new(Cell::new(false));
    let (noted, first) = (Rc::clone(&seen), Poller::new());
    let check = move |_: &Cx| noted.set(first.poll(&mut *inner.borrow_mut()).is_ready());
    event_loop.cx().set_timeout_at(deadline, check).unwrap();
    assert!(poller.poll(&mut *shared.borrow_mut()).is_pending());
    pass(&clock, &event_loop, MS);
    assert!(seen.get());
    assert_eq!((poller.wakes(), poller.copies()), (0, 0), "it was not waited for any more");
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: BX-1
fn a_sleep_reset_before_it_was_polled(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    for (first, then) in [(MS, HOUR), (HOUR, MS)] {
        let mut sleep = event_loop.cx().sleep(first);
        sleep.reset(clock.now() + then);
        assert_eq!(sleep.deadline(), clock.now() + then);
        assert!(poller.poll(&mut sleep).is_pending());
        assert_eq!(event_loop.next_deadline(), Some(sleep.deadline()));
        pass(&clock, &event_loop, then - Duration::from_nanos(1));
        assert_eq!(poller.wakes(), 0);
        pass(&clock, &event_loop, Duration::from_nanos(1));
        assert_eq!(poller.wakes(), 1);
        assert!(poller.poll(&mut sleep).is_ready());
    }
}

// spec: BX-1
fn a_waiting_sleep_reset_to_an_earlier_time(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut sleep = event_loop.cx().sleep(HOUR);
    assert!(poller.poll(&mut sleep).is_pending());
    sleep.reset(clock.now() + MS);
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + MS));
    pass(&clock, &event_loop, MS);
    assert_eq!(poller.wakes(), 1, "though nobody has polled it since");
    assert!(poller.poll(&mut sleep).is_ready());
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: BX-1
fn a_waiting_sleep_reset_to_a_later_time(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut sleep = event_loop.cx().sleep(MS);
    assert!(poller.poll(&mut sleep).is_pending());
    sleep.reset(clock.now() + HOUR);
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + HOUR));
    pass(&clock, &event_loop, MS);
    assert_eq!(poller.wakes(), 0);
    assert!(poller.poll(&mut sleep).is_pending());
    pass(&clock, &event_loop, HOUR - MS);
    assert_eq!(poller.wakes(), 1);
    assert!(poller.poll(&mut sleep).is_ready());
}

// spec: BX-1
fn a_sleep_reset_after_it_fired_and_before_it_was_polled(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut sleep = event_loop.cx().sleep(MS);
    assert!(poller.poll(&mut sleep).is_pending());
    pass(&clock, &event_loop, MS);
    assert_eq!(poller.wakes(), 1);
    sleep.reset(clock.now() + MS);
    assert!(!sleep.is_elapsed() && poller.poll(&mut sleep).is_pending());
    pass(&clock, &event_loop, MS);
    assert_eq!(poller.wakes(), 1);
    assert!(poller.poll(&mut sleep).is_ready());
}

// spec: BX-1
fn a_done_sleep_can_be_used_again(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut sleep = event_loop.cx().sleep(MS);
    for _ in 0..3 {
        assert!(poller.poll(&mut sleep).is_pending());
        pass(&clock, &event_loop, MS);
        assert!(poller.poll(&mut sleep).is_ready());
        assert_eq!(poller.wakes(), 1);
        sleep.reset(clock.now() + MS);
        assert_eq!(event_loop.next_deadline(), None, "nobody waits");
    }
}

// spec: BX-1
fn a_waiting_sleep_reset_to_a_time_that_has_passed_wakes_at_once(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    pass(&clock, &event_loop, HOUR);
    let now = clock.now();
    // Before the system was started, and before the beginning of the time that timers know, if it has that.
    let long_ago = [2 * HOUR, 300 * YEAR].map(|before| now.checked_sub(before));
    for deadline in [now, now - MS].into_iter().chain(long_ago.into_iter().flatten()) {
        let mut sleep = event_loop.cx().sleep(HOUR);
        assert!(poller.poll(&mut sleep).is_pending());
        sleep.reset(deadline);
        assert_eq!(poller.wakes(), 1);
        assert_eq!(event_loop.next_deadline(), None);
        assert!(poller.poll(&mut sleep).is_ready());
    }
}

// spec: BX-1, TM-1
fn a_sleep_without_an_end_is_never_done(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let (cx, poller) = (event_loop.cx(), Poller::new());
    let far = cx.now().checked_add(300 * YEAR);
    let delays = [Duration::MAX, Duration::from_secs(u64::MAX), 300 * YEAR];
    let sleeps: Vec<_> = delays
        .into_iter()
        .map(|delay| cx.sleep(delay))
        .chain(far.map(|far| cx.sleep_until(far)))
        .collect();
    for mut sleep in sleeps {
        assert!(sleep.deadline() > clock.now() + 200 * YEAR);
        assert!(poller.poll(&mut sleep).is_pending());
        assert_eq!(event_loop.next_deadline(), None);
        // Time that passes by itself does not pass to there.
        turn_until_quiet(&event_loop);
        assert!(clock.elapsed().is_zero());
        assert!(poller.poll(&mut sleep).is_pending());
    }
    let mut sleep = cx.sleep(Duration::MAX);
    clock.advance(Duration::MAX);
    tick(&event_loop);
    assert!(poller.poll(&mut sleep).is_pending(), "not at the end of time either");
    assert!(poller.poll(&mut cx.sleep(MS)).is_pending());
    assert_eq!(poller.wakes(), 0);
}

// spec: BX-1
fn a_sleep_without_an_end_can_be_given_one(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut sleep = event_loop.cx().sleep(Duration::MAX);
    assert!(poller.poll(&mut sleep).is_pending());
    sleep.reset(clock.now() + MS);
    pass(&clock, &event_loop, MS);
    assert_eq!(poller.wakes(), 1);
    assert!(poller.poll(&mut sleep).is_ready());
}

// spec: BX-1
fn a_sleep_can_be_polled_on_any_thread(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (handle, poller) = (event_loop.handle(), Poller::new());
    let mut sleep = elsewhere(|| handle.sleep(MS));
    assert!(elsewhere(|| poller.poll(&mut sleep)).is_pending());
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + MS));
    assert!(poller.poll(&mut sleep).is_pending());
    // Elsewhere again, by another waker.
    let other = Poller::new();
    assert!(elsewhere(|| other.poll(&mut sleep)).is_pending());
    pass(&clock, &event_loop, MS);
    assert_eq!((poller.wakes(), other.wakes()), (0, 1));
    assert!(elsewhere(|| poller.poll(&mut sleep)).is_ready());
    assert_eq!((poller.copies(), other.copies()), (0, 0));
    elsewhere(|| sleep.reset(clock.now() + MS));
    assert!(elsewhere(|| poller.poll(&mut sleep)).is_pending());
    elsewhere(|| sleep.reset(clock.now() + 2 * MS));
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + 2 * MS));
    pass(&clock, &event_loop, 2 * MS);
    assert_eq!(poller.wakes(), 1);
}

// spec: BX-1, WK-2
fn a_loop_that_blocks_learns_about_the_sleep_of_another_thread(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    for _ in 0..3 {
        wait_until_sleeping(&handle);
        let begin = Instant::now();
        wait(handle.sleep(2 * MS));
        assert!(begin.elapsed() >= 2 * MS);
    }
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: BX-1, SH-5
fn a_sleep_can_be_awaited_on_another_loop(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let event_loop = variant.build();
    let begin = Instant::now();
    event_loop.block_on(handle.sleep(2 * MS)).unwrap();
    assert!(begin.elapsed() >= 2 * MS);
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: BX-1, TM-11
fn sleeps_do_not_keep_the_loop_alive(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let poller = Poller::new();
    let mut here = event_loop.cx().sleep(HOUR);
    let mut there = event_loop.cx().sleep(HOUR);
    let mut interval = event_loop.cx().interval(HOUR);
    assert!(poller.poll(&mut here).is_pending() && poller.tick(&mut interval).is_pending());
    assert!(elsewhere(|| poller.poll(&mut there)).is_pending());
    here.reset(clock.now() + HOUR);
    event_loop.run_until_idle().unwrap();
    assert!(clock.elapsed().is_zero());
    assert_eq!(poller.wakes(), 0);
}

// spec: BX-1
fn a_sleep_of_a_loop_that_has_ended_is_never_done(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (handle, poller) = (event_loop.handle(), Poller::new());
    let mut before = handle.sleep(MS);
    drop(event_loop);
    let mut after = handle.sleep(MS);
    clock.advance(HOUR);
    for sleep in [&mut before, &mut after] {
        assert!(poller.poll(sleep).is_pending());
        assert!(elsewhere(|| poller.poll(sleep)).is_pending());
        sleep.reset(clock.now() + HOUR);
        assert!(poller.poll(sleep).is_pending());
    }
    drop((before, after));
    assert_eq!((poller.wakes(), poller.copies()), (0, 0));
}

// spec: BX-1
fn a_sleep_that_waits_when_the_loop_ends_is_never_woken(variant: Variant) {
    for ends_by_close in [false, true] {
        let (clock, event_loop) = manual(variant);
        let poller = Poller::new();
        let mut sleep = event_loop.cx().sleep(MS);
        let mut interval = event_loop.cx().interval(MS);
        assert!(poller.poll(&mut sleep).is_pending() && poller.tick(&mut interval).is_pending());
        if ends_by_close {
            event_loop.cx().close()
        } else {
            event_loop.cx().shutdown()
        }
        clock.advance(HOUR);
        // Its end may come with the call, or with the turn.
        let _ = event_loop.turn(Duration::ZERO);
        assert!(poller.poll(&mut sleep).is_pending() && poller.tick(&mut interval).is_pending());
        drop(event_loop);
        assert!(poller.poll(&mut sleep).is_pending() && poller.tick(&mut interval).is_pending());
        assert_eq!(poller.wakes(), 0);
        drop((sleep, interval));
        assert_eq!(poller.copies(), 0);
    }
}

// spec: BX-1, TM-2
fn many_sleeps_wake_in_the_order_of_their_deadlines(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let log = Log::new();
    for n in (1..=100_u32).rev() {
        let (cx, log) = (event_loop.cx().clone(), log.clone());
        event_loop.cx().spawn_local(async move {
            cx.sleep(n * MS).await;
            log.push(n);
        });
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), (1..=100).collect::<Vec<_>>());
    assert_eq!(clock.elapsed(), 100 * MS);
}

// spec: BX-1
#[test]
fn a_second_poll_allocates_nothing() {
    counting::counted(|| {
        let clock = VirtualClock::new();
        let event_loop = EventLoop::builder().clock(&clock).build().unwrap();
        let (cx, poller) = (event_loop.cx(), Poller::new());
        let controller = AbortController::new();
        let mut sleep = cx.sleep(HOUR);
        let mut forever = cx.sleep(Duration::MAX);
        let mut interval = cx.interval(HOUR);
        let mut timeout = cx.timeout(HOUR, pending::<()>());
        let mut aborted = cx.aborted(&controller.signal());
        let mut poll = || {
            assert!(poller.poll(&mut sleep).is_pending());
            assert!(poller.poll(&mut forever).is_pending());
            assert!(poller.tick(&mut interval).is_pending());
            assert!(poller.poll(&mut timeout).is_pending());
            assert!(poller.poll(&mut aborted).is_pending());
        };
        poll();
        let before = counting::allocations();
        (0..100).for_each(|_| poll());
        assert_eq!(counting::allocations() - before, 0);
    });
}

// spec: BX-1, TM-2
#[test]
fn in_the_steady_state_nothing_is_allocated() {
    counting::counted(|| {
        let clock = VirtualClock::auto();
        let event_loop = EventLoop::builder().clock(&clock).build().unwrap();
        let cx = event_loop.cx();
        let allocated = event_loop.block_on(async {
            let mut interval = cx.interval(MS);
            let mut before = 0;
            for round in 0..500 {
                if round == 250 {
                    before = counting::allocations();
                }
                cx.sleep(MS / 4).await;
                cx.timeout(HOUR, cx.sleep(MS / 4)).await.unwrap();
                interval.tick().await;
            }
            counting::allocations() - before
        });
        assert_eq!(allocated.unwrap(), 0);
        assert_eq!(clock.elapsed(), 500 * MS);
    });
}

// ---- interval

// spec: BX-1, TM-10
fn an_interval_ticks_on_its_grid(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let begin = clock.now();
    let mut interval = event_loop.cx().interval(10 * MS);
    assert_eq!(interval.period(), 10 * MS);
    assert!(poller.tick(&mut interval).is_pending(), "the first one is after a period");
    // Late by more and more, and still on the grid.
    for (n, late) in [(1, 0), (2, 1), (3, 5), (4, 9)] {
        assert_eq!(event_loop.next_deadline(), Some(begin + 10 * n * MS));
        clock.advance_to_next();
        pass(&clock, &event_loop, late * MS);
        assert_eq!(poller.wakes(), 1);
        assert_eq!(poller.tick(&mut interval), Poll::Ready(begin + 10 * n * MS));
        assert_eq!(event_loop.next_deadline(), None, "nobody waits");
        assert!(poller.tick(&mut interval).is_pending());
    }
}

// spec: BX-1, TM-10
fn an_interval_that_missed_ticks_leaves_them_out(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let begin = clock.now();
    let mut interval = event_loop.cx().interval(10 * MS);
    assert!(poller.tick(&mut interval).is_pending());
    // The first one, ten that are missed, and a bit.
    pass(&clock, &event_loop, 113 * MS);
    assert_eq!(poller.wakes(), 1);
    assert_eq!(poller.tick(&mut interval), Poll::Ready(begin + 10 * MS), "when it was due");
    for _ in 0..3 {
        assert!(poller.tick(&mut interval).is_pending(), "there is no burst");
        tick(&event_loop);
    }
    assert_eq!(poller.wakes(), 0);
    assert_eq!(event_loop.next_deadline(), Some(begin + 120 * MS), "on the grid");
    pass(&clock, &event_loop, 7 * MS);
    assert_eq!(poller.wakes(), 1);
    assert_eq!(poller.tick(&mut interval), Poll::Ready(begin + 120 * MS));
    // Ten periods exactly: the tick that is due now is the one that is late.
    pass(&clock, &event_loop, 100 * MS);
    assert_eq!(poller.tick(&mut interval), Poll::Ready(begin + 130 * MS));
    assert!(poller.tick(&mut interval).is_pending());
    assert_eq!(event_loop.next_deadline(), Some(begin + 230 * MS));
}

// spec: BX-1, TM-10
fn a_slow_interval_gives_one_tick_in_each_tick_of_the_loop(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut interval = event_loop.cx().interval(MS);
    for _ in 0..10 {
        pass(&clock, &event_loop, 5 * MS);
        assert!(poller.tick(&mut interval).is_ready());
        // To handle it takes longer than the period.
        clock.advance(5 * MS);
        assert!(poller.tick(&mut interval).is_pending());
    }
}

// spec: BX-1
fn a_tick_that_was_given_up_is_not_lost(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let begin = clock.now();
    let mut interval = event_loop.cx().interval(10 * MS);
    assert!(poller.poll(&mut pin!(interval.tick())).is_pending());
    assert_eq!(event_loop.next_deadline(), Some(begin + 10 * MS));
    pass(&clock, &event_loop, 5 * MS);
    assert!(poller.poll(&mut pin!(interval.tick())).is_pending());
    drop(interval.tick());
    pass(&clock, &event_loop, 5 * MS);
    assert_eq!(poller.wakes(), 1);
    drop(interval.tick());
    assert_eq!(poller.poll(&mut pin!(interval.tick())), Poll::Ready(begin + 10 * MS));
    assert!(poller.poll(&mut pin!(interval.tick())).is_pending());
    assert_eq!(event_loop.next_deadline(), Some(begin + 20 * MS));
}

// spec: BX-1
fn an_interval_dropped_between_two_ticks_leaves_no_timer(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut interval = event_loop.cx().interval(MS);
    assert!(poller.tick(&mut interval).is_pending());
    pass(&clock, &event_loop, MS);
    assert!(poller.tick(&mut interval).is_ready() && poller.tick(&mut interval).is_pending());
    assert_eq!(poller.wakes(), 1);
    drop(interval);
    assert_eq!(event_loop.next_deadline(), None);
    pass(&clock, &event_loop, HOUR);
    assert_eq!((poller.wakes(), poller.copies()), (0, 0));
}

// spec: BX-1
fn an_interval_of_zero_is_one_of_a_millisecond(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut interval = event_loop.cx().interval(Duration::ZERO);
    assert_eq!(interval.period(), MS);
    assert!(poller.tick(&mut interval).is_pending());
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + MS));
    let shortest = event_loop.cx().interval(Duration::from_nanos(1));
    assert_eq!(shortest.period(), Duration::from_nanos(1));
}

// spec: BX-1
fn an_interval_without_an_end_never_ticks(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut interval = event_loop.cx().interval(Duration::MAX);
    assert_eq!(interval.period(), Duration::MAX);
    assert!(poller.tick(&mut interval).is_pending());
    interval.reset();
    clock.advance(Duration::MAX);
    tick(&event_loop);
    assert!(poller.tick(&mut interval).is_pending());
    // One that ticks once, and whose next tick is beyond the end of time.
    let (clock, event_loop) = manual(variant);
    let mut interval = event_loop.cx().interval(200 * YEAR);
    pass(&clock, &event_loop, 200 * YEAR);
    assert!(poller.tick(&mut interval).is_ready() && poller.tick(&mut interval).is_pending());
    clock.advance(Duration::MAX);
    tick(&event_loop);
    assert!(poller.tick(&mut interval).is_pending());
    assert_eq!(poller.wakes(), 0);
}

// spec: BX-1
fn an_interval_that_is_reset_begins_anew(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut interval = event_loop.cx().interval(10 * MS);
    assert!(poller.tick(&mut interval).is_pending());
    pass(&clock, &event_loop, 5 * MS);
    let begin = clock.now();
    interval.reset();
    pass(&clock, &event_loop, 5 * MS);
    assert_eq!(poller.wakes(), 0);
    pass(&clock, &event_loop, 5 * MS);
    assert_eq!(poller.wakes(), 1);
    // A tick that is due is forgotten.
    interval.reset();
    assert!(poller.tick(&mut interval).is_pending());
    pass(&clock, &event_loop, 10 * MS);
    assert_eq!(poller.tick(&mut interval), Poll::Ready(begin + 20 * MS));
}

// spec: BX-1
fn an_interval_ends_with_its_loop(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut interval = event_loop.cx().interval(MS);
    pass(&clock, &event_loop, MS);
    drop(event_loop);
    clock.advance(HOUR);
    assert!(poller.tick(&mut interval).is_ready(), "it was due before");
    assert!(poller.tick(&mut interval).is_pending());
    interval.reset();
    assert!(poller.tick(&mut interval).is_pending());
}

// ---- timeout

/// Is ready when it is told to, and counts how often it was asked.
#[derive(Clone, Default)]
struct Switch(Rc<(Cell<bool>, Cell<usize>)>);

impl Switch {
    fn turn_on(&self) {
        self.0.0.set(true);
    }

    fn polls(&self) -> usize {
        self.0.1.take()
    }
}

impl Future for Switch {
    type Output = &'static str;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<&'static str> {
        self.0.1.set(self.0.1.get() + 1);
        if self.0.0.get() { Poll::Ready("on") } else { Poll::Pending }
    }
}

// spec: BX-1
fn a_future_that_is_ready_needs_no_timer(variant: Variant) {
    let (_, event_loop) = manual(variant);
    let poller = Poller::new();
    for delay in [Duration::ZERO, MS, Duration::MAX] {
        let mut timeout = event_loop.cx().timeout(delay, ready(5));
        assert_eq!(poller.poll(&mut timeout), Poll::Ready(Ok(5)));
        assert_eq!(event_loop.next_deadline(), None);
    }
    assert_eq!((poller.wakes(), poller.copies()), (0, 0));
}

// spec: BX-1
fn a_future_that_is_done_in_time_leaves_no_timer(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (poller, switch) = (Poller::new(), Switch::default());
    let mut timeout = event_loop.cx().timeout(MS, switch.clone());
    assert_eq!(timeout.deadline(), clock.now() + MS);
    assert!(poller.poll(&mut timeout).is_pending());
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + MS));
    switch.turn_on();
    assert_eq!(poller.poll(&mut timeout), Poll::Ready(Ok("on")));
    assert_eq!(event_loop.next_deadline(), None, "also while it is held");
    pass(&clock, &event_loop, MS);
    assert_eq!((poller.wakes(), poller.copies()), (0, 0));
}

// spec: BX-1
fn a_future_that_takes_too_long_is_given_up(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut timeout = event_loop.cx().timeout(MS, pending::<()>());
    assert!(poller.poll(&mut timeout).is_pending());
    pass(&clock, &event_loop, MS - Duration::from_nanos(1));
    assert!(poller.poll(&mut timeout).is_pending());
    assert_eq!(poller.wakes(), 0);
    pass(&clock, &event_loop, Duration::from_nanos(1));
    assert_eq!(poller.wakes(), 1);
    assert_eq!(poller.poll(&mut timeout), Poll::Ready(Err(TimeoutError)));
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: BX-1
fn a_future_that_is_ready_at_the_same_moment_wins(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (cx, poller) = (event_loop.cx(), Poller::new());
    let mut timeout = cx.timeout(MS, cx.sleep(MS));
    assert!(poller.poll(&mut timeout).is_pending());
    pass(&clock, &event_loop, MS);
    assert_eq!(poller.wakes(), 2, "both have woken");
    assert_eq!(poller.poll(&mut timeout), Poll::Ready(Ok(())));
    // Also if its time is long over, as long as nobody has noticed.
    let switch = Switch::default();
    let mut timeout = cx.timeout(MS, switch.clone());
    assert!(poller.poll(&mut timeout).is_pending());
    pass(&clock, &event_loop, HOUR);
    switch.turn_on();
    assert_eq!(poller.poll(&mut timeout), Poll::Ready(Ok("on")));
}

// spec: BX-1
fn a_timeout_of_zero_polls_once(variant: Variant) {
    let (_, event_loop) = manual(variant);
    let (poller, switch) = (Poller::new(), Switch::default());
    let mut timeout = event_loop.cx().timeout(Duration::ZERO, switch.clone());
    assert_eq!(poller.poll(&mut timeout), Poll::Ready(Err(TimeoutError)));
    assert_eq!(switch.polls(), 1);
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: BX-1
fn a_timeout_without_an_end_waits_for_ever(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (poller, switch) = (Poller::new(), Switch::default());
    let mut timeout = event_loop.cx().timeout(Duration::MAX, switch.clone());
    assert!(poller.poll(&mut timeout).is_pending());
    clock.advance(Duration::MAX);
    tick(&event_loop);
    assert!(poller.poll(&mut timeout).is_pending());
    assert_eq!(event_loop.next_deadline(), None);
    switch.turn_on();
    assert_eq!(poller.poll(&mut timeout), Poll::Ready(Ok("on")));
}

// spec: BX-1, FA-1
fn a_panic_of_the_future_passes_through_the_timeout(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut polls = 0;
    let future = poll_fn(move |_| -> Poll<()> {
        polls += 1;
        assert!(polls < 2, "expected");
        Poll::Pending
    });
    let mut timeout = event_loop.cx().timeout(MS, future);
    assert!(poller.poll(&mut timeout).is_pending());
    assert_eq!(panic_of(|| poller.poll(&mut timeout)).as_deref(), Some("expected"));
    drop(timeout);
    assert_eq!(event_loop.next_deadline(), None);
    pass(&clock, &event_loop, HOUR);
    assert_eq!((poller.wakes(), poller.copies()), (0, 0));
}

// spec: BX-1
fn a_dropped_timeout_drops_its_future_and_its_timer(variant: Variant) {
    let (_, event_loop) = manual(variant);
    let (poller, tracker) = (Poller::new(), Tracker::new());
    let token = tracker.token();
    let future = poll_fn(move |_| -> Poll<()> {
        let _ = &token;
        Poll::Pending
    });
    let mut timeout = event_loop.cx().timeout(MS, future);
    assert!(poller.poll(&mut timeout).is_pending());
    assert_eq!(tracker.alive(), 1);
    drop(timeout);
    assert_eq!(tracker.alive(), 0);
    assert_eq!(event_loop.next_deadline(), None);
    assert_eq!(poller.copies(), 0);
}

// spec: BX-1
fn of_two_timeouts_the_shorter_one_is_first(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (cx, poller) = (event_loop.cx(), Poller::new());
    let mut inner = cx.timeout(2 * MS, cx.timeout(MS, pending::<()>()));
    let mut outer = cx.timeout(MS, cx.timeout(2 * MS, pending::<()>()));
    let mut both = cx.timeout(MS, cx.timeout(MS, pending::<()>()));
    assert!(poller.poll(&mut inner).is_pending() && poller.poll(&mut outer).is_pending());
    assert!(poller.poll(&mut both).is_pending());
    pass(&clock, &event_loop, MS);
    assert_eq!(poller.poll(&mut inner), Poll::Ready(Ok(Err(TimeoutError))));
    assert_eq!(poller.poll(&mut outer), Poll::Ready(Err(TimeoutError)));
    assert_eq!(poller.poll(&mut both), Poll::Ready(Ok(Err(TimeoutError))), "it is ready, too");
    drop((inner, outer, both));
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: BX-1
fn a_future_taken_out_of_its_timeout_goes_on(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let (cx, poller) = (event_loop.cx(), Poller::new());
    let mut timeout = cx.timeout(MS, cx.sleep(HOUR));
    assert!(poller.poll(&mut timeout).is_pending());
    pass(&clock, &event_loop, MS);
    assert!(poller.poll(&mut timeout).is_ready());
    assert!(!timeout.get_ref().is_elapsed());
    timeout.get_mut().reset(clock.now() + MS);
    let mut sleep = timeout.into_inner();
    pass(&clock, &event_loop, MS);
    assert_eq!(poller.wakes(), 2);
    assert!(poller.poll(&mut sleep).is_ready());
}

// ---- aborted

// spec: BX-1, JS-1
fn aborted_is_done_with_the_reason_and_wakes_once(variant: Variant) {
    let (_, event_loop) = manual(variant);
    let poller = Poller::new();
    let controller = AbortController::new();
    let mut aborted = event_loop.cx().aborted(&controller.signal());
    assert!(poller.poll(&mut aborted).is_pending());
    assert!(poller.poll(&mut aborted).is_pending());
    assert_eq!(poller.wakes(), 0);
    let reason = Rejection::from_value("enough");
    controller.abort_with(reason.clone());
    assert_eq!(poller.wakes(), 1, "within the abort, on the loop's thread");
    for _ in 0..2 {
        let Poll::Ready(got) = poller.poll(&mut aborted) else { panic!("it is aborted") };
        assert!(got.ptr_eq(&reason));
    }
    assert_eq!((poller.wakes(), poller.copies()), (0, 0));
}

// spec: BX-1, JS-1
fn aborted_is_done_at_once_if_the_signal_is_aborted(variant: Variant) {
    let (_, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut aborted = event_loop.cx().aborted(&AbortSignal::abort());
    let Poll::Ready(reason) = poller.poll(&mut aborted) else { panic!("it is aborted") };
    assert!(reason.is::<AbortError>());
    assert_eq!((poller.wakes(), poller.copies()), (0, 0));
}

// spec: BX-1
fn aborted_wakes_whoever_polled_it_last(variant: Variant) {
    let (_, event_loop) = manual(variant);
    let (first, second) = (Poller::new(), Poller::new());
    let controller = AbortController::new();
    let mut aborted = event_loop.cx().aborted(&controller.signal());
    assert!(first.poll(&mut aborted).is_pending() && second.poll(&mut aborted).is_pending());
    assert_eq!(first.copies(), 0);
    controller.abort();
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
}

// spec: BX-1
fn dropping_aborted_removes_the_listener(variant: Variant) {
    let (_, event_loop) = manual(variant);
    let poller = Poller::new();
    let controller = AbortController::new();
    let mut aborted = event_loop.cx().aborted(&controller.signal());
    assert!(poller.poll(&mut aborted).is_pending());
    assert!(poller.copies() > 0);
    drop(aborted);
    assert_eq!(poller.copies(), 0);
    controller.abort();
    assert_eq!(poller.wakes(), 0);
}

// spec: BX-1, JS-1
fn an_abort_on_another_thread_is_seen_at_once_and_wakes_on_the_loop(variant: Variant) {
    let (_, event_loop) = manual(variant);
    let (first, second) = (Poller::new(), Poller::new());
    let controller = AbortController::new();
    let mut aborted = event_loop.cx().aborted(&controller.signal());
    let mut late = event_loop.cx().aborted(&controller.signal());
    assert!(first.poll(&mut aborted).is_pending());
    elsewhere(|| controller.abort());
    assert!(second.poll(&mut late).is_ready());
    tick(&event_loop);
    assert_eq!((first.wakes(), second.wakes()), (1, 0));
    assert!(first.poll(&mut aborted).is_ready());
}

// spec: BX-1, JS-1
fn an_abort_that_was_seen_before_its_listener_was_called_wakes_nobody(variant: Variant) {
    let (_, event_loop) = manual(variant);
    let poller = Poller::new();
    let controller = AbortController::new();
    let mut aborted = event_loop.cx().aborted(&controller.signal());
    assert!(poller.poll(&mut aborted).is_pending());
    elsewhere(|| controller.abort());
    assert!(poller.poll(&mut aborted).is_ready());
    assert_eq!(poller.copies(), 0);
    tick(&event_loop);
    assert_eq!(poller.wakes(), 0);
}

// spec: BX-1, JS-1
fn aborted_waits_in_vain_if_nobody_can_abort(variant: Variant) {
    let (_, event_loop) = manual(variant);
    let poller = Poller::new();
    let mut never = event_loop.cx().aborted(&AbortSignal::never());
    assert!(poller.poll(&mut never).is_pending());
    let controller = AbortController::new();
    let mut lost = event_loop.cx().aborted(&controller.signal());
    assert!(poller.poll(&mut lost).is_pending());
    drop(controller);
    assert!(poller.poll(&mut lost).is_pending());
    drop((never, lost));
    assert_eq!((poller.wakes(), poller.copies()), (0, 0));
}

// spec: BX-1
fn aborted_after_the_end_of_the_loop_tells_what_is_known(variant: Variant) {
    let (_, event_loop) = manual(variant);
    let (cx, poller) = (event_loop.cx().clone(), Poller::new());
    let controller = AbortController::new();
    let mut before = cx.aborted(&controller.signal());
    assert!(poller.poll(&mut before).is_pending());
    drop(event_loop);
    let mut after = cx.aborted(&controller.signal());
    assert!(poller.poll(&mut before).is_pending() && poller.poll(&mut after).is_pending());
    controller.abort();
    assert_eq!(poller.wakes(), 0, "there is no loop that could call a listener");
    assert!(poller.poll(&mut before).is_ready() && poller.poll(&mut after).is_ready());
    assert_eq!(poller.copies(), 0);
}

// spec: BX-1, JS-1
fn no_abort_is_missed_by_a_poll_at_the_same_moment(variant: Variant) {
    let event_loop = variant.build();
    for _ in 0..500 {
        let controller = AbortController::new();
        let poller = Poller::new();
        let mut aborted: Aborted = event_loop.cx().aborted(&controller.signal());
        let start = Arc::new(Barrier::new(2));
        let go = Arc::clone(&start);
        let thread = thread::spawn(move || {
            go.wait();
            controller.abort();
        });
        start.wait();
        if poller.poll(&mut aborted).is_pending() {
            thread.join().unwrap();
            turn_until_quiet(&event_loop);
            assert_eq!(poller.wakes(), 1);
            assert!(poller.poll(&mut aborted).is_ready());
        } else {
            thread.join().unwrap();
        }
    }
}

// ---- on the loop

// spec: BX-1
fn spawned_sleeps_end_in_order_and_keep_the_loop_alive(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let log = Log::new();
    for (name, delay) in [("b", 2), ("a", 1), ("also b", 2), ("c", 3)] {
        let (cx, log) = (event_loop.cx().clone(), log.clone());
        event_loop.cx().spawn_local(async move {
            cx.sleep(delay * MS).await;
            cx.sleep(HOUR).await;
            log.push(name);
        });
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.take(), ["a", "b", "also b", "c"]);
    assert_eq!(clock.elapsed(), HOUR + 3 * MS);
}

// spec: BX-1
fn a_spawned_future_that_is_aborted_leaves_no_timer(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let cx = event_loop.cx().clone();
    let task = event_loop.cx().spawn_local(async move { cx.timeout(HOUR, cx.sleep(HOUR)).await });
    tick(&event_loop);
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + HOUR));
    task.abort();
    assert_eq!(event_loop.next_deadline(), None);
    event_loop.run_until_idle().unwrap();
    assert!(matches!(event_loop.block_on(task).unwrap(), Err(JoinError::Aborted)));
}

// spec: BX-1, TM-9
fn a_future_that_sleeps_for_no_time_lets_others_run(variant: Variant) {
    for until_passed in [false, true] {
        let (_, event_loop) = manual(variant);
        let cx = event_loop.cx().clone();
        let task = event_loop.cx().spawn_local(async move {
            loop {
                match until_passed {
                    false => cx.sleep(Duration::ZERO).await,
                    true => cx.sleep_until(cx.now() - MS).await,
                }
            }
        });
        let others = Rc::new(Cell::new(0));
        for _ in 0..10 {
            let ran = Rc::clone(&others);
            event_loop.cx().submit(move |_| ran.set(ran.get() + 1)).unwrap();
            tick(&event_loop);
        }
        assert_eq!(others.get(), 10);
        task.abort();
    }
}

// spec: BX-1
fn a_shutdown_drops_what_sleeps(variant: Variant) {
    let (clock, event_loop) = manual(variant);
    let tracker = Tracker::new();
    let (cx, token) = (event_loop.cx().clone(), tracker.token());
    let task = event_loop.cx().spawn_local(async move {
        let _token = token;
        cx.sleep(HOUR).await;
        unreachable!("there is no such time");
    });
    tick(&event_loop);
    assert_eq!(event_loop.next_deadline(), Some(clock.now() + HOUR));
    event_loop.cx().shutdown();
    event_loop.run().unwrap();
    assert_eq!(tracker.alive(), 0);
    let Poll::Ready(Err(error)) = Poller::new().poll(&mut pin!(task)) else {
        panic!("it has ended")
    };
    assert!(matches!(error, JoinError::Terminated));
    assert!(clock.elapsed().is_zero());
}

// spec: BX-1, FA-1
fn a_panic_under_a_timeout_reaches_the_handle(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let cx = event_loop.cx().clone();
    let task = event_loop.cx().spawn_local(async move {
        let late = async {
            cx.sleep(MS).await;
            panic!("expected");
        };
        cx.timeout(HOUR, late).await
    });
    assert!(matches!(event_loop.block_on(task).unwrap(), Err(JoinError::Panicked(_))));
    assert_eq!(event_loop.next_deadline(), None);
    assert_eq!(clock.elapsed(), MS);
}

// spec: BX-1
fn whatever_comes_first_ends_the_race(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let cx = event_loop.cx();
    let race = |signal: AbortSignal| async move {
        let (mut aborted, mut sleep) = (cx.aborted(&signal), cx.sleep(10 * MS));
        poll_fn(move |context| {
            if let Poll::Ready(reason) = Pin::new(&mut aborted).poll(context) {
                return Poll::Ready(Err(reason));
            }
            Pin::new(&mut sleep).poll(context).map(Ok)
        })
        .await
    };
    let first = AbortSignal::timeout(cx, MS).unwrap();
    let reason = event_loop.block_on(race(first)).unwrap().unwrap_err();
    assert!(reason.is::<TimeoutError>());
    assert_eq!(clock.elapsed(), MS);
    assert!(event_loop.block_on(race(AbortSignal::never())).unwrap().is_ok());
    assert_eq!(clock.elapsed(), 11 * MS);
    assert_eq!(event_loop.next_deadline(), None);
}

// spec: BX-1, TM-10
fn an_interval_in_a_spawned_future(variant: Variant) {
    let (clock, event_loop) = automatic(variant);
    let (cx, begin) = (event_loop.cx().clone(), clock.now());
    let ticks = event_loop.cx().spawn_local(async move {
        let mut interval = cx.interval(10 * MS);
        let mut ticks = Vec::new();
        for work in [0, 3, 25, 0, 0] {
            ticks.push((interval.tick().await - begin).as_millis());
            cx.sleep(work * MS).await;
        }
        ticks
    });
    assert_eq!(event_loop.block_on(ticks).unwrap().unwrap(), [10, 20, 30, 40, 60]);
    event_loop.run_until_idle().unwrap();
    assert_eq!(clock.elapsed(), 60 * MS);
    assert_eq!(event_loop.next_deadline(), None);
}
