// Parallel coordinates: a line for each trial across all parameters.
import { useState } from "preact/hooks";
import { Choice } from "../components/choice.mjs";
import { PickBoxes, PickList } from "../components/pick-list.mjs";
import { State } from "../components/state.mjs";
import { Status } from "../components/status.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { scheme, shade } from "../lib/colour.mjs";
import { filterOf } from "../lib/filter.mjs";
import { count, counted, exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, route } from "../lib/route.mjs";
import { marksOf, scaleOf, wantsLog } from "../lib/scale.mjs";
import { goalOf, metricOf, withoutSeed } from "../lib/schema.mjs";

/** @import { Goal, Row, Sample, Scalar, StateCounts } from "../../api" */
/** @import { ViewProps } from "../lib/schema.mjs" */

const mostLines = 600;
const mostAxes = 9;

/** @param {ViewProps} props */
export function Parallel({ sweep, schema, version }) {
  const { query } = route.value;
  const metric = metricOf(query, schema);
  const top = query.get("top") || "1";
  const chosen = query.getAll("axis").filter((name) => schema.byName[name]);
  const names = chosen.length ? chosen : withoutSeed(schema.varying).slice(0, mostAxes);
  const columns = [...names, metric].filter(Boolean);
  const { answer, error } = useAnswer(
    `sweeps/${sweep.id}/lines`,
    { ...filterOf(query), metric, top, limit: mostLines, column: columns },
    version,
  );
  const sample = answer && answer.answer;
  return html`
    <div class="controls">
      <${Choice} label="Metric" name="metric" value=${metric} options=${schema.metrics} />
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
        <${Chart}
          rows=${sample.rows}
          columns=${columns}
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

// The chart's size and margins.
const width = 1100;
const height = 440;
const left = 110;
const right = 90;
const top = 40;
const bottom = 60;
const span = height - top - bottom;
const missingAt = height - 22;

/**
 * @typedef {object} Axis
 * @property {string} name
 * @property {boolean} log
 * @property {(value: Scalar) => number} part where a value stands, from 0 to 1
 * @property {{part: number, text: string}[]} marks
 * @property {boolean} someMissing
 */

/**
 * axisOf lays out the axis of a column.
 * @param {string} name
 * @param {Scalar[]} cells
 * @returns {Axis}
 */
function axisOf(name, cells) {
  const values = cells.filter((v) => v !== null);
  const numbers = values.filter((v) => typeof v === "number");
  const isNumeric = values.length > 0 && numbers.length === values.length;
  const scale = isNumeric ? numericScale(numbers) : textScale(values);
  return { name, ...scale, someMissing: values.length < cells.length };
}

/** @param {number[]} values */
function numericScale(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const log = wantsLog(low, high);
  const scale = scaleOf(low, high, log);
  const distinct = [...new Set(values)];
  const marks = distinct.length <= 8 ? distinct : marksOf(low, high, log);
  return {
    log,
    part: (/** @type {Scalar} */ value) => scale(Number(value)),
    marks: marks.map((mark) => ({ part: scale(mark), text: number(mark) })),
  };
}

/** @param {Scalar[]} values */
function textScale(values) {
  const texts = [...new Set(values.map(exact))].sort();
  /** @param {string} text */
  const partOf = (text) => (texts.length > 1 ? texts.indexOf(text) / (texts.length - 1) : 0.5);
  return {
    log: false,
    part: (/** @type {Scalar} */ value) => partOf(exact(value)),
    marks: texts.slice(0, 16).map((text) => ({
      part: partOf(text),
      text: text.length > 14 ? text.slice(0, 13) + "…" : text,
    })),
  };
}

/**
 * Chart draws a line for each trial. The last column is the metric, which colours them.
 * @param {object} props
 * @param {Row[]} props.rows
 * @param {string[]} props.columns
 * @param {string} props.metric
 * @param {Goal} props.goal
 * @param {string} props.id the sweep's
 */
function Chart({ rows, columns, metric, goal, id }) {
  const axes = columns.map((name, place) =>
    axisOf(
      name,
      rows.map((row) => row.cells[place]),
    ),
  );
  const gaps = Math.max(columns.length - 1, 1);
  const start = columns.length > 1 ? left : (left + width - right) / 2;
  /** @param {number} place */
  const x = (place) => start + (place / gaps) * (width - left - right);
  const title = `Parallel coordinates of ${counted(rows.length, "trial")} over`;
  return html`
    <svg
      class="chart"
      viewBox=${`0 0 ${width} ${height}`}
      role="img"
      aria-label=${`${title} ${columns.join(", ")}`}
    >
      <${Lines} rows=${rows} columns=${columns} axes=${axes} x=${x} goal=${goal} id=${id} />
      ${axes.map(
        (axis, place) => html`<${AxisLine} key=${axis.name} axis=${axis} x=${x(place)} />`,
      )}
    </svg>
    <p class="controls">
      ${Object.entries(countStates(rows)).map(
        ([state, n]) => html`<span key=${state}><${State} state=${state} /> ${count(n)}</span>`,
      )}
      <span class="quiet">
        ${scheme.value === "dark" ? "Brighter" : "Darker"} lines have a better ${metric} (${goal});
        dashed lines are trials that did not complete. Trials without a value are drawn along the
        bottom edge. Click a line to open its trial. The tab Trials has the same trials as a table.
      </span>
    </p>
  `;
}

/** @param {Row[]} rows */
function countStates(rows) {
  /** @type {StateCounts} */
  const counts = {};
  for (const { state } of rows) counts[state] = (counts[state] || 0) + 1;
  return counts;
}

/**
 * Lines draws the trials, the completed ones above the others.
 * @param {object} props
 * @param {Row[]} props.rows
 * @param {string[]} props.columns
 * @param {Axis[]} props.axes
 * @param {(place: number) => number} props.x
 * @param {Goal} props.goal
 * @param {string} props.id the sweep's
 */
function Lines({ rows, columns, axes, x, goal, id }) {
  const [hovered, setHovered] = useState(/** @type {number | null} */ (null));
  const metricAxis = axes[axes.length - 1];
  /** @param {Row} row */
  const stroke = ({ state, cells }) => {
    const value = cells[cells.length - 1];
    if (state === "failed") return "var(--bar-failed)";
    if (state === "diverged") return "var(--bar-diverged)";
    if (typeof value !== "number") return "var(--quiet)";
    const part = metricAxis.part(value);
    const good = goal === "maximize" ? part : 1 - part;
    return shade(scheme.value === "dark" ? 0.25 + 0.75 * good : 0.85 * (1 - good)).fill;
  };
  /** @param {Row} row */
  const points = ({ cells }) =>
    axes
      .map(({ part }, place) => [x(place), yOf(cells[place], part)])
      .map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`)
      .join(" ");
  /** @param {Row} row */
  const opacity = ({ index }) => (hovered === null ? 0.55 : hovered === index ? 1 : 0.12);
  const completed = rows.filter((row) => row.state === "completed");
  const others = rows.filter((row) => row.state !== "completed");
  return html`${[...others, ...completed].map(
    (row) => html`<polyline
      key=${row.index}
      points=${points(row)}
      fill="none"
      stroke=${stroke(row)}
      stroke-width=${hovered === row.index ? 3.5 : 1.2}
      stroke-opacity=${opacity(row)}
      stroke-dasharray=${row.state === "completed" ? null : "5 3"}
      onMouseEnter=${() => setHovered(row.index)}
      onMouseLeave=${() => setHovered(null)}
      onClick=${() => {
        location.hash = hrefOf(["trial", id, row.index]);
      }}
    >
      <title>
        trial ${row.index}, ${row.state}:${" "}
        ${columns.map((name, place) => `${name} ${exact(row.cells[place])}`).join(", ")}
      </title>
    </polyline>`,
  )}`;
}

/**
 * yOf returns how far down a value is drawn; missing ones run along the bottom.
 * @param {Scalar} value
 * @param {Axis["part"]} part
 */
const yOf = (value, part) => (value === null ? missingAt : height - bottom - part(value) * span);

/** @param {{axis: Axis, x: number}} props */
function AxisLine({ axis, x }) {
  return html`<g>
    <line class="axis" x1=${x} x2=${x} y1=${top} y2=${height - bottom} />
    <text x=${x} y=${top - 16} text-anchor="middle" font-weight="600">
      ${axis.name}
      ${axis.log && " (log)"}
    </text>
    ${axis.marks.map(({ part, text }, i) => {
      const y = height - bottom - part * span;
      return html`<g key=${i}>
        <line class="axis" x1=${x - 4} x2=${x} y1=${y} y2=${y} />
        <text class="halo" x=${x - 7} y=${y + 4} text-anchor="end">${text}</text>
      </g>`;
    })}
    ${
      axis.someMissing &&
      html`<g>
        <line class="grid" x1=${x - 18} x2=${x + 18} y1=${missingAt} y2=${missingAt} />
        <text class="quiet" x=${x} y=${missingAt + 16} text-anchor="middle">none</text>
      </g>`
    }
  </g>`;
}
