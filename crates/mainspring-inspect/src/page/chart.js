// Charts of the last two minutes, as SVG.

const SPAN = 120;
const HEIGHT = 150;
const EDGE = { left: 58, right: 8, top: 6, bottom: 18 };

function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// From zero to a round number, with the values that get a line.
function linear(top, format) {
  const raw = top / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.999);
  const steps = Math.max(1, Math.ceil(top / step - 1e-9));
  const marks = Array.from({ length: steps + 1 }, (_, n) => n * step);
  return { marks, format, at: (value) => value / (steps * step) };
}

// From one power of ten to another.
function logarithmic(values, format) {
  const known = values.filter((value) => value > 0);
  const least = known.length ? Math.min(...known) : 1e-6;
  const most = known.length ? Math.max(...known) : 1e-3;
  const from = Math.floor(Math.log10(least) + 1e-9);
  const to = Math.max(from + 1, Math.ceil(Math.log10(most) - 1e-9));
  const marks = Array.from({ length: to - from + 1 }, (_, n) => 10 ** (from + n));
  const at = (value) => Math.max(0, (Math.log10(Math.max(value, 1e-12)) - from) / (to - from));
  return { marks, format, at };
}

class Chart {
  // lines: { name, color, dash }; options: { stacked, filled }.
  constructor(id, title, options = {}) {
    this.figure = document.getElementById(id);
    this.title = title;
    this.options = options;
    this.caption = document.createElement("figcaption");
    this.image = svg("svg", { role: "img" });
    this.figure.append(this.caption, this.image);
    this.pointer = null;
    this.image.addEventListener("pointermove", (event) => {
      this.pointer = event.offsetX;
      this.draw();
    });
    this.image.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.draw();
    });
  }

  // times: of the samples; lines: { name, color, dash, values }, where null is a gap.
  show(now, times, lines, scale) {
    this.data = { now, times, lines, scale };
    this.draw();
  }

  draw() {
    if (!this.data) return;
    const { now, times, lines, scale } = this.data;
    const width = this.figure.clientWidth - 32;
    if (width <= 0) return;
    const inner = { width: width - EDGE.left - EDGE.right, height: HEIGHT - EDGE.top - EDGE.bottom };
    const x = (time) => EDGE.left + inner.width * Math.max(0, 1 - (now - time) / SPAN);
    const y = (value) => EDGE.top + inner.height * (1 - Math.min(1, scale.at(value)));
    this.image.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const parts = this.frame(width, x, y, now, scale);

    const tops = times.map(() => 0);
    for (const line of lines) {
      const bottoms = [...tops];
      if (this.options.stacked) line.values.forEach((value, n) => (tops[n] += value));
      const values = this.options.stacked ? tops : line.values;
      for (const run of runs(times, values)) {
        const points = run.map((n) => `${x(times[n]).toFixed(1)},${y(values[n]).toFixed(1)}`);
        const back = run.toReversed().map((n) => {
          return `${x(times[n]).toFixed(1)},${y(this.options.stacked ? bottoms[n] : 0).toFixed(1)}`;
        });
        const area = `M${points.join("L")}L${back.join("L")}Z`;
        if (this.options.stacked) {
          parts.push(svg("path", { d: area, class: "band", fill: `var(${line.color})` }));
          continue;
        }
        if (this.options.filled) {
          parts.push(svg("path", { d: area, class: "under", fill: `var(${line.color})` }));
        }
        const attributes = { d: `M${points.join("L")}`, class: "line", stroke: `var(${line.color})` };
        if (line.dash) attributes["stroke-dasharray"] = line.dash;
        parts.push(svg("path", attributes));
      }
    }

    let chosen = times.length - 1;
    if (this.pointer !== null && times.length) {
      const near = (n) => Math.abs(x(times[n]) - this.pointer);
      chosen = times.reduce((best, _, n) => (near(n) < near(best) ? n : best), 0);
      const at = x(times[chosen]).toFixed(1);
      parts.push(svg("line", { x1: at, x2: at, y1: EDGE.top, y2: HEIGHT - EDGE.bottom, class: "cross" }));
    }
    this.image.replaceChildren(...parts);
    this.explain(now, times, lines, scale, chosen);
  }

  // The lines behind everything, and what they stand for.
  frame(width, x, y, now, scale) {
    const parts = [];
    for (const mark of scale.marks) {
      const at = y(mark).toFixed(1);
      parts.push(svg("line", { x1: EDGE.left, x2: width - EDGE.right, y1: at, y2: at, class: "grid" }));
      const place = { x: EDGE.left - 8, y: at, "text-anchor": "end", "dominant-baseline": "central" };
      parts.push(svg("text", place, brief(scale.format(mark))));
    }
    for (const ago of [120, 90, 60, 30, 0]) {
      const anchor = ago === 0 ? "end" : ago === SPAN ? "start" : "middle";
      const place = { x: x(now - ago).toFixed(1), y: HEIGHT - 4, "text-anchor": anchor };
      parts.push(svg("text", place, ago === 0 ? "now" : `−${ago} s`));
    }
    return parts;
  }

  // The title and the key, with the values at the pointer or, without one, the latest ones.
  explain(now, times, lines, scale, chosen) {
    const title = document.createElement("b");
    title.textContent = this.title;
    title.classList.toggle("alone", lines.length > 2);
    if (this.pointer !== null && times.length) {
      const when = document.createElement("small");
      when.textContent = ` ${Math.round(now - times[chosen])} s ago`;
      title.append(when);
    }
    const said = [];
    const keys = lines.map((line) => {
      const key = document.createElement("span");
      key.className = "key";
      key.append(swatch(line, this.options.stacked));
      const name = document.createElement("span");
      name.textContent = line.name;
      const value = line.values[chosen];
      const shown = value === null || value === undefined ? NONE : scale.format(value);
      key.append(name, shown);
      said.push(`${line.name} ${shown}`);
      return key;
    });
    this.caption.replaceChildren(title, ...keys);
    this.image.setAttribute("aria-label", `${this.title}, chart of the last two minutes: ${said.join(", ")}`);
  }
}

function swatch(line, isArea) {
  const color = `var(${line.color})`;
  const image = svg("svg", { width: 16, height: 10, "aria-hidden": "true" });
  if (isArea) image.append(svg("rect", { width: 10, x: 3, height: 10, rx: 2, fill: color }));
  else {
    const attributes = { x1: 0, x2: 16, y1: 5, y2: 5, stroke: color, "stroke-width": 2.4 };
    if (line.dash) attributes["stroke-dasharray"] = line.dash;
    image.append(svg("line", attributes));
  }
  return image;
}

// The indices of values that hang together: there is a gap where one is missing, or seconds are.
function runs(times, values) {
  const found = [];
  let run = [];
  times.forEach((time, n) => {
    if (run.length && (values[n] === null || time - times[n - 1] > 3)) {
      found.push(run);
      run = [];
    }
    if (values[n] !== null) run.push(n);
  });
  if (run.length) found.push(run);
  return found;
}

// A chart for a cell of a table.
function spark(image, values) {
  const most = Math.max(1, ...values);
  const points = values.map((value, n) => {
    const x = 112 * (1 - (values.length - 1 - n) / SPAN);
    return `${x.toFixed(1)},${(19 - 18 * (value / most)).toFixed(1)}`;
  });
  image.setAttribute("viewBox", "0 0 112 20");
  const d = points.length ? `M${points.join("L")}` : "";
  image.replaceChildren(svg("path", { d, class: "line", stroke: "var(--c-blue)" }));
}

