//! Events and their targets, as in the DOM standard. They belong to the thread that made them.

mod custom;
mod dispatch;
#[expect(clippy::module_inception)]
mod event;
mod listener;
mod target;
mod thread;

pub use custom::CustomEvent;
pub use dispatch::DispatchError;
pub use event::{Event, EventPhase};
pub use listener::{Listener, ListenerOptions};
pub use target::EventTarget;
