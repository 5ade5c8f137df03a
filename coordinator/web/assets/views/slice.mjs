// A metric over one parameter.
import { Check } from "../components/check.mjs";
import { Choice } from "../components/choice.mjs";
import { Excluded } from "../components/excluded.mjs";
import { Status } from "../components/status.mjs";
import { Table, numeric } from "../components/table.mjs";
import { None } from "../components/value.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { bestOf, isMeasured, levelText, lostOf } from "../lib/cells.mjs";
import { colour, scheme } from "../lib/colour.mjs";
import { filterOf, whereOf } from "../lib/filter.mjs";
import { count, counted, exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { hrefOf, route } from "../lib/route.mjs";
import { marksOf, scaleOf } from "../lib/scale.mjs";
import { chosenOf, goalOf, metricOf, withoutSeed } from "../lib/schema.mjs";

/** @import { Goal, Slice as SliceAnswer } from "../../api" */
/** @import { MeasuredCell } from "../lib/cells.mjs" */
/** @import { ViewProps } from "../lib/schema.mjs" */

/** @param {ViewProps} props */
export function Slice({ sweep, schema, version }) {
  const { query } = route.value;
  const metric = metricOf(query, schema);
  const goal = goalOf(schema, metric);
  const names = schema.varying;
  const parameter = chosenOf(query, "parameter", names, withoutSeed(names)[0] || names[0]);
  const log = query.get("log") === "1";
  const { answer, error } = useAnswer(
    parameter && metric ? `sweeps/${sweep.id}/slice` : null,
    { ...filterOf(query), by: [parameter], metric },
    version,
  );
  if (!parameter || !metric) return html`<p>No parameter varies, or no trial has a metric yet.</p>`;
  const slice = answer && answer.answer;
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
            ? html`<${Chart}
              slice=${slice}
              parameter=${parameter}
              metric=${metric}
              goal=${goal}
              log=${log}
            />`
            : html`<p>No matching trial has a ${metric}.</p>`
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

// The chart's size and margins.
const width = 1000;
const height = 380;
const left = 80;
const right = 20;
const top = 16;
const bottom = 64;

/**
 * Chart draws mean, deviation and range of the metric at each value of the parameter.
 * @param {object} props
 * @param {SliceAnswer} props.slice
 * @param {string} props.parameter
 * @param {string} props.metric
 * @param {Goal} props.goal
 * @param {boolean} props.log whether the metric is wanted in logarithms
 */
function Chart({ slice, parameter, metric, goal, log }) {
  scheme.value; // drawn again when it changes
  const measured = slice.cells.filter(isMeasured);
  const { low, high, isLog } = rangeOf(measured, log);
  const scale = scaleOf(low, high, isLog);
  /** @param {number} value */
  const y = (value) => height - bottom - scale(value) * (height - top - bottom);
  const step = (width - left - right) / slice.cells.length;
  const places = new Map(slice.cells.map((c, i) => [c.levels[0], left + (i + 0.5) * step]));
  /** @param {{levels: number[]}} cell */
  const x = (cell) => places.get(cell.levels[0]) ?? left;
  const labelEvery = Math.ceil(slice.cells.length / 16);
  const title = `${metric} over ${parameter}: mean, standard deviation and range`;
  return html`
    <svg
      class="chart"
      viewBox=${`0 0 ${width} ${height}`}
      role="img"
      aria-label=${`${title} over all other parameters`}
    >
      ${marksOf(low, high, isLog).map(
        (mark) => html`<g key=${mark}>
          <line class="grid" x1=${left} x2=${width - right} y1=${y(mark)} y2=${y(mark)} />
          <text class="quiet" x=${left - 8} y=${y(mark) + 4} text-anchor="end">
            ${number(mark)}
          </text>
        </g>`,
      )}
      ${measured.map(
        (cell) => html`<${Box}
          key=${cell.levels[0]}
          cell=${cell}
          x=${x(cell)}
          y=${y}
          low=${low}
          high=${high}
          width=${Math.min(18, step * 0.5)}
          best=${bestOf(cell, goal)}
        />`,
      )}
      ${slice.cells.map(
        (cell, i) =>
          i % labelEvery === 0 &&
          html`<text
            key=${cell.levels[0]}
            x=${x(cell)}
            y=${height - bottom + 18}
            text-anchor="middle"
          >
            ${levelText({ ...slice.levels[0][cell.levels[0]], low: undefined })}
          </text>`,
      )}
      ${slice.cells.map(
        (cell) =>
          lostOf(cell.states) > 0 &&
          html`<text
            key=${cell.levels[0]}
            x=${x(cell)}
            y=${height - bottom + 34}
            text-anchor="middle"
            fill="var(--bad)"
          >
            ✕ ${count(lostOf(cell.states))}
          </text>`,
      )}
      <text x=${(width + left - right) / 2} y=${height - 6} text-anchor="middle" font-weight="600">
        ${parameter}${slice.binned[0] && " (ranges)"}
      </text>
      <text
        transform=${`translate(16 ${(height - bottom + top) / 2}) rotate(-90)`}
        text-anchor="middle"
        font-weight="600"
      >
        ${metric}${isLog && " (log)"}
      </text>
    </svg>
    <p class="quiet">
      Dot: mean. Box: ± standard deviation. Line: smallest to largest value over all other
      parameters. Ring: best value. ✕: failed or diverged trials, excluded from all of these.
    </p>
  `;
}

/**
 * rangeOf returns the ends of the metric's axis, with room beside them unless it is logarithmic.
 * @param {MeasuredCell[]} cells
 * @param {boolean} log
 */
function rangeOf(cells, log) {
  const low = Math.min(...cells.map((c) => c.min));
  const high = Math.max(...cells.map((c) => c.max));
  if (log && low > 0) return { low, high, isLog: true };
  const room = (high - low || Math.abs(high) || 1) * 0.04;
  return { low: low - room, high: high + room, isLog: false };
}

/**
 * Box draws the statistics at one value of the parameter.
 * @param {object} props
 * @param {MeasuredCell} props.cell
 * @param {number} props.x
 * @param {(value: number) => number} props.y
 * @param {number} props.low the ends of the axis
 * @param {number} props.high
 * @param {number} props.width
 * @param {number} props.best
 */
function Box({ cell: { mean, sd, min, max, n }, x, y, low, high, width, best }) {
  const stroke = colour(0);
  const box = () => {
    if (sd === null) return null;
    const upper = y(Math.min(mean + sd, high));
    const lower = y(Math.max(mean - sd, low));
    return html`<rect
      x=${x - width / 2}
      width=${width}
      y=${upper}
      height=${Math.max(lower - upper, 1)}
      fill=${stroke}
      fill-opacity="0.3"
    />`;
  };
  return html`<g>
    <line x1=${x} x2=${x} y1=${y(min)} y2=${y(max)} stroke=${stroke} stroke-width="1.5" />
    <line x1=${x - 6} x2=${x + 6} y1=${y(min)} y2=${y(min)} stroke=${stroke} />
    <line x1=${x - 6} x2=${x + 6} y1=${y(max)} y2=${y(max)} stroke=${stroke} />
    ${box()}
    <circle cx=${x} cy=${y(mean)} r="4.5" fill=${stroke}>
      <title>mean ${exact(mean)} over ${counted(n, "trial")}</title>
    </circle>
    <circle
      cx=${x}
      cy=${y(best)}
      r="3.5"
      fill="var(--ground)"
      stroke=${colour(1)}
      stroke-width="2"
    />
  </g>`;
}
