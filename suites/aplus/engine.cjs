"use strict";

// The engine's own promises.
exports.deferred = () => {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
};
exports.resolved = (value) => Promise.resolve(value);
exports.rejected = (reason) => Promise.reject(reason);
