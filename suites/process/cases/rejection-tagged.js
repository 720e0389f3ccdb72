Promise.reject({ toString: () => "not called", [Symbol.toStringTag]: "Tag" });
