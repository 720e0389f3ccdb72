//! The last two minutes of a loop.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime};

use mainspring::{Metrics, Phase, Queue};

use crate::model::Sample;

/// Samples, each of which is the difference between two looks at a loop.
#[derive(Debug, Default)]
pub(crate) struct History {
    samples: VecDeque<Sample>,
    last: Option<(Instant, Metrics)>,
}

impl History {
    /// Notes what a loop has done up to now.
    pub(crate) fn note(&mut self, now: Instant, metrics: Metrics) {
        if let Some((then, before)) = self.last.replace((now, metrics)) {
            if self.samples.len() == Sample::KEPT {
                self.samples.pop_front();
            }
            self.samples.push_back(difference(now - then, &before, &metrics));
        }
    }

    pub(crate) fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter()
    }
}

fn difference(elapsed: Duration, before: &Metrics, now: &Metrics) -> Sample {
    let busy = now.busy.saturating_sub(before.busy).as_secs_f64();
    let idle = now.idle.saturating_sub(before.idle).as_secs_f64();
    // Zero if nobody drives it.
    let driven = busy + idle;
    let share = |part: f64| if driven > 0.0 { rounded((part / driven).min(1.0), 1e4) } else { 0.0 };
    let ticks = now.ticks.saturating_sub(before.ticks);
    let callbacks = now.callbacks.saturating_sub(before.callbacks);
    let phases = Phase::ALL.iter().map(|&phase| {
        let spent = now.phase(phase).time.saturating_sub(before.phase(phase).time);
        share(spent.as_secs_f64())
    });
    Sample {
        at: seconds_since_1970(),
        utilisation: share(busy),
        throughput: rounded(callbacks as f64 / elapsed.as_secs_f64().max(1e-3), 1e2),
        tick_mean: (ticks > 0).then(|| rounded(busy / ticks as f64, 1e9)),
        tick_p50: now.tick.p50.as_secs_f64(),
        tick_p99: now.tick.p99.as_secs_f64(),
        phases: phases.collect(),
        queues: Queue::ALL.iter().map(|&queue| now.queue(queue).current).collect(),
    }
}

/// Digits that nobody reads would make up most of the text.
fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}

pub(crate) fn seconds_since_1970() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    rounded(now.as_secs_f64(), 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn metrics(busy: u64, idle: u64, ticks: u64, callbacks: u64) -> Metrics {
        let mut metrics = Metrics::default();
        metrics.busy = Duration::from_millis(busy);
        metrics.idle = Duration::from_millis(idle);
        metrics.ticks = ticks;
        metrics.callbacks = callbacks;
        metrics
    }

    // spec: MX-2
    #[test]
    fn a_sample_is_about_its_own_second() {
        let mut history = History::default();
        let start = Instant::now();
        history.note(start, metrics(5000, 5000, 100, 1000));
        assert_eq!(history.samples().count(), 0, "one look is no difference");
        history.note(start + SECOND, metrics(5250, 5750, 110, 1500));
        let sample = history.samples().next().unwrap();
        assert_eq!(sample.utilisation, 0.25);
        assert_eq!(sample.throughput, 500.0);
        assert_eq!(sample.tick_mean, Some(0.025));
    }

    // spec: MX-2
    #[test]
    fn a_second_in_which_nobody_drives_the_loop_has_nothing() {
        let mut history = History::default();
        let start = Instant::now();
        let same = metrics(10, 10, 1, 1);
        history.note(start, same);
        history.note(start + SECOND, same);
        let sample = history.samples().next().unwrap();
        assert_eq!((sample.utilisation, sample.throughput, sample.tick_mean), (0.0, 0.0, None));
    }

    // spec: MX-2
    #[test]
    fn two_minutes_are_kept() {
        let mut history = History::default();
        let start = Instant::now();
        for second in 0..200 {
            history.note(start + second * SECOND, metrics(0, 0, 0, second.into()));
        }
        assert_eq!(history.samples().count(), Sample::KEPT);
    }
}
