//! Ends a test that hangs, and tells what each thread was doing.

use std::cell::RefCell;
use std::fs;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// How long a test may take that is made for several variants, and any other one.
const VARIANT: Duration = Duration::from_secs(60 * SLOWNESS);
const ANY: Duration = Duration::from_secs(180 * SLOWNESS);

/// Under a sanitizer what is busy takes many times as long.
const SLOWNESS: u64 = if cfg!(any(mainspring_asan, mainspring_tsan)) { 10 } else { 1 };

/// Ends the process, with the test's name, if the guard lives for too long.
pub fn watchdog(test: &str) -> Watchdog {
    watch_for(test, VARIANT)
}

/// Likewise for a test that has no guard of its own, until its thread ends.
pub fn watch_this_test() {
    thread_local! {
        static WATCHDOG: RefCell<Option<Watchdog>> = const { RefCell::new(None) };
    }
    let thread = thread::current();
    if let Some(test) = thread.name().filter(|name| *name != "main") {
        WATCHDOG.with_borrow_mut(|watchdog| {
            watchdog.get_or_insert_with(|| watch_for(test, ANY));
        });
    }
}

fn watch_for(test: &str, limit: Duration) -> Watchdog {
    let done = Arc::new((Mutex::new(false), Condvar::new()));
    let watched = Arc::clone(&done);
    let test = test.to_owned();
    thread::spawn(move || {
        let (flag, changed) = &*watched;
        let guard = flag.lock().unwrap();
        let waited = changed.wait_timeout_while(guard, limit, |done| !*done);
        if waited.unwrap().1.timed_out() {
            // Not by `eprintln`, which the test harness captures.
            let _ = writeln!(std::io::stderr(), "the test `{test}` hangs");
            print_phases();
            std::process::abort();
        }
    });
    Watchdog(done)
}

/// See [`watchdog`].
pub struct Watchdog(Arc<(Mutex<bool>, Condvar)>);

impl Drop for Watchdog {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

/// What each thread is doing: those that drive a loop of the maximum-safety profile by its phase, all by what the system says.
pub fn print_phases() {
    let mut errors = std::io::stderr().lock();
    for audit in mainspring::audit() {
        let _ = writeln!(errors, "  {audit}");
    }
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |file| fs::read_to_string(thread.path().join(file)).unwrap_or_default();
        let (name, waits, stat) = (read("comm"), read("wchan"), read("stat"));
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or('?');
        let (id, name) = (thread.file_name(), name.trim());
        let _ = writeln!(errors, "  thread {id:?} `{name}`: state {state}, waits in `{waits}`");
    }
}
