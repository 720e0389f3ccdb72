//! Boa's job queue and rejections, for the loop to take.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use boa_engine::builtins::promise::{OperationType, Promise};
use boa_engine::context::HostHooks;
use boa_engine::job::{Job, JobExecutor};
use boa_engine::object::builtins::JsPromise;
use boa_engine::{Context, JsObject, JsResult, JsValue};

/// Jobs that wait for the loop, which runs them one at a time. `None` is a fence.
#[derive(Default)]
pub(crate) struct Jobs(pub(crate) RefCell<VecDeque<Option<Job>>>);

impl JobExecutor for Jobs {
    fn enqueue_job(self: Rc<Self>, job: Job, _: &mut Context) {
        self.0.borrow_mut().push_back(Some(job));
    }

    /// The loop runs them.
    fn run_jobs(self: Rc<Self>, _: &mut Context) -> JsResult<()> {
        Ok(())
    }
}

/// Runs a job.
pub(crate) fn run(job: Job, context: &mut Context) -> JsResult<JsValue> {
    match job {
        Job::PromiseJob(job) => job.call(context),
        Job::GenericJob(job) => job.call(context),
        Job::TimeoutJob(job) => job.call(context),
        // Nothing here makes any other.
        _ => Ok(JsValue::undefined()),
    }
}

/// A promise that was rejected without a handler, or handled late.
pub(crate) struct Rejection {
    pub(crate) promise: JsPromise,
    pub(crate) is_handled: bool,
}

/// Remembers rejections.
#[derive(Default)]
pub(crate) struct Rejections(pub(crate) RefCell<Vec<Rejection>>);

impl HostHooks for Rejections {
    fn promise_rejection_tracker(
        &self,
        promise: &JsObject<Promise>,
        operation: OperationType,
        _: &mut Context,
    ) {
        let is_handled = matches!(operation, OperationType::Handle);
        if let Ok(promise) = JsPromise::from_object(promise.clone().upcast()) {
            self.0.borrow_mut().push(Rejection { promise, is_handled });
        }
    }
}
