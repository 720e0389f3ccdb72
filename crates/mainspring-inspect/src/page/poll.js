// Asking for news, once a second.

const VERSION = 1;
const EVERY = 1000;
const PATIENCE = 5000;

const choice = byId("loops");
let latest = null;
let received = 0;

function connection(kind, text) {
  const element = byId("connection");
  element.className = kind;
  setText(element, text);
  document.body.classList.toggle("lost", kind === "lost");
}

function showChoice(state) {
  const options = children(choice, state.loops.length, () => document.createElement("option"));
  const wanted = choice.value;
  state.loops.forEach((loop, n) => {
    const ended = loop.state === "terminated" ? " (ended)" : "";
    setText(options[n], loop.name + ended);
    options[n].value = loop.name;
  });
  if (state.loops.some((loop) => loop.name === wanted)) choice.value = wanted;
  setHidden("choice", state.loops.length < 2);
}

function showLatest() {
  if (!latest) return;
  showChoice(latest);
  const name = latest.loops.length === 1 ? ` · ${latest.loops[0].name}` : "";
  setText(byId("program"), `${latest.program} · process ${latest.pid}${name}`);
  document.title = `${latest.program} · mainspring inspector`;
  const loop = latest.loops.find((one) => one.name === choice.value) ?? latest.loops[0];
  if (loop) show(latest, loop);
  else setHidden("main", true);
}

async function ask() {
  const answer = await fetch("/state.json", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  if (!answer.ok) throw new Error(`the answer is ${answer.status}`);
  return answer.json();
}

async function poll() {
  const began = performance.now();
  try {
    const state = await ask();
    if (state.version !== VERSION) {
      connection("lost", "the program has another version: reload this page");
      return;
    }
    latest = state;
    received = performance.now();
    showLatest();
    connection("live", latest.loops.length ? "live" : "live, but no loop is watched");
  } catch (error) {
    if (error instanceof TypeError || error.name === "TimeoutError" || error instanceof SyntaxError) {
      const age = received ? `: figures are ${span((performance.now() - received) / 1000)} old` : "";
      connection("lost", `connection lost, trying again${age}`);
    } else {
      connection("lost", String(error));
      console.error(error);
    }
  }
  setTimeout(next, Math.max(0, EVERY - (performance.now() - began)));
}

// A page that nobody sees does not ask.
function next() {
  if (!document.hidden) poll();
  else document.addEventListener("visibilitychange", next, { once: true });
}

choice.addEventListener("change", showLatest);
addEventListener("resize", showLatest);
poll();
