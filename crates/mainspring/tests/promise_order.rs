//! The order of promise callbacks is JavaScript's: puzzles whose answers are Node's, and random programs that are
//! compared with a literal transcription of the algorithms of ECMAScript.
//!
//! The transcription was compared with Node 20 itself, with the same programs.

mod common;
#[path = "common/ecmascript.rs"]
mod model;
#[path = "common/promises.rs"]
mod promising;
use std::sync::{Arc, Mutex};

use common::SharedLog;
use mainspring::{AggregateError, Cx, Error};
use promising::{Bench, Oops, describe};

/// A line of the log.
type Lines = SharedLog<&'static str>;

flavours! {
    // spec: PR-1
    #[test]
    fn handlers_of_a_settled_promise_take_turns_with_microtasks() {
        // p = Promise.resolve(1);
        // p.then(a); queueMicrotask(x); p.then(b);
        let bench = Bench::new();
        let log = Lines::new();
        let notes = log.clone();
        bench.task(move |cx| {
            let p = P::resolve(&at(cx), 1);
            let (a, b) = (notes.clone(), notes.clone());
            p.then(move |_, _| a.push("a"));
            cx.queue_microtask(notes.note("x"));
            p.then(move |_, _| b.push("b"));
            cx.handle().queue_microtask(notes.note("y")).unwrap();
            let c = notes.clone();
            p.then(move |_, _| c.push("c"));
            notes.push("end of the task");
        });
        assert_eq!(log.take(), ["end of the task", "a", "x", "b", "y", "c"]);
    }

    // spec: PR-1
    #[test]
    fn handlers_of_a_pending_promise_are_queued_when_it_is_settled() {
        // p.then(a); p.then(b); queueMicrotask(x); resolve(); queueMicrotask(y); p.then(c);
        let bench = Bench::new();
        let log = Lines::new();
        let notes = log.clone();
        bench.task(move |cx| {
            let (p, resolver) = P::with_resolvers(&at(cx));
            for name in ["a", "b"] {
                let notes = notes.clone();
                p.then(move |_, _: i32| notes.push(name));
            }
            cx.queue_microtask(notes.note("x"));
            assert!(resolver.resolve(1));
            cx.queue_microtask(notes.note("y"));
            let c = notes.clone();
            p.then(move |_, _| c.push("c"));
            notes.push("end of the task");
        });
        assert_eq!(log.take(), ["end of the task", "x", "a", "b", "y", "c"]);
    }

    // spec: PR-1, MT-1
    #[test]
    fn handlers_run_before_the_next_task_and_after_next_ticks() {
        let bench = Bench::new();
        let log = Lines::new();
        for name in ["1", "2"] {
            let notes = log.clone();
            bench
                .cx()
                .submit(move |cx| {
                    let p = P::resolve(&at(cx), 1);
                    for _ in 0..2 {
                        let notes = notes.clone();
                        p.then(move |cx, _| {
                            notes.push(name);
                            cx.next_tick(notes.note("next tick of a handler"));
                        });
                    }
                    cx.next_tick(notes.note("next tick"));
                })
                .unwrap();
        }
        bench.settle();
        let late = "next tick of a handler";
        assert_eq!(
            log.take(),
            ["next tick", "1", "1", late, late, "next tick", "2", "2", late, late]
        );
    }

    // spec: PR-2
    #[test]
    fn the_puzzle_of_zero_to_six() {
        // Promise.resolve().then(() => { log(0); return Promise.resolve(4); }).then(log);
        // Promise.resolve().then(() => log(1)).then(() => log(2)).then(() => log(3))
        //     .then(() => log(5)).then(() => log(6));
        let bench = Bench::new();
        let log = SharedLog::new();
        let notes = log.clone();
        bench.task(move |cx| {
            let (zero, four) = (notes.clone(), notes.clone());
            P::resolve(&at(cx), ())
                .and_then(move |cx, ()| {
                    zero.push(0);
                    P::resolve(&at(cx), 4)
                })
                .then(move |_, value| four.push(value));
            let mut chain = P::resolve(&at(cx), ());
            for number in [1, 2, 3, 5, 6] {
                let notes = notes.clone();
                chain = chain.then(move |_, ()| notes.push(number));
            }
        });
        assert_eq!(log.take(), [0, 1, 2, 3, 4, 5, 6]);
    }

    // spec: PR-2
    #[test]
    fn adoption_takes_two_microtasks_more() {
        // a = Promise.resolve(1); new Promise(r => r(a)).then(() => log('adopted'));
        // Promise.resolve().then(() => log(1)).then(() => log(2)).then(() => log(3)).then(() => log(4));
        // The same for one that is rejected, and for one that is settled after it was adopted.
        for kind in ["fulfilled", "rejected", "pending"] {
            let bench = Bench::new();
            let log = Lines::new();
            let notes = log.clone();
            bench.task(move |cx| {
                let (inner, resolver) = P::with_resolvers(&at(cx));
                match kind {
                    "fulfilled" => _ = resolver.resolve(1),
                    "rejected" => _ = resolver.reject(Oops(1)),
                    _ => {}
                }
                let (outer, outer_resolver) = P::with_resolvers(&at(cx));
                assert!(outer_resolver.adopt(&inner));
                let adopted = notes.clone();
                outer.handle(move |_, _: Result<i32, Reason>| {
                    adopted.push(kind);
                    Ok::<_, Error>(())
                });
                let mut chain = P::resolve(&at(cx), ());
                for number in ["1", "2", "3", "4"] {
                    let notes = notes.clone();
                    chain = chain.then(move |_, ()| notes.push(number));
                }
                if kind == "pending" {
                    resolver.resolve(1);
                }
            });
            // In the last case it has not asked for the value yet when that comes, so it is the same.
            assert_eq!(log.take(), ["1", "2", kind, "3", "4"]);
        }
    }

    // spec: PR-2
    #[test]
    fn a_promise_adopted_long_before_it_is_settled_takes_one_microtask() {
        // outer adopted inner in an earlier task. Then:
        // resolveInner(1); Promise.resolve().then(() => log(1)).then(() => log(2)).then(() => log(3));
        let bench = Bench::new();
        let log = Lines::new();
        let (inner, resolver) = P::with_resolvers(&at(bench.cx()));
        let (outer, outer_resolver) = P::with_resolvers(&at(bench.cx()));
        assert!(outer_resolver.adopt(&inner));
        let notes = log.clone();
        outer.then(move |_, _: i32| notes.push("adopted"));
        bench.settle();
        let notes = log.clone();
        bench.task(move |cx| {
            resolver.resolve(1);
            let mut chain = P::resolve(&at(cx), ());
            for number in ["1", "2", "3"] {
                let notes = notes.clone();
                chain = chain.then(move |_, ()| notes.push(number));
            }
        });
        assert_eq!(log.take(), ["1", "adopted", "2", "3"]);
    }

    // spec: PR-2
    #[test]
    fn finally_takes_its_extra_microtasks() {
        // Promise.resolve(7).finally(() => log('finally')).then(() => log('value'));
        // Promise.reject(7).finally(() => log('finally')).catch(() => log('reason'));
        // Promise.resolve().then(() => log(1)).then(() => log(2)) … .then(() => log(6));
        let bench = Bench::new();
        let log = Lines::new();
        let notes = log.clone();
        bench.task(move |cx| {
            let (f, v) = (notes.clone(), notes.clone());
            P::resolve(&at(cx), 7).finally(move |_| f.push("finally")).then(move |_, value| {
                assert_eq!(value, 7);
                v.push("value");
            });
            let (f, r) = (notes.clone(), notes.clone());
            P::<i32>::reject(&at(cx), Oops(7)).finally(move |_| f.push("finally")).catch(
                move |_, reason| {
                    assert_eq!(reason.downcast_ref(), Some(&Oops(7)));
                    r.push("reason");
                    0
                },
            );
            let mut chain = P::resolve(&at(cx), ());
            for number in ["1", "2", "3", "4", "5", "6"] {
                let notes = notes.clone();
                chain = chain.then(move |_, ()| notes.push(number));
            }
        });
        assert_eq!(
            log.take(),
            ["finally", "finally", "1", "2", "3", "value", "reason", "4", "5", "6"]
        );
        bench.assert_silent();
    }

    // spec: PR-2
    #[test]
    fn a_finally_that_fails_takes_no_extra_microtask() {
        // Promise.resolve(7).finally(() => { throw 1 }).catch(() => log('reason'));
        // Promise.resolve().then(() => log(1)).then(() => log(2)).then(() => log(3));
        let bench = Bench::new();
        let log = Lines::new();
        let notes = log.clone();
        bench.task(move |cx| {
            let r = notes.clone();
            P::resolve(&at(cx), 7).try_finally(|_| Err(Oops(1))).catch(move |_, _| {
                r.push("reason");
                0
            });
            let mut chain = P::resolve(&at(cx), ());
            for number in ["1", "2", "3"] {
                let notes = notes.clone();
                chain = chain.then(move |_, ()| notes.push(number));
            }
        });
        assert_eq!(log.take(), ["1", "reason", "2", "3"]);
    }

    // spec: PR-2
    #[test]
    fn a_rejection_passes_through_then_at_one_microtask_a_link() {
        // Promise.reject(1).then(f).then(f).then(f).catch(() => log('caught'));
        // Promise.resolve(1).catch(f).catch(f).catch(f).then(() => log('passed'));
        // Promise.resolve().then(() => log(1)) … .then(() => log(5));
        let bench = Bench::new();
        let log = Lines::new();
        let notes = log.clone();
        bench.task(move |cx| {
            let (caught, passed) = (notes.clone(), notes.clone());
            let never = |_: &Cx, _| -> i32 { unreachable!() };
            P::reject(&at(cx), Oops(1)).then(never).then(never).then(never).catch(move |_, _| {
                caught.push("caught");
                1
            });
            let never = |_: &Cx, _: Reason| -> i32 { unreachable!() };
            P::resolve(&at(cx), 1).catch(never).catch(never).catch(never).then(move |_, _| {
                passed.push("passed");
            });
            let mut chain = P::resolve(&at(cx), ());
            for number in ["1", "2", "3", "4", "5"] {
                let notes = notes.clone();
                chain = chain.then(move |_, ()| notes.push(number));
            }
        });
        assert_eq!(log.take(), ["1", "2", "3", "caught", "passed", "4", "5"]);
    }

    // spec: PR-3, PR-1
    #[test]
    fn the_combinators_take_as_many_microtasks_as_in_node() {
        // p = Promise.resolve(1), q = Promise.reject(2);
        // Promise.all([p, p]).then(() => log('all')); Promise.allSettled([p, q]).then(…);
        // Promise.any([q, p]).then(…); Promise.race([q, p]).catch(…); Promise.all([]).then(…);
        // Promise.any([]).catch(…); Promise.any([q]).catch(…); Promise.all([p, q]).catch(…)
        // Promise.resolve().then(() => log(1)).then(() => log(2)).then(() => log(3));
        let bench = Bench::new();
        let log = Lines::new();
        let notes = log.clone();
        bench.task(move |cx| {
            let note = |name: &'static str| {
                let notes = notes.clone();
                move || notes.push(name)
            };
            let (p, q) = (P::resolve(&at(cx), 1), P::<i32>::reject(&at(cx), Oops(2)));
            let f = note("all");
            P::all(&at(cx), [p.clone(), p.clone()]).then(move |_, _| f());
            let f = note("all_settled");
            P::all_settled(&at(cx), [p.clone(), q.clone()]).then(move |_, _| f());
            let f = note("any");
            P::any(&at(cx), [q.clone(), p.clone()]).then(move |_, _| f());
            let f = note("race");
            P::race(&at(cx), [q.clone(), p.clone()]).catch(move |_, _| {
                f();
                0
            });
            let f = note("all of none");
            P::<i32>::all(&at(cx), []).then(move |_, _| f());
            let f = note("any of none");
            P::<i32>::any(&at(cx), []).catch(move |_, _| {
                f();
                0
            });
            let f = note("any of one");
            P::any(&at(cx), [q.clone()]).catch(move |_, _| {
                f();
                0
            });
            let f = note("all with a rejected one");
            P::all(&at(cx), [p.clone(), q.clone()]).catch(move |_, _| {
                f();
                vec![]
            });
            let mut chain = P::resolve(&at(cx), ());
            for number in ["1", "2", "3"] {
                let notes = notes.clone();
                chain = chain.then(move |_, ()| notes.push(number));
            }
        });
        assert_eq!(
            log.take(),
            [
                "all of none",
                "any of none",
                "1",
                "all",
                "all_settled",
                "any",
                "race",
                "any of one",
                "all with a rejected one",
                "2",
                "3",
            ]
        );
        bench.assert_silent();
    }

    // spec: PR-1, PR-2, PR-3, PR-7
    #[test]
    fn random_programs_run_as_in_node() {
        for seed in 1..400 {
            let (expected, expected_handled) = model_programs::run(seed);
            let (log, handled) = run(seed);
            assert_eq!(log, expected, "seed {seed}");
            assert_eq!(handled, expected_handled, "seed {seed}");
        }
    }

    fn run(seed: u32) -> (Vec<String>, Vec<String>) {
        let world = World::new(seed);
        let state = world.state();
        let (unhandled, handled) = (world.state(), world.state());
        let event_loop = common::builder()
            .microtask_budget(None)
            .panic_policy(mainspring::PanicPolicy::Propagate)
            .on_unhandled_rejection(move |_, rejection| {
                let reason = describe(rejection.reason().as_error());
                let mut state = unhandled.lock().unwrap();
                state.reported.push((format!("{:?}", rejection.id()), reason.clone()));
                state.log.push(format!("unhandled {reason}"));
            })
            .on_rejection_handled(move |_, id| {
                let mut state = handled.lock().unwrap();
                let id = format!("{id:?}");
                let at = state.reported.iter().position(|(reported, _)| *reported == id).unwrap();
                let (_, reason) = state.reported.swap_remove(at);
                state.handled.push(reason);
            })
            .build()
            .unwrap();
        let bench = Bench::of(event_loop);
        for task in 0..4 {
            let world = world.clone();
            bench.cx().submit(move |cx| world.task(cx, task)).unwrap();
        }
        bench.settle();
        drop(bench);
        world.end();
        let state = state.lock().unwrap();
        (state.log.clone(), state.handled.clone())
    }

    program!();
}

/// The program of a seed: callbacks that draw what they do from one generator, so that any deviation in their order
/// makes a different program. Expects what `flavours` gives.
#[macro_export]
macro_rules! program {
    () => {
        #[derive(Clone)]
        #[allow(clippy::arc_with_non_send_sync)]
        struct World {
            state: Arc<Mutex<State>>,
            promises: Arc<Mutex<Vec<P<i64>>>>,
            resolvers: Arc<Mutex<Vec<Arc<R<i64>>>>>,
        }

        #[allow(clippy::arc_with_non_send_sync)]
        impl World {
            fn new(seed: u32) -> Self {
                Self {
                    state: Arc::new(Mutex::new(State::new(seed))),
                    promises: Arc::default(),
                    resolvers: Arc::default(),
                }
            }

            fn state(&self) -> Arc<Mutex<State>> {
                Arc::clone(&self.state)
            }

            /// Breaks the cycles.
            fn end(&self) {
                let promises = std::mem::take(&mut *self.promises.lock().unwrap());
                let resolvers = std::mem::take(&mut *self.resolvers.lock().unwrap());
                drop((promises, resolvers));
            }

            fn draw(&self, below: u32) -> u32 {
                self.state.lock().unwrap().draw(below)
            }

            fn pick(&self) -> P<i64> {
                let promises = self.promises.lock().unwrap();
                promises[self.draw(promises.len() as u32) as usize].clone()
            }

            fn pick_resolver(&self) -> Arc<R<i64>> {
                let resolvers = self.resolvers.lock().unwrap();
                Arc::clone(&resolvers[self.draw(resolvers.len() as u32) as usize])
            }

            fn push(&self, promise: P<i64>) {
                self.promises.lock().unwrap().push(promise);
            }

            fn add(&self, cx: &Cx) {
                let (promise, resolver) = P::with_resolvers(&at(cx));
                self.push(promise);
                self.resolvers.lock().unwrap().push(Arc::new(resolver));
            }

            fn log(&self, text: String) {
                self.state.lock().unwrap().log.push(text);
            }

            fn task(&self, cx: &Cx, number: u32) {
                self.log(format!("task {number}"));
                self.add(cx);
                self.add(cx);
                for _ in 0..6 {
                    self.statement(cx);
                }
                self.log(format!("end of task {number}"));
            }

            /// What every callback does.
            fn callback(&self, cx: &Cx, id: usize, argument: String) -> i64 {
                self.log(format!("{id}: {argument}"));
                for _ in 0..self.draw(4) {
                    self.statement(cx);
                }
                i64::from(self.draw(100))
            }

            fn result(&self, value: i64) -> Result<i64, Oops> {
                if self.draw(3) == 0 { Err(Oops(value as i32)) } else { Ok(value) }
            }

            fn statement(&self, cx: &Cx) {
                let id = {
                    let mut state = self.state.lock().unwrap();
                    if state.left == 0 {
                        return;
                    }
                    state.left -= 1;
                    state.left
                };
                let this = self.clone();
                match self.draw(20) {
                    0 => self.add(cx),
                    1 => {
                        let (resolver, value) = (self.pick_resolver(), self.draw(100));
                        let first = resolver.resolve(value.into());
                        self.log(format!("{id}: resolve {first}"));
                    }
                    2 => {
                        let (resolver, value) = (self.pick_resolver(), self.draw(100));
                        let first = resolver.reject(Oops(value as i32));
                        self.log(format!("{id}: reject {first}"));
                    }
                    3 | 4 => {
                        let (resolver, promise) = (self.pick_resolver(), self.pick());
                        let first = resolver.adopt(&promise);
                        self.log(format!("{id}: adopt {first}"));
                    }
                    5 => self.push(P::resolve(&at(cx), self.draw(100).into())),
                    6 => self.push(P::reject(&at(cx), Oops(self.draw(100) as i32))),
                    7 => self.push(self.pick().then(move |cx: &Cx, value: i64| {
                        this.callback(cx, id, format!("then {value}"))
                    })),
                    8 => self.push(self.pick().and_then(move |cx: &Cx, value: i64| {
                        this.callback(cx, id, format!("and_then {value}"));
                        this.pick()
                    })),
                    9 => self.push(self.pick().try_then(move |cx: &Cx, value: i64| {
                        let value = this.callback(cx, id, format!("try_then {value}"));
                        this.result(value)
                    })),
                    10 => self.push(self.pick().catch(move |cx: &Cx, reason: Reason| {
                        this.callback(cx, id, format!("catch {}", describe(reason.as_error())))
                    })),
                    11 => self.push(self.pick().or_else(move |cx: &Cx, reason: Reason| {
                        this.callback(cx, id, format!("or_else {}", describe(reason.as_error())));
                        this.pick()
                    })),
                    12 => self.push(self.pick().finally(move |cx: &Cx| {
                        this.callback(cx, id, "finally".to_owned());
                    })),
                    13 => self.push(self.pick().try_finally(move |cx: &Cx| {
                        let value = this.callback(cx, id, "try_finally".to_owned());
                        this.result(value).map(|_| ())
                    })),
                    14 => self.push(self.pick().handle(
                        move |cx: &Cx, result: Result<i64, Reason>| {
                            let text = match result {
                                Ok(value) => format!("ok {value}"),
                                Err(reason) => format!("err {}", describe(reason.as_error())),
                            };
                            let value = this.callback(cx, id, format!("handle {text}"));
                            this.result(value)
                        },
                    )),
                    15 => {
                        let inputs: Vec<_> = (0..self.draw(4)).map(|_| self.pick()).collect();
                        self.push(P::all(&at(cx), inputs).then(
                            move |cx: &Cx, values: Vec<i64>| {
                                this.callback(cx, id, format!("all {values:?}"))
                            },
                        ));
                    }
                    16 => {
                        let inputs: Vec<_> = (0..self.draw(4)).map(|_| self.pick()).collect();
                        self.push(P::all_settled(&at(cx), inputs).then(
                            move |cx: &Cx, results: Vec<Result<i64, Reason>>| {
                                let results: Vec<String> = results
                                    .iter()
                                    .map(|result| match result {
                                        Ok(value) => format!("ok {value}"),
                                        Err(reason) => {
                                            format!("err {}", describe(reason.as_error()))
                                        }
                                    })
                                    .collect();
                                this.callback(cx, id, format!("all_settled {results:?}"))
                            },
                        ));
                    }
                    17 => {
                        let inputs: Vec<_> = (0..self.draw(4)).map(|_| self.pick()).collect();
                        self.push(P::any(&at(cx), inputs).try_catch(
                            move |cx: &Cx, reason: Reason| {
                                let error =
                                    reason.downcast_ref::<AggregateError<Reason>>().unwrap();
                                let errors: Vec<String> = error
                                    .errors()
                                    .iter()
                                    .map(|reason| describe(reason.as_error()))
                                    .collect();
                                let value = this.callback(cx, id, format!("any {errors:?}"));
                                this.result(value)
                            },
                        ));
                    }
                    18 => {
                        let inputs: Vec<_> = (0..self.draw(4)).map(|_| self.pick()).collect();
                        self.push(P::race(&at(cx), inputs));
                    }
                    _ => cx.queue_microtask(move |cx: &Cx| {
                        this.callback(cx, id, "microtask".to_owned());
                    }),
                }
            }
        }
    };
}

/// What a program of [`program`] has besides its promises.
struct State {
    random: u32,
    /// Statements that it may still execute.
    left: usize,
    log: Vec<String>,
    /// Unhandled rejections: the promise and the reason.
    reported: Vec<(String, String)>,
    handled: Vec<String>,
}

impl State {
    fn new(seed: u32) -> Self {
        let random = seed.wrapping_mul(0x9e37_79b9) | 1;
        Self { random, left: 120, log: vec![], reported: vec![], handled: vec![] }
    }

    fn draw(&mut self, below: u32) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random % below
    }
}

/// The programs, with the transcription of ECMAScript.
mod model_programs {
    use std::sync::{Arc, Mutex};

    use super::State;
    use super::model::{AggregateError, Cx, P, R, Reason, at};
    use super::promising::{Oops, describe};

    program!();

    pub(super) fn run(seed: u32) -> (Vec<String>, Vec<String>) {
        let world = World::new(seed);
        let cx = Cx::new();
        for task in 0..4 {
            world.task(&cx, task);
            cx.checkpoint(|reason| {
                world.log(format!("unhandled {}", describe(reason.as_error())));
            });
        }
        world.end();
        let log = world.state().lock().unwrap().log.clone();
        cx.end();
        let handled = cx.handled();
        (log, handled.iter().map(|reason| describe(reason.as_error())).collect())
    }
}
