//! A script from its beginning to its end.

use mainspring::EventLoop;

use super::Layer;
use crate::engine::{Engine, Entry};

impl<E: Engine> Layer<E> {
    /// Drives the loop until the script has ended: because nothing is left to do, or by [`exit`](Self::exit). Gives
    /// the exit code.
    ///
    /// # Errors
    ///
    /// As for [`EventLoop::run_until_idle`].
    ///
    /// ```
    /// # mod closures { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/closures.rs")); }
    /// # use mainspring_js::Options;
    /// # let event_loop = mainspring::EventLoop::new()?;
    /// # let layer = closures::join(&event_loop, Options::new());
    /// use std::rc::Rc;
    ///
    /// layer.start_timer(Rc::new(|| println!("hello")), 10.0, true)?;
    /// assert_eq!(layer.run(&event_loop)?, 0);
    /// # Ok::<(), mainspring::Error>(())
    /// ```
    pub fn run(&self, event_loop: &EventLoop) -> Result<i32, mainspring::Error> {
        event_loop.run_microtasks()?;
        while !self.has_ended() {
            event_loop.run_until_idle()?;
            self.call_alone(event_loop, "beforeExit", Entry::BeforeExit)?;
            if !event_loop.cx().is_alive() {
                break;
            }
        }
        if !self.has_ended() {
            // The second time nobody is told again, but microtasks may have changed the code.
            for _ in 0..2 {
                self.call_alone(event_loop, "exit", Entry::Exit)?;
            }
            self.exit(self.host.0.code.get());
        }
        Ok(self.host.exit_code().unwrap_or(0))
    }

    /// Calls an entry outside the loop's callbacks, and runs what that has queued.
    fn call_alone(
        &self,
        event_loop: &EventLoop,
        kind: &'static str,
        entry: Entry,
    ) -> Result<(), mainspring::Error> {
        self.enter(event_loop.cx(), kind, |engine| engine.call(entry, None));
        event_loop.run_microtasks()
    }
}
