/**
 * The question, how answers are randomised, and for how long: as published by the service, or as printed by
 * `reticent local task show --format json`. Every field is present except
 * `allow-large-epsilon`, which is there only if it is true: defaults are filled in, and `auto` is resolved.
 */
export interface Task {
  question: string;
  domain:
    | { choices: string[] }
    | { integers: { lower: number; upper: number } }
    | { numbers: string }
    | { texts: { alphabet: string; longest: number } };
  /** Exact numbers are written as text: "1", "0.5". */
  epsilon: string;
  mechanism: string;
  memoisation: "first" | "per-answer" | "never";
  "lifetime-epsilon": string;
  /** Confirms a lifetime ε above 10, which protects next to nothing. */
  "allow-large-epsilon"?: boolean;
  "minimum-batch": number;
  "time-precision": "none" | "hour" | "day" | "week";
  /** A day, such as "2030-01-31". */
  expires: string;
}

/** A task, for the person who answers. */
export interface Description {
  id: string;
  question: string;
  choices: string[] | null;
  mechanism: string;
  epsilon: string;
  lifetimeEpsilon: string;
  /** How many answers the lifetime ε pays for. With `memoisation` `never` a device sends nothing after that. */
  answers: number;
  /** Probability that a report supports the true answer, and any other one. Null for numbers and texts. */
  supportsTruth: number | null;
  supportsOther: number | null;
}

/** What a device sends. */
export interface Report {
  task: string;
  id: string;
  period?: number;
  response: { value: number } | { set: string } | { bit: boolean } | { prefix: { level: number; point: string } };
}

/** The part of `Storage` that a device needs. */
export interface DeviceStorage {
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
}

export class Device {
  /**
   * Loads the WebAssembly from an address or from bytes. What the device must remember is kept in `storage`, by default
   * `localStorage`; clearing it makes the device spend its privacy budget again.
   */
  static load(source: string | URL | ArrayBuffer | ArrayBufferView, storage?: DeviceStorage): Promise<Device>;

  /** What the task asks, and what a report would reveal. Nothing is spent. */
  describe(task: Task): Description;

  /** Whether this device has answered as often as the task allows; `respond` then throws. Always false unless `memoisation` is `never`. */
  hasAnswered(task: Task): boolean;

  /**
   * Randomises the answer and remembers the response; the returned report is all that may leave the page. `now` is in
   * milliseconds since 1970. Tabs take turns, so that one answer is spent once; where they cannot (`localStorage` on a page without
   * https) it throws, and nothing is sent. Keep the report until it has been sent: it may be sent again and counts once, and a
   * device that has answered as often as the task allows makes no other.
   */
  respond(task: Task, answer: string | number, now?: number): Promise<Report>;
}

/** Posts a report without cookies or referrer; throws unless it counts, now or before. */
export function send(url: string | URL, report: Report): Promise<void>;
