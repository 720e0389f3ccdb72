// Checks trace files: by opening them with Perfetto's trace processor, and by what has to hold of every trace.
//
//   node check.mjs ENGINE FILE...
//
// ENGINE is the directory with `engine_bundle.js` and `trace_processor.wasm`.

import fs from 'node:fs';
import { open } from './engine.mjs';

const problems = [];

function expect(holds, what) {
    if (!holds) {
        problems.push(what);
    }
}

/** Nanoseconds of a time in microseconds. A double has them exactly for as long as a machine is likely to run. */
const nanos = micros => Math.round(micros * 1000);

/** The events of a file: it is an array, of which the end may be missing, or an object with one. */
function parse(text) {
    let whole;
    try {
        whole = JSON.parse(text);
    } catch {
        whole = JSON.parse(`${text.trimEnd()}\n]`);
    }
    return Array.isArray(whole) ? whole : whole.traceEvents;
}

/** What the format demands of each event. */
function checkFields(events) {
    const times = { X: ['ts', 'dur'], i: ['ts'], s: ['ts', 'id'], f: ['ts', 'id'], M: [] };
    for (const event of events) {
        const shown = JSON.stringify(event);
        expect(event.ph in times, `an event of an unknown kind: ${shown}`);
        expect(Number.isInteger(event.pid) && Number.isInteger(event.tid), `no thread: ${shown}`);
        expect(typeof event.name === 'string' && event.name !== '', `no name: ${shown}`);
        for (const key of times[event.ph] ?? []) {
            expect(Number.isFinite(event[key]) && event[key] >= 0, `no ${key}: ${shown}`);
        }
        if (event.ph === 'M') {
            expect(typeof event.args === 'object', `metadata without arguments: ${shown}`);
        } else {
            expect(typeof event.cat === 'string' && event.cat !== '', `no category: ${shown}`);
        }
    }
}

/** The slices of each thread, outermost first. */
function slicesOf(events) {
    const tracks = new Map();
    for (const event of events.filter(event => event.ph === 'X')) {
        const track = `${event.pid}/${event.tid}`;
        const [from, length] = [nanos(event.ts), nanos(event.dur)];
        if (!tracks.has(track)) {
            tracks.set(track, []);
        }
        tracks.get(track).push({ event, from, to: from + length });
    }
    for (const slices of tracks.values()) {
        slices.sort((a, b) => a.from - b.from || b.to - a.to);
    }
    return tracks;
}

function checkNesting(tracks) {
    for (const slices of tracks.values()) {
        const stack = [];
        for (const slice of slices) {
            while (stack.length > 0 && stack.at(-1).to <= slice.from && stack.at(-1).to < slice.to) {
                stack.pop();
            }
            const parent = stack.at(-1);
            expect(!parent || slice.to <= parent.to,
                `slices overlap: ${JSON.stringify(parent?.event)} and ${JSON.stringify(slice.event)}`);
            stack.push(slice);
        }
    }
}

/** A function that tells whether a time is in a slice. */
function cover(slices = []) {
    // How far the slices reach, up to each of them.
    let reach = -1;
    const reaches = slices.map(({ to }) => reach = Math.max(reach, to));
    return at => {
        let [low, high] = [0, slices.length];
        while (low < high) {
            const middle = (low + high) >> 1;
            [low, high] = slices[middle].from <= at ? [middle + 1, high] : [low, middle];
        }
        return low > 0 && reaches[low - 1] >= at;
    };
}

function checkFlows(events, tracks) {
    const covers = new Map([...tracks].map(([track, slices]) => [track, cover(slices)]));
    const flows = new Map();
    for (const event of events.filter(event => event.ph === 's' || event.ph === 'f')) {
        const key = `${event.cat}/${event.name}/${event.id}`;
        flows.set(key, [...(flows.get(key) ?? []), event]);
        const isInside = covers.get(`${event.pid}/${event.tid}`)?.(nanos(event.ts));
        expect(isInside, `not in a slice: ${JSON.stringify(event)}`);
    }
    for (const ends of flows.values()) {
        expect(ends.map(end => end.ph).join() === 's,f', `not one start and one end: ${JSON.stringify(ends)}`);
        expect(ends[0].ts <= ends.at(-1).ts, `a flow back in time: ${JSON.stringify(ends)}`);
    }
    return flows;
}

/** What Perfetto makes of the file. */
async function checkImport(directory, bytes, events, flows) {
    const query = await open(directory, bytes);
    const complaints = query(`
        select name, value from stats where severity in ('error', 'data_loss', 'notification') and value > 0`);
    expect(complaints.length === 0, `Perfetto complains: ${JSON.stringify(complaints)}`);

    const key = ({ tid, name, ts, dur }) => `${tid} ${name} ${ts} ${dur}`;
    const expected = events.filter(event => event.ph === 'X' || event.ph === 'i')
        .map(event => key({ ...event, ts: nanos(event.ts), dur: nanos(event.dur ?? 0) })).sort();
    const found = query(`
        select tid, slice.name as name, ts, slice.dur as dur
        from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)`).map(key).sort();
    const missing = expected.filter((slice, index) => slice !== found[index]);
    expect(found.length === expected.length && missing.length === 0,
        `Perfetto has ${found.length} slices and not ${expected.length}: ${missing[0]}`);

    // A flow leaves the slice that begins where it does, and arrives in one that is there then.
    const arrows = query(`
        select source.ts as start, source.name as source,
            target.ts as target_from, target.ts + target.dur as target_to, target.category as target
        from flow join slice source on slice_out = source.id join slice target on slice_in = target.id
        order by start, target_from`);
    expect(arrows.length === flows.size, `Perfetto has ${arrows.length} flows and not ${flows.size}`);
    const starts = [...flows.values()].map(([start]) => `${nanos(start.ts)} ${start.name}`).sort();
    const left = arrows.map(arrow => `${arrow.start} ${arrow.source}`).sort();
    expect(starts.join() === left.join(), 'flows leave other slices than they should');
    const ends = { submit: 'callback', wake: 'wake' };
    // Of slices that take no time, several can be at one place, and then it is not clear which is meant.
    for (const arrow of arrows.filter(arrow => arrow.target_to > arrow.target_from)) {
        expect(ends[arrow.source] === arrow.target, `a flow goes from ${arrow.source} to ${arrow.target}`);
    }

    // What has the same times is as far inside as it should be.
    const [{ count }] = query(`
        select count(*) as count from slice inner_one join slice outer_one on inner_one.parent_id = outer_one.id
        where inner_one.dur > 0 and inner_one.dur = outer_one.dur and (
            inner_one.category = 'tick' or inner_one.category = 'phase' and outer_one.category = 'callback')`);
    expect(count === 0, `${count} slices are inside of what they should be around`);

    // What a script did is in the callback of the loop that has called it, if the script was called by one.
    const [{ lost }] = query(`
        select count(*) as lost from slice own join slice outer_one on own.parent_id = outer_one.id
        where own.category = 'slice' and outer_one.category not in ('callback', 'slice')`);
    const isWhole = !events.some(({ name }) => name === 'dropped events');
    expect(lost === 0 || !isWhole, `${lost} slices of the script are in no callback`);

    const names = query('select tid, name from thread where name is not null');
    for (const event of events.filter(event => event.name === 'thread_name')) {
        const given = events.findLast(({ name, tid }) => name === 'thread_name' && tid === event.tid).args.name;
        expect(names.some(({ tid, name }) => tid === event.tid && name === given),
            `Perfetto does not know ${JSON.stringify(given)}`);
    }
    return `${found.length} slices, ${arrows.length} flows, ${names.length} named threads`;
}

/** What is left of a file if the process was killed: it is opened, and all whole lines are in it. */
async function checkCut(directory, text) {
    const lines = text.trimEnd().split('\n');
    if (lines.at(-1) !== ']' || lines.length < 4) {
        return;
    }
    const whole = lines.slice(0, -1).join('\n');
    const middle = whole.slice(0, whole.length - Math.floor(lines.at(-2).length / 2));
    for (const [what, cut] of [['without its end', whole], ['cut in a line', middle]]) {
        const query = await open(directory, new TextEncoder().encode(cut));
        const [{ count }] = query('select count(*) as count from slice');
        const events = parse(lines.slice(0, cut === whole ? -1 : -2).join('\n').replace(/,$/, ''));
        const expected = events.filter(event => event.ph === 'X' || event.ph === 'i').length;
        expect(count === expected, `${what}, Perfetto has ${count} slices and not ${expected}`);
    }
}

const [directory, ...files] = process.argv.slice(2);
let passed = 0;
for (const file of files) {
    problems.length = 0;
    let summary;
    try {
        const bytes = fs.readFileSync(file);
        const events = parse(bytes.toString());
        checkFields(events);
        const tracks = slicesOf(events);
        checkNesting(tracks);
        const flows = checkFlows(events, tracks);
        expect(tracks.size > 0, 'there is no slice');
        summary = await checkImport(directory, bytes, events, flows);
        await checkCut(directory, bytes.toString());
    } catch (error) {
        problems.push(String(error?.stack ?? error));
    }
    if (problems.length === 0) {
        passed += 1;
        console.log(`${file}: ${summary}`);
    } else {
        for (const problem of problems.slice(0, 10)) {
            console.log(`${file}: ${problem}`);
        }
        console.log(`${file}: ${problems.length} problems`);
    }
}
console.log(`trace: ${passed} of ${files.length} pass`);
process.exitCode = passed === files.length ? 0 : 1;
