"use strict";

const { codeError } = require("internal/errors");
const { defineInterface, isObject, toText } = require("internal/webidl");

// The names of the errors that have a code, each behind its constant. The code is the place in the list.
const legacy = [
  ["INDEX_SIZE_ERR", "IndexSizeError"],
  ["DOMSTRING_SIZE_ERR"],
  ["HIERARCHY_REQUEST_ERR", "HierarchyRequestError"],
  ["WRONG_DOCUMENT_ERR", "WrongDocumentError"],
  ["INVALID_CHARACTER_ERR", "InvalidCharacterError"],
  ["NO_DATA_ALLOWED_ERR"],
  ["NO_MODIFICATION_ALLOWED_ERR", "NoModificationAllowedError"],
  ["NOT_FOUND_ERR", "NotFoundError"],
  ["NOT_SUPPORTED_ERR", "NotSupportedError"],
  ["INUSE_ATTRIBUTE_ERR", "InUseAttributeError"],
  ["INVALID_STATE_ERR", "InvalidStateError"],
  ["SYNTAX_ERR", "SyntaxError"],
  ["INVALID_MODIFICATION_ERR", "InvalidModificationError"],
  ["NAMESPACE_ERR", "NamespaceError"],
  ["INVALID_ACCESS_ERR", "InvalidAccessError"],
  ["VALIDATION_ERR"],
  ["TYPE_MISMATCH_ERR", "TypeMismatchError"],
  ["SECURITY_ERR", "SecurityError"],
  ["NETWORK_ERR", "NetworkError"],
  ["ABORT_ERR", "AbortError"],
  ["URL_MISMATCH_ERR", "URLMismatchError"],
  ["QUOTA_EXCEEDED_ERR", "QuotaExceededError"],
  ["TIMEOUT_ERR", "TimeoutError"],
  ["INVALID_NODE_TYPE_ERR", "InvalidNodeTypeError"],
  ["DATA_CLONE_ERR", "DataCloneError"],
];

// Adds a private field to an error that exists: DOMException itself may not extend Error.
class Slots extends (function (error) {
  return error;
}) {
  #values;

  constructor(error, values) {
    super(error);
    this.#values = values;
  }

  static has(value) {
    return isObject(value) && #values in value;
  }

  static of(value) {
    if (!Slots.has(value)) {
      throw codeError(TypeError, "ERR_INVALID_THIS", 'Value of "this" must be of DOMException');
    }
    return value.#values;
  }
}

class DOMException {
  constructor(message = "", options = "Error") {
    const text = toText(message);
    // Node takes an object too, which may have a cause.
    const given = options !== null && typeof options === "object" ? options : { name: options };
    const error = Reflect.construct(Error, "cause" in given ? [undefined, given] : [], new.target);
    new Slots(error, { name: toText(given.name), message: text });
    return error;
  }

  get name() {
    return Slots.of(this).name;
  }

  get message() {
    return Slots.of(this).message;
  }

  get code() {
    const { name } = Slots.of(this);
    return legacy.findIndex((row) => row[1] === name) + 1;
  }
}

defineInterface(DOMException, Object.fromEntries(legacy.map(([constant], index) => [constant, index + 1])));
Object.setPrototypeOf(DOMException.prototype, Error.prototype);

module.exports = { DOMException, isDOMException: Slots.has };
