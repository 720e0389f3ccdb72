//! What is done at the end of a script, however it ends.

use std::cell::{OnceCell, RefCell};
use std::io::Write;
use std::rc::Rc;
use std::time::Instant;

use mainspring_quickjs::Runtime;

use crate::figures::Figures;
use crate::trace::Trace;

/// What is done at the end of a script: by `process.exit`, an error, a signal, or because nothing is left.
pub(crate) struct Ending {
    began: Instant,
    wants_stats: bool,
    trace: Option<Trace>,
    /// There once it is made.
    script: OnceCell<Rc<Runtime>>,
    first: RefCell<Option<Box<dyn Fn()>>>,
}

impl Ending {
    pub(crate) fn new(began: Instant, wants_stats: bool, trace: Option<Trace>) -> Rc<Self> {
        let (script, first) = (OnceCell::new(), RefCell::default());
        Rc::new(Self { began, wants_stats, trace, script, first })
    }

    pub(crate) fn set_script(&self, script: &Rc<Runtime>) {
        // It is called once.
        let _ = self.script.set(Rc::clone(script));
    }

    /// Has something done before anything else.
    pub(crate) fn do_first(&self, first: impl Fn() + 'static) {
        self.first.replace(Some(Box::new(first)));
    }

    /// Says and writes what was asked for.
    pub(crate) fn report(&self) {
        if let Some(first) = self.first.take() {
            first();
        }
        if let Some(trace) = &self.trace {
            // The one that ends it has not come to its own end.
            if let Some(host) = self.script.get().map(|script| script.host())
                && let Some((kind, began)) = host.observed()
            {
                host.cx().trace_slice(kind, began, Instant::now());
            }
            trace.finish();
        }
        if let Some(script) = self.script.get().filter(|_| self.wants_stats) {
            let table = Figures::of(script, self.began).table();
            let _ = write!(std::io::stderr(), "mainspring:\n{table}");
        }
    }

    /// Ends the process at once. Output is never held back, and the system takes everything else.
    pub(crate) fn end(&self, code: i32) -> ! {
        self.report();
        std::process::exit(code);
    }
}
