//! The least that does the job: a counted box for each promise, which also holds the handler that settles it,
//! and a queue of what is to run. There are no rejections, no second handler, no panics, no other threads,
//! no type of value but one, and no loop.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use super::{Promises, Step};

/// What is run with a value. The number is its own, for an `all` that waits for many.
trait React {
    fn react(&self, number: usize, value: u64, queue: &mut Queue);
}

type Queue = VecDeque<(Rc<dyn React>, usize, u64)>;

#[derive(Default)]
pub struct State {
    value: Cell<Option<u64>>,
    reaction: Cell<Option<(Rc<dyn React>, usize)>>,
}

impl State {
    fn resolve(&self, value: u64, queue: &mut Queue) {
        self.value.set(Some(value));
        if let Some((reaction, number)) = self.reaction.take() {
            queue.push_back((reaction, number, value));
        }
    }

    fn subscribe(&self, reaction: Rc<dyn React>, number: usize, queue: &mut Queue) {
        match self.value.get() {
            Some(value) => queue.push_back((reaction, number, value)),
            None => self.reaction.set(Some((reaction, number))),
        }
    }
}

trait HasState {
    fn state(&self) -> &State;
}

impl HasState for State {
    fn state(&self) -> &State {
        self
    }
}

/// A promise, and the handler whose result it gets.
struct Derived<F> {
    state: State,
    handler: Cell<Option<F>>,
}

impl<F> HasState for Derived<F> {
    fn state(&self) -> &State {
        &self.state
    }
}

impl<F: FnOnce(u64) -> u64> React for Derived<F> {
    fn react(&self, _: usize, value: u64, queue: &mut Queue) {
        let handler = self.handler.take().expect("runs once");
        self.state.resolve(handler(value), queue);
    }
}

fn then(
    promise: &dyn HasState,
    handler: impl FnOnce(u64) -> u64 + 'static,
    queue: &mut Queue,
) -> Rc<dyn HasState> {
    let derived = Rc::new(Derived { state: State::default(), handler: Cell::new(Some(handler)) });
    promise.state().subscribe(Rc::clone(&derived) as _, 0, queue);
    derived
}

/// What an `all` has got, and what is done with it.
struct All<F> {
    values: RefCell<Vec<u64>>,
    left: Cell<usize>,
    handler: Cell<Option<F>>,
    /// Itself, for the queue.
    this: Weak<Self>,
}

/// The number with which an `all` is run when all have come, which is never an index.
const COMPLETE: usize = usize::MAX;

impl<F: FnOnce(Vec<u64>) + 'static> All<F> {
    fn subscribe(promises: &[Rc<State>], handler: F, queue: &mut Queue) {
        let all = Rc::new_cyclic(|this| Self {
            values: RefCell::new(vec![0; promises.len()]),
            left: Cell::new(promises.len()),
            handler: Cell::new(Some(handler)),
            this: this.clone(),
        });
        for (index, promise) in promises.iter().enumerate() {
            promise.subscribe(Rc::clone(&all) as _, index, queue);
        }
    }
}

impl<F: FnOnce(Vec<u64>) + 'static> React for All<F> {
    fn react(&self, number: usize, value: u64, queue: &mut Queue) {
        if number == COMPLETE {
            let handler = self.handler.take().expect("runs once");
            return handler(self.values.take());
        }
        self.values.borrow_mut()[number] = value;
        self.left.set(self.left.get() - 1);
        if self.left.get() == 0 {
            queue.push_back((self.this.upgrade().expect("runs now"), COMPLETE, 0));
        }
    }
}

pub struct Floor {
    queue: Queue,
}

impl Floor {
    fn run(&mut self) {
        while let Some((reaction, number, value)) = self.queue.pop_front() {
            reaction.react(number, value, &mut self.queue);
        }
    }
}

impl Promises for Floor {
    type Chain = Rc<State>;
    type Resolver = Rc<State>;

    fn new() -> Self {
        Self { queue: Queue::new() }
    }

    fn single(&mut self, count: usize, step: Step) {
        for number in 0..count as u64 {
            let promise = Rc::new(State::default());
            then(&*promise, ending(step), &mut self.queue);
            promise.resolve(number, &mut self.queue);
        }
        self.run();
    }

    fn build(&mut self, links: usize, step: Step) -> Self::Chain {
        let first = Rc::new(State::default());
        let mut last: Rc<dyn HasState> = Rc::clone(&first) as _;
        for _ in 1..links {
            last = then(&*last, move |value| step.apply(value), &mut self.queue);
        }
        then(&*last, ending(step), &mut self.queue);
        first
    }

    fn settle(&mut self, first: Self::Chain) {
        first.resolve(0, &mut self.queue);
        drop(first);
        self.run();
    }

    fn pend(&mut self, count: usize, step: Step, resolvers: &mut Vec<Self::Resolver>) {
        for _ in 0..count {
            let promise = Rc::new(State::default());
            then(&*promise, ending(step), &mut self.queue);
            resolvers.push(promise);
        }
    }

    fn resolve(&mut self, resolvers: &mut Vec<Self::Resolver>) {
        for (number, promise) in resolvers.drain(..).enumerate() {
            promise.resolve(number as u64, &mut self.queue);
        }
        self.run();
    }

    fn all(&mut self, groups: usize, inputs: usize, step: Step) {
        for _ in 0..groups {
            let promises: Vec<_> = (0..inputs).map(|_| Rc::new(State::default())).collect();
            let end = move |values: Vec<u64>| step.end(values.iter().sum());
            All::subscribe(&promises, end, &mut self.queue);
            for (number, promise) in promises.iter().enumerate() {
                promise.resolve(number as u64, &mut self.queue);
            }
        }
        self.run();
    }
}

/// A handler that is the last one.
fn ending(step: Step) -> impl FnOnce(u64) -> u64 {
    move |value| {
        step.end(value);
        0
    }
}
