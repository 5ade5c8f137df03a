// The chart of parallel coordinates, with axes that can be brushed.
import { useRef, useState } from "preact/hooks";
import { State } from "../components/state.mjs";
import { chartWidth } from "../lib/chart-width.mjs";
import { scheme, shade } from "../lib/colour.mjs";
import { filterOf, rangeOf, subjectOf, whereOf, without } from "../lib/filter.mjs";
import { count, counted, exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { changeRoute, hrefOf, hrefWith, route } from "../lib/route.mjs";
import { marksOf, scaleOf } from "../lib/scale.mjs";
import { isNumeric, scaleFor } from "../lib/schema.mjs";

/** @import { Goal, Row, Scalar, StateCounts } from "../../api" */
/** @import { Schema } from "../lib/schema.mjs" */

// The chart's size and margins.
const height = 440;
const left = 90;
const right = 40;
const top = 40;
const bottom = 60;
const span = height - top - bottom;
const missingAt = height - 22;
const axisRoom = 96; // at least, of an axis
const brushWidth = 26;

// As many of the best trials have a colour: at least few, and a part of all.
const colouredPart = 0.1;
const fewest = 5;

/**
 * @typedef {object} Axis
 * @property {string} name
 * @property {boolean} isNumeric
 * @property {boolean} log
 * @property {(value: Scalar) => number} part where a value stands, from 0 to 1
 * @property {(part: number) => number} value the number at a part
 * @property {{part: number, text: string, value: Scalar}[]} marks
 * @property {boolean} someMissing
 */

/**
 * axisOf lays out the axis of a column over all of its values, drawn or not.
 * @param {string} name
 * @param {Schema} schema
 * @param {Scalar[]} cells those that are drawn
 * @returns {Axis}
 */
function axisOf(name, schema, cells) {
  const column = schema.byName[name];
  const someMissing = cells.includes(null);
  if (!column || !isNumeric(column))
    return { name, isNumeric: false, someMissing, ...textScale(column?.values || cells) };
  const [low, high] = [Number(column.low), Number(column.high)];
  const log = scaleFor(schema, name) === "log";
  const scale = scaleOf(low, high, log);
  const listed = column.kind === "parameter" ? column.values : undefined;
  const marks = /** @type {number[]} */ (
    listed && listed.length <= 8 ? listed : marksOf(low, high, log)
  );
  return {
    name,
    isNumeric: true,
    log,
    part: (value) => scale(Number(value)),
    value: (part) => (log ? low * (high / low) ** part : low + (high - low) * part),
    marks: marks.map((mark) => ({ part: scale(mark), text: number(mark), value: mark })),
    someMissing,
  };
}

/** @param {Scalar[]} values */
function textScale(values) {
  const present = values.filter((value) => value !== null);
  const byText = new Map(present.map((value) => [exact(value), value]));
  const texts = [...byText.keys()].sort();
  /** @param {string} text */
  const partOf = (text) => (texts.length > 1 ? texts.indexOf(text) / (texts.length - 1) : 0.5);
  return {
    log: false,
    part: (/** @type {Scalar} */ value) => partOf(exact(value)),
    value: () => NaN,
    marks: texts.slice(0, 16).map((text) => ({
      part: partOf(text),
      text: text.length > 14 ? text.slice(0, 13) + "…" : text,
      value: byText.get(text) ?? null,
    })),
  };
}

/**
 * ParallelChart draws a line for each trial. The first column is the metric, if there is one.
 * @param {object} props
 * @param {Row[]} props.rows
 * @param {Row[]} props.others that the filter leaves out, for comparison
 * @param {string[]} props.columns
 * @param {Schema} props.schema
 * @param {string} props.metric "" before any trial has one
 * @param {Goal} props.goal
 * @param {string} props.id the sweep's
 */
export function ParallelChart({ rows, others, columns, schema, metric, goal, id }) {
  const width = Math.max(chartWidth.value, left + right + axisRoom * (columns.length - 1));
  const axes = columns.map((name, place) =>
    axisOf(
      name,
      schema,
      [...rows, ...others].map((row) => row.cells[place]),
    ),
  );
  const gaps = Math.max(columns.length - 1, 1);
  const start = columns.length > 1 ? left : (left + width - right) / 2;
  /** @param {number} place */
  const x = (place) => start + (place / gaps) * (width - left - right);
  const title = `Parallel coordinates of ${counted(rows.length, "trial")} over`;
  return html`
    <div class="scroll plain" tabindex="0" role="group" aria-label="Parallel coordinates">
      <svg
        class="chart"
        style=${{ minWidth: width + "px" }}
        viewBox=${`0 0 ${width} ${height}`}
        role="group"
        aria-label=${`${title} ${columns.join(", ")}`}
      >
        <${Lines} rows=${rows} others=${others} axes=${axes} x=${x} goal=${goal} id=${id} />
        ${axes.map(
          (axis, place) => html`<${AxisLine} key=${axis.name} axis=${axis} x=${x(place)} />`,
        )}
      </svg>
    </div>
    <p class="controls">
      ${Object.entries(countStates(rows)).map(
        ([state, n]) => html`<span key=${state}><${State} state=${state} /> ${count(n)}</span>`,
      )}
      <span class="quiet">
        ${metric && `The best trials by ${metric} (${goal}) are in colour, on top. `} Dashed lines
        are trials that did not complete; those without a value run along the bottom edge. Drag
        along an axis to filter by a range, double-click it to undo; choose a word to filter by it.
        Click a line to open its trial.
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
 * ranksOf returns the places of the best trials, the best is 0, by index.
 * @param {Row[]} rows
 * @param {Goal} goal
 */
function ranksOf(rows, goal) {
  const sign = goal === "maximize" ? -1 : 1;
  const valued = rows.filter(
    ({ state, cells }) => state === "completed" && typeof cells[0] === "number",
  );
  const most = Math.max(fewest, Math.ceil(colouredPart * valued.length));
  const best = valued
    .toSorted((a, b) => sign * (Number(a.cells[0]) - Number(b.cells[0])))
    .slice(0, most);
  return new Map(best.map((row, rank) => [row.index, rank / Math.max(best.length - 1, 1)]));
}

/**
 * Lines draws the trials: those left out below, the best on top.
 * @param {object} props
 * @param {Row[]} props.rows
 * @param {Row[]} props.others
 * @param {Axis[]} props.axes
 * @param {(place: number) => number} props.x
 * @param {Goal} props.goal
 * @param {string} props.id the sweep's
 */
function Lines({ rows, others, axes, x, goal, id }) {
  const [hovered, setHovered] = useState(/** @type {number | null} */ (null));
  const ranks = ranksOf(rows, goal);
  const isDark = scheme.value === "dark";
  /** @param {Row} row */
  const points = ({ cells }) =>
    axes
      .map(({ part }, place) => [x(place), yOf(cells[place], part)])
      .map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`)
      .join(" ");
  const shown = new Set(rows.map((row) => row.index));
  const ordered = rows.toSorted((a, b) => (ranks.get(b.index) ?? 2) - (ranks.get(a.index) ?? 2));
  return html`
    ${others
      .filter((row) => !shown.has(row.index))
      .map(
        (row) => html`<polyline
          key=${row.index}
          points=${points(row)}
          fill="none"
          stroke="var(--line)"
        />`,
      )}
    ${ordered.map((row) => {
      const rank = ranks.get(row.index);
      const isLit = hovered === row.index;
      const stroke =
        rank === undefined ? "var(--idle)" : shade(isDark ? 1 - 0.6 * rank : 0.6 * rank).fill;
      return html`<polyline
        key=${row.index}
        class="line"
        points=${points(row)}
        fill="none"
        stroke=${stroke}
        stroke-width=${isLit ? 3.5 : rank === undefined ? 1 : 1.8}
        stroke-opacity=${isLit ? 1 : rank === undefined ? 0.3 : 0.9}
        stroke-dasharray=${row.state === "completed" ? null : "5 3"}
        onMouseEnter=${() => setHovered(row.index)}
        onMouseLeave=${() => setHovered(null)}
        onClick=${() => {
          location.hash = hrefOf(["trial", id, row.index]);
        }}
      >
        <title>
          trial ${row.index}, ${row.state}:${" "}
          ${axes.map(({ name }, place) => `${name} ${exact(row.cells[place])}`).join(", ")}
        </title>
      </polyline>`;
    })}
  `;
}

/**
 * yOf returns how far down a value is drawn; missing ones run along the bottom.
 * @param {Scalar} value
 * @param {Axis["part"]} part
 */
const yOf = (value, part) => (value === null ? missingAt : height - bottom - part(value) * span);

/** @param {{axis: Axis, x: number}} props */
function AxisLine({ axis, x }) {
  const filter = filterOf(route.value.query);
  return html`<g>
    <line class="axis" x1=${x} x2=${x} y1=${top} y2=${height - bottom} />
    <text x=${x} y=${top - 16} text-anchor="middle" font-weight="600">
      ${axis.name}
      ${axis.log && " (log)"}
    </text>
    ${axis.isNumeric && html`<${Brush} axis=${axis} x=${x} where=${filter.where} />`}
    ${axis.marks.map(({ part, text, value }, i) => {
      const y = height - bottom - part * span;
      const label = html`<text class="halo" x=${x - 7} y=${y + 4} text-anchor="end">${text}</text>`;
      const where = [...without(filter.where, axis.name), whereOf(axis.name, value)];
      return html`<g key=${i}>
        <line class="axis" x1=${x - 4} x2=${x} y1=${y} y2=${y} />
        ${
          axis.isNumeric
            ? label
            : html`<a href=${hrefWith({ where, offset: null })} aria-label=${`Only ${text}`}>
                ${label}
              </a>`
        }
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

/**
 * Brush turns a range that is dragged along an axis into a filter, and shows the filter's.
 * @param {{axis: Axis, x: number, where: string[]}} props
 */
function Brush({ axis, x, where }) {
  const [drag, setDrag] = useState(/** @type {[number, number] | null} */ (null));
  const area = useRef(/** @type {SVGRectElement | null} */ (null));
  const clear = () => changeRoute({ where: without(where, axis.name), offset: null }, true);
  /** @param {PointerEvent} event */
  const partAt = (event) => {
    const box = /** @type {SVGRectElement} */ (area.current).getBoundingClientRect();
    return Math.min(Math.max(1 - (event.clientY - box.top) / box.height, 0), 1);
  };
  /** @param {PointerEvent} event */
  const begin = (event) => {
    area.current?.setPointerCapture(event.pointerId);
    const part = partAt(event);
    setDrag([part, part]);
  };
  /** @param {PointerEvent} event */
  const move = (event) => drag && setDrag([drag[0], partAt(event)]);
  const end = () => {
    if (!drag) return;
    setDrag(null);
    const [low, high] = drag.toSorted((a, b) => a - b);
    if (high - low < 0.01) return;
    const text = (/** @type {number} */ part) => number(axis.value(part), 4);
    const subject = subjectOf(axis.name);
    const range = [`${subject}>=${text(low)}`, `${subject}<=${text(high)}`];
    changeRoute({ where: [...without(where, axis.name), ...range], offset: null }, true);
  };
  const [low, high] = drag
    ? drag.toSorted((a, b) => a - b)
    : rangeOf(where, axis.name).map((v, i) => (Number.isFinite(v) ? axis.part(v) : i));
  const isSet = drag !== null || low > 0 || high < 1;
  const from = height - bottom - Math.min(Math.max(high, 0), 1) * span;
  const size = (Math.min(high, 1) - Math.max(low, 0)) * span;
  return html`
    ${
      isSet &&
      html`<rect
        class="brushed"
        x=${x - brushWidth / 4}
        width=${brushWidth / 2}
        y=${from}
        height=${Math.max(size, 2)}
      />`
    }
    <rect
      ref=${area}
      class="brush"
      data-axis=${axis.name}
      x=${x - brushWidth / 2}
      width=${brushWidth}
      y=${top}
      height=${span}
      onPointerDown=${begin}
      onPointerMove=${move}
      onPointerUp=${end}
      onDblClick=${clear}
    />
  `;
}
