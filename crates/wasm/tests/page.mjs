// Mistakes a page can make with the module. The WebAssembly is a stand-in that returns its requests.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

const source = await readFile(new URL("../js/reticent.js", import.meta.url), "utf8");
const { Device } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

/** Bytes in, bytes out, like the module. */
function standIn(asked) {
  let input = [];
  let output = new Uint8Array();
  return {
    reticent_push: (byte) => input.push(byte),
    reticent_pull: (index) => output[index],
    reticent_answer: () => {
      const request = JSON.parse(new TextDecoder().decode(new Uint8Array(input)));
      input = [];
      asked.push(request);
      const answers = { name: { name: "record" }, answered: { answered: request.record !== null } };
      const answer = answers[request.do] ?? { report: request, record: "kept" };
      output = new TextEncoder().encode(JSON.stringify(answer));
      return output.length;
    },
  };
}

/** Storage that records whether it is used under a lock. */
function storage(isHeld) {
  const kept = new Map();
  const uses = [];
  return {
    uses,
    kept,
    getItem: (name) => (uses.push(isHeld()), kept.get(name) ?? null),
    setItem: (name, text) => (uses.push(isHeld()), kept.set(name, text)),
  };
}

let holders = 0;
const locks = { queue: Promise.resolve() };
locks.request = (_, act) => {
  const turn = locks.queue.then(async () => {
    holders += 1;
    try {
      return await act();
    } finally {
      holders -= 1;
    }
  });
  locks.queue = turn.catch(() => {});
  return turn;
};
const inPage = (value) => Object.defineProperty(globalThis, "navigator", { value, configurable: true });
const numbers = { domain: { numbers: "0..120" } };

// Not a number: nothing is randomised, and nothing stored.
inPage({ locks });
for (const answer of ["", " ", null, undefined, true, "0x10", "12,5", "many", "Infinity", NaN, [], {}]) {
  const [asked, memory] = [[], storage(() => holders > 0)];
  await assert.rejects(async () => new Device(standIn(asked), memory).respond(numbers, answer), /must be a/);
  assert.deepEqual([asked.filter((request) => request.do === "respond").length, memory.kept.has("record")], [0, false]);
}
for (const [answer, number] of [["36.6", 36.6], [" -1e2 ", -100], ["0", 0], [7, 7], [".5", 0.5]]) {
  const { bits } = await new Device(standIn([]), storage(() => true)).respond(numbers, answer);
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${bits}`));
  assert.equal(view.getFloat64(0), number);
}
await assert.rejects(async () => new Device(standIn([]), storage(() => true)).respond({ domain: { texts: {} } }, null));

// Its record shows whether it has answered; asking leaves no trace.
const fresh = storage(() => true);
const device = new Device(standIn([]), fresh);
assert.equal(device.hasAnswered(numbers), false);
assert.equal(fresh.kept.size, 0);
await device.respond(numbers, "3");
assert.equal(device.hasAnswered(numbers), true);

// Two tabs with one storage: a tab that reads or writes it holds the lock exclusively.
const shared = storage(() => holders);
const tabs = [new Device(standIn([]), shared), new Device(standIn([]), shared)];
await Promise.all(tabs.map((tab) => tab.respond(numbers, "3")));
assert.ok(shared.uses.length >= 6 && shared.uses.every((held) => held === 1), String(shared.uses));

// Where tabs cannot take turns, the browser's own storage is not used.
inPage({});
globalThis.localStorage = storage(() => false);
const alone = new Device(standIn([]), globalThis.localStorage);
await assert.rejects(async () => alone.respond(numbers, "3"), /two tabs/);
assert.equal(globalThis.localStorage.uses.length, 0);
assert.ok((await new Device(standIn([]), storage(() => false)).respond(numbers, "3")).bits);
