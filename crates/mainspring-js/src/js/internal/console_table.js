"use strict";

const { inspect } = require("internal/inspect");
const { stringWidth } = require("internal/string_width");

function draw(columns) {
  const widths = columns.map((cells) => cells.reduce((width, cell) => Math.max(width, stringWidth(cell)), 0));
  const lines = widths.map((width) => "─".repeat(width + 2));
  const rule = (left, middle, right) => left + lines.join(middle) + right;
  const row = (index) => {
    const cells = columns.map((column, at) => {
      const cell = column[index];
      return ` ${cell}${" ".repeat(widths[at] - stringWidth(cell))} `;
    });
    return `│${cells.join("│")}│`;
  };
  const drawn = [rule("┌", "┬", "┐"), row(0), rule("├", "┼", "┤")];
  for (let index = 1; index < columns[0].length; index++) drawn.push(row(index));
  drawn.push(rule("└", "┴", "┘"));
  return drawn.join("\n");
}

/** The table of an object's members, of a Map or of a Set; of the given properties only, if there are any. */
function table(data, properties, options) {
  if (properties !== undefined && !Array.isArray(properties)) {
    throw require("internal/errors").invalidArgType("properties", "Array", properties);
  }
  const show = (value) => {
    const isLarge =
      value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length > 2;
    return inspect(value, { maxArrayLength: 3, breakLength: Infinity, ...options, depth: isLarge ? -1 : 0 });
  };
  const kind = host.details(data)?.[0];
  if (kind === "Map" || kind === "Set") {
    const { entries: list } = kind === "Map" ? Map.prototype : Set.prototype;
    const entries = [...list.call(data)];
    const columns = [["(iteration index)", ...entries.map((entry, index) => show(index))]];
    if (kind === "Map") columns.push(["Key", ...entries.map(([key]) => show(key))]);
    columns.push(["Values", ...entries.map(([, value]) => show(value))]);
    return draw(columns);
  }

  const rows = Object.keys(data);
  // Keyed by name, so that numbers come first.
  const columns = {};
  const values = [];
  rows.forEach((name, index) => {
    const item = data[name];
    const isPrimitive = item === null || (typeof item !== "object" && typeof item !== "function");
    if (isPrimitive && properties === undefined) {
      values[index] = show(item);
      return;
    }
    for (const key of properties ?? Object.keys(item)) {
      columns[key] ??= [];
      if (!isPrimitive && Object.hasOwn(item, key)) columns[key][index] = show(item[key]);
    }
  });
  const fill = (cells) => Array.from(rows, (name, index) => cells[index] ?? "");
  const drawn = [["(index)", ...rows]];
  for (const [key, cells] of Object.entries(columns)) drawn.push([key, ...fill(cells)]);
  if (values.length > 0) drawn.push(["Values", ...fill(values)]);
  return draw(drawn);
}

module.exports = { table };
