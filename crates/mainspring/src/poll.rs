//! The poll: for how long the loop may block, and how it does.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Error;
use crate::local::Idle;
use crate::observe::{Decision, Observe};
use crate::phase::Phase;
use crate::state::Via;
use crate::sys::{self, Poller};
use crate::tick::Tick;

/// For how long the poll may block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// Until something happens.
    Forever,
    /// Until something happens, or the time has come; not at all if a callback was run since the
    /// count of callbacks was this one.
    Turn { deadline: Option<i64>, ran: u64 },
    /// Until something happens, if something can happen that the loop is to wait for.
    WhileAlive,
}

/// For how long the poll does block.
#[derive(Clone, Copy, Debug)]
enum HowLong {
    /// Not at all.
    NotAtAll,
    /// Not at all, and if nothing is ready, virtual time is advanced to there.
    JumpTo(i64),
    /// Until then, or until something happens.
    Until(Option<i64>),
}

/// The earlier one of two deadlines.
fn earlier(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}

impl<O: Observe> Tick<'_, O> {
    /// Looks for descriptors that are ready. Blocks until there is one, something else happens, or a timer is
    /// due, unless there is something to do.
    pub(crate) fn poll(self, wait: Wait) -> Result<(), Error> {
        let local = &*self.cx.0;
        let shared = &*local.shared;
        self.cx.run_hook(&local.hooks.prepare);
        if local.watchers.has_events() {
            // A panic has left the rest of a batch.
            return Ok(());
        }
        match self.how_long(wait) {
            HowLong::NotAtAll => self.look(),
            HowLong::JumpTo(deadline) => {
                self.look()?;
                if let Some(clock) = &shared.clock.virtual_clock
                    && !local.watchers.has_events()
                {
                    clock.jump(deadline, shared);
                }
                Ok(())
            }
            HowLong::Until(deadline) => self.wait(deadline),
        }
    }

    /// For how long the poll may block.
    fn how_long(self, wait: Wait) -> HowLong {
        let local = &*self.cx.0;
        let shared = &*local.shared;
        if local.has_own_work() {
            return HowLong::NotAtAll;
        }
        let limit = match wait {
            Wait::Forever => None,
            Wait::Turn { ran, .. } if ran != local.ran.get() => return HowLong::NotAtAll,
            Wait::Turn { deadline, .. } => deadline,
            Wait::WhileAlive if !self.is_worth_waiting() => return HowLong::NotAtAll,
            Wait::WhileAlive => None,
        };
        if limit.is_some_and(|limit| shared.is_reached(limit)) {
            return HowLong::NotAtAll;
        }
        let Some(mut idle) = local.look_idle() else { return HowLong::NotAtAll };
        if local.hooks.idle.is_set() {
            self.cx.run_hook(&local.hooks.idle);
            if matches!(wait, Wait::WhileAlive) && !self.is_worth_waiting() {
                return HowLong::NotAtAll;
            }
            let Some(after) = local.look_idle() else { return HowLong::NotAtAll };
            idle = after;
        }
        let Idle { next, now, is_held } = idle;
        match &shared.clock.virtual_clock {
            None if local.ran_timers.get() => {
                // Many timers follow each other closely: several are run each time the loop wakes up.
                let slack = now.saturating_add(local.config.timer_slack);
                HowLong::Until(earlier(limit, next.map(|next| next.max(slack))))
            }
            None => HowLong::Until(earlier(limit, next)),
            Some(clock) if clock.is_auto() && !is_held => {
                earlier(limit, next).map_or(HowLong::Until(None), HowLong::JumpTo)
            }
            // Virtual deadlines come when somebody says so, and then the loop is woken. A turn waits in
            // real time meanwhile.
            Some(_) => HowLong::Until(limit.map(|limit| {
                sys::now().saturating_add(limit.saturating_sub(shared.limit_clock()))
            })),
        }
    }

    /// Whether something can happen that the loop is to wait for. Watchers that nothing would ever tell of are
    /// removed first, which looks at sources of the user.
    fn is_worth_waiting(self) -> bool {
        let local = &*self.cx.0;
        local.phase.set(Phase::Io);
        let swept = catch_unwind(AssertUnwindSafe(|| local.watchers.sweep(&local.shared)));
        if let Err(payload) = swept {
            self.cx.uncaught(payload);
        }
        local.is_alive()
    }

    /// Looks for descriptors that are ready, and does not block.
    fn look(self) -> Result<(), Error> {
        let local = &*self.cx.0;
        // A loop with a host consumes what made the host come.
        let is_needed = local.shared.io.is_used() || local.hosted.get();
        if !is_needed || !local.may_go_on() {
            return Ok(());
        }
        let look = |poller: &Poller, events: &mut _| {
            poller.wait(events, Some(sys::AT_ONCE))?;
            Ok(true)
        };
        local.watchers.fill(&local.shared, look)?;
        self.observe.looked(local);
        Ok(())
    }

    /// Waits for something to do.
    fn wait(self, deadline: Option<i64>) -> Result<(), Error> {
        self.observe.waits(&self.cx.0);
        let blocked = self.block(deadline);
        self.observe.goes_on(&self.cx.0);
        // Work that comes at the last moment does not keep the descriptors from being looked at.
        if blocked? { Ok(()) } else { self.look() }
    }

    /// Looks for work for a while, if that has paid off lately, and then blocks. False if descriptors were not looked at.
    fn block(self, deadline: Option<i64>) -> Result<bool, Error> {
        let local = &*self.cx.0;
        let shared = &*local.shared;
        let sleep = &shared.sleep;
        let state = &sleep.state;
        let via = shared.via();
        // Descriptors are not seen while spinning.
        if !shared.io.is_used()
            && local.spin.wait(deadline, || local.has_work() || !sleep.state.is_running())
        {
            return Ok(true);
        }
        self.observe.blocks(local);
        match via {
            Via::Park => {
                let decision = self.observe.decides();
                sleep.park(deadline, || decision.made(state, || local.has_work())).map(|()| true)
            }
            Via::Poll => {
                let poll = |poller: &Poller, events: &mut _| {
                    let decision = self.observe.decides();
                    sleep.poll(poller, events, deadline, || {
                        decision.made(state, || local.has_work())
                    })
                };
                local.watchers.fill(shared, poll)
            }
        }
    }
}
