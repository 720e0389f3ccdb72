process.setUncaughtExceptionCaptureCallback((error) => {
  throw new Error(`captured ${error.message}`);
});
throw new Error("one");
