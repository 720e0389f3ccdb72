const never = () => console.log("never");
clearTimeout(setTimeout(never, 1));
clearInterval(setTimeout(never, 1));
clearTimeout(setInterval(never, 1));
clearInterval(setInterval(never, 1));
clearImmediate(setImmediate(never));
console.log(setTimeout(never, 1).close()._destroyed);
setTimeout(never, 1)[Symbol.dispose]();
setImmediate(never)[Symbol.dispose]();
for (const nothing of [undefined, null, {}, [], "text", NaN, -1, 0, 1e9, true, Symbol("s"), () => {}]) {
  clearTimeout(nothing);
  clearInterval(nothing);
}
clearImmediate();
clearImmediate(null);
clearImmediate({});
const twice = setTimeout(never, 1);
clearTimeout(twice);
clearTimeout(twice);
console.log("done");
