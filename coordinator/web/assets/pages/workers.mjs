// The workers of the cluster: what each offers, runs and refused.
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../components/problem.mjs";
import { State } from "../components/state.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { count, dateTime, duration } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { paused } from "../lib/live.mjs";
import { hrefOf } from "../lib/route.mjs";

export function Workers() {
  const [version, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!paused.value) tick((n) => n + 1);
    }, 3000);
    return () => clearInterval(timer);
  }, []);
  const { answer, error } = useAnswer("workers", {}, version);
  if (!answer)
    return html`
      <h1>Workers</h1>
      <${Problem} error=${error} />
      ${!error && html`<${Loading} />`}
    `;
  if (!answer.cluster)
    return html`
      <h1>Workers</h1>
      <p>
        This dashboard reads a database, and no cluster is attached to it.${" "}
        <code>sweep run --ui</code> and <code>sweep coordinator --ui</code> show their
        workers; <code>sweep ui --nats</code> those of a cluster.
      </p>
    `;
  const list = answer.workers;
  const slots = list.reduce((n, w) => n + w.slots.length, 0),
    busy = list.reduce((n, w) => n + w.slots.filter((s) => s.trial).length, 0);
  const refusals = list.flatMap((w) => (w.refusals || []).map((r) => ({ ...r, worker: w.name })));
  return html`
    <h1>
      Workers${" "}
      <small>${count(list.length)}, ${count(busy)} of ${count(slots)} slots busy</small>
    </h1>
    <${Problem} error=${error} />
    ${
      list.length === 0
        ? html`<p>No worker is at work. <code>sweep worker</code> starts one.</p>`
        : html`<div class="scroll">
          <table>
            <caption class="visually-hidden">Workers</caption>
            <thead>
              <tr>
                <th scope="col">Worker</th>
                <th scope="col">Pool</th>
                <th scope="col">State</th>
                <th scope="col">Slots</th>
                <th scope="col">Offers</th>
                <th scope="col" class="num">Up</th>
                <th scope="col">Version</th>
              </tr>
            </thead>
            <tbody>
              ${list.map(
                (w) => html`<tr key=${w.id}>
                  <td><strong>${w.name}</strong></td>
                  <td>${w.pool}</td>
                  <td>
                    <${State} state=${w.state} />
                    ${
                      w.reason &&
                      html`
                        <br />
                        <span class="quiet">${w.reason}</span>
                      `
                    }
                  </td>
                  <td>
                    ${w.slots.map(
                      (s, i) => html`<div key=${i}>
                        ${
                          s.trial
                            ? html`
                              <a href=${hrefOf(["trial", s.trial.sweep, s.trial.index])}>
                                trial ${s.trial.index}
                              </a>${" "}
                              <span class="quiet">
                                for ${duration((Date.now() - new Date(s.since)) / 1000)}
                              </span>
                            `
                            : html`<span class="none">waits</span>`
                        }
                      </div>`,
                    )}
                  </td>
                  <td class="wrap">${w.offer}</td>
                  <td class="num">${duration((Date.now() - new Date(w.started_at)) / 1000)}</td>
                  <td>${w.version}</td>
                </tr>`,
              )}
            </tbody>
          </table>
        </div>`
    }
    ${
      refusals.length > 0 &&
      html`
        <h2>Refused lately</h2>
        <p class="quiet">A refusal is nobody's failure: the trial goes to another worker.</p>
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Worker</th>
                <th scope="col">Trial</th>
                <th scope="col">When</th>
                <th scope="col">Why</th>
              </tr>
            </thead>
            <tbody>
              ${refusals.map(
                (r, i) => html`<tr key=${i}>
                  <td>${r.worker}</td>
                  <td><a href=${hrefOf(["trial", r.sweep, r.index])}>${r.index}</a></td>
                  <td>${dateTime(r.at)}</td>
                  <td class="wrap">${r.reason}</td>
                </tr>`,
              )}
            </tbody>
          </table>
        </div>
      `
    }
  `;
}
