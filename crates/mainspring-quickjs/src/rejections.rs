//! Promises that were rejected without a handler, and those that got one later.

use std::collections::{BTreeMap, HashMap};

use rquickjs::{Ctx, Persistent, Value};

/// A promise that was rejected without a handler, or handled late.
pub(crate) struct Rejection {
    pub(crate) promise: Persistent<Value<'static>>,
    pub(crate) reason: Persistent<Value<'static>>,
    pub(crate) is_handled: bool,
}

/// What there is to report, in order. What is handled before it was reported is forgotten at once: a script may
/// do that very often in one checkpoint.
#[derive(Default)]
pub(crate) struct Rejections {
    pending: BTreeMap<u64, Rejection>,
    /// The unhandled ones among them, by the promise's address: it does not move while it is held here.
    unhandled: HashMap<usize, u64>,
    next: u64,
}

impl Rejections {
    pub(crate) fn track<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        promise: Value<'js>,
        reason: Value<'js>,
        is_handled: bool,
    ) {
        // SAFETY: it only looks at the value.
        if unsafe { rquickjs::qjs::JS_IsUncatchableError(reason.as_raw()) } {
            // The script was stopped, which is told elsewhere.
            return;
        }
        let address = address(&promise);
        if is_handled && let Some(place) = self.unhandled.remove(&address) {
            self.pending.remove(&place);
            return;
        }
        if !is_handled {
            self.unhandled.insert(address, self.next);
        }
        let promise = Persistent::save(ctx, promise);
        let reason = Persistent::save(ctx, reason);
        self.pending.insert(self.next, Rejection { promise, reason, is_handled });
        self.next += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Everything that is there to report.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Rejection> + use<> {
        self.unhandled.clear();
        std::mem::take(&mut self.pending).into_values()
    }
}

fn address(promise: &Value<'_>) -> usize {
    // SAFETY: a promise is an object, and the pointer is not followed.
    unsafe { rquickjs::qjs::JS_VALUE_GET_PTR(promise.as_raw()) as usize }
}
