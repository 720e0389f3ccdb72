//! A window of winit, and a loop beside it that closes it after ten timers.
//!
//! ```sh
//! cargo run -p mainspring-embedding --features winit --example winit_host
//! ```
//!
//! It needs an X server, and loads libX11, libXcursor, libXi, libXrandr and libxkbcommon-x11. Without a screen, Xvfb is one: put
//! `xvfb-run -a` before the command.

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use mainspring::{Guest, LoopState};
use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::{Window, WindowId};

/// What winit is told by the guest's notifier.
#[derive(Debug)]
struct GiveTurn;

struct Application {
    guest: Guest,
    /// Shared with the callbacks of the guest.
    window: Rc<RefCell<Option<Window>>>,
}

impl ApplicationHandler<GiveTurn> for Application {
    fn resumed(&mut self, host: &ActiveEventLoop) {
        let attributes = Window::default_attributes().with_title("Mainspring");
        match host.create_window(attributes) {
            Ok(window) => _ = self.window.replace(Some(window)),
            Err(error) => {
                eprintln!("no window: {error}");
                host.exit();
            }
        }
    }

    fn user_event(&mut self, host: &ActiveEventLoop, GiveTurn: GiveTurn) {
        if let Err(error) = self.guest.turn() {
            eprintln!("{error}");
        }
        if self.guest.state() == LoopState::Terminated {
            host.exit();
        }
    }

    fn window_event(&mut self, _: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        if matches!(event, WindowEvent::CloseRequested) {
            // The guest has its turn, and ends; then the host does.
            self.guest.cx().shutdown();
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let host = EventLoop::<GiveTurn>::with_user_event().build()?;
    let guest = mainspring::EventLoop::new()?.into_guest()?;
    let window = Rc::new(RefCell::new(None::<Window>));

    let theirs = Rc::clone(&window);
    let mut left = 10;
    guest.cx().set_interval(Duration::from_millis(100), move |cx| {
        left -= 1;
        if let Some(window) = &*theirs.borrow() {
            window.set_title(&format!("Mainspring: {left}"));
        }
        println!("mainspring: {left}");
        if left == 0 {
            theirs.take();
            cx.shutdown();
        }
    })?;

    // A thread waits for the guest, and puts an event into the host's queue.
    let proxy = host.create_proxy();
    let _notifier = guest.on_ready(move || _ = proxy.send_event(GiveTurn))?;
    host.run_app(&mut Application { guest, window })?;
    Ok(())
}
