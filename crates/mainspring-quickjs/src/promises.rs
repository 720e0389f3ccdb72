//! The loop's own promises, for scripts.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use mainspring::{Cx, Error, LocalPromise, LocalRejection, LocalResolver};
use mainspring_js::{Layer, Thrown};
use rquickjs::function::Func;
use rquickjs::{Array, Ctx, Exception, Function, Object, Persistent, Result, Value};

use crate::engine::{Held, QuickJs, WeakLayer};
use crate::natives::alive;

/// A value of the script, as a promise has it.
type Shared = Rc<Held>;

#[derive(Clone)]
struct Entry {
    promise: LocalPromise<Shared>,
    resolver: Option<Rc<LocalResolver<Shared>>>,
}

/// The promises that the script holds, by their ids.
#[derive(Default)]
struct Promises {
    entries: RefCell<HashMap<u32, Entry>>,
    last: Cell<u32>,
}

impl Promises {
    fn of(layer: &Layer<QuickJs>) -> Rc<Self> {
        layer.host().resource(Self::default)
    }

    fn add(&self, entry: Entry) -> u32 {
        let id = self.last.get() + 1;
        self.last.set(id);
        self.entries.borrow_mut().insert(id, entry);
        id
    }

    fn get(&self, ctx: &Ctx<'_>, id: u32) -> Result<Entry> {
        let entry = self.entries.borrow().get(&id).cloned();
        entry.ok_or_else(|| Exception::throw_message(ctx, "no such promise"))
    }
}

/// Functions of `host` for the module `internal/rust_promise`.
pub(crate) fn define<'js>(host: &Object<'js>, layer: &Rc<Layer<QuickJs>>) -> Result<()> {
    let weak = Rc::downgrade(layer);
    host.set("promiseNew", Func::from(move |ctx: Ctx<'js>| new(&ctx, &weak)))?;
    let weak = Rc::downgrade(layer);
    host.set(
        "promiseRelease",
        Func::from(move |id: u32| {
            if let Some(layer) = weak.upgrade() {
                let entry = Promises::of(&layer).entries.borrow_mut().remove(&id);
                drop(entry);
            }
        }),
    )?;
    let weak = Rc::downgrade(layer);
    host.set(
        "promiseFulfill",
        Func::from(move |ctx: Ctx<'js>, id: u32, value: Value<'js>| {
            let layer = alive(&ctx, &weak)?;
            let value = Rc::new(layer.engine().hold(&ctx, value));
            settle(&ctx, &layer, id, |resolver| resolver.resolve(value))
        }),
    )?;
    let weak = Rc::downgrade(layer);
    host.set(
        "promiseReject",
        Func::from(move |ctx: Ctx<'js>, id: u32, reason: Value<'js>| {
            let layer = alive(&ctx, &weak)?;
            let reason = Rc::new(layer.engine().hold(&ctx, reason));
            settle(&ctx, &layer, id, |resolver| resolver.reject(LocalRejection::from_value(reason)))
        }),
    )?;
    let weak = Rc::downgrade(layer);
    host.set(
        "promiseAdopt",
        Func::from(move |ctx: Ctx<'js>, id: u32, other: u32| {
            let layer = alive(&ctx, &weak)?;
            let other = Promises::of(&layer).get(&ctx, other)?.promise;
            settle(&ctx, &layer, id, |resolver| resolver.adopt(&other))
        }),
    )?;
    let weak = Rc::downgrade(layer);
    host.set(
        "promiseThen",
        Func::from(
            move |ctx: Ctx<'js>,
                  id: u32,
                  on_fulfilled: Option<Function<'js>>,
                  on_rejected: Option<Function<'js>>,
                  react: Function<'js>| {
                then(&ctx, &weak, id, [on_fulfilled, on_rejected], react)
            },
        ),
    )
}

fn new(ctx: &Ctx<'_>, layer: &WeakLayer) -> Result<u32> {
    let layer = alive(ctx, layer)?;
    let (promise, resolver) = LocalPromise::with_resolvers(layer.host().cx());
    Ok(Promises::of(&layer).add(Entry { promise, resolver: Some(Rc::new(resolver)) }))
}

fn settle(
    ctx: &Ctx<'_>,
    layer: &Layer<QuickJs>,
    id: u32,
    settle: impl FnOnce(&LocalResolver<Shared>) -> bool,
) -> Result<bool> {
    let resolver = Promises::of(layer).get(ctx, id)?.resolver;
    Ok(resolver.is_some_and(|resolver| settle(&resolver)))
}

/// What a handler is called by.
struct Reaction {
    /// For a value, and for a reason.
    handlers: [Option<Persistent<Function<'static>>>; 2],
    react: Persistent<Function<'static>>,
    layer: Rc<Layer<QuickJs>>,
}

fn then<'js>(
    ctx: &Ctx<'js>,
    layer: &WeakLayer,
    id: u32,
    handlers: [Option<Function<'js>>; 2],
    react: Function<'js>,
) -> Result<u32> {
    let layer = alive(ctx, layer)?;
    let promises = Promises::of(&layer);
    let promise = promises.get(ctx, id)?.promise;
    let reaction = Reaction {
        handlers: handlers.map(|handler| handler.map(|handler| Persistent::save(ctx, handler))),
        react: Persistent::save(ctx, react),
        layer,
    };
    let promise = promise.and_handle(move |cx, outcome| reaction.run(cx, outcome));
    Ok(promises.add(Entry { promise, resolver: None }))
}

impl Reaction {
    fn run(
        self,
        cx: &Cx,
        outcome: std::result::Result<Shared, LocalRejection>,
    ) -> LocalPromise<Shared> {
        let Self { handlers: [on_fulfilled, on_rejected], react, layer } = self;
        let (handler, value) = match outcome {
            Ok(value) => match on_fulfilled {
                Some(handler) => (handler, value),
                None => return LocalPromise::resolve(cx, value),
            },
            // Nobody can settle it any more, or the loop ends: for a script it stays pending.
            Err(reason) if !is_for_scripts(&reason) => return LocalPromise::reject(cx, reason),
            Err(reason) => match on_rejected {
                Some(handler) => match layer.engine().reason(&reason) {
                    Ok(reason) => (handler, reason),
                    Err(_) => return LocalPromise::reject(cx, reason),
                },
                None => return LocalPromise::reject(cx, reason),
            },
        };
        let reacted = layer.engine().with(|ctx| {
            let react = react.restore(ctx)?;
            let outcome: Array = react.call((handler, value.value.clone()))?;
            match outcome.get(0)? {
                0 => Ok(LocalPromise::resolve(
                    cx,
                    Rc::new(layer.engine().hold(ctx, outcome.get(1)?)),
                )),
                1 => Ok(Promises::of(&layer).get(ctx, outcome.get(1)?)?.promise),
                _ => {
                    let reason = Rc::new(layer.engine().hold(ctx, outcome.get(1)?));
                    Ok(LocalPromise::reject(cx, LocalRejection::from_value(reason)))
                }
            }
        });
        match reacted {
            Ok(promise) => promise,
            Err(Thrown::Exception(reason)) => {
                LocalPromise::reject(cx, LocalRejection::from_value(Rc::new(reason)))
            }
            Err(stopped) => {
                layer.deal_with(cx, stopped);
                LocalPromise::with_resolvers(cx).0
            }
        }
    }
}

/// Whether a script rejected with it, or would have been told by an engine's own promises.
fn is_for_scripts(reason: &LocalRejection) -> bool {
    reason.value::<Shared>().is_some()
        || matches!(reason.downcast_ref::<Error>(), Some(Error::PromiseCycle))
}

impl QuickJs {
    /// A reason as the script sees it: what it rejected with itself, or an error of the loop as a `TypeError`.
    fn reason(&self, reason: &LocalRejection) -> std::result::Result<Shared, Thrown<Held>> {
        if let Some(value) = reason.value::<Shared>() {
            return Ok(Rc::clone(value));
        }
        self.with(|ctx| {
            let text = reason.to_string();
            let constructor: rquickjs::function::Constructor = ctx.globals().get("TypeError")?;
            let error: Value = constructor.construct((text,))?;
            Ok(Rc::new(self.hold(ctx, error)))
        })
    }
}
