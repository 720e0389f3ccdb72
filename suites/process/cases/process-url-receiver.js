// What URL has is for URLs alone.
for (const name of Object.keys(URL.prototype)) {
  try {
    const value = Reflect.get(URL.prototype, name, { protocol: "http:", host: "forged" });
    console.log(name, typeof value === "function" ? value.call({}) : value);
  } catch (error) {
    console.log(name, error.name);
  }
}
class Forged extends URL {
  get protocol() {
    return "http:";
  }
}
console.log(new Forged("https://host/").origin, new URL("blob:https://host/1").origin, new URL("file:///x").origin);
