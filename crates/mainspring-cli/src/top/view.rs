//! The whole terminal.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use mainspring::{Cx, Promise, Resolver, Signals, Watch};
use mainspring_inspect::model::State;
use rustix::stdio::stdin;
use rustix::termios::isatty;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::low_level::emulate_default_handler;

use super::client::{ask, parse};
use super::keys::{Key, Keys};
use super::render::{Look, Size, max_scroll, render};
use super::screen::{self, Screen};
use crate::args::Top;

/// What is shown, and how.
struct View {
    screen: Screen,
    state: RefCell<State>,
    look: RefCell<Look>,
    /// Told how it ends.
    end: Cell<Option<Resolver<End>>>,
}

/// Why it ends.
#[derive(Clone, Debug)]
enum End {
    /// Somebody has seen enough.
    Quit,
    Signal(i32),
    Failed(String),
}

/// Shows it until somebody presses a key, or a signal comes.
pub(super) async fn run(cx: &Cx, wanted: &Top, state: State, mut look: Look) -> Result<(), String> {
    look.chosen = Some(0);
    let (ended, end) = Promise::with_resolvers(&cx.handle());
    let screen =
        Screen::enter().map_err(|error| format!("the terminal cannot be used: {error}"))?;
    let view = Rc::new(View {
        screen,
        state: RefCell::new(state),
        look: RefCell::new(look),
        end: Cell::new(Some(end)),
    });
    view.watch(cx).map_err(|error| format!("the terminal cannot be watched: {error}"))?;
    view.draw();
    let (poller, own, wanted) = (Rc::clone(&view), cx.clone(), wanted.clone());
    let poller = cx.spawn_local(async move { poller.poll(&own, &wanted).await }).abort_on_drop();
    let end = ended.await;
    drop(poller);
    view.leave();
    match end {
        Ok(End::Quit) => Ok(()),
        Ok(End::Signal(signal)) => {
            emulate_default_handler(signal).map_err(|error| format!("signal {signal}: {error}"))
        }
        Ok(End::Failed(why)) => Err(why),
        Err(reason) => Err(reason.to_string()),
    }
}

impl View {
    /// Looks again and again.
    async fn poll(&self, cx: &Cx, wanted: &Top) {
        loop {
            cx.sleep(wanted.interval).await;
            match ask(cx, &wanted.address).await.and_then(|text| parse(&text)) {
                Ok(state) => {
                    self.state.replace(state);
                    self.look.borrow_mut().lost = None;
                }
                Err(failure) => self.look.borrow_mut().lost = Some(failure.to_string()),
            }
            self.draw();
        }
    }

    /// Keys, and signals.
    fn watch(self: &Rc<Self>, cx: &Cx) -> io::Result<()> {
        if isatty(stdin()) {
            let (view, keys) = (Rc::clone(self), RefCell::new(Keys::default()));
            let watch = Watch::new().read(move |_, stdin| {
                let mut bytes = [0; 64];
                match rustix::io::read(stdin, &mut bytes) {
                    Ok(0) => view.end(End::Quit),
                    Ok(n) => {
                        let pressed = keys.borrow_mut().take(&bytes[..n]);
                        pressed.into_iter().for_each(|key| view.press(key));
                    }
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                    Err(_) => view.end(End::Quit),
                }
            });
            cx.watch(stdin(), watch).map_err(mainspring::Error::from)?;
        }
        let view = Rc::clone(self);
        let watch = Watch::new().read(move |_, signals: &Signals| {
            for signal in signals.pending() {
                match signal {
                    SIGWINCH => view.draw(),
                    signal => view.end(End::Signal(signal)),
                }
            }
        });
        let signals = Signals::new([SIGWINCH, SIGINT, SIGTERM, SIGQUIT, SIGHUP])?;
        cx.watch(signals, watch).map_err(mainspring::Error::from)?;
        Ok(())
    }

    fn press(&self, key: Key) {
        let count = self.state.borrow().loops.len().max(1);
        let mut look = self.look.borrow_mut();
        let chosen = look.chosen.unwrap_or_default().min(count - 1);
        let other = match key {
            Key::Quit => {
                drop(look);
                return self.end(End::Quit);
            }
            Key::Loop(index) => index.min(count - 1),
            Key::Next => (chosen + 1) % count,
            Key::Previous => (chosen + count - 1) % count,
            Key::Up | Key::Down => {
                let max = max_scroll(&self.state.borrow(), size(), &look);
                let scroll = look.scroll.min(max);
                look.scroll =
                    if key == Key::Up { scroll.saturating_sub(1) } else { (scroll + 1).min(max) };
                chosen
            }
        };
        if other != chosen {
            look.scroll = 0;
        }
        look.chosen = Some(other);
        drop(look);
        self.draw();
    }

    fn draw(&self) {
        let frame = render(&self.state.borrow(), size(), &self.look.borrow());
        if let Err(error) = self.screen.show(&frame) {
            self.end(End::Failed(format!("the terminal cannot be written to: {error}")));
        }
    }

    fn end(&self, end: End) {
        if let Some(resolver) = self.end.take() {
            resolver.resolve(end);
        }
    }

    /// Gives the terminal back.
    fn leave(&self) {
        self.screen.leave();
    }
}

fn size() -> Size {
    let (columns, rows) = screen::size();
    Size { columns, rows: Some(rows) }
}
