//! What resolvers of both kinds can do, written once.

/// Implements what settles a kind of promises, with the parameters of `vocabulary`.
macro_rules! resolving {
    (
        promise: $Promise:ident $promise:literal,
        resolver: $Resolver:ident,
        reason: $Reason:ident,
        home: $example:literal,
        bounds: [$($bound:tt)*],
    ) => {
        impl<T: $($bound)* 'static> $Resolver<T> {
            /// Fulfils the promise. Tells whether it was the first to decide.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let (_promise, resolver) = ", $promise, "::with_resolvers(", $example, ");")]
            /// assert!(resolver.resolve(5));
            /// assert!(!resolver.resolve(6), "it has a value already");
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            #[inline]
            pub fn resolve(&self, value: T) -> bool {
                match self.0.claim() {
                    Some(child) => {
                        child.settle(Ok(value));
                        true
                    }
                    None => false,
                }
            }

            /// Rejects the promise. Tells whether it was the first to decide.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let (promise, resolver) = ", $promise, "::<i32>::with_resolvers(", $example, ");")]
            /// promise.catch(|_, reason| {
            ///     assert!(reason.is::<std::fmt::Error>());
            ///     0
            /// });
            /// assert!(resolver.reject(std::fmt::Error));
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn reject(&self, reason: impl Into<$Reason>) -> bool {
                match self.0.claim() {
                    Some(child) => {
                        child.settle(Err(reason.into()));
                        true
                    }
                    None => false,
                }
            }

            /// Resolves the promise with another one: it will settle as that one does. Tells whether it was the
            /// first to decide.
            ///
            /// If both are the same, it is rejected with [`Error::PromiseCycle`](crate::Error::PromiseCycle).
            /// Longer cycles are not found, as in JavaScript: those promises stay pending until the loop ends.
            ///
            /// ```
            #[doc = concat!("use mainspring::{EventLoop, ", $promise, "};")]
            ///
            /// let event_loop = EventLoop::new()?;
            #[doc = concat!("let (promise, resolver) = ", $promise, "::with_resolvers(", $example, ");")]
            /// promise.then(|_, n| assert_eq!(n, 5));
            #[doc = concat!("assert!(resolver.adopt(&", $promise, "::resolve(", $example, ", 5)));")]
            /// event_loop.run_until_idle()?;
            /// # Ok::<(), mainspring::Error>(())
            /// ```
            pub fn adopt(&self, promise: &$Promise<T>) -> bool
            where
                T: Clone,
            {
                match self.0.claim() {
                    Some(child) => {
                        child.adopt(promise.base.clone());
                        true
                    }
                    None => false,
                }
            }
        }

        impl<T> fmt::Debug for $Resolver<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($Resolver))
            }
        }
    };
}

pub(super) use resolving;
