// The cells of a slice: statistics of a metric at values of one or two parameters.
import { exact, number } from "./format.mjs";

/** @import { Goal, Level, Scalar, SliceCell, StateCounts, Statistics } from "../../api" */

/** @typedef {SliceCell & {mean: number, min: number, max: number}} MeasuredCell */

/**
 * isMeasured says whether any trial of a cell has the metric.
 * @param {SliceCell} cell
 * @returns {cell is MeasuredCell}
 */
export const isMeasured = (cell) => cell.n > 0;

/**
 * bestOf returns the best value of the metric.
 * @template {Pick<Statistics, "min" | "max">} Has
 * @param {Has} statistics
 * @param {Goal} goal
 * @returns {Has["min"]}
 */
export const bestOf = ({ min, max }, goal) => (goal === "maximize" ? max : min);

/**
 * lostOf counts the trials that failed or diverged.
 * @param {StateCounts} states
 */
export const lostOf = (states) => (states.failed || 0) + (states.diverged || 0);

/**
 * levelText writes a value of a parameter, or a range of values.
 * @param {Level} level
 * @param {number} [digits] of the ends of a range
 */
export function levelText({ value, low, high, missing }, digits = 3) {
  if (missing) return "none";
  return low === undefined ? shortText(value) : `${number(low, digits)} to ${number(high, digits)}`;
}

/**
 * shortText writes a value in at most twelve characters.
 * @param {Scalar} value
 */
function shortText(value) {
  const text = typeof value === "number" ? number(value) : exact(value);
  return text.length > 12 ? text.slice(0, 11) + "…" : text;
}
