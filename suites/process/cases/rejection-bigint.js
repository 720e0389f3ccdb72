Promise.reject(10n);
