//! A trace of what loops do, in the format of Perfetto and chrome://tracing.
