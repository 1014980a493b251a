// A survey: the answer is randomised on this page, and only the randomised report is sent.

import { Device, send } from "/assets/reticent.js";

const at = (id) => document.getElementById(id);
const name = decodeURIComponent(location.pathname.split("/").pop());
const address = `/v1/local/${encodeURIComponent(name)}`;
const percent = (probability) => `${(100 * probability).toFixed(1)} %`;

function tell(problem) {
  at("problem").textContent = problem;
  at("problem").hidden = false;
}

function show(id, text) {
  if (text !== undefined) at(id).textContent = text;
  at(id).hidden = false;
}

/** Inputs for the answers that the task allows. */
function inputs(task) {
  const domain = task.domain;
  const label = (text, input) => {
    const element = document.createElement("label");
    element.append(...(input.type === "radio" ? [input, ` ${text}`] : [text, input]));
    return element;
  };
  const input = (type, more) => Object.assign(document.createElement("input"), { type, name: "answer", required: true, ...more });
  if (domain.choices) return domain.choices.map((choice) => label(choice, input("radio", { value: choice })));
  if (domain.integers) {
    const { lower, upper } = domain.integers;
    return [label(`A whole number from ${lower} to ${upper}`, input("number", { min: lower, max: upper, step: 1 }))];
  }
  if (domain.numbers) return [label(`A number in ${domain.numbers}`, input("number", { step: "any" }))];
  return [label(`A text of up to ${domain.texts.longest} letters`, input("text", { maxLength: domain.texts.longest }))];
}

/** The most that an observer of the report can learn. */
function deniability(description) {
  const { epsilon, supportsTruth, supportsOther } = description;
  const odds = Math.exp(Number(epsilon));
  const most = `Anyone who reads your report, and knows how it was made, can raise or lower the odds of any guess about you by at
    most a factor of ${odds < 1000 ? odds.toFixed(2) : odds.toExponential(1)} (ε = ${epsilon}).`.replace(/\s+/g, " ");
  if (supportsTruth === null) return `Chance decides what your report says; your answer only changes the odds. ${most}`;
  return `Chance decides what your report says: it supports your true answer with probability ${percent(supportsTruth)}, and any
    other one with probability ${percent(supportsOther)}. ${most}`.replace(/\s+/g, " ");
}

/** What this browser does when the survey asks again. */
const AGAIN = {
  first: "This browser remembers the randomised answer and repeats it whenever this survey asks again, so repeated questions reveal nothing more.",
  "per-answer":
    "This browser remembers one randomised answer for each true one, so repeated questions reveal nothing more about your answers. But an observer may notice when your answer changes, and whether it is the same as an earlier one.",
  never: "Every report is randomised afresh. This browser makes only as many as the privacy guarantee for all of them together allows.",
};
const ONCE = "You can answer once in this browser.";

/** This browser has answered as often as the survey allows. */
function already(answers) {
  if (answers === 1) return "This browser has already answered this survey, which accepts one answer per browser. Nothing more will be sent.";
  return `This browser has already answered this survey ${answers} times, the most allowed. Nothing more will be sent.`;
}

/** The report made in this tab and not sent yet: the only one, even after the page is reloaded. */
const UNSENT = `unsent ${address}`;

function meaning(response, description) {
  const { choices } = description;
  if (!choices) return "";
  if (response.value !== undefined && description.mechanism === "k-ary")
    return `It says “${choices[response.value]}”, which may be the truth or not.`;
  if (response.value !== undefined && description.mechanism === "fair-coin")
    return `It says “${choices[response.value]}”, which may be the truth or not.`;
  return "It supports many answers at once, chosen by chance.";
}

async function start() {
  const answer = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer" });
  if (!answer.ok) throw new Error((await answer.json()).error?.message ?? `the collector returned status ${answer.status}`);
  const task = await answer.json();
  const device = await Device.load("/assets/reticent.wasm");
  const description = device.describe(task);
  document.title = description.question;
  show("question", description.question);
  show("deniable", deniability(description));
  show("again", task.memoisation === "never" && description.answers === 1 ? ONCE : AGAIN[task.memoisation]);
  const unsent = JSON.parse(sessionStorage.getItem(UNSENT));
  if (unsent?.task === description.id) {
    show("why");
    offer(unsent, description);
    return;
  }
  if (device.hasAnswered(task)) {
    show("done", already(description.answers));
    return;
  }
  at("answers").append(...inputs(task));
  show("why");
  show("ask");
  at("ask").addEventListener("submit", async (event) => {
    event.preventDefault();
    at("problem").hidden = true;
    try {
      const report = await device.respond(task, new FormData(at("ask")).get("answer"));
      // Only one report can be sent: choosing among several would reveal the choice.
      at("answers").disabled = true;
      at("ask").querySelector("button").disabled = true;
      offer(report, description);
      sessionStorage.setItem(UNSENT, JSON.stringify(report));
    } catch (error) {
      tell(error.message);
    }
  });
}

function offer(report, description) {
  show("sent", JSON.stringify(report, null, 2));
  show("meaning", meaning(report.response, description));
  show("report");
  at("send").addEventListener("click", () => post(report));
  at("send").focus();
}

async function post(report) {
  at("send").disabled = true;
  at("problem").hidden = true;
  try {
    await send(`${address}/reports`, report);
    sessionStorage.removeItem(UNSENT);
    show("done", "Sent. Thank you! Your report is randomised: it does not show for certain what you answered.");
  } catch (error) {
    at("send").disabled = false;
    tell(error.message);
  }
}

start().catch((error) => tell(error.message));
