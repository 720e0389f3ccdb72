"use strict";

// Runs a file as the program, as Node decides what it is.

function runMain(path) {
  let main;
  try {
    main = host.resolveMain(path);
  } catch (failure) {
    throw require("internal/cjs_resolve").resolveError(failure);
  }
  if (main.format === "module") runModule(main.url);
  else require("internal/cjs").runMain(main.path);
}

// A module is evaluated in a job of a task of its own, as in Node, so that its immediates come before its timers. If it
// never comes to its end, the exit code says so.
function runModule(url) {
  let isSettled = false;
  require("internal/process").setUnsettledCheck(() => !isSettled);
  function settled() {
    isSettled = true;
  }
  function failed(error) {
    isSettled = true;
    require("internal/esm").explain(error);
    require("internal/uncaught").onUncaught(error, "unhandledRejection");
  }
  // Node takes one job more to hear of an error.
  host.enqueueTask(() => import(url).then().then(settled, failed));
}

// Runs a source that is in no file as a module of the current directory.
function runModuleSource(source, name) {
  runModule(host.defineModule(`${host.cwd()}/${name}`, source));
}

module.exports = { runMain, runModule, runModuleSource };
