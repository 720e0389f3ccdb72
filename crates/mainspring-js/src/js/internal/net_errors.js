"use strict";

// Errors of sockets: the number of the system, its name, and what was tried where.

function where(address, port) {
  if (port > 0) return ` ${address}:${port}`;
  return address ? ` ${address}` : "";
}

function errnoError(errno, syscall) {
  const [code] = host.systemError(errno);
  return Object.assign(new Error(`${syscall} ${code}`), { errno, code, syscall });
}

function addressError(errno, syscall, address, port, local) {
  const [code] = host.systemError(errno);
  const details = `${where(address, port)}${local ? ` - Local (${local})` : ""}`;
  const error = Object.assign(new Error(`${syscall} ${code}${details}`), { errno, code, syscall, address });
  if (port) error.port = port;
  return error;
}

function listenError(errno, address, port) {
  const [code, meaning] = host.systemError(errno);
  const error = new Error(`listen ${code}: ${meaning}${where(address, port)}`);
  Object.assign(error, { code, errno, syscall: "listen", address });
  if (port) error.port = port;
  return error;
}

module.exports = { addressError, errnoError, listenError };
