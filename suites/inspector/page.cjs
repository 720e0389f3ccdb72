// The page, in Chromium: page.cjs URL SECONDS [DIRECTORY]
// With a directory, there are screenshots, after so many seconds of history.
"use strict";
const { chromium } = require("playwright-core");
const path = require("node:path");

const [url, seconds, directory] = process.argv.slice(2);
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

function check(what, passed, found = "") {
  console.log(passed ? `ok - ${what}` : `not ok - ${what}: ${JSON.stringify(found)}`);
}

// Waits until a condition of the page holds. False if it never does.
async function eventually(page, condition, argument) {
  try {
    await page.waitForFunction(condition, argument, { timeout: 20_000, polling: 100 });
    return true;
  } catch {
    return false;
  }
}

const text = (page, selector) => page.locator(selector).innerText();
const history = (least) => document.querySelectorAll("#utilisation path.line").length > 0
  && document.querySelector("#utilisation path.line").getAttribute("d").split("L").length >= least;

// Runs in the page: the least contrast of any text with what is behind it.
function leastContrast() {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b]
    .map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const color = channels(getComputedStyle(one).backgroundColor);
      if (color[3] !== 0) return color;
    }
    return [255, 255, 255];
  };
  let least = { ratio: 21 };
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const color = element.namespaceURI.endsWith("svg") ? style.fill : style.color;
    const [a, b] = [luminance(channels(color)), luminance(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least.ratio) least = { ratio, text: element.textContent.slice(0, 40) };
  }
  return least;
}

async function looks(page) {
  for (const title of ["Latencies", "Queues", "Phases", "Counts", "What keeps it alive", "Recent stalls"]) {
    check(`there is "${title}"`, (await page.locator("h2", { hasText: title }).count()) === 1);
  }
  const headline = await text(page, "#headline");
  for (const word of ["Utilisation", "Throughput", "Ticks", "Uptime", "State"]) {
    check(`the headline has "${word}"`, headline.includes(word), headline);
  }
  check("utilisation is a percentage", /\d %/.test(headline), headline);
  const counts = await text(page, "#counts");
  for (const word of ["timers", "descriptors", "futures", "jobs", "wakes elided", "panics"]) {
    check(`the counts have "${word}"`, counts.includes(word), counts);
  }
  const latencies = await text(page, "#latencies");
  check("latencies have units", /\d (ns|µs|ms|s)\b/.test(latencies), latencies);
  check("there is a row for each queue", (await page.locator("#queues tbody tr").count()) === 7);
  check("there is a row for each phase", (await page.locator("#work tbody tr").count()) === 10);
  // Not at each look of the page is all of it under way.
  const shown = await eventually(page, () => {
    const alive = document.querySelector("#alive").innerText;
    return /timer/.test(alive) && /\d × a future/.test(alive) && /inspector\.rs:\d+/.test(alive);
  });
  check("it is said what keeps the loop alive, and where that was made", shown, await text(page, "#alive"));
  const stalled = await eventually(page, () => /inspector\.rs:\d+/.test(document.querySelector("#stalls").innerText));
  check("stalls have a place", stalled, await text(page, "#stalls"));
  check("the status is live", (await text(page, "#connection")) === "live");
}

async function draws(page) {
  check("there are samples of some seconds", await eventually(page, history, 4));
  const paths = (selector) => page.locator(selector).evaluateAll((all) => all.map((one) => one.getAttribute("d")));
  for (const [id, kind, least] of [
    ["utilisation", "line", 1], ["throughput", "line", 1], ["ticks", "line", 3], ["phases", "band", 3],
  ]) {
    const found = await paths(`#${id} path.${kind}`);
    const heights = new Set(found.flatMap((d) => [...d.matchAll(/,([\d.]+)/g)].map((match) => match[1])));
    check(`the chart "${id}" has ${least} or more shapes`, found.length >= least, found.length);
    check(`the chart "${id}" is not flat`, heights.size > 2, [...heights]);
    check(`the chart "${id}" has numbers only`, !found.join("").includes("NaN"), found);
  }
  check("queues have small charts", (await paths("#queues path.line")).every((d) => d.length > 10));
  const label = await page.locator("#utilisation > svg").getAttribute("aria-label");
  check("charts can be read aloud", /Utilisation.*busy .*%/.test(label), label);
  await page.hover("#throughput > svg");
  check("the pointer chooses a second", await eventually(page, () => /s ago/.test(document.querySelector("#throughput figcaption").innerText)));
  await page.mouse.move(0, 0);
}

async function updates(page, asked) {
  const ticks = () => page.locator("#headline dd").nth(2).innerText();
  const [before, count] = [await ticks(), asked.length];
  const began = Date.now();
  const changed = await eventually(page, (old) => document.querySelectorAll("#headline dd")[2].innerText !== old, before);
  const middle = await ticks();
  const again = await eventually(page, (old) => document.querySelectorAll("#headline dd")[2].innerText !== old, middle);
  check("figures change, and again", changed && again, [before, middle]);
  await page.waitForTimeout(Math.max(0, 4000 - (Date.now() - began)));
  const rate = (asked.length - count) / ((Date.now() - began) / 1000);
  check("it asks about once a second", rate > 0.6 && rate < 1.4, rate);
}

async function chooses(page) {
  check("both loops can be chosen", (await page.locator("#loops option").allInnerTexts()).join() === "main,background");
  await page.selectOption("#loops", "background");
  const alone = () => document.querySelectorAll("#alive tbody tr").length === 1;
  check("the other loop is shown", await eventually(page, alone), await text(page, "#alive"));
  await page.selectOption("#loops", "main");
}

// Has the server say something else.
async function pretend(page, change, then) {
  await page.route("**/state.json", async (route) => {
    const answer = await route.fetch();
    const state = await answer.json();
    change(state);
    await route.fulfill({ json: state });
  });
  await then();
  await page.unroute("**/state.json");
}

async function surprises(page) {
  const markup = '<img src=x onerror="document.title=1">';
  await pretend(page, (state) => {
    const loop = state.loops[0];
    loop.name = markup;
    state.program = markup;
    loop.why_alive.reasons = [{ kind: markup, text: markup, place: markup }];
    loop.stalls = [{ phase: markup, place: markup, age: 1, duration: 3.2, is_over: false }];
    loop.busy = loop.stalls[0];
  }, async () => {
    await page.selectOption("#loops", { index: 0 });
    const shown = await eventually(page, (name) => document.querySelector("#alive").innerText.includes(name), markup);
    check("what a program says is shown as text", shown);
    check("and is not made into elements", (await page.locator("img").count()) === 0);
    const notice = await text(page, "#notice");
    check("a loop that is stuck is said to be", notice.startsWith("Busy for 3.20 s in phase <img"), notice);
  });
  await pretend(page, (state) => {
    state.loops = [{ ...state.loops[0], metrics: null, busy: null, history: [], stalls: [] }];
  }, async () => {
    const told = await eventually(page, () => document.querySelector("#notice").innerText.includes("Builder::metrics(true)"));
    check("a loop without metrics says what to do", told);
    check("and has no empty charts", !(await page.locator("#figures").isVisible()));
  });
  check("everything comes back", await eventually(page, () => document.querySelector("#notice").hidden));
}

async function losesConnection(page) {
  await page.route("**/state.json", (route) => route.abort());
  const lost = await eventually(page, () => document.querySelector("#connection").innerText.startsWith("connection lost"));
  check("a lost connection is shown", lost);
  const old = await eventually(page, () => /figures are [2-9] s old/.test(document.querySelector("#connection").innerText));
  check("and how old the figures are", old, await text(page, "#connection"));
  await page.unroute("**/state.json");
  check("it recovers by itself", await eventually(page, () => document.querySelector("#connection").innerText === "live"));
}

async function fits(page) {
  for (const width of [1280, 800, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(200);
    const found = await page.evaluate(() => document.documentElement.scrollWidth);
    check(`it fits into ${width} pixels`, found <= width, found);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

async function main() {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: "light" });
  const errors = [];
  const elsewhere = [];
  const asked = [];
  let isExpected = false;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !isExpected) errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    if (request.url().endsWith("/state.json")) asked.push(request);
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) elsewhere.push(request.url());
  });

  const answer = await page.goto(url);
  check("the page is there", answer.status() === 200, answer.status());
  await draws(page);
  await looks(page);
  await updates(page, asked);
  await chooses(page);
  await fits(page);

  const backgrounds = [];
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.waitForTimeout(200);
    backgrounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    const least = await page.evaluate(leastContrast);
    check(`everything can be read when it is ${colorScheme}`, least.ratio >= 4.5, least);
  }
  check("light and dark differ", backgrounds[0] !== backgrounds[1], backgrounds);
  await page.emulateMedia({ colorScheme: "light" });
  await surprises(page);
  isExpected = true; // Chromium itself tells of requests that fail
  await losesConnection(page);
  isExpected = false;

  if (directory) {
    await page.waitForFunction(history, Math.min(118, Number(seconds)), { timeout: 240_000, polling: 500 });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(1500);
      await page.screenshot({ path: path.join(directory, `inspector-${colorScheme}.png`), fullPage: true });
    }
    await page.setViewportSize({ width: 390, height: 900 });
    await page.waitForTimeout(1500);
    await page.screenshot({ path: path.join(directory, "inspector-narrow.png"), fullPage: true });
  }
  check("there was no error in the console", errors.length === 0, errors);
  check("nothing was asked from elsewhere", elsewhere.length === 0, elsewhere);
  await browser.close();
  console.log("end of page");
}

main().catch((error) => {
  console.log(`not ok - the script failed: ${error.stack}`);
  process.exit(1);
});
