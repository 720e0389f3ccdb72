//! mainspring: promises of the loop's thread, and those that may be sent to others, used on the loop's thread.

use mainspring::{EventLoop, LocalPromise, LocalResolver, Promise, Resolver};

use super::{Promises, Step};

/// They have the same methods, but no trait in common.
macro_rules! peer {
    ($peer:ident, $promise:ident, $resolver:ident, $context:ident) => {
        pub struct $peer {
            event_loop: EventLoop,
        }

        impl Promises for $peer {
            type Chain = $resolver<u64>;
            type Resolver = $resolver<u64>;

            fn new() -> Self {
                Self { event_loop: EventLoop::new().unwrap() }
            }

            fn single(&mut self, count: usize, step: Step) {
                let context = &self.event_loop.$context();
                for number in 0..count as u64 {
                    let (promise, resolver) = $promise::with_resolvers(context);
                    promise.then(move |_, value| step.end(value));
                    resolver.resolve(number);
                }
                self.event_loop.run_until_idle().unwrap();
            }

            fn build(&mut self, links: usize, step: Step) -> Self::Chain {
                let (mut last, resolver) = $promise::with_resolvers(&self.event_loop.$context());
                for _ in 1..links {
                    last = last.then(move |_, value| step.apply(value));
                }
                last.then(move |_, value| step.end(value));
                resolver
            }

            fn settle(&mut self, resolver: Self::Chain) {
                resolver.resolve(0);
                drop(resolver);
                self.event_loop.run_until_idle().unwrap();
            }

            fn pend(&mut self, count: usize, step: Step, resolvers: &mut Vec<Self::Resolver>) {
                let context = &self.event_loop.$context();
                for _ in 0..count {
                    let (promise, resolver) = $promise::with_resolvers(context);
                    promise.then(move |_, value| step.end(value));
                    resolvers.push(resolver);
                }
            }

            fn resolve(&mut self, resolvers: &mut Vec<Self::Resolver>) {
                for (number, resolver) in resolvers.drain(..).enumerate() {
                    resolver.resolve(number as u64);
                }
                self.event_loop.run_until_idle().unwrap();
            }

            fn all(&mut self, groups: usize, inputs: usize, step: Step) {
                let context = &self.event_loop.$context();
                for _ in 0..groups {
                    let (promises, resolvers): (Vec<_>, Vec<_>) =
                        (0..inputs).map(|_| $promise::with_resolvers(context)).unzip();
                    $promise::all(context, promises)
                        .then(move |_, values: Vec<u64>| step.end(values.iter().sum()));
                    for (number, resolver) in resolvers.iter().enumerate() {
                        resolver.resolve(number as u64);
                    }
                }
                self.event_loop.run_until_idle().unwrap();
            }
        }
    };
}

peer!(MainspringLocal, LocalPromise, LocalResolver, cx);
peer!(MainspringShared, Promise, Resolver, handle);
