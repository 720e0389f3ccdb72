//! The load: two loops that live as long as the run, threads that submit, and threads that make other loops.

mod aborts;
mod awaited;
mod blocking;
mod lives;
mod promises;
mod run;
mod submits;
mod timers;
mod watched;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mainspring::{Builder, Cx, EventLoop, Handle, Shutdown};

pub(crate) use run::{Run, Sabotage, Scale};

use crate::ledger::{PANICS, REJECTIONS, outstanding};
use timers::Population;

/// How long a shutdown may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may be, once nothing new is begun, that nothing of what was comes to its end.
const STANDSTILL: Duration = Duration::from_secs(10);

/// Everything that runs.
pub(crate) struct Load {
    run: Arc<Run>,
    producers: Vec<JoinHandle<()>>,
    loops: Vec<Lasting>,
}

/// A loop that lives as long as the run.
struct Lasting {
    handle: Handle,
    thread: JoinHandle<()>,
}

impl Load {
    pub(crate) fn start(run: Run) -> Self {
        let run = Arc::new(run);
        let work = Lasting::start("work", &run, |cx, run| {
            let population = Population::start(cx, run);
            promises::start(cx, run);
            aborts::start(cx, run);
            blocking::start(cx, run);
            move |cx: &Cx| population.end(cx)
        });
        let sockets = Lasting::start("sockets", &run, |cx, run| {
            let connections = run.scale.sockets / 4;
            watched::start(cx, run, connections).expect("there are descriptors for all");
            let listening = awaited::start(cx, run, connections);
            let listening = listening.expect("there are descriptors for all");
            move |_: &Cx| listening.abort()
        });
        let mut producers = Vec::new();
        for number in 0..run.scale.producers {
            let (run, handle) = (Arc::clone(&run), work.handle.clone());
            let produce = move || submits::produce(&run, &handle, 100 + number as u64);
            producers.push(named("producer", produce));
        }
        for number in 0..run.scale.makers {
            let run = Arc::clone(&run);
            producers.push(named("maker", move || lives::make(&run, 200 + number as u64)));
        }
        if run.sabotage == Some(Sabotage::Thread) {
            drop(named("forgotten", || thread::sleep(Duration::MAX)));
        }
        Self { run, producers, loops: vec![work, sockets] }
    }

    /// The loops that last.
    pub(crate) fn handles(&self) -> impl Iterator<Item = &Handle> {
        self.loops.iter().map(|lasting| &lasting.handle)
    }

    /// Ends everything in order, and tells what went wrong.
    pub(crate) fn end(self) -> Vec<String> {
        let mut faults = Vec::new();
        self.run.end();
        for thread in self.producers {
            join(thread, &mut faults);
        }
        for lasting in &self.loops {
            lasting.wind_up();
        }
        let mut last = (outstanding(), Instant::now());
        while last.0 > 0 && last.1.elapsed() < STANDSTILL {
            thread::sleep(Duration::from_millis(10));
            let left = outstanding();
            if left != last.0 {
                last = (left, Instant::now());
            }
        }
        for lasting in self.loops {
            lasting.end(&mut faults);
        }
        faults
    }
}

impl Lasting {
    /// Starts a thread with a loop. The function furnishes it, and returns what winds it up.
    fn start<F, E>(name: &'static str, run: &Arc<Run>, furnish: F) -> Self
    where
        F: FnOnce(&Cx, &Arc<Run>) -> E + Send + 'static,
        E: FnOnce(&Cx) + 'static,
    {
        let (sender, receiver) = channel();
        let run = Arc::clone(run);
        let thread = named(name, move || live(&run, &sender, furnish));
        let handle = receiver.recv().expect("the loop can be made");
        Self { handle, thread }
    }

    fn wind_up(&self) {
        let wound_up = self.handle.submit_internal(|cx| {
            END.with_borrow_mut(|end| end.take().into_iter().for_each(|end| end(cx)));
        });
        assert!(wound_up.is_ok(), "the loop has not ended");
    }

    fn end(self, faults: &mut Vec<String>) {
        match self.handle.shutdown(PATIENCE) {
            Ok(Shutdown::Finished { dropped: 0 }) => {}
            other => faults.push(format!("a graceful shutdown ended with {other:?}")),
        }
        drop(self.handle);
        join(self.thread, faults);
    }
}

type WindUp = Box<dyn FnOnce(&Cx)>;

thread_local! {
    /// What winds up the loop of this thread.
    static END: RefCell<Option<WindUp>> = const { RefCell::new(None) };
}

/// The life of a loop that lasts.
fn live<E>(run: &Arc<Run>, ready: &Sender<Handle>, furnish: impl FnOnce(&Cx, &Arc<Run>) -> E)
where
    E: FnOnce(&Cx) + 'static,
{
    let event_loop = builder().build().expect("there are descriptors left");
    let end = furnish(event_loop.cx(), run);
    END.set(Some(Box::new(end)));
    ready.send(event_loop.handle()).expect("somebody waits for it");
    event_loop.run().expect("it is driven once");
    END.set(None);
}

fn builder() -> Builder {
    EventLoop::builder()
        .metrics(true)
        .high_water_mark(10_000)
        .max_workers(16)
        .worker_keep_alive(Duration::from_millis(500))
        .on_uncaught(|_, panic| {
            PANICS.note_executed();
            if panic.message() != Some("on purpose") {
                eprintln!("{panic}");
            }
        })
        .on_unhandled_rejection(|_, _| REJECTIONS.note_executed())
}

/// Calls a function every so often until the run is over.
fn every(cx: &Cx, run: &Arc<Run>, period: Duration, mut callback: impl FnMut(&Cx) + 'static) {
    let run = Arc::clone(run);
    let set = cx.set_interval(period, move |cx| {
        if !run.is_over() {
            callback(cx);
        } else if let Some(id) = cx.current_interval() {
            cx.clear_interval(id);
        }
    });
    assert!(set.is_ok(), "the loop is new");
}

fn named(name: &str, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::Builder::new().name(name.into()).spawn(body).expect("there are threads left")
}

fn join(thread: JoinHandle<()>, faults: &mut Vec<String>) {
    let name = thread.thread().name().unwrap_or("a thread").to_owned();
    if thread.join().is_err() {
        faults.push(format!("the thread `{name}` panicked"));
    }
}
