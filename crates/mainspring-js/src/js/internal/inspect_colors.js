"use strict";

// The codes that begin and end a colour or style.
const colors = { __proto__: null };

function addColors(names, open, close) {
  for (const name of names.split(" ")) colors[name] = [open++, close];
}

colors.reset = [0, 0];
addColors("bold dim", 1, 22);
colors.italic = [3, 23];
colors.underline = [4, 24];
colors.blink = [5, 25];
colors.inverse = [7, 27];
colors.hidden = [8, 28];
colors.strikethrough = [9, 29];
colors.doubleunderline = [21, 24];
const hues = "Red Green Yellow Blue Magenta Cyan White";
addColors(`black ${hues.toLowerCase()}`, 30, 39);
addColors(`bgBlack ${hues.replace(/\w+/g, "bg$&")}`, 40, 49);
colors.framed = [51, 54];
colors.overlined = [53, 55];
addColors(`gray ${hues.toLowerCase().replace(/\w+/g, "$&Bright")}`, 90, 39);
addColors(`bgGray ${hues.replace(/\w+/g, "bg$&Bright")}`, 100, 49);

const aliases = {
  grey: "gray",
  blackBright: "gray",
  bgGrey: "bgGray",
  bgBlackBright: "bgGray",
  faint: "dim",
  crossedout: "strikethrough",
  strikeThrough: "strikethrough",
  crossedOut: "strikethrough",
  conceal: "hidden",
  swapColors: "inverse",
  swapcolors: "inverse",
  doubleUnderline: "doubleunderline",
};
for (const [alias, name] of Object.entries(aliases)) {
  Object.defineProperty(colors, alias, {
    get() {
      return this[name];
    },
    set(value) {
      this[name] = value;
    },
    configurable: true,
    enumerable: false,
  });
}

const styles = Object.assign(Object.create(null), {
  special: "cyan",
  number: "yellow",
  bigint: "yellow",
  boolean: "yellow",
  undefined: "grey",
  null: "bold",
  string: "green",
  symbol: "green",
  date: "magenta",
  regexp: "red",
  module: "underline",
});

module.exports = { colors, styles };
