"use strict";

const { codeError, validateFunction } = require("internal/errors");
const { defineInterface, invalidThis, missingArgs, toText } = require("internal/webidl");

const inspectCustom = Symbol.for("nodejs.util.inspect.custom");

// What `host.urlParse` gives: the href, then where these begin and end in it.
const HREF = 0;
const SCHEME_END = 1;
const USERNAME = 2;
const USERNAME_END = 3;
const HOST = 4;
const HOSTNAME_END = 5;
const HOST_END = 6;
const PATH = 7;
const PATH_END = 8;
const QUERY_END = 9;

let writeQuery;
let linkedParams;
let readQuery;

function text(value) {
  return toText(value).toWellFormed();
}

function invalidUrl(input, base) {
  const error = new TypeError("Invalid URL");
  error.code = "ERR_INVALID_URL";
  error.input = input;
  if (base !== undefined) error.base = base;
  return error;
}

// Shows items as inspect does those of a Map, on one line if they fit.
function braced(name, items, options) {
  const width = items.reduce((sum, item) => sum + item.replace(/\x1b\[\d+m/g, "").length + 2, -2);
  if (width <= options.breakLength) return `${name} { ${items.join(", ")} }`;
  return `${name} {\n  ${items.join(",\n  ")} }`;
}

function readPairs(init) {
  const list = [];
  for (const pair of init) {
    const isObject = pair !== null && (typeof pair === "object" || typeof pair === "function");
    const both = isObject && typeof pair[Symbol.iterator] === "function" ? [...pair] : [];
    if (both.length !== 2) {
      const message = "Each query pair must be an iterable [name, value] tuple";
      throw codeError(TypeError, "ERR_INVALID_TUPLE", message);
    }
    list.push(text(both[0]), text(both[1]));
  }
  return list;
}

function readRecord(init) {
  const record = new Map();
  for (const key of Reflect.ownKeys(init)) {
    if (Object.getOwnPropertyDescriptor(init, key)?.enumerable) record.set(text(key), text(init[key]));
  }
  return [...record].flat();
}

class URLSearchParams {
  // Names and values in turn.
  #list = [];
  #url = null;

  static {
    linkedParams = (url, query) => {
      const params = new URLSearchParams(query);
      params.#url = url;
      return params;
    };
    readQuery = (params, query) => {
      params.#list = host.formParse(query);
    };
  }

  constructor(init = undefined) {
    if (init === undefined || init === null) return;
    if (typeof init === "object" || typeof init === "function") {
      const method = init[Symbol.iterator];
      if (method === URLSearchParams.prototype.entries && #list in init) this.#list = init.#list.slice();
      else if (method === undefined || method === null) this.#list = readRecord(init);
      else if (typeof method === "function") this.#list = readPairs(init);
      else throw codeError(TypeError, "ERR_ARG_NOT_ITERABLE", "Query pairs must be iterable");
    } else {
      const query = text(init);
      this.#list = host.formParse(query.startsWith("?") ? query.slice(1) : query);
    }
  }

  static #check(self) {
    if (typeof self !== "object" || self === null || !(#list in self)) throw invalidThis("URLSearchParams");
  }

  #changed() {
    if (this.#url !== null) writeQuery(this.#url, host.formSerialize(this.#list));
  }

  // Where the name is at or after an index, or -1.
  #find(name, index = 0) {
    const list = this.#list;
    for (let i = index; i < list.length; i += 2) {
      if (list[i] === name) return i;
    }
    return -1;
  }

  get size() {
    URLSearchParams.#check(this);
    return this.#list.length / 2;
  }

  append(name, value) {
    URLSearchParams.#check(this);
    if (arguments.length < 2) throw missingArgs("name", "value");
    this.#list.push(text(name), text(value));
    this.#changed();
  }

  delete(name, value = undefined) {
    URLSearchParams.#check(this);
    if (arguments.length < 1) throw missingArgs("name");
    name = text(name);
    if (value !== undefined) value = text(value);
    this.#list = this.#list.filter((_, i, list) => {
      const pair = i & ~1;
      return list[pair] !== name || (value !== undefined && list[pair + 1] !== value);
    });
    this.#changed();
  }

  get(name) {
    URLSearchParams.#check(this);
    if (arguments.length < 1) throw missingArgs("name");
    const index = this.#find(text(name));
    return index < 0 ? null : this.#list[index + 1];
  }

  getAll(name) {
    URLSearchParams.#check(this);
    if (arguments.length < 1) throw missingArgs("name");
    name = text(name);
    return this.#list.filter((_, i, list) => i & 1 && list[i - 1] === name);
  }

  has(name, value = undefined) {
    URLSearchParams.#check(this);
    if (arguments.length < 1) throw missingArgs("name");
    name = text(name);
    if (value !== undefined) value = text(value);
    let index = this.#find(name);
    while (index >= 0 && value !== undefined && this.#list[index + 1] !== value) {
      index = this.#find(name, index + 2);
    }
    return index >= 0;
  }

  set(name, value) {
    URLSearchParams.#check(this);
    if (arguments.length < 2) throw missingArgs("name", "value");
    name = text(name);
    value = text(value);
    const first = this.#find(name);
    if (first < 0) this.#list.push(name, value);
    else {
      this.#list[first + 1] = value;
      this.#list = this.#list.filter((_, i, list) => i < first + 2 || list[i & ~1] !== name);
    }
    this.#changed();
  }

  sort() {
    URLSearchParams.#check(this);
    const pairs = this.#pairs();
    pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#list = pairs.flat();
    this.#changed();
  }

  entries() {
    URLSearchParams.#check(this);
    return new Iterator((index) => this.#list.slice(index, index + 2), () => this.#list.length);
  }

  forEach(callback, thisArg = undefined) {
    URLSearchParams.#check(this);
    validateFunction(callback, "callback");
    for (let i = 0; i < this.#list.length; i += 2) {
      callback.call(thisArg, this.#list[i + 1], this.#list[i], this);
    }
  }

  keys() {
    URLSearchParams.#check(this);
    return new Iterator((index) => this.#list[index], () => this.#list.length);
  }

  values() {
    URLSearchParams.#check(this);
    return new Iterator((index) => this.#list[index + 1], () => this.#list.length);
  }

  toString() {
    URLSearchParams.#check(this);
    return host.formSerialize(this.#list);
  }

  #pairs() {
    return this.#list.flatMap((name, i, list) => (i & 1 ? [] : [[name, list[i + 1]]]));
  }

  [inspectCustom](depth, options, inspect) {
    URLSearchParams.#check(this);
    if (typeof depth === "number" && depth < 0) return options.stylize("[Object]", "special");
    if (this.#list.length === 0) return `${this.constructor.name} {}`;
    const shown = (text) => inspect(text, options);
    const items = this.#pairs().map(([name, value]) => `${shown(name)} => ${shown(value)}`);
    return braced(this.constructor.name, items, options);
  }
}

// Sees what is added to the list while it runs.
class Iterator {
  #item;
  #length;
  #index = 0;

  constructor(item, length) {
    this.#item = item;
    this.#length = length;
  }

  static #check(self) {
    if (typeof self !== "object" || self === null || !(#index in self)) {
      throw invalidThis("URLSearchParamsIterator");
    }
  }

  next() {
    Iterator.#check(this);
    const index = this.#index;
    if (index >= this.#length()) return { value: undefined, done: true };
    this.#index = index + 2;
    return { value: this.#item(index), done: false };
  }

  [inspectCustom](depth, options, inspect) {
    Iterator.#check(this);
    if (typeof depth === "number" && depth < 0) return options.stylize("[Object]", "special");
    const items = [];
    for (let i = this.#index; i < this.#length(); i += 2) items.push(inspect(this.#item(i), options));
    return braced(this[Symbol.toStringTag], items, options);
  }
}

Object.setPrototypeOf(Iterator.prototype, Object.getPrototypeOf(Object.getPrototypeOf([].values())));
delete Iterator.prototype.constructor;
Object.defineProperty(Iterator, "name", { value: "URLSearchParams Iterator" });
defineInterface(Iterator);

defineInterface(URLSearchParams);
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
  value: URLSearchParams.prototype.entries,
  writable: true,
  configurable: true,
});

const withOrigin = new Set(["http:", "https:", "ws:", "wss:", "ftp:"]);

class URL {
  #parts;
  #params = null;

  static {
    writeQuery = (url, query) => url.#change("search", query);
  }

  constructor(input, base = undefined) {
    if (arguments.length === 0) throw missingArgs("url");
    input = toText(input);
    if (base !== undefined) base = toText(base);
    this.#parts = host.urlParse(input, base);
    if (this.#parts === undefined) throw invalidUrl(input, base);
  }

  static parse(input, base = undefined) {
    if (arguments.length === 0) throw missingArgs("url");
    return URL.canParse(input, base) ? new URL(input, base) : null;
  }

  static canParse(input, base = undefined) {
    if (arguments.length === 0) throw missingArgs("url");
    return host.urlCanParse(toText(input), base === undefined ? undefined : toText(base));
  }

  #between(from, to) {
    const parts = this.#parts;
    return parts[HREF].slice(parts[from], parts[to]);
  }

  #protocol() {
    return this.#parts[HREF].slice(0, this.#parts[SCHEME_END] + 1);
  }

  // A value that is refused changes nothing.
  #change(part, value) {
    this.#parts = host.urlSet(this.#parts[HREF], part, value) ?? this.#parts;
  }

  #refreshParams() {
    if (this.#params !== null) readQuery(this.#params, this.search.slice(1));
  }

  toString() {
    return this.#parts[HREF];
  }

  get href() {
    return this.#parts[HREF];
  }

  set href(value) {
    const before = this.#parts;
    value = toText(value);
    const parts = host.urlParse(value);
    if (parts === undefined) {
      throw codeError(TypeError, "ERR_INVALID_URL", "Invalid URL", { input: value });
    }
    this.#parts = parts;
    if (before[HREF] !== parts[HREF]) this.#refreshParams();
  }

  get origin() {
    const protocol = this.#protocol();
    if (withOrigin.has(protocol)) return `${protocol}//${this.host}`;
    if (protocol === "blob:") {
      const inner = URL.parse(this.pathname);
      if (inner?.protocol === "http:" || inner?.protocol === "https:") return inner.origin;
    }
    return "null";
  }

  get protocol() {
    return this.#protocol();
  }

  set protocol(value) {
    this.#change("protocol", toText(value));
  }

  get username() {
    return this.#between(USERNAME, USERNAME_END);
  }

  set username(value) {
    this.#change("username", toText(value));
  }

  get password() {
    const parts = this.#parts;
    return parts[HREF].slice(parts[USERNAME_END] + 1, parts[HOST] - 1);
  }

  set password(value) {
    this.#change("password", toText(value));
  }

  get host() {
    return this.#between(HOST, HOST_END);
  }

  set host(value) {
    this.#change("host", toText(value));
  }

  get hostname() {
    return this.#between(HOST, HOSTNAME_END);
  }

  set hostname(value) {
    this.#change("hostname", toText(value));
  }

  get port() {
    const parts = this.#parts;
    return parts[HREF].slice(parts[HOSTNAME_END] + 1, parts[HOST_END]);
  }

  set port(value) {
    this.#change("port", toText(value));
  }

  get pathname() {
    return this.#between(PATH, PATH_END);
  }

  set pathname(value) {
    this.#change("pathname", toText(value));
  }

  get search() {
    const search = this.#between(PATH_END, QUERY_END);
    return search === "?" ? "" : search;
  }

  set search(value) {
    this.#change("search", toText(value));
    this.#refreshParams();
  }

  get searchParams() {
    return (this.#params ??= linkedParams(this, this.search));
  }

  get hash() {
    const hash = this.#parts[HREF].slice(this.#parts[QUERY_END]);
    return hash === "#" ? "" : hash;
  }

  set hash(value) {
    this.#change("hash", toText(value));
  }

  toJSON() {
    return this.#parts[HREF];
  }

  [inspectCustom](depth, options, inspect) {
    if (typeof depth === "number" && depth < 0) return this;
    const shown = {};
    for (const key of accessors) shown[key] = this[key];
    return `${this.constructor.name} ${inspect(shown, options)}`;
  }
}

const accessors = [
  "href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search",
  "searchParams", "hash",
];
defineInterface(URL);

module.exports = { URL, URLSearchParams };
