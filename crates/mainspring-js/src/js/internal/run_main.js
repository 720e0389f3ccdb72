"use strict";

// Runs a file as the program, as Node decides what it is.

function runMain(path) {
  let main;
  try {
    main = host.resolveMain(path);
  } catch (failure) {
    throw require("internal/cjs").resolveError(failure);
  }
  if (main.format === "module") runModule(main.url);
  else require("internal/cjs").runMain(main.path);
}

// A module is evaluated in a job of its own. If it never comes to its end, the process says so by its exit code.
function runModule(url) {
  let isSettled = false;
  require("internal/process").setUnsettledCheck(() => !isSettled);
  import(url).then(
    () => {
      isSettled = true;
    },
    (error) => {
      isSettled = true;
      require("internal/uncaught").onUncaught(error, "unhandledRejection");
    },
  );
}

module.exports = { runMain, runModule };
