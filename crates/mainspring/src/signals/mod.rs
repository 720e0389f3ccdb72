//! Signals: as the end of a loop, as a source, and as futures. Needs the feature `signals`.

mod shutdown;
mod source;
mod stream;

pub use shutdown::SignalGuard;
pub use source::Signals;
pub use stream::AsyncSignals;
