//! One module for each peer, and what they implement.

mod calloop;
mod floor;
mod floor_slot;
mod inline;
mod libuv;
mod libuv_here;
mod mainspring;
mod mio;
pub mod node;
mod smol;
mod tokio;

pub use self::calloop::{Calloop, CalloopHere};
pub use self::floor::{Epoll, Floor, FloorHere, Park};
pub use self::floor_slot::FloorSlot;
pub use self::libuv::Libuv;
pub use self::libuv_here::LibuvHere;
pub use self::mainspring::{Mainspring, MainspringPolling, Microtasks, NextTicks};
pub use self::mio::{Mio, MioHere};
pub use self::smol::{Smol, SmolHere, SmolSpawn, SmolYield};
pub use self::tokio::{Tokio, TokioHere, TokioSelfWake, TokioSpawn, TokioYield};
pub use ::mainspring::Cx as MainspringHere;

use super::tally::Link;

/// A loop that other threads post closures to.
pub trait Loop {
    /// What they post with.
    type Poster: Clone + Send + Sync + 'static;

    fn new() -> Self;

    fn poster(&self) -> Self::Poster;

    /// Has the loop run a closure, of up to three words.
    fn post(poster: &Self::Poster, task: impl FnOnce() + Send + 'static);

    /// Nothing is posted afterwards.
    fn stop(poster: &Self::Poster);

    /// Runs what is posted, and sleeps while there is nothing, until it is stopped and all has run.
    fn run(&mut self);
}

/// A loop whose callbacks post closures to the loop itself.
pub trait Here {
    /// Runs a callback, and what it posts, until [`end`](Self::end) is called.
    fn run(first: impl FnOnce(&Self) + 'static);

    /// Has the loop run a closure, of up to three words, after this callback and those posted before.
    fn post(&self, task: impl FnOnce(&Self) + 'static);

    /// Nothing is posted afterwards, and nothing is left. Who ends then by itself has nothing to do.
    fn end(&self) {}
}

/// Who lets a callback queue the next one, or a task let others run.
pub trait Chains {
    /// Runs a link, and the next ones, until there are no more.
    fn run(first: Link);
}

/// What is sent where a queue does not hold closures of any type; none is the end.
type Message = Option<Box<dyn FnOnce() + Send>>;

fn boxed(task: impl FnOnce() + Send + 'static) -> Message {
    Some(Box::new(task))
}
