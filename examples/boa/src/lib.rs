//! Boa on the mainspring event loop: a second engine, by the same layer.

mod convert;
mod engine;
mod jobs;
mod natives;

use std::rc::Rc;

use mainspring::EventLoop;
use mainspring_js::{Layer, Options};

pub use engine::Boa;

/// An engine that is joined to a loop.
pub struct Script(Rc<Layer<Boa>>);

impl Script {
    /// Makes an engine, and gives it the globals.
    ///
    /// # Errors
    ///
    /// What the engine throws, as text.
    pub fn new(event_loop: &EventLoop, options: Options) -> Result<Self, String> {
        let layer = Layer::new(event_loop.cx(), options, |_| Boa::new())?;
        let booted = layer.engine().enter(|context| natives::boot(context, &layer));
        match booted {
            Ok(()) => Ok(Self(layer)),
            Err(thrown) => Err(layer.engine().explain(&thrown)),
        }
    }

    /// Runs a script until it has ended, and gives its exit code.
    ///
    /// # Errors
    ///
    /// As for [`EventLoop::run_until_idle`].
    pub fn run(
        &self,
        event_loop: &EventLoop,
        source: &str,
        name: &str,
    ) -> Result<i32, mainspring::Error> {
        let layer = &self.0;
        layer.enter(event_loop.cx(), "main", |boa| {
            boa.enter(|context| natives::run_script(context, source, name).map(drop))
        });
        layer.run(event_loop)
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.0.leave();
    }
}
