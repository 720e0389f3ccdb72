//! 4,096 bits, of which the next one that is set is found in constant time.

/// How many.
pub(crate) const BITS: u32 = 4096;

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Bitmap {
    words: [u64; 64],
    /// Which words are not zero.
    summary: u64,
}

/// The lowest set bit that is at least `from`.
#[inline]
fn next_in(word: u64, from: u32) -> Option<u32> {
    let rest = word & u64::MAX.checked_shl(from)?;
    (rest != 0).then(|| rest.trailing_zeros())
}

impl Bitmap {
    pub(crate) const fn new() -> Self {
        Self { words: [0; 64], summary: 0 }
    }

    #[inline]
    pub(crate) fn set(&mut self, bit: u32) {
        self.words[bit as usize / 64] |= 1 << (bit % 64);
        self.summary |= 1 << (bit / 64);
    }

    #[inline]
    pub(crate) fn reset(&mut self, bit: u32) {
        let word = &mut self.words[bit as usize / 64];
        *word &= !(1 << (bit % 64));
        if *word == 0 {
            self.summary &= !(1 << (bit / 64));
        }
    }

    #[inline]
    pub(crate) fn is_set(&self, bit: u32) -> bool {
        self.words[bit as usize / 64] & 1 << (bit % 64) != 0
    }

    /// How far it is from `from` to the next set bit, going round at the end. 0 if that one is set.
    #[inline]
    pub(crate) fn distance(&self, from: u32) -> Option<u32> {
        if self.summary == 0 {
            return None;
        }
        let found = self.at_least(from).or_else(|| self.at_least(0))?;
        Some(found.wrapping_sub(from) % BITS)
    }

    #[inline]
    fn at_least(&self, from: u32) -> Option<u32> {
        let word = from / 64;
        if let Some(bit) = next_in(self.words[word as usize], from % 64) {
            return Some(word * 64 + bit);
        }
        let word = next_in(self.summary, word + 1)?;
        Some(word * 64 + self.words[word as usize].trailing_zeros())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_next_bit_is_found_from_everywhere_also_across_the_end() {
        for set in [&[0][..], &[4095], &[63, 64], &[5, 700, 4095], &[0, 4032], &[1000]] {
            let mut bitmap = Bitmap::new();
            assert_eq!(bitmap.distance(0), None);
            set.iter().for_each(|bit| bitmap.set(*bit));
            for from in 0..BITS {
                let expected = (0..BITS).find(|n| set.contains(&((from + n) % BITS)));
                assert_eq!(bitmap.distance(from), expected, "{set:?} from {from}");
                assert_eq!(bitmap.is_set(from), set.contains(&from));
            }
            set.iter().for_each(|bit| bitmap.reset(*bit));
            assert_eq!(bitmap.distance(17), None);
        }
    }
}
