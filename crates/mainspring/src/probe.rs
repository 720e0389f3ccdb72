//! Points of the protocols at which a test or a simulation can step in. Nothing of this exists elsewhere.

#[cfg(not(test))]
use crate::simulated;

/// A place between two steps of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code))]
pub(crate) enum Point {
    /// The loop found nothing to do, and did not publish Sleeping yet.
    BeforeSleep,
    /// The loop published Sleeping and did not look for work yet.
    SleepPublished,
    /// The loop looked for work, found none, and did not block yet.
    BeforeBlock,
    /// The loop does not block any more, and did not publish Running yet.
    AfterBlock,
    /// A producer made its work visible, and did not look at the state yet.
    ProducerFenced,
    /// A producer claimed the signal, and did not send it yet.
    SignalClaimed,
    /// A producer sent the signal.
    SignalSent,
    /// The loop found every queue empty during shutdown, and is not Terminated yet.
    BeforeTerminated,
}

#[cfg(not(test))]
#[derive(Debug)]
pub(crate) struct Probes;

#[cfg(not(test))]
impl Probes {
    pub(crate) fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn reach(&self, _point: Point) {
        simulated::point();
    }
}

#[cfg(test)]
pub(crate) use self::active::Probes;

#[cfg(test)]
mod active {
    use super::Point;
    use crate::simulated;
    use std::fmt;
    use std::sync::{Arc, RwLock};

    type Probe = Arc<dyn Fn(Point) + Send + Sync>;

    /// Calls the test's function at every point that is reached.
    #[derive(Default)]
    pub(crate) struct Probes(RwLock<Option<Probe>>);

    impl Probes {
        pub(crate) fn new() -> Self {
            Self::default()
        }

        pub(crate) fn set(&self, probe: impl Fn(Point) + Send + Sync + 'static) {
            *self.0.write().unwrap() = Some(Arc::new(probe));
        }

        pub(crate) fn reach(&self, point: Point) {
            simulated::point();
            let probe = self.0.read().unwrap().clone();
            if let Some(probe) = probe {
                probe(point);
            }
        }
    }

    impl fmt::Debug for Probes {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Probes")
        }
    }
}
