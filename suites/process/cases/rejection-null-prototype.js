Promise.reject(Object.assign(Object.create(null), { a: 1 }));
