//! How many wait in a queue, as of looks that are taken now and then.

use super::words::words;

/// The weight of the latest look in the average.
const ALPHA: f64 = 0.1;

/// What the looks have found. The first one is where the average begins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Depth {
    pub(crate) current: u64,
    pub(crate) max: u64,
    pub(crate) average: f64,
    has_begun: bool,
}

words!(Depth: current, max, average, has_begun);

impl Depth {
    /// Takes notice of how many wait now, without a look that counts for the average.
    pub(crate) fn refresh(&mut self, depth: u64) {
        self.current = depth;
        self.max = self.max.max(depth);
    }

    /// Takes notice of how many wait now.
    #[inline]
    pub(crate) fn record(&mut self, depth: u64) {
        let latest = depth as f64;
        self.current = depth;
        self.max = self.max.max(depth);
        if self.has_begun {
            self.average += ALPHA * (latest - self.average);
        } else {
            self.average = latest;
            self.has_begun = true;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn after(depths: &[u64]) -> (u64, u64, f64) {
        let mut depth = Depth::default();
        for &found in depths {
            depth.record(found);
        }
        (depth.current, depth.max, depth.average)
    }

    // spec: MX-2
    #[test]
    fn the_first_look_is_where_the_average_begins() {
        assert_eq!(after(&[]), (0, 0, 0.0));
        assert_eq!(after(&[50]), (50, 50, 50.0));
        assert_eq!(after(&[0]), (0, 0, 0.0));
    }

    // spec: MX-2
    #[test]
    fn later_looks_have_a_tenth_of_the_weight() {
        assert_eq!(after(&[50, 150]), (150, 150, 60.0));
        assert_eq!(after(&[50, 150, 10]), (10, 150, 55.0));
        assert_eq!(after(&[10, 0]), (0, 10, 9.0));
    }

    // An empty queue is a look as well: the average does not begin with the second one.
    // spec: MX-2
    #[test]
    fn a_first_look_at_an_empty_queue_counts() {
        assert_eq!(after(&[0, 10]), (10, 10, 1.0));
        assert_eq!(after(&[0, 0, 100]), (100, 100, 10.0));
    }

    // spec: MX-2
    #[test]
    fn an_average_goes_to_what_does_not_change() {
        let (current, max, average) = after(&[&[1_000][..], &[7; 500]].concat());
        assert_eq!((current, max), (7, 1_000));
        assert!((average - 7.0).abs() < 1e-9, "{average}");
        let (_, max, average) = after(&[u64::MAX; 3]);
        assert_eq!((max, average), (u64::MAX, u64::MAX as f64));
    }
}
