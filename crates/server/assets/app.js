// The dashboard. Everything comes from this server; text is only ever set as text, never as markup.
"use strict";

const RECENT = 20; // releases in the table
const ENTRIES = 1000; // entries of a dataset's history
const KEYS_SHOWN = 8; // keys of a release in the table
const REFRESH = 10_000; // milliseconds between refreshes of streams and budgets
const RETRY = 2_000; // milliseconds before reconnecting

const $ = (id) => document.getElementById(id);
const token = () => sessionStorage.getItem("token");
let shown = null; // the stream that is shown
let following = null; // aborts the connection that follows it
let chartAddress = null;

function element(name, text, properties = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  Object.assign(made, properties);
  return made;
}

async function ask(path, options = {}) {
  const headers = { ...(options.headers || {}) };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  if (options.body) headers["Content-Type"] = "application/json";
  const response = await fetch(path, { ...options, headers });
  if (response.ok) return response;
  const problem = await response.json().catch(() => null);
  const error = new Error(problem?.error?.message || `the service returned status ${response.status}`);
  error.status = response.status;
  error.field = problem?.error?.field;
  if (response.status === 401) signIn();
  throw error;
}

const read = async (path) => (await ask(path)).json();
// Up to `most` of a list, page by page: a page of long entries has few.
async function readAll(path, list, cursor, from, most) {
  const all = [];
  for (let next = from; next !== null && all.length < most;) {
    const page = await read(`${path}?${cursor}=${next}&limit=${most - all.length}`);
    all.push(...page[list]);
    next = page.next;
  }
  return all;
}
const write = async (path, value) => (await ask(path, { method: "POST", body: JSON.stringify(value) })).json();

function signIn() {
  $("sign-in").hidden = false;
  $("main").hidden = true;
  $("token").focus();
}

function problem(form, error) {
  const place = form.querySelector(".problem");
  form.querySelectorAll("[aria-invalid]").forEach((input) => input.removeAttribute("aria-invalid"));
  place.hidden = !error;
  place.textContent = error ? error.message : "";
  const input = error?.field && form.elements[error.field];
  if (input) {
    input.setAttribute("aria-invalid", "true");
    input.focus();
  }
}

function table(place, header, rows) {
  const head = element("tr");
  header.forEach(([name, numeric]) => head.append(element("th", name, { scope: "col", className: numeric ? "number" : "" })));
  place.tHead.replaceChildren(head);
  place.tBodies[0].replaceChildren(...rows.map((cells) => {
    const row = element("tr");
    cells.forEach((cell, at) => row.append(element("td", cell, { className: header[at][1] ? "number" : "" })));
    return row;
  }));
}

const rounded = (number) => Number.isInteger(number) ? String(number) : Number(number.toPrecision(4)).toString();
const time = (text) => new Date(text).toLocaleTimeString();

// ── streams ──

async function showStreams() {
  const { streams } = await read("/v1/streams");
  $("no-streams").hidden = streams.length > 0;
  const list = $("stream-list");
  const names = streams.map((stream) => stream.definition.name);
  const known = [...list.children].map((button) => button.dataset.name);
  if (names.join() !== known.join()) {
    list.replaceChildren(...names.map((name) => {
      const button = element("button", name, { type: "button" });
      button.dataset.name = name;
      button.addEventListener("click", () => select(name));
      return button;
    }));
  }
  if (!names.includes(shown)) shown = null;
  if (!shown && names.length) await select(names[0]);
  mark();
}

function mark() {
  for (const button of $("stream-list").children) {
    button.setAttribute("aria-pressed", String(button.dataset.name === shown));
  }
}

async function select(name) {
  shown = name;
  mark();
  following?.abort();
  following = new AbortController();
  $("stream").hidden = false;
  $("newest").textContent = "the first step has not ended yet";
  // First, since it shows new releases and reconnects even if something below fails.
  follow(name, following.signal);
  const stream = await read(`/v1/streams/${name}`);
  $("stream-guarantee").textContent = `${stream.guarantee}; ${stream.guarantee_in_words}; ± is ${stream.half_widths}; steps of ${stream.definition.step}`;
  await showReleases(name);
}

async function showReleases(name) {
  const { steps } = await read(`/v1/streams/${name}`);
  const from = Math.max(1, steps - RECENT + 1);
  const releases = await readAll(`/v1/streams/${name}/releases`, "releases", "from", from, RECENT);
  if (name !== shown) return;
  const newest = releases.at(-1);
  if (newest) {
    $("newest").textContent = newest.values
      ? `${newest.values.length} keys after step ${newest.step}, ± ${rounded(newest.half_width)} each`
      : `${newest.value} ± ${rounded(newest.half_width)} after step ${newest.step}`;
  }
  const rows = [...releases].reverse().map((release) => {
    const value = release.values
      ? release.values.slice(0, KEYS_SHOWN).map(({ key, value }) => `${key}: ${value}`).join(", ") + (release.values.length > KEYS_SHOWN ? ` and ${release.values.length - KEYS_SHOWN} more keys` : "")
      : String(release.value);
    return [String(release.step), time(release.closed), value, rounded(release.half_width)];
  });
  const keyed = Boolean(newest?.values);
  table($("releases"), [["Step", true], ["Closed"], ["Total", !keyed, keyed], ["±", true]], rows);
  await showChart(name, newest);
}

async function showChart(name, newest) {
  const width = Math.min(900, Math.max(320, $("stream").clientWidth));
  const response = await ask(`/v1/streams/${name}/chart.svg?width=${width}&height=${Math.round(width * 0.5)}`);
  const address = URL.createObjectURL(await response.blob());
  if (name !== shown) return URL.revokeObjectURL(address);
  const image = $("chart");
  image.src = address;
  image.dataset.step = newest ? newest.step : 0;
  image.alt = newest ? `Released totals of ${name} up to step ${newest.step}, with their error band; the table below has the numbers` : `No releases of ${name} yet`;
  image.hidden = false;
  if (chartAddress) URL.revokeObjectURL(chartAddress);
  chartAddress = address;
}

// Server-sent events via fetch, since EventSource cannot send a token.
async function follow(name, signal) {
  while (!signal.aborted) {
    try {
      const response = await ask(`/v1/streams/${name}/releases/stream`, { signal });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        const end = text.lastIndexOf("\n\n");
        if (end < 0) continue;
        const news = text.slice(0, end).includes("event: release");
        text = text.slice(end + 2);
        if (news) await showReleases(name);
      }
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY));
  }
}

$("csv").addEventListener("click", async (event) => {
  event.preventDefault();
  const address = URL.createObjectURL(await (await ask(`/v1/streams/${shown}/releases.csv`)).blob());
  const link = element("a", "", { href: address, download: `${shown}.csv` });
  link.click();
  URL.revokeObjectURL(address);
});

$("create").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const given = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value));
  if (given.keys && given.keys !== "selected" && given.keys !== "none") given.keys = given.keys.split(",").map((key) => key.trim()).filter(Boolean);
  if (given.horizon) given.horizon = Number(given.horizon);
  try {
    await write("/v1/streams", given);
    problem(form, null);
    $("new-stream").open = false;
    shown = given.name;
    await showStreams();
    await select(given.name);
    await showBudgets();
  } catch (error) {
    problem(form, error);
  }
});

// ── budgets ──

async function showBudgets() {
  const { datasets } = await read("/v1/datasets");
  $("no-budgets").hidden = datasets.length > 0;
  const list = $("budget-list");
  const open = new Set([...list.querySelectorAll("details[open]")].map((details) => details.dataset.name));
  list.replaceChildren(...datasets.map((dataset, at) => budget(dataset, at, open.has(dataset.name))));
}

function entryOf({ at, kind, cost, caller, description }) {
  const entry = element("li");
  entry.append(element("strong", [kind, cost].filter(Boolean).join(" ")));
  entry.append(element("small", [new Date(at).toLocaleString(), caller && `by ${caller}`].filter(Boolean).join(" ")));
  if (description) entry.append(element("span", description));
  return entry;
}

function budget(dataset, at, open) {
  const place = element("div", undefined, { className: "budget" });
  place.dataset.name = dataset.name;
  const title = element("h3", dataset.name, { id: `budget-${at}` });
  const spent = dataset.spent.map(({ spent, unit }) => `${spent.words} (unit ${unit})`).join("; ") || "nothing";
  place.append(title);
  if (dataset.limit) {
    const bar = element("progress", undefined, { max: 1, value: dataset.share_spent });
    bar.setAttribute("aria-labelledby", title.id);
    place.append(bar, element("p", `${dataset.left.words} left of ${dataset.limit.words}; spent ${spent}`, { className: "hint" }));
  } else {
    place.append(element("p", `no limit; spent ${spent}`, { className: "hint" }));
  }
  if (dataset.suspended) {
    const why = `Suspended: a run (entry ${dataset.suspended}) ended without an answer. No more charges until the data owner reopens it with “reticent ledger reopen”.`;
    place.append(element("p", why, { className: "problem" }));
  }
  const details = element("details");
  details.dataset.name = dataset.name;
  const entries = element("ul", undefined, { className: "entries" });
  const scroll = element("div", undefined, { className: "scroll", tabIndex: 0 });
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", `History of ${dataset.name}`);
  scroll.append(entries);
  details.append(element("summary", `History (${dataset.charges} ${dataset.charges === 1 ? "charge" : "charges"})`), scroll);
  const fill = async () => {
    if (!details.open) return;
    const list = await readAll(`/v1/datasets/${encodeURIComponent(dataset.name)}/history`, "entries", "after", 0, ENTRIES);
    const newestFirst = list.filter((entry) => entry.kind !== "released").reverse();
    entries.replaceChildren(...newestFirst.map(entryOf));
  };
  details.addEventListener("toggle", fill);
  if (open) details.open = true;
  place.append(details);
  return place;
}

// ── query ──

async function showTables() {
  const { tables } = await read("/v1/tables");
  $("tables").textContent = tables.length
    ? "Tables: " + tables.map((table) => `${table.name}${table.columns ? ` (${table.columns.join(", ")})` : ""}`).join("; ")
    : "There are no tables: add some to the configuration as [[table]].";
}

function question(dryRun) {
  const form = $("ask").elements;
  const asked = { sql: form.sql.value, dry_run: dryRun };
  for (const name of ["epsilon", "delta", "request_id"]) {
    if (form[name].value.trim()) asked[name] = form[name].value.trim();
  }
  for (const name of ["max_rows", "max_groups"]) {
    if (form[name].value.trim()) asked[name] = Number(form[name].value);
  }
  if (form.allow_large_epsilon.checked) asked.allow_large_epsilon = true;
  return asked;
}

function cell(value) {
  if (value === null) return "NULL";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.map(cell).join(" ");
  if (value.refused) return "refused";
  const shownValue = typeof value.value === "number" ? rounded(value.value) : cell(value.value);
  if (value.lower !== undefined) {
    const ends = `${rounded(value.lower)}..${rounded(value.upper)}`;
    return `${shownValue} (${ends}${value.nothing_learned ? ": nothing learned" : ""})`;
  }
  // Null is an unbounded error bar: nothing is known of the value.
  const width = (half) => (half === null ? "∞" : rounded(half));
  if ("half_width" in value) return `${shownValue} ± ${width(value.half_width)}`;
  return `${shownValue} (exact)`;
}

const expected = ({ half_width, times }) => half_width === null ? "–" : `± ${rounded(half_width)}${times ? ` × ${times}` : ""}`;
const causes = (column) => column.causes.map(({ what, factor }) => factor ? `${what} (× ${rounded(factor)})` : what).join("; ");

function advised({ settings, effects, withheld_below, but }) {
  const what = settings.map(({ name, column, value }) => `${name} ${column ? `${column}=` : ""}${value}`);
  const errors = effects.map(({ column, ratio }) => `${column} × ${Number(ratio.toFixed(2))}`);
  if (withheld_below !== undefined) errors.push(withheld_below ? `groups below ${withheld_below} units may be withheld` : "no group is withheld");
  return `With ${what.join(", ")}: ${errors.join("; ")} (${but})`;
}

async function answer(dryRun) {
  const form = $("ask");
  if (!form.reportValidity()) return;
  $("answer").hidden = true;
  $("advice").replaceChildren();
  try {
    const given = await write("/v1/query", question(dryRun));
    problem(form, null);
    if (dryRun) {
      const { guarantee, forecast, advice } = given.dry_run;
      $("answer-words").textContent = `Nothing was charged. This would charge ${guarantee} to ${given.dataset}. ${given.words} Errors to expect at 95 % are those of groups of ${forecast.rows} rows; noise only.`;
      table($("rows"), [["Column"], ["Error to expect", true], ["Because of"]], forecast.columns.map((column) => [column.column, expected(column), causes(column)]));
      $("advice").replaceChildren(...advice.map((one) => element("li", advised(one))));
    } else {
      const found = (given.summary.bounds ?? []).map(({ column, bounds }) => bounds === null
        ? `; no bounds found for ${column}, so whatever needs them is refused` : `; bounds of ${column}, found privately: ${bounds}`);
      $("answer-words").textContent = `${given.summary.guarantee}, charged to ${given.dataset}; request ${given.request_id}${found.join("")}; ± is ${given.summary.half_widths}`;
      const numeric = (at) => given.rows.some((row) => row[at] !== null && typeof row[at] === "object");
      table($("rows"), given.columns.map((name, at) => [name, numeric(at)]), given.rows.map((row) => row.map(cell)));
      await showBudgets();
    }
    $("answer").hidden = false;
  } catch (error) {
    problem(form, error);
  }
}

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  answer(false);
});
$("preview").addEventListener("click", () => answer(true));

// ── everything ──

async function start() {
  const who = await read("/v1/whoami");
  $("who").textContent = `${who.name} (${who.role})`;
  $("new-stream").hidden = who.role !== "owner";
  $("query").hidden = who.role === "viewer";
  $("sign-in").hidden = true;
  $("main").hidden = false;
  await Promise.all([showStreams(), showBudgets(), showTables()]);
}

$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", $("token").value.trim());
  try {
    await start();
    problem(event.target, null);
  } catch (error) {
    problem(event.target, error);
  }
});

// The link that `reticent serve` shows has the owner's token after the #; it is not sent, and is removed from the address bar.
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return false;
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname);
  return true;
}

window.addEventListener("hashchange", () => takeToken() && start().catch(() => null));
takeToken();

const refresh = () => document.hidden || $("main").hidden ? null : Promise.all([showStreams(), showBudgets()]).catch(() => null);
start().catch(() => null).finally(() => setInterval(refresh, REFRESH));
