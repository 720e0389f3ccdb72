//! What promises of both kinds can do, written once.

/// Implements a kind of promises, and what settles them (`resolving`).
///
/// | parameter  | meaning                                                           |
/// |------------|-------------------------------------------------------------------|
/// | `promise`  | the type of a promise, and its name                               |
/// | `resolver` | the type of its resolver                                          |
/// | `reason`   | the type of a reason                                              |
/// | `mode`     | the kind                                                          |
/// | `home`     | what leads to the loop: its type, and how the examples get one    |
/// | `cell`     | what holds the place where a task or a thread waits               |
/// | `bounds`   | what values and handlers have to be, followed by a plus            |
macro_rules! vocabulary {
    (
        promise: $Promise:ident $promise:literal,
        resolver: $Resolver:ident,
        reason: $Reason:ident,
        mode: $Mode:ident,
        home: $Home:ident $example:literal,
        cell: $Cell:ident,
        bounds: [$($bound:tt)*],
    ) => {
        impl<T: $($bound)* 'static> $Promise<T> {
            #[inline]
            pub(super) fn new(base: Base<T, $Mode>) -> Self {
                Self { base, waiting: $Cell::new() }
            }

            /// A pending promise, and what settles it.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let (promise, resolver) = ", $promise, "::with_resolvers(", $example, ");")]
            /// promise.then(|_, text: &str| println!("{text}"));
            /// resolver.resolve("hello");
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            #[inline]
            #[must_use = "a promise whose resolver is dropped is rejected"]
            pub fn with_resolvers(home: &$Home) -> (Self, $Resolver<T>) {
                let (base, settler) = Base::listed(home.clone());
                (Self::new(base), $Resolver(settler))
            }

            /// A promise that was fulfilled.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!($promise, "::resolve(", $example, ", 2).then(|_, n| assert_eq!(n, 2));")]
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            #[inline]
            pub fn resolve(home: &$Home, value: T) -> Self {
                Self::new(Base::settled(home.clone(), Ok(value)))
            }

            /// A promise that was rejected.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let promise = ", $promise, "::<()>::reject(", $example, ", std::fmt::Error);")]
            /// promise.catch(|_, reason| assert!(reason.is::<std::fmt::Error>()));
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn reject(home: &$Home, reason: impl Into<$Reason>) -> Self {
                Self::new(Base::settled(home.clone(), Err(reason.into())))
            }

            /// Calls a function at once, and makes a promise of its result, also if it panics: then the
            /// promise is rejected with [`Panicked`].
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let promise = ", $promise, "::try_(", $example, ", || \"five\".parse::<i32>());")]
            /// promise.catch(|_, reason| {
            ///     assert!(reason.is::<std::num::ParseIntError>());
            ///     5
            /// });
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn try_<E>(home: &$Home, f: impl FnOnce() -> Result<T, E>) -> Self
            where
                E: Into<$Reason>,
            {
                let outcome = match catch_unwind(AssertUnwindSafe(f)) {
                    Ok(result) => result.map_err(Into::into),
                    Err(payload) => Err(Rejection::new(Panicked::new(payload)).into()),
                };
                Self::new(Base::settled(home.clone(), outcome))
            }

            /// How far it is.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, ", PromiseState};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let (promise, resolver) = ", $promise, "::with_resolvers(", $example, ");")]
            /// assert_eq!(promise.state(), PromiseState::Pending);
            /// resolver.resolve(5);
            /// assert_eq!(promise.state(), PromiseState::Fulfilled);
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            #[must_use]
            pub fn state(&self) -> PromiseState {
                self.base.state()
            }

            /// Names it.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let promise = ", $promise, "::resolve(", $example, ", 2);")]
            /// assert_eq!(promise.id(), promise.clone().id());
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            #[must_use]
            pub fn id(&self) -> PromiseId {
                self.base.node().id()
            }
        }

        impl<T: Clone + $($bound)* 'static> $Promise<T> {
            /// Derives a promise: for what `f` makes of the value, or rejected as this one.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!($promise, "::resolve(", $example, ", 2)")]
            ///     .then(|_, n| n + 1)
            ///     .then(|_, n| assert_eq!(n, 3));
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            #[inline]
            pub fn then<U, F>(&self, f: F) -> $Promise<U>
            where
                U: $($bound)* 'static,
                F: FnOnce(&Cx, T) -> U + $($bound)* 'static,
            {
                $Promise::new(self.base.derive(On(move |cx: &Cx, outcome: Result<T, $Reason>| {
                    Verdict::Settle(outcome.map(|value| f(cx, value)))
                })))
            }

            /// Like [`then`](Self::then), for a function that can fail: an error rejects the derived promise.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!($promise, "::resolve(", $example, ", \"2\")")]
            ///     .try_then(|_, text| text.parse::<i32>())
            ///     .then(|_, n| assert_eq!(n, 2));
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn try_then<U, E, F>(&self, f: F) -> $Promise<U>
            where
                U: $($bound)* 'static,
                E: Into<$Reason>,
                F: FnOnce(&Cx, T) -> Result<U, E> + $($bound)* 'static,
            {
                $Promise::new(self.base.derive(On(move |cx: &Cx, outcome: Result<T, $Reason>| {
                    Verdict::Settle(outcome.and_then(|value| f(cx, value).map_err(Into::into)))
                })))
            }

            /// Like [`then`](Self::then), for a function that gives a promise: the derived promise settles
            /// as that one does.
            ///
            /// As in JavaScript, that takes it two microtasks more. A function that gives the derived promise
            /// itself rejects it with [`Error::PromiseCycle`](crate::Error::PromiseCycle).
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let inner = ", $promise, "::resolve(", $example, ", 5);")]
            #[doc = concat!($promise, "::resolve(", $example, ", 2)")]
            ///     .and_then(move |_, _| inner)
            ///     .then(|_, n| assert_eq!(n, 5));
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn and_then<U, F>(&self, f: F) -> $Promise<U>
            where
                U: Clone + $($bound)* 'static,
                F: FnOnce(&Cx, T) -> $Promise<U> + $($bound)* 'static,
            {
                $Promise::new(self.base.derive(On(
                    move |cx: &Cx, outcome: Result<T, $Reason>| match outcome {
                        Ok(value) => Verdict::Adopt(f(cx, value).base, Child::adopt),
                        Err(reason) => Verdict::Settle(Err(reason)),
                    },
                )))
            }

            /// Derives a promise: fulfilled as this one, or for what `f` makes of the reason.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!($promise, "::reject(", $example, ", std::fmt::Error)")]
            ///     .catch(|_, _| 5)
            ///     .then(|_, n| assert_eq!(n, 5));
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn catch<F>(&self, f: F) -> $Promise<T>
            where
                F: FnOnce(&Cx, $Reason) -> T + $($bound)* 'static,
            {
                $Promise::new(self.base.derive(On(move |cx: &Cx, outcome: Result<T, $Reason>| {
                    Verdict::Settle(outcome.or_else(|reason| Ok(f(cx, reason))))
                })))
            }

            /// Like [`catch`](Self::catch), for a function that can fail: an error rejects the derived promise.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!($promise, "::reject(", $example, ", std::fmt::Error)")]
            ///     .try_catch(|_, reason| if reason.is::<std::fmt::Error>() { Ok(5) } else { Err(reason) })
            ///     .then(|_, n| assert_eq!(n, 5));
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn try_catch<E, F>(&self, f: F) -> $Promise<T>
            where
                E: Into<$Reason>,
                F: FnOnce(&Cx, $Reason) -> Result<T, E> + $($bound)* 'static,
            {
                $Promise::new(self.base.derive(On(move |cx: &Cx, outcome: Result<T, $Reason>| {
                    Verdict::Settle(outcome.or_else(|reason| f(cx, reason).map_err(Into::into)))
                })))
            }

            /// Like [`catch`](Self::catch), for a function that gives a promise: the derived promise settles
            /// as that one does.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let other = ", $promise, "::resolve(", $example, ", 5);")]
            #[doc = concat!($promise, "::reject(", $example, ", std::fmt::Error)")]
            ///     .or_else(move |_, _| other)
            ///     .then(|_, n| assert_eq!(n, 5));
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn or_else<F>(&self, f: F) -> $Promise<T>
            where
                F: FnOnce(&Cx, $Reason) -> $Promise<T> + $($bound)* 'static,
            {
                $Promise::new(self.base.derive(On(
                    move |cx: &Cx, outcome: Result<T, $Reason>| match outcome {
                        Ok(value) => Verdict::Settle(Ok(value)),
                        Err(reason) => Verdict::Adopt(f(cx, reason).base, Child::adopt),
                    },
                )))
            }

            /// Derives a promise that settles as this one, after `f` was called.
            ///
            /// As in JavaScript, that takes it two microtasks more than [`then`](Self::then).
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!($promise, "::resolve(", $example, ", 2)")]
            ///     .finally(|_| println!("the end"))
            ///     .then(|_, n| assert_eq!(n, 2));
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn finally<F>(&self, f: F) -> $Promise<T>
            where
                F: FnOnce(&Cx) + $($bound)* 'static,
            {
                $Promise::new(self.base.derive(On(move |cx: &Cx, outcome: Result<T, $Reason>| {
                    f(cx);
                    Verdict::Delay(outcome)
                })))
            }

            /// Like [`finally`](Self::finally), for a function that can fail: an error replaces the outcome.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!($promise, "::resolve(", $example, ", 2)")]
            ///     .try_finally(|_| Err(std::fmt::Error))
            ///     .catch(|_, reason| {
            ///         assert!(reason.is::<std::fmt::Error>());
            ///         0
            ///     });
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn try_finally<E, F>(&self, f: F) -> $Promise<T>
            where
                E: Into<$Reason>,
                F: FnOnce(&Cx) -> Result<(), E> + $($bound)* 'static,
            {
                $Promise::new(self.base.derive(On(
                    move |cx: &Cx, outcome: Result<T, $Reason>| match f(cx) {
                        Ok(()) => Verdict::Delay(outcome),
                        Err(error) => Verdict::Settle(Err(error.into())),
                    },
                )))
            }

            /// Like [`finally`](Self::finally), for a function that gives a promise, which is waited for. If that one
            /// is rejected, its reason replaces the outcome.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let closed = ", $promise, "::resolve(", $example, ", ());")]
            #[doc = concat!($promise, "::resolve(", $example, ", 2)")]
            ///     .and_finally(move |_| closed)
            ///     .then(|_, n| assert_eq!(n, 2));
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn and_finally<U, F>(&self, f: F) -> $Promise<T>
            where
                U: Clone + $($bound)* 'static,
                F: FnOnce(&Cx) -> $Promise<U> + $($bound)* 'static,
            {
                $Promise::new(self.base.derive(On(move |cx: &Cx, outcome: Result<T, $Reason>| {
                    let after = f(cx).try_then(move |_, _| outcome);
                    Verdict::Adopt(after.base, Child::adopt)
                })))
            }

            /// Derives a promise for what `f` makes of the outcome, whichever it is: the `then` of JavaScript
            /// with two functions.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!($promise, "::resolve(", $example, ", 2)")]
            ///     .handle(|_, outcome| outcome.map(|n| n + 1))
            ///     .then(|_, n| assert_eq!(n, 3));
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn handle<U, E, F>(&self, f: F) -> $Promise<U>
            where
                U: $($bound)* 'static,
                E: Into<$Reason>,
                F: FnOnce(&Cx, Result<T, $Reason>) -> Result<U, E> + $($bound)* 'static,
            {
                $Promise::new(self.base.derive(On(move |cx: &Cx, outcome: Result<T, $Reason>| {
                    Verdict::Settle(f(cx, outcome).map_err(Into::into))
                })))
            }

            /// Like [`handle`](Self::handle), for a function that gives a promise: the derived promise settles as that
            /// one does.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let other = ", $promise, "::resolve(", $example, ", 5);")]
            #[doc = concat!($promise, "::resolve(", $example, ", 2)")]
            ///     .and_handle(move |_, outcome| if outcome.is_ok_and(|n| n < 3) { other } else { unreachable!() })
            ///     .then(|_, n| assert_eq!(n, 5));
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn and_handle<U, F>(&self, f: F) -> $Promise<U>
            where
                U: Clone + $($bound)* 'static,
                F: FnOnce(&Cx, Result<T, $Reason>) -> $Promise<U> + $($bound)* 'static,
            {
                $Promise::new(self.base.derive(On(move |cx: &Cx, outcome: Result<T, $Reason>| {
                    Verdict::Adopt(f(cx, outcome).base, Child::adopt)
                })))
            }

            /// A promise for the values of all, in their order; rejected as the first one that is.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let two = ", $promise, "::resolve(", $example, ", 2);")]
            #[doc = concat!("let three = ", $promise, "::resolve(", $example, ", 3);")]
            #[doc = concat!($promise, "::all(", $example, ", [two, three]).then(|_, all| assert_eq!(all, [2, 3]));")]
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn all<I>(home: &$Home, promises: I) -> $Promise<Vec<T>>
            where
                I: IntoIterator<Item = $Promise<T>>,
            {
                $Promise::new(combine::all(home, promises.into_iter().map(|promise| promise.base)))
            }

            /// A promise for the outcomes of all, in their order, once all have settled.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let good = ", $promise, "::resolve(", $example, ", 2);")]
            #[doc = concat!("let bad = ", $promise, "::reject(", $example, ", std::fmt::Error);")]
            #[doc = concat!($promise, "::all_settled(", $example, ", [good, bad]).then(|_, all| {")]
            ///     assert!(all[0].is_ok() && all[1].is_err());
            /// });
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn all_settled<I>(home: &$Home, promises: I) -> $Promise<Vec<Result<T, $Reason>>>
            where
                I: IntoIterator<Item = $Promise<T>>,
            {
                let promises = promises.into_iter().map(|promise| promise.base);
                $Promise::new(combine::all_settled(home, promises))
            }

            /// A promise for the value of the first one that is fulfilled; rejected with an
            /// [`AggregateError`](crate::AggregateError) if none is.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let good = ", $promise, "::resolve(", $example, ", 2);")]
            #[doc = concat!("let bad = ", $promise, "::reject(", $example, ", std::fmt::Error);")]
            #[doc = concat!($promise, "::any(", $example, ", [bad, good]).then(|_, n| assert_eq!(n, 2));")]
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn any<I>(home: &$Home, promises: I) -> $Promise<T>
            where
                I: IntoIterator<Item = $Promise<T>>,
            {
                $Promise::new(combine::any(home, promises.into_iter().map(|promise| promise.base)))
            }

            /// A promise that settles as the first one that does. Of none, it stays pending as long as somebody
            /// has it.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let (slow, _resolver) = ", $promise, "::with_resolvers(", $example, ");")]
            #[doc = concat!("let fast = ", $promise, "::resolve(", $example, ", 2);")]
            #[doc = concat!($promise, "::race(", $example, ", [slow, fast]).then(|_, n| assert_eq!(n, 2));")]
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn race<I>(home: &$Home, promises: I) -> $Promise<T>
            where
                I: IntoIterator<Item = $Promise<T>>,
            {
                $Promise::new(combine::race(home, promises.into_iter().map(|promise| promise.base)))
            }

            /// Where this reference to the promise waits for the outcome.
            fn waiters(&self) -> &WaitersOf<T, $Mode> {
                let waiting =
                    self.waiting.get_or_init(|| Waiting(<WaitersOf<T, $Mode>>::wrap(Waiters::new())));
                if waiters::is_first::<T, $Mode>(&waiting.0) {
                    let place = waiting.0.clone();
                    let deliver = Pass(move |outcome| waiters::put::<T, $Mode>(&place, outcome));
                    drop(self.base.derive::<(), _>(deliver));
                }
                &waiting.0
            }
        }

        impl<T> Clone for $Promise<T> {
            fn clone(&self) -> Self {
                Self { base: self.base.clone(), waiting: $Cell::new() }
            }
        }

        impl<T> fmt::Debug for $Promise<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($promise).field("state", &self.base.state()).finish_non_exhaustive()
            }
        }

        /// Waits for the outcome. It takes a microtask to get there, also if the promise has settled.
        ///
        /// Each reference to a promise waits by itself. One that is dropped while it waits costs a little memory
        /// until the promise settles: keep it, rather than to clone the promise for each time.
        impl<T: Clone + $($bound)* 'static> Future for $Promise<T> {
            type Output = Result<T, $Reason>;

            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                waiters::ask::<T, $Mode>(self.waiters(), Asker::Task(cx.waker()))
            }
        }

        $crate::promise::resolving::resolving! {
            promise: $Promise $promise,
            resolver: $Resolver,
            reason: $Reason,
            home: $example,
            bounds: [$($bound)*],
        }
    };
}

pub(super) use vocabulary;
