//! See `mainspring_fuzz::scripts`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainspring_fuzz::scripts::check(data));
