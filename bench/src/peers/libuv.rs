//! libuv: a timer is a handle, at the head of a box that also holds what its callback needs.
//!
//! # Invariant
//!
//! A box that was given to the loop is freed by [`free`], the close callback, once, and by nothing else.
//! [`Libuv`] closes its loop when it is dropped, and that fails if a handle is left.

use std::ptr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use libuv_sys2::{
    uv_close, uv_handle_t, uv_loop_close, uv_loop_init, uv_loop_t, uv_run, uv_run_mode,
    uv_run_mode_UV_RUN_DEFAULT as UV_RUN_DEFAULT, uv_run_mode_UV_RUN_NOWAIT as UV_RUN_NOWAIT,
    uv_timer_cb, uv_timer_init, uv_timer_start, uv_timer_stop, uv_timer_t, uv_update_time,
};

use super::{Capture, Fires, Peer, Tally, idle_capture};

pub struct Libuv {
    /// Handles point to it, so it must not move.
    event_loop: Box<uv_loop_t>,
}

#[repr(C)]
pub struct Timer {
    handle: uv_timer_t,
    capture: Capture,
}

/// libuv counts in milliseconds; rounded up, so that rounding does not make a timer early.
fn milliseconds(delay: Duration) -> u64 {
    delay.as_nanos().div_ceil(1_000_000) as u64
}

impl Libuv {
    fn start(&mut self, capture: Capture, delay: Duration, callback: uv_timer_cb) -> *mut Timer {
        let mut timer = Box::<Timer>::new_uninit();
        let handle = timer.as_mut_ptr().cast::<uv_timer_t>();
        // SAFETY: the loop is alive and does not move; `uv_timer_init` fills in the handle, the write
        // the rest; the box stays where it is until it is freed.
        unsafe {
            let timer = Box::into_raw(timer).cast::<Timer>();
            (&raw mut (*timer).capture).write(capture);
            assert_eq!(uv_timer_init(&raw mut *self.event_loop, handle), 0);
            assert_eq!(uv_timer_start(handle, callback, milliseconds(delay), 0), 0);
            timer
        }
    }

    fn turn(&mut self, mode: uv_run_mode) {
        // SAFETY: the loop is alive, and this is not called from a callback.
        let left = unsafe { uv_run(&raw mut *self.event_loop, mode) };
        assert!(mode == UV_RUN_NOWAIT || left == 0, "the loop ran until nothing was left");
    }

    fn update_time(&mut self) {
        // SAFETY: the loop is alive.
        unsafe { uv_update_time(&raw mut *self.event_loop) };
    }
}

unsafe extern "C" fn free(handle: *mut uv_handle_t) {
    // SAFETY: the handle is at the head of a box, which nothing uses any more.
    drop(unsafe { Box::from_raw(handle.cast::<Timer>()) });
}

unsafe extern "C" fn fire(handle: *mut uv_timer_t) {
    // SAFETY: the handle is at the head of a box, which is alive; it is closed once, here.
    unsafe {
        (*handle.cast::<Timer>()).capture.fire();
        uv_close(handle.cast(), Some(free));
    }
}

/// Starts itself again, after the delay that the handle's data field has in nanoseconds.
unsafe extern "C" fn link(handle: *mut uv_timer_t) {
    // SAFETY: the handle is at the head of a box, which is alive, and nothing else refers to what
    // comes after the handle; it is closed once, here.
    unsafe {
        let timer = handle.cast::<Timer>();
        let capture = &mut (*timer).capture;
        let delay = Duration::from_nanos((*handle).data.addr() as u64);
        capture.fire();
        if capture.tally.done() {
            uv_close(handle.cast(), Some(free));
        } else {
            uv_update_time((*handle).loop_);
            capture.deadline = Instant::now() + delay;
            assert_eq!(uv_timer_start(handle, Some(link), milliseconds(delay), 0), 0);
        }
    }
}

impl Peer for Libuv {
    type Id = *mut Timer;

    fn new() -> Self {
        let mut event_loop = Box::<uv_loop_t>::new_uninit();
        // SAFETY: `uv_loop_init` initialises it.
        let event_loop = unsafe {
            assert_eq!(uv_loop_init(event_loop.as_mut_ptr()), 0);
            event_loop.assume_init()
        };
        Self { event_loop }
    }

    fn fill(&mut self, delays: &[Duration], tally: &Rc<Tally>, ids: &mut Vec<Self::Id>) {
        self.update_time();
        for &delay in delays {
            ids.push(self.start(idle_capture(tally), delay, Some(fire)));
        }
    }

    fn drain(&mut self, ids: &mut Vec<Self::Id>) {
        for timer in ids.drain(..) {
            let handle = timer.cast::<uv_timer_t>();
            // SAFETY: the box is alive, because its timer has neither fired nor been cancelled.
            unsafe {
                assert_eq!(uv_timer_stop(handle), 0);
                uv_close(handle.cast(), Some(free));
            }
        }
        self.turn(UV_RUN_NOWAIT);
    }
}

impl Fires for Libuv {
    fn fill_until(&mut self, deadlines: &[Instant], tally: &Rc<Tally>) {
        for &deadline in deadlines {
            self.update_time();
            let delay = deadline.saturating_duration_since(Instant::now());
            self.start(Capture::new(deadline, tally), delay, Some(fire));
        }
    }

    fn run(&mut self, _: &Tally) {
        self.turn(UV_RUN_DEFAULT);
    }

    fn chain(&mut self, delay: Duration, tally: &Rc<Tally>) {
        self.update_time();
        let timer = self.start(Capture::from_now(delay, tally), delay, Some(link));
        // SAFETY: the box is alive: its callback has not run yet.
        unsafe { (*timer).handle.data = ptr::without_provenance_mut(delay.as_nanos() as usize) };
        self.turn(UV_RUN_DEFAULT);
    }
}

impl Drop for Libuv {
    fn drop(&mut self) {
        // SAFETY: the loop is alive, and used by nothing afterwards.
        let status = unsafe { uv_loop_close(ptr::from_mut(&mut *self.event_loop)) };
        assert_eq!(status, 0, "no handle is left");
    }
}
