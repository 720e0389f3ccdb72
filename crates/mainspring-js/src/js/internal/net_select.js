"use strict";

// The addresses of a name, and the order in which they are tried.

const { codeError, invalidArgValue } = require("internal/errors");

let isOn = true;
let timeout = 250;

function interleave(found) {
  const [{ version }] = found;
  const same = found.filter((one) => one.version === version);
  const other = found.filter((one) => one.version !== version);
  const order = [];
  for (let i = 0; i < Math.max(same.length, other.length); i++) {
    if (i < same.length) order.push(same[i]);
    if (i < other.length) order.push(other[i]);
  }
  return order;
}

// The version of addresses that an option asks for: 0 is any. Addresses of sockets and servers have its name.
function versionOf(family) {
  if (family == null) return 0;
  if (family === "IPv4") return 4;
  if (family === "IPv6") return 6;
  if (family !== 0 && family !== 4 && family !== 6) {
    throw invalidArgValue("options.family", family, "must be one of: 0, 4, 6");
  }
  return family;
}

// Asks the host, or the function of the script, and calls `done(error, [{ address, version }])`.
function lookUp(name, family, custom, options, done) {
  const all = (options.autoSelectFamily ?? isOn) && family !== 4 && family !== 6 && !options.localAddress;
  if (!custom) {
    host.netLookup(name, versionOf(family), (error, flat) => {
      if (error) return done(error);
      const found = [];
      for (let i = 0; i < flat.length; i += 2) found.push({ address: flat[i], version: flat[i + 1] });
      return done(null, all ? found : found.slice(0, 1));
    });
    return;
  }
  custom(name, { family, hints: options.hints ?? 0, ...(all && { all }) }, (error, address, version) => {
    if (error) return done(error);
    const list = Array.isArray(address)
      ? address.map((one) => ({ address: one.address, version: one.family }))
      : [{ address, version }];
    const isWrong = (one) => typeof one.address !== "string" || host.netIsIP(one.address) === 0;
    const wrong = list.length === 0 ? {} : list.find(isWrong);
    if (wrong === undefined) return done(null, list);
    return done(codeError(TypeError, "ERR_INVALID_IP_ADDRESS", `Invalid IP address: ${wrong.address}`));
  });
}

module.exports = {
  attemptTimeout: () => timeout,
  getDefaultAutoSelectFamily: () => isOn,
  getDefaultAutoSelectFamilyAttemptTimeout: () => timeout,
  interleave,
  lookUp,
  setDefaultAutoSelectFamily(value) {
    require("internal/errors").validateBoolean(value, "value");
    isOn = value;
  },
  setDefaultAutoSelectFamilyAttemptTimeout(value) {
    require("internal/errors").validateInteger(value, "value", 1, 2147483647);
    timeout = Math.max(value, 10);
  },
};
