// Figures for people.

const NONE = "–";

function digits(value) {
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value.toFixed(2);
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds === 0) return "0";
  if (seconds < 0.9995e-6) return `${(seconds * 1e9).toFixed(0)} ns`;
  if (seconds < 0.9995e-3) return `${digits(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${digits(seconds * 1e3)} ms`;
  if (seconds < 60) return `${digits(seconds)} s`;
  return span(seconds);
}

// A long time, in whole units.
function span(seconds) {
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

function count(number) {
  if (number < 1e5) return Math.round(number).toLocaleString("en").replaceAll(",", "\u202f");
  if (number < 1e6) return `${digits(number / 1e3)} k`;
  if (number < 1e9) return `${digits(number / 1e6)} M`;
  return `${digits(number / 1e9)} G`;
}

function rate(perSecond) {
  if (perSecond === 0) return "0 /s";
  if (perSecond < 10) return `${perSecond.toFixed(1)} /s`;
  if (perSecond < 1e3) return `${perSecond.toFixed(0)} /s`;
  if (perSecond < 1e6) return `${digits(perSecond / 1e3)} k/s`;
  return `${digits(perSecond / 1e6)} M/s`;
}

function percent(share) {
  const value = share * 100;
  if (value === 0) return "0 %";
  if (value < 0.1) return "< 0.1 %";
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} %`;
}

// A mark of an axis, without zeros that say nothing.
function brief(text) {
  return text.replace(/(\.\d*?)0+(?= )/, "$1").replace(/\.(?= )/, "");
}

