//! Ends a process whose script does not stop when its time is over.

use std::thread;
use std::time::Duration;

use mainspring_quickjs::{Deadline, Limit};

use crate::trace::Trace;

/// How long the engine may take to notice.
const GRACE: Duration = Duration::from_secs(1);

/// Watches over callbacks from another thread. The engine stops a script itself, except in the middle of a
/// function of its own, such as one that goes through a huge array.
pub(crate) fn start(
    limit: Duration,
    deadline: Deadline,
    trace: Option<Trace>,
) -> Result<(), String> {
    let watch = move || {
        loop {
            thread::sleep(GRACE / 4);
            if deadline.lateness().is_some_and(|late| late > GRACE) {
                let limit = Limit::CallbackTime(limit);
                eprintln!(
                    "mainspring: {limit}, within a function of the engine (--max-callback-time)"
                );
                if let Some(trace) = &trace {
                    trace.finish();
                }
                // Nothing of the script can be asked any more.
                std::process::exit(1);
            }
        }
    };
    let thread = thread::Builder::new().name("watchdog".into()).spawn(watch);
    thread.map(drop).map_err(|error| format!("no thread for --max-callback-time: {error}"))
}
