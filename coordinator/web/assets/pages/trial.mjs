// One trial: parameters, metrics, curves, executions, log, artifacts.
import { Check } from "../components/check.mjs";
import { Plot } from "../components/plot.mjs";
import { Problem } from "../components/problem.mjs";
import { State } from "../components/state.mjs";
import { Loading } from "../components/loading.mjs";
import { useAnswer, useVersion } from "../lib/answer.mjs";
import { colour } from "../lib/colour.mjs";
import { bytes, count, dateTime, duration, exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { Artifacts } from "./artifacts.mjs";

export function Trial() {
  const { path, query } = route.value;
  const [, sweepId, index] = path;
  const version = useVersion(sweepId);
  const { answer, error } = useAnswer(
    `sweeps/${encodeURIComponent(sweepId)}/trials/${encodeURIComponent(index)}`,
    { points: 700 },
    version,
  );
  const execution = query.get("execution") || "";
  const hasExecutions = answer && answer.executions.length > 0;
  const { answer: log } = useAnswer(
    hasExecutions
      ? `sweeps/${encodeURIComponent(sweepId)}/trials/${encodeURIComponent(index)}/log`
      : null,
    { execution },
    version,
  );
  if (!answer)
    return html`
      <h1>Trial ${index}</h1>
      <${Problem} error=${error} />
      ${!error && html`<${Loading} />`}
    `;
  const { trial, executions, artifacts, curves, points, metrics } = answer;
  const r = trial.result;
  const state = r && r.diverged ? "diverged" : trial.state;
  const at = Number(index);
  const logScale = query.get("log") === "1";
  return html`
    <h1>
      Trial ${index}${" "}
      <small>
        of <a href=${hrefOf(["sweep", trial.sweep])}>${trial.sweep_name}</a>${" "}
        <span class="mono">${trial.sweep}</span>
      </small>${" "}
      <${State} state=${state} />
    </h1>
    <p class="controls">
      ${at > 0 && html`<a href=${hrefOf(["trial", sweepId, at - 1])}>← Trial ${at - 1}</a>`}${" "}
      ${
        at + 1 < points && html`<a href=${hrefOf(["trial", sweepId, at + 1])}>Trial ${at + 1} →</a>`
      }
    </p>
    <${Problem} error=${error} />
    ${
      r &&
      r.error &&
      html`<div class="note error" role="alert">
        <strong>${trial.state === "failed" ? "Failed: " : "Remarkable: "}</strong>
        ${r.error}
      </div>`
    }
    ${
      state === "diverged" &&
      html`<div class="note">
        Its training diverged: what it came to is no number, and counts in no mean.
      </div>`
    }
    ${
      trial.reused_from &&
      html`<div class="note">
        Its result was taken over from${" "}
        <a href=${hrefOf(["trial", trial.reused_from.sweep, trial.reused_from.index])}>
          trial ${trial.reused_from.index} of ${trial.reused_from.sweep}
        </a>
        .
      </div>`
    }
    ${
      trial.refusals > 0 &&
      html`<div class="note">
        Refused ${trial.refusals} times, last by ${trial.refused_by}: ${trial.last_refusal}
      </div>`
    }
    <div class="pair">
      <section aria-label="Parameters and metrics">
        ${
          r &&
          html`
            <h2>Metrics</h2>
            <div class="scroll">
              <table>
                <tbody>
                  ${Object.entries(r.summary || {})
                    .sort()
                    .map(
                      ([n, v]) => html`<tr key=${n}>
                        <th scope="row">${n}</th>
                        <td class="num" title=${exact(v)}>${number(v, 7)}</td>
                      </tr>`,
                    )}
                  ${missingMetrics(metrics, r).map(
                    (n) => html`<tr key=${n}>
                      <th scope="row">${n}</th>
                      <td class="num none">
                        ${trial.state === "completed" ? "NaN or none" : trial.state}
                      </td>
                    </tr>`,
                  )}
                  <tr>
                    <th scope="row">best epoch</th>
                    <td class="num">${r.best_epoch || html`<span class="none">none</span>`}</td>
                  </tr>
                  <tr>
                    <th scope="row">parameters of the model</th>
                    <td class="num">
                      ${count(r.parameter_count) || html`<span class="none">unknown</span>`}
                    </td>
                  </tr>
                  <tr>
                    <th scope="row">time in the trainer</th>
                    <td class="num">
                      ${duration(r.seconds) || html`<span class="none">unknown</span>`}
                    </td>
                  </tr>
                </tbody>
              </table>
            </div>
          `
        }
        <h2>Parameters</h2>
        <div class="scroll">
          <table>
            <tbody>
              ${Object.entries(trial.parameters || {})
                .sort()
                .map(
                  ([n, v]) => html`<tr key=${n}>
                    <th scope="row">${n}</th>
                    <td class="mono">${exact(v)}</td>
                  </tr>`,
                )}
            </tbody>
          </table>
        </div>
        <h2>Identity</h2>
        <dl class="quiet mono">
          <dt>fingerprint</dt>
          <dd>${trial.fingerprint}</dd>
          ${
            r &&
            r.weights_digest &&
            html`
              <dt>weights</dt>
              <dd>${r.weights_digest}</dd>
            `
          }
          ${
            r &&
            r.kernel_level &&
            html`
              <dt>kernel level</dt>
              <dd>${r.kernel_level}</dd>
            `
          }
        </dl>
      </section>
      <section aria-label="Curves, executions and log">
        <h2>Curves</h2>
        ${
          curves.length === 0
            ? html`<p class="none">No curves yet.</p>`
            : html`
              <p class="controls"><${Check} label="Logarithmic" name="log" value=${logScale} /></p>
              <div class="cards">
                ${curves.map(
                  (c, i) => html`<div class="card" key=${c.metric}>
                    <h3>
                      ${c.metric}
                      <small class="quiet">
                        ${count(c.points)} points
                        ${c.not_finite ? `, ${count(c.not_finite)} NaN or infinite` : ""}
                        ${c.steps.length < c.points ? ", drawn by minimum and maximum" : ""}
                      </small>
                    </h3>
                    <${Plot}
                      label=${`${c.metric}: ${c.values.length ? number(c.values[c.values.length - 1], 5) : "nothing"} at the last step`}
                      xs=${c.steps}
                      series=${[
                        {
                          label: c.metric,
                          stroke: colour(i),
                          values: c.values,
                          points: c.steps.length < 3,
                        },
                      ]}
                      log=${logScale}
                      height=${180}
                    />
                  </div>`,
                )}
              </div>
            `
        }
        <h2>Executions</h2>
        ${
          executions.length === 0
            ? html`<p class="none">It has not begun yet.</p>`
            : html`<div class="scroll">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Worker</th>
                    <th scope="col">Began</th>
                    <th scope="col" class="num">Took</th>
                    <th scope="col">Outcome</th>
                    <th scope="col">Why</th>
                    <th scope="col">Log</th>
                  </tr>
                </thead>
                <tbody>
                  ${executions.map(
                    (e) => html`<tr key=${e.execution}>
                      <td>${e.worker}</td>
                      <td>${dateTime(e.started_at)}</td>
                      <td class="num">
                        ${
                          e.ended_at
                            ? duration((new Date(e.ended_at) - new Date(e.started_at)) / 1000)
                            : "–"
                        }
                      </td>
                      <td>
                        ${e.outcome}
                        ${e.charged ? ", charged" : ""}
                        ${e.forgotten ? ", forgotten" : ""}
                      </td>
                      <td class="wrap">
                        ${
                          [
                            e.reason,
                            e.note,
                            e.checkpoint ? `checkpoint at step ${e.checkpoint}` : "",
                          ]
                            .filter(Boolean)
                            .join("; ") || html`<span class="none">–</span>`
                        }
                      </td>
                      <td>
                        <button
                          aria-pressed=${execution === e.execution}
                          onClick=${() => changeRoute({ execution: e.execution })}
                        >
                          ${bytes(e.log_size || 0)}
                        </button>
                      </td>
                    </tr>`,
                  )}
                </tbody>
              </table>
            </div>`
        }
        ${
          log &&
          html`
            <h2>Log</h2>
            ${
              log.start
                ? html`<p class="note">The end of it: ${bytes(log.start)} came before.</p>`
                : null
            }
            ${
              log.text
                ? html`<pre tabindex="0" aria-label="Log">${log.text}</pre>`
                : html`<p class="none">Nothing was written, or the execution still runs.</p>`
            }
          `
        }
        ${
          r &&
          r.stderr &&
          (!log || log.text !== r.stderr) &&
          html`
            <h2>What the trainer wrote last</h2>
            <pre tabindex="0" aria-label="Error output">${r.stderr}</pre>
          `
        }
        <h2>Artifacts</h2>
        <${Artifacts} trial=${trial} artifacts=${artifacts} />
      </section>
    </div>
  `;
}

// missing are the metrics that the trainer knows, and the result does not have.
const missingMetrics = (metrics, r) =>
  metrics.filter((m) => m.summary && m.goal && !(m.name in (r.summary || {}))).map((m) => m.name);
