//! Another thread, for what a handle does elsewhere. Whoever asks it waits, so that a program has one order.

use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Mutex};
use std::thread;

type Errand = Box<dyn FnOnce() + Send>;

static HELPER: LazyLock<Mutex<Sender<Errand>>> = LazyLock::new(|| {
    let (sender, errands) = channel::<Errand>();
    thread::spawn(move || errands.iter().for_each(|errand| errand()));
    Mutex::new(sender)
});

/// Runs `f` on another thread, and waits for what it gives.
pub(crate) fn elsewhere<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (answer, answered) = channel();
    let errand = Box::new(move || answer.send(f()).expect("somebody waits"));
    HELPER.lock().unwrap().send(errand).expect("the thread does not end");
    answered.recv().expect("the errand does not panic")
}
