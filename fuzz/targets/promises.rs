//! See `mainspring_fuzz::promises`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainspring_fuzz::promises::check(data));
