//! Signals that end a script whose figures are wanted.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mainspring::{Cx, Signals, Watch};
use mainspring_quickjs::Runtime;
use mainspring_quickjs::rquickjs::function::This;
use mainspring_quickjs::rquickjs::{Function, Object};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;

use crate::ending::Ending;

/// Has the end carried out before a signal ends the process, unless the script listens to it. A second signal ends
/// a process that is too busy for that.
pub(crate) fn report_before(
    cx: &Cx,
    script: &Rc<Runtime>,
    ending: &Rc<Ending>,
) -> std::io::Result<()> {
    for (signal, name) in [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM")] {
        let is_pending = Arc::new(AtomicBool::new(false));
        flag::register_conditional_default(signal, Arc::clone(&is_pending))?;
        flag::register(signal, Arc::clone(&is_pending))?;
        let (script, ending) = (Rc::clone(script), Rc::clone(ending));
        let watch = Watch::new().read(move |_, signals: &Signals| {
            if signals.pending().is_empty() {
                return;
            }
            is_pending.store(false, Ordering::Relaxed);
            if !is_listened_to(&script, name) {
                ending.report();
                let _ = emulate_default_handler(signal);
            }
        });
        let watched = cx.watch(Signals::new([signal])?, watch.unreferenced());
        watched.map_err(|error| std::io::Error::from(mainspring::Error::from(error)))?;
    }
    Ok(())
}

/// Whether the script has a listener for a signal.
fn is_listened_to(script: &Runtime, name: &str) -> bool {
    let mut count = 0;
    script.enter("signal", |_, require| {
        let process: Object = require.call(("process",))?;
        let counter: Function = process.get("listenerCount")?;
        count = counter.call((This(process), name))?;
        Ok(())
    });
    count > 0
}
