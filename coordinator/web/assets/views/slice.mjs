// A metric over one parameter.
import { SliceChart } from "./slice-chart.mjs";
import { Check } from "../components/check.mjs";
import { Choice } from "../components/choice.mjs";
import { Excluded } from "../components/excluded.mjs";
import { NoResults } from "../components/no-results.mjs";
import { Status } from "../components/status.mjs";
import { Table, numeric } from "../components/table.mjs";
import { None } from "../components/value.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { isMeasured, levelText } from "../lib/cells.mjs";
import { filterOf, whereOf } from "../lib/filter.mjs";
import { count, counted, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { hrefOf, route } from "../lib/route.mjs";
import { binsFor, chosenOf, goalOf, metricOf, scaleFor, withoutSeed } from "../lib/schema.mjs";

/** @import { Slice as SliceAnswer } from "../../api" */
/** @import { ViewProps } from "../lib/schema.mjs" */

const maxDots = 1000;

/** @param {ViewProps} props */
export function Slice({ sweep, schema, version }) {
  const { query } = route.value;
  const metric = metricOf(query, schema);
  const goal = goalOf(schema, metric);
  const names = schema.varying;
  const parameter = chosenOf(query, "parameter", names, withoutSeed(names)[0] || names[0]);
  const log = query.get("log") === "1";
  const bins = parameter ? binsFor(schema, parameter) : 0;
  const scale = scaleFor(schema, parameter || "");
  const { answer, error } = useAnswer(
    parameter && metric ? `sweeps/${sweep.id}/slice` : null,
    { ...filterOf(query), by: [parameter], bins: [bins], scale: [scale], metric },
    version,
  );
  const { answer: sample } = useAnswer(
    bins > 0 && metric ? `sweeps/${sweep.id}/lines` : null,
    { ...filterOf(query), metric, limit: maxDots, column: [parameter, metric] },
    version,
  );
  if (!metric) return html`<${NoResults} sweep=${sweep} />`;
  if (!parameter)
    return html`<p>A slice needs a parameter with several values. These trials have none.</p>`;
  const slice = answer && answer.answer;
  const dots = bins > 0 && sample ? sample.answer : null;
  return html`
    <div class="controls">
      <${Choice} label="Parameter" name="parameter" value=${parameter} options=${names} />
      <${Choice} label="Metric" name="metric" value=${metric} options=${schema.metrics} />
      <${Check} label="Logarithmic metric" name="log" value=${log} />
    </div>
    <${Status} answer=${answer} error=${error} />
    ${
      slice &&
      html`
        ${
          slice.cells.some(isMeasured)
            ? html`<${SliceChart}
              slice=${slice}
              dots=${dots && dots.rows}
              column=${schema.byName[parameter]}
              scale=${scale}
              metric=${metric}
              goal=${goal}
              log=${log}
              id=${sweep.id}
            />`
            : html`<p>No matching trial has a ${metric}.</p>`
        }
        ${
          dots &&
          dots.rows.length < dots.total &&
          html`<p class="note" role="status">
            Showing ${count(dots.rows.length)} of ${counted(dots.total, "trial")} as dots, evenly
            spaced by index. The trend is over all.
          </p>`
        }
        <${Numbers} slice=${slice} id=${sweep.id} parameter=${parameter} metric=${metric} />
      `
    }
  `;
}

/**
 * Numbers has the cells as a table.
 * @param {object} props
 * @param {SliceAnswer} props.slice
 * @param {string} props.id the sweep's
 * @param {string} props.parameter
 * @param {string} props.metric
 */
function Numbers({ slice, id, parameter, metric }) {
  const { where } = filterOf(route.value.query);
  const columns = [
    parameter,
    numeric("trials"),
    "excluded",
    ...["mean", "sd", "smallest", "largest", "best trial"].map(numeric),
  ];
  return html`<${Table} label=${`${metric} over ${parameter}`} columns=${columns}>
    ${slice.cells.map((cell) => {
      const level = slice.levels[0][cell.levels[0]];
      const trials = Object.values(cell.states).reduce((sum, n) => sum + n, 0);
      const name = () => {
        if (level.missing) return html`<${None} />`;
        if (level.low !== undefined) return levelText(level, 4);
        const href = hrefOf(["sweep", id, "trials"], {
          where: [...where, whereOf(parameter, level.value)],
        });
        return html`<a href=${href}>${number(level.value, 6)}</a>`;
      };
      return html`<tr key=${cell.levels[0]}>
        <td>${name()}</td>
        <td class="num">${count(trials)}</td>
        <td><${Excluded} states=${cell.states} n=${cell.n} /></td>
        <td class="num">${cell.mean === null ? html`<${None} />` : number(cell.mean, 5)}</td>
        <td class="num">${number(cell.sd, 3)}</td>
        <td class="num">${number(cell.min, 5)}</td>
        <td class="num">${number(cell.max, 5)}</td>
        <td class="num">
          ${cell.best >= 0 && html`<a href=${hrefOf(["trial", id, cell.best])}>${cell.best}</a>`}
        </td>
      </tr>`;
    })}
  <//>`;
}
