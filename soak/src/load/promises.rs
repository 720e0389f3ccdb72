//! Promises and what runs at checkpoints: chains, combinators, rejections that are handled and that are not.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mainspring::{Cx, LocalPromise};

use super::run::Run;
use crate::ledger::{COMBINATORS, IMMEDIATES, MICROTASKS, PROMISES, REJECTIONS};
use crate::random::Random;

const EVERY: Duration = Duration::from_millis(5);
const LINKS: u64 = 20;
const TOGETHER: u64 = 8;

pub(crate) fn start(cx: &Cx, run: &Arc<Run>) {
    let random = RefCell::new(Random::new(5));
    super::every(cx, run, EVERY, move |cx| {
        let random = &mut *random.borrow_mut();
        chain(cx, random);
        combine(cx, random);
        queue(cx, random);
        if random.is_one_in(20) {
            REJECTIONS.note_issued();
            drop(LocalPromise::<()>::reject(cx, fmt::Error));
        }
    });
}

/// Each link has a ticket; in the middle the chain is rejected, and caught.
fn chain(cx: &Cx, random: &mut Random) {
    let (first, resolver) = LocalPromise::with_resolvers(cx);
    let mut last = first;
    for link in 0..LINKS {
        let ticket = PROMISES.issue();
        last = match link {
            10 => last.try_then(|_, _| {
                ticket.run();
                Err(fmt::Error)
            }),
            11 => last.catch(|_, _| {
                ticket.run();
                0
            }),
            12 => last.and_then(|cx, n| {
                ticket.run();
                LocalPromise::resolve(cx, n + 1)
            }),
            13 => last.finally(|_| ticket.run()),
            _ => last.then(|_, n: u64| {
                ticket.run();
                n + 1
            }),
        };
    }
    let delay = random.milliseconds(0..100);
    let resolve = move |_: &Cx| {
        resolver.resolve(1);
    };
    assert!(cx.set_timeout(delay, resolve).is_ok(), "the loop has not ended");
}

/// Every combinator, of promises that are settled one after the other.
fn combine(cx: &Cx, random: &mut Random) {
    let mut promises = Vec::new();
    for number in 0..TOGETHER {
        let (promise, resolver) = LocalPromise::with_resolvers(cx);
        let settle = move |_: &Cx| {
            if number == 3 {
                resolver.reject(fmt::Error)
            } else {
                resolver.resolve(number)
            };
        };
        let delay = random.milliseconds(0..50);
        assert!(cx.set_timeout(delay, settle).is_ok(), "the loop has not ended");
        promises.push(promise);
    }
    let all = || promises.iter().cloned();
    let [one, two, three, four] = [(); 4].map(|()| COMBINATORS.issue());
    LocalPromise::all(cx, all()).catch(|_, _| Vec::new()).then(|_, _| one.run());
    LocalPromise::all_settled(cx, all()).then(|_, outcomes| {
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_err()).count(), 1);
        two.run();
    });
    LocalPromise::any(cx, all()).then(|_, _| three.run());
    LocalPromise::race(cx, all()).catch(|_, _| 0).then(|_, _| four.run());
}

/// Next ticks, microtasks and immediates, some of which are cleared.
fn queue(cx: &Cx, random: &mut Random) {
    for _ in 0..random.within(1..20) {
        let (first, second) = (MICROTASKS.issue(), MICROTASKS.issue());
        cx.next_tick(|cx| {
            first.run();
            cx.queue_microtask(|_| second.run());
        });
        let ticket = IMMEDIATES.issue();
        let id = cx.set_immediate(|_| ticket.run());
        if random.is_one_in(4) && cx.clear_immediate(id) {
            IMMEDIATES.note_told();
        }
    }
}
