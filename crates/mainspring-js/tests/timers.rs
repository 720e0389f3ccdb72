//! What an engine asks of its timers and immediates that are gone.

#[allow(unreachable_pub, reason = "documentation includes it, too")]
mod closures {
    include!("../docs/closures.rs");
}

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use mainspring::{EventLoop, Profile};
use mainspring_js::Options;

/// Asks by the ids of some that have run and some that were cleared, and returns what the loop calls a fault.
fn ask_of_the_gone(options: Options) -> Vec<String> {
    let faults = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&faults);
    let event_loop = EventLoop::builder()
        .profile(Profile::MaximumSafety)
        .on_fault(move |fault| seen.lock().unwrap().push(fault.to_string()))
        .build()
        .unwrap();
    let layer = closures::join(&event_loop, options);
    let timers = [(); 2].map(|()| layer.start_timer(Rc::new(|| ()), 1.0, true).unwrap());
    let immediates = [(); 2].map(|()| layer.start_immediate(Rc::new(|| ()), true));
    assert!(layer.clear_timer(timers[0]) && layer.clear_immediate(immediates[0]));
    event_loop.run_until_idle().unwrap();
    for (timer, immediate) in timers.into_iter().zip(immediates) {
        assert!(!layer.reset_timer(timer, 1.0));
        assert!(!layer.clear_timer(timer) && !layer.clear_immediate(immediate));
        for is_ref in [false, true] {
            layer.ref_timer(timer, is_ref);
            layer.ref_immediate(immediate, is_ref);
        }
    }
    assert!(!event_loop.cx().is_alive());
    drop(layer);
    drop(event_loop);
    faults.lock().unwrap().clone()
}

// spec: JS-1, SF-7
#[test]
fn to_ask_whether_a_timer_waits_is_no_fault() {
    assert_eq!(ask_of_the_gone(Options::new()), [""; 0]);
    assert_eq!(ask_of_the_gone(Options::new().strict_node(true)), [""; 0]);
}
