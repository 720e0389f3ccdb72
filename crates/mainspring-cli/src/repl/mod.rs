//! What a person types is evaluated at once. The line editor has a thread of its own, so that timers and sockets go
//! on while a line is being typed.

mod editor;
mod history;
mod link;
mod screen;

use std::convert::Infallible;
use std::io::{IsTerminal, stderr};
use std::rc::Rc;
use std::thread;

use mainspring::{Cx, EventLoop, Signals, Watch};
use mainspring_quickjs::{Interrupt, Limit, Limits, Options, Output, Runtime, engine_version};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use signal_hook::consts::SIGINT;

use self::editor::LineEditor;
use self::link::{Evaluator, Link};
pub(crate) use self::screen::Screen;
use crate::ending::Ending;
use crate::session::explain;

const INTERRUPTED: &str = "Uncaught Error [ERR_SCRIPT_EXECUTION_INTERRUPTED]: Script execution was \
                           interrupted by `SIGINT`\n";

/// Evaluates what a person types, until the process ends.
pub(crate) fn run(
    event_loop: &EventLoop,
    script: &Rc<Runtime>,
    screen: Screen,
    ending: &Rc<Ending>,
) -> Result<Infallible, String> {
    restore_terminal_at(ending, &screen);
    let evaluator = Evaluator::start(script, event_loop.cx());
    watch_interrupts(event_loop.cx(), script.interrupt(), &evaluator, &screen)
        .map_err(|error| format!("signals cannot be watched: {error}"))?;
    screen.print(&format!(
        "Welcome to Mainspring v{} (QuickJS-ng {}).\nType \".help\" for more information.\n",
        env!("CARGO_PKG_VERSION"),
        engine_version()
    ));
    let link = Link::new(event_loop.handle(), script.interrupt());
    let thread = thread::Builder::new().name("editor".into());
    thread
        .spawn(move || LineEditor::open(link, screen).run())
        .map_err(|error| format!("no thread for the line editor: {error}"))?;
    event_loop.run().map_err(|error| error.to_string())?;
    ending.end(0)
}

/// Output goes to the screen, and limits do not end the script.
pub(crate) fn directed(options: Options, limits: Limits, screen: &Screen) -> Options {
    let told = screen.clone();
    let options = options.stdout(Output::terminal(screen.clone())).on_limit(move |_, limit| {
        match limit {
            Limit::Interrupted => told.print(INTERRUPTED),
            limit => told.print(&format!("Uncaught: {}\n", explain(limit, limits.memory))),
        }
        Evaluator::with(Evaluator::finish);
    });
    if stderr().is_terminal() { options.stderr(Output::terminal(screen.clone())) } else { options }
}

/// The script may end the process while a line is being typed.
fn restore_terminal_at(ending: &Ending, screen: &Screen) {
    let stdin = rustix::stdio::stdin();
    let Ok(before) = tcgetattr(stdin) else { return };
    let screen = screen.clone();
    ending.do_first(move || {
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &before);
        screen.abandon();
    });
}

/// Ctrl-C stops what runs, or else what is awaited.
fn watch_interrupts(
    cx: &Cx,
    interrupt: Interrupt,
    evaluator: &Rc<Evaluator>,
    screen: &Screen,
) -> std::io::Result<()> {
    signal_hook::flag::register(SIGINT, interrupt.flag().clone())?;
    let (evaluator, screen) = (Rc::clone(evaluator), screen.clone());
    let watch = Watch::new().read(move |_, signals: &Signals| {
        // A script that ran has taken it.
        if !signals.pending().is_empty() && interrupt.take() && evaluator.cancel() {
            screen.print(INTERRUPTED);
        }
    });
    let watched = cx.watch(Signals::new([SIGINT])?, watch.unreferenced());
    watched.map(drop).map_err(|error| mainspring::Error::from(error).into())
}
