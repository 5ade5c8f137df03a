// Live changes of sweeps, as server-sent events report them.
import { signal } from "@preact/signals";
import { loadSession, session } from "./request.mjs";

export const liveSweeps = signal({});

export const versions = signal({});

export const connected = signal(false);

// unreachableSince is since when the server has not answered; null while it does.
export const unreachableSince = signal(null);

// problem is what keeps trials from advancing, "" if nothing does.
export const problem = signal("");

// resets grows when changes may have been missed.
export const resets = signal(0);

// paused keeps what is shown as it is.
export const paused = signal(false);

// Browsers open six connections to a server at most, for all pages together: a page
// that is not looked at gives its own up, and asks for everything anew afterwards.
let stream = null,
  wanted = false;

addEventListener("pagehide", disconnect);

document.addEventListener("visibilitychange", () => {
  if (document.hidden) disconnect();
  else if (wanted) reconnect();
});

addEventListener("pageshow", (e) => {
  if (e.persisted && wanted) reconnect();
});

function disconnect() {
  if (stream) stream.close();
  stream = null;
  connected.value = false;
}

function reconnect() {
  reset();
  connect();
}

// reset has every view ask again: what was reported last may be long past.
function reset() {
  const next = { all: (versions.value.all || 0) + 1 };
  for (const id of Object.keys(versions.value)) next[id] = versions.value[id] + 1;
  liveSweeps.value = {};
  versions.value = next;
  resets.value++;
}

export function connect() {
  wanted = true;
  if (stream) stream.close();
  if (document.hidden) return;
  const own = (stream = new EventSource("api/events"));
  stream.addEventListener("hello", () => {
    connected.value = true;
    problem.value = ""; // it is told anew
    if (unreachableSince.value) reset(); // what changed meanwhile nobody told
    unreachableSince.value = null;
  });
  stream.addEventListener("error", () => {
    connected.value = false;
    unreachableSince.value ||= new Date();
    if (own.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    setTimeout(() => {
      if (own === stream)
        loadSession()
          .catch(() => {})
          .then(() => {
            if (own === stream) {
              if (session.value.reads) connect();
              else disconnect();
            }
          });
    }, 3000);
  });
  stream.addEventListener("sweep", (e) => {
    const one = JSON.parse(e.data);
    liveSweeps.value = { ...liveSweeps.value, [one.id]: one };
    versions.value = {
      ...versions.value,
      [one.id]: (versions.value[one.id] || 0) + 1,
      all: (versions.value.all || 0) + 1,
    };
  });
  stream.addEventListener("problem", (e) => {
    problem.value = JSON.parse(e.data).problem;
  });
  stream.addEventListener("deleted", reset);
  stream.addEventListener("anew", reset);
}
