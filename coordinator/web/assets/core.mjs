// What all pages share: templates, the address, requests, live changes, formats.
import { h, Fragment } from "preact";
import { useEffect, useRef, useState, useCallback, useMemo } from "preact/hooks";
import { signal, computed } from "@preact/signals";
import htm from "htm";

export const html = htm.bind(h);
export { Fragment, useEffect, useRef, useState, useCallback, useMemo, signal, computed };

// ---- The address: #/path?name=value&name=value holds the whole view.

function parse() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  return {
    path: path.split("/").filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(query),
  };
}

export const route = signal(parse());
let shown = location.hash;
const follow = () => {
  shown = location.hash;
  route.value = parse();
};
addEventListener("hashchange", () => {
  if (location.hash !== shown) follow();
});

// hrefOf writes an address: null or "" leaves a name out, a list repeats it.
export function hrefOf(path, values = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "" && one !== false)
        query.append(name, one === true ? "1" : one);
    }
  }
  const text = query.toString();
  return "#/" + path.map(encodeURIComponent).join("/") + (text ? "?" + text : "");
}

// change gives the view other values and keeps the rest; unless push is true it
// leaves no trace in the history.
export function change(values, push = false) {
  const { path, query } = route.value;
  const all = {};
  for (const name of query.keys()) all[name] = query.getAll(name);
  const href = hrefOf(path, { ...all, ...values });
  if (push) location.hash = href;
  else history.replaceState(null, "", href);
  follow();
}

// ---- Requests

export class RequestError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export const session = signal({
  reads: true,
  acts: false,
  can_sign_in: false,
  cluster: false,
});

export async function ask(path, values = {}, options = {}) {
  const query = hrefOf([], values).slice(2);
  const begin = performance.now();
  const response = await fetch("api/" + path + query, options);
  const answer = await response.json().catch(() => ({ error: response.statusText }));
  slowest = Math.max(0.8 * slowest, performance.now() - begin);
  if (!response.ok) {
    if (response.status === 401 && !options.method) loadSession();
    throw new RequestError(response.status, answer.error);
  }
  return answer;
}

export const post = (path, body, method = "POST") =>
  ask(
    path,
    {},
    {
      method,
      body: JSON.stringify(body),
      headers: {
        "Content-Type": "application/json",
        "X-Sweep-CSRF": session.value.csrf || "",
      },
    },
  );

export async function loadSession() {
  const response = await fetch("api/session");
  if (response.ok) session.value = await response.json();
}

// begin asks before the view is there that wants the answer.
const begun = new Map();
export function begin(path, values = {}) {
  const asked = ask(path, values);
  asked.catch(() => {}); // who takes it hears of it
  begun.set(path + hrefOf([], values), asked);
}

// useAnswer asks, again whenever the question or the time (a signal's value) is
// another one, and while not all trials were read. An older answer stays until the
// next one is there: stale is one to another question, behind one of an earlier time too.
export function useAnswer(path, values = {}, time = 0) {
  const key = path === null ? null : path + hrefOf([], values);
  const [state, set] = useState({ answer: null, error: null, key: null, time: null });
  useEffect(() => {
    if (key === null) return undefined;
    let ended = false,
      timer = 0;
    const stop = new AbortController();
    const later = () =>
      paused.value || document.hidden ? (timer = setTimeout(later, 1000)) : once();
    const once = async () => {
      try {
        const early = begun.get(key);
        begun.delete(key);
        const answer = await (early || ask(path, values, { signal: stop.signal }));
        if (ended) return;
        set({ answer, error: null, key, time });
        if (answer && answer.read && !answer.read.complete) timer = setTimeout(once, 700);
        else if (answer && answer.read && answer.read.again)
          timer = setTimeout(later, pause() + 1000); // unless a change comes before
      } catch (error) {
        if (ended || error.name === "AbortError") return;
        set((old) => ({ ...old, error, key, time }));
        if (error.status >= 500) timer = setTimeout(later, pause() + 1000); // the server's trouble may pass
      }
    };
    once();
    return () => {
      ended = true;
      clearTimeout(timer);
      stop.abort();
    };
  }, [key, time]);
  return {
    ...state,
    stale: state.key !== key,
    behind: state.key !== key || state.time !== time,
  };
}

// ---- Live changes: sweeps by id as they were told last, and how often each was.

export const live = signal({});
export const changes = signal({});
export const connected = signal(false);
// lost is since when the server has not answered; null while it does.
export const lost = signal(null);
// problem is what keeps trials from advancing, "" if nothing does.
export const problem = signal("");
// missed grows when changes may have been missed.
export const missed = signal(0);
// paused keeps what is shown as it is.
export const paused = signal(false);

// Browsers open six connections to a server at most, for all pages together: a page
// that is not looked at gives its own up, and asks for everything anew afterwards.
let source = null,
  wanted = false;
addEventListener("pagehide", hush);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) hush();
  else if (wanted) again();
});
addEventListener("pageshow", (e) => {
  if (e.persisted && wanted) again();
});

function hush() {
  if (source) source.close();
  source = null;
  connected.value = false;
}

function again() {
  anew();
  listen();
}

// anew has everything asked for: what was told last may be long past.
function anew() {
  const next = { all: (changes.value.all || 0) + 1 };
  for (const id of Object.keys(changes.value)) next[id] = changes.value[id] + 1;
  live.value = {};
  changes.value = next;
  missed.value++;
}

export function listen() {
  wanted = true;
  if (source) source.close();
  if (document.hidden) return;
  const own = (source = new EventSource("api/events"));
  source.addEventListener("hello", () => {
    connected.value = true;
    problem.value = ""; // it is told anew
    if (lost.value) anew(); // what changed meanwhile nobody told
    lost.value = null;
  });
  source.addEventListener("error", () => {
    connected.value = false;
    lost.value ||= new Date();
    if (own.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    setTimeout(() => {
      if (own === source)
        loadSession()
          .catch(() => {})
          .then(() => {
            if (own === source) {
              if (session.value.reads) listen();
              else hush();
            }
          });
    }, 3000);
  });
  source.addEventListener("sweep", (e) => {
    const one = JSON.parse(e.data);
    live.value = { ...live.value, [one.id]: one };
    changes.value = {
      ...changes.value,
      [one.id]: (changes.value[one.id] || 0) + 1,
      all: (changes.value.all || 0) + 1,
    };
  });
  source.addEventListener("problem", (e) => {
    problem.value = JSON.parse(e.data).problem;
  });
  source.addEventListener("deleted", anew);
  source.addEventListener("anew", anew);
}

// slowest is how long answers took lately, in milliseconds: what takes long is asked
// for less often, so that an open page costs a server that trains one part in two hundred at most.
let slowest = 0;
const pause = () => Math.min(Math.max(3000, 200 * slowest), 20000);

// useTime returns a number that grows when a sweep has changed, at most every third
// second. How far a sweep is comes with the changes themselves, each second.
export function useTime(id) {
  const now = changes.value[id] || 0;
  const [time, set] = useState(now);
  const last = useRef(Date.now());
  useEffect(() => {
    if (paused.value || now === time) return undefined;
    const wait = Math.max(0, pause() - (Date.now() - last.current));
    const timer = setTimeout(() => {
      last.current = Date.now();
      set(now);
    }, wait);
    return () => clearTimeout(timer);
  }, [now, time, paused.value]);
  return time;
}

// ---- Formats

const integer = new Intl.NumberFormat("en");
export const count = (n) => (n === null || n === undefined ? "" : integer.format(n));

export function number(v, digits = 4) {
  if (v === null || v === undefined) return "";
  if (typeof v !== "number") return typeof v === "string" ? v : JSON.stringify(v);
  if (Number.isInteger(v) && Math.abs(v) < 1e6) return String(v);
  const size = Math.abs(v);
  if (size !== 0 && (size < 1e-4 || size >= 1e6))
    return v
      .toExponential(digits - 1)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e");
  return String(Number(v.toPrecision(digits)));
}

// exact is for titles and parameters: every digit that there is.
export const exact = (v) =>
  v === null || v === undefined ? "none" : typeof v === "string" ? v : JSON.stringify(v);

export function when(text) {
  if (!text) return "";
  return new Date(text).toLocaleString("en-GB", {
    dateStyle: "medium",
    timeStyle: "short",
  });
}

export function lasting(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "";
  if (seconds < 60) return number(seconds, 3) + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min " + Math.round(seconds % 60) + " s";
  return Math.floor(seconds / 3600) + " h " + Math.round((seconds % 3600) / 60) + " min";
}

export function size(bytes) {
  if (bytes < 1024) return bytes + " B";
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let v = bytes / 1024,
    i = 0;
  while (v >= 1024 && i < units.length - 1) {
    v /= 1024;
    i++;
  }
  return number(v, 3) + " " + units[i];
}

// ---- What is seen on several pages

export const shapes = {
  completed: "✓",
  finished: "✓",
  failed: "✕",
  diverged: "≈",
  running: "▶",
  active: "▶",
  queued: "◔",
  pending: "○",
  cancelled: "⊘",
  waiting: "⏳",
  paused: "❚❚",
};

export const State = ({ state }) => html`<span class=${"state " + state}>
  <span aria-hidden="true">${shapes[state] || "•"}</span>
  ${state}
</span>`;

// States are the states of trials in the order in which they are drawn.
export const states = [
  "completed",
  "diverged",
  "failed",
  "running",
  "queued",
  "cancelled",
  "pending",
];

// partsOf divides the trials of a sweep into states that do not overlap.
export const partsOf = (p) => ({
  completed: p.completed - p.diverged,
  diverged: p.diverged,
  failed: p.failed,
  running: p.running,
  queued: p.queued,
  cancelled: p.cancelled,
  pending: p.pending,
});

export function Progress({ progress }) {
  const parts = partsOf(progress);
  const total = Math.max(
    1,
    Object.values(parts).reduce((a, b) => a + b, 0),
  );
  const label =
    states
      .filter((s) => parts[s] > 0)
      .map((s) => `${count(parts[s])} ${s}`)
      .join(", ") || "no trials";
  let at = 0;
  return html`<div class="progress" role="img" aria-label=${label} title=${label}>
    <svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
      ${states
        .filter((s) => s !== "pending")
        .map((s) => {
          const x = at;
          const w = (parts[s] / total) * 1000;
          at += w;
          return (
            w > 0 &&
            html`<rect
              key=${s}
              x=${x}
              y="0"
              width=${Math.max(w, 2)}
              height="10"
              fill=${`var(--bar-${s})`}
            />`
          );
        })}
    </svg>
  </div>`;
}

export const Problem = ({ error }) =>
  error ? html`<p class="note error" role="alert">${error.message}</p>` : null;

// Reading says so whenever an answer is about less than all trials.
export function Reading({ read }) {
  if (!read || (read.complete && read.trials >= read.of)) return null;
  if (!read.complete)
    return html`<p class="note" role="status">
      Trials are being read: ${count(read.trials)} of ${count(read.of)} so far. What is
      shown is about these.
    </p>`;
  return html`<p class="note" role="status">
    ${count(read.trials)} of ${count(read.of)} trials have begun to be written; the others
    are pending and have no row yet.
  </p>`;
}

// Cell shows a value, and says what a missing one means: never 0.
export function Cell({ value, state, kind }) {
  if (value === null || value === undefined) {
    if (kind === "metric" && state === "completed")
      return html`<span class="none" title="not reported, or NaN or infinite">NaN or none</span>`;
    if (kind === "metric" && (state === "failed" || state === "diverged"))
      return html`<span class="none">${state}</span>`;
    return html`<span class="none" title="none">
      –
    </span>`;
  }
  return html`<span title=${exact(value)}>${number(value, kind === "metric" ? 5 : 6)}</span>`;
}

export const Waiting = () => html`<p class="quiet" role="status">Loading …</p>`;

export function copy(text) {
  return navigator.clipboard
    ? navigator.clipboard.writeText(text)
    : Promise.reject(new Error("the clipboard is closed to pages that came over plain HTTP"));
}

// Dialog is a modal one, which Escape closes.
export function Dialog({ title, close, children }) {
  const ref = useRef(null);
  useEffect(() => {
    ref.current.showModal();
  }, []);
  return html`<dialog ref=${ref} onClose=${close} aria-label=${title}>
    <h2>${title}</h2>
    ${children}
    <p class="controls"><button onClick=${() => ref.current.close()}>Close</button></p>
  </dialog>`;
}
