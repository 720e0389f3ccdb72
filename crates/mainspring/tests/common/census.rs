//! Everything that a test has made under the maximum-safety profile is gone when the tests are over.
//!
//! A loop of that profile counts its tasks, timers and promises, each of which keeps the counts alive. So what is left when the
//! process ends was leaked by somebody, and is listed. Chunks of queues are counted by the queues themselves.

use std::io::Write;
use std::sync::{Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

use mainspring::{Audit, Handle};

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
    fn _exit(code: i32) -> !;
}

/// Looks at the end of the process whether something is left.
pub fn expect_nothing_at_the_end() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function stays.
        assert_eq!(unsafe { atexit(count) }, 0);
    });
}

static LEAKED: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// A test leaks a loop on purpose.
pub fn leaks(handle: &Handle) {
    LEAKED.lock().unwrap().push(handle.id());
}

/// The loops that are left, and should not be.
fn left() -> Vec<Audit> {
    let leaked = LEAKED.lock().unwrap();
    mainspring::audit().into_iter().filter(|audit| !leaked.contains(&audit.loop_id)).collect()
}

extern "C" fn count() {
    // Threads that a test did not wait for may need a moment.
    let patience = Instant::now() + Duration::from_secs(10);
    while !left().is_empty() && Instant::now() < patience {
        thread::yield_now();
    }
    let left = left();
    if !left.is_empty() {
        let mut errors = std::io::stderr().lock();
        let _ = writeln!(errors, "{} loops are left when all tests are over", left.len());
        for audit in left {
            let _ = writeln!(errors, "  {audit}");
        }
        // SAFETY: nothing is to be done any more.
        unsafe { _exit(101) };
    }
}
