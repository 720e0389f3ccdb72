async function fails() {
  throw new TypeError("async");
}
fails();
