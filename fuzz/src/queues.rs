//! The ring, the queue in chunks and the inbox against a `VecDeque`: nothing is lost, made twice or put in another
//! order, what is refused comes back, every count is exact, and everything is dropped once.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use mainspring::fuzzing::{Chunks, Inbox, Refused, Ring};

use crate::source::Source;

/// More than this many operations show nothing that fewer do not.
const STEPS: usize = 400;

/// Which of the values that were made are alive.
#[derive(Clone, Default)]
struct Census(Rc<RefCell<Vec<bool>>>);

impl Census {
    fn make(&self) -> Value {
        let mut alive = self.0.borrow_mut();
        alive.push(true);
        Value { number: alive.len() - 1, census: self.clone() }
    }

    fn assert_alive(&self, expected: usize) {
        let alive = self.0.borrow().iter().filter(|alive| **alive).count();
        assert_eq!(alive, expected, "values that are alive");
    }
}

/// A value that is dropped once. Without a copy of its number on the heap, one that is dropped twice could go unnoticed.
struct Value {
    number: usize,
    census: Census,
}

impl Drop for Value {
    fn drop(&mut self) {
        let was_alive = std::mem::replace(&mut self.census.0.borrow_mut()[self.number], false);
        assert!(was_alive || std::thread::panicking(), "{} is dropped twice", self.number);
    }
}

/// A queue, and what it should hold.
struct Model {
    census: Census,
    expected: VecDeque<usize>,
}

impl Model {
    fn new() -> Self {
        Self { census: Census::default(), expected: VecDeque::new() }
    }

    fn make(&self) -> Value {
        self.census.make()
    }

    fn accepted(&mut self, number: usize) {
        self.expected.push_back(number);
    }

    fn popped(&mut self, value: Option<Value>) {
        assert_eq!(value.map(|value| value.number), self.expected.pop_front(), "the oldest value");
    }

    fn len(&self) -> usize {
        self.expected.len()
    }
}

/// See the [module documentation](self).
// spec: IN-2, IN-3, IN-4, MT-4, MT-5, F-22, F-23
pub fn check(data: &[u8]) {
    let source = Source::new(data);
    match source.below(3) {
        0 => ring(&source),
        1 => chunks(&source),
        _ => inbox(&source),
    }
}

fn ring(source: &Source) {
    let shift = source.below(4) as u32;
    let capacity = 1 << shift;
    let mut ring = Ring::new(shift, 1 + source.below(4));
    let mut model = Model::new();
    let mut is_closed = false;
    for _ in 0..STEPS {
        if source.is_over() {
            break;
        }
        match source.below(8) {
            0..=3 => {
                let value = model.make();
                let number = value.number;
                let refused = ring.push(value).map_err(|(refused, back)| {
                    assert_eq!(back.number, number, "what is refused comes back");
                    refused
                });
                let expected = match (is_closed, model.len() == capacity) {
                    (true, _) => Err(Refused::Closed),
                    (false, true) => Err(Refused::Full),
                    (false, false) => {
                        model.accepted(number);
                        Ok(())
                    }
                };
                assert_eq!(refused, expected);
            }
            4..=6 => model.popped(ring.pop()),
            _ if source.one_in(8) => {
                ring.close();
                is_closed = true;
            }
            _ => {}
        }
        assert_eq!((ring.len(), ring.is_ready()), (model.len(), model.len() != 0));
        model.census.assert_alive(model.len());
    }
    drop(ring);
    model.census.assert_alive(0);
}

fn chunks(source: &Source) {
    let mut queues = [Chunks::new(), Chunks::new()];
    let census = Census::default();
    let mut models = [(); 2].map(|()| Model { census: census.clone(), expected: VecDeque::new() });
    for _ in 0..STEPS {
        if source.is_over() {
            break;
        }
        let which = source.below(2);
        let (queue, model) = (&mut queues[which], &mut models[which]);
        // Chunks have 128 entries, so what happens at their ends takes many.
        let times = *source.pick(&[1, 2, 3, 127, 128, 129, 300]);
        match source.below(8) {
            0..=2 => {
                for _ in 0..times {
                    let value = model.make();
                    model.accepted(value.number);
                    queue.push(value);
                }
            }
            3..=5 => {
                for _ in 0..times {
                    model.popped(queue.pop());
                    if model.len() == 0 {
                        break;
                    }
                }
            }
            6 => {
                for _ in 0..times {
                    let value = model.make();
                    let number = value.number;
                    model.popped(queue.pop());
                    queue.push(value);
                    model.accepted(number);
                }
            }
            _ => {
                let [a, b] = &mut queues;
                a.swap(b);
                models.swap(0, 1);
            }
        }
        for (queue, model) in queues.iter().zip(&models) {
            assert_eq!(queue.defect(), None);
            assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.len() == 0));
            // As many as it takes, one at either end, and the spare ones.
            assert!(queue.allocated() <= model.len() / 128 + 2 + 64, "{}", queue.allocated());
        }
        let held = models.iter().map(Model::len).sum();
        census.assert_alive(held);
    }
    drop(queues);
    census.assert_alive(0);
}

fn inbox(source: &Source) {
    let limit = 1 + *source.pick(&[0, 1, 2, 3, 6, 7, 8, 20, 150, 1_000]);
    let shift = source.below(5) as u32;
    let is_observed = source.one_in(2);
    let is_guarded = source.one_in(8);
    let mut inbox = Inbox::new(limit, shift, is_observed, is_guarded);
    let mut model = Model::new();
    // What the consumer has of its own, the number that was ever accepted, and whether that is over.
    let (mut own, mut accepted, mut is_closed) = (0, 0, false);
    for _ in 0..STEPS {
        if source.is_over() {
            break;
        }
        match source.below(10) {
            op @ 0..=4 => {
                let by_force = op == 4 && is_guarded;
                for _ in 0..*source.pick(&[1, 1, 2, 5, 130]) {
                    let value = model.make();
                    let number = value.number;
                    let result =
                        if by_force { inbox.push_guarded(value) } else { inbox.push(value) };
                    let result = result.map_err(|(refused, back)| {
                        assert_eq!(back.number, number, "what is refused comes back");
                        refused
                    });
                    let expected = if is_guarded && !by_force {
                        Err(Refused::Guarded)
                    } else if is_closed {
                        Err(Refused::Closed)
                    } else if model.len() + own >= limit {
                        Err(Refused::Full)
                    } else {
                        accepted += 1;
                        model.accepted(number);
                        Ok(())
                    };
                    assert_eq!(result, expected, "with {} and {own} of {limit}", model.len());
                }
            }
            5 | 6 => {
                for _ in 0..*source.pick(&[1, 1, 2, 5, 130]) {
                    model.popped(inbox.pop());
                }
            }
            7 => {
                assert_eq!(inbox.is_at_limit(), model.len() + own >= limit);
                if !inbox.is_at_limit() {
                    inbox.add_held();
                    own += 1;
                }
            }
            8 => {
                if own != 0 {
                    inbox.sub_held();
                    own -= 1;
                }
            }
            _ => match source.below(4) {
                0 if is_observed => inbox.note_one_of(1 << source.below(12)),
                1 if source.one_in(8) => {
                    inbox.close();
                    is_closed = true;
                }
                2 if is_closed => {
                    inbox.drain(|value| model.popped(Some(value)));
                    assert_eq!(model.len(), 0, "all that was accepted is drained");
                }
                _ => {}
            },
        }
        let total = model.len() + own;
        assert_eq!(inbox.lens(), (total, total));
        assert_eq!((inbox.pushed(), inbox.is_ready()), (accepted, model.len() != 0));
        assert_eq!(inbox.is_at_limit(), total >= limit);
        model.census.assert_alive(model.len());
    }
    drop(inbox);
    model.census.assert_alive(0);
}
