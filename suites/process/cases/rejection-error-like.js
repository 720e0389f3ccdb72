Promise.reject({ message: "like an error", stack: "a stack" });
