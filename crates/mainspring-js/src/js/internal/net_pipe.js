"use strict";

const { codeError } = require("internal/errors");

// Writes everything that comes from a stream to another, no faster than that takes it.
function pipe(source, target, options) {
  const { pipes } = source._readableState;
  const endsTarget = options?.end !== false && !target._isStdio;
  const onData = (chunk) => {
    if (target.write(chunk) === false) source.pause();
  };
  const onDrain = () => {
    if (source.isPaused()) source.resume();
  };
  const onEnd = () => target.end();
  const onError = (error) => {
    stop();
    if (target.listenerCount("error") === 0) throw error;
  };
  function stop() {
    const index = pipes.findIndex((one) => one.stop === stop);
    if (index < 0) return;
    pipes.splice(index, 1);
    source.removeListener("data", onData).removeListener("end", onEnd).removeListener("end", stop);
    target.removeListener("drain", onDrain).removeListener("error", onError);
    target.removeListener("close", stop).removeListener("finish", stop);
    if (pipes.length === 0 && source.listenerCount("data") === 0) source.pause();
    target.emit("unpipe", source, { hasUnpiped: false });
  }
  pipes.push({ target, stop });
  source.on("end", endsTarget ? onEnd : stop);
  target.on("drain", onDrain).on("close", stop).on("finish", stop);
  target.prependListener("error", onError);
  target.emit("pipe", source);
  source.on("data", onData);
  if (target.writableNeedDrain) source.pause();
  return target;
}

// For `for await`. The stream is destroyed at the end of the loop, however it comes.
async function* iterate(stream) {
  let wake = null;
  let error;
  let isOver = stream.readableEnded;
  const next = () => {
    wake?.();
    wake = null;
  };
  const finish = (reason) => {
    if (isOver) return;
    isOver = true;
    error = reason;
    next();
  };
  const onClose = () => finish(codeError(Error, "ERR_STREAM_PREMATURE_CLOSE", "Premature close"));
  const onEnd = () => finish();
  stream.on("readable", next).on("end", onEnd).on("error", finish).on("close", onClose);
  if (stream.destroyed && !isOver) onClose();
  try {
    for (;;) {
      const chunk = stream.destroyed ? null : stream.read();
      if (chunk !== null) yield chunk;
      else if (error) throw error;
      else if (isOver) return;
      else await new Promise((resolve) => { wake = resolve; });
    }
  } finally {
    stream.removeListener("readable", next).removeListener("end", onEnd);
    stream.removeListener("close", onClose);
    if (!error) stream.removeListener("error", finish);
    stream.destroy();
  }
}

module.exports = { iterate, pipe };
