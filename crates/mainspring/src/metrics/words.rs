//! The figures as words, and back, by one list of them.

use super::shown::Activity;

/// Consists of words, which are visited in one order, to be read or to be replaced.
pub(super) trait Words {
    fn visit(&mut self, f: &mut impl FnMut(&mut u64));

    /// How many they are.
    fn count_words(&mut self) -> usize {
        let mut count = 0;
        self.visit(&mut |_| count += 1);
        count
    }
}

impl Words for u64 {
    #[inline]
    fn visit(&mut self, f: &mut impl FnMut(&mut u64)) {
        f(self);
    }
}

/// For what a word can be made of and back, without a loss.
macro_rules! word {
    ($type:ty, $to:expr, $from:expr) => {
        impl Words for $type {
            #[inline]
            fn visit(&mut self, f: &mut impl FnMut(&mut u64)) {
                let mut word = $to(*self);
                f(&mut word);
                *self = $from(word);
            }
        }
    };
}

word!(i64, i64::cast_unsigned, u64::cast_signed);
word!(f64, f64::to_bits, f64::from_bits);
word!(u32, u64::from, |word| word as u32);
word!(usize, |number| number as u64, |word| word as usize);
word!(bool, u64::from, |word| word != 0);
word!(Activity, |activity| activity as u64, Activity::from_number);

impl<T: Words, const N: usize> Words for [T; N] {
    #[inline]
    fn visit(&mut self, f: &mut impl FnMut(&mut u64)) {
        self.iter_mut().for_each(|words| words.visit(f));
    }
}

/// For a type with such fields, which have to be all.
macro_rules! words {
    ($type:ident: $($field:ident),* $(,)?) => {
        impl super::words::Words for $type {
            #[inline]
            fn visit(&mut self, f: &mut impl FnMut(&mut u64)) {
                let Self { $($field),* } = self;
                $(super::words::Words::visit($field, f);)*
            }
        }
    };
}
pub(super) use words;
