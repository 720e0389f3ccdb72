//! Boa as the layer sees it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use boa_engine::builtins::promise::PromiseState;
use boa_engine::object::builtins::JsArray;
use boa_engine::{Context, JsError, JsResult, JsValue, js_string};
use mainspring_js::{Engine, Entry, JobRun, Origin, Thrown, Uncaught};

use crate::jobs::{self, Jobs, Rejections};

/// Boa, as an [`Engine`].
pub struct Boa {
    /// What `host.setEntries` was given.
    pub(crate) entries: RefCell<HashMap<&'static str, JsValue>>,
    /// Whether the script has ended itself: what it left with is no exception.
    pub(crate) is_stopped: Cell<bool>,
    jobs: Rc<Jobs>,
    rejections: Rc<Rejections>,
    context: RefCell<Context>,
}

impl Boa {
    pub(crate) fn new() -> Result<Self, String> {
        let (jobs, rejections) = (Rc::<Jobs>::default(), Rc::<Rejections>::default());
        let context = Context::builder()
            .job_executor(Rc::clone(&jobs))
            .host_hooks(Rc::clone(&rejections))
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            entries: RefCell::default(),
            is_stopped: Cell::new(false),
            jobs,
            rejections,
            context: RefCell::new(context),
        })
    }

    /// Enters the engine, from a callback of the loop.
    pub(crate) fn enter<R>(
        &self,
        call: impl FnOnce(&mut Context) -> JsResult<R>,
    ) -> Result<R, Thrown<JsValue>> {
        let context = &mut *self.context.borrow_mut();
        call(context).map_err(|error| self.thrown(error, context))
    }

    fn thrown(&self, error: JsError, context: &mut Context) -> Thrown<JsValue> {
        if self.is_stopped.replace(false) {
            return Thrown::Interrupted;
        }
        match error.into_opaque(context) {
            Ok(value) => Thrown::Exception(value),
            // The engine's own limits cannot be caught by a script.
            Err(_) => Thrown::OutOfMemory,
        }
    }

    /// An exception for a person.
    pub(crate) fn explain(&self, thrown: &Thrown<JsValue>) -> String {
        match thrown {
            Thrown::Exception(value) => self.describe(value).text,
            other => format!("{other:?}"),
        }
    }

    fn call_entry(&self, name: &str, arguments: &[JsValue]) -> Result<(), Thrown<JsValue>> {
        let entry = self.entries.borrow().get(name).cloned();
        match entry.and_then(|entry| entry.as_callable()) {
            Some(function) => {
                self.enter(|context| function.call(&JsValue::undefined(), arguments, context))?;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Engine for Boa {
    type Ref = JsValue;

    fn call(&self, entry: Entry, target: Option<&JsValue>) -> Result<(), Thrown<JsValue>> {
        let name =
            Entry::ALL.iter().find(|(known, _)| *known == entry).map_or("", |(_, name)| name);
        self.call_entry(name, target.map_or(&[], std::slice::from_ref))
    }

    fn uncaught(&self, error: &JsValue, origin: Origin) -> Result<bool, Thrown<JsValue>> {
        if !self.entries.borrow().contains_key("uncaught") {
            return Ok(false);
        }
        self.call_entry("uncaught", &[error.clone(), js_string!(origin.name()).into()])?;
        Ok(true)
    }

    fn describe(&self, error: &JsValue) -> Uncaught {
        let context = &mut *self.context.borrow_mut();
        let stack =
            error.as_object().and_then(|object| object.get(js_string!("stack"), context).ok());
        let shown = match stack.filter(JsValue::is_string) {
            Some(stack) => stack,
            None => error.clone(),
        };
        let text = shown.to_string(context).map_or_else(
            |_| "something that cannot be shown".into(),
            |text| text.to_std_string_escaped(),
        );
        Uncaught { text, origin: Origin::Exception }
    }

    fn has_jobs(&self) -> bool {
        !self.jobs.0.borrow().is_empty()
    }

    fn run_job(&self) -> JobRun<JsValue> {
        let job = self.jobs.0.borrow_mut().pop_front();
        match job {
            None => JobRun::None,
            Some(None) => JobRun::Fence,
            Some(Some(job)) => {
                let result = self.enter(|context| jobs::run(job, context));
                if !self.has_jobs() {
                    self.context.borrow_mut().clear_kept_objects();
                }
                result.map_or_else(JobRun::Threw, |_| JobRun::Ran)
            }
        }
    }

    fn fence(&self) -> bool {
        self.jobs.0.borrow_mut().push_back(None);
        true
    }

    fn has_rejections(&self) -> bool {
        !self.rejections.0.borrow().is_empty()
    }

    fn report_rejections(&self) -> Result<(), Thrown<JsValue>> {
        let rejections = std::mem::take(&mut *self.rejections.0.borrow_mut());
        let list = self.enter(|context| {
            let list = JsArray::new(context)?;
            for rejection in rejections {
                let reason = match rejection.promise.state() {
                    PromiseState::Rejected(reason) => reason,
                    _ => JsValue::undefined(),
                };
                let promise = JsValue::from(rejection.promise);
                let item = JsArray::from_iter(
                    [promise, reason, JsValue::from(rejection.is_handled)],
                    context,
                );
                list.push(item, context)?;
            }
            Ok(JsValue::from(list))
        })?;
        self.call_entry("rejections", &[list])
    }
}
