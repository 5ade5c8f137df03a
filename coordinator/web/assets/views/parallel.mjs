// Parallel coordinates: a line for each trial across all parameters.
import { ParallelChart } from "./parallel-chart.mjs";
import { Choice } from "../components/choice.mjs";
import { NoResults } from "../components/no-results.mjs";
import { PickBoxes, PickList } from "../components/pick-list.mjs";
import { Status } from "../components/status.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { filterOf } from "../lib/filter.mjs";
import { count, counted } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, route } from "../lib/route.mjs";
import { goalOf, metricOf, withoutSeed } from "../lib/schema.mjs";

/** @import { Sample } from "../../api" */
/** @import { ViewProps } from "../lib/schema.mjs" */

const maxLines = 600;
const maxOthers = 300;
const maxAxes = 9;

/** @param {ViewProps} props */
export function Parallel({ sweep, schema, version }) {
  const { query } = route.value;
  const metric = metricOf(query, schema);
  const top = query.get("top") || "1";
  const chosen = query.getAll("axis").filter((name) => schema.byName[name]);
  const names = chosen.length ? chosen : withoutSeed(schema.varying).slice(0, maxAxes);
  const columns = [metric, ...names].filter(Boolean);
  const filter = filterOf(query);
  const isFiltered = filter.where.length + filter.state.length > 0;
  const { answer, error } = useAnswer(
    `sweeps/${sweep.id}/lines`,
    { ...filter, metric, top, limit: maxLines, column: columns },
    version,
  );
  const { answer: all } = useAnswer(
    isFiltered ? `sweeps/${sweep.id}/lines` : null,
    { metric, limit: maxOthers, column: columns },
    version,
  );
  if (names.length === 0)
    return metric
      ? html`<p>
          Parallel coordinates need a parameter with several values. These trials have none.
        </p>`
      : html`<${NoResults} sweep=${sweep} />`;
  const sample = answer && answer.answer;
  return html`
    <div class="controls">
      ${
        metric &&
        html`<${Choice} label="Metric" name="metric" value=${metric} options=${schema.metrics} />`
      }
      <${Choice}
        label="Trials"
        name="top"
        value=${top}
        options=${["all", "best half", "best 10 %", "best 1 %"]}
        values=${["1", "0.5", "0.1", "0.01"]}
      />
      <${PickList} summary=${`Axes (${names.length})`}>
        <${PickBoxes}
          names=${schema.varying}
          chosen=${names}
          choose=${(/** @type {string[]} */ axis) => changeRoute({ axis })}
        />
        <p><button onClick=${() => changeRoute({ axis: null })}>Reset</button></p>
      <//>
    </div>
    <${Status} answer=${answer} error=${error} />
    ${sample && sample.rows.length === 0 && html`<p>No trials match.</p>`}
    ${
      sample &&
      sample.rows.length > 0 &&
      html`
        <${Extent} sample=${sample} top=${top} metric=${metric} />
        <${ParallelChart}
          rows=${sample.rows}
          others=${isFiltered && all ? all.answer.rows : []}
          columns=${columns}
          schema=${schema}
          metric=${metric}
          goal=${goalOf(schema, metric)}
          id=${sweep.id}
        />
      `
    }
  `;
}

/**
 * Extent says which trials are drawn, unless all are.
 * @param {{sample: Sample, top: string, metric: string}} props
 */
function Extent({ sample: { rows, chosen, total }, top, metric }) {
  if (rows.length === chosen && chosen === total) return null;
  return html`<p class="note" role="status">
    Showing ${top !== "1" && `the best ${Number(top) * 100} % by ${metric}: `}
    ${rows.length < chosen && `${count(rows.length)} of `}
    ${counted(chosen, "trial")}${rows.length < chosen && ", evenly spaced by index"}
    ${chosen < total && ` (${count(total)} match the filter)`}.
  </p>`;
}
