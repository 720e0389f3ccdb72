throw Object.assign(new Error("with more"), { code: "E_MORE", nested: { list: [1, 2, { deep: true }] } });
