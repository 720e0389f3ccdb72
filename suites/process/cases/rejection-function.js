Promise.reject(function named() {});
