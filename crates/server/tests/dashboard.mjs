import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import vm from "node:vm";

const asset = (name) => readFileSync(new URL(`../assets/${name}`, import.meta.url), "utf8");

// A document in which everything exists and does nothing.
const anything = new Proxy(function () {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "" : anything),
  set: () => true,
  apply: () => anything,
});
const page = vm.createContext({
  document: anything, sessionStorage: { getItem: () => null, setItem() {} }, location: { hash: "" }, history: anything,
  window: anything, fetch: () => new Promise(() => {}), setInterval() {}, setTimeout() {}, addEventListener() {}, URLSearchParams,
});
vm.runInContext(asset("app.js"), page);
const cell = (value) => vm.runInContext(`cell(${JSON.stringify(value)})`, page);

// Nothing is known of a value with an unbounded error bar. It was once labelled "(exact)".
assert.equal(cell({ value: 3.5, half_width: null }), "3.5 ± ∞");
assert.equal(cell({ value: 12, half_width: 6 }), "12 ± 6");
assert.equal(cell({ value: 41, lower: 38.5, upper: 44 }), "41 (38.5..44)");
assert.equal(cell({ value: 41, lower: 0, upper: 90, nothing_learned: true }), "41 (0..90: nothing learned)");
assert.equal(cell({ value: 41 }), "41 (exact)");
assert.equal(cell({ refused: true }), "refused");
assert.equal(cell(null), "NULL");

// Errors name the API's fields, so inputs bear their names.
const form = asset("index.html").match(/<form id="ask"[\s\S]*?<\/form>/)[0];
for (const field of ["sql", "epsilon", "delta", "max_rows", "max_groups", "request_id", "allow_large_epsilon"]) {
  assert.ok(form.includes(`name="${field}"`), field);
}
