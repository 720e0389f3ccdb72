//! Writing to a pipe that nobody reads, without being killed for it.
//!
//! Such a write fails with `EPIPE`, and the thread that did it is sent a SIGPIPE. A program whose `main` is
//! Rust's ignores that one from the start. Elsewhere, in a host program that is written in C for example, its
//! default effect is to end the process. Sockets have a flag against it; pipes have not.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Whether a SIGPIPE would do something.
pub(super) fn is_harmful() -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: there is no new action, and room for the present one.
    if unsafe { libc::sigaction(libc::SIGPIPE, ptr::null(), action.as_mut_ptr()) } != 0 {
        return true;
    }
    // SAFETY: the call has succeeded.
    let action = unsafe { action.assume_init() };
    action.sa_sigaction != libc::SIG_IGN
}

/// Calls a function that writes, with SIGPIPE held back. One that it causes is taken away, unless another one
/// was waiting before, with which it counts as one.
pub(super) fn held_back<R>(write: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    let guard = Guard::new()?;
    let result = write();
    if let Err(error) = &result
        && error.kind() == io::ErrorKind::BrokenPipe
        && !guard.was_pending
    {
        take_away();
    }
    result
}

/// Keeps SIGPIPE from reaching this thread.
struct Guard {
    /// The signals that were blocked before.
    before: libc::sigset_t,
    was_pending: bool,
}

impl Guard {
    fn new() -> io::Result<Self> {
        let set = only_sigpipe();
        let mut before = MaybeUninit::uninit();
        // SAFETY: the set is one, and there is room for the other one.
        let code = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, before.as_mut_ptr()) };
        if code != 0 {
            return Err(io::Error::from_raw_os_error(code));
        }
        // SAFETY: the call has succeeded.
        let before = unsafe { before.assume_init() };
        // SAFETY: it is a set.
        let was_blocked = unsafe { libc::sigismember(&before, libc::SIGPIPE) } == 1;
        Ok(Self { before, was_pending: was_blocked && is_pending() })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: the set is what the system gave; the one that it replaces is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}

fn only_sigpipe() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call makes it a set, and cannot fail; SIGPIPE is a signal.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGPIPE);
        set.assume_init()
    }
}

fn is_pending() -> bool {
    let mut pending = only_sigpipe();
    // SAFETY: there is room for a set. If the call fails, which it does not, the answer is yes.
    unsafe {
        libc::sigpending(&mut pending);
        libc::sigismember(&pending, libc::SIGPIPE) == 1
    }
}

/// Receives the SIGPIPE that is pending, if one is.
fn take_away() {
    if is_pending() {
        let mut signal = 0;
        // SAFETY: the set is one. It does not wait, since the signal is blocked and pending.
        unsafe { libc::sigwait(&only_sigpipe(), &mut signal) };
    }
}
