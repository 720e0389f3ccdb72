//! See `mainspring_fuzz::watchers`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainspring_fuzz::watchers::check(data));
