// Perfetto's trace processor, the one that its page runs in the browser: it opens a trace, and answers queries in SQL.
// It talks in messages of Protocol Buffers, of which only what is needed is here (`trace_processor.proto` of Perfetto:
// `TraceProcessorRpcStream`, `QueryResult`).

import fs from 'node:fs';
import path from 'node:path';

const APPEND = 1;
const FINALIZE = 2;
const QUERY = 3;
const PIECE = 1 << 20;

/** Opens the trace `bytes` with the engine in `directory`. Returns a function that answers queries with rows. */
export async function open(directory, bytes) {
    const ask = await connect(directory);
    for (let at = 0; at < bytes.length; at += PIECE) {
        const [answer] = ask(APPEND, bytesField(101, bytes.subarray(at, at + PIECE)));
        const error = answer.get(201)?.[0] && decode(answer.get(201)[0]).get(2);
        if (error) {
            throw new Error(text(error[0]));
        }
    }
    ask(FINALIZE, []);
    return sql => rows(ask(QUERY, bytesField(103, bytesField(1, new TextEncoder().encode(sql)))));
}

/** Starts the engine in what looks like a worker of a browser. Returns a function that sends it a request. */
async function connect(directory) {
    class XMLHttpRequest {
        open(_method, url) {
            this.url = url;
        }
        send() {
            const bytes = fs.readFileSync(path.join(directory, path.basename(this.url)));
            this.response = new Uint8Array(bytes).buffer;
            this.status = 200;
        }
    }
    const location = { href: 'http://localhost/' };
    const world = {
        self: { location }, location, XMLHttpRequest, WorkerGlobalScope: class {}, importScripts() {},
        console: { log() {}, warn() {}, error() {} }, process: undefined, require: undefined,
    };
    const code = fs.readFileSync(path.join(directory, 'engine_bundle.js'), 'utf8');
    new Function(...Object.keys(world), code)(...Object.values(world));
    // It has to say to itself that it is ready.
    await new Promise(setImmediate);

    let replies = [];
    const port = { postMessage: bytes => replies.push(bytes) };
    world.self.onmessage({ data: port });
    let sequence = 0;
    return (method, payload) => {
        sequence += 1;
        const message = [...number(1, sequence), ...number(2, method)];
        port.onmessage({ data: bytesField(1, joined(message, payload)) });
        const answers = replies.flatMap(reply => (decode(reply).get(1) ?? []).map(decode));
        replies = [];
        for (const answer of answers) {
            if (answer.has(5)) {
                throw new Error(text(answer.get(5)[0]));
            }
        }
        return answers;
    };
}

/** The rows of an answer, as objects. */
function rows(answers) {
    const names = [];
    const found = [];
    let row = [];
    for (const answer of answers) {
        const result = decode(answer.get(203)[0]);
        if (result.has(2)) {
            throw new Error(text(result.get(2)[0]));
        }
        names.push(...(result.get(1) ?? []).map(text));
        for (const batch of (result.get(3) ?? []).map(decode)) {
            const ints = varints(batch.get(2)?.[0]);
            const floats = batch.get(3)?.[0] ?? new Uint8Array();
            const strings = text(batch.get(5)?.[0] ?? new Uint8Array()).split('\0');
            let [int, float, string] = [0, 0, 0];
            for (const type of varints(batch.get(1)?.[0])) {
                switch (Number(type)) {
                case 1: row.push(null); break;
                case 2: row.push(Number(BigInt.asIntN(64, ints[int++]))); break;
                case 3: row.push(new DataView(floats.buffer, floats.byteOffset).getFloat64(8 * float++, true)); break;
                case 4: row.push(strings[string++]); break;
                default: throw new Error(`a cell of type ${type}`);
                }
                if (row.length === names.length) {
                    found.push(Object.fromEntries(row.map((cell, index) => [names[index], cell])));
                    row = [];
                }
            }
        }
    }
    return found;
}

// Protocol Buffers.

function text(bytes) {
    return new TextDecoder().decode(bytes);
}

function joined(...parts) {
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
        whole.set(part, at);
        at += part.length;
    }
    return whole;
}

function varint(value) {
    const bytes = [];
    for (; value > 127; value = Math.floor(value / 128)) {
        bytes.push(value % 128 + 128);
    }
    return [...bytes, value];
}

function number(id, value) {
    return [...varint(id * 8), ...varint(value)];
}

function bytesField(id, bytes) {
    return joined([...varint(id * 8 + 2), ...varint(bytes.length)], bytes);
}

/** One number, as a BigInt, and where it ends. */
function readVarint(bytes, at) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
        const byte = bytes[at++];
        value |= BigInt(byte & 127) << shift;
        if (byte < 128) {
            return [value, at];
        }
    }
}

function varints(bytes = new Uint8Array()) {
    const all = [];
    for (let at = 0; at < bytes.length;) {
        const [value, next] = readVarint(bytes, at);
        all.push(value);
        at = next;
    }
    return all;
}

/** The fields of a message: from their numbers to lists of their values. */
function decode(bytes) {
    const fields = new Map();
    for (let at = 0; at < bytes.length;) {
        let key, value;
        [key, at] = readVarint(bytes, at);
        switch (Number(key & 7n)) {
        case 0:
            [value, at] = readVarint(bytes, at);
            break;
        case 1:
            value = bytes.subarray(at, at += 8);
            break;
        case 2: {
            const [length, start] = readVarint(bytes, at);
            value = bytes.subarray(start, at = start + Number(length));
            break;
        }
        case 5:
            value = bytes.subarray(at, at += 4);
            break;
        default:
            throw new Error(`a field of type ${key & 7n}`);
        }
        const id = Number(key >> 3n);
        fields.set(id, [...(fields.get(id) ?? []), value]);
    }
    return fields;
}
