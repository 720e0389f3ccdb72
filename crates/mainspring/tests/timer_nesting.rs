//! How nested timers are clamped.

mod common;

use std::time::{Duration, Instant};

use common::timers::{HOUR, MS, automatic};
use common::{Log, Variant};
use mainspring::{Cx, TimerNesting, VirtualClock};

suite! {
    nesting_deeper_than_five_clamps_short_delays,
    the_nesting_level_is_that_of_the_creation_and_one_more,
    the_nesting_level_is_restored_after_a_panic,
    each_call_of_a_nested_interval_is_one_level_deeper,
}

// spec: JS-2
fn nesting_deeper_than_five_clamps_short_delays(variant: Variant) {
    fn link(cx: &Cx, nesting: &TimerNesting, log: &Log<(u32, Instant)>, delay: Duration) {
        let (inner, noted) = (nesting.clone(), log.clone());
        let callback = nesting.nest(move |cx: &Cx| {
            noted.push((inner.level(), cx.now()));
            if noted.len() < 10 {
                link(cx, &inner, &noted, delay);
            }
        });
        cx.set_timeout(nesting.clamp(delay), callback).unwrap();
    }
    for (delay, clamped) in [(0, 4_000), (1, 4_000), (3_999, 4_000), (4_000, 4_000), (5_000, 5_000)]
    {
        let delay = Duration::from_micros(delay);
        let clamped = Duration::from_micros(clamped);
        let (clock, event_loop) = automatic(variant);
        let nesting = TimerNesting::new();
        let log = Log::new();
        let mut last = clock.now();
        link(event_loop.cx(), &nesting, &log, delay);
        event_loop.run_until_idle().unwrap();
        for (i, (level, at)) in log.take().into_iter().enumerate() {
            assert_eq!(level as usize, i + 1);
            // Set at the level before: more than five means six and deeper.
            let expected = if i > 5 { clamped } else { delay };
            assert_eq!(at - last, expected, "link {i} of {delay:?}");
            last = at;
        }
        assert_eq!(nesting.level(), 0);
    }
}

// spec: JS-2
fn the_nesting_level_is_that_of_the_creation_and_one_more(variant: Variant) {
    let (_clock, event_loop) = automatic(variant);
    let nesting = TimerNesting::new();
    let log = Log::new();
    let cx = event_loop.cx();
    assert_eq!(nesting.level(), 0);
    let (inner, noted) = (nesting.clone(), log.clone());
    let outer = nesting.nest(move |cx: &Cx| {
        noted.push(("outer", inner.level()));
        let (level, noted) = (inner.clone(), noted.clone());
        // Two of the same level, one of them much later.
        for delay in [MS, HOUR] {
            let (level, noted) = (level.clone(), noted.clone());
            let inner = level.clone();
            let callback = level.nest(move |_: &Cx| noted.push(("inner", inner.level())));
            cx.set_timeout(delay, callback).unwrap();
        }
        cx.queue_microtask(move |_| noted.push(("microtask", level.level())));
    });
    cx.set_timeout(MS, outer).unwrap();
    let (level, noted) = (nesting.clone(), log.clone());
    // Not nested: a callback that comes between two others has their level no more.
    cx.set_timeout(MS, move |_| noted.push(("plain", level.level()))).unwrap();
    let (level, noted) = (nesting.clone(), log.clone());
    let other = nesting.nest(move |_: &Cx| noted.push(("other", level.level())));
    cx.set_timeout(10 * MS, other).unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(
        log.take(),
        [("outer", 1), ("microtask", 0), ("plain", 0), ("inner", 2), ("other", 1), ("inner", 2)]
    );
    assert_eq!(nesting.level(), 0);
    assert_eq!(nesting.clamp(Duration::ZERO), Duration::ZERO);
    assert_eq!(TimerNesting::new().level(), 0);
}

// spec: JS-2, FA-1
fn the_nesting_level_is_restored_after_a_panic(variant: Variant) {
    let clock = VirtualClock::auto();
    let nesting = TimerNesting::new();
    let log = Log::new();
    let (level, told) = (nesting.clone(), log.clone());
    let event_loop = variant
        .builder()
        .clock(&clock)
        .on_uncaught(move |_, _| told.push(level.level()))
        .build()
        .unwrap();
    let inner = nesting.clone();
    let callback = nesting.nest(move |_: &Cx| {
        assert_eq!(inner.level(), 1);
        panic!("expected by the test");
    });
    event_loop.cx().set_timeout(MS, callback).unwrap();
    let interval = nesting.nest_mut(|_: &Cx| panic!("expected by the test"));
    let id = event_loop.cx().set_interval(MS, interval).unwrap();
    event_loop.cx().set_timeout(3 * MS, move |cx| _ = cx.clear_interval(id)).unwrap();
    event_loop.run_until_idle().unwrap();
    let levels = log.take();
    assert!(levels.len() >= 3 && levels.iter().all(|level| *level == 0), "{levels:?}");
    assert_eq!(nesting.level(), 0);
}

// spec: JS-2
fn each_call_of_a_nested_interval_is_one_level_deeper(variant: Variant) {
    let (_clock, event_loop) = automatic(variant);
    let nesting = TimerNesting::new();
    let log = Log::new();
    let (level, noted) = (nesting.clone(), log.clone());
    let callback = nesting.nest_mut(move |cx: &Cx| {
        noted.push((level.level(), level.clamp(MS)));
        if noted.len() == 8 {
            assert!(cx.clear_interval(cx.current_interval().unwrap()));
        }
    });
    event_loop.cx().set_interval(MS, callback).unwrap();
    event_loop.run_until_idle().unwrap();
    let expected = (1..=8).map(|level| (level, if level > 5 { 4 * MS } else { MS }));
    assert!(log.take().into_iter().eq(expected));
    assert_eq!(nesting.level(), 0);
}
