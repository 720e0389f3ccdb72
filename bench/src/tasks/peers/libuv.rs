//! libuv: a list behind a lock, and a `uv_async_t`, which wakes the loop so that it takes all that there is. libuv has
//! a flag of its own with which several wakes become one.
//!
//! # Invariant
//!
//! [`Shared`] owns the loop and the handle, and closes both when the last reference to it is gone: nobody can post to
//! a loop that is closed, and nobody runs it then. Only [`Libuv`] runs it, of which there is one.

use std::ffi::c_void;
use std::mem;
use std::sync::{Arc, Mutex};

use libuv_sys2::{
    uv_async_init, uv_async_send, uv_async_t, uv_close, uv_loop_close, uv_loop_init, uv_loop_t,
    uv_run, uv_run_mode_UV_RUN_DEFAULT as UV_RUN_DEFAULT, uv_stop,
};

use super::{Loop, Message, boxed};

pub struct Shared {
    event_loop: *mut uv_loop_t,
    signal: *mut uv_async_t,
    queue: Mutex<Vec<Message>>,
    /// What the loop is running, and then empty: its memory is used again. Nobody else locks it.
    taken: Mutex<Vec<Message>>,
}

// SAFETY: the pointers are to what is owned. Other threads call `uv_async_send`, which they may, and nothing else,
// unless they are the last ones: see the invariant.
unsafe impl Send for Shared {}
// SAFETY: the same.
unsafe impl Sync for Shared {}

impl Shared {
    fn push(&self, message: Message) {
        self.queue.lock().unwrap().push(message);
        // SAFETY: the handle is not closed as long as there is a reference to this.
        assert_eq!(unsafe { uv_async_send(self.signal) }, 0);
    }
}

unsafe extern "C" fn take(signal: *mut uv_async_t) {
    // SAFETY: the handle points to a `Shared`, which closes the handle before it is gone.
    let shared = unsafe { &*(*signal).data.cast::<Shared>() };
    let mut taken = shared.taken.lock().unwrap();
    mem::swap(&mut *shared.queue.lock().unwrap(), &mut taken);
    for message in taken.drain(..) {
        match message {
            Some(task) => task(),
            // SAFETY: the loop is running, and runs this.
            None => unsafe { uv_stop(shared.event_loop) },
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: nobody else refers to loop and handle any more, and the loop is not running. They are freed once, as
        // what they were when they were made, after libuv has let go of both.
        unsafe {
            uv_close(self.signal.cast(), None);
            assert_eq!(uv_run(self.event_loop, UV_RUN_DEFAULT), 0, "nothing is left");
            assert_eq!(uv_loop_close(self.event_loop), 0, "no handle is left");
            drop(Box::from_raw(self.signal.cast::<mem::MaybeUninit<uv_async_t>>()));
            drop(Box::from_raw(self.event_loop.cast::<mem::MaybeUninit<uv_loop_t>>()));
        }
    }
}

pub struct Libuv {
    shared: Arc<Shared>,
}

impl Loop for Libuv {
    type Poster = Arc<Shared>;

    fn new() -> Self {
        let event_loop = Box::into_raw(Box::<uv_loop_t>::new_uninit()).cast::<uv_loop_t>();
        let signal = Box::into_raw(Box::<uv_async_t>::new_uninit()).cast::<uv_async_t>();
        let (queue, taken) = Default::default();
        let shared = Arc::new(Shared { event_loop, signal, queue, taken });
        // SAFETY: libuv fills in both, which do not move; nothing else uses them yet. The data is read by the callback,
        // when the loop runs.
        unsafe {
            assert_eq!(uv_loop_init(event_loop), 0);
            assert_eq!(uv_async_init(event_loop, signal, Some(take)), 0);
            (*signal).data = Arc::as_ptr(&shared).cast_mut().cast::<c_void>();
        }
        Self { shared }
    }

    fn poster(&self) -> Self::Poster {
        Arc::clone(&self.shared)
    }

    fn post(shared: &Self::Poster, task: impl FnOnce() + Send + 'static) {
        shared.push(boxed(task));
    }

    fn stop(shared: &Self::Poster) {
        shared.push(None);
    }

    fn run(&mut self) {
        // SAFETY: the loop is alive, and nobody else can run it; this is not called from a callback, which has no
        // reference to `self`.
        unsafe { uv_run(self.shared.event_loop, UV_RUN_DEFAULT) };
    }
}
