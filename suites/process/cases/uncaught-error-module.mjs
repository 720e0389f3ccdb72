console.log("before");
throw new RangeError("boom");
