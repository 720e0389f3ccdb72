import * as abort from "./actions/abort.mjs";
import * as core from "./actions/core.mjs";
import * as emitter from "./actions/emitter.mjs";
import * as failures from "./actions/failures.mjs";
import * as generators from "./actions/generators.mjs";
import * as handles from "./actions/handles.mjs";
import * as promises from "./actions/promises.mjs";
import * as target from "./actions/target.mjs";
import * as timersPromises from "./actions/timers_promises.mjs";
import { mayThrowInTick } from "./schedule.mjs";

const weigh = (weight, ...actions) => actions.map((action) => [weight, action]);

// For actions that must not be done by a handler: they might call it again, or it runs at an uncertain time.
const outside = (...actions) =>
  actions.map((action) => (script, cx) => (cx.time === null ? undefined : action(script, cx)));

const LOOP = weigh(3, core.immediate, core.zeroTimeout, core.timeout);
const QUEUES = weigh(3, core.tick, core.microtask, core.then);
const PROMISES = weigh(2, core.then, core.rejected, core.construct, core.deferred);
const ASYNC = [...weigh(4, core.asyncFunction), ...weigh(6, core.awaiting), ...weigh(3, core.awaitingLoop)];
const BASE = [...LOOP, ...QUEUES, ...ASYNC];

const nothing = () => [];

// A theme is the actions a script is made of, with weights, and what it does at the start and the end.
const theme = (actions, { features = [], setup = nothing, end = nothing, portable = false } = {}) => ({
  actions,
  features,
  setup,
  end,
  portable,
});

// What throws at the end of the script, if the rest is certain then.
const throwAtEnd = (script, cx) =>
  mayThrowInTick(cx) && script.random.chance(30) ? [`throw new Error("${script.label("e")}");`] : [];

const unsettled = (script) =>
  script.esm && script.random.chance(60) ? ["await new Promise(() => {});"] : [];

const TARGET = weigh(
  3,
  ...outside(target.listen, target.listenObject, target.stop, target.remove, target.dispatch),
);
const EMITTER = weigh(
  2,
  emitter.on,
  emitter.on,
  emitter.off,
  emitter.watch,
  emitter.oncePromise,
  emitter.iterate,
  ...outside(emitter.emit, emitter.emit, emitter.abortedOnce, emitter.emitError),
  ...outside(emitter.throwingListener, emitter.captured),
);
const ABORT = weigh(
  3,
  abort.timeoutSignal,
  abort.throwIfAborted,
  abort.abortableDelay,
  abort.abortableImmediate,
  ...outside(abort.listen, abort.abort, abort.any, abort.removedListener),
);
const HANDLES = weigh(
  2,
  handles.clear,
  handles.clear,
  handles.reference,
  handles.unrefImmediate,
  handles.unrefTimeout,
  handles.refreshed,
  handles.refreshed,
  handles.interval,
  handles.withArguments,
  handles.receiver,
);
const DELAYS = weigh(
  3,
  timersPromises.delay,
  timersPromises.turn,
  timersPromises.zeroDelay,
  timersPromises.awaitDelay,
  timersPromises.every,
);
const GENERATORS = weigh(3, generators.loop, generators.queued, generators.ended, generators.overPromises);
const ADOPTION = weigh(3, promises.combinator, promises.adopt);

const throwing = { features: ["throws"], setup: failures.catchUncaught, end: throwAtEnd };

export const THEMES = {
  queues: theme([...QUEUES, ...PROMISES], { portable: true }),
  loop: theme([...LOOP, ...QUEUES], { portable: true }),
  async: theme([...QUEUES, ...PROMISES, ...ASYNC], { portable: true }),
  mixture: theme([...BASE, ...PROMISES], { portable: true }),
  nested: theme([...LOOP, ...LOOP, ...QUEUES, ...ASYNC], { portable: true }),
  timers: theme([...LOOP, ...QUEUES, ...HANDLES], { features: ["handles"] }),
  handles: theme([...LOOP, ...HANDLES, ...weigh(2, core.tick, core.then)], { features: ["handles"] }),
  late: theme([...LOOP, ...QUEUES, ...weigh(2, handles.clear)], {
    features: ["handles"],
    setup: handles.late,
  }),
  lateErrors: theme([...LOOP, ...QUEUES], {
    ...throwing,
    setup: (script, cx) => [...failures.catchUncaught(script), ...handles.late(script, cx)],
  }),
  combinators: theme([...ADOPTION, ...QUEUES, ...LOOP]),
  thenables: theme([...weigh(5, promises.adopt), ...weigh(2, promises.subclass), ...QUEUES, ...ASYNC]),
  generators: theme([...GENERATORS, ...QUEUES, ...LOOP]),
  emitter: theme([...EMITTER, ...QUEUES, ...LOOP]),
  target: theme([...TARGET, ...QUEUES, ...LOOP]),
  abort: theme([...ABORT, ...QUEUES, ...LOOP]),
  delays: theme([...DELAYS, ...BASE]),
  aborted: theme([...ABORT, ...DELAYS, ...EMITTER, ...ASYNC]),
  errors: theme([...LOOP, ...QUEUES], throwing),
  failures: theme(
    [...BASE, ...weigh(3, ...outside(failures.uncaughtRejection), target.throwingListener, failures.warn)],
    {
      ...throwing,
      setup: (script) => [...failures.catchUncaught(script), ...failures.catchWarnings(script)],
    },
  ),
  rejections: theme([...weigh(6, ...outside(failures.rejection)), ...LOOP, ...QUEUES], {
    setup: failures.watchRejections,
  }),
  fatal: theme([...BASE, ...weigh(2, ...outside(failures.uncaughtRejection), failures.exitCode)], {
    features: ["throws"],
    setup: (script) => [
      ...failures.watchExit(script),
      ...(script.random.chance(25) ? failures.failToCatch(script) : []),
    ],
    end: throwAtEnd,
  }),
  exit: theme([...BASE, ...weigh(3, ...outside(failures.exit), failures.exitCode, handles.unrefTimeout)], {
    setup: failures.watchExit,
    end: unsettled,
  }),
  everything: theme(
    [BASE, PROMISES, HANDLES, ADOPTION, GENERATORS, EMITTER, TARGET, ABORT, DELAYS].flat(),
    { features: ["handles"], setup: failures.watchExit },
  ),
};
