//! Between the thread of the line editor and that of the script.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use mainspring::{Cx, Handle};
use mainspring_quickjs::rquickjs::{Function, Object};
use mainspring_quickjs::{Interrupt, Runtime};

/// How long a key may wait for the script. If it is busy, the line is taken as it is, and nothing is completed.
const PATIENCE: Duration = Duration::from_millis(500);

thread_local! {
    static EVALUATOR: RefCell<Option<Rc<Evaluator>>> = const { RefCell::new(None) };
}

/// What evaluates, on the thread of the script.
pub(super) struct Evaluator {
    script: Rc<Runtime>,
    cx: Cx,
    /// Is told when the line is done with.
    done: RefCell<Option<Sender<()>>>,
}

impl Evaluator {
    pub(super) fn start(script: &Rc<Runtime>, cx: &Cx) -> Rc<Self> {
        let (script, cx) = (Rc::clone(script), cx.clone());
        let evaluator = Rc::new(Self { script, cx, done: RefCell::default() });
        EVALUATOR.replace(Some(Rc::clone(&evaluator)));
        evaluator
            .script
            .enter("repl", |_, require| module(require)?.get::<_, Function>("start")?.call(()));
        evaluator
    }

    /// Calls a function with the one of this thread.
    pub(super) fn with<R>(call: impl FnOnce(&Rc<Self>) -> R) -> Option<R> {
        let evaluator = EVALUATOR.with_borrow(Clone::clone);
        evaluator.map(|evaluator| call(&evaluator))
    }

    fn evaluate(self: &Rc<Self>, source: String, done: Sender<()>) {
        self.done.replace(Some(done));
        let mut goes_on = false;
        let this = Rc::clone(self);
        self.script.enter("line", |ctx, require| {
            let done = Function::new(ctx.clone(), move || this.finish())?;
            goes_on = module(require)?.get::<_, Function>("evaluate")?.call((source, done))?;
            Ok(())
        });
        if !goes_on {
            self.finish();
        }
    }

    /// The line is done with, when its microtasks are.
    pub(super) fn finish(self: &Rc<Self>) {
        let this = Rc::clone(self);
        self.cx.set_immediate(move |_| {
            if let Some(done) = this.done.take() {
                let _ = done.send(());
            }
        });
    }

    /// Gives up what is awaited. False if nothing is.
    pub(super) fn cancel(&self) -> bool {
        self.ask("cancel", "").unwrap_or(false)
    }

    fn ask<T: for<'js> mainspring_quickjs::rquickjs::FromJs<'js>>(
        &self,
        function: &str,
        text: &str,
    ) -> Option<T> {
        let mut answer = None;
        self.script.enter("repl", |_, require| {
            answer = Some(module(require)?.get::<_, Function>(function)?.call((text,))?);
            Ok(())
        });
        answer
    }

    fn exit(&self) {
        self.script.enter("exit", |_, require| {
            let process: Object = require.call(("process",))?;
            process.get::<_, Function>("exit")?.call(())
        });
    }
}

fn module<'js>(require: &Function<'js>) -> mainspring_quickjs::rquickjs::Result<Object<'js>> {
    require.call(("internal/repl",))
}

/// The script, on the thread of the line editor.
#[derive(Clone)]
pub(super) struct Link {
    script: Handle,
    interrupt: Interrupt,
}

impl Link {
    pub(super) fn new(script: Handle, interrupt: Interrupt) -> Self {
        Self { script, interrupt }
    }

    /// Evaluates and prints, and waits for it. False if the script has ended.
    pub(super) fn evaluate(&self, source: String) -> bool {
        let (done, is_done) = mpsc::channel();
        let task = move |_: &Cx| {
            Evaluator::with(|evaluator| evaluator.evaluate(source, done));
        };
        self.script.submit(task).is_ok() && is_done.recv().is_ok()
    }

    /// Whether more lines have to follow.
    pub(super) fn is_incomplete(&self, source: &str) -> bool {
        self.ask("isIncomplete", source).unwrap_or(false)
    }

    /// The last word of a text, and what may become of it.
    pub(super) fn complete(&self, text: &str) -> (String, Vec<String>) {
        let mut words: Vec<String> = self.ask("complete", text).unwrap_or_default();
        if words.is_empty() { Default::default() } else { (words.remove(0), words) }
    }

    fn ask<T>(&self, function: &'static str, text: &str) -> Option<T>
    where
        T: for<'js> mainspring_quickjs::rquickjs::FromJs<'js> + Send + 'static,
    {
        let (answer, answered) = mpsc::channel();
        let text = text.to_owned();
        let task = move |_: &Cx| {
            let found = Evaluator::with(|evaluator| evaluator.ask(function, &text)).flatten();
            let _ = answer.send(found);
        };
        self.script.submit(task).ok()?;
        answered.recv_timeout(PATIENCE).ok().flatten()
    }

    /// Stops a callback that runs while a line is being typed.
    pub(super) fn interrupt(&self) {
        self.interrupt.interrupt();
        let interrupt = self.interrupt.clone();
        // If none runs, the next one is not to be stopped.
        let _ = self.script.submit(move |_| {
            interrupt.take();
        });
    }

    /// Ends the process, in the way in which `process.exit` does.
    pub(super) fn exit(&self) {
        let _ = self.script.submit(|_| {
            Evaluator::with(|evaluator| evaluator.exit());
        });
    }
}
