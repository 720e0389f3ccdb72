// What is shown of a loop.

const PHASE_COLORS = [
  "--c-blue", "--c-grey", "--c-pink", "--c-red", "--c-yellow",
  "--c-orange", "--c-sky", "--c-green", "--c-brown", "--c-dark",
];

const byId = (id) => document.getElementById(id);

const charts = {
  utilisation: new Chart("utilisation", "Utilisation", { filled: true }),
  throughput: new Chart("throughput", "Callbacks per second", { filled: true }),
  ticks: new Chart("ticks", "Duration of ticks"),
  phases: new Chart("phases", "Share of time by phase", { stacked: true }),
};

// Everything from the program gets into the page as text, never as markup.
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function setHidden(id, isHidden) {
  byId(id).hidden = isHidden;
}

// Makes as many children as needed, and keeps those that are there: a selection survives.
function children(parent, number, make) {
  while (parent.children.length > number) parent.lastElementChild.remove();
  while (parent.children.length < number) parent.append(make());
  return [...parent.children];
}

function make(tag, ...inside) {
  const element = document.createElement(tag);
  element.append(...inside);
  return element;
}

// columns: { title, left, wide, spark }; rows: arrays of text. The first cell of a row is its header.
function table(id, columns, rows) {
  const element = byId(id);
  if (!element.tHead) {
    const titles = columns.map((column) => {
      const cell = make("th", column.title);
      cell.scope = "col";
      if (column.left) cell.className = "left";
      return cell;
    });
    element.append(make("thead", make("tr", ...titles)), make("tbody"));
  }
  element.hidden = rows.length === 0;
  const makeRow = () => make("tr", ...columns.map((column, n) => {
    const cell = document.createElement(n === 0 ? "th" : "td");
    if (n === 0) cell.scope = "row";
    if (column.left) cell.classList.add("left");
    if (column.wide) cell.classList.add("wide");
    if (column.spark) cell.append(svg("svg", { role: "img" }));
    return cell;
  }));
  children(element.tBodies[0], rows.length, makeRow).forEach((row, n) => {
    columns.forEach((column, m) => {
      const cell = row.children[m];
      if (column.spark) {
        spark(cell.firstElementChild, rows[n][m]);
        const most = Math.max(0, ...rows[n][m]);
        cell.firstElementChild.setAttribute("aria-label", `${most} at the most in the last two minutes`);
      } else setText(cell, rows[n][m]);
    });
  });
}

// entries: [term, value, whether it is bad].
function list(id, entries) {
  const makeEntry = () => make("div", make("dt"), make("dd"));
  children(byId(id), entries.length, makeEntry).forEach((entry, n) => {
    const [term, value, isBad] = entries[n];
    setText(entry.children[0], term);
    setText(entry.children[1], value);
    entry.children[1].classList.toggle("bad", Boolean(isBad));
  });
}

function showHeadline(loop) {
  const { metrics, history } = loop;
  const entries = [["State", loop.state, loop.busy !== null]];
  if (metrics) {
    const last = history.at(-1);
    entries.unshift(
      ["Utilisation", percent(last ? last.utilisation : metrics.utilisation)],
      ["Throughput", rate(metrics.throughput)],
      ["Ticks", count(metrics.ticks)],
      ["Uptime", span(metrics.uptime)],
    );
  }
  list("headline", entries);
}

function showNotice(loop) {
  const { busy, why_alive: why } = loop;
  let text = "";
  if (busy) {
    text = `Busy for ${duration(busy.duration)} in phase ${busy.phase}`;
    text += busy.place ? `, with a callback that was scheduled at ${busy.place}.` : ".";
  } else if (!loop.metrics) {
    text = "This loop was built without metrics. With Builder::metrics(true) there are figures here.";
  } else if (why.unanswered > 1 && loop.state !== "terminated") {
    text = `The loop has not answered for ${duration(why.unanswered)}: it is busy, or nobody drives it.`;
  } else if (loop.state === "terminated") {
    text = "This loop has ended. These are its last figures.";
  }
  setText(byId("notice"), text);
  setHidden("notice", text === "");
}

function showCharts(state, loop) {
  const { history } = loop;
  const times = history.map((sample) => sample.at);
  const of = (key) => history.map((sample) => sample[key]);
  const show = (chart, lines, scale) => charts[chart].show(state.time, times, lines, scale);

  show("utilisation", [{ name: "busy", color: "--c-blue", values: of("utilisation") }], linear(1, percent));

  const throughput = of("throughput");
  const line = { name: "callbacks", color: "--c-green", values: throughput };
  show("throughput", [line], linear(Math.max(1, ...throughput), rate));

  const ticks = [
    { name: "mean of the second", color: "--c-green", values: of("tick_mean") },
    { name: "p50 overall", color: "--c-blue", dash: "6 4", values: of("tick_p50") },
    { name: "p99 overall", color: "--c-red", dash: "1.5 4", values: of("tick_p99") },
  ];
  show("ticks", ticks, logarithmic(ticks.flatMap(({ values }) => values), duration));

  const phases = state.phases.map((name, n) => {
    return { name, color: PHASE_COLORS[n], values: history.map((sample) => sample.phases[n]) };
  }).filter(({ values }) => values.some((value) => value > 0.0005));
  const sums = times.map((_, n) => phases.reduce((sum, { values }) => sum + values[n], 0));
  show("phases", phases, linear(Math.min(1, Math.max(0.01, ...sums)), percent));
}

function showTables(loop) {
  const { metrics, history } = loop;
  const latency = (name, l) => {
    const quantiles = [l.mean, l.p50, l.p90, l.p95, l.p99, l.max];
    return [name, count(l.count), ...quantiles.map((value) => (l.count ? duration(value) : NONE))];
  };
  const waits = metrics.queues.filter((queue) => queue.wait.count > 0);
  table("latencies", [
    { title: "", left: true }, { title: "measured" }, { title: "mean" }, { title: "p50" },
    { title: "p90" }, { title: "p95" }, { title: "p99" }, { title: "max" },
  ], [
    latency("tick", metrics.tick),
    latency("run of a callback", metrics.run),
    latency("lateness of timers", metrics.lateness),
    ...waits.map((queue) => latency(`wait in ${queue.name}`, queue.wait)),
  ]);

  table("queues", [
    { title: "queue", left: true }, { title: "now" }, { title: "average" }, { title: "most" },
    { title: "last two minutes", spark: true },
  ], metrics.queues.map((queue, n) => [
    queue.name, count(queue.current), queue.average.toFixed(1), count(queue.max),
    history.map((sample) => sample.queues[n]),
  ]));

  const share = (time) => percent(metrics.busy > 0 ? Math.min(1, time / metrics.busy) : 0);
  table("work", [
    { title: "phase", left: true }, { title: "callbacks" }, { title: "time" }, { title: "of busy time" },
  ], metrics.phases.map((phase) => [
    phase.name, count(phase.callbacks), duration(phase.time), share(phase.time),
  ]));
}

function showCounts({ metrics }) {
  const bad = (name, number) => [name, count(number), number > 0];
  list("counts", [
    ["timers", count(metrics.timers)],
    ["descriptors", count(metrics.fds)],
    ["futures", count(metrics.futures)],
    ["jobs", count(metrics.jobs)],
    ["callbacks", count(metrics.callbacks)],
    ["wakes issued", count(metrics.wakes_issued)],
    ["wakes elided", count(metrics.wakes_elided)],
    bad("stalls", metrics.stalls),
    bad("refusals", metrics.refusals),
    bad("overloads", metrics.overloads),
    bad("budget breaches", metrics.budget_breaches),
    bad("panics", metrics.panics),
  ]);
}

function showAlive(loop) {
  const why = loop.why_alive;
  const times = new Map();
  for (const { kind, text } of why.reasons) {
    const key = JSON.stringify([kind, text]);
    times.set(key, (times.get(key) ?? 0) + 1);
  }
  const rows = [...times].map(([key, number]) => {
    const [kind, text] = JSON.parse(key);
    return [kind, number > 1 ? `${count(number)} × ${text}` : text];
  });
  if (why.more) rows.push(["", `and ${count(why.more)} more`]);
  table("alive", [{ title: "kind", left: true }, { title: "reason", left: true, wide: true }], rows);
  let age = why.age > 2 ? `as of ${duration(why.age)} ago` : "";
  if (why.age === null && why.unanswered !== null) age = "not answered yet";
  setText(byId("alive-age"), age);
  const ended = loop.state === "terminated";
  setText(byId("alive-none"), ended ? "The loop has ended." : "Nothing: it is idle.");
  setHidden("alive-none", rows.length > 0 || (why.age === null && !ended));
}

function showStalls(loop) {
  table("stalls", [
    { title: "began", left: true }, { title: "duration" }, { title: "phase", left: true },
    { title: "scheduled at", left: true, wide: true },
  ], loop.stalls.map((stall) => [
    `${span(stall.age)} ago`, duration(stall.duration) + (stall.is_over ? "" : " so far"), stall.phase,
    stall.place ?? NONE,
  ]));
  setText(byId("stalls-none"), "None. They are noted if the loop has a Builder::stall_threshold.");
  setHidden("stalls-none", loop.stalls.length > 0);
}

function show(state, loop) {
  setHidden("main", false);
  showHeadline(loop);
  showNotice(loop);
  setHidden("figures", !loop.metrics);
  if (loop.metrics) {
    showCharts(state, loop);
    showTables(loop);
    showCounts(loop);
  }
  showAlive(loop);
  showStalls(loop);
}

