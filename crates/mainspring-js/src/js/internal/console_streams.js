"use strict";

const { codeError, invalidArgType, invalidArgValue, validateInteger } = require("internal/errors");

const noop = () => {};

function checkStream(stream, name) {
  if (stream === null || typeof stream !== "object" || typeof stream.write !== "function") {
    const message = `Console expects a writable stream instance for ${name}`;
    throw codeError(TypeError, "ERR_CONSOLE_WRITABLE_STREAM", message);
  }
}

function checkOptions(inspectOptions, colorMode) {
  if (inspectOptions === null || typeof inspectOptions !== "object") {
    throw invalidArgType("options.inspectOptions", "object", inspectOptions);
  }
  if (inspectOptions.colors !== undefined && colorMode !== undefined) {
    const message =
      'Option "options.inspectOptions.color" cannot be used in combination with option "colorMode"';
    throw codeError(TypeError, "ERR_INCOMPATIBLE_OPTION_PAIR", message);
  }
}

// Where a console of the script's own writes to.
function open(options, stderr, ignoresErrors) {
  if (!options || typeof options.write === "function") {
    options = { stdout: options, stderr, ignoreErrors: ignoresErrors };
  }
  const { stdout, ignoreErrors = true, colorMode, inspectOptions, groupIndentation = 2 } = options;
  const streams = [stdout, options.stderr || stdout];
  checkStream(streams[0], "stdout");
  checkStream(streams[1], "stderr");
  if (![undefined, "auto", true, false].includes(colorMode)) {
    throw invalidArgValue("colorMode", colorMode, "must be one of: 'auto', true, false");
  }
  validateInteger(groupIndentation, "groupIndentation", 0, 1000);
  if (inspectOptions !== undefined) checkOptions(inspectOptions, colorMode);

  return {
    indent: "",
    indentWidth: groupIndentation,

    stream: (isError) => streams[Number(isError)],

    write(isError, text) {
      const stream = streams[Number(isError)];
      if (!ignoreErrors) {
        stream.write(text);
        return;
      }
      const isEmitter = typeof stream.once === "function" && typeof stream.removeListener === "function";
      try {
        if (isEmitter) stream.once("error", noop);
        // An error may also come later.
        stream.write(text, (error) => {
          if (error && isEmitter) stream.once("error", noop);
        });
      } catch (error) {
        if (error instanceof RangeError && /stack/.test(error.message)) throw error;
      } finally {
        if (isEmitter) stream.removeListener("error", noop);
      }
    },

    hasColors(isError) {
      if (inspectOptions?.colors !== undefined) return inspectOptions.colors;
      if (typeof colorMode === "boolean") return colorMode;
      const stream = streams[Number(isError)];
      const isTTY = Boolean(stream.isTTY);
      if (typeof stream.getColorDepth === "function") return isTTY && stream.getColorDepth() > 2;
      // What the environment says is about the streams of the process.
      const isOwn = Object.values(require("internal/stdio")).includes(stream);
      return isOwn ? require("internal/colors").wantsColors(isTTY) : isTTY;
    },

    inspectOptions(isError) {
      return { ...inspectOptions, colors: this.hasColors(isError) };
    },
  };
}

module.exports = { open };
