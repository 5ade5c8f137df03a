// A plot of curves, with a legend that lights its lines and has the values under the cursor.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Legend } from "./legend.mjs";
import { cssVariable, scheme } from "../lib/colour.mjs";
import { number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";
import { endNames, roomForNames, widthOf } from "../lib/line-names.mjs";

/** @import { Element } from "../lib/html.mjs" */

/**
 * @typedef {object} Series
 * @property {string} label
 * @property {string} stroke
 * @property {(number | null | undefined)[]} values at the plot's steps: null is a gap, undefined
 *   no value
 * @property {number} [width]
 * @property {number[]} [dash]
 * @property {boolean} [points] whether each value has a dot
 */

/**
 * An item of the legend: the series that it lights, the first of which has its values.
 * @typedef {object} Item
 * @property {string} name
 * @property {Element | string} [detail]
 * @property {string} stroke
 * @property {number[]} dash
 * @property {number[]} series places in the list of series
 */

/** @typedef {[number, number]} Range the first and the last step */

/**
 * @typedef {object} Props
 * @property {string} label
 * @property {string} [xTitle]
 * @property {string} [yTitle]
 * @property {number[]} xs the steps
 * @property {Series[]} series
 * @property {Item[]} [items] the legend; by default there is none
 * @property {uPlot.Band[]} [bands] pairs of series with the area between them filled
 * @property {boolean} [log]
 * @property {Range | null} [zoom]
 * @property {((zoom: Range | null) => void) | null} [onZoom]
 * @property {number} [height]
 */

const belowPlot = 52; // the pixels of a plot's height that the x axis takes

const noItems = /** @type {Item[]} */ ([]);

/**
 * Plot draws series over steps. Newer data keep the zoom.
 * @param {Props} props
 */
export function Plot({
  label,
  xTitle = "step",
  yTitle = "",
  xs,
  series,
  items = noItems,
  bands = [],
  log = false,
  zoom = null,
  onZoom = null,
  height = 320,
}) {
  const yName = yTitle && yTitle + (log ? " (log)" : "");
  const isLong = widthOf(yName) * 1.1 > height - belowPlot; // 1.1: the title is bold
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | null} */ (null));
  const named = useRef(items);
  named.current = items;
  const [place, setPlace] = useState(/** @type {number | null} */ (null));
  const [lit, setLit] = useState(/** @type {number | null} */ (null));
  const data = /** @type {uPlot.AlignedData} */ ([xs, ...series.map((s) => s.values)]);
  const look = JSON.stringify([
    series.map((s) => [s.label, s.stroke, s.width, s.dash, s.points]),
    items.map((item) => item.name),
    [bands, log, scheme.value, height, xTitle, yTitle],
  ]);
  useEffect(() => {
    const parent = element.current;
    if (!parent) return undefined; // the view was left before it was drawn
    const size = () => ({ width: Math.max(parent.clientWidth, 200), height });
    const options = optionsOf({ series, bands, log, onZoom, xTitle, yTitle: isLong ? "" : yName });
    options.padding = [10, (u) => roomForNames(named.current, u.width), 0, 0];
    options.hooks = {
      ...options.hooks,
      draw: [(u) => endNames(u, named.current)],
      setCursor: [(u) => setPlace(u.cursor.idx ?? null)],
    };
    const made = new uPlot({ ...size(), ...options }, data, parent);
    plot.current = made;
    made.over.addEventListener("dblclick", () => onZoom?.(null));
    if (zoom) made.setScale("x", { min: zoom[0], max: zoom[1] });
    const observer = new ResizeObserver(() => made.setSize(size()));
    observer.observe(parent);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [look]);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    if (!plot.current) return;
    plot.current.setData(data, false);
    const [min, max] = zoom || [xs[0], xs[xs.length - 1]];
    plot.current.setScale("x", { min, max });
  }, [JSON.stringify(data), JSON.stringify(zoom)]);
  useEffect(() => light(plot.current, lit === null ? null : items[lit]), [lit, look]);
  const read = useMemo(
    () => items.map((item) => valueAt(series[item.series[0]].values, place)),
    [place, items, series],
  );
  const shown = place === null ? "" : `${xTitle} ${number(xs[place], 5)}`;
  const only = items.length === 0 ? number(valueAt(series[0]?.values || [], place), 5) : "";
  return html`
    ${isLong && html`<p class="axis-title">${yName}</p>`}
    <div class="plot" role="img" aria-label=${label} ref=${element}></div>
    <p class="spark cursor" aria-hidden="true">${shown}${shown && only && `: ${only}`}</p>
    ${
      items.length > 0 &&
      html`<${Legend}
        items=${items.map((item, i) => ({ ...item, value: number(read[i], 5) }))}
        light=${setLit}
      />`
    }
  `;
}

/**
 * valueAt returns the value of a series at a place, or the last one before it.
 * @param {(number | null | undefined)[]} values
 * @param {number | null} place
 */
function valueAt(values, place) {
  if (place === null) return null;
  while (place > 0 && values[place] === undefined) place--;
  return values[place] ?? null;
}

/**
 * light dims all series but those of an item; null dims none.
 * @param {uPlot | null} plot
 * @param {Item | null} item
 */
function light(plot, item) {
  if (!plot) return;
  for (const [i, one] of plot.series.entries())
    if (i > 0) one.alpha = !item || item.series.includes(i - 1) ? 1 : 0.12;
  plot.redraw(false);
}

/**
 * @param {object} props
 * @param {Series[]} props.series
 * @param {uPlot.Band[]} props.bands
 * @param {boolean} props.log
 * @param {((zoom: Range | null) => void) | null} props.onZoom
 * @param {string} props.xTitle
 * @param {string} props.yTitle
 * @returns {Omit<uPlot.Options, "width" | "height">}
 */
function optionsOf({ series, bands, log, onZoom, xTitle, yTitle }) {
  const line = { stroke: cssVariable("--line"), width: 1, ...(log && { filter: powersOfTen }) };
  const axis = {
    stroke: cssVariable("--quiet"),
    font: "12px system-ui, sans-serif",
    labelFont: "600 12px system-ui, sans-serif",
    labelSize: 18,
  };
  const plain = { stroke: cssVariable("--line"), width: 1 };
  return {
    cursor: { drag: { x: true, y: false } },
    legend: { show: false },
    scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
    axes: [
      {
        ...axis,
        label: xTitle,
        grid: plain,
        ticks: plain,
        size: 34,
        values: (_, steps) => steps.map((v) => number(v, 6)),
      },
      {
        ...axis,
        ...(yTitle && { label: yTitle }),
        grid: line,
        ticks: line,
        size: 60,
        values: (_, splits) => splits.map((v) => number(v, 4)),
      },
    ],
    series: [
      {},
      ...series.map((s) => ({
        label: s.label,
        stroke: s.stroke,
        width: s.width ?? 1.8,
        dash: s.dash,
        points: { show: s.points ?? false, size: 4 },
        spanGaps: false,
      })),
    ],
    bands,
    hooks: { setSelect: [(plot) => onZoom && zoomTo(plot, onZoom)] },
  };
}

/**
 * zoomTo reports the range that was selected, unless it is too narrow to be meant.
 * @param {uPlot} plot
 * @param {(zoom: Range) => void} onZoom
 */
function zoomTo(plot, onZoom) {
  const { left, width } = plot.select;
  if (width > 3) onZoom([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
}

/**
 * powersOfTen leaves the lines of a logarithmic axis at powers of ten, unless there are few.
 * @param {uPlot} _
 * @param {(number | null)[]} splits
 */
function powersOfTen(_, splits) {
  /** @param {number} v */
  const isPower = (v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9;
  const powers = splits.map((v) => (v && isPower(v) ? v : null));
  return powers.filter((v) => v !== null).length > 1 ? powers : splits;
}
