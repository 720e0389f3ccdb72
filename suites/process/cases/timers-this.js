setTimeout(() => {
  const timeout = setTimeout(function () {
    console.log(this === timeout, this.constructor.name);
  }, 1);
  const immediate = setImmediate(function () {
    console.log(this === immediate, this.constructor.name);
  });
}, 1);
process.nextTick(function () {
  "use strict";
  console.log(this);
});
queueMicrotask(function () {
  "use strict";
  console.log(this, arguments.length);
});
