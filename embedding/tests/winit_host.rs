//! A guest of winit, with a window, on an X server without a screen.
#![cfg(target_os = "linux")]

mod common;

use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;

use common::{HOUR, MS, assert_asleep, counted, every, thread_number};
use mainspring::{Cx, Guest, LoopState};
use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::platform::x11::EventLoopBuilderExtX11;
use winit::window::{Window, WindowId};

const KEY: &str = "MAINSPRING_WINIT";

/// A server that ends with the test.
struct Server(Child);

impl Server {
    /// Returns the number of its display, too.
    fn start() -> (Self, String) {
        let mut child = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb is needed: install it with the system's package manager");
        let mut number = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut number).unwrap();
        (Self(child), format!(":{}", number.trim()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

// spec: BX-2, TK-4
#[test]
fn a_guest_under_winit_has_one_turn_for_each_timer_and_none_while_nothing_happens() {
    if std::env::var_os(KEY).is_some() {
        return;
    }
    let (_server, display) = Server::start();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_application", "--ignored", "--nocapture"])
        .env(KEY, "1")
        .env("DISPLAY", display)
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{errors}");
}

#[derive(Debug)]
struct GiveTurn;

struct Application {
    guest: Guest,
    window: Rc<RefCell<Option<Window>>>,
    turns: usize,
    window_events: usize,
    is_closed: bool,
}

impl ApplicationHandler<GiveTurn> for Application {
    fn resumed(&mut self, host: &ActiveEventLoop) {
        host.set_control_flow(ControlFlow::Wait);
        let window = host.create_window(Window::default_attributes()).unwrap();
        self.window.replace(Some(window));
    }

    fn user_event(&mut self, host: &ActiveEventLoop, GiveTurn: GiveTurn) {
        self.turns += 1;
        self.guest.turn().unwrap();
        if self.guest.state() == LoopState::Terminated {
            host.exit();
        }
    }

    fn window_event(&mut self, _: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        self.window_events += 1;
        self.is_closed |= matches!(event, WindowEvent::Destroyed);
    }
}

/// The program that the test starts.
#[test]
#[ignore = "needs an X server, which the other test starts"]
fn the_application() {
    if std::env::var_os(KEY).is_none() {
        return;
    }
    let host = EventLoop::<GiveTurn>::with_user_event().with_any_thread(true).build().unwrap();
    let (event_loop, ticks) = counted(mainspring::EventLoop::builder());
    let guest = event_loop.into_guest().unwrap();
    let window = Rc::new(RefCell::new(None::<Window>));
    guest.cx().set_timeout(HOUR, |_| ()).unwrap();

    let (send, receive) = mpsc::channel();
    let (theirs, handle) = (Rc::clone(&window), guest.handle());
    every(guest.cx(), 10 * MS, 20, move |_, call| {
        if let Some(window) = &*theirs.borrow() {
            window.set_title(&format!("{call}"));
        }
        if call == 20 {
            assert!(theirs.borrow().is_some(), "the window is there");
            send.send(thread_number()).unwrap();
        }
    });

    let proxy = host.create_proxy();
    let (named, names) = mpsc::channel();
    let notifier = guest.on_ready(move || {
        let _ = named.send(thread_number());
        proxy.send_event(GiveTurn).unwrap();
    });
    let observer = thread::spawn(move || {
        let threads = [receive.recv().unwrap(), names.recv().unwrap()];
        assert_asleep(&threads);
        // Another thread has the guest close the window.
        handle.submit(Cx::shutdown).unwrap();
    });
    let mut application =
        Application { guest, window, turns: 0, window_events: 0, is_closed: false };
    host.run_app(&mut application).unwrap();
    observer.join().unwrap();
    drop(notifier);
    // The beginning, unless a timer was due by then, the timers, the end. Idling took none.
    assert!((21..=22).contains(&application.turns), "{}", application.turns);
    assert_eq!(ticks.get() + 1, application.turns);
    assert!(application.window_events > 0, "it was a real window");
}
