//! libuv: a connection is a stream that reads into the server's buffer and writes from there at once.
//!
//! # Invariant
//!
//! The handles and what they point to, [`Shared`], are owned by [`run`], and stay where they are until
//! the loop has ended, which it does when all handles have been closed.

use std::net::TcpStream;
use std::os::fd::IntoRawFd;
use std::ptr;

use libuv_sys2::{
    uv_buf_t, uv_close, uv_errno_t_UV_EOF as UV_EOF, uv_handle_t, uv_loop_close, uv_loop_init,
    uv_loop_t, uv_read_start, uv_run, uv_run_mode_UV_RUN_DEFAULT as UV_RUN_DEFAULT, uv_stream_t,
    uv_tcp_init, uv_tcp_open, uv_tcp_t, uv_try_write,
};

use super::BUFFER;

struct Shared {
    buffer: [u8; BUFFER],
}

pub fn run(streams: Vec<TcpStream>) {
    let mut event_loop = Box::<uv_loop_t>::new_uninit();
    let event_loop = event_loop.as_mut_ptr();
    let mut shared = Box::new(Shared { buffer: [0; BUFFER] });
    let shared = &raw mut *shared;
    let mut handles = Box::<[uv_tcp_t]>::new_uninit_slice(streams.len());
    // SAFETY: the loop and the handles are initialised before they are used, and the invariant.
    unsafe {
        assert_eq!(uv_loop_init(event_loop), 0);
        for (stream, handle) in streams.into_iter().zip(&mut handles) {
            let handle = handle.as_mut_ptr();
            assert_eq!(uv_tcp_init(event_loop, handle), 0);
            assert_eq!(uv_tcp_open(handle, stream.into_raw_fd()), 0);
            (*handle).data = shared.cast();
            assert_eq!(uv_read_start(handle.cast(), Some(room), Some(echo)), 0);
        }
        assert_eq!(uv_run(event_loop, UV_RUN_DEFAULT), 0, "the loop ran until nothing was left");
        assert_eq!(uv_loop_close(event_loop), 0, "no handle is left");
    }
}

unsafe extern "C" fn room(handle: *mut uv_handle_t, _: usize, buffer: *mut uv_buf_t) {
    // SAFETY: the module's invariant; libuv gives a place for its result. What was read before has been
    // sent.
    unsafe {
        let shared = (*handle).data.cast::<Shared>();
        (*buffer).base = (&raw mut (*shared).buffer).cast();
        (*buffer).len = BUFFER as _;
    }
}

unsafe extern "C" fn echo(stream: *mut uv_stream_t, count: isize, buffer: *const uv_buf_t) {
    // SAFETY: the stream is open; libuv has put so many bytes into the buffer.
    unsafe {
        match i32::try_from(count).unwrap() {
            UV_EOF => uv_close(stream.cast(), None),
            // Nothing was there.
            0 => {}
            count => {
                assert!(count > 0, "cannot read: {count}");
                let data = uv_buf_t { base: (*buffer).base, len: count as _ };
                let written = uv_try_write(stream, ptr::from_ref(&data), 1);
                assert_eq!(written, count, "what is in flight fits into the socket");
            }
        }
    }
}
