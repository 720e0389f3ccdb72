"use strict";

const names = () => host.osNames();

const os = {
  EOL: "\n",
  devNull: "/dev/null",
  platform: () => host.platform(),
  arch: () => host.arch(),
  type: () => names()[0],
  hostname: () => names()[1],
  release: () => names()[2],
  version: () => names()[3],
  machine: () => names()[4],
  tmpdir() {
    const { env } = require("process");
    const path = env.TMPDIR || env.TMP || env.TEMP || "/tmp";
    return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  },
  homedir: () => require("process").env.HOME ?? host.osHome(),
  endianness: () => (new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? "LE" : "BE"),
  totalmem: () => host.osMemory()[0],
  freemem: () => host.osMemory()[1],
  availableParallelism: () => host.osParallelism(),
  cpus() {
    const cpu = () => ({ model: "unknown", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } });
    return Array.from({ length: host.osParallelism() }, cpu);
  },
  constants: {
    signals: {
      SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGFPE: 8, SIGKILL: 9, SIGSEGV: 11,
      SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15,
    },
  },
};

// The functions that give a text can stand for it.
for (const name of [
  "platform", "arch", "type", "hostname", "release", "version", "machine", "tmpdir", "homedir", "endianness",
]) {
  const get = os[name];
  get[Symbol.toPrimitive] = () => get();
}

module.exports = os;
