// The names of lines, written at their ends.
import { cssVariable } from "./colour.mjs";

/** @typedef {{name: string, stroke: string, series: number[]}} NamedLine */

const font = "12px system-ui, sans-serif";
const longest = 190; // pixels
const narrow = 560; // a plot of fewer pixels has no room for names
const lineHeight = 14;
const gap = 6;

const context = /** @type {CanvasRenderingContext2D} */ (
  document.createElement("canvas").getContext("2d")
);

/**
 * widthOf returns how many pixels a text of a plot needs.
 * @param {string} text
 */
export function widthOf(text) {
  context.font = font;
  return context.measureText(text).width;
}

/**
 * roomForNames returns how many pixels the names need to the right of a plot.
 * @param {NamedLine[]} lines
 * @param {number} width the plot's
 */
export function roomForNames(lines, width) {
  if (lines.length < 2 || width < narrow) return 12;
  const widths = lines.map(({ name }) => widthOf(name));
  return Math.min(Math.max(...widths), longest) + 2 * gap;
}

/**
 * endNames writes the names of a plot's lines at their ends, one below the other where they meet.
 * @param {uPlot} plot
 * @param {NamedLine[]} lines
 */
export function endNames(plot, lines) {
  if (lines.length < 2 || plot.width < narrow) return;
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const ends = lines.map(({ name, stroke, series }) => ({
    name,
    stroke,
    alpha: plot.series[series[0] + 1]?.alpha ?? 1,
    y: endOf(plot, series[0] + 1),
  }));
  const placed = spread(
    ends.filter((end) => end.y !== null),
    bbox.top,
    bbox.top + bbox.height,
    lineHeight * ratio,
  );
  ctx.save();
  ctx.font = font.replace("12px", `${12 * ratio}px`);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const { name, stroke, alpha, y } of placed) {
    const x = bbox.left + bbox.width + gap * ratio;
    ctx.globalAlpha = alpha;
    ctx.fillStyle = stroke;
    ctx.fillRect(x - gap * ratio, y - ratio, 4 * ratio, 2 * ratio);
    ctx.fillStyle = cssVariable("--text");
    ctx.fillText(shortened(ctx, name, longest * ratio), x, y);
  }
  ctx.restore();
}

/**
 * endOf returns where the last value of a series that is in view lies, null without one.
 * @param {uPlot} plot
 * @param {number} place of the series
 */
function endOf(plot, place) {
  const values = plot.data[place];
  const { max = Infinity } = plot.scales.x;
  for (let i = values.length - 1; i >= 0; i--) {
    const value = values[i];
    if (value === null || value === undefined || plot.data[0][i] > (max ?? Infinity)) continue;
    return plot.valToPos(value, "y", true);
  }
  return null;
}

/**
 * spread moves names apart so that none covers another.
 * @template {{y: number | null}} End
 * @param {End[]} ends
 * @param {number} top
 * @param {number} bottom
 * @param {number} height of a name
 */
function spread(ends, top, bottom, height) {
  const placed = ends
    .map((end) => ({ ...end, y: Math.min(Math.max(end.y ?? top, top), bottom) }))
    .sort((a, b) => a.y - b.y);
  for (let i = 1; i < placed.length; i++)
    placed[i].y = Math.max(placed[i].y, placed[i - 1].y + height);
  let limit = bottom;
  for (const one of placed.toReversed()) {
    one.y = Math.min(one.y, limit);
    limit = one.y - height;
  }
  return placed;
}

/**
 * shortened cuts a text to a width.
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} text
 * @param {number} most
 */
function shortened(ctx, text, most) {
  if (ctx.measureText(text).width <= most) return text;
  let end = text.length;
  while (end > 1 && ctx.measureText(text.slice(0, end) + "…").width > most) end--;
  return text.slice(0, end) + "…";
}
