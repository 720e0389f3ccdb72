//! See `mainspring_fuzz::measures`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainspring_fuzz::measures::check(data));
