Promise.resolve()
  .then(() => {
    console.log("0, which gives a promise");
    return Promise.resolve("4: adopting it took two microtasks more");
  })
  .then(console.log);
const say = (n) => () => console.log(n);
Promise.resolve().then(say("1")).then(say("2")).then(say("3")).then(say("5")).then(say("6"));
