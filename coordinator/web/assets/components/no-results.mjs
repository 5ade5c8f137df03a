// What a view shows of a sweep in which no trial has a metric: why, and what to do about it.
import { counted } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { hrefOf } from "../lib/route.mjs";

/** @import { SweepItem } from "../../api" */

/** @param {{sweep: SweepItem}} props */
export function NoResults({ sweep: { id, state, progress } }) {
  const { completed, failed, running, queued } = progress;
  const overview = hrefOf(["sweep", id]);
  if (completed > 0)
    return html`<p>${counted(completed, "trial")} completed, and none reported a metric.</p>`;
  if (failed > 0)
    return html`<p>
      No trial has completed. ${counted(failed, "trial")} failed:${" "}
      <a href=${overview}>why they failed</a>.
    </p>`;
  if (state === "finished" || state === "cancelled")
    return html`<p>No trial was completed before the sweep was ${state}.</p>`;
  return html`<p>
    No trial has completed yet.${" "}
    ${
      running + queued > 0
        ? "Results appear here as they arrive."
        : html`
          None is running: <code>sweep run FILE</code> continues the sweep on this machine,${" "}
          <code>sweep worker</code> adds a worker to a cluster.
        `
    }
  </p>`;
}
