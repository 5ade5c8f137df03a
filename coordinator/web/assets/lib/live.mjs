// Live changes of sweeps, as server-sent events report them.
import { signal } from "@preact/signals";
import { loadSession, session } from "./request.mjs";

/** @import { SweepItem } from "../../api" */

/** Sweeps by id, as they were reported last. */
export const liveSweeps = signal(/** @type {Record<string, SweepItem>} */ ({}));

/** How often each sweep has changed, by id; "all" counts the changes of all sweeps. */
export const versions = signal(/** @type {Record<string, number>} */ ({}));

/** Grows when changes may have been missed. */
export const resets = signal(0);

export const connected = signal(false);

/** Since when the server has not answered; null while it does. */
export const unreachableSince = signal(/** @type {Date | null} */ (null));

/** What stalls the trials, "" if nothing does. */
export const problem = signal("");

/** Keeps the pages as they are. */
export const paused = signal(false);

// Browsers open at most six connections to a server, for all their pages together: a page
// that nobody looks at closes its stream, and requests everything again afterwards.
let stream = /** @type {EventSource | null} */ (null);
let wanted = false;

addEventListener("pagehide", disconnect);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) disconnect();
  else if (wanted) reconnect();
});
addEventListener("pageshow", (event) => {
  if (event.persisted && wanted) reconnect();
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

/** reset has every view request its answer again: what was reported may be out of date. */
function reset() {
  /** @type {Record<string, number>} */
  const next = { all: 0, ...versions.value };
  for (const id of Object.keys(next)) next[id]++;
  liveSweeps.value = {};
  versions.value = next;
  resets.value++;
}

/** connect opens the stream of changes. */
export function connect() {
  wanted = true;
  if (stream) stream.close();
  if (document.hidden) return;
  const opened = new EventSource("api/events");
  stream = opened;
  opened.addEventListener("hello", () => {
    connected.value = true;
    problem.value = ""; // it is reported again
    if (unreachableSince.value) reset(); // changes in between were not reported
    unreachableSince.value = null;
  });
  opened.addEventListener("error", () => {
    connected.value = false;
    unreachableSince.value ||= new Date();
    // Unless the stream is closed, the browser reconnects by itself.
    if (opened.readyState === EventSource.CLOSED) setTimeout(() => reopen(opened), 3000);
  });
  opened.addEventListener("sweep", (event) => {
    /** @type {SweepItem} */
    const sweep = JSON.parse(event.data);
    const count = versions.value;
    liveSweeps.value = { ...liveSweeps.value, [sweep.id]: sweep };
    versions.value = {
      ...count,
      [sweep.id]: (count[sweep.id] || 0) + 1,
      all: (count.all || 0) + 1,
    };
  });
  opened.addEventListener("problem", (event) => {
    problem.value = JSON.parse(event.data).problem;
  });
  opened.addEventListener("deleted", reset);
  opened.addEventListener("anew", reset);
}

/**
 * reopen replaces a stream that the server closed, if the session still may read.
 * @param {EventSource} closed
 */
async function reopen(closed) {
  if (closed !== stream) return;
  await loadSession().catch(() => {});
  if (closed !== stream) return;
  if (session.value.reads) connect();
  else disconnect();
}
