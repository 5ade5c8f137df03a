// Sweeps side by side, with the parameters in which they differ.
import { Choice } from "../components/choice.mjs";
import { Loading } from "../components/loading.mjs";
import { PickList, toggled } from "../components/pick-list.mjs";
import { Problem } from "../components/problem.mjs";
import { Progress } from "../components/progress.mjs";
import { Reading } from "../components/reading.mjs";
import { Outcome } from "../components/state.mjs";
import { Table } from "../components/table.mjs";
import { None } from "../components/value.mjs";
import { useAnswer, useVersion } from "../lib/answer.mjs";
import { bestOf } from "../lib/cells.mjs";
import { count, counted, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";

/** @import { Comparison, Scalar, SweepList } from "../../api" */
/** @import { Element } from "../lib/html.mjs" */

/** @typedef {Comparison["sweeps"][number]} Compared */

const maxSweeps = 8;
const maxValues = 12;

export function Compare() {
  const { query } = route.value;
  const chosen = query.getAll("sweep");
  const metric = query.get("metric") || "";
  const version = useVersion("all");
  const { answer: all } = useAnswer("sweeps", { limit: 100 });
  const { answer, error } = useAnswer(
    chosen.length ? "compare" : null,
    { sweep: chosen, metric },
    version,
  );
  const metrics = answer ? answer.metrics : [];
  if (!metric && metrics.length) {
    const objectives = answer ? answer.sweeps.map((sweep) => sweep.objective) : [];
    const objective = objectives.find((name) => metrics.includes(name));
    setTimeout(() => changeRoute({ metric: objective || metrics[0] }), 0);
  }
  return html`
    <h1>Compare sweeps</h1>
    <div class="controls">
      <${Sweeps} all=${all} chosen=${chosen} />
      ${
        metrics.length > 0 &&
        html`<${Choice} label="Metric" name="metric" value=${metric} options=${metrics} />`
      }
    </div>
    <${Problem} error=${error} />
    ${chosen.length === 0 && all && html`<p>${invitation(all.total)}</p>`}
    ${chosen.length > 0 && !answer && !error && html`<${Loading} />`}
    ${answer && html`<${SideBySide} answer=${answer} metric=${metric || "metric"} />`}
  `;
}

/** @param {number} total the number of sweeps */
const invitation = (total) =>
  total === 0
    ? html`No sweeps yet. <code>sweep run FILE</code> runs all trials of a sweep file.`
    : `Choose up to ${maxSweeps} sweeps from the list.`;

/**
 * Sweeps is the choice of sweeps.
 * @param {{all: SweepList | null, chosen: string[]}} props
 */
function Sweeps({ all, chosen }) {
  const { sweeps, total } = all || { sweeps: [], total: 0 };
  return html`<${PickList} summary=${`Sweeps (${chosen.length})`}>
    ${sweeps.map(
      ({ id, name }) => html`<label key=${id}>
        <input
          type="checkbox"
          checked=${chosen.includes(id)}
          disabled=${!chosen.includes(id) && chosen.length >= maxSweeps}
          onChange=${() => changeRoute({ sweep: toggled(chosen, id) })}
        />
        ${name} <span class="quiet mono">${id}</span>
      </label>`,
    )}
    ${
      total > sweeps.length &&
      html`<p class="quiet">Showing the newest ${sweeps.length} of ${count(total)}.</p>`
    }
  <//>`;
}

/** @param {{answer: Comparison, metric: string}} props */
function SideBySide({ answer: { sweeps, differing, parameters }, metric }) {
  const heads = sweeps.map(
    ({ id, name }) => html`<th key=${id} scope="col">
      <a href=${hrefOf(["sweep", id])}>${name}</a>
      <br />
      <span class="quiet mono">${id}</span>
    </th>`,
  );
  const corner = html`<th scope="col"><span class="visually-hidden">Property</span></th>`;
  /**
   * @param {string} name
   * @param {(sweep: Compared) => Element | string} write
   */
  const row = (name, write) => html`<tr key=${name}>
    <th scope="row">${name}</th>
    ${sweeps.map((sweep) => html`<td key=${sweep.id}>${write(sweep)}</td>`)}
  </tr>`;
  return html`
    ${sweeps.map(({ id, read }) => html`<${Reading} key=${id} read=${read} />`)}
    <${Table} label="Sweeps side by side" columns=${[corner, ...heads]}>
      ${row("state", (sweep) => html`<${Outcome} sweep=${sweep} />`)}
      ${row("progress", ({ progress }) => html`<${Progress} progress=${progress} />`)}
      ${row("trials", ({ points }) => count(points))}
      ${row(
        "failed, diverged",
        ({ progress }) => `${count(progress.failed)}, ${count(progress.diverged)}`,
      )}
      ${row(metric + ": best", best)}
      ${row(metric + ": mean ± sd", mean)}
      ${differing.map(
        (name, i) => html`<tr key=${name} class=${i === 0 ? "rule" : ""}>
          <th scope="row">${name}</th>
          ${sweeps.map(
            ({ id, values }) => html`<td key=${id} class="wrap">${valueList(values[name])}</td>`,
          )}
        </tr>`,
      )}
    <//>
    <p class="quiet">
      ${
        sweeps.length < 2
          ? "Choose a second sweep."
          : html`The sweeps differ in ${differing.length} of ${counted(parameters, "parameter")};
          parameters that are the same are not listed.`
      }
    </p>
  `;
}

/** @param {Compared} sweep */
function best({ id, metric, goal }) {
  if (!metric || metric.best < 0) return html`<${None} />`;
  return html`<a href=${hrefOf(["trial", id, metric.best])}>${number(bestOf(metric, goal), 6)}</a>`;
}

/** @param {Compared} sweep */
function mean({ metric }) {
  if (!metric || metric.mean === null) return html`<${None} />`;
  const deviation = metric.sd === null ? "?" : number(metric.sd, 2);
  return `${number(metric.mean, 5)} ± ${deviation} (${count(metric.n)})`;
}

/** @param {Scalar[] | null | undefined} values */
function valueList(values) {
  if (!values) return html`<${None} />`;
  const shown = values.slice(0, maxValues).map((v) => (v === null ? "none" : number(v, 6)));
  const others = values.length - shown.length;
  return shown.join(", ") + (others > 0 ? ` and ${others} others` : "");
}
