//! Quantiles of durations, without keeping the durations: the P² algorithm of Jain and Chlamtac (1985).
//!
//! A marker is a height, which is a duration, and a rank: how many samples are below that height. A
//! sample raises the ranks of the markers above it. Where a marker is to stay at a quantile and its rank
//! has left it, the marker is moved, along a parabola through it and its neighbours.
//!
//! The paper has five markers for one quantile, and moves them after each sample. Here it is different in
//! four ways, all of them because a relative error matters, of four quantiles, with as few as 10,000
//! samples, and at a cost that is not felt:
//!
//! 1. **One set of markers for all quantiles**, closest together where samples are rarest: around P99.
//! 2. **Heights are logarithms.** The bits of a floating-point number, read as an integer, are one that
//!    costs nothing: linear from each power of two to the next.
//! 3. **Markers are moved rarely**, when there are a sixteenth more samples than the last time, as each move
//!    is a guess, and what is counted in between is not. All are moved at once, and one that is wanted
//!    where one was before takes its place, which is no guess either. What is read is interpolated, so a
//!    marker does not have to be at the quantile.
//! 4. **The first samples are markers**, as long as there are not more of them; and up to the 1,000th sample
//!    markers are moved each time, with the sample as one more, so that the highest ones are exact.
//!
//! # What it is good for
//!
//! With fewer than 32 samples the result is exact. From 10,000 on its error is about 1 % for durations
//! that come from one distribution, also a very skewed one, and rarely more than 5 %; it becomes less with
//! more samples. There are limits, which all methods with markers have:
//!
//! * Where no samples are between two modes, and a quantile is just there, or within three percent of it, the
//!   result may be something in between. The same is true of durations that are few multiples of a coarse clock's
//!   step: the result may be off by one step.
//! * What changes over time is followed, but less exactly, as ranks are guessed more often: if all becomes
//!   ten times as long, or as short, the error of P50 can be more than 10 %, that of the others is about 5 %.
//! * After two thousand million samples, later ones count more than earlier ones.

use std::time::Duration;

use super::words::words;
use crate::Latency;

/// Where markers are wanted, as parts of all samples. The first is at the shortest, the last at the longest
/// sample.
const WANTED: [f64; MARKERS] = [
    0.0, 0.25, 0.45, 0.5, 0.55, 0.75, 0.86, 0.89, 0.9, 0.91, 0.94, 0.95, 0.96, 0.978, 0.9825,
    0.985, 0.9868, 0.9879, 0.9887, 0.9892, 0.9896, 0.99, 0.9904, 0.9907, 0.9911, 0.9917, 0.9924,
    0.9933, 0.9945, 0.9962, 0.9985, 1.0,
];

const MARKERS: usize = 32;

/// Up to how far from where it is wanted a marker may be, as a part of all samples: a quarter of the
/// distance to the next one.
const TOLERANCE: [f64; MARKERS] = {
    let mut tolerance = [0.0; MARKERS];
    let mut i = 1;
    while i < MARKERS - 1 {
        let (below, above) = (WANTED[i] - WANTED[i - 1], WANTED[i + 1] - WANTED[i]);
        tolerance[i] = 0.25 * if below < above { below } else { above };
        i += 1;
    }
    tolerance
};

/// Up to how many samples markers are moved each time.
const EARLY: u32 = 1_000;

/// How much farther from where it is wanted a marker may be until then.
const SLACK: f64 = 4.0;

/// How many samples are too many for the counters: they are halved then.
const MANY: u32 = 1 << 31;

/// See the [module documentation](self).
#[derive(Clone, Debug)]
pub(crate) struct Quantiles {
    /// As long as there are fewer samples than markers: the samples, ascending. Then the markers.
    slots: [u64; MARKERS],
    count: u64,
    sum: f64,
    max: u64,
    /// What the counters of all markers add up to: the number of samples, until it is halved. Zero as long as
    /// there are no markers.
    weight: u32,
    /// The weight at which markers are moved next.
    due: u32,
}

words!(Quantiles: slots, count, sum, max, weight, due);

/// In the upper half its height, in the lower half how many samples are above the marker before and not
/// above this one. Markers are ascending.
#[derive(Clone, Copy)]
struct Marker(u64);

impl Marker {
    fn new(height: u32, count: u32) -> Self {
        Self(u64::from(height) << 32 | u64::from(count))
    }

    fn height(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn count(self) -> u32 {
        self.0 as u32
    }
}

/// A height and how many samples are not above it.
#[derive(Clone, Copy, Default)]
struct Point {
    height: u32,
    rank: u32,
}

impl Quantiles {
    pub(crate) const fn new() -> Self {
        Self { slots: [0; MARKERS], count: 0, sum: 0.0, max: 0, weight: 0, due: 0 }
    }

    /// Takes notice of a duration.
    #[inline]
    pub(crate) fn record(&mut self, nanos: u64) {
        self.count += 1;
        self.sum += nanos as f64;
        self.max = self.max.max(nanos);
        if self.weight == 0 {
            return self.keep(nanos);
        }
        let mut height = height_of(nanos);
        let mut cell = self.slots.partition_point(|&slot| Marker(slot).height() <= height);
        if cell == 0 || cell == MARKERS {
            // The outermost marker goes to the sample, so it is the old one that is passed over.
            let end = if cell == 0 { 0 } else { MARKERS - 1 };
            cell = end.max(1);
            let old = Marker(self.slots[end]);
            self.slots[end] = Marker::new(height, old.count()).0;
            height = old.height();
        }
        self.slots[cell] += 1;
        self.weight += 1;
        if self.weight >= self.due {
            self.adjust(cell, height);
        }
    }

    /// How many durations there were.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// What is known about the durations so far. The quantiles are in order, and none is above the longest.
    pub(crate) fn latency(&self) -> Latency {
        if self.count == 0 {
            return Latency::default();
        }
        let points = (self.weight > 0).then(|| self.points());
        let mut least = 0;
        let mut quantile = |percent: u64| {
            let rank = |count: u64| (count * percent).div_ceil(100);
            let nanos = match &points {
                None => self.slots[rank(self.count) as usize - 1],
                Some(points) => nanos_of(height_at(points, rank(self.weight.into()) as u32)),
            };
            least = nanos.clamp(least, self.max);
            Duration::from_nanos(least)
        };
        Latency {
            count: self.count,
            mean: Duration::from_nanos(
                ((self.sum / self.count as f64).round() as u64).min(self.max),
            ),
            max: Duration::from_nanos(self.max),
            p50: quantile(50),
            p90: quantile(90),
            p95: quantile(95),
            p99: quantile(99),
        }
    }

    /// Keeps one of the first samples, and makes markers of them when that was the last there is room for.
    #[cold]
    fn keep(&mut self, nanos: u64) {
        let count = self.count as usize;
        let place = self.slots[..count - 1].partition_point(|&kept| kept <= nanos);
        self.slots[place..count].rotate_right(1);
        self.slots[place] = nanos;
        if count == MARKERS {
            self.slots = self.slots.map(|nanos| Marker::new(height_of(nanos), 1).0);
            self.weight = MARKERS as u32;
        }
    }

    fn points(&self) -> [Point; MARKERS] {
        let mut rank = 0;
        self.slots.map(|slot| {
            rank += Marker(slot).count();
            Point { height: Marker(slot).height(), rank }
        })
    }

    /// Moves the markers to where they are wanted. The latest sample is in `cell`, at `height`.
    #[cold]
    #[inline(never)]
    fn adjust(&mut self, cell: usize, height: u32) {
        let markers = self.points();
        let mut points = [Point::default(); MARKERS + 1];
        let mut len = MARKERS;
        points[..MARKERS].copy_from_slice(&markers);
        if Marker(self.slots[cell]).count() == 2 {
            // Nothing else is between these two markers, so the sample's rank is known.
            points.copy_within(cell..MARKERS, cell + 1);
            points[cell] = Point { height, rank: markers[cell - 1].rank + 1 };
            len += 1;
        }
        let points = &points[..len];

        let weight = f64::from(self.weight);
        let tolerance = weight * if self.weight < EARLY { SLACK } else { 1.0 };
        let mut next = 1;
        let mut last = points[0];
        for i in 1..MARKERS - 1 {
            // No two markers have the same rank, also those that are still to be placed.
            let highest = self.weight - (MARKERS - 1 - i) as u32;
            let wanted = 1 + ((weight - 1.0) * WANTED[i]).round() as u32;
            let wanted = wanted.max(last.rank + 1).min(highest);
            while points[next].rank < wanted {
                next += 1;
            }
            let (below, above) = (points[next - 1], points[next]);
            let near = if wanted - below.rank < above.rank - wanted { below } else { above };
            let distance = f64::from(near.rank.abs_diff(wanted));
            let free = last.rank < near.rank && near.rank <= highest;
            let point = if free && distance <= tolerance * TOLERANCE[i] {
                near
            } else {
                // Two parabolas between the same points may cross.
                Point { height: height_at(points, wanted).max(last.height), rank: wanted }
            };
            self.slots[i] = Marker::new(point.height, point.rank - last.rank).0;
            last = point;
        }
        let max = points[len - 1].height;
        self.slots[MARKERS - 1] = Marker::new(max, self.weight - last.rank).0;

        if self.weight >= MANY {
            self.slots = self
                .slots
                .map(|slot| Marker::new(Marker(slot).height(), Marker(slot).count().div_ceil(2)).0);
            self.weight = self.slots.iter().map(|&slot| Marker(slot).count()).sum();
        }
        self.due = self.weight + if self.weight < EARLY { 1 } else { self.weight / 16 };
    }
}

/// The logarithm of a duration, as the bits of a floating-point number. Nothing is as far from 1 as 1 is
/// from 4, so that it is finite, and rounded down.
#[inline]
fn height_of(nanos: u64) -> u32 {
    (nanos as f32).max(0.25).to_bits()
}

fn nanos_of(height: u32) -> u64 {
    f32::from_bits(height).round() as u64
}

/// The height at a rank, which is not below the first: on the parabola through the three nearest points,
/// or, if it is not between its neighbours there, on the line between those.
fn height_at(points: &[Point], rank: u32) -> u32 {
    let next = points.partition_point(|point| point.rank < rank).clamp(1, points.len() - 1);
    let (below, above) = (points[next - 1], points[next]);
    let is_nearer_below = rank - below.rank < above.rank - rank;
    let middle = if is_nearer_below { next - 1 } else { next }.clamp(1, points.len() - 2);

    let distance = |from: u32, to: u32| f64::from(to) - f64::from(from);
    let slope = |a: Point, b: Point| distance(a.height, b.height) / distance(a.rank, b.rank);
    let (left, centre, right) = (points[middle - 1], points[middle], points[middle + 1]);
    let (before, after) = (slope(left, centre), slope(centre, right));
    let by = distance(centre.rank, rank);
    let weighted = (distance(left.rank, centre.rank) + by) * after
        + (distance(centre.rank, right.rank) - by) * before;
    let parabola = f64::from(centre.height) + by * weighted / distance(left.rank, right.rank);
    let bounds = f64::from(below.height)..=f64::from(above.height);
    let height = if bounds.contains(&parabola) {
        parabola
    } else {
        f64::from(below.height) + distance(below.rank, rank) * slope(below, above)
    };
    height.round() as u32
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Random(u64);

    impl Random {
        fn new(seed: u64) -> Self {
            let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03);
            for _ in 0..4 {
                random.unit();
            }
            random
        }

        /// Between 0 and 1, and neither of them.
        fn unit(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
            (bits as f64 + 0.5) / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            let angle = std::f64::consts::TAU * self.unit();
            (-2.0 * self.unit().ln()).sqrt() * angle.cos()
        }
    }

    type Sample = fn(&mut Random) -> f64;

    fn two_modes(random: &mut Random, part: f64) -> f64 {
        let centre = if random.unit() < part { 1e4 } else { 1e6 };
        centre * (1.0 + 0.1 * random.normal())
    }

    const STREAMS: [(&str, Sample); 8] = [
        ("uniform", |random| random.unit() * 1e6),
        ("exponential", |random| -random.unit().ln() * 1e5),
        ("log-normal", |random| (2.0 * random.normal()).exp() * 1e5),
        ("Pareto", |random| random.unit().powf(-1.0 / 1.5) * 1e4),
        ("two modes, 30:70", |random| two_modes(random, 0.3)),
        ("two modes, 70:30", |random| two_modes(random, 0.7)),
        ("two modes, 93:7", |random| two_modes(random, 0.93)),
        ("two modes, 97:3", |random| two_modes(random, 0.97)),
    ];

    fn stream(sample: Sample, seed: u64, len: usize) -> Vec<u64> {
        let mut random = Random::new(seed);
        (0..len).map(|_| sample(&mut random).max(0.0) as u64).collect()
    }

    fn quantiles(samples: &[u64]) -> Quantiles {
        let mut quantiles = Quantiles::new();
        samples.iter().for_each(|&nanos| quantiles.record(nanos));
        quantiles
    }

    fn nanos(latency: &Latency) -> [u64; 4] {
        [latency.p50, latency.p90, latency.p95, latency.p99].map(|time| time.as_nanos() as u64)
    }

    /// The least sample that a part of all samples is not above.
    fn exact(samples: &[u64]) -> [u64; 4] {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        [50, 90, 95, 99].map(|percent| sorted[(sorted.len() * percent).div_ceil(100) - 1])
    }

    /// The largest relative error of the four.
    fn error(samples: &[u64]) -> f64 {
        let found = nanos(&quantiles(samples).latency());
        let errors = found.into_iter().zip(exact(samples));
        errors.map(|(found, exact)| found.abs_diff(exact) as f64 / exact as f64).fold(0.0, f64::max)
    }

    #[track_caller]
    fn is_in_order(latency: &Latency) {
        let order = [latency.p50, latency.p90, latency.p95, latency.p99, latency.max];
        assert!(order.is_sorted() && latency.mean <= latency.max, "{latency:?}");
    }

    // spec: MX-2
    #[test]
    fn the_error_is_less_than_5_percent_from_10_000_samples_on() {
        for (name, sample) in STREAMS {
            for seed in 0..16 {
                let samples = stream(sample, seed, 20_000);
                for len in [10_000, 20_000] {
                    let error = error(&samples[..len]);
                    assert!(error < 0.05, "{name}, seed {seed}, {len} samples: {error}");
                }
            }
        }
    }

    // spec: MX-2
    #[test]
    fn the_error_becomes_less_with_more_samples() {
        for (name, sample) in STREAMS {
            let error = error(&stream(sample, 1, 300_000));
            assert!(error < 0.02, "{name}: {error}");
        }
    }

    // spec: MX-2
    #[test]
    fn no_samples_are_zeros() {
        assert_eq!(Quantiles::new().latency(), Latency::default());
    }

    // spec: MX-2
    #[test]
    fn few_samples_are_exact() {
        let latency = quantiles(&[7]).latency();
        assert_eq!((latency.count, nanos(&latency)), (1, [7; 4]));
        assert_eq!((latency.mean, latency.max), (Duration::from_nanos(7), Duration::from_nanos(7)));

        let latency = quantiles(&[400, u64::MAX, 3, 1_000_000_007]).latency();
        assert_eq!(nanos(&latency), [400, u64::MAX, u64::MAX, u64::MAX]);

        for (_, sample) in STREAMS {
            let samples = stream(sample, 5, MARKERS - 1);
            for len in 1..MARKERS {
                let latency = quantiles(&samples[..len]).latency();
                assert_eq!(nanos(&latency), exact(&samples[..len]));
                is_in_order(&latency);
            }
        }
    }

    // Ten markers are above P99, and as long as they are wanted for one sample each, they are those samples.
    // spec: MX-2
    #[test]
    fn the_highest_quantile_is_exact_up_to_1_000_samples() {
        for (name, sample) in STREAMS {
            let samples = stream(sample, 4, 1_000);
            let mut quantiles = Quantiles::new();
            for (i, &nanos) in samples.iter().enumerate() {
                quantiles.record(nanos);
                let (found, [.., exact]) = (quantiles.latency().p99, exact(&samples[..=i]));
                assert_eq!(height_of(found.as_nanos() as u64), height_of(exact), "{name}, {i}");
            }
        }
    }

    // spec: MX-2
    #[test]
    fn no_two_markers_have_the_same_rank() {
        let steps: Sample = |random| (random.unit() * 4.0).floor();
        for (name, sample) in STREAMS.into_iter().chain([("steps", steps)]) {
            let mut quantiles = Quantiles::new();
            for (i, nanos) in stream(sample, 6, 4_000).into_iter().enumerate() {
                quantiles.record(nanos);
                if quantiles.weight > 0 {
                    let points = quantiles.points();
                    assert_eq!(points[MARKERS - 1].rank as usize, i + 1);
                    assert!(points.is_sorted_by(|a, b| a.rank < b.rank), "{name}, {i}");
                    assert!(points.is_sorted_by_key(|point| point.height), "{name}, {i}");
                }
            }
        }
    }

    // spec: MX-2
    #[test]
    fn the_mean_and_the_longest_are_exact() {
        let samples = stream(STREAMS[2].1, 3, 50_000);
        let latency = quantiles(&samples).latency();
        let mean = samples.iter().sum::<u64>() as f64 / 50_000.0;
        assert_eq!(latency.count, 50_000);
        assert_eq!(latency.mean, Duration::from_nanos(mean.round() as u64));
        assert_eq!(latency.max, Duration::from_nanos(*samples.iter().max().unwrap()));
    }

    // spec: MX-2
    #[test]
    fn quantiles_are_in_order_at_any_time() {
        let noise: Sample = |random| f64::from_bits((random.unit() * (u64::MAX / 2) as f64) as u64);
        let steps: Sample = |random| (random.unit() * 4.0).floor();
        for (_, sample) in STREAMS.into_iter().chain([("", noise), ("", steps)]) {
            let mut quantiles = Quantiles::new();
            for nanos in stream(sample, 9, 5_000) {
                quantiles.record(nanos);
                is_in_order(&quantiles.latency());
            }
        }
    }

    // spec: MX-2
    #[test]
    fn extremes_stay_what_they_are() {
        // The one before the last is rounded up by what heights are made of.
        for value in [0, 1, 1_000, (1 << 24) + 3, u64::MAX] {
            let latency = quantiles(&[value; 20_000]).latency();
            assert_eq!((nanos(&latency), latency.max.as_nanos() as u64), ([value; 4], value));
            assert_eq!(latency.mean.as_nanos() as u64, value);
        }
        let mixed: Vec<u64> = (0..20_000).map(|i| if i % 5 == 0 { u64::MAX } else { 0 }).collect();
        assert_eq!(nanos(&quantiles(&mixed).latency()), [0, u64::MAX, u64::MAX, u64::MAX]);
    }

    // Two values are two modes without width.
    // spec: MX-2
    #[test]
    fn two_values_are_found() {
        for (part, expected) in
            [(0.8, [100, 10_000, 10_000, 10_000]), (0.97, [100, 100, 100, 10_000])]
        {
            let mut random = Random::new(1);
            let mut samples = Vec::new();
            samples.resize_with(20_000, || if random.unit() < part { 100 } else { 10_000 });
            let found = nanos(&quantiles(&samples).latency());
            let close = |(found, expected): (u64, u64)| found.abs_diff(expected) * 20 < expected;
            assert!(found.into_iter().zip(expected).all(close), "{found:?}");
        }
    }

    // What is sorted is the worst that can happen to markers: all samples are beyond the last one.
    // spec: MX-2
    #[test]
    fn what_ascends_or_descends_is_followed() {
        let ascending: Vec<u64> = (1..=100_000).map(|i| i * 1_000).collect();
        let descending: Vec<u64> = ascending.iter().rev().copied().collect();
        for samples in [ascending, descending] {
            for len in [10_000, 100_000] {
                let error = error(&samples[..len]);
                assert!(error < 0.05, "{error}");
            }
        }
    }

    // Between two modes is no sample, but the result is not outside of them.
    // spec: MX-2
    #[test]
    fn a_quantile_in_a_gap_is_between_the_modes() {
        for seed in 0..20 {
            let samples = stream(|random| two_modes(random, 0.5), seed, 10_000);
            let [p50, others @ ..] = nanos(&quantiles(&samples).latency());
            assert!((5_000..1_500_000).contains(&p50), "{p50}");
            for (found, exact) in others.into_iter().zip(&exact(&samples)[1..]) {
                assert!(found.abs_diff(*exact) * 20 < *exact, "{found} is not {exact}");
            }
        }
    }

    // spec: MX-2
    #[test]
    fn counters_do_not_overflow() {
        let samples = stream(STREAMS[1].1, 2, 40_000);
        let mut quantiles = quantiles(&samples);
        let before = nanos(&quantiles.latency());
        // As if each sample but the shortest one had come 60,000 times.
        for slot in &mut quantiles.slots[1..] {
            *slot = Marker::new(Marker(*slot).height(), Marker(*slot).count() * 60_000).0;
        }
        quantiles.weight = quantiles.slots.iter().map(|&slot| Marker(slot).count()).sum();
        quantiles.due = 0;
        assert!(quantiles.weight > MANY);
        samples.iter().for_each(|&nanos| quantiles.record(nanos));
        assert!(quantiles.weight < MANY, "halved");
        assert!(quantiles.due < MANY + MANY / 8);
        for (found, before) in nanos(&quantiles.latency()).into_iter().zip(before) {
            assert!(found.abs_diff(before) * 50 < before, "{found} is not {before}");
        }
    }

    // It is in each queue, and with each metric.
    #[test]
    fn it_is_small() {
        assert!(size_of::<Quantiles>() < 300);
    }
}
