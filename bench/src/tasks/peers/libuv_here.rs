//! libuv on its own thread, as Node does it: a list whose callbacks a `uv_check_t` runs in each turn, and a `uv_idle_t`
//! that keeps the loop from sleeping as long as there are some.

use std::cell::RefCell;
use std::ffi::c_void;
use std::mem;
use std::ptr;

use libuv_sys2::{
    uv_check_init, uv_check_start, uv_check_stop, uv_check_t, uv_close, uv_idle_init,
    uv_idle_start, uv_idle_stop, uv_idle_t, uv_loop_close, uv_loop_init, uv_loop_t, uv_run,
    uv_run_mode_UV_RUN_DEFAULT as UV_RUN_DEFAULT,
};

use super::Here;

type Tasks = Vec<Box<dyn FnOnce(&LibuvHere)>>;

/// What callbacks are given.
pub struct LibuvHere {
    queue: RefCell<Tasks>,
    /// What is being run, and then empty: its memory is used again.
    taken: RefCell<Tasks>,
    idle: *mut uv_idle_t,
}

/// Does nothing, but there is work: the loop does not sleep.
unsafe extern "C" fn idle(_: *mut uv_idle_t) {}

unsafe extern "C" fn check(handle: *mut uv_check_t) {
    // SAFETY: the handle points to what `run` keeps until the loop has been left.
    let here = unsafe { &*(*handle).data.cast::<LibuvHere>() };
    let mut taken = here.taken.take();
    mem::swap(&mut *here.queue.borrow_mut(), &mut taken);
    for task in taken.drain(..) {
        task(here);
    }
    *here.taken.borrow_mut() = taken;
    if here.queue.borrow().is_empty() {
        // SAFETY: both are handles of the loop that runs this.
        unsafe {
            uv_idle_stop(here.idle);
            uv_check_stop(handle);
        }
    }
}

impl Here for LibuvHere {
    fn run(first: impl FnOnce(&Self) + 'static) {
        let mut event_loop = Box::<uv_loop_t>::new_uninit();
        let mut idler = Box::<uv_idle_t>::new_uninit();
        let mut checker = Box::<uv_check_t>::new_uninit();
        let (event_loop, idler, checker) =
            (event_loop.as_mut_ptr(), idler.as_mut_ptr(), checker.as_mut_ptr());
        let here = Self { queue: RefCell::default(), taken: RefCell::default(), idle: idler };
        here.post(first);
        // SAFETY: libuv fills in the three, which stay where they are until the end of this function; by then both
        // handles are closed, and so is the loop.
        unsafe {
            assert_eq!(uv_loop_init(event_loop), 0);
            assert_eq!(uv_idle_init(event_loop, idler), 0);
            assert_eq!(uv_check_init(event_loop, checker), 0);
            (*checker).data = ptr::from_ref(&here).cast_mut().cast::<c_void>();
            assert_eq!(uv_idle_start(idler, Some(idle)), 0);
            assert_eq!(uv_check_start(checker, Some(check)), 0);
            assert_eq!(uv_run(event_loop, UV_RUN_DEFAULT), 0, "it ran until nothing was left");
            uv_close(idler.cast(), None);
            uv_close(checker.cast(), None);
            assert_eq!(uv_run(event_loop, UV_RUN_DEFAULT), 0);
            assert_eq!(uv_loop_close(event_loop), 0, "no handle is left");
        }
    }

    fn post(&self, task: impl FnOnce(&Self) + 'static) {
        self.queue.borrow_mut().push(Box::new(task));
    }
}
