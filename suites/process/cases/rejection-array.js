Promise.reject([1, 2]);
