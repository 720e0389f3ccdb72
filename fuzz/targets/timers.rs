//! See `mainspring_fuzz::timers`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainspring_fuzz::timers::check(data));
