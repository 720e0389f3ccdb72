"use strict";

const { stringWidth } = require("internal/string_width");

// Lists of more than six short entries become columns; numbers are aligned to the right.
function inColumns(ctx, output, value) {
  const hasRest = ctx.maxArrayLength < output.length;
  const entries = hasRest ? output.slice(0, -1) : output;
  const widths = entries.map((entry) => stringWidth(entry));
  let total = 0;
  let longest = 0;
  for (const size of widths) {
    total += size + 2;
    if (size > longest) longest = size;
  }
  const column = longest + 2;
  if (column * 3 + ctx.indent >= ctx.breakLength || (total / column <= 5 && longest > 6)) return output;
  // Aims at a block about two and a half times as wide as high, with slightly uneven entries allowed for.
  const typical = Math.max(column - 3 - Math.sqrt(column - total / output.length), 1);
  const columns = Math.min(
    Math.round(Math.sqrt(2.5 * typical * entries.length) / typical),
    Math.floor((ctx.breakLength - ctx.indent) / column),
    ctx.compact * 4,
    15,
  );
  if (columns <= 1) return output;
  const columnWidths = [];
  for (let index = 0; index < widths.length; index++) {
    columnWidths[index % columns] = Math.max(columnWidths[index % columns] ?? 0, widths[index]);
  }
  let toRight = value !== undefined;
  for (let index = 0; toRight && index < output.length; index++) {
    toRight = typeof value[index] === "number" || typeof value[index] === "bigint";
  }
  const rows = [];
  for (let start = 0; start < entries.length; start += columns) {
    const end = Math.min(start + columns, entries.length);
    let row = "";
    for (let index = start; index < end; index++) {
      const space = " ".repeat(columnWidths[index - start] - widths[index]);
      const isLast = index === end - 1;
      if (toRight) row += space + entries[index] + (isLast ? "" : ", ");
      else row += entries[index] + (isLast ? "" : `, ${space}`);
    }
    rows.push(row);
  }
  if (hasRest) rows.push(output.at(-1));
  return rows;
}

module.exports = { inColumns };
