use mainspring::EventLoop;
use mainspring_js::{Engine, Entry, JobRun, Layer, Options, Origin, Thrown, Uncaught};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

type Function = Rc<dyn Fn()>;

/// An engine whose functions are Rust's, and never throw.
#[derive(Default)]
pub struct Closures {
    /// Jobs, and fences.
    pub jobs: RefCell<VecDeque<Option<Function>>>,
}

impl Engine for Closures {
    type Ref = Function;

    fn call(&self, _: Entry, target: Option<&Self::Ref>) -> Result<(), Thrown<Self::Ref>> {
        if let Some(function) = target {
            function();
        }
        Ok(())
    }

    fn uncaught(&self, _: &Self::Ref, _: Origin) -> Result<bool, Thrown<Self::Ref>> {
        Ok(false)
    }

    fn describe(&self, _: &Self::Ref) -> Uncaught {
        Uncaught { text: "a function".into(), origin: Origin::Exception }
    }

    fn has_jobs(&self) -> bool {
        !self.jobs.borrow().is_empty()
    }

    fn run_job(&self) -> JobRun<Self::Ref> {
        let job = self.jobs.borrow_mut().pop_front();
        match job {
            None => JobRun::None,
            Some(None) => JobRun::Fence,
            Some(Some(function)) => {
                function();
                JobRun::Ran
            }
        }
    }

    fn fence(&self) -> bool {
        self.jobs.borrow_mut().push_back(None);
        true
    }

    fn has_rejections(&self) -> bool {
        false
    }

    fn report_rejections(&self) -> Result<(), Thrown<Self::Ref>> {
        Ok(())
    }
}

/// Joins one to a loop.
pub fn join(event_loop: &EventLoop, options: Options) -> Rc<Layer<Closures>> {
    let engine = |_: &_| Ok::<_, mainspring::Error>(Closures::default());
    Layer::new(event_loop.cx(), options, engine).expect("nothing can go wrong")
}
