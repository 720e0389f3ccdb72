function outer() {
  if (outer.length === 0) inner();
}

function inner() {
    if (true) throw new TypeError("deep");
}
outer();
