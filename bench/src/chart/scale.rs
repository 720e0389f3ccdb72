//! Axes: where a value is on them, and where they have ticks.

/// From values to positions.
pub struct Scale {
    /// The values at both ends.
    low: f64,
    high: f64,
    /// The positions at both ends.
    begin: f64,
    end: f64,
    pub is_logarithmic: bool,
}

impl Scale {
    /// From 0 on, to a bit more than `high`.
    pub fn linear(high: f64, begin: f64, end: f64) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        Self { low: 0.0, high, begin, end, is_logarithmic: false }
    }

    /// Both have to be positive.
    pub fn logarithmic(low: f64, high: f64, begin: f64, end: f64) -> Self {
        Self { low, high, begin, end, is_logarithmic: true }
    }

    /// What is outside is shown at the end.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.is_logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.begin + share.clamp(0.0, 1.0) * (self.end - self.begin)
    }

    pub fn ticks(&self) -> Vec<f64> {
        if self.is_logarithmic { self.logarithmic_ticks() } else { self.linear_ticks() }
    }

    /// About five round numbers.
    fn linear_ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let factors = [1.0, 2.0, 5.0, 10.0];
        let step = factors.map(|factor| factor * power).into_iter().find(|&step| step >= rough);
        let step = step.unwrap_or(rough);
        let count = (self.high / step).floor() as usize;
        (0..=count).map(|index| index as f64 * step).collect()
    }

    /// Powers of ten; where these are few, also some between them.
    fn logarithmic_ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let factors: &[f64] = match decades {
            few if few < 0.7 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            some if some < 3.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let ticks = powers.flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)));
        // Roundings must not cost the first one or the last one.
        ticks.filter(|&tick| tick >= self.low * 0.999 && tick <= self.high * 1.001).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_begins_at_nothing() {
        let scale = Scale::linear(100.0, 10.0, 110.0);
        assert_eq!(
            [0.0, 50.0, 100.0, 200.0, -5.0].map(|value| scale.at(value)),
            [10.0, 60.0, 110.0, 110.0, 10.0]
        );
        assert_eq!(scale.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    }

    #[test]
    fn equal_ratios_are_equally_far_apart() {
        let scale = Scale::logarithmic(1.0, 100.0, 0.0, 100.0);
        assert!((scale.at(10.0) - 50.0).abs() < 1e-9);
        assert_eq!(scale.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(Scale::logarithmic(0.1, 1e4, 0.0, 1.0).ticks().len(), 6);
    }
}
