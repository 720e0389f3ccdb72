//! The loops that are watched.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mainspring::{Cx, Handle, LoopState, Metrics, Phase, Queue};

use crate::Error;
use crate::history::{History, seconds_since_1970};
use crate::model::{self, VERSION};
use crate::question::Question;

/// How long a loop may take to say what keeps it alive. Then its last answer is shown.
const PATIENCE: Duration = Duration::from_millis(200);

#[derive(Debug)]
struct Watched {
    name: String,
    handle: Handle,
    question: Question,
    history: Mutex<History>,
}

/// All loops that are watched, in the order in which that began.
#[derive(Debug, Default)]
pub(crate) struct Loops(Mutex<Vec<Arc<Watched>>>);

impl Loops {
    pub(crate) fn watch(&self, name: &str, handle: &Handle) -> Result<(), Error> {
        let watched = Arc::new(Watched {
            name: name.to_owned(),
            handle: handle.clone(),
            question: Question::default(),
            history: Mutex::default(),
        });
        let mut loops = self.lock();
        match loops.iter_mut().find(|other| other.name == name) {
            Some(other) if other.handle.state() == LoopState::Terminated => *other = watched,
            Some(_) => return Err(Error::NameTaken(name.to_owned())),
            None => loops.push(watched),
        }
        Ok(())
    }

    pub(crate) fn forget(&self, name: &str) -> bool {
        let mut loops = self.lock();
        let before = loops.len();
        loops.retain(|watched| watched.name != name);
        loops.len() < before
    }

    /// Takes a sample of each.
    pub(crate) fn sample(&self) {
        for watched in self.all() {
            watched.sample();
        }
    }

    /// The figures of those that have some.
    pub(crate) fn metrics(&self) -> Vec<(String, Metrics)> {
        let all = self.all().into_iter();
        all.filter_map(|watched| Some((watched.name.clone(), watched.handle.metrics()?))).collect()
    }

    /// Everything. Asks the loops, and gives them a moment to answer.
    pub(crate) async fn state(&self, cx: &Cx) -> model::State {
        let all = self.all();
        for watched in &all {
            watched.question.ask(&watched.handle);
        }
        let answers = async {
            for watched in &all {
                watched.question.answered(PATIENCE).await;
            }
        };
        // Whoever is late is shown as such.
        let _ = cx.timeout(PATIENCE, answers).await;
        model::State {
            version: VERSION,
            program: program(),
            pid: std::process::id(),
            time: seconds_since_1970(),
            phases: Phase::ALL.iter().map(Phase::to_string).collect(),
            queues: Queue::ALL.iter().map(Queue::to_string).collect(),
            loops: all.iter().map(|watched| watched.state()).collect(),
        }
    }

    fn all(&self) -> Vec<Arc<Watched>> {
        self.lock().clone()
    }

    /// Nothing that is done under the lock can fail half-way.
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Watched>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    fn sample(&self) {
        if self.handle.state() == LoopState::Terminated {
            return;
        }
        if let Some(metrics) = self.handle.metrics() {
            self.history().note(Instant::now(), metrics);
        }
    }

    fn state(&self) -> model::Loop {
        let stalls: Vec<_> = self.handle.stalls().iter().rev().map(model::Stall::from).collect();
        model::Loop {
            name: self.name.clone(),
            state: self.handle.state().to_string(),
            metrics: self.handle.metrics().as_ref().map(model::Metrics::from),
            busy: stalls.iter().find(|stall| !stall.is_over).cloned(),
            stalls,
            why_alive: self.question.answer(),
            history: self.history().samples().cloned().collect(),
        }
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
