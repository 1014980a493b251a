// The local model in a browser: answers are randomised on this page, before anything leaves it.
//
// Types and explanations: reticent.d.ts.

const KEY = "reticent device key";

const hexadecimal = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const randomBytes = () => hexadecimal(crypto.getRandomValues(new Uint8Array(32)));

/** A decimal number. `Number` accepts more: it reads an empty text as 0, for example. */
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The answer as passed on: text, or the 64 bits of a number. The error message does not contain it. */
function given(domain, answer) {
  const wrong = (allowed) => new Error(`the answer must be ${allowed}`);
  if (typeof answer !== "string" && typeof answer !== "number") throw wrong("a text or a number");
  const text = String(answer).trim();
  if (!domain.numbers) return { answer: String(answer) };
  if (!DECIMAL.test(text)) throw wrong("a number");
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Number(text));
  return { bits: view.getBigUint64(0).toString(16) };
}

/** Probability that a report supports the true answer, and any other one: for display only. */
function supports({ domain, epsilon, mechanism }) {
  const growth = Math.exp(Number(epsilon));
  const count = domain.choices?.length ?? 0;
  if (mechanism === "fair-coin") return [0.75, 0.25];
  if (mechanism === "k-ary") return [growth / (growth + count - 1), 1 / (growth + count - 1)];
  if (mechanism === "unary") return [0.5, 1 / (growth + 1)];
  if (!mechanism.startsWith("projective-")) return [null, null];
  const q = Number(mechanism.slice("projective-".length));
  const points = (dimensions) => (q ** dimensions - 1) / (q - 1);
  let t = 2;
  while (points(t) < count) t += 1;
  const unit = 1 / ((growth - 1) * points(t - 1) + points(t));
  return [growth * points(t - 1) * unit, (growth * points(t - 2) + points(t - 1) - points(t - 2)) * unit];
}

export class Device {
  #exports;
  #storage;

  constructor(exports, storage) {
    this.#exports = exports;
    this.#storage = storage;
  }

  static async load(source, storage = globalThis.localStorage) {
    const bytes = source instanceof ArrayBuffer || ArrayBuffer.isView(source) ? source : await (await fetch(source)).arrayBuffer();
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Device(instance.exports, storage);
  }

  describe(task) {
    const { id, answers } = this.#ask({ do: "describe", task });
    const [supportsTruth, supportsOther] = supports(task);
    const { question, mechanism, epsilon } = task;
    const choices = task.domain.choices ?? null;
    const lifetimeEpsilon = task["lifetime-epsilon"];
    return { id, question, choices, mechanism, epsilon, lifetimeEpsilon, answers, supportsTruth, supportsOther };
  }

  hasAnswered(task) {
    const key = this.#storage.getItem(KEY);
    // Without a key nothing was ever answered; this call creates none.
    if (key === null) return false;
    const { name } = this.#ask({ do: "name", task, key });
    return this.#ask({ do: "answered", task, key, record: this.#storage.getItem(name) }).answered;
  }

  respond(task, answer, now = Date.now()) {
    return this.#alone(() => this.#respond(task, answer, now));
  }

  /** One tab at a time: two that answer at once would both spend. Storage private to this page needs no lock. */
  async #alone(act) {
    const locks = globalThis.navigator?.locks;
    if (locks) return locks.request(KEY, act);
    if (this.#storage !== globalThis.localStorage) return act();
    throw new Error("this browser cannot keep two tabs from answering at once (https may be required); nothing was sent");
  }

  #respond(task, answer, now) {
    const handed = given(task.domain, answer);
    const key = this.#key();
    const { name } = this.#ask({ do: "name", task, key });
    const record = this.#storage.getItem(name);
    const request = { do: "respond", task, ...handed, now: Math.floor(now / 1000), key, seed: randomBytes(), record };
    const response = this.#ask(request);
    // Stored before it is sent; if that fails, this throws and nothing is sent.
    this.#storage.setItem(name, response.record);
    if (this.#storage.getItem(name) !== response.record) throw new Error("the browser's storage did not keep the record; nothing was sent");
    return response.report;
  }

  #key() {
    const known = this.#storage.getItem(KEY);
    if (known !== null) return known;
    const key = randomBytes();
    this.#storage.setItem(KEY, key);
    return key;
  }

  #ask(request) {
    for (const byte of new TextEncoder().encode(JSON.stringify(request))) this.#exports.reticent_push(byte);
    const bytes = new Uint8Array(this.#exports.reticent_answer());
    for (let index = 0; index < bytes.length; index++) bytes[index] = this.#exports.reticent_pull(index);
    const answer = JSON.parse(new TextDecoder().decode(bytes));
    if ("error" in answer) throw new Error(answer.error);
    return answer;
  }
}

export async function send(url, report) {
  // As plain text any site may send it without a preflight request.
  const options = { method: "POST", headers: { "Content-Type": "text/plain" }, body: JSON.stringify(report), credentials: "omit" };
  const response = await fetch(url, { ...options, referrerPolicy: "no-referrer" });
  const told = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(told.error?.message ?? `the collector returned status ${response.status}`);
  const rejected = Object.keys(told.rejected ?? {}).filter((reason) => reason !== "duplicate");
  if (rejected.length > 0) throw new Error(`the collector rejected the report: ${rejected.join(", ")}`);
}
