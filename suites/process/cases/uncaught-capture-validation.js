for (const fn of [1, undefined, {}, "x"]) {
  try {
    process.setUncaughtExceptionCaptureCallback(fn);
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
process.setUncaughtExceptionCaptureCallback(() => {});
try {
  process.setUncaughtExceptionCaptureCallback(() => {});
} catch (error) {
  console.log(error.name, error.code, error.message);
}
process.setUncaughtExceptionCaptureCallback(null);
console.log(process.hasUncaughtExceptionCaptureCallback());
