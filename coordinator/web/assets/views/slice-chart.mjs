// The chart of a metric over one parameter: a dot for each trial with the trend of the means, or
// mean, deviation and range at each value.
import { bestOf, isMeasured, levelText, lostOf } from "../lib/cells.mjs";
import { chartWidth } from "../lib/chart-width.mjs";
import { colour, scheme } from "../lib/colour.mjs";
import { count, counted, exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { hrefOf } from "../lib/route.mjs";
import { marksOf, scaleOf } from "../lib/scale.mjs";
import { isNumeric } from "../lib/schema.mjs";

/** @import { Column, Goal, Row, Scale, Slice } from "../../api" */
/** @import { MeasuredCell } from "../lib/cells.mjs" */

// The chart's size and margins.
const height = 400;
const left = 70;
const right = 24;
const top = 16;
const bottom = 64;
const inset = 24; // between an end of the axis and the first value
const noneWidth = 70; // of the place of the trials without the parameter
const labelWidth = 62;

/**
 * @param {object} props
 * @param {Slice} props.slice
 * @param {Row[] | null} props.dots trials with the parameter and the metric; null for boxes
 * @param {Column} props.column the parameter's
 * @param {Scale} props.scale
 * @param {string} props.metric
 * @param {Goal} props.goal
 * @param {boolean} props.log whether the metric is wanted in logarithms
 * @param {string} props.id the sweep's
 */
export function SliceChart({ slice, dots, column, scale, metric, goal, log, id }) {
  scheme.value; // drawn again when it changes
  const width = chartWidth.value;
  const measured = slice.cells.filter(isMeasured);
  const { low, high, isLog } = rangeOf(measured, log);
  const part = scaleOf(low, high, isLog);
  /** @param {number} value */
  const y = (value) => height - bottom - part(value) * (height - top - bottom);
  const axis = axisOf(slice, column, scale, width);
  const best = Math[goal === "maximize" ? "max" : "min"](...measured.map((c) => bestOf(c, goal)));
  const title = `${metric} over ${column.name}`;
  const what = dots ? "a dot for each trial and the trend" : "mean, standard deviation and range";
  return html`
    <svg
      class="chart"
      viewBox=${`0 0 ${width} ${height}`}
      role="img"
      aria-label=${`${title}: ${what}, over all other parameters`}
    >
      ${marksOf(low, high, isLog).map(
        (mark) => html`<g key=${mark}>
          <line class="grid" x1=${left} x2=${width - right} y1=${y(mark)} y2=${y(mark)} />
          <text class="quiet" x=${left - 8} y=${y(mark) + 4} text-anchor="end">
            ${number(mark)}
          </text>
        </g>`,
      )}
      ${
        dots
          ? html`<${Dots}
            rows=${dots}
            cells=${measured}
            axis=${axis}
            y=${y}
            best=${best}
            id=${id}
          />`
          : measured.map(
              (cell) => html`<${Box}
                key=${cell.levels[0]}
                cell=${cell}
                x=${axis.ofLevel(cell.levels[0])}
                y=${y}
                low=${low}
                high=${high}
                width=${axis.boxWidth}
                best=${bestOf(cell, goal)}
              />`,
            )
      }
      <line
        class="axis"
        x1=${left}
        x2=${width - right}
        y1=${height - bottom}
        y2=${height - bottom}
      />
      ${axis.marks.map(
        ({ x, text }) => html`<g key=${text}>
          <line class="axis" x1=${x} x2=${x} y1=${height - bottom} y2=${height - bottom + 4} />
          <text x=${x} y=${height - bottom + 18} text-anchor="middle">${text}</text>
        </g>`,
      )}
      ${slice.cells.map(
        (cell) =>
          lostOf(cell.states) > 0 &&
          html`<text
            key=${cell.levels[0]}
            x=${axis.ofLevel(cell.levels[0])}
            y=${height - bottom + 34}
            text-anchor="middle"
            class="bad"
          >
            ✕ ${count(lostOf(cell.states))}
          </text>`,
      )}
      <text x=${(width + left - right) / 2} y=${height - 6} text-anchor="middle" font-weight="600">
        ${column.name}${axis.isLog && " (log)"}
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
      ${
        dots
          ? "Dot: a trial. Line: trend of the means over ranges. Area: ± standard deviation."
          : "Dot: mean. Box: ± standard deviation. Line: smallest to largest value over all others."
      }${" "}
      Ring: best value. ✕: failed or diverged trials, excluded from all of these.
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
 * @typedef {object} Axis
 * @property {boolean} isLog
 * @property {(value: number) => number} x where a number lies
 * @property {(level: number) => number} ofLevel where a level lies
 * @property {{x: number, text: string}[]} marks
 * @property {number} boxWidth
 */

/**
 * axisOf lays out the parameter's axis: numbers where they lie, texts side by side, and the trials
 * without the parameter at the right.
 * @param {Slice} slice
 * @param {Column} column
 * @param {Scale} scale
 * @param {number} width the chart's
 * @returns {Axis}
 */
function axisOf(slice, column, scale, width) {
  const levels = slice.levels[0];
  const used = [...new Set(slice.cells.map((cell) => cell.levels[0]))].sort((a, b) => a - b);
  const values = used.filter((level) => !levels[level].missing);
  const none = used.length > values.length ? noneWidth : 0;
  const [from, until] = [left + inset, width - right - inset - none];
  const isTrue = isNumeric(column);
  const [low, high] = [column.low ?? 0, column.high ?? 0];
  const isLog = isTrue && scale === "log";
  const part = scaleOf(low, high, isLog);
  const x = (/** @type {number} */ value) => from + part(value) * (until - from);
  const step = (until - from) / Math.max(values.length, 1);
  /** @param {number} level */
  const ofLevel = (level) => {
    if (levels[level].missing) return width - right - none / 2;
    if (isTrue) return x(Number(levels[level].value));
    return from + (values.indexOf(level) + 0.5) * step;
  };
  const places = values.map(ofLevel);
  const gaps = places.slice(1).map((place, i) => place - places[i]);
  const marks =
    isTrue && slice.binned[0]
      ? marksOf(low, high, isLog).map((mark) => ({ x: x(mark), text: number(mark) }))
      : values.map((level, i) => ({ x: places[i], text: levelText(levels[level]) }));
  const shown = apart(marks);
  if (none) shown.push({ x: width - right - none / 2, text: "none" });
  return { isLog, x, ofLevel, marks: shown, boxWidth: Math.min(18, Math.min(...gaps, step) * 0.5) };
}

/**
 * apart leaves out marks whose labels would cover others.
 * @param {{x: number, text: string}[]} marks in order
 */
function apart(marks) {
  let last = -Infinity;
  return marks.filter(({ x }) => {
    if (x - last < labelWidth) return false;
    last = x;
    return true;
  });
}

/**
 * Dots draws the trials, with mean and deviation of each range over them.
 * @param {object} props
 * @param {Row[]} props.rows
 * @param {MeasuredCell[]} props.cells
 * @param {Axis} props.axis
 * @param {(value: number) => number} props.y
 * @param {number} props.best
 * @param {string} props.id the sweep's
 */
function Dots({ rows, cells, axis, y, best, id }) {
  const [stroke, trend] = [colour(0), colour(1)];
  const line = cells
    .map(({ levels, mean, sd, min, max }) => ({
      x: axis.ofLevel(levels[0]),
      mean: y(mean),
      upper: y(Math.min(mean + (sd ?? 0), max)),
      lower: y(Math.max(mean - (sd ?? 0), min)),
    }))
    .sort((a, b) => a.x - b.x);
  const edge = [
    ...line.map((p) => `${p.x},${p.upper}`),
    ...line.toReversed().map((p) => `${p.x},${p.lower}`),
  ];
  const points = rows.filter(
    ({ state, cells: [value, metric] }) =>
      state === "completed" && typeof value === "number" && typeof metric === "number",
  );
  return html`
    <polygon points=${edge.join(" ")} fill=${trend} fill-opacity="0.14" />
    ${points.map(({ index, cells: [value, metric] }) => {
      const isBest = metric === best;
      return html`<circle
        key=${index}
        class="dot"
        cx=${axis.x(Number(value))}
        cy=${y(Number(metric))}
        r=${isBest ? 5 : 3}
        fill=${isBest ? "var(--ground)" : stroke}
        fill-opacity=${isBest ? 1 : 0.45}
        stroke=${isBest ? trend : "none"}
        stroke-width="2"
        onClick=${() => {
          location.hash = hrefOf(["trial", id, index]);
        }}
      >
        <title>trial ${index}: ${exact(value)}, ${exact(metric)}</title>
      </circle>`;
    })}
    <polyline
      points=${line.map((p) => `${p.x},${p.mean}`).join(" ")}
      fill="none"
      stroke=${trend}
      stroke-width="2.5"
    />
  `;
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
