// A heat map: a metric over two parameters.
import { Choice } from "../components/choice.mjs";
import { Excluded } from "../components/excluded.mjs";
import { NoResults } from "../components/no-results.mjs";
import { Status } from "../components/status.mjs";
import { Table, numeric } from "../components/table.mjs";
import { None } from "../components/value.mjs";
import { useAnswer } from "../lib/answer.mjs";
import { bestOf, isMeasured, levelText, lostOf } from "../lib/cells.mjs";
import { chartWidth } from "../lib/chart-width.mjs";
import { scheme, shade } from "../lib/colour.mjs";
import { filterOf } from "../lib/filter.mjs";
import { count, counted, exact, number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { widthOf } from "../lib/line-names.mjs";
import { hrefOf, route } from "../lib/route.mjs";
import { scaleOf, wantsLog } from "../lib/scale.mjs";
import { binsFor, chosenOf, goalOf, metricOf, scaleFor, withoutSeed } from "../lib/schema.mjs";

/** @import { Goal, Slice, SliceCell } from "../../api" */
/** @import { ViewProps } from "../lib/schema.mjs" */

/** @typedef {"mean" | "best"} Figure what a cell shows */

/** @type {Figure[]} */
const figures = ["mean", "best"];

/** @param {ViewProps} props */
export function Heat({ sweep, schema, version }) {
  const { query } = route.value;
  const metric = metricOf(query, schema);
  const goal = goalOf(schema, metric);
  const names = withoutSeed(schema.varying);
  const x = chosenOf(query, "x", names, names[1] || names[0]);
  const y = chosenOf(query, "y", names, names.find((name) => name !== x) || names[0]);
  const figure = /** @type {Figure} */ (chosenOf(query, "what", figures, "mean"));
  const { answer, error } = useAnswer(
    names.length > 1 && metric ? `sweeps/${sweep.id}/slice` : null,
    {
      ...filterOf(query),
      by: [y, x],
      bins: [y, x].map((name) => binsFor(schema, name)),
      scale: [y, x].map((name) => scaleFor(schema, name)),
      metric,
    },
    version,
  );
  if (!metric) return html`<${NoResults} sweep=${sweep} />`;
  if (names.length < 2)
    return html`<p>
      A heat map needs two parameters with several values.${" "}
      ${
        names.length > 0
          ? html`See a <a href=${hrefOf(["sweep", sweep.id, "slice"])}>slice over ${names[0]}</a>.`
          : "These trials have none."
      }
    </p>`;
  const slice = answer && answer.answer;
  return html`
    <div class="controls">
      <${Choice} label="x axis" name="x" value=${x} options=${names} />
      <${Choice} label="y axis" name="y" value=${y} options=${names} />
      <${Choice} label="Metric" name="metric" value=${metric} options=${schema.metrics} />
      <${Choice} label="Value" name="what" value=${figure} options=${figures} />
    </div>
    <${Status} answer=${answer} error=${error} />
    ${
      slice &&
      (slice.cells.some(isMeasured)
        ? html`
          <${HeatMap} slice=${slice} x=${x} y=${y} metric=${metric} goal=${goal} figure=${figure} />
          <${Numbers} slice=${slice} x=${x} y=${y} goal=${goal} figure=${figure} />
        `
        : html`<p>No matching trial has a ${metric}.</p>`)
    }
  `;
}

/**
 * valueOf returns what a cell shows; null if no trial has it.
 * @param {SliceCell | undefined} cell
 * @param {Figure} figure
 * @param {Goal} goal
 */
function valueOf(cell, figure, goal) {
  if (!cell || !isMeasured(cell)) return null;
  return figure === "best" ? bestOf(cell, goal) : cell.mean;
}

// The picture's size and margins. Its height depends on the number of rows.
const right = 90;
const top = 28;
const bottom = 56;

/**
 * HeatMap draws the slice with its first parameter down and its second across.
 * @param {object} props
 * @param {Slice} props.slice
 * @param {string} props.x
 * @param {string} props.y
 * @param {string} props.metric
 * @param {Goal} props.goal
 * @param {Figure} props.figure
 */
function HeatMap({ slice, x, y, metric, goal, figure }) {
  scheme.value; // drawn again when it changes
  const rows = placesOf(slice, 0).toReversed(); // larger values are further up
  const columns = placesOf(slice, 1);
  const width = chartWidth.value;
  const left = width > 600 ? 130 : 80;
  const cells = new Map(slice.cells.map((c) => [c.levels.join(), c]));
  const values = slice.cells.map((c) => valueOf(c, figure, goal)).filter((v) => v !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const log = wantsLog(low, high);
  const scale = scaleOf(low, high, log);
  const cellWidth = Math.min((width - left - right) / columns.length, 150);
  const cellHeight = Math.min(Math.max(26, 420 / rows.length), 46);
  const mapWidth = columns.length * cellWidth;
  const mapHeight = rows.length * cellHeight;
  const height = top + mapHeight + bottom;
  /** @param {number} row */
  const rowName = (row) => levelText(slice.levels[0][row]);
  /** @param {number} column */
  const columnName = (column) => levelText(slice.levels[1][column]);
  /** @param {number} value */
  const toneOf = (value) => {
    const part = scale(value);
    return shade(goal === "maximize" ? part : 1 - part);
  };
  return html`
    <svg
      class="chart"
      viewBox=${`0 0 ${width} ${height}`}
      role="img"
      aria-label=${`${metric} over ${x} and ${y}, as a heat map; the table below has the figures`}
    >
      ${rows.map(
        (row, i) => html`<g key=${row}>
          ${columns.map((column, j) => {
            const cell = cells.get([row, column].join());
            const value = valueOf(cell, figure, goal);
            return html`<${Cell}
              key=${column}
              x=${left + j * cellWidth}
              y=${top + i * cellHeight}
              width=${cellWidth}
              height=${cellHeight}
              cell=${cell}
              value=${value}
              tone=${value === null ? null : toneOf(value)}
              title=${`${y} ${rowName(row)}, ${x} ${columnName(column)}`}
            />`;
          })}
        </g>`,
      )}
      ${labelsOf(slice, 0, rows, cellHeight, () => 16).map(
        ({ at, text }) => html`<text key=${text} x=${left - 8} y=${top + at + 4} text-anchor="end">
          ${text}
        </text>`,
      )}
      ${labelsOf(slice, 1, columns, cellWidth, (text) => widthOf(text) + 12).map(
        ({ at, text }) => html`<text
          key=${text}
          x=${left + at}
          y=${top + mapHeight + 18}
          text-anchor="middle"
        >
          ${text}
        </text>`,
      )}
      <${ColourBar}
        low=${low}
        high=${high}
        tone=${toneOf}
        log=${log}
        y=${top}
        height=${Math.min(mapHeight, 240)}
        x=${left + mapWidth + 24}
      />
      <text
        x=${left + mapWidth / 2}
        y=${top + mapHeight + 42}
        text-anchor="middle"
        font-weight="600"
      >
        ${x}
      </text>
      <text x=${left - 8} y=${top - 14} text-anchor="end" font-weight="600">${y}</text>
    </svg>
    <p class="quiet">
      Brighter is better (${goal})${log && ", on a logarithmic scale"}.${" "}
      ${low === high && `All values are ${number(low, 5)}.`} ✕: failed or diverged trials, excluded
      from means. Grey: no value.
    </p>
  `;
}

/**
 * labelsOf labels the values of a parameter in the middle of their cells, or the ends of ranges
 * between them, as far as there is room.
 * @param {Slice} slice
 * @param {number} parameter
 * @param {number[]} places the levels in the order of their cells
 * @param {number} size of a cell
 * @param {(text: string) => number} roomFor the room that a label needs
 */
function labelsOf(slice, parameter, places, size, roomFor) {
  const levels = slice.levels[parameter];
  const labels = places.map((place, i) => ({
    at: (i + 0.5) * size,
    text: levelText(levels[place]),
  }));
  /** @param {{text: string}[]} list */
  const roomOf = (list) => Math.max(...list.map(({ text }) => roomFor(text)));
  if (!slice.binned[parameter]) {
    const every = Math.ceil(roomOf(labels) / size);
    return labels.filter((_, i) => i % every === 0);
  }
  const isDown = places.length > 1 && places[0] > places[1];
  const edges = places.flatMap((place, i) => {
    const { low, high, missing } = levels[place];
    if (missing) return [{ at: (i + 0.5) * size, text: "none" }];
    const [first, last] = isDown ? [high, low] : [low, high];
    return [
      { at: i * size, text: number(first, 2) },
      { at: (i + 1) * size, text: number(last, 2) },
    ];
  });
  const room = roomOf(edges);
  let last = -Infinity;
  return edges.filter(({ at }) => {
    if (at - last < room) return false;
    last = at;
    return true;
  });
}

/**
 * ColourBar has the colours with their values: one if all are equal.
 * @param {object} props
 * @param {number} props.low
 * @param {number} props.high
 * @param {(value: number) => {fill: string}} props.tone
 * @param {boolean} props.log
 * @param {number} props.x
 * @param {number} props.y
 * @param {number} props.height
 */
function ColourBar({ low, high, tone, log, x, y, height }) {
  const parts = low === high ? [low] : steps(low, high, log);
  const size = height / parts.length;
  const marks = low === high ? [low] : [high, parts[Math.floor(parts.length / 2)], low];
  return html`<g>
    ${parts.map(
      (value, i) => html`<rect
        key=${i}
        x=${x}
        y=${y + i * size}
        width="14"
        height=${size + 0.5}
        fill=${tone(value).fill}
      />`,
    )}
    ${marks.map((mark, i) => {
      const at = marks.length === 1 ? 0.5 : i / (marks.length - 1);
      return html`<text class="quiet" key=${i} x=${x + 20} y=${y + at * height + 4}>
        ${number(mark, 3)}
      </text>`;
    })}
  </g>`;
}

/**
 * steps are values from high to low that are evenly spaced, by logarithms if log is true.
 * @param {number} low
 * @param {number} high
 * @param {boolean} log
 */
function steps(low, high, log) {
  return Array.from({ length: 41 }, (_, i) => {
    const t = 1 - i / 40;
    return log ? low * (high / low) ** t : low + (high - low) * t;
  });
}

/**
 * placesOf returns which values of a parameter have cells, in order, or all its ranges.
 * @param {Slice} slice
 * @param {number} parameter
 */
function placesOf(slice, parameter) {
  const used = new Set(slice.cells.map((c) => c.levels[parameter]));
  const isShown = (/** @type {number} */ place) =>
    used.has(place) || (slice.binned[parameter] && !slice.levels[parameter][place].missing);
  return [...slice.levels[parameter].keys()].filter(isShown);
}

/**
 * Cell is a rectangle with its value, as far as there is room.
 * @param {object} props
 * @param {number} props.x
 * @param {number} props.y
 * @param {number} props.width
 * @param {number} props.height
 * @param {SliceCell | undefined} props.cell undefined if no trial has these values
 * @param {number | null} props.value
 * @param {{fill: string, ink: string} | null} props.tone null if there is no value
 * @param {string} props.title the values of the parameters
 */
function Cell({ x, y, width, height, cell, value, tone, title }) {
  const lost = cell ? lostOf(cell.states) : 0;
  const details = [
    `${title}: ${value === null ? "none" : exact(value)}`,
    cell && counted(cell.n, "trial"),
    lost > 0 && `${count(lost)} failed or diverged`,
  ];
  const text = () => {
    if (value !== null) return number(value, 3) + (lost && width > 64 ? ` ✕${count(lost)}` : "");
    if (!cell) return "";
    return lost ? "✕" : "none";
  };
  return html`<g>
    <rect
      x=${x + 1}
      y=${y + 1}
      width=${width - 2}
      height=${height - 2}
      rx="2"
      fill=${tone ? tone.fill : "var(--sunk)"}
      stroke=${tone ? "none" : "var(--line)"}
    >
      <title>${details.filter(Boolean).join(", ")}</title>
    </rect>
    ${
      width > 44 &&
      html`<text
        x=${x + width / 2}
        y=${y + height / 2 + 4}
        text-anchor="middle"
        style=${{ fill: tone ? tone.ink : "var(--quiet)" }}
      >
        ${text()}
      </text>`
    }
  </g>`;
}

/**
 * Numbers has the cells as a table.
 * @param {object} props
 * @param {Slice} props.slice
 * @param {string} props.x
 * @param {string} props.y
 * @param {Goal} props.goal
 * @param {Figure} props.figure
 */
function Numbers({ slice, x, y, goal, figure }) {
  const columns = [y, x, ...[figure, "sd", "trials"].map(numeric), "excluded"];
  return html`<details>
    <summary>Show as a table</summary>
    <${Table} label="Values of the heat map" columns=${columns}>
      ${slice.cells.map((cell) => {
        const value = valueOf(cell, figure, goal);
        return html`<tr key=${cell.levels.join()}>
          <td>${levelText(slice.levels[0][cell.levels[0]])}</td>
          <td>${levelText(slice.levels[1][cell.levels[1]])}</td>
          <td class="num">${value === null ? html`<${None} />` : number(value, 5)}</td>
          <td class="num">${number(cell.sd, 3)}</td>
          <td class="num">${count(cell.n)}</td>
          <td><${Excluded} states=${cell.states} n=${cell.n} /></td>
        </tr>`;
      })}
    <//>
  </details>`;
}
