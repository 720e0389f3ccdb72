"use strict";

// Frames are of the engine, but for those that the cases made up.
const ownFrame = String.raw`(?![^\n]*(?:\b[fgh]\.js|\(y:|loader:1:1))`;
const frame = String.raw`\n\s+(?:at ${ownFrame}[^\n]*?|\.\.\. \d+ lines matching[^\n]*?)(?=(?: \{|,)?(?:\n|$))`;
const frames = new RegExp(`(?:${frame})+`, "g");

function withoutFrames(text) {
  return String(text).replace(frames, "<frames>");
}

function evaluate(code) {
  return (0, eval)(`(${code})`);
}

function show(title, make) {
  let text;
  try {
    text = make();
  } catch (error) {
    text = `threw ${error}`;
  }
  console.log(`--- ${title}\n${withoutFrames(text)}`);
}

module.exports = { evaluate, show, withoutFrames };
