//! A program, for any implementation: `P` is the promise, `R` its resolver, `Reason` its reason, `Cx` what callbacks are
//! given, `at` what a promise is made with, and `abandon` lets go of a resolver.

macro_rules! program {
    () => {
        use std::sync::{Arc, Mutex};

        use mainspring::PromiseState;

        use super::{Oops, State, describe};

        #[derive(Clone)]
        struct World {
            state: Arc<Mutex<State>>,
            promises: Arc<Mutex<Vec<P<i64>>>>,
            resolvers: Arc<Mutex<Vec<R<i64>>>>,
        }

        fn show(result: &Result<i64, Reason>) -> String {
            match result {
                Ok(value) => format!("ok {value}"),
                Err(reason) => format!("err {}", describe(reason.as_error())),
            }
        }

        impl World {
            #[allow(clippy::arc_with_non_send_sync)]
            fn new(data: &[u8]) -> Self {
                let state = Arc::new(Mutex::new(State::new(data)));
                Self { state, promises: Arc::default(), resolvers: Arc::default() }
            }

            fn log(&self, line: String) {
                self.state.lock().unwrap().log(line);
            }

            fn draw(&self, below: usize) -> usize {
                self.state.lock().unwrap().source.below(below)
            }

            /// One of the promises, the last ones more often.
            fn pick(&self) -> P<i64> {
                let promises = self.promises.lock().unwrap();
                let back = if self.draw(2) == 0 { promises.len().min(4) } else { promises.len() };
                promises[promises.len() - 1 - self.draw(back)].clone()
            }

            fn picks(&self) -> Vec<P<i64>> {
                (0..self.draw(4)).map(|_| self.pick()).collect()
            }

            /// Lets one of the resolvers do something.
            fn with_resolver(&self, f: impl FnOnce(&R<i64>)) {
                let resolvers = self.resolvers.lock().unwrap();
                if !resolvers.is_empty() {
                    f(&resolvers[self.draw(resolvers.len())]);
                }
            }

            fn push(&self, promise: P<i64>) {
                self.promises.lock().unwrap().push(promise);
            }

            fn add(&self, cx: &Cx) {
                let (promise, resolver) = P::with_resolvers(&at(cx));
                self.push(promise);
                self.resolvers.lock().unwrap().push(resolver);
            }

            fn task(&self, cx: &Cx, number: usize) {
                self.log(format!("task {number}"));
                self.add(cx);
                for _ in 0..self.draw(12) {
                    self.statement(cx);
                }
                self.log(format!("end of task {number}"));
            }

            /// What every callback does.
            fn callback(&self, cx: &Cx, id: usize, argument: &str) -> i64 {
                self.log(format!("{id}: {argument}"));
                for _ in 0..self.draw(4) {
                    self.statement(cx);
                }
                self.draw(100) as i64
            }

            fn result(&self, value: i64) -> Result<i64, Oops> {
                if self.draw(3) == 0 { Err(Oops(value as usize)) } else { Ok(value) }
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
                match self.draw(22) {
                    0 => self.add(cx),
                    1 => self.with_resolver(|resolver| {
                        let first = resolver.resolve(self.draw(100) as i64);
                        self.log(format!("{id}: resolve {first}"));
                    }),
                    2 => self.with_resolver(|resolver| {
                        let first = resolver.reject(Oops(self.draw(100)));
                        self.log(format!("{id}: reject {first}"));
                    }),
                    3 => self.with_resolver(|resolver| {
                        let first = resolver.adopt(&self.pick());
                        self.log(format!("{id}: adopt {first}"));
                    }),
                    4 => {
                        let mut resolvers = self.resolvers.lock().unwrap();
                        if !resolvers.is_empty() {
                            let which = self.draw(resolvers.len());
                            let resolver = resolvers.swap_remove(which);
                            drop(resolvers);
                            self.log(format!("{id}: abandon"));
                            abandon(resolver);
                        }
                    }
                    5 => self.push(P::resolve(&at(cx), self.draw(100) as i64)),
                    6 => self.push(P::reject(&at(cx), Oops(self.draw(100)))),
                    7 => self.push(self.pick().then(move |cx: &Cx, value: i64| {
                        this.callback(cx, id, &format!("then {value}"))
                    })),
                    8 => self.push(self.pick().and_then(move |cx: &Cx, value: i64| {
                        this.callback(cx, id, &format!("and_then {value}"));
                        this.pick()
                    })),
                    9 => self.push(self.pick().try_then(move |cx: &Cx, value: i64| {
                        let value = this.callback(cx, id, &format!("try_then {value}"));
                        this.result(value)
                    })),
                    10 => self.push(self.pick().catch(move |cx: &Cx, reason: Reason| {
                        this.callback(cx, id, &format!("catch {}", describe(reason.as_error())))
                    })),
                    11 => self.push(self.pick().or_else(move |cx: &Cx, reason: Reason| {
                        this.callback(cx, id, &format!("or_else {}", describe(reason.as_error())));
                        this.pick()
                    })),
                    12 => self.push(self.pick().finally(move |cx: &Cx| {
                        this.callback(cx, id, "finally");
                    })),
                    13 => self.push(self.pick().try_finally(move |cx: &Cx| {
                        let value = this.callback(cx, id, "try_finally");
                        this.result(value).map(|_| ())
                    })),
                    14 => self.push(self.pick().handle(
                        move |cx: &Cx, result: Result<i64, Reason>| {
                            let text = format!("handle {}", show(&result));
                            let value = this.callback(cx, id, &text);
                            this.result(value)
                        },
                    )),
                    15 => self.push(P::all(&at(cx), self.picks()).then(
                        move |cx: &Cx, values: Vec<i64>| {
                            this.callback(cx, id, &format!("all {values:?}"))
                        },
                    )),
                    16 => self.push(P::all_settled(&at(cx), self.picks()).then(
                        move |cx: &Cx, results: Vec<Result<i64, Reason>>| {
                            let results: Vec<String> = results.iter().map(show).collect();
                            this.callback(cx, id, &format!("all_settled {results:?}"))
                        },
                    )),
                    17 => self.push(P::any(&at(cx), self.picks()).try_catch(
                        move |cx: &Cx, reason: Reason| {
                            let error = reason.downcast_ref::<AggregateError<Reason>>();
                            let errors = error.expect("all of them were rejected").errors();
                            let errors: Vec<String> =
                                errors.iter().map(|reason| describe(reason.as_error())).collect();
                            let value = this.callback(cx, id, &format!("any {errors:?}"));
                            this.result(value)
                        },
                    )),
                    18 => self.push(P::any(&at(cx), self.picks())),
                    19 => self.push(P::race(&at(cx), self.picks())),
                    20 => {
                        // A handle is let go of. That of a promise which is pending may be the last one: it is
                        // abandoned then, and ECMAScript has no word for that.
                        let mut promises = self.promises.lock().unwrap();
                        let which = self.draw(promises.len());
                        if promises.len() > 1 && promises[which].state() != PromiseState::Pending {
                            let promise = promises.swap_remove(which);
                            drop(promises);
                            drop(promise);
                        }
                    }
                    _ => cx.queue_microtask(move |cx: &Cx| {
                        this.callback(cx, id, "microtask");
                    }),
                }
            }

            fn log_states(&self) {
                for promise in &*self.promises.lock().unwrap() {
                    self.log(format!("{:?}", promise.state()));
                }
            }

            /// Breaks the cycles, and gives the lines.
            fn end(&self) -> Vec<String> {
                let promises = std::mem::take(&mut *self.promises.lock().unwrap());
                let resolvers = std::mem::take(&mut *self.resolvers.lock().unwrap());
                drop((promises, resolvers));
                std::mem::take(&mut self.state.lock().unwrap().log)
            }
        }
    };
}
