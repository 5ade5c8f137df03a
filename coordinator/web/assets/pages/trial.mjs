// One trial: parameters, metrics, curves, executions, log, artifacts.
import { Artifacts } from "./artifacts.mjs";
import { Media } from "./media.mjs";
import { Check } from "../components/check.mjs";
import { Notes } from "../components/notes.mjs";
import { Plot } from "../components/plot.mjs";
import { Problem } from "../components/problem.mjs";
import { State } from "../components/state.mjs";
import { Status } from "../components/status.mjs";
import { Table, numeric } from "../components/table.mjs";
import { useAnswer, useVersion } from "../lib/answer.mjs";
import { colour } from "../lib/colour.mjs";
import { whereOf } from "../lib/filter.mjs";
import {
  bytes,
  count,
  counted,
  dateTime,
  duration,
  exact,
  number,
  secondsBetween,
} from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";

/** @import { Curve, Execution, Log, Metric, Result, Scalar, TrialRecord } from "../../api" */

/** @typedef {import("../../api").Trial} TrialAnswer */

export function Trial() {
  const { path, query } = route.value;
  const [, id, index] = path;
  const version = useVersion(id);
  const execution = query.get("execution") || "";
  const address = `sweeps/${encodeURIComponent(id)}/trials/${encodeURIComponent(index)}`;
  const { answer, error } = useAnswer(
    /** @type {`sweeps/${string}/trials/${string}`} */ (address),
    { points: 700 },
    version,
  );
  const { answer: log } = useAnswer(
    answer && answer.executions.length > 0
      ? /** @type {`sweeps/${string}/trials/${string}/log`} */ (address + "/log")
      : null,
    { execution },
    version,
  );
  if (!answer)
    return html`
      <h1>Trial ${index}</h1>
      <${Status} answer=${null} error=${error} />
    `;
  const { trial, executions, artifacts, metrics, objective, axes } = answer;
  const { result } = trial;
  const failed = trial.state === "failed";
  const curves = firstOf(answer.curves, ({ metric }) => metric === objective);
  const logs = html`<${Logs} log=${log} stderr=${result && result.stderr} state=${trial.state} />`;
  return html`
    <${Heading} answer=${answer} id=${id} />
    <${Problem} error=${error} />
    <${Remarks} trial=${trial} />
    <${Notes}
      key=${`${trial.sweep}/${trial.index}`}
      sweep=${trial.sweep}
      index=${trial.index}
      what="trial"
      hrefOf=${(/** @type {string} */ tag) =>
        hrefOf(["sweep", trial.sweep, "trials"], { where: whereOf("tag", tag) })}
      known=${[trial]}
    />
    ${failed && logs}
    <div class="pair">
      <section aria-label="Parameters and metrics">
        ${result && html`<${Metrics} answer=${answer} result=${result} metrics=${metrics} />`}
        <h2>Parameters</h2>
        <${Pairs} values=${trial.parameters} axes=${axes} />
        <${Identity} trial=${trial} />
      </section>
      <section aria-label="Curves, executions and log">
        <h2>Curves</h2>
        <${Curves} curves=${curves} state=${trial.state} />
        <${Media} trial=${trial} artifacts=${artifacts} />
        <h2>Executions</h2>
        <${Executions} executions=${executions} chosen=${execution} />
        ${!failed && logs}
        <h2>Artifacts</h2>
        <${Artifacts} trial=${trial} artifacts=${artifacts} />
      </section>
    </div>
  `;
}

/** @param {TrialRecord} trial */
const stateOf = ({ state, result }) => (result && result.diverged ? "diverged" : state);

/**
 * @param {object} props
 * @param {TrialAnswer} props.answer
 * @param {string} props.id the sweep's, or its name, as the address has it
 */
function Heading({ answer: { trial, points }, id }) {
  const { index } = trial;
  return html`
    <h1>
      Trial ${index}${" "}
      <small>
        of <a href=${hrefOf(["sweep", trial.sweep])}>${trial.sweep_name}</a>${" "}
        <span class="mono">${trial.sweep}</span>
      </small>${" "}
      <${State} state=${stateOf(trial)} />
    </h1>
    <p class="controls">
      ${index > 0 && html`<a href=${hrefOf(["trial", id, index - 1])}>← Trial ${index - 1}</a>`}
      ${
        index + 1 < points &&
        html`<a href=${hrefOf(["trial", id, index + 1])}>Trial ${index + 1} →</a>`
      }
    </p>
  `;
}

/** @param {{trial: TrialRecord}} props */
function Remarks({ trial }) {
  const { result, reused_from: reused, refusals = 0 } = trial;
  const failed = trial.state === "failed";
  return html`
    ${
      result &&
      result.error &&
      html`<div class=${failed ? "note error" : "note"} role=${failed ? "alert" : "note"}>
        <strong>${failed ? "Failed: " : "Note: "}</strong>
        ${result.error}
      </div>`
    }
    ${
      stateOf(trial) === "diverged" &&
      html`<div class="note">
        Training diverged: the trial is excluded from means and counted separately.
      </div>`
    }
    ${
      reused &&
      html`<div class="note">
        Result reused from${" "}
        <a href=${hrefOf(["trial", reused.sweep, reused.index])}>
          trial ${reused.index} of ${reused.sweep}
        </a>
        .
      </div>`
    }
    ${
      refusals > 0 &&
      html`<div class="note">
        Refused ${counted(refusals, "time")}, last by ${trial.refused_by}: ${trial.last_refusal}
      </div>`
    }
  `;
}

/** @param {string} state a trial's */
const isOver = (state) =>
  ["completed", "failed", "cancelled", "stopped", "skipped"].includes(state);

/**
 * firstOf puts the items for which a condition holds before the others.
 * @template T
 * @param {T[]} list
 * @param {(item: T) => boolean} isFirst
 */
const firstOf = (list, isFirst) => [
  ...list.filter(isFirst),
  ...list.filter((item) => !isFirst(item)),
];

/** @param {{answer: TrialAnswer, result: Result, metrics: Metric[]}} props */
function Metrics({ answer: { trial, objective }, result, metrics }) {
  const summary = result.summary || {};
  const missing = metrics.filter((m) => m.summary && m.goal && !(m.name in summary));
  const { seconds } = result;
  return html`
    <h2>Metrics</h2>
    <div class="scroll">
      <table>
        <tbody>
          ${firstOf(sorted(summary), ([name]) => name === objective).map(
            ([name, value]) => html`<tr key=${name} class=${name === objective ? "objective" : ""}>
              <th scope="row">${name}</th>
              <td class="num" title=${exact(value)}>
                ${value === null ? "not finite" : number(value, 7)}
              </td>
            </tr>`,
          )}
          ${missing.map(
            ({ name }) => html`<tr key=${name}>
              <th scope="row">${name}</th>
              <td class="num none">
                ${trial.state === "completed" ? "NaN or none" : trial.state}
              </td>
            </tr>`,
          )}
          ${
            !!seconds &&
            html`<tr>
            <th scope="row">trainer time</th>
            <td class="num">${duration(seconds)}</td>
          </tr>`
          }
        </tbody>
      </table>
    </div>
  `;
}

/**
 * sorted returns names and values in the order of the names.
 * @template {Scalar} T
 * @param {Record<string, T>} values
 */
const sorted = (values) => Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));

/**
 * Pairs lists the parameters, those of the sweep file first.
 * @param {{values?: Record<string, Scalar>, axes: string[]}} props
 */
function Pairs({ values = {}, axes }) {
  const own = axes.filter((name) => name in values);
  const others = sorted(values)
    .filter(([name]) => !own.includes(name))
    .map(([name, value]) => ({ name, value }));
  const pairs = [...own.map((name) => ({ name, value: values[name] })), ...others];
  return html`<div class="scroll">
    <table>
      <tbody>
        ${pairs.map(
          ({ name, value }) => html`<tr key=${name}>
            <th scope="row">${name}</th>
            <td class="mono">${exact(value)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** @param {{trial: TrialRecord}} props */
function Identity({ trial }) {
  const { fingerprint, result } = trial;
  const entries = [
    ["run", trial.run_name],
    ["group", trial.run_group],
    ["fingerprint", fingerprint],
    ["weights", result && result.weights_digest],
    ["kernel level", result && result.kernel_level],
  ];
  return html`
    <h2>Identity</h2>
    <dl class="quiet mono">
      ${entries
        .filter(([name, value]) => value || name === "fingerprint")
        .map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}
    </dl>
  `;
}

/** @param {{curves: Curve[], state: string}} props */
function Curves({ curves, state }) {
  const log = route.value.query.get("log") === "1";
  const has = isOver(state) ? "This trial has no curves." : "No curves yet.";
  if (curves.length === 0) return html`<p class="none">${has}</p>`;
  return html`
    <p class="controls"><${Check} label="Logarithmic" name="log" value=${log} /></p>
    <div class="cards">
      ${curves.map((curve, i) => {
        const { metric, points, steps, values, not_finite: gaps } = curve;
        const last = values.length ? number(values[values.length - 1], 5) : "nothing";
        const stroke = colour(i);
        const series = [{ label: metric, stroke, values, points: steps.length < 3 }];
        return html`<div class="card" key=${metric}>
          <h3>
            ${metric}
            <small class="quiet">
              ${counted(points, "sample")}${gaps > 0 && `, ${count(gaps)} NaN or infinite`}
              ${steps.length < points && ", drawn as minimum and maximum"}
            </small>
          </h3>
          <${Plot}
            label=${`${metric}: ${last} at the last step`}
            yTitle=${metric}
            xs=${steps}
            series=${series}
            log=${log}
            height=${180}
          />
        </div>`;
      })}
    </div>
  `;
}

/** @param {{executions: Execution[], chosen: string}} props */
function Executions({ executions, chosen }) {
  if (executions.length === 0) return html`<p class="none">Not started yet.</p>`;
  const columns = ["Worker", "Started", numeric("Duration"), "Outcome", "Reason", "Log"];
  return html`<${Table} label="Executions" columns=${columns}>
    ${executions.map((execution) => {
      const { execution: id, worker, started_at: began, ended_at: ended } = execution;
      const { outcome, charged, forgotten, reason, note, checkpoint } = execution;
      const why = [reason, note, checkpoint && `checkpoint at step ${checkpoint}`].filter(Boolean);
      return html`<tr key=${id}>
        <td>${worker}</td>
        <td>${dateTime(began)}</td>
        <td class="num">${ended ? duration(secondsBetween(began, ended)) : "–"}</td>
        <td>${outcome}${charged && ", charged"}${forgotten && ", forgotten"}</td>
        <td class="wrap">${why.join("; ") || html`<span class="none">–</span>`}</td>
        <td>
          <button aria-pressed=${chosen === id} onClick=${() => changeRoute({ execution: id })}>
            ${bytes(execution.log_size || 0)}
          </button>
        </td>
      </tr>`;
    })}
  <//>`;
}

/**
 * @param {object} props
 * @param {Log | null} props.log of the chosen execution
 * @param {string} [props.stderr] what the trainer wrote last
 * @param {string} props.state the trial's
 */
function Logs({ log, stderr, state }) {
  return html`
    ${
      log &&
      html`
        <h2>Log</h2>
        ${
          log.start !== undefined &&
          log.start > 0 &&
          html`<p class="note">
            Showing the end of the log; the first ${bytes(log.start)} are omitted.
          </p>`
        }
        ${
          log.text
            ? html`<pre tabindex="0" aria-label="Log">${log.text}</pre>`
            : html`<p class="none">
              ${isOver(state) ? "No output." : "The log comes when the execution has ended."}
            </p>`
        }
      `
    }
    ${
      stderr &&
      stderr !== log?.text &&
      html`
        <h2>End of the trainer's error output</h2>
        <pre tabindex="0" aria-label="Error output">${stderr}</pre>
      `
    }
  `;
}
