//! The job queues of script engines as parts of the microtask queue, and what engines need beside.
#![cfg(not(loom))]

mod common;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use mainspring::{Cx, Error, EventLoop, Job, JobQueue, LocalPromise};

type Log = Rc<RefCell<Vec<String>>>;
type Run = Box<dyn FnOnce(&Engine, &Cx)>;

/// An engine that knows nothing of the loop.
#[derive(Default)]
struct Engine {
    jobs: RefCell<VecDeque<Option<Run>>>,
    rejections: Cell<u32>,
    log: Log,
    fences: Cell<u32>,
    refuses_fences: bool,
}

impl Engine {
    fn say(&self, what: &str) {
        self.log.borrow_mut().push(what.into());
    }

    fn job(&self, run: impl FnOnce(&Engine, &Cx) + 'static) {
        self.jobs.borrow_mut().push_back(Some(Box::new(run)));
    }

    fn saying(&self, what: &'static str) {
        self.job(move |engine, _| engine.say(what));
    }

    fn said(&self) -> String {
        self.log.borrow().join(" ")
    }
}

impl JobQueue for Engine {
    fn has_jobs(&self) -> bool {
        !self.jobs.borrow().is_empty()
    }

    fn run_job(&self, cx: &Cx) -> Job {
        let job = self.jobs.borrow_mut().pop_front();
        match job {
            Some(Some(run)) => run(self, cx),
            Some(None) => return Job::Fence,
            None => return Job::None,
        }
        Job::Ran
    }

    fn fence(&self) -> bool {
        if !self.refuses_fences {
            self.fences.set(self.fences.get() + 1);
            self.jobs.borrow_mut().push_back(None);
        }
        !self.refuses_fences
    }

    fn has_reports(&self) -> bool {
        self.rejections.get() != 0
    }

    fn report(&self, _: &Cx) {
        self.say(&format!("report{}", self.rejections.take()));
    }
}

fn attached(event_loop: &EventLoop) -> Rc<Engine> {
    let engine = Rc::new(Engine::default());
    event_loop.cx().attach_jobs(engine.clone());
    engine
}

fn event_loop() -> EventLoop {
    common::builder().microtask_budget(None).build().unwrap()
}

fn says(engine: &Rc<Engine>, what: &'static str) -> impl FnOnce(&Cx) + use<> {
    let engine = Rc::clone(engine);
    move |_| engine.say(what)
}

// spec: MT-1, MT-6, JS-3
#[test]
fn a_checkpoint_runs_the_jobs_after_every_callback() {
    let event_loop = event_loop();
    let engine = attached(&event_loop);
    for _ in 0..2 {
        let engine = Rc::clone(&engine);
        event_loop
            .cx()
            .submit(move |_| {
                engine.say("task");
                engine.job(|engine, _| {
                    engine.say("job");
                    engine.saying("nested");
                });
            })
            .unwrap();
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(engine.said(), "task job nested task job nested");
}

// spec: MT-1, JS-3
#[test]
fn jobs_and_microtasks_run_in_the_order_in_which_they_were_queued() {
    let event_loop = event_loop();
    let engine = attached(&event_loop);
    let cx = event_loop.cx();
    cx.queue_microtask(says(&engine, "m1"));
    engine.saying("j1");
    engine.saying("j2");
    cx.queue_microtask(says(&engine, "m2"));
    cx.queue_microtask(says(&engine, "m3"));
    engine.saying("j3");
    let same = Rc::clone(&engine);
    cx.queue_microtask(move |cx| {
        same.say("m4");
        same.saying("j4");
        cx.queue_microtask(says(&same, "m5"));
        same.saying("j5");
    });
    event_loop.run_until_idle().unwrap();
    assert_eq!(engine.said(), "m1 j1 j2 m2 m3 j3 m4 j4 m5 j5");
    // One for each microtask that has a job before it.
    assert_eq!(engine.fences.get(), 4);
}

// spec: MT-1, PR-1
#[test]
fn reactions_of_promises_keep_their_place_among_jobs() {
    let event_loop = event_loop();
    let engine = attached(&event_loop);
    let cx = event_loop.cx();
    let promise = LocalPromise::resolve(cx, ());
    engine.saying("before");
    let same = Rc::clone(&engine);
    promise.then(move |_, ()| same.say("reaction"));
    engine.saying("after");
    event_loop.run_until_idle().unwrap();
    assert_eq!(engine.said(), "before reaction after");
}

// spec: MT-6
#[test]
fn next_ticks_and_jobs_take_turns_until_both_are_empty() {
    let event_loop = event_loop();
    let engine = attached(&event_loop);
    engine.job(|engine, cx| {
        engine.say("job");
        engine.saying("second");
        let log = Rc::clone(&engine.log);
        cx.next_tick(move |_| log.borrow_mut().push("tick".into()));
    });
    event_loop.cx().next_tick(says(&engine, "first tick"));
    event_loop.run_until_idle().unwrap();
    assert_eq!(engine.said(), "first tick job second tick");
}

// spec: PR-7, JS-3
#[test]
fn reports_come_when_everything_was_run_and_may_queue_more() {
    let event_loop = event_loop();
    let engine = attached(&event_loop);
    engine.rejections.set(1);
    engine.job(|engine, cx| {
        engine.say("job");
        let log = Rc::clone(&engine.log);
        cx.next_tick(move |_| log.borrow_mut().push("tick".into()));
    });
    event_loop.cx().set_immediate(says(&engine, "immediate"));
    event_loop.run_until_idle().unwrap();
    assert_eq!(engine.said(), "job tick report1 immediate");

    engine.log.borrow_mut().clear();
    // Without any job: a rejection alone is a reason for a checkpoint, and for a tick.
    engine.rejections.set(2);
    assert!(event_loop.cx().is_alive());
    event_loop.run_until_idle().unwrap();
    assert_eq!(engine.said(), "report2");
}

// spec: MT-3
#[test]
fn jobs_count_for_the_budget_and_cannot_starve_the_loop() {
    fn forever(engine: &Engine, _: &Cx) {
        engine.job(forever);
    }
    let event_loop = common::builder().microtask_budget(10).build().unwrap();
    let engine = attached(&event_loop);
    engine.job(forever);
    let same = Rc::clone(&engine);
    event_loop.cx().set_immediate(move |cx| {
        same.say("immediate");
        cx.close();
    });
    event_loop.run().unwrap();
    assert_eq!(engine.said(), "immediate");
}

// spec: SD-1
#[test]
fn a_shutdown_runs_the_jobs_that_are_left() {
    let event_loop = event_loop();
    let engine = attached(&event_loop);
    let same = Rc::clone(&engine);
    event_loop
        .cx()
        .submit(move |cx| {
            cx.shutdown();
            same.job(|engine, cx| {
                engine.say("job");
                let log = Rc::clone(&engine.log);
                cx.queue_microtask(move |_| log.borrow_mut().push("microtask".into()));
            });
        })
        .unwrap();
    event_loop.run().unwrap();
    assert_eq!(engine.said(), "job microtask");
    assert_eq!(Rc::strong_count(&engine), 1, "the loop has let go of it");
}

// spec: SD-4
#[test]
fn a_loop_that_is_closed_runs_no_job() {
    let event_loop = event_loop();
    let engine = attached(&event_loop);
    engine.saying("never");
    event_loop.cx().close();
    assert!(matches!(event_loop.run(), Err(Error::Terminated)));
    drop(event_loop);
    assert_eq!(engine.said(), "");
    assert_eq!(Rc::strong_count(&engine), 1);
}

// spec: MT-1
#[test]
fn an_engine_that_is_detached_keeps_its_jobs_and_blocks_nothing() {
    let event_loop = event_loop();
    let engine = Rc::new(Engine::default());
    let id = event_loop.cx().attach_jobs(engine.clone());
    engine.saying("never");
    event_loop.cx().queue_microtask(says(&engine, "microtask"));
    assert!(event_loop.cx().detach_jobs(id));
    assert!(!event_loop.cx().detach_jobs(id));
    event_loop.run_until_idle().unwrap();
    assert_eq!(engine.said(), "microtask");
    assert!(engine.has_jobs());
}

// spec: MT-1
#[test]
fn without_fences_microtasks_run_all_the_same() {
    let event_loop = event_loop();
    let engine = Rc::new(Engine { refuses_fences: true, ..Engine::default() });
    event_loop.cx().attach_jobs(engine.clone());
    engine.saying("job");
    event_loop.cx().queue_microtask(says(&engine, "microtask"));
    event_loop.run_until_idle().unwrap();
    assert_eq!(engine.said(), "microtask job");
}

// spec: MT-1
#[test]
fn several_engines_run_to_their_ends_in_one_checkpoint() {
    let event_loop = event_loop();
    let log = Log::default();
    let engines = [(); 3].map(|()| {
        let engine = Rc::new(Engine { log: Rc::clone(&log), ..Engine::default() });
        event_loop.cx().attach_jobs(engine.clone());
        engine
    });
    for (engine, name) in engines.iter().zip(["a", "b", "c"]) {
        engine.saying(name);
    }
    let last = Rc::clone(&engines[2]);
    engines[0].job(move |_, _| last.saying("d"));
    event_loop.cx().queue_microtask(says(&engines[1], "microtask"));
    event_loop.run_microtasks().unwrap();
    assert_eq!(log.borrow().join(" "), "microtask a b c d");
}

// spec: MT-1, R9
#[test]
fn run_microtasks_is_a_checkpoint_and_no_tick() {
    let event_loop = event_loop();
    let engine = attached(&event_loop);
    event_loop.cx().set_immediate(says(&engine, "immediate"));
    event_loop.cx().submit(says(&engine, "task")).unwrap();
    engine.saying("job");
    event_loop.cx().next_tick(says(&engine, "tick"));
    event_loop.run_microtasks().unwrap();
    assert_eq!(engine.said(), "tick job");
    event_loop.run_until_idle().unwrap();
    assert_eq!(engine.said(), "tick job task immediate");
    event_loop.cx().shutdown();
    event_loop.run().unwrap();
    assert!(matches!(event_loop.run_microtasks(), Err(Error::Terminated)));
}

// spec: FA-1
#[test]
fn a_job_that_panics_does_not_end_the_checkpoint() {
    let event_loop = event_loop();
    let engine = attached(&event_loop);
    engine.job(|_, _| panic!("expected"));
    event_loop.cx().queue_microtask(says(&engine, "microtask"));
    engine.saying("job");
    event_loop.run_until_idle().unwrap();
    assert_eq!(engine.said(), "microtask job");
}

// spec: R9, JS-3
#[test]
fn an_immediate_that_is_not_referenced_runs_only_if_the_loop_lives() {
    let event_loop = event_loop();
    let log = Log::default();
    let say = |what: &'static str| {
        let log = Rc::clone(&log);
        move |_: &Cx| log.borrow_mut().push(what.into())
    };
    let cx = event_loop.cx();
    let first = cx.set_immediate(say("first"));
    cx.reference_immediate(first, false).unwrap();
    assert!(!cx.is_alive());
    event_loop.run_until_idle().unwrap();
    assert!(log.borrow().is_empty());

    cx.reference_immediate(first, true).unwrap();
    cx.reference_immediate(first, true).unwrap();
    assert!(cx.is_alive());
    cx.reference_immediate(first, false).unwrap();
    let second = cx.set_immediate(say("second"));
    event_loop.run_until_idle().unwrap();
    assert_eq!(log.borrow().join(" "), "first second");
    for id in [first, second] {
        assert!(matches!(cx.reference_immediate(id, true), Err(Error::ImmediateNotFound)));
        assert!(!cx.clear_immediate(id));
    }

    let third = cx.set_immediate(say("third"));
    cx.reference_immediate(third, false).unwrap();
    assert!(cx.clear_immediate(third));
    cx.set_immediate(say("fourth"));
    cx.shutdown();
    event_loop.run().unwrap();
    assert_eq!(log.borrow().join(" "), "first second fourth");
}
