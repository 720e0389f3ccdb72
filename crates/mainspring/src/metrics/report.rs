//! The figures of a moment, on their way to those who read them.

use std::time::Duration;

use super::figures::{Counts, Figures, LATENCIES, LATENESS, RUN, TICK, WAIT};
use super::published::Published;
use super::quantiles::Quantiles;
use super::shown::Activity;
use super::snapshot::Metrics;
use super::window::Window;
use super::words::{Words, words};
use crate::sync::{AtomicU64, Ordering};
use crate::sys;

/// What was known at a moment, and what is needed to tell what a later one adds.
pub(super) struct Report {
    /// When that was.
    at: i64,
    /// What the loop was doing since.
    activity: Activity,
    counts: Counts,
    window: Window,
    latencies: [Quantiles; LATENCIES],
}

words!(Report: at, activity, counts, window, latencies);

impl Report {
    pub(super) fn of(figures: &Figures, activity: Activity) -> Self {
        Self {
            at: figures.last,
            activity,
            counts: figures.counts,
            window: figures.window.clone(),
            latencies: figures.latencies.clone(),
        }
    }

    /// What is published before anything is.
    fn empty() -> Self {
        Self::of(&Figures::new(0), Activity::Away)
    }

    /// The place for a report.
    pub(super) fn place() -> Published {
        Published::new(Self::empty().count_words())
    }

    /// Reads what was published, and was so until the moment that is returned.
    pub(super) fn read(published: &Published) -> (Self, i64) {
        published.read(|words| {
            let mut words = words.iter();
            let mut report = Self::empty();
            report.visit(&mut |word| *word = words.next().map_or(0, load));
            (report, sys::now())
        })
    }

    /// The metrics of a later moment, until which the loop has done what it did.
    pub(super) fn metrics(&self, now: i64) -> Metrics {
        let time = |nanoseconds: i64| Duration::from_nanos(nanoseconds.max(0).unsigned_abs());
        let Counts { mut busy, mut idle, .. } = self.counts;
        let passed = now.saturating_sub(self.at).max(0);
        match self.activity {
            Activity::Away => {}
            Activity::Idle => idle += passed,
            Activity::Busy => busy += passed,
        }
        let counts = &self.counts;
        let latencies = self.latencies.each_ref().map(Quantiles::latency);
        let mut metrics = Metrics {
            ticks: counts.ticks,
            callbacks: counts.callbacks,
            throughput: self.window.per_second(now),
            busy: time(busy),
            idle: time(idle),
            tick: latencies[TICK],
            run: latencies[RUN],
            lateness: latencies[LATENESS],
            timers: counts.timers,
            fds: counts.fds,
            futures: counts.futures,
            jobs: counts.jobs,
            wakes_issued: counts.wakes_issued,
            wakes_elided: counts.handed_over.saturating_sub(counts.wakes_for_entries),
            budget_breaches: counts.budget_breaches,
            overloads: counts.overloads,
            panics: counts.panics,
            ..Metrics::default()
        };
        for (index, phase) in metrics.phases.iter_mut().enumerate() {
            phase.time = time(counts.phase_times[index]);
            phase.callbacks = counts.phase_callbacks[index];
        }
        for (index, queue) in metrics.queues.iter_mut().enumerate() {
            let depth = counts.depths[index];
            (queue.current, queue.max, queue.average) = (depth.current, depth.max, depth.average);
            queue.wait = latencies[WAIT + index];
        }
        metrics
    }
}

type Places<'a> = std::slice::Iter<'a, AtomicU64>;

/// Writes words to the next places.
fn put(places: &mut Places<'_>, words: &mut impl Words) {
    words.visit(&mut |word| {
        if let Some(place) = places.next() {
            place.store(*word, Ordering::Relaxed);
        }
    });
}

/// Leaves the next places as they are.
fn skip(places: &mut Places<'_>, count: usize) {
    *places = places.as_slice().get(count..).unwrap_or_default().iter();
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// What was published last, so that what has not changed since is not written again.
#[derive(Debug)]
pub(super) struct Edition {
    /// Which bucket of the window was the present one.
    bucket: i64,
    /// How many samples there were of each latency, and how many words that takes.
    samples: [u64; LATENCIES],
    latency_words: usize,
}

impl Edition {
    pub(super) fn new() -> Self {
        let latency_words = Quantiles::new().count_words();
        Self { bucket: i64::MIN, samples: [0; LATENCIES], latency_words }
    }

    /// Publishes what the loop does from now on, which is the beginning of a [`Report`].
    pub(super) fn publish_change(
        published: &Published,
        figures: &mut Figures,
        mut activity: Activity,
    ) {
        published.write(|places| {
            let mut places = places.iter();
            put(&mut places, &mut figures.last);
            put(&mut places, &mut activity);
            put(&mut places, &mut figures.counts.busy);
            put(&mut places, &mut figures.counts.idle);
        });
    }

    /// Publishes the figures, as the words of a [`Report`].
    pub(super) fn publish(
        &mut self,
        published: &Published,
        figures: &mut Figures,
        mut activity: Activity,
    ) {
        published.write(|places| {
            let mut places = places.iter();
            put(&mut places, &mut figures.last);
            put(&mut places, &mut activity);
            put(&mut places, &mut figures.counts);
            let bucket = figures.window.end;
            let Window { end, start, present, sum, oldest, past } = &mut figures.window;
            put(&mut places, end);
            put(&mut places, start);
            put(&mut places, present);
            if std::mem::replace(&mut self.bucket, bucket) == bucket {
                skip(&mut places, 2 + past.len());
            } else {
                put(&mut places, sum);
                put(&mut places, oldest);
                put(&mut places, past);
            }
            for (latency, known) in figures.latencies.iter_mut().zip(&mut self.samples) {
                let samples = latency.count();
                if std::mem::replace(known, samples) == samples {
                    skip(&mut places, self.latency_words);
                } else {
                    put(&mut places, latency);
                }
            }
        });
    }
}
