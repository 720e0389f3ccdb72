//! Mainspring inside other loops, and tokio inside Mainspring.
//!
//! | you have | then |
//! |---|---|
//! | a loop that waits for descriptors (calloop, GLib, `poll`) | it waits for the [`Guest`](mainspring::Guest): `examples/calloop_host.rs` |
//! | a toolkit with a queue for events (winit) | [`on_ready`](mainspring::Guest::on_ready) sends one: `examples/winit_host.rs` |
//! | a tokio runtime | [`drive`] is one of its tasks: `examples/tokio_host.rs` |
//! | a crate that works with tokio only | a [`TokioGuest`] gives it one: `examples/tokio_guest.rs` |
//!
//! In all of these nobody asks again and again whether there is something to do. Who has nothing to do sleeps;
//! the tests count that.

#![cfg(target_os = "linux")]

mod tokio_guest;
mod tokio_host;

pub use tokio_guest::{InTokio, TokioGuest};
pub use tokio_host::drive;

/// The pages of the book, whose code is compiled and run.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../docs/src/gui.md")]
    struct Gui;

    #[doc = include_str!("../../docs/src/tokio.md")]
    struct Tokio;

    #[doc = include_str!("../../docs/src/from-calloop.md")]
    struct FromCalloop;
}
