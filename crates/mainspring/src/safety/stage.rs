//! The stages of the end of a loop.

use std::fmt;
use std::time::Instant;

use super::{Broken, Safety};
#[cfg(test)]
use crate::defect::{Defect, strikes};
use crate::{Phase, clock};

/// A stage of the end of a loop. They come one after the other, in this order.
///
/// ```
/// use mainspring::ShutdownStage;
///
/// assert_eq!(ShutdownStage::ALL[1].to_string(), "drain");
/// assert!(ShutdownStage::Drain < ShutdownStage::Complete);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ShutdownStage {
    /// External tasks and timers are refused from now on.
    StopAccepting,
    /// What is queued is run, until nothing is left. Not for a loop that was never driven.
    Drain,
    /// The state becomes Terminated, and everything is refused from now on.
    Terminate,
    /// What was accepted meanwhile is run. Not for a loop that was never driven.
    FinalDrain,
    /// What is left is dropped, and pending promises are rejected.
    Release,
    /// The poller and the wake descriptors are closed.
    ClosePoller,
    /// Those who wait for the end are told.
    Complete,
}

impl ShutdownStage {
    /// All of them.
    ///
    /// ```
    /// use mainspring::ShutdownStage;
    ///
    /// assert!(ShutdownStage::ALL.is_sorted());
    /// ```
    pub const ALL: &'static [Self] = &[
        Self::StopAccepting,
        Self::Drain,
        Self::Terminate,
        Self::FinalDrain,
        Self::Release,
        Self::ClosePoller,
        Self::Complete,
    ];
}

impl fmt::Display for ShutdownStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StopAccepting => "stop accepting",
            Self::Drain => "drain",
            Self::Terminate => "terminate",
            Self::FinalDrain => "final drain",
            Self::Release => "release",
            Self::ClosePoller => "close the poller",
            Self::Complete => "complete",
        })
    }
}

/// A stage begins or is over. See [`Builder::on_shutdown_stage`](crate::Builder::on_shutdown_stage).
///
/// ```
/// use mainspring::{EventLoop, Profile};
///
/// let event_loop = EventLoop::builder()
///     .profile(Profile::MaximumSafety)
///     .on_shutdown_stage(|event| {
///         println!("{} {}", event.stage, if event.is_over { "is over" } else { "begins" });
///     })
///     .build()?;
/// event_loop.cx().submit(|cx| cx.shutdown())?;
/// event_loop.run()?;
/// # Ok::<(), mainspring::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StageEvent {
    /// The [number](crate::Handle::id) of the loop.
    pub loop_id: u64,
    /// Which stage.
    pub stage: ShutdownStage,
    /// Whether it is over, or begins.
    pub is_over: bool,
    /// When that was.
    pub at: Instant,
}

/// The stage after the next one, if that is the defect of this test.
#[cfg(test)]
pub(crate) fn disturb(stage: ShutdownStage) -> ShutdownStage {
    let is_disturbed = stage == ShutdownStage::Terminate && strikes(Defect::StageOutOfOrder);
    if is_disturbed { ShutdownStage::Release } else { stage }
}

/// How far the end of the loop is.
#[derive(Debug, Default)]
pub(super) struct Stages {
    current: Option<ShutdownStage>,
    over: Option<ShutdownStage>,
}

impl Stages {
    /// A stage begins. Tells whether it does for the first time: to stop accepting can be asked for by several.
    fn begin(&mut self, stage: ShutdownStage) -> Result<bool, String> {
        let is_repeated = stage == ShutdownStage::StopAccepting
            && (self.current.is_some() || self.over.is_some());
        if is_repeated {
            return Ok(false);
        }
        if let Some(current) = self.current {
            return Err(format!(
                "stage `{stage}` of the shutdown begins while `{current}` is not over"
            ));
        }
        if !self.is_next(stage) {
            let over = self.over.map_or("none".to_owned(), |over| format!("`{over}`"));
            return Err(format!(
                "stage `{stage}` of the shutdown begins out of order, after {over}"
            ));
        }
        self.current = Some(stage);
        Ok(true)
    }

    /// A stage is over. Tells whether that is news.
    fn end(&mut self, stage: ShutdownStage) -> bool {
        let is_news = self.current == Some(stage);
        if is_news {
            self.current = None;
            self.over = Some(stage);
        }
        is_news
    }

    /// Whether a stage follows the last one that is over. A loop that was never driven has nothing to drain.
    fn is_next(&self, stage: ShutdownStage) -> bool {
        use ShutdownStage::{
            ClosePoller, Complete, Drain, FinalDrain, Release, StopAccepting, Terminate,
        };
        match self.over {
            None => stage == StopAccepting,
            Some(StopAccepting) => matches!(stage, Drain | Terminate),
            Some(Drain) => stage == Terminate,
            Some(Terminate) => matches!(stage, FinalDrain | Release),
            Some(FinalDrain) => stage == Release,
            Some(Release) => stage == ClosePoller,
            Some(ClosePoller) => stage == Complete,
            Some(Complete) => false,
        }
    }
}

/// If a callback's panic leaves a stage, the loop goes on with its end by beginning to drain anew.
struct Unwinding<'a>(&'a Safety);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        let again = Stages { current: None, over: Some(ShutdownStage::StopAccepting) };
        self.0.stages.step(|stages| (*stages = again, None));
    }
}

impl Safety {
    /// Does what a stage consists of, and tells of its begin and end.
    pub(crate) fn stage<R>(
        &self,
        stage: ShutdownStage,
        phase: Option<Phase>,
        f: impl FnOnce() -> R,
    ) -> R {
        let event = |is_over| {
            let at = clock::now();
            StageEvent { loop_id: self.loop_id, stage, is_over, at }
        };
        let begun = self.stages.step(|stages| {
            let begun = stages.begin(stage);
            let is_news = matches!(begun, Ok(true));
            (begun, is_news.then(|| event(false)))
        });
        if let Err(cause) = begun
            && self.may_violate()
        {
            let operation = "shut down";
            self.violate(Broken { operation, phase, task: None, cause });
        }
        self.tell_stages();
        let unwinding = Unwinding(self);
        let result = f();
        std::mem::forget(unwinding);
        self.stages.step(|stages| {
            let is_news = stages.end(stage);
            ((), is_news.then(|| event(true)))
        });
        self.tell_stages();
        result
    }

    fn tell_stages(&self) {
        self.stages.tell(self.hooks().stage.as_ref());
    }
}
