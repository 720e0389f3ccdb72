//! Output that comes while a line is being typed.

use std::io::{self, Write, stdout};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustyline::ExternalPrinter;

/// The screen. While a line is being typed, output is handed to the line editor, which puts it above the line.
/// Clones are the same.
#[derive(Clone)]
pub(crate) struct Screen(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether a line is being typed, and the editor takes output.
    is_typed: bool,
    /// What the editor has not been given yet.
    waiting: String,
}

impl Screen {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes something now, or hands it to the editor.
    pub(super) fn print(&self, text: &str) {
        let mut state = self.state();
        if state.is_typed {
            state.waiting.push_str(text);
            self.0.changed.notify_one();
        } else {
            // Nobody looks at a screen that is gone.
            let _ = write_now(text);
        }
    }

    /// Has a line typed. What the editor has not shown by then is written behind it.
    pub(super) fn while_typing<R>(&self, read: impl FnOnce() -> R) -> R {
        self.state().is_typed = true;
        self.0.changed.notify_one();
        let line = read();
        self.leave();
        line
    }

    /// The process ends, whether or not a line is being typed.
    pub(super) fn abandon(&self) {
        if self.state().is_typed {
            // Text that is pasted is not to be marked any more, and what comes now begins a line.
            let _ = write_now("\x1b[?2004l\n");
        }
        self.leave();
    }

    /// The editor takes no more.
    fn leave(&self) {
        let mut state = self.state();
        state.is_typed = false;
        let rest = std::mem::take(&mut state.waiting);
        let _ = write_now(&rest);
    }

    /// Hands output to the editor, on a thread of its own: it may keep whoever does that waiting for the next
    /// line, and the script must not wait.
    pub(super) fn feed(&self, mut printer: impl ExternalPrinter + Send + 'static) {
        let screen = self.clone();
        let feed = move || {
            loop {
                let text = screen.next();
                if printer.print(text).is_err() {
                    return;
                }
            }
        };
        // Without it, output appears behind the line.
        let _ = thread::Builder::new().name("screen".into()).spawn(feed);
    }

    fn next(&self) -> String {
        let state = self.state();
        let is_idle = |state: &mut State| !state.is_typed || state.waiting.is_empty();
        let mut state =
            self.0.changed.wait_while(state, is_idle).unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.waiting)
    }
}

fn write_now(text: &str) -> io::Result<()> {
    let mut stdout = stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.print(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
