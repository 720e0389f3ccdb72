Promise.reject(new Date(0));
