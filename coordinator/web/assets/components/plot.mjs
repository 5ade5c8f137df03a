// A plot of curves over steps.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { cssVariable, scheme } from "../lib/colour.mjs";
import { number } from "../lib/format.mjs";
import { html } from "../lib/html.mjs";

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

/** @typedef {[number, number]} Range the first and the last step */

/**
 * @typedef {object} Props
 * @property {string} label
 * @property {number[]} xs the steps
 * @property {Series[]} series
 * @property {uPlot.Band[]} [bands] pairs of series with the area between them filled
 * @property {boolean} [log]
 * @property {Range | null} [zoom]
 * @property {((zoom: Range | null) => void) | null} [onZoom]
 * @property {number} [height]
 */

/**
 * Plot draws series over steps. Newer data keep the zoom.
 * @param {Props} props
 */
export function Plot({
  label,
  xs,
  series,
  bands = [],
  log = false,
  zoom = null,
  onZoom = null,
  height = 320,
}) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | null} */ (null));
  const data = /** @type {uPlot.AlignedData} */ ([xs, ...series.map((s) => s.values)]);
  const look = JSON.stringify([
    series.map((s) => [s.label, s.stroke, s.width, s.dash, s.points]),
    bands,
    log,
    scheme.value,
    height,
  ]);
  useEffect(() => {
    const parent = element.current;
    if (!parent) return undefined; // the view was left before it was drawn
    const size = () => ({ width: Math.max(parent.clientWidth, 200), height });
    const options = { ...size(), ...optionsOf(series, bands, log, onZoom) };
    const made = new uPlot(options, data, parent);
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
  return html`<div class="plot" role="img" aria-label=${label} ref=${element}></div>`;
}

/**
 * @param {Series[]} series
 * @param {uPlot.Band[]} bands
 * @param {boolean} log
 * @param {((zoom: Range | null) => void) | null} onZoom
 * @returns {Omit<uPlot.Options, "width" | "height">}
 */
function optionsOf(series, bands, log, onZoom) {
  const line = { stroke: cssVariable("--line"), width: 1, ...(log && { filter: powersOfTen }) };
  const axis = { stroke: cssVariable("--quiet"), font: "12px system-ui, sans-serif" };
  const plain = { stroke: cssVariable("--line"), width: 1 };
  return {
    cursor: { drag: { x: true, y: false } },
    legend: { show: false },
    scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
    axes: [
      {
        ...axis,
        grid: plain,
        ticks: plain,
        size: 34,
        values: (_, steps) => steps.map((v) => number(v, 6)),
      },
      {
        ...axis,
        grid: line,
        ticks: line,
        size: 64,
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
