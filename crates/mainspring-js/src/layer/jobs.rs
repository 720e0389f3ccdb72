//! The jobs of the engine, as a part of the loop's microtasks.

use std::rc::Weak;

use mainspring::{Cx, Job, JobQueue};

use super::Layer;
use crate::engine::{Engine, JobRun};
use crate::host::Limit;

/// How many jobs are run between two looks at the clock.
const JOBS_A_LOOK: u32 = 64;

impl<E: Engine> JobQueue for Layer<E> {
    fn has_jobs(&self) -> bool {
        !self.is_paused.get() && !self.has_ended() && self.engine.has_jobs()
    }

    fn run_job(&self, cx: &Cx) -> Job {
        if !self.has_jobs() {
            return Job::None;
        }
        self.start_clock();
        let run = self.observe("job", Engine::run_job);
        match run {
            JobRun::None => return Job::None,
            JobRun::Fence => return Job::Fence,
            JobRun::Ran => {}
            JobRun::Threw(thrown) => self.deal_with(cx, thrown),
        }
        self.host.count(|stats| stats.jobs += 1);
        let unlooked = self.unlooked.get() + 1;
        self.unlooked.set(unlooked % JOBS_A_LOOK);
        if unlooked == JOBS_A_LOOK && self.host.is_late() {
            // A flood: each job is short, and there is always another one.
            self.pause(cx);
        }
        Job::Ran
    }

    fn fence(&self) -> bool {
        self.engine.fence()
    }

    fn has_reports(&self) -> bool {
        !self.has_ended() && (self.engine.has_rejections() || self.host.0.deadline.get().is_some())
    }

    fn report(&self, cx: &Cx) {
        if self.engine.has_rejections() {
            self.enter_checkpoint(cx, "rejections", Engine::report_rejections);
        }
        let is_done = !self.engine.has_jobs() && !self.engine.has_rejections();
        if is_done || self.is_paused.get() {
            self.host.set_deadline(None);
        }
    }
}

impl<E: Engine> Layer<E> {
    /// Jobs have taken too long: the rest waits for the next tick, so that the loop goes on.
    fn pause(&self, cx: &Cx) {
        self.is_paused.set(true);
        let layer = Weak::clone(&self.this);
        cx.set_immediate(move |_| {
            if let Some(layer) = layer.upgrade() {
                layer.is_paused.set(false);
            }
        });
        if let Some(limit) = self.host.options().callback_time {
            self.limit(cx, Limit::CallbackTime(limit));
        }
    }
}
