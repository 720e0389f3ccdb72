//! See `mainspring_fuzz::queues`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mainspring_fuzz::queues::check(data));
