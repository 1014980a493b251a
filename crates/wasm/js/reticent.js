// The local model in a browser: answers are randomised on this page, before anything leaves it.
//
// Types and explanations: reticent.d.ts.

const KEY = "reticent device key";

const hexadecimal = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const randomBytes = () => hexadecimal(crypto.getRandomValues(new Uint8Array(32)));

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
    return this.#ask({ do: "describe", task });
  }

  respond(task, answer, now = Date.now()) {
    const key = this.#key();
    const { name } = this.#ask({ do: "name", task, key });
    const record = this.#storage.getItem(name);
    const request = { do: "respond", task, answer, now: Math.floor(now / 1000), key, seed: randomBytes(), record };
    const response = this.#ask(request);
    // Remembered before it is sent; where it cannot be, this throws and nothing is sent.
    this.#storage.setItem(name, response.record);
    if (this.#storage.getItem(name) !== response.record) throw new Error("the browser's storage forgets; nothing was sent");
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
  // As plain text a page of any site may send it without being asked first.
  const options = { method: "POST", headers: { "Content-Type": "text/plain" }, body: JSON.stringify(report), credentials: "omit" };
  const response = await fetch(url, { ...options, referrerPolicy: "no-referrer" });
  const told = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(told.error?.message ?? `the collector said ${response.status}`);
  const rejected = Object.keys(told.rejected ?? {}).filter((reason) => reason !== "duplicate");
  if (rejected.length > 0) throw new Error(`the collector rejected the report: ${rejected.join(", ")}`);
}
