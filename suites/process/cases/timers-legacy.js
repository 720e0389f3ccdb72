const timers = require("timers");
const item = {
  _onTimeout() {
    console.log("run", this === item);
  },
};
timers.enroll(item, 1);
timers.active(item);
for (const msecs of ["x", -1, NaN, Infinity]) {
  try {
    timers.enroll({}, msecs);
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
const stopped = { _onTimeout: () => console.log("never") };
timers.enroll(stopped, 1);
timers._unrefActive(stopped);
timers.unenroll(stopped);
