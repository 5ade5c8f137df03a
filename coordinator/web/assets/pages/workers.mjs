// The workers of the cluster: what each offers, runs and refused.
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../components/problem.mjs";
import { State } from "../components/state.mjs";
import { Status } from "../components/status.mjs";
import { Table, numeric } from "../components/table.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { count, dateTime, duration, secondsBetween } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { paused } from "../lib/live.mjs";
import { hrefOf } from "../lib/route.mjs";

/** @import { Worker } from "../../api" */

const pollEvery = 3000; // milliseconds

export function Workers() {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!paused.value) setVersion((n) => n + 1);
    }, pollEvery);
    return () => clearInterval(timer);
  }, []);
  const { answer, error } = useAnswer("workers", {}, version);
  if (!answer)
    return html`
      <h1>Workers</h1>
      <${Status} answer=${null} error=${error} />
    `;
  if (!answer.cluster)
    return html`
      <h1>Workers</h1>
      <p>
        This dashboard reads a database and is not connected to a cluster. To see workers,
        use${" "}
        <code>sweep run --ui</code>, <code>sweep coordinator --ui</code> or${" "}
        <code>sweep ui --nats</code>.
      </p>
    `;
  const { workers } = answer;
  const slots = workers.flatMap((worker) => worker.slots);
  const busy = slots.filter((slot) => slot.trial).length;
  return html`
    <h1>
      Workers${" "}
      <small>${count(workers.length)}, ${count(busy)} of ${count(slots.length)} slots busy</small>
    </h1>
    <${Problem} error=${error} />
    ${
      workers.length === 0
        ? html`<p>No workers are running. <code>sweep worker</code> starts one.</p>`
        : html`<${List} workers=${workers} />`
    }
    <${Refusals} workers=${workers} />
  `;
}

/** @param {{workers: Worker[]}} props */
function List({ workers }) {
  const columns = ["Worker", "Pool", "State", "Slots", "Offers", numeric("Uptime"), "Version"];
  return html`<${Table} label="Workers" columns=${columns}>
    ${workers.map(
      (worker) => html`<tr key=${worker.id}>
        <td><strong>${worker.name}</strong></td>
        <td>${worker.pool}</td>
        <td>
          <${State} state=${worker.state} />
          ${worker.reason && html`<br /><span class="quiet">${worker.reason}</span>`}
          ${worker.problem && html`<br /><span class="quiet">${worker.problem}</span>`}
        </td>
        <td>${worker.slots.map((slot, i) => html`<${Slot} key=${i} slot=${slot} />`)}</td>
        <td class="wrap">${worker.offer}</td>
        <td class="num">${duration(secondsBetween(worker.started_at))}</td>
        <td>${worker.version}</td>
      </tr>`,
    )}
  <//>`;
}

/** @param {{slot: Worker["slots"][number]}} props */
function Slot({ slot: { trial, since } }) {
  if (!trial) return html`<div class="none">idle</div>`;
  return html`<div>
    <a href=${hrefOf(["trial", trial.sweep, trial.index])}>trial ${trial.index}</a>${" "}
    <span class="quiet">for ${duration(secondsBetween(since))}</span>
  </div>`;
}

/** @param {{workers: Worker[]}} props */
function Refusals({ workers }) {
  const refusals = workers.flatMap(({ name, refusals }) =>
    (refusals || []).map((refusal) => ({ ...refusal, worker: name })),
  );
  if (refusals.length === 0) return null;
  return html`
    <h2>Recent refusals</h2>
    <p class="quiet">A refusal is not a failure: the trial goes to another worker.</p>
    <${Table} label="Refusals" columns=${["Worker", "Trial", "Time", "Reason"]}>
      ${refusals.map(
        ({ worker, sweep, index, at, reason }, i) => html`<tr key=${i}>
          <td>${worker}</td>
          <td><a href=${hrefOf(["trial", sweep, index])}>${index}</a></td>
          <td>${dateTime(at)}</td>
          <td class="wrap">${reason}</td>
        </tr>`,
      )}
    <//>
  `;
}
