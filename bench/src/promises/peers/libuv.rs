//! libuv: a job is a request, at the head of a box that also holds what its callbacks need.
//!
//! # Invariant
//!
//! A box that was given to the loop is freed by [`after`], once, and by nothing else.
//! [`LibuvWork`] closes its loop when it is dropped, and that fails if a request is left.

use std::ffi::c_int;
use std::ptr;

use libuv_sys2::{
    uv_loop_close, uv_loop_init, uv_loop_t, uv_queue_work, uv_run,
    uv_run_mode_UV_RUN_DEFAULT as UV_RUN_DEFAULT, uv_work_t,
};

use super::{Offload, Step};

pub struct LibuvWork {
    /// Requests point to it, so it must not move.
    event_loop: Box<uv_loop_t>,
}

#[repr(C)]
struct Request {
    work: uv_work_t,
    step: Step,
    /// The number of the job, then its result.
    value: u64,
    jobs: usize,
}

/// Gives the next job away, if there is one.
///
/// # Safety
///
/// The loop is alive, and does not move until no request is left. This is its thread.
unsafe fn give(event_loop: *mut uv_loop_t, step: Step, jobs: usize) {
    let Some(value) = step.tally().next(jobs) else { return };
    let request = Box::<Request>::new_uninit();
    // SAFETY: `uv_queue_work` fills in the request, the writes the rest; the box stays where it is until
    // it is freed. The loop: the caller's promise.
    unsafe {
        let request = Box::into_raw(request).cast::<Request>();
        (&raw mut (*request).step).write(step);
        (&raw mut (*request).value).write(value);
        (&raw mut (*request).jobs).write(jobs);
        assert_eq!(uv_queue_work(event_loop, request.cast(), Some(work), Some(after)), 0);
    }
}

unsafe extern "C" fn work(request: *mut uv_work_t) {
    let request = request.cast::<Request>();
    // SAFETY: the request is at the head of a box, which is alive; the loop's thread leaves it alone
    // until this has returned.
    unsafe { (*request).value = (*request).step.job((*request).value) };
}

unsafe extern "C" fn after(request: *mut uv_work_t, status: c_int) {
    assert_eq!(status, 0);
    // SAFETY: the loop is running, so it is alive.
    let event_loop = unsafe { (*request).loop_ };
    let request = request.cast::<Request>();
    // SAFETY: the request is at the head of a box; all was written before it was given away.
    let (step, value, jobs) = unsafe { ((*request).step, (*request).value, (*request).jobs) };
    // SAFETY: nothing uses the box any more. It is freed as what it was when it was made.
    drop(unsafe { Box::from_raw(request.cast::<std::mem::MaybeUninit<Request>>()) });
    step.end(value);
    // SAFETY: the loop is running, and runs this.
    unsafe { give(event_loop, step, jobs) };
}

impl Offload for LibuvWork {
    fn new() -> Self {
        let mut event_loop = Box::<uv_loop_t>::new_uninit();
        // SAFETY: `uv_loop_init` initialises it.
        let event_loop = unsafe {
            assert_eq!(uv_loop_init(event_loop.as_mut_ptr()), 0);
            event_loop.assume_init()
        };
        Self { event_loop }
    }

    fn round_trips(&mut self, jobs: usize, in_flight: usize, step: Step) {
        let event_loop = &raw mut *self.event_loop;
        for _ in 0..in_flight {
            // SAFETY: the loop is alive and does not move; it is run below until no request is left.
            unsafe { give(event_loop, step, jobs) };
        }
        // SAFETY: the loop is alive, and this is not called from a callback.
        assert_eq!(unsafe { uv_run(event_loop, UV_RUN_DEFAULT) }, 0, "nothing is left");
    }
}

impl Drop for LibuvWork {
    fn drop(&mut self) {
        // SAFETY: the loop is alive, and used by nothing afterwards.
        let status = unsafe { uv_loop_close(ptr::from_mut(&mut *self.event_loop)) };
        assert_eq!(status, 0, "no request is left");
    }
}
